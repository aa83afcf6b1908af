//! `dlo jobs`, and how far a job has come while one waits for it.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Client, Failure, ListOptions, Outcome, Server, read_id,
    text::{exit, note, print_all, print_text, shown, table},
};

/// How often it is asked how far a job is.
const EVERY: Duration = Duration::from_millis(500);
/// Signs of the bar.
const BAR: u64 = 24;

#[derive(Debug, Args)]
pub struct JobsArgs {
    /// One job, which is followed until it is over
    #[arg(value_name = "ID", value_parser = read_id)]
    id: Option<Uuid>,
    /// Stop it; what it has done stays done
    #[arg(long, requires = "id", group = "order")]
    cancel: bool,
    /// Hold its retries back
    #[arg(long, requires = "id", group = "order")]
    pause: bool,
    /// Go on with what was paused
    #[arg(long, requires = "id", group = "order")]
    resume: bool,
    /// Take back what it did, as far as that is possible
    #[arg(long, requires = "id", group = "order")]
    undo: bool,
    #[command(flatten)]
    list: ListOptions,
    #[command(flatten)]
    server: Server,
}

pub async fn jobs(asked: &JobsArgs) -> Outcome {
    let (client, json) = (Client::new(&asked.server)?, asked.server.json);
    let Some(id) = asked.id else {
        let jobs = client.items("jobs", &[], asked.list.limit).await?;
        return print_all(&jobs, json, job_table);
    };
    let orders = [("cancel", asked.cancel), ("pause", asked.pause), ("resume", asked.resume), ("undo", asked.undo)];
    let Some((order, _)) = orders.into_iter().find(|(_, is_given)| *is_given) else {
        return follow(&client, &id.to_string(), json).await;
    };
    let answer = client.post(&format!("jobs/{id}/{order}"), &json!({})).await?;
    match answer["job"].as_str() {
        Some(undoing) => follow(&client, undoing, json).await,
        None => print_all(&[answer], json, job_table),
    }
}

fn job_table(jobs: &[Value]) -> String {
    const HEADS: [&str; 8] = ["ID", "CREATED", "BY", "ACTION", "STATE", "DONE", "FAILED", "ALL"];
    const CELLS: [&str; 8] = ["id", "created_at", "created_by", "action", "state", "done", "failed", "total"];
    let cell = |job: &Value, name: &str| if name == "state" { state(job) } else { shown(&job[name]) };
    let row = |job: &Value| CELLS.iter().map(|name| cell(job, name)).collect();
    table(&HEADS, &jobs.iter().map(row).collect::<Vec<_>>())
}

/// Shows how far a job is until it is over or paused: as a bar in a terminal, elsewhere as a line whenever that changes. It
/// goes well where all was done.
pub async fn follow(client: &Client, id: &str, json: bool) -> Outcome {
    let mut progress = Progress::default();
    let job = loop {
        let job = client.get(&format!("jobs/{id}"), &[]).await?;
        progress.show(&job)?;
        if !matches!(job["state"].as_str(), Some("queued" | "running")) {
            break job;
        }
        tokio::time::sleep(EVERY).await;
    };
    progress.end()?;
    match json {
        true => print_text(&format!("{job}\n"))?,
        false => print_text(&summary(&job))?,
    };
    Ok(exit(job["state"] == "done" && job["failed"] == 0))
}

/// Its state, or what its letters wait for once it has ended itself, in the words of the pages.
fn state(job: &Value) -> String {
    let outcome = &job["outcome"];
    let is_unsent = matches!(job["state"].as_str(), Some("done" | "failed")) && outcome["to_send"].as_u64() > Some(0);
    let sends = is_unsent || job["state"] == "running";
    match job["begins_at"].as_str() {
        Some(at) if sends => format!("scheduled for {at}"),
        None if sends && outcome["held"] == true => "waiting".to_owned(),
        None if is_unsent => "sending".to_owned(),
        _ => shown(&job["state"]),
    }
}

fn summary(job: &Value) -> String {
    let errors = job["errors"].as_array().into_iter().flatten().map(|error| format!("  {}\n", shown(error)));
    let left_out = job["errors_left_out"].as_u64().filter(|n| *n > 0).map(|n| format!("  and {n} more\n"));
    let skipped = job["skipped"].as_u64().filter(|n| *n > 0).map(|n| format!(", {n} left alone"));
    let head = format!("{} {}: {}{}\n", shown(&job["action"]), state(job), counts(job), skipped.unwrap_or_default());
    [head].into_iter().chain(errors).chain(left_out).collect()
}

fn counts(job: &Value) -> String {
    let failed = job["failed"].as_u64().filter(|n| *n > 0).map(|n| format!(", {n} refused")).unwrap_or_default();
    format!("{} of {}{failed}", job["done"], job["total"])
}

#[derive(Default)]
struct Progress {
    shown: String,
}

impl Progress {
    fn show(&mut self, job: &Value) -> Result<(), Failure> {
        let line =
            if io::stderr().is_terminal() { format!("\r{} {}", bar(job), counts(job)) } else { counts(job) + "\n" };
        if line != self.shown {
            note(&line)?;
            self.shown = line;
        }
        Ok(())
    }

    fn end(&self) -> Result<(), Failure> {
        if io::stderr().is_terminal() {
            note("\n")?;
        }
        Ok(())
    }
}

fn bar(job: &Value) -> String {
    let of = |name: &str| job[name].as_u64().unwrap_or_default();
    let full = (of("done") + of("failed") + of("skipped")).min(of("total"));
    let filled = if of("total") == 0 { 0 } else { full * BAR / of("total") };
    format!("[{}{}]", "#".repeat(filled as usize), "·".repeat((BAR - filled) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_says_how_far_it_is() {
        let job = json!({"action": "retry", "state": "done", "total": 8, "done": 5, "failed": 1, "skipped": 0,
            "errors": ["the queue is gone"], "errors_left_out": 2});
        assert_eq!(bar(&job), format!("[{}{}]", "#".repeat(18), "·".repeat(6)));
        assert_eq!(summary(&job), "retry done: 5 of 8, 1 refused\n  the queue is gone\n  and 2 more\n");
    }

    #[test]
    fn a_job_whose_letters_wait_says_so() {
        let job =
            |to_send, begins_at| json!({"state": "done", "outcome": {"to_send": to_send}, "begins_at": begins_at});
        assert_eq!(state(&job(2, json!("2026-11-29T12:00:00Z"))), "scheduled for 2026-11-29T12:00:00Z");
        assert_eq!(state(&job(2, json!(null))), "sending");
        assert_eq!(state(&job(0, json!(null))), "done");
        let held = |state| json!({"state": state, "outcome": {"to_send": 2, "held": true}, "begins_at": null});
        assert_eq!(["done", "running"].map(|was| state(&held(was))), ["waiting"; 2]);
        assert_eq!(state(&json!({"state": "paused", "outcome": {"to_send": 2}, "begins_at": null})), "paused");
    }
}

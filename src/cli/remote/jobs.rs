//! `dlo jobs`, and how far a job has come while one waits for it.

use std::{
    io::{self, IsTerminal},
    time::Duration,
};

use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Client, Failure, ListOptions, Outcome, Server,
    client::Answer,
    read_id,
    text::{exit, note, print_all, print_text, shown, table, text_or_id},
};
use crate::web::ProblemCode;

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
    match client.change(&format!("jobs/{id}/{order}"), &json!({})).await? {
        Some(begun) if asked.undo => follow_begun(&client, &begun, json).await,
        Some(job) => print_all(&[job], json, job_table),
        None => print_text(&format!("{}\n", if json { text_or_id(None, id) } else { id.to_string() })),
    }
}

/// Says which job it is, in place of how far it is.
pub fn print_begun(begun: &Answer, json: bool) -> Outcome {
    let id = begun["job"].as_str().unwrap_or_default();
    print_text(&format!("{}\n", if json { begun.text() } else { id }))
}

/// Follows what was begun. A token that may begin it and not see how far it is has done what it was told to.
pub async fn follow_begun(client: &Client, begun: &Answer, json: bool) -> Outcome {
    match follow(client, begun["job"].as_str().unwrap_or_default(), json).await {
        Err(Failure::Refused(refused)) if refused.is(ProblemCode::NotAllowed) => {
            note(&format!("dlo: it has begun. {refused}\n"))?;
            print_begun(begun, json)
        }
        followed => followed,
    }
}

fn job_table(jobs: &[Answer]) -> String {
    const HEADS: [&str; 8] = ["ID", "CREATED", "BY", "ACTION", "STATE", "DONE", "FAILED", "ALL"];
    const CELLS: [&str; 8] = ["id", "created_at", "created_by", "action", "state", "done", "failed", "total"];
    let cell = |job: &Value, name: &str| if name == "state" { state(job) } else { shown(&job[name]) };
    let row = |job: &Answer| CELLS.iter().map(|name| cell(job, name)).collect();
    table(&HEADS, &["CREATED", "BY"], &jobs.iter().map(row).collect::<Vec<_>>())
}

/// Shows how far a job is until it is over or paused, or its letters wait for something: as a bar in a terminal, elsewhere as a
/// line whenever that changes. It goes well where all was done.
async fn follow(client: &Client, id: &str, json: bool) -> Outcome {
    let mut progress = Progress::default();
    let job = loop {
        let job = client.get(&format!("jobs/{id}"), &[]).await?;
        progress.show(&job)?;
        if !goes_on(&job) {
            break job;
        }
        tokio::time::sleep(EVERY).await;
    };
    progress.end()?;
    if json {
        print_text(&format!("{}\n", job.text()))?;
    } else {
        let report = if not_sent(&job) > 0 { Some(client.get(&format!("jobs/{id}/report"), &[]).await?) } else { None };
        print_text(&summary(&job, report.as_ref().map_or(&Value::Null, |report| &report["not_sent"])))?;
    }
    Ok(exit(job["state"] == "done" && job["failed"] == 0 && not_sent(&job) == 0))
}

/// Whether it is worth waiting for: it is under way, or the last of its retries are being sent.
fn goes_on(job: &Value) -> bool {
    matches!(job["state"].as_str(), Some("queued" | "running")) || state(job) == SENDING
}

/// What a retry of many is once all of its letters are scheduled.
const SENDING: &str = "sending";

/// Letters that were scheduled and then not sent: their queue did not take them, or somebody took them out.
fn not_sent(job: &Value) -> u64 {
    let of = |value: &Value| value.as_u64().unwrap_or_default();
    of(&job["outcome"]["not_sent"]).saturating_sub(of(&job["failed"]) + of(&job["skipped"]))
}

/// Its state, or what its letters wait for once it has ended itself, in the words of the pages.
fn state(job: &Value) -> String {
    let outcome = &job["outcome"];
    let is_unsent = matches!(job["state"].as_str(), Some("done" | "failed")) && outcome["to_send"].as_u64() > Some(0);
    let sends = is_unsent || job["state"] == "running";
    match job["begins_at"].as_str() {
        Some(at) if sends => format!("scheduled for {at}"),
        None if sends && outcome["held"] == true => "waiting".to_owned(),
        None if is_unsent => SENDING.to_owned(),
        _ => shown(&job["state"]),
    }
}

/// `report` says why letters were not sent.
fn summary(job: &Value, report: &Value) -> String {
    let items = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let errors = items(&job["errors"]).into_iter().map(|error| format!("  {}\n", shown(&error)));
    let left_out = job["errors_left_out"].as_u64().filter(|n| *n > 0).map(|n| format!("  and {n} more\n"));
    let skipped = job["skipped"].as_u64().filter(|n| *n > 0).map(|n| format!(", {n} left alone"));
    let why = items(report).into_iter().map(|found| format!("  {}: {}\n", found["letters"], shown(&found["why"])));
    let head = format!("{} {}: {}{}\n", shown(&job["action"]), state(job), counts(job), skipped.unwrap_or_default());
    [head].into_iter().chain(errors).chain(left_out).chain(why).collect()
}

fn counts(job: &Value) -> String {
    let told = |n: u64, what| if n > 0 { format!(", {n} {what}") } else { String::new() };
    let failed = told(job["failed"].as_u64().unwrap_or_default(), "refused");
    let to_send = job["outcome"]["to_send"].as_u64().filter(|_| job["state"] == "done").unwrap_or_default();
    let (to_send, not_sent) = (told(to_send, "to send"), told(not_sent(job), "not sent"));
    format!("{} of {}{failed}{to_send}{not_sent}", job["done"], job["total"])
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
        assert_eq!(summary(&job, &Value::Null), "retry done: 5 of 8, 1 refused\n  the queue is gone\n  and 2 more\n");
    }

    #[test]
    fn a_retry_is_over_when_its_letters_are_sent_or_cannot_be() {
        let job = |to_send, not_sent| {
            json!({"action": "retry", "state": "done", "total": 8, "done": 6, "failed": 1, "skipped": 1, "begins_at": null,
                "outcome": {"to_send": to_send, "not_sent": not_sent, "held": false}})
        };
        assert!(goes_on(&job(2, 2)) && !goes_on(&job(0, 2)));
        assert_eq!((not_sent(&job(0, 2)), not_sent(&job(0, 5))), (0, 3));
        assert_eq!(counts(&job(2, 2)), "6 of 8, 1 refused, 2 to send");
        let why = json!([{"letters": 3, "why": "there is no queue x"}]);
        let expected = "retry done: 6 of 8, 1 refused, 3 not sent, 1 left alone\n  3: there is no queue x\n";
        assert_eq!(summary(&job(0, 5), &why), expected);
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

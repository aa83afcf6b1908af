//! `dlo retry` and `discard`: of the letters that are named, or of all that a filter lets through.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    time::Instant,
};

use clap::Args;
use payload_codec::json::portable;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    Client, Failure, Outcome, Server, USAGE_ERROR, jobs,
    letters::Filter,
    text::{confirm, exit, note, print_text, text_or_id},
};
use crate::domain::number::plural;

#[derive(Debug, Args)]
pub struct RetryArgs {
    #[command(flatten)]
    target: Target,
    /// How long to wait, as 30s or 10m
    #[arg(long)]
    delay: Option<String>,
    /// Where to, in place of the queue each failed in
    #[arg(long, value_name = "QUEUE")]
    to: Option<String>,
    /// Of all that match: so many messages a second
    #[arg(long, allow_negative_numbers = true)]
    rate: Option<u64>,
    /// Of all that match: evenly over so long, as 1h
    #[arg(long, conflicts_with = "rate")]
    spread: Option<String>,
}

#[derive(Debug, Args)]
pub struct DiscardArgs {
    #[command(flatten)]
    target: Target,
    /// Why
    #[arg(long)]
    note: Option<String>,
}

/// Which letters: ids, or a filter.
#[derive(Debug, Args)]
struct Target {
    /// Ids of dead letters; - reads them from standard input, or the "id" of lines of JSON
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    filter: Filter,
    /// Do not ask before it is done with all that match
    #[arg(long)]
    yes: bool,
    /// Do not wait until it is done with all that match
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    server: Server,
}

pub async fn retry(asked: &RetryArgs) -> Outcome {
    let mut order = given([("delay", &asked.delay), ("queue", &asked.to)]);
    if !asked.target.is_filter()? {
        if asked.rate.is_some() || asked.spread.is_some() {
            return Err(Failure::Usage("--rate and --spread go with a filter, not with ids".to_owned()));
        }
        return one_by_one(&asked.target, "retry", &order).await;
    }
    order.extend(given([("spread", &asked.spread)]));
    order.extend(asked.rate.map(|rate| ("rate".to_owned(), rate.into())));
    all(&asked.target, "retry", order).await
}

pub async fn discard(asked: &DiscardArgs) -> Outcome {
    let order = given([("note", &asked.note)]);
    if asked.target.is_filter()? {
        return all(&asked.target, "discard", order).await;
    }
    one_by_one(&asked.target, "discard", &order).await
}

fn given<const N: usize>(fields: [(&str, &Option<String>); N]) -> Map<String, Value> {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?.into()))).collect()
}

impl Target {
    fn is_filter(&self) -> Result<bool, Failure> {
        match (self.ids.is_empty(), self.filter.pairs().is_empty()) {
            (true, true) => {
                Err(Failure::Usage("it takes ids of dead letters, or a filter as of `dlo list`".to_owned()))
            }
            (false, false) => Err(Failure::Usage("it takes ids or a filter, and not both".to_owned())),
            (is_filter, _) => Ok(is_filter),
        }
    }

    fn ids(&self) -> Result<Vec<Uuid>, Failure> {
        let mut ids = Vec::new();
        for text in &self.ids {
            match &**text {
                "-" => io::stdin().lines().try_for_each(|line| line.map(|line| ids.push(line)))?,
                id => ids.push(id.to_owned()),
            }
        }
        let lines = ids.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
        lines
            .map(|line| id_of(line).ok_or_else(|| Failure::Usage(format!("{line:?} is no id of a dead letter"))))
            .collect()
    }
}

/// What `dlo list` prints begins with an id, as text and as JSON.
fn id_of(line: &str) -> Option<Uuid> {
    match serde_json::from_str::<Value>(&portable(line)) {
        Ok(Value::Object(letter)) => letter.get("id")?.as_str()?.parse().ok(),
        _ => line.parse().ok(),
    }
}

/// Those that are refused are told one by one, and the others are done. Where the server answers no more, what was done is told.
async fn one_by_one(target: &Target, action: &str, order: &Map<String, Value>) -> Outcome {
    let client = Client::new(&target.server)?;
    let (mut done, mut refused, mut misunderstood) = (0, 0, 0);
    for id in target.ids()? {
        match client.change(&format!("letters/{id}/{action}"), &Value::Object(order.clone())).await {
            Ok(letter) => {
                done += 1;
                if target.server.json {
                    print_text(&format!("{}\n", text_or_id(letter.as_ref(), id)))?;
                }
            }
            Err(Failure::Refused(refusal)) => {
                refused += 1;
                misunderstood += u64::from(refusal.is_misunderstood());
                note(&format!("dlo: {id}: {refusal}\n"))?;
            }
            Err(failure) => {
                note(&format!("dlo: {} before {id}\n", outcome(action, done, refused)))?;
                return Err(failure);
            }
        }
    }
    if !target.server.json {
        print_text(&format!("{}\n", outcome(action, done, refused)))?;
    }
    let is_mistake = done == 0 && refused > 0 && misunderstood == refused;
    Ok(if is_mistake { ExitCode::from(USAGE_ERROR) } else { exit(refused == 0) })
}

fn outcome(action: &str, done: u64, refused: u64) -> String {
    let what = if action == "retry" { "to be retried" } else { "discarded" };
    let left = if refused > 0 { format!(", {} refused", plural(refused, "dead letter")) } else { String::new() };
    format!("{} {what}{left}", plural(done, "dead letter"))
}

/// What matches is told first, and somebody has to say yes.
async fn all(target: &Target, action: &str, mut order: Map<String, Value>) -> Outcome {
    let client = Client::new(&target.server)?;
    order.insert("action".to_owned(), action.into());
    order.insert("filter".to_owned(), filter(&target.filter));
    let asked = Instant::now();
    if !target.yes {
        let preview = client.post("actions/preview", &as_of(asked, &order)).await?;
        if !io::stdin().is_terminal() {
            return Err(Failure::Usage(format!("{} match; --yes does it without a question", preview["total"])));
        }
        note(&told(&preview))?;
        let n = preview["total"].as_u64().unwrap_or_default();
        if !confirm(&format!("{action} {}?", plural(n, "dead letter")))? {
            return Ok(exit(false));
        }
    }
    let started = client.post("actions", &as_of(asked, &order)).await?;
    let job = started["job"].as_str().unwrap_or_default();
    if target.no_wait {
        return jobs::print_begun(&started, target.server.json);
    }
    note(&format!("dlo: it goes on when nobody waits for it; dlo jobs {job} --cancel stops it\n"))?;
    jobs::follow_begun(&client, &started, target.server.json).await
}

/// What came in after that was not asked about and is left alone. It is said how long ago that was, as the server may have
/// another time.
fn as_of(asked: Instant, order: &Map<String, Value>) -> Value {
    let mut order = order.clone();
    order.insert("until".to_owned(), format!("{}us", asked.elapsed().as_micros()).into());
    Value::Object(order)
}

/// What speaks against it.
fn told(preview: &Value) -> String {
    let refused = preview["refused"].as_array().into_iter().flatten();
    let refused =
        refused.map(|found| format!("{} will be refused: {}\n", found["letters"], super::text::shown(&found["why"])));
    let reason = super::text::shown(&preview["reason"]);
    refused.chain((!reason.is_empty()).then(|| format!("{reason}\n"))).collect()
}

/// The words of the list as JSON: several values as a list.
fn filter(filter: &Filter) -> Value {
    let mut words: Map<String, Value> = Map::new();
    for (name, value) in filter.listed() {
        match words.get_mut(name) {
            None => _ = words.insert(name.to_owned(), value.into()),
            Some(Value::Array(several)) => several.push(value.into()),
            Some(one) => *one = json!([one.take(), value]),
        }
    }
    Value::Object(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_from_what_lists_print() {
        let id = Uuid::from_u128(7);
        assert_eq!(id_of(&id.to_string()), Some(id));
        assert_eq!(id_of(&json!({"id": id, "queue": "a"}).to_string()), Some(id));
        assert_eq!(id_of("7"), None);
    }
}

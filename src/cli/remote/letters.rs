//! `dlo list`, `search`, `show` and `groups`.

use clap::Args;
use serde_json::Value;
use uuid::Uuid;

use super::{
    Client, ListOptions, Outcome, Server, read_id,
    text::{lines, print_all, print_text, shown, table},
};
use crate::cli::print;

/// Which dead letters are meant; several values by repeating an option.
#[derive(Clone, Debug, Default, Args)]
pub struct Filter {
    /// open, scheduled, retried, discarded, or all
    #[arg(long)]
    status: Vec<String>,
    /// critical, high, normal or low
    #[arg(long)]
    importance: Vec<String>,
    #[arg(long)]
    broker: Vec<String>,
    /// A queue, or with * and ? several
    #[arg(long)]
    queue: Vec<String>,
    /// A message type, or with * and ? several
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// rejected, expired, maxlen, delivery_limit or unknown
    #[arg(long)]
    reason: Vec<String>,
    /// An error group, by its id
    #[arg(long, value_parser = read_id)]
    group: Vec<Uuid>,
    /// Received at or after: a time (RFC 3339), or how long ago (24h)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Received before
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// A search, in the words of the search box
    #[arg(long, value_name = "SEARCH")]
    q: Option<String>,
}

impl Filter {
    /// As the API takes it.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let named = |exact, glob, name: &String| (if name.contains(['*', '?']) { glob } else { exact }, name.clone());
        let several = [("status", &self.status), ("importance", &self.importance), ("broker", &self.broker)];
        let several = several.into_iter().chain([("reason", &self.reason)]);
        let mut pairs: Vec<_> =
            several.flat_map(|(name, values)| values.iter().map(move |value| (name, value.clone()))).collect();
        pairs.extend(self.queue.iter().map(|name| named("queue", "queue_glob", name)));
        pairs.extend(self.types.iter().map(|name| named("type", "type_glob", name)));
        pairs.extend(self.group.iter().map(|id| ("group", id.to_string())));
        let single = [("since", &self.since), ("until", &self.until), ("q", &self.q)];
        pairs.extend(single.into_iter().filter_map(|(name, value)| Some((name, value.clone()?))));
        pairs
    }
}

#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: Filter,
    /// newest, oldest, importance, attempts or size
    #[arg(long)]
    sort: Option<String>,
    #[command(flatten)]
    list: ListOptions,
    #[command(flatten)]
    server: Server,
}

#[derive(Debug, Args)]
pub struct SearchArgs {
    /// As in the search box: queue:billing.* error:"no exchange rate" -test; options come before them
    #[arg(required = true, value_name = "WORD", allow_hyphen_values = true, value_parser = read_word)]
    words: Vec<String>,
    #[command(flatten)]
    list: ListOptions,
    #[command(flatten)]
    server: Server,
}

/// A word may begin with one hyphen, which excludes it; what begins with two was meant for `dlo`.
fn read_word(text: &str) -> Result<String, String> {
    match text.strip_prefix("--") {
        Some(_) => Err("options come before the words; in quotes it is searched for: '\"--…\"'".to_owned()),
        None => Ok(text.to_owned()),
    }
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    #[arg(value_name = "ID", value_parser = read_id)]
    id: Uuid,
    /// Also what is hidden; its history then says who has seen it
    #[arg(long)]
    reveal: bool,
    /// Nothing but the body, byte for byte
    #[arg(long, conflicts_with = "reveal")]
    body: bool,
    #[command(flatten)]
    server: Server,
}

#[derive(Debug, Args)]
pub struct GroupsArgs {
    /// open (with open dead letters) or all
    #[arg(long, default_value = "open")]
    status: String,
    /// open, acknowledged, snoozed or resolved
    #[arg(long)]
    state: Vec<String>,
    /// A queue, or with * and ? several
    #[arg(long)]
    queue: Vec<String>,
    #[command(flatten)]
    list: ListOptions,
    #[command(flatten)]
    server: Server,
}

pub async fn list(asked: &ListArgs) -> Outcome {
    let mut query = asked.filter.pairs();
    if asked.filter.status.is_empty() {
        query.push(("status", "open".to_owned()));
    }
    query.extend(asked.sort.clone().map(|sort| ("sort", sort)));
    print_letters(&asked.server, &query, asked.list.limit).await
}

pub async fn search(asked: &SearchArgs) -> Outcome {
    print_letters(&asked.server, &[("q", asked.words.join(" "))], asked.list.limit).await
}

async fn print_letters(server: &Server, query: &[(&str, String)], limit: usize) -> Outcome {
    let letters = Client::new(server)?.items("letters", query, limit).await?;
    print_all(&letters, server.json, letter_table)
}

fn letter_table(letters: &[Value]) -> String {
    const HEADS: [&str; 8] = ["ID", "RECEIVED", "STATUS", "IMPORTANCE", "TRIES", "QUEUE", "TYPE", "ERROR"];
    let row = |letter: &Value| {
        let error = &letter["error"];
        let why = [&error["type"], &error["message"]].map(shown);
        let why = why.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(": ");
        let why = if why.is_empty() { shown(&letter["reason"]) } else { why };
        let cells = ["id", "received_at", "status", "importance", "attempts", "queue", "message_type"];
        cells.iter().map(|name| shown(&letter[*name])).chain([why]).collect()
    };
    table(&HEADS, &letters.iter().map(row).collect::<Vec<_>>())
}

pub async fn show(asked: &ShowArgs) -> Outcome {
    let (client, path) = (Client::new(&asked.server)?, format!("letters/{}", asked.id));
    if asked.body {
        return Ok(print(&client.bytes(&format!("{path}/body")).await?)?);
    }
    let letter = match asked.reveal {
        true => client.post(&format!("{path}/reveal"), &serde_json::json!({})).await?,
        false => client.get(&path, &[]).await?,
    };
    if asked.server.json {
        return print_text(&format!("{letter}\n"));
    }
    print_text(&letter_page(&letter))
}

/// A letter from top to bottom: facts, error, headers, payload, history.
fn letter_page(letter: &Value) -> String {
    const FACTS: [&str; 16] = [
        "id",
        "status",
        "importance",
        "broker",
        "queue",
        "exchange",
        "routing_key",
        "reason",
        "attempts",
        "first_failed_at",
        "last_failed_at",
        "received_at",
        "retry_at",
        "message_type",
        "group",
        "note",
    ];
    let facts = FACTS.iter().filter(|name| !letter[**name].is_null());
    let mut page: String = facts.map(|name| format!("{name:<16} {}\n", shown(&letter[*name]))).collect();
    for part in ["problem", "retry_refused"].iter().filter(|part| letter[**part].is_string()) {
        page.push_str(&format!("{part:<16} {}\n", shown(&letter[*part])));
    }
    for part in ["type", "message", "stacktrace"] {
        if let Some(text) = letter["error"][part].as_str() {
            page.push_str(&section(&format!("error {part}"), &lines(text)));
        }
    }
    page.push_str(&section("headers", &pretty(&letter["headers"])));
    let payload = &letter["payload"];
    let encoding =
        payload["encoding"].as_array().map(|kinds| kinds.iter().map(|kind| shown(kind) + " → ").collect::<String>());
    let body = match payload["text"].as_str().filter(|_| payload["json"].is_null()) {
        Some(text) => lines(text),
        None => pretty(&payload["json"]),
    };
    page.push_str(&section(&format!("payload ({}{})", encoding.unwrap_or_default(), shown(&payload["format"])), &body));
    let history = letter["history"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |entry: &Value| ["at", "event", "by", "detail"].map(|name| shown(&entry[name])).join("  ");
    let history = history.iter().map(|found| entry(found).trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    page + &section("history", &history)
}

fn section(head: &str, text: &str) -> String {
    format!("\n{head}\n{}\n", text.trim_end().lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"))
}

/// JSON over several lines; its texts keep the signs by which JSON writes what would steer the terminal.
fn pretty(value: &Value) -> String {
    lines(&format!("{value:#}"))
}

pub async fn groups(asked: &GroupsArgs) -> Outcome {
    let filter = Filter { queue: asked.queue.clone(), ..Filter::default() };
    let state = asked.state.iter().map(|state| ("state", state.clone()));
    let query: Vec<_> = filter.pairs().into_iter().chain([("status", asked.status.clone())]).chain(state).collect();
    let groups = Client::new(&asked.server)?.items("groups", &query, asked.list.limit).await?;
    print_all(&groups, asked.server.json, |groups| {
        const HEADS: [&str; 8] = ["ID", "STATE", "IMPORTANCE", "OPEN", "ALL", "LAST SEEN", "QUEUE", "ERROR"];
        const CELLS: [&str; 8] = ["id", "state", "importance", "open", "count", "last_seen", "queue", "error"];
        let row = |group: &Value| CELLS.iter().map(|name| shown(&group[*name])).collect();
        table(&HEADS, &groups.iter().map(row).collect::<Vec<_>>())
    })
}

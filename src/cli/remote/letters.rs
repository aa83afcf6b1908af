//! `dlo list`, `search`, `show` and `groups`.

use clap::Args;
use payload_codec::json::laid_out;
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use uuid::Uuid;

use super::{
    Client, Failure, ListOptions, Outcome, Server,
    client::Answer,
    read_id,
    text::{lines, print_all, print_text, shown, table},
};
use crate::{cli::print, domain::search::Parsed};

/// Which dead letters are meant; several values by repeating an option.
#[derive(Clone, Debug, Default, Args)]
pub struct Filter {
    /// open, scheduled, retried, discarded, or all; open where neither this nor the search says
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
    #[arg(long, value_name = "SEARCH", allow_hyphen_values = true, value_parser = read_search)]
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

    /// Those that are open, unless something else is said.
    pub fn listed(&self) -> Vec<(&'static str, String)> {
        // What cannot be read is refused by the server, whatever else is asked.
        let names_status = |search: &String| Parsed::read(search).is_ok_and(|search| search.names_status());
        let says_status = !self.status.is_empty() || self.q.as_ref().is_some_and(names_status);
        let open = (!says_status).then(|| ("status", "open".to_owned()));
        self.pairs().into_iter().chain(open).collect()
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

fn read_search(text: &str) -> Result<String, String> {
    match text.strip_prefix("--") {
        Some(_) => Err("it takes a search".to_owned()),
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
    let mut query = asked.filter.listed();
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

fn letter_table(letters: &[Answer]) -> String {
    const HEADS: [&str; 8] = ["ID", "RECEIVED", "STATUS", "IMPORTANCE", "TRIES", "QUEUE", "TYPE", "ERROR"];
    let row = |letter: &Answer| {
        let error = &letter["error"];
        let why = [&error["type"], &error["message"]].map(shown);
        let why = why.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(": ");
        let why = if why.is_empty() { shown(&letter["reason"]) } else { why };
        let cells = ["id", "received_at", "status", "importance", "attempts", "queue", "message_type"];
        cells.iter().map(|name| shown(&letter[*name])).chain([why]).collect()
    };
    table(&HEADS, &["TRIES", "TYPE", "RECEIVED", "IMPORTANCE", "STATUS"], &letters.iter().map(row).collect::<Vec<_>>())
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
    print_text(&if asked.server.json { format!("{}\n", letter.text()) } else { letter_page(&letter)? })
}

/// A letter from top to bottom: facts, error, remarks, properties, headers, payload, history.
fn letter_page(letter: &Answer) -> Result<String, Failure> {
    const FACTS: [&str; 25] = [
        "id",
        "title",
        "status",
        "importance",
        "importance_by",
        "broker",
        "queue",
        "exchange",
        "routing_key",
        "reason",
        "framework",
        "attempts",
        "rounds",
        "first_failed_at",
        "last_failed_at",
        "received_at",
        "retry_at",
        "message_type",
        "group",
        "size",
        "edited_from",
        "replaced_by",
        "note",
        "problem",
        "retry_refused",
    ];
    let facts = FACTS.iter().filter(|name| !letter[**name].is_null());
    let mut page: String = facts.map(|name| format!("{name:<16} {}\n", shown(&letter[*name]))).collect();
    for part in ["type", "message", "stacktrace"] {
        if let Some(text) = letter["error"][part].as_str() {
            page.push_str(&section(&format!("error {part}"), &lines(text)));
        }
    }
    page.push_str(&remarks("remarks", &letter["remarks"]));
    page.push_str(&section("properties", &pretty(&letter["properties"])));
    page.push_str(&section("headers", &pretty(&letter["headers"])));
    page.push_str(&payload(letter)?);
    let history = letter["history"].as_array().map(Vec::as_slice).unwrap_or_default();
    let entry = |entry: &Value| ["at", "event", "by", "detail"].map(|name| shown(&entry[name])).join("  ");
    let history = history.iter().map(|found| entry(found).trim_end().to_owned()).collect::<Vec<_>>().join("\n");
    Ok(page + &section("history", &history))
}

/// What is of the payload of a letter, with its numbers as they were written.
#[derive(Deserialize)]
struct PayloadOf<'a> {
    #[serde(borrow)]
    payload: PayloadText<'a>,
}

#[derive(Deserialize)]
struct PayloadText<'a> {
    #[serde(borrow)]
    json: Option<&'a RawValue>,
}

fn payload(letter: &Answer) -> Result<String, Failure> {
    let payload = &letter["payload"];
    let written: PayloadOf<'_> = serde_json::from_str(letter.text())?;
    let encoding = payload["encoding"].as_array().into_iter().flatten().map(|kind| shown(kind) + " → ");
    let head = format!("payload ({}{})", encoding.collect::<String>(), shown(&payload["format"]));
    let text = payload["text"].as_str().filter(|_| payload["json"].is_null());
    let body = match (text, written.payload.json) {
        (Some(text), _) => section(&head, &lines(text)),
        (None, Some(json)) => section(&head, &lines(&laid_out(json.get()))),
        (None, None) if payload["hidden"] == true => section(&head, "It is hidden."),
        // That a message of JSON is `null` is told like that there is none.
        (None, None) if payload["format"] == "json" => section(&head, "null"),
        (None, None) => {
            section(&head, &format!("{} bytes; dlo show {} --body prints them", letter["size"], shown(&letter["id"])))
        }
    };
    Ok(body + &remarks("remarks on the payload", &payload["remarks"]))
}

/// Nothing where there are none.
fn remarks(head: &str, remarks: &Value) -> String {
    let all = remarks.as_array().into_iter().flatten().map(shown).collect::<Vec<_>>();
    if all.is_empty() { String::new() } else { section(head, &all.join("\n")) }
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
        let row = |group: &Answer| CELLS.iter().map(|name| shown(&group[*name])).collect();
        table(&HEADS, &["ALL", "LAST SEEN", "IMPORTANCE"], &groups.iter().map(row).collect::<Vec<_>>())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_open_are_meant_unless_the_search_says_another_status() {
        let searches = [
            ("payload.status:failed", true),
            ("header.status:failed", true),
            ("\"status: 500\"", true),
            ("error:\"status:500\"", true),
            ("queue:a status:opne", true),
            ("status:scheduled", false),
            ("-status:open", false),
            ("(a OR status:open)", false),
            ("id:0199c2f4-6a4e-7c31-b7a7-0d6a7a3c8a10", false),
        ];
        for (search, is_open) in searches {
            let filter = Filter { q: Some(search.to_owned()), ..Filter::default() };
            assert_eq!(filter.listed().contains(&("status", "open".to_owned())), is_open, "{search}");
        }
        let filter = Filter { status: vec!["all".to_owned()], q: Some("a".to_owned()), ..Filter::default() };
        assert_eq!(filter.listed(), filter.pairs());
    }
}

//! Messages of task frameworks, as what they are: a call with arguments.
//!
//! This knows what Celery, Dramatiq, TaskIQ, NestJS, Nameko and Laravel write, and reads it from a payload that is already
//! JSON, whatever its format. What is hidden there is hidden here.

use std::borrow::Cow;

use payload_codec::{
    Limits,
    json::{self, Kind, Member, Node},
    structure,
};

use super::{Content, Question, Reading, hiding::Names};

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// `billing.charge`
    pub name: String,
    pub arguments: Vec<Argument>,
}

/// One of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// `None` where only its place tells what it is.
    pub name: Option<String>,
    /// As JSON in one line.
    pub value: String,
}

/// Characters of a title, and of one value in it.
const TITLE: usize = 160;
const VALUE: usize = 40;

/// Fields that Laravel keeps in every job.
const OF_LARAVEL: [&str; 18] = [
    "#class",
    "job",
    "connection",
    "queue",
    "delay",
    "afterCommit",
    "middleware",
    "chained",
    "chainConnection",
    "chainQueue",
    "chainCatchCallbacks",
    "tries",
    "timeout",
    "maxExceptions",
    "backoff",
    "batchId",
    "messageGroup",
    "fakeBatch",
];

impl Task {
    /// `billing.charge(42, currency="EUR")`, shortened where it is long.
    pub fn title(&self) -> String {
        let mut title = format!("{}(", self.name);
        for (i, argument) in self.arguments.iter().enumerate() {
            let separator = if i > 0 { ", " } else { "" };
            let name = argument.name.as_ref().map(|name| format!("{name}=")).unwrap_or_default();
            let part = format!("{separator}{name}{}", cut(&argument.value, VALUE));
            if title.chars().count().saturating_add(part.chars().count()) > TITLE {
                title.push_str(separator);
                title.push('…');
                break;
            }
            title.push_str(&part);
        }
        cut(&title, TITLE + 3).into_owned() + ")"
    }

    /// The call that a message stands for, if it does.
    pub(crate) fn read(question: &Question<'_>, payload: &Node<'_>, hidden: &Names) -> Option<Self> {
        let body = Body(payload);
        let mut task = celery(question, &body)
            .or_else(|| dramatiq(&body))
            .or_else(|| taskiq(&body))
            .or_else(|| laravel(&body))
            .or_else(|| nest(&body))
            .or_else(|| nameko(question, &body))?;
        hidden.hide(&mut task.1);
        let members = task.1.as_object()?;
        let argument = |member: &Member<'_>| Argument {
            name: Some(member.key.to_string()).filter(|name| !name.is_empty()),
            value: in_one_line(&member.value),
        };
        Some(Self { name: one_line(&task.0), arguments: members.iter().map(argument).collect() })
    }
}

impl Reading {
    /// Reads the call that it is, if it is one. What is hidden as a whole says nothing.
    pub(super) fn with_task(mut self, question: &Question<'_>, hidden: &Names, limits: &Limits) -> Self {
        if let Content::Json(text) = &self.content
            && self.unwrapped.payloads.len() == 1
            && let Ok(node) = json::read(text, limits.elements, limits.depth)
        {
            self.task = Task::read(question, &node, hidden);
        }
        self
    }
}

/// Whether it is worth the while to look closer: nearly all messages are no calls.
pub(super) fn may_be_one(question: &Question<'_>, payload: &[u8]) -> bool {
    const SIGNS: [&[u8]; 5] = [b"actor_name", b"task_name", b"\"task\"", b"displayName", b"\"pattern\""];
    const LOOKED_THROUGH: usize = 16 << 10;
    let headers = question.headers;
    if headers.get("task").is_some() || headers.iter().any(|(name, _)| name.starts_with("nameko.")) {
        return true;
    }
    let start = payload.get(..payload.len().min(LOOKED_THROUGH)).unwrap_or_default();
    start.first() == Some(&b'{') && SIGNS.iter().any(|sign| start.windows(sign.len()).any(|part| part == *sign))
}

/// A name, and an object of arguments; those without a name have an empty one.
type Call<'a> = (String, Node<'a>);

struct Body<'n, 'a>(&'n Node<'a>);

impl<'n, 'a> Body<'n, 'a> {
    fn get(&self, key: &str) -> Option<&'n Node<'a>> {
        self.0.as_object()?.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.get(key)?.as_text().map(str::to_owned)
    }
}

/// Positional ones, then those with names.
fn arguments<'a>(args: Option<&Node<'a>>, kwargs: Option<&Node<'a>>) -> Option<Node<'a>> {
    let mut members = Vec::new();
    match args.map(|args| &args.kind) {
        Some(Kind::Array(values)) => members.extend(values.iter().map(|value| Member::new("", value.clone()))),
        Some(Kind::Null) | None => {}
        Some(_) => return None,
    }
    match kwargs.map(|kwargs| &kwargs.kind) {
        Some(Kind::Object(named)) => members.extend(named.iter().cloned()),
        Some(Kind::Null) | None => {}
        Some(_) => return None,
    }
    Some(Node::object(members))
}

/// Protocol 2 has its name in a header and `[args, kwargs, embed]` in the body, protocol 1 all of it in the body.
fn celery<'a>(question: &Question<'_>, body: &Body<'_, 'a>) -> Option<Call<'a>> {
    match (question.headers.get_str("task"), &body.0.kind) {
        (Some(name), Kind::Array(parts)) if question.headers.get("id").is_some() => {
            let [args, kwargs, _] = parts.as_slice() else { return None };
            Some((name.to_owned(), arguments(Some(args), Some(kwargs))?))
        }
        (_, Kind::Object(_)) => {
            body.get("id")?;
            let args = body.get("args")?;
            Some((body.text("task")?, arguments(Some(args), body.get("kwargs"))?))
        }
        _ => None,
    }
}

fn dramatiq<'a>(body: &Body<'_, 'a>) -> Option<Call<'a>> {
    body.get("queue_name")?;
    Some((body.text("actor_name")?, arguments(body.get("args"), body.get("kwargs"))?))
}

fn taskiq<'a>(body: &Body<'_, 'a>) -> Option<Call<'a>> {
    body.get("task_id")?;
    Some((body.text("task_name")?, arguments(body.get("args"), body.get("kwargs"))?))
}

/// The pattern is a string or an object, the data anything.
fn nest<'a>(body: &Body<'_, 'a>) -> Option<Call<'a>> {
    let (pattern, data) = (body.get("pattern")?, body.get("data")?);
    let is_own =
        body.0.as_object()?.iter().all(|member| matches!(&*member.key, "pattern" | "data" | "id" | "isDisposed"));
    let name = pattern.as_text().map_or_else(|| in_one_line(pattern), str::to_owned);
    let arguments = match &data.kind {
        Kind::Object(_) => data.clone(),
        _ => Node::object(vec![Member::new("", data.clone())]),
    };
    is_own.then_some((name, arguments))
}

/// A call is published under `service.method`; an event has no arguments but itself.
fn nameko<'a>(question: &Question<'_>, body: &Body<'_, 'a>) -> Option<Call<'a>> {
    let is_own = question.headers.iter().any(|(name, _)| name.starts_with("nameko."));
    let name = question.routing_key;
    let members = body.0.as_object().filter(|_| is_own && name.contains('.'))?;
    let is_call = members.len() == 2;
    is_call.then_some((name.to_owned(), arguments(Some(body.get("args")?), Some(body.get("kwargs")?))?))
}

/// The job is an object that PHP has serialized, or has encrypted, which cannot be read.
fn laravel<'a>(body: &Body<'_, 'a>) -> Option<Call<'a>> {
    let name = body.text("displayName")?;
    body.get("job")?;
    let data = Body(body.get("data")?);
    let command = data.get("command").and_then(Node::as_text).unwrap_or_default();
    let job = structure::read(command.as_bytes(), structure::Format::Php, &Limits::default()).ok();
    let fields = job.as_ref().and_then(Node::as_object).unwrap_or_default();
    let own = fields.iter().filter(|member| !OF_LARAVEL.contains(&&*member.key));
    Some((name, Node::object(own.cloned().collect())))
}

fn in_one_line(node: &Node<'_>) -> String {
    match &node.kind {
        Kind::Array(nodes) => format!("[{}]", nodes.iter().map(in_one_line).collect::<Vec<_>>().join(", ")),
        Kind::Object(members) => {
            let member = |member: &Member<'_>| format!("{}: {}", Node::text(&*member.key), in_one_line(&member.value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        _ => node.to_string(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\0', "")
}

fn cut(text: &str, n_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(n_chars) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use amqp_message::{
        field::{FieldTable, FieldValue},
        message::Properties,
    };
    use payload_codec::unwrap::UnwrapMode;

    use super::*;

    fn task(headers: &[(&str, &str)], routing_key: &str, payload: &str, hidden: &[&str]) -> Option<Task> {
        let headers: FieldTable =
            headers.iter().map(|(name, value)| ((*name).to_owned(), FieldValue::string(*value))).collect();
        let question = Question {
            body: payload.as_bytes(),
            properties: &Properties::default(),
            headers: &headers,
            address: &[],
            routing_key,
            by_hand: None,
            declared: None,
            mapped: None,
            confirmed: &[],
            mode: &UnwrapMode::Automatic,
        };
        let hidden: Vec<String> = hidden.iter().map(|name| (*name).to_owned()).collect();
        Task::read(&question, &json::read(payload, 1_000, 100).unwrap(), &Names::new(&hidden))
    }

    fn check(headers: &[(&str, &str)], routing_key: &str, payload: &str, expected: Option<&str>) {
        let title = task(headers, routing_key, payload, &[]).map(|task| task.title());
        assert_eq!(title.as_deref(), expected, "{payload}");
    }

    #[test]
    fn each_framework_has_its_way() {
        let celery = [("task", "billing.charge"), ("id", "1")];
        check(
            &celery,
            "q",
            r#"[[42], {"currency": "EUR"}, {"callbacks": null}]"#,
            Some(r#"billing.charge(42, currency="EUR")"#),
        );
        check(&celery, "q", "[[], {}, {}]", Some("billing.charge()"));
        check(&[], "q", "[[42], {}, {}]", None);
        check(&[], "q", r#"{"task": "add", "id": "1", "args": [1, 2], "kwargs": {}}"#, Some("add(1, 2)"));
        check(
            &[],
            "q",
            r#"{"queue_name": "q", "actor_name": "send", "args": ["a"], "kwargs": {"to": [1]}}"#,
            Some(r#"send("a", to=[1])"#),
        );
        check(
            &[],
            "q",
            r#"{"task_id": "1", "task_name": "m:send", "args": [], "kwargs": {"n": null}}"#,
            Some("m:send(n=null)"),
        );
        check(&[], "q", r#"{"pattern": "order.placed", "data": {"id": 1}}"#, Some("order.placed(id=1)"));
        check(&[], "q", r#"{"pattern": {"cmd": "sum"}, "data": [1, 2], "id": "x"}"#, Some(r#"{"cmd": "sum"}([1, 2])"#));
        check(&[], "q", r#"{"pattern": "stripes", "data": 1, "colour": 2}"#, None);
        let nameko = [("nameko.call_id_stack", "x")];
        check(&nameko, "billing.charge", r#"{"args": [1], "kwargs": {"a": 2}}"#, Some("billing.charge(1, a=2)"));
        check(&[], "billing.charge", r#"{"args": [1], "kwargs": {"a": 2}}"#, None);
        let job = r#"{"displayName": "App\\Jobs\\Charge", "job": "x", "data": {"commandName": "App\\Jobs\\Charge",
            "command": "O:15:\"App\\Jobs\\Charge\":2:{s:7:\"orderId\";i:42;s:5:\"queue\";N;}"}}"#;
        check(&[], "q", job, Some(r"App\Jobs\Charge(orderId=42)"));
        check(&[], "q", r#"{"displayName": "A", "job": "x", "data": {"command": "eyJpdiI6"}}"#, Some("A()"));
    }

    #[test]
    fn what_is_hidden_stays_so_and_titles_are_short() {
        let payload = r#"{"task": "pay", "id": "1", "args": [{"card": "4711"}], "kwargs": {"card": "4711", "n": 1}}"#;
        let title = task(&[], "q", payload, &["card"]).unwrap().title();
        assert!(!title.contains("4711") && title.contains("n=1"), "{title}");
        let long =
            format!(r#"{{"task": "pay", "id": "1", "args": [{}1]}}"#, "\"abcdefghijklmnopqrstuvwxyz\", ".repeat(20));
        let title = task(&[], "q", &long, &[]).unwrap().title();
        assert!(title.ends_with(", …)") && title.chars().count() < 170, "{title}");
    }
}

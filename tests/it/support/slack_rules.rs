//! What Slack takes as a message, and what it refuses, by its documentation
//! (<https://docs.slack.dev/reference/block-kit/blocks>, <https://docs.slack.dev/reference/methods/chat.postMessage>).
//!
//! Written for a stand-in of Slack in tests, from what Slack says and from nothing else. Blocks that are documented but
//! not listed here are refused, so that nobody sends one unchecked.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

type Object = Map<String, Value>;
type Checked = Result<(), String>;

/// Blocks of a message.
const BLOCKS: usize = 50;
/// Characters of all blocks of a message as JSON. Not documented: the fewest that were ever reported as refused with
/// `msg_blocks_too_long` (<https://github.com/slackapi/bolt-js/issues/2509>).
const ALL_BLOCKS: usize = 13_172;
/// Characters of a message's text. Slack cuts off what is beyond the limit, and advises to stay below the other.
const MESSAGE_TEXT: usize = 40_000;
const ADVISED_TEXT: usize = 4_000;
/// Bytes of a whole request.
const REQUEST: usize = 100_000;
const TEXT: usize = 3_000;
const HEADER: usize = 150;
const FIELD: usize = 2_000;
const FIELDS: usize = 10;
const CONTEXT_ELEMENTS: usize = 10;
const ACTIONS: usize = 25;
const BUTTON_TEXT: usize = 75;
const BUTTON_VALUE: usize = 2_000;
const URL: usize = 3_000;
/// Of `block_id` and `action_id`.
const ID: usize = 255;
const IMAGE_TEXT: usize = 2_000;

/// Checks the body of a request to an incoming webhook or to `chat.postMessage`; else says what Slack would not take.
pub fn check_slack_message(message: &Value) -> Checked {
    let whole = object(message, "the message")?;
    check_message_fields(whole)?;
    let bytes = message.to_string().len();
    ensure(bytes <= REQUEST, || format!("the message has {bytes} bytes"))?;
    let text = whole.get("text").and_then(Value::as_str).unwrap_or_default();
    ensure(!text.trim().is_empty(), || "no_text: text is missing, and notifications show it".to_owned())?;
    ensure(length(text) <= MESSAGE_TEXT, || "msg_too_long".to_owned())?;
    ensure(length(text) <= ADVISED_TEXT, || "text is longer than the advised 4,000 characters".to_owned())?;
    let Some(blocks) = whole.get("blocks") else { return Ok(()) };
    check_blocks(array(blocks, "blocks", 1..=BLOCKS)?)
}

/// What stands between angle brackets in the texts that Slack reads for markup: `https://x|y`, `!channel`, `@U1`, `#C1`.
/// A bracket that is not closed is listed too.
pub fn links_and_mentions(message: &Value) -> Vec<String> {
    let mut found = Vec::new();
    find_brackets(message.get("text").and_then(Value::as_str).unwrap_or_default(), &mut found);
    visit(message.get("blocks").unwrap_or(&Value::Null), &mut |object| {
        if object.get("type").and_then(Value::as_str) == Some("mrkdwn") {
            find_brackets(object.get("text").and_then(Value::as_str).unwrap_or_default(), &mut found);
        }
    });
    found
}

fn check_message_fields(message: &Object) -> Checked {
    for (name, value) in message {
        let is_right = match name.as_str() {
            "text" | "channel" | "thread_ts" | "username" | "icon_emoji" | "icon_url" | "parse" => value.is_string(),
            "mrkdwn" | "unfurl_links" | "unfurl_media" | "link_names" | "reply_broadcast" => value.is_boolean(),
            "blocks" => value.is_array(),
            _ => return Err(format!("invalid_arguments: a message has no {name:?}")),
        };
        ensure(is_right, || format!("invalid_arguments: {name} has the wrong type: {value}"))?;
    }
    Ok(())
}

fn check_blocks(blocks: &[Value]) -> Checked {
    let mut ids = BTreeSet::new();
    for (position, block) in blocks.iter().enumerate() {
        let at = format!("/blocks/{position}");
        let block = object(block, &at)?;
        check_block(block, &at)?;
        if let Some(id) = block.get("block_id") {
            let id = string(id, &format!("{at}/block_id"), 1..=ID)?;
            ensure(ids.insert(id.to_owned()), || format!("{at}: block_id {id:?} is there twice"))?;
        }
    }
    let all = Value::from(blocks.to_vec()).to_string();
    ensure(length(&all) < ALL_BLOCKS, || format!("msg_blocks_too_long: {} characters", length(&all)))
}

fn check_block(block: &Object, at: &str) -> Checked {
    match kind(block, at)? {
        "header" => {
            only(block, &["type", "block_id", "text"], at)?;
            check_text(required(block, "text", at)?, &format!("{at}/text"), HEADER, Markup::Forbidden)
        }
        "section" => check_section(block, at),
        "context" => {
            only(block, &["type", "block_id", "elements"], at)?;
            let at = format!("{at}/elements");
            for element in array(required(block, "elements", &at)?, &at, 1..=CONTEXT_ELEMENTS)? {
                match kind(object(element, &at)?, &at)? {
                    "image" => check_image(object(element, &at)?, &at, &[])?,
                    _ => check_text(element, &at, TEXT, Markup::Allowed)?,
                }
            }
            Ok(())
        }
        "divider" => only(block, &["type", "block_id"], at),
        "image" => check_image(block, at, &["block_id", "title"]),
        "actions" => {
            only(block, &["type", "block_id", "elements"], at)?;
            let at = format!("{at}/elements");
            let mut ids = BTreeSet::new();
            for element in array(required(block, "elements", &at)?, &at, 1..=ACTIONS)? {
                check_button(object(element, &at)?, &at, &mut ids)?;
            }
            Ok(())
        }
        other => Err(format!("invalid_blocks: unsupported type {other:?} [{at}]")),
    }
}

fn check_section(block: &Object, at: &str) -> Checked {
    only(block, &["type", "block_id", "text", "fields", "accessory", "expand"], at)?;
    ensure(block.contains_key("text") || block.contains_key("fields"), || {
        format!("invalid_blocks: a section needs text or fields [{at}]")
    })?;
    if let Some(text) = block.get("text") {
        check_text(text, &format!("{at}/text"), TEXT, Markup::Allowed)?;
    }
    if let Some(fields) = block.get("fields") {
        let at = format!("{at}/fields");
        for field in array(fields, &at, 1..=FIELDS)? {
            check_text(field, &at, FIELD, Markup::Allowed)?;
        }
    }
    if let Some(accessory) = block.get("accessory") {
        let at = format!("{at}/accessory");
        let accessory = object(accessory, &at)?;
        match kind(accessory, &at)? {
            "image" => check_image(accessory, &at, &[])?,
            _ => check_button(accessory, &at, &mut BTreeSet::new())?,
        }
    }
    boolean(block, "expand", at)
}

#[derive(Clone, Copy, PartialEq)]
enum Markup {
    Allowed,
    /// Only `plain_text` will do.
    Forbidden,
}

/// <https://docs.slack.dev/reference/block-kit/composition-objects/text-object>
fn check_text(text: &Value, at: &str, longest: usize, markup: Markup) -> Checked {
    let text = object(text, at)?;
    match kind(text, at)? {
        "plain_text" => {
            only(text, &["type", "text", "emoji"], at)?;
            boolean(text, "emoji", at)?;
        }
        "mrkdwn" if markup == Markup::Allowed => {
            only(text, &["type", "text", "verbatim"], at)?;
            boolean(text, "verbatim", at)?;
        }
        other => return Err(format!("invalid_blocks: no text of type {other:?} here [{at}]")),
    }
    let shown = string(required(text, "text", at)?, &format!("{at}/text"), 1..=longest)?;
    ensure(!shown.trim().is_empty(), || format!("invalid_blocks: blank text [{at}]"))
}

/// <https://docs.slack.dev/reference/block-kit/block-elements/button-element>
fn check_button(button: &Object, at: &str, ids: &mut BTreeSet<String>) -> Checked {
    ensure(kind(button, at)? == "button", || format!("invalid_blocks: no button [{at}]"))?;
    only(button, &["type", "text", "action_id", "url", "value", "style", "accessibility_label"], at)?;
    check_text(required(button, "text", at)?, &format!("{at}/text"), BUTTON_TEXT, Markup::Forbidden)?;
    for (name, longest) in [("url", URL), ("value", BUTTON_VALUE), ("accessibility_label", BUTTON_TEXT)] {
        button.get(name).map_or(Ok(""), |value| string(value, &format!("{at}/{name}"), 1..=longest))?;
    }
    let style = button.get("style").map_or(Some("primary"), Value::as_str);
    ensure(matches!(style, Some("primary" | "danger")), || format!("invalid_blocks: style {style:?} [{at}]"))?;
    let Some(id) = button.get("action_id") else { return Ok(()) };
    let id = string(id, &format!("{at}/action_id"), 1..=ID)?;
    ensure(ids.insert(id.to_owned()), || format!("invalid_blocks: action_id {id:?} is there twice [{at}]"))
}

/// <https://docs.slack.dev/reference/block-kit/block-elements/image-element>
fn check_image(image: &Object, at: &str, more: &[&str]) -> Checked {
    only(image, &[&["type", "image_url", "alt_text"], more].concat(), at)?;
    string(required(image, "image_url", at)?, &format!("{at}/image_url"), 1..=URL)?;
    string(required(image, "alt_text", at)?, &format!("{at}/alt_text"), 1..=IMAGE_TEXT)?;
    let Some(title) = image.get("title") else { return Ok(()) };
    check_text(title, &format!("{at}/title"), IMAGE_TEXT, Markup::Forbidden)
}

fn find_brackets(text: &str, found: &mut Vec<String>) {
    for part in text.split('<').skip(1) {
        found.push(part.split_once('>').map_or(format!("{part} …"), |(inside, _)| inside.to_owned()));
    }
}

fn visit(value: &Value, look: &mut dyn FnMut(&Object)) {
    match value {
        Value::Object(object) => {
            look(object);
            object.values().for_each(|value| visit(value, look));
        }
        Value::Array(values) => values.iter().for_each(|value| visit(value, look)),
        _ => {}
    }
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Object, String> {
    value.as_object().ok_or_else(|| format!("invalid_blocks: an object was expected [{at}]"))
}

fn array<'a>(value: &'a Value, at: &str, lengths: std::ops::RangeInclusive<usize>) -> Result<&'a [Value], String> {
    let values = value.as_array().ok_or_else(|| format!("invalid_blocks: an array was expected [{at}]"))?;
    ensure(lengths.contains(&values.len()), || {
        format!("invalid_blocks: {} items, not {lengths:?} [{at}]", values.len())
    })?;
    Ok(values)
}

fn string<'a>(value: &'a Value, at: &str, lengths: std::ops::RangeInclusive<usize>) -> Result<&'a str, String> {
    let text = value.as_str().ok_or_else(|| format!("invalid_blocks: a string was expected [{at}]"))?;
    let found = length(text);
    ensure(lengths.contains(&found), || format!("invalid_blocks: {found} characters, not {lengths:?} [{at}]"))?;
    Ok(text)
}

fn boolean(object: &Object, name: &str, at: &str) -> Checked {
    let is_right = object.get(name).is_none_or(Value::is_boolean);
    ensure(is_right, || format!("invalid_blocks: {name} is true or false [{at}]"))
}

fn required<'a>(object: &'a Object, name: &str, at: &str) -> Result<&'a Value, String> {
    object.get(name).ok_or_else(|| format!("invalid_blocks: {name} is missing [{at}]"))
}

fn kind<'a>(object: &'a Object, at: &str) -> Result<&'a str, String> {
    required(object, "type", at)?.as_str().ok_or_else(|| format!("invalid_blocks: type is a string [{at}]"))
}

fn only(object: &Object, known: &[&str], at: &str) -> Checked {
    let unknown = object.keys().find(|name| !known.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| Err(format!("invalid_blocks: unknown field {name:?} [{at}]")))
}

fn ensure(holds: bool, why: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(why()) }
}

/// Characters, those outside the basic plane as two, as JavaScript and Java count them.
fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(blocks: Value) -> Value {
        json!({ "text": "x", "blocks": blocks })
    }

    fn plain(text: &str) -> Value {
        json!({ "type": "plain_text", "text": text })
    }

    fn refused(message: Value, part: &str) {
        let why = check_slack_message(&message).unwrap_err();
        assert!(why.contains(part), "{why}");
    }

    fn taken(message: Value) {
        assert_eq!(check_slack_message(&message), Ok(()), "{message}");
    }

    #[test]
    fn what_the_documentation_shows_is_taken() {
        taken(json!({ "text": "Hello" }));
        taken(of(json!([
            { "type": "header", "text": plain(&"x".repeat(150)), "block_id": "a" },
            { "type": "section", "text": { "type": "mrkdwn", "text": "*x*", "verbatim": true }, "expand": true },
            { "type": "section", "fields": [plain("a"), plain(&"b".repeat(2_000))] },
            { "type": "divider" },
            { "type": "context", "elements": [plain("a"), { "type": "image", "image_url": "https://x", "alt_text": "x" }] },
            { "type": "actions", "elements": [{ "type": "button", "text": plain("Go"), "url": "https://x" }] },
            { "type": "section", "text": plain("a"), "accessory": { "type": "button", "text": plain("Go"), "style": "danger" } },
            { "type": "image", "image_url": "https://x", "alt_text": "x", "title": plain("x") },
        ])));
        taken(of(Value::from(vec![json!({ "type": "divider" }); 50])));
    }

    #[test]
    fn what_is_too_long_or_too_much_is_refused() {
        refused(of(Value::from(vec![json!({ "type": "divider" }); 51])), "51 items");
        refused(of(json!([])), "0 items");
        refused(of(json!([{ "type": "header", "text": plain(&"x".repeat(151)) }])), "151 characters");
        refused(of(json!([{ "type": "section", "text": plain(&"x".repeat(3_001)) }])), "3001 characters");
        refused(of(json!([{ "type": "section", "fields": [plain(&"x".repeat(2_001))] }])), "2001 characters");
        refused(of(json!([{ "type": "section", "fields": vec![plain("x"); 11] }])), "11 items");
        refused(of(json!([{ "type": "section", "fields": [] }])), "0 items");
        refused(of(json!([{ "type": "context", "elements": vec![plain("x"); 11] }])), "11 items");
        refused(of(json!([{ "type": "section", "text": plain("x"), "block_id": "x".repeat(256) }])), "256 characters");
        refused(
            of(json!([{ "type": "actions", "elements": [{ "type": "button", "text": plain(&"x".repeat(76)) }] }])),
            "76",
        );
        refused(
            of(Value::from(vec![json!({ "type": "section", "text": plain(&"x".repeat(2_900)) }); 5])),
            "msg_blocks_too_long",
        );
        refused(json!({ "text": "x".repeat(40_001) }), "msg_too_long");
        refused(json!({ "text": "x".repeat(4_001) }), "advised");
        refused(of(json!([{ "type": "section", "text": plain(&"𝕏".repeat(1_501)) }])), "3002 characters");
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let button = json!({ "type": "button", "text": plain("x"), "action_id": "a" });
        refused(json!("x"), "object");
        refused(json!({ "blocks": [{ "type": "divider" }] }), "no_text");
        refused(json!({ "text": " " }), "no_text");
        refused(json!({ "text": 1 }), "wrong type");
        refused(json!({ "text": "x", "block": [] }), "no \"block\"");
        refused(of(json!({})), "wrong type");
        refused(of(json!(["x"])), "object");
        refused(of(json!([{ "text": plain("x") }])), "type is missing");
        refused(of(json!([{ "type": "table" }])), "unsupported type");
        refused(of(json!([{ "type": "section" }])), "text or fields");
        refused(of(json!([{ "type": "section", "text": "x" }])), "object");
        refused(of(json!([{ "type": "section", "text": plain("") }])), "0 characters");
        refused(of(json!([{ "type": "section", "text": plain(" ") }])), "blank");
        refused(of(json!([{ "type": "section", "text": { "type": "markdown", "text": "x" } }])), "markdown");
        refused(of(json!([{ "type": "section", "text": { "type": "mrkdwn", "text": "x", "emoji": false } }])), "emoji");
        refused(
            of(json!([{ "type": "section", "text": { "type": "plain_text", "text": "x", "verbatim": true } }])),
            "verbatim",
        );
        refused(
            of(json!([{ "type": "section", "text": { "type": "plain_text", "text": "x", "emoji": "no" } }])),
            "emoji",
        );
        refused(of(json!([{ "type": "header", "text": { "type": "mrkdwn", "text": "x" } }])), "mrkdwn");
        refused(of(json!([{ "type": "divider", "text": plain("x") }])), "unknown field");
        refused(of(json!([{ "type": "divider", "block_id": "a" }, { "type": "divider", "block_id": "a" }])), "twice");
        refused(of(json!([{ "type": "actions", "elements": [button, button] }])), "twice");
        refused(of(json!([{ "type": "actions", "elements": [plain("x")] }])), "no button");
        refused(of(json!([{ "type": "image", "image_url": "https://x" }])), "alt_text");
    }

    #[test]
    fn brackets_are_found_where_slack_reads_them() {
        let message = json!({ "text": "<!here>", "blocks": [
            { "type": "section", "text": { "type": "mrkdwn", "text": "<https://x|y> <@U1" } },
            { "type": "section", "text": plain("<!channel>") },
        ] });
        assert_eq!(links_and_mentions(&message), ["!here", "https://x|y", "@U1 …"]);
    }
}

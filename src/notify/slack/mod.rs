//! Digests and pages as messages for Slack, in its Block Kit (<https://docs.slack.dev/block-kit>).
//!
//! # What came in a message pings nobody and links nowhere
//! Slack knows two sorts of text objects (<https://docs.slack.dev/reference/block-kit/composition-objects/text-object>).
//! What a message brought, and whatever a user wrote, goes into those of the sort `plain_text`, in which nothing is
//! markup, with emoji switched off. Only words and figures of our own and our own links go into `mrkdwn`. In both, `&`,
//! `<` and `>` are escaped as Slack asks, and characters that cannot be seen or turn the text around are left out.
//!
//! Links are links in the text and no buttons: a click on a button is also sent to the app, and where none listens, as
//! with a webhook, Slack puts a warning sign beside it (<https://github.com/slackapi/node-slack-sdk/issues/869>).

mod block;
pub mod channel;
mod clean;
mod digest;
mod incident;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

pub use self::{
    digest::{Link, message},
    incident::incident,
};

/// A message of these blocks. `summary` stands in for them in notifications, for screen readers, and where blocks are
/// not understood.
fn envelope(summary: &str, blocks: Vec<Value>) -> Value {
    json!({
        "text": clean::summary(summary),
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": blocks,
    })
}

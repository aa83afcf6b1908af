//! moleculer-channels: publishes to `FAILED_MESSAGES`.

use amqp_message::{error_report::ErrorReport, message::Message};
use base64::{Engine, prelude::BASE64_STANDARD};

use super::{evidence::Evidence, framework::Framework, moment, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Moleculer Channels",
    records: "exception, stack trace, time, queue",
    retried: "the headers of the failure are removed; the original headers and properties are lost",
    read,
    clean,
    advice: "moleculer-channels records the error by itself since 0.3.0.",
};

/// In which it counts its own tries, before it gives a message up.
const TRIES: &str = "x-redelivered-count";

/// A group's queue is `<group>.<channel>`, bound to a fanout exchange of the channel's name.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let Some(channel) = evidence.text("x-original-channel") else {
        // It has only rejected the message.
        let tries = evidence.number(TRIES)?;
        return Some(FrameworkReport::attempts(Some(tries.saturating_add(1))));
    };
    let group = evidence.text("x-original-group")?;
    Some(FrameworkReport {
        queue: Some(format!("{group}.{channel}")),
        exchange: Some(channel.clone()),
        routing_key: Some(String::new()),
        error: error(evidence),
        failed_at: evidence.text("x-error-timestamp").as_deref().and_then(moment::unix_millis),
        message_type: Some(channel),
        caution: Some(
            "Moleculer has thrown away the headers and properties that the message had; a retry goes without.",
        ),
        ..FrameworkReport::published()
    })
}

/// The stack trace is base64.
fn error(evidence: &Evidence) -> Option<ErrorReport> {
    let stack = evidence.text("x-error-stack").map(|stack| plain(&stack).unwrap_or(stack));
    let kind = evidence.text("x-error-name").or_else(|| evidence.text("x-error-type"));
    ErrorReport::new(kind, evidence.text("x-error-message"), stack)
}

fn plain(base64: &str) -> Option<String> {
    String::from_utf8(BASE64_STANDARD.decode(base64).ok()?).ok()
}

fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    let is_added =
        |name: &str| name.starts_with("x-error-") || ["x-original-channel", "x-original-group", TRIES].contains(&name);
    message.headers.remove_where(is_added);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_base64_is_left_as_it_is() {
        assert_eq!(plain("YXQgeA==").as_deref(), Some("at x"));
        assert_eq!(plain("at x:14"), None);
        assert_eq!(plain("/w=="), None);
    }
}

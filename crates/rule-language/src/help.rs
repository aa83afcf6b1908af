//! The names that rules may use, for whoever writes them.

use crate::check::names::{FUNCTIONS, Form};

/// All that a rule sees, each with what it is.
pub const FIELDS: [(&str, &str); 15] = [
    ("letter.queue", "the queue it failed in"),
    ("letter.exchange", "the exchange it was published to"),
    ("letter.routing_key", "its routing key"),
    ("letter.broker", "the broker, as the configuration calls it"),
    ("letter.reason", "rejected, expired, maxlen, delivery_limit or unknown"),
    ("letter.attempts", "how often it has failed"),
    ("letter.type", "the message type, like acme.texts.v1.TextSent"),
    ("letter.headers", "its headers: letter.headers[\"x-tenant\"]"),
    ("letter.error", "the error in one line"),
    ("letter.error_type", "the class of the error"),
    ("letter.error_message", "what the error says"),
    ("letter.size", "bytes of the body"),
    ("letter.first_failed_at", "when it failed first, a timestamp"),
    ("letter.last_failed_at", "when it failed last"),
    ("payload", "the decoded body: payload.order.total > 100"),
];

/// A function, for whoever calls it.
pub struct FunctionHelp {
    /// How it is written.
    pub usage: String,
    /// What it is called on.
    pub takes: String,
    /// What it comes to.
    pub gives: &'static str,
}

/// The functions, but for `has`, `matches` and those that go through lists, which have a form of their own.
pub fn functions() -> impl Iterator<Item = FunctionHelp> {
    FUNCTIONS.iter().map(|its| {
        let part = if its.has_part { "text" } else { "" };
        let (global, member) = (format!("{}(x)", its.name), format!("x.{}({part})", its.name));
        let usage = match its.form {
            Form::Global => global,
            Form::Member => member,
            Form::Both => format!("{global}, {member}"),
        };
        let takes: Vec<&str> = its.takes.iter().map(|kind| kind.describe()).collect();
        FunctionHelp { usage, takes: takes.join(" or "), gives: its.gives.describe() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expression, check::names::LETTER_FIELDS};

    #[test]
    fn every_field_is_named() {
        let fields: Vec<&str> = FIELDS.iter().filter_map(|(name, _)| name.strip_prefix("letter.")).collect();
        assert_eq!(fields, LETTER_FIELDS.map(|(name, _)| name));
        for (field, _) in FIELDS {
            assert!(Expression::compile(&format!("has({field})")).is_ok(), "{field}");
        }
    }
}

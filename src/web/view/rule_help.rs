//! What stands beside the editor of rules: examples to begin with.

use super::rule::RULES;
use crate::domain::letter::Importance;

/// A rule to begin with.
pub struct Example {
    pub name: &'static str,
    pub expression: &'static str,
    pub importance: &'static str,
    pub href: String,
}

const EXAMPLES: [(&str, &str, Importance); 5] = [
    ("payments", "letter.queue.startsWith(\"payments.\")", Importance::Critical),
    ("campaigns in the EU", "letter.queue.startsWith(\"campaigns.\") && payload.region == \"eu\"", Importance::High),
    ("large orders", "letter.type == \"acme.orders.v1.OrderPlaced\" && payload.total > 1000", Importance::High),
    (
        "timeouts by night",
        "letter.error.contains(\"Timeout\") && letter.last_failed_at.getHours() < 6",
        Importance::Low,
    ),
    ("tests", "letter.headers[\"x-tenant\"] in [\"test\", \"staging\"]", Importance::Low),
];

/// Each with where it stands in the editor.
pub fn examples() -> Vec<Example> {
    let example = |(name, expression, importance): &(&'static str, &'static str, Importance)| {
        let words = [("name", *name), ("expression", *expression), ("importance", importance.as_str())];
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(words).finish();
        Example { name, expression, importance: importance.as_str(), href: format!("{RULES}?{query}#rule") }
    };
    EXAMPLES.iter().map(example).collect()
}

/// A rule for letters like one that somebody has seen; empty where nothing is known of it.
pub fn suggested(queue: Option<&str>, message_type: Option<&str>) -> String {
    let is = |field: &str, value: &str| format!("{field} == {}", quoted(value));
    let parts = [queue.map(|queue| is("letter.queue", queue)), message_type.map(|name| is("letter.type", name))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" && ")
}

/// A text as it stands in a rule.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use rule_language::Expression;

    #[test]
    fn what_the_help_shows_is_right() {
        for Example { expression, .. } in examples() {
            assert_eq!(Expression::compile(expression).err(), None, "{expression}");
        }
    }

    #[test]
    fn a_suggestion_can_be_saved_whatever_the_names_hold() {
        let check = |queue: Option<&str>, message_type: Option<&str>, expected: &str| {
            let suggested = suggested(queue, message_type);
            assert_eq!(suggested, expected);
            assert!(suggested.is_empty() || Expression::compile(&suggested).is_ok(), "{suggested}");
        };
        check(None, None, "");
        check(Some("a"), None, "letter.queue == \"a\"");
        check(Some("a"), Some("b.C"), "letter.queue == \"a\" && letter.type == \"b.C\"");
        check(Some("a\"\\\n\u{202e}ü"), None, "letter.queue == \"a\\\"\\\\\\u000a\u{202e}ü\"");
    }
}

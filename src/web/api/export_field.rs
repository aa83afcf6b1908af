//! Columns of the table that letters are exported as.

use std::{fmt, str::FromStr};

use serde_json::Value;
use utoipa::openapi::{Object, ObjectBuilder};

use crate::web::query::described::{Described, text};

/// A column of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field(String);

impl Field {
    /// What a letter has beside its contents.
    const NAMES: [&'static str; 29] = [
        "id",
        "received_at",
        "status",
        "importance",
        "broker",
        "queue",
        "reason",
        "error.type",
        "error.message",
        "attempts",
        "message_type",
        "size",
        "error.stacktrace",
        "exchange",
        "routing_key",
        "rounds",
        "first_failed_at",
        "last_failed_at",
        "retry_at",
        "importance_by",
        "title",
        "type_source",
        "type_confidence",
        "group",
        "note",
        "problem",
        "edited_from",
        "replaced_by",
        "framework",
    ];
    /// So many of them there are where none are asked for.
    const USUAL: usize = 12;
    const PAYLOAD: &'static str = "payload.";
    const HEADER: &'static str = "header.";

    pub fn usual() -> Vec<Self> {
        Self::NAMES.iter().take(Self::USUAL).map(|name| Self((*name).to_owned())).collect()
    }

    /// What a letter says there.
    pub fn of<'l>(&self, letter: &'l Value) -> &'l Value {
        if let Some(path) = self.0.strip_prefix(Self::PAYLOAD) {
            return path.split('.').fold(&letter["payload"]["json"], |value, step| inside(value, step));
        }
        let Some(name) = self.0.strip_prefix(Self::HEADER) else {
            return self.0.split('.').fold(letter, |value, step| inside(value, step));
        };
        let header = match &letter["headers"] {
            Value::Array(pairs) => pairs.iter().find(|pair| pair[0] == name).map_or(&Value::Null, |pair| &pair[1]),
            headers => &headers[name],
        };
        // A value of any other type than text says which.
        header.get("v").filter(|_| header.get("t").is_some()).unwrap_or(header)
    }
}

/// A member, or where there is a list, the one of that number.
fn inside<'l>(value: &'l Value, step: &str) -> &'l Value {
    match step.parse::<usize>() {
        Ok(n) if value.is_array() => value.get(n).unwrap_or(&Value::Null),
        _ => &value[step],
    }
}

impl FromStr for Field {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let has_path =
            [Self::PAYLOAD, Self::HEADER].iter().any(|part| text.len() > part.len() && text.starts_with(part));
        if has_path || Self::NAMES.contains(&text) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("{text:?} is no field; it takes {}, payload.… or header.…", Self::NAMES.join(", ")))
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Described for Field {
    fn schema() -> Object {
        let names = Self::NAMES.join("|").replace('.', "\\.");
        let pattern = format!("^({names}|(payload|header)\\..+)$");
        ObjectBuilder::from(text()).examples(["queue", "payload.total.cents"]).pattern(Some(pattern)).build()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_found_where_it_is() {
        let letter = json!({
            "queue": "orders",
            "error": {"message": "x"},
            "headers": {"x-tenant": "eu", "n": {"t": "int", "v": 7}},
            "payload": {"json": {"lines": [{"sku": "A"}], "t": "v"}},
        });
        let check = |field: &str, expected: Value| {
            let field: Field = field.parse().unwrap();
            assert_eq!(*field.of(&letter), expected, "{field}");
        };
        check("queue", json!("orders"));
        check("error.message", json!("x"));
        check("note", Value::Null);
        check("header.x-tenant", json!("eu"));
        check("header.n", json!(7));
        check("header.other", Value::Null);
        check("payload.lines.0.sku", json!("A"));
        check("payload.lines.1.sku", Value::Null);
        check("payload.t.more", Value::Null);
        assert!("payload.".parse::<Field>().is_err() && "headers".parse::<Field>().is_err());
    }
}

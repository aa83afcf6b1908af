//! Columns that somebody chooses for a list: fields of payloads, and headers.

use std::{fmt, str::FromStr};

/// Columns of one list; more would leave no room for what is in them.
pub const MOST: usize = 8;
/// Bytes of a path.
pub const LONGEST: usize = 200;
const PREFIXES: [&str; 2] = ["payload.", "header."];

/// `payload.customer.name` or `header.x-tenant`. A path has no indexes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Column(String);

impl Column {
    /// The path, as it is searched for.
    pub fn path(&self) -> &str {
        &self.0
    }

    pub fn is_of_payload(&self) -> bool {
        self.0.starts_with(PREFIXES[0])
    }

    /// What stands above the column: a field of the payload goes by its own path.
    pub fn name(&self) -> &str {
        self.0.strip_prefix(PREFIXES[0]).unwrap_or(&self.0)
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = text.trim();
        let is_path = PREFIXES.iter().any(|prefix| path.len() > prefix.len() && path.starts_with(prefix));
        let takes = || {
            format!(
                "{text:?} is no field; it takes payload. or header. and the path of a field, in {LONGEST} bytes, like payload.customer.name"
            )
        };
        (is_path && path.len() <= LONGEST).then(|| Self(path.to_owned())).ok_or_else(takes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_a_path() {
        let check = |text: &str, name: Option<&str>| {
            let column = text.parse::<Column>();
            assert_eq!(column.as_ref().ok().map(Column::name), name, "{text}");
        };
        check("payload.customer.name", Some("customer.name"));
        check(" header.x-tenant ", Some("header.x-tenant"));
        check("payload.", None);
        check("customer.name", None);
        check(&format!("header.{}", "x".repeat(LONGEST)), None);
    }
}

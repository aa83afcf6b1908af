//! The form in which a message is edited: its contents, its headers, where and when it goes.

use crate::{
    domain::{edit::HeaderEdit, field::FieldTable},
    retry,
    web::{error::WebError, query::Pairs},
};

/// Rows for headers that are not there yet.
const SPARE_ROWS: usize = 2;

/// As it was typed.
#[derive(Clone, Debug, Default)]
pub struct EditForm {
    pub text: String,
    pub delay: String,
    pub queue: String,
    headers: Vec<(String, String)>,
    removed: Vec<String>,
    /// Whether it was sent, and does not just show a letter.
    is_filled: bool,
}

/// One header in the form.
pub struct HeaderRow {
    pub name: String,
    pub value: String,
    pub is_removed: bool,
    /// It is not there yet.
    pub is_new: bool,
}

impl EditForm {
    pub fn of(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        let text = pairs.take("text")?.unwrap_or_default();
        let (delay, queue) = (pairs.take("delay")?.unwrap_or_default(), pairs.take("queue")?.unwrap_or_default());
        let removed = pairs.take_all("header_removed");
        let named: Vec<String> =
            pairs.iter().map(|(key, _)| key).filter(|key| key.starts_with(VALUE)).cloned().collect();
        let mut headers = Vec::new();
        for key in named {
            let value = pairs.take(&key)?.unwrap_or_default();
            headers.push((key.trim_start_matches(VALUE).to_owned(), value));
        }
        for row in 0..SPARE_ROWS {
            let name = pairs.take(&format!("new_name:{row}"))?.unwrap_or_default();
            let value = pairs.take(&format!("new_value:{row}"))?.unwrap_or_default();
            if !name.trim().is_empty() {
                headers.push((name.trim().to_owned(), value));
            }
        }
        Ok(Self { text, delay, queue, headers, removed, is_filled: true })
    }

    /// The text with the line breaks of `shown`: browsers send all as CR LF.
    pub fn text_like(&self, shown: &str) -> String {
        if shown.contains("\r\n") { self.text.clone() } else { self.text.replace("\r\n", "\n") }
    }

    /// What it changes in `headers`. A field that was emptied is an empty text.
    pub fn header_edits(&self, headers: &FieldTable) -> Vec<HeaderEdit> {
        if !self.is_filled {
            return Vec::new();
        }
        let mut edits = Vec::new();
        for (name, value) in editable(headers) {
            let typed = self.typed(name).unwrap_or_default();
            if self.removed.iter().any(|removed| removed == name) {
                edits.push(HeaderEdit::Remove { name: name.to_owned() });
            } else if typed != value {
                edits.push(HeaderEdit::Set { name: name.to_owned(), value: typed.to_owned() });
            }
        }
        let new = self.headers.iter().filter(|(name, _)| !editable(headers).any(|(there, _)| there == name));
        edits.extend(new.map(|(name, value)| HeaderEdit::Set { name: name.clone(), value: value.clone() }));
        edits
    }

    /// The headers that can be edited, and rows for new ones.
    pub fn rows(&self, headers: &FieldTable) -> Vec<HeaderRow> {
        let row = |(name, value): (&str, &str)| HeaderRow {
            name: name.to_owned(),
            value: if self.is_filled { self.typed(name).unwrap_or_default() } else { value }.to_owned(),
            is_removed: self.removed.iter().any(|removed| removed == name),
            is_new: false,
        };
        let mut rows: Vec<HeaderRow> = editable(headers).map(row).collect();
        let new = self.headers.iter().filter(|(name, _)| !editable(headers).any(|(there, _)| there == name));
        let new = new.map(|(name, value)| (name.clone(), value.clone()));
        let spare = std::iter::repeat_n((String::new(), String::new()), SPARE_ROWS);
        rows.extend(new.chain(spare).take(SPARE_ROWS).map(|(name, value)| HeaderRow {
            name,
            value,
            is_removed: false,
            is_new: true,
        }));
        rows
    }

    fn typed(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(typed, _)| typed == name).map(|(_, value)| value.as_str())
    }
}

/// Headers that are text and neither RabbitMQ's nor ours.
fn editable(headers: &FieldTable) -> impl Iterator<Item = (&str, &str)> {
    headers
        .iter()
        .filter(|(name, _)| !retry::takes_over(name))
        .filter_map(|(name, value)| Some((name, value.as_str()?)))
}

/// What the name of the field of a header begins with.
const VALUE: &str = "header:";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::field::FieldValue;

    fn headers() -> FieldTable {
        let text = |name: &str, value: &str| (name.to_owned(), FieldValue::string(value));
        [text("tenant", "acme"), text("x-death", "no"), ("n".to_owned(), FieldValue::LongInt(1)), text("trace", "t")]
            .into_iter()
            .collect()
    }

    fn check(form: &str, expected: &[&str]) {
        let form = EditForm::take(&mut Pairs::parse(form.as_bytes())).unwrap();
        let edits = form.header_edits(&headers());
        let edits = edits.iter().map(|edit| match edit {
            HeaderEdit::Set { name, value } => format!("{name}={value}"),
            HeaderEdit::Remove { name } => format!("-{name}"),
        });
        assert_eq!(edits.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn only_what_differs_is_an_edit() {
        check("header:tenant=acme&header:trace=t", &[]);
        check("header:tenant=b&header:trace=t", &["tenant=b"]);
        check("header:tenant=&header:trace=t", &["tenant="]);
        check("header:tenant=acme&header:trace=t&header_removed=trace", &["-trace"]);
        check("header:tenant=acme&header:trace=t&new_name:0=a&new_value:0=b&new_name:1=+", &["a=b"]);
        assert_eq!(EditForm::of("x").header_edits(&headers()), []);
    }

    #[test]
    fn line_breaks_are_those_that_were_there() {
        let form = EditForm { text: "a\r\nb".to_owned(), ..EditForm::default() };
        assert_eq!(form.text_like("x\ny"), "a\nb");
        assert_eq!(form.text_like("x\r\ny"), "a\r\nb");
    }
}

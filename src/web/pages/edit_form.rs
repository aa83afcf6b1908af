//! The form in which a message is edited: its contents, its headers, where and when it goes.

use amqp_message::field::FieldTable;

use crate::{
    domain::edit::HeaderEdit,
    rabbitmq::outgoing,
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
    /// What is typed for headers that are there.
    headers: Vec<(String, String)>,
    /// Headers that are not there yet.
    new: Vec<(String, String)>,
    removed: Vec<String>,
    /// Whether it was sent, and does not just show a letter.
    is_filled: bool,
}

/// One header in the form.
pub struct HeaderRow {
    pub name: String,
    pub value: String,
    pub is_removed: bool,
    /// It has several lines, which a simple field would run together.
    pub is_long: bool,
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
            headers.push((key.strip_prefix(VALUE).unwrap_or(&key).to_owned(), value));
        }
        let mut new = Vec::new();
        for row in 0..SPARE_ROWS {
            let name = pairs.take(&format!("new_name:{row}"))?.unwrap_or_default();
            let value = pairs.take(&format!("new_value:{row}"))?.unwrap_or_default();
            if !name.trim().is_empty() {
                new.push((name.trim().to_owned(), value));
            }
        }
        Ok(Self { text, delay, queue, headers, new, removed, is_filled: true })
    }

    /// The text with the line breaks of `shown`.
    pub fn text_like(&self, shown: &str) -> String {
        with_breaks_of(shown, &self.text)
    }

    /// What it changes in `headers`. A field that was emptied is an empty text.
    pub fn header_edits(&self, headers: &FieldTable) -> Vec<HeaderEdit> {
        if !self.is_filled {
            return Vec::new();
        }
        let mut edits = Vec::new();
        for (name, value) in editable(headers) {
            let typed = with_breaks_of(value, self.typed(name));
            if self.removed.iter().any(|removed| removed == name) {
                edits.push(HeaderEdit::Remove { name: name.to_owned() });
            } else if typed != value {
                edits.push(HeaderEdit::Set { name: name.to_owned(), value: typed });
            }
        }
        edits.extend(self.new.iter().map(|(name, value)| HeaderEdit::Set { name: name.clone(), value: value.clone() }));
        edits
    }

    /// Why headers that are new cannot be so: their names, and reasons.
    pub fn wrong_headers(&self, headers: &FieldTable) -> Vec<(String, String)> {
        let reason = |row: usize, name: &str| {
            let is_twice = self.new.iter().take(row).any(|(other, _)| other == name);
            match () {
                () if outgoing::takes_over(name) => Some("it is not for editing: it says how messages went before"),
                () if headers.get(name).is_some() => Some("there is a header of that name already"),
                () if is_twice => Some("it is there twice"),
                () => None,
            }
        };
        let new = self.new.iter().enumerate();
        new.filter_map(|(row, (name, _))| Some((name.clone(), reason(row, name)?.to_owned()))).collect()
    }

    /// The headers that can be edited, and rows for new ones.
    pub fn rows(&self, headers: &FieldTable) -> Vec<HeaderRow> {
        let row = |(name, value): (&str, &str)| HeaderRow {
            name: name.to_owned(),
            value: if self.is_filled { self.typed(name) } else { value }.to_owned(),
            is_removed: self.removed.iter().any(|removed| removed == name),
            is_long: value.contains(['\r', '\n']),
            is_new: false,
        };
        let mut rows: Vec<HeaderRow> = editable(headers).map(row).collect();
        let spare = std::iter::repeat_n((String::new(), String::new()), SPARE_ROWS);
        rows.extend(self.new.iter().cloned().chain(spare).take(SPARE_ROWS).map(|(name, value)| HeaderRow {
            name,
            value,
            is_removed: false,
            is_long: false,
            is_new: true,
        }));
        rows
    }

    /// Empty values are not sent.
    fn typed(&self, name: &str) -> &str {
        self.headers.iter().find(|(typed, _)| typed == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

/// Headers that are text and neither RabbitMQ's nor ours. No field of a page can hold a NUL, and one of several headers
/// of the same name could not be told from the others.
fn editable(headers: &FieldTable) -> impl Iterator<Item = (&str, &str)> {
    headers
        .iter()
        .filter(|(name, _)| {
            !outgoing::takes_over(name) && headers.iter().filter(|(other, _)| other == name).count() == 1
        })
        .filter_map(|(name, value)| Some((name, value.as_str()?)))
        .filter(|(name, value)| !name.contains(['\0', '\r', '\n']) && !value.contains('\0'))
}

/// Forms send all line breaks as CR LF, and scripts as LF. What was typed gets those that were there.
fn with_breaks_of(shown: &str, typed: &str) -> String {
    let plain = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
    let typed = plain(typed);
    match () {
        () if typed == plain(shown) => shown.to_owned(),
        () if shown.contains("\r\n") => typed.replace('\n', "\r\n"),
        () => typed,
    }
}

/// What the name of the field of a header begins with.
const VALUE: &str = "header:";

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::field::FieldValue;

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
    fn what_begins_as_our_field_names_do_is_a_name_too() {
        let headers: FieldTable = [("header:a".to_owned(), FieldValue::string("b"))].into_iter().collect();
        let form = EditForm::take(&mut Pairs::parse(b"header:header:a=b")).unwrap();
        assert_eq!(form.header_edits(&headers), []);
    }

    #[test]
    fn line_breaks_are_those_that_were_there() {
        let check = |typed: &str, shown: &str, expected: &str| {
            assert_eq!(with_breaks_of(shown, typed), expected, "{typed:?} like {shown:?}");
        };
        check("a\r\nb", "x\ny", "a\nb");
        check("a\r\nb", "x\r\ny", "a\r\nb");
        check("a\nb", "x\r\ny", "a\r\nb");
        check("a\r\nb\r\nc\r\nd", "a\nb\r\nc\rd", "a\nb\r\nc\rd");
        check("a\r\n", "a", "a\n");
    }

    #[test]
    fn a_header_of_several_lines_is_kept() {
        let headers: FieldTable = [("trace".to_owned(), FieldValue::string("a\nb"))].into_iter().collect();
        let form = EditForm::take(&mut Pairs::parse(b"header:trace=a%0D%0Ab")).unwrap();
        assert_eq!(form.header_edits(&headers), []);
        assert!(form.rows(&headers)[0].is_long);
    }

    #[test]
    fn new_headers_have_names_of_their_own() {
        let check = |form: &str, expected: &[&str]| {
            let form = EditForm::take(&mut Pairs::parse(form.as_bytes())).unwrap();
            let wrong = form.wrong_headers(&headers());
            assert_eq!(wrong.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), expected);
        };
        check("new_name:0=a&new_value:0=b", &[]);
        check("new_name:0=tenant", &["tenant"]);
        check("new_name:0=n", &["n"]);
        check("new_name:0=a&new_name:1=a", &["a"]);
        check("new_name:0=x-death", &["x-death"]);
    }

    #[test]
    fn what_no_page_can_hold_is_not_for_editing() {
        let field = |name: &str, value: &str| (name.to_owned(), FieldValue::string(value));
        let headers: FieldTable = [field("nul", "a\0b"), field("a\nb", "c")].into_iter().collect();
        assert_eq!(EditForm::of("").rows(&headers).len(), SPARE_ROWS);
    }
}

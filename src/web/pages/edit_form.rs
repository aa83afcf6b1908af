//! The form in which a message is edited: its contents, its headers, where and when it goes.

use amqp_message::field::FieldValue;

use crate::{
    domain::edit::{HeaderEdit, Property, PropertyEdit},
    services::triage::edits::EditReach,
    web::{error::WebError, query::Pairs, view::text},
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
    /// What is typed for properties.
    properties: Vec<(Property, String)>,
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

/// One property in the form.
pub struct PropertyRow {
    pub name: &'static str,
    pub value: String,
    /// What it takes.
    pub hint: &'static str,
    pub is_number: bool,
}

/// Headers that cannot be edited, all for one reason.
pub struct FixedHeaders {
    pub names: Vec<String>,
    pub why: String,
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
        let mut properties = Vec::new();
        for property in Property::ALL.iter().copied() {
            if let Some(value) = pairs.take(&format!("property:{property}"))? {
                properties.push((property, value));
            }
        }
        Ok(Self { text, delay, queue, headers, new, removed, properties, is_filled: true })
    }

    /// Where it is to go, if that is named.
    pub fn queue(&self) -> Option<&str> {
        Some(&*self.queue).filter(|queue| !queue.is_empty())
    }

    /// The text with the line breaks of `shown`.
    pub fn text_like(&self, shown: &str) -> String {
        with_breaks_of(shown, &self.text)
    }

    /// What it changes in the headers. A field that was emptied is an empty text.
    pub fn header_edits(&self, reach: &EditReach) -> Vec<HeaderEdit> {
        if !self.is_filled {
            return Vec::new();
        }
        let mut edits = Vec::new();
        for (name, value) in editable(reach) {
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

    /// What it changes in the properties, or their names with what they take. One that was emptied goes.
    ///
    /// An expiration that the form shows is sent along with any other change: it goes out only where it is named.
    pub fn property_edits(
        &self,
        reach: &EditReach,
        has_others: bool,
    ) -> Result<Vec<PropertyEdit>, Vec<(Property, String)>> {
        let mut edits = Vec::new();
        let mut wrong = Vec::new();
        for (property, typed) in &self.properties {
            let value = Some(typed.clone()).filter(|typed| !typed.is_empty());
            let is_same = value == shown(reach, *property);
            let goes_along = *property == Property::Expiration && value.is_some() && has_others;
            if is_same && !goes_along {
                continue;
            }
            match PropertyEdit::new(*property, value) {
                Ok(edit) => edits.push(edit),
                Err(why) => wrong.push((*property, why)),
            }
        }
        if wrong.is_empty() { Ok(edits) } else { Err(wrong) }
    }

    /// The properties that can be edited.
    pub fn property_rows(&self, reach: &EditReach) -> Vec<PropertyRow> {
        if reach.why_no_properties().is_some() {
            return Vec::new();
        }
        let typed =
            |property| self.properties.iter().find(|(typed, _)| *typed == property).map(|(_, value)| value.clone());
        let row = |property: Property| {
            let value = typed(property).or_else(|| shown(reach, property)).unwrap_or_default();
            let (hint, is_number) = match property {
                Property::ContentType => ("application/json", false),
                Property::ContentEncoding | Property::Type => ("none", false),
                Property::Priority => ("0 to 255", true),
                Property::Expiration => ("milliseconds", true),
            };
            PropertyRow { name: property.as_str(), value, hint, is_number }
        };
        Property::ALL.iter().copied().map(row).collect()
    }

    /// Why headers that are new cannot be so: their names, and reasons.
    pub fn wrong_headers(&self, reach: &EditReach) -> Vec<(String, String)> {
        let reason = |row: usize, name: &str| {
            let is_twice = self.new.iter().take(row).any(|(other, _)| other == name);
            match () {
                () if reach.headers().any(|(other, _)| other == name) => {
                    Some("there is a header of that name already".to_owned())
                }
                () if is_twice => Some("it is there twice".to_owned()),
                () => reach.why_not(name).map(|why| format!("it is not for editing: {why}")),
            }
        };
        let new = self.new.iter().enumerate();
        new.filter_map(|(row, (name, _))| Some((name.clone(), reason(row, name)?))).collect()
    }

    /// The headers that can be edited, and rows for new ones where there can be such.
    pub fn rows(&self, reach: &EditReach) -> Vec<HeaderRow> {
        let row = |(name, value): (&str, &str)| HeaderRow {
            name: name.to_owned(),
            value: if self.is_filled { self.typed(name) } else { value }.to_owned(),
            is_removed: self.removed.iter().any(|removed| removed == name),
            is_long: value.contains(['\r', '\n']),
            is_new: false,
        };
        let mut rows: Vec<HeaderRow> = editable(reach).map(row).collect();
        let spare = std::iter::repeat_n((String::new(), String::new()), SPARE_ROWS);
        let n_new = if reach.why_none_new().is_none() { SPARE_ROWS } else { self.new.len() };
        rows.extend(self.new.iter().cloned().chain(spare).take(n_new).map(|(name, value)| HeaderRow {
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

/// What the form shows of a property before anything is typed.
fn shown(reach: &EditReach, property: Property) -> Option<String> {
    reach.property(property).filter(|value| !value.contains(['\0', '\r', '\n']))
}

/// The headers that cannot be edited, by why.
pub fn fixed(reach: &EditReach) -> Vec<FixedHeaders> {
    let mut fixed: Vec<FixedHeaders> = Vec::new();
    for (name, value) in reach.headers() {
        let Some(why) = why_fixed(reach, name, value) else { continue };
        let name = text::one_line(name);
        match fixed.iter_mut().find(|fixed| fixed.why == why) {
            Some(others) if others.names.contains(&name) => {}
            Some(others) => others.names.push(name),
            None => fixed.push(FixedHeaders { names: vec![name], why }),
        }
    }
    fixed
}

fn editable(reach: &EditReach) -> impl Iterator<Item = (&str, &str)> {
    let is_editable = |(name, value): &(&str, &FieldValue)| why_fixed(reach, name, value).is_none();
    reach.headers().filter(is_editable).filter_map(|(name, value)| Some((name, value.as_str()?)))
}

/// No field of a page can hold a NUL, and one of several headers of the same name could not be told from the others.
fn why_fixed(reach: &EditReach, name: &str, value: &FieldValue) -> Option<String> {
    let why = match value.as_str() {
        _ if reach.headers().filter(|(other, _)| *other == name).count() > 1 => "there are several of that name",
        Some(text) if name.contains(['\0', '\r', '\n']) || text.contains('\0') => {
            "it has characters that no field of a page can hold"
        }
        Some(_) => return reach.why_not(name),
        None => return reach.why_not(name).or_else(|| Some("it is no text".to_owned())),
    };
    Some(why.to_owned())
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
    use amqp_message::{field::FieldTable, message::Message};
    use failure_conventions::inner_body::InnerBodies;

    fn reach(headers: FieldTable) -> EditReach {
        EditReach::new(&Message { headers, ..Message::default() }, &InnerBodies::default())
    }

    fn headers() -> EditReach {
        let text = |name: &str, value: &str| (name.to_owned(), FieldValue::string(value));
        let number = ("n".to_owned(), FieldValue::LongInt(1));
        reach([text("tenant", "acme"), text("x-death", "no"), number, text("trace", "t")].into_iter().collect())
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
        let headers = reach([("header:a".to_owned(), FieldValue::string("b"))].into_iter().collect());
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
        let headers = reach([("trace".to_owned(), FieldValue::string("a\nb"))].into_iter().collect());
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
        let headers = reach([field("nul", "a\0b"), field("a\nb", "c")].into_iter().collect());
        assert_eq!(EditForm::of("").rows(&headers).len(), SPARE_ROWS);
    }

    #[test]
    fn what_is_not_for_editing_says_why() {
        let fixed = fixed(&headers());
        let told: Vec<_> = fixed.iter().map(|fixed| (fixed.names.join(", "), &*fixed.why)).collect();
        let expected = [("x-death", "a retry takes it off or writes it anew"), ("n", "it is no text")];
        let sorted = |mut told: Vec<(String, String)>| {
            told.sort();
            told
        };
        let owned = |(name, why): (&str, &str)| (name.to_owned(), why.to_owned());
        assert_eq!(
            sorted(told.into_iter().map(|(name, why)| (name, why.to_owned())).collect()),
            sorted(expected.into_iter().map(owned).collect())
        );
    }
}

//! The form in which a message is edited: its contents, its headers, where and when it goes.

use amqp_message::{field::FieldValue, scalar::ScalarType};

use super::{
    edit_headers::{Editable, NewHeader, editable},
    line_breaks::with_breaks_of,
};
use crate::{
    domain::edit::{HeaderEdit, Property, PropertyEdit},
    services::triage::edits::EditReach,
    web::{error::WebError, orders::letters::take_queue, query::Pairs},
};

/// All fields that it has, for who sends another.
pub const FIELDS: &str = "text, delay, queue, properties, property:NAME, header:NAME, header_type:NAME, header_removed, new_name:N, new_type:N, new_value:N, send, part";
/// Headers that can be added at once; there is always one more blank row than there are new ones.
pub const MOST_NEW: usize = 50;

/// As it was typed.
#[derive(Clone, Debug, Default)]
pub struct EditForm {
    pub text: String,
    pub delay: String,
    pub queue: String,
    /// What is typed for headers that are there.
    headers: Vec<(String, String)>,
    /// The types that are chosen for them.
    types: Vec<(String, ScalarType)>,
    /// Headers that are not there yet.
    new: Vec<NewHeader>,
    removed: Vec<String>,
    /// What is typed for properties.
    properties: Vec<(Property, String)>,
    /// Whether it was sent, and does not just show a letter.
    is_filled: bool,
}

/// One header in the form.
pub struct HeaderRow {
    pub name: String,
    pub kind: ScalarType,
    pub value: String,
    pub is_removed: bool,
    /// It has several lines, which a simple field would run together.
    pub is_long: bool,
    /// Of one that is not there yet, its number among these.
    pub new: Option<usize>,
}

impl HeaderRow {
    /// All that a header can be.
    pub fn types(&self) -> &'static [ScalarType] {
        ScalarType::ALL
    }
}

/// One property in the form.
pub struct PropertyRow {
    pub name: &'static str,
    pub value: String,
    /// What it takes.
    pub hint: &'static str,
    pub is_number: bool,
}

impl EditForm {
    pub fn of(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        let text = pairs.take("text")?.unwrap_or_default();
        let (delay, queue) = (pairs.take("delay")?.unwrap_or_default(), take_queue(pairs)?.unwrap_or_default());
        let removed = pairs.take_all("header_removed");
        let headers = take_named(pairs, VALUE)?;
        let types = take_named(pairs, TYPE)?.into_iter().map(|(name, kind)| read_type(&kind).map(|kind| (name, kind)));
        let types = types.collect::<Result<_, _>>()?;
        let mut new = Vec::new();
        for row in 0..MOST_NEW {
            let name = pairs.take(&format!("new_name:{row}"))?.unwrap_or_default();
            let value = pairs.take(&format!("new_value:{row}"))?.unwrap_or_default();
            let kind = pairs.take(&format!("new_type:{row}"))?.map(|kind| read_type(&kind)).transpose()?;
            let name = name.trim().to_owned();
            if !name.is_empty() || !value.is_empty() {
                new.push(NewHeader { name, kind, value });
            }
        }
        // What is empty is not there, and means something only of a form that has a field for each.
        let has_all = pairs.take("properties")?.is_some();
        let mut properties = Vec::new();
        for property in Property::ALL.iter().copied() {
            let typed = pairs.take(&format!("property:{property}"))?;
            if let Some(value) = typed.or_else(|| has_all.then(String::new)) {
                properties.push((property, value));
            }
        }
        Ok(Self { text, delay, queue, headers, types, new, removed, properties, is_filled: true })
    }

    /// Where it is to go, if that is named.
    pub fn queue(&self) -> Option<&str> {
        Some(&*self.queue).filter(|queue| !queue.is_empty())
    }

    /// The text with the line breaks of `shown`.
    pub fn text_like(&self, shown: &str) -> String {
        with_breaks_of(shown, &self.text)
    }

    /// What it changes in the headers, as far as it can. A field that was emptied is an empty text.
    pub fn header_edits(&self, reach: &EditReach) -> Vec<HeaderEdit> {
        if !self.is_filled {
            return Vec::new();
        }
        let mut edits = Vec::new();
        for header in editable(reach) {
            if self.removed.iter().any(|removed| removed == header.name) {
                edits.push(HeaderEdit::Remove { name: header.name.to_owned() });
            } else if let Some(Ok(value)) = self.changed(&header) {
                edits.push(HeaderEdit::Set { name: header.name.to_owned(), value });
            }
        }
        edits.extend(self.new.iter().filter_map(|header| header.edit().ok()));
        edits
    }

    /// What is typed for a header where it differs, or why that cannot be. It keeps its type where no other is chosen.
    fn changed(&self, header: &Editable<'_>) -> Option<Result<FieldValue, String>> {
        let kind = self.kind(header.name);
        if kind.is_none() && header.kind != ScalarType::Text && !self.has(header.name) {
            return None;
        }
        let kind = kind.unwrap_or(header.kind);
        let typed = with_breaks_of(&header.text, self.typed(header.name));
        (kind != header.kind || typed != header.text).then(|| kind.read(&typed))
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
            let is_same = *typed == shown(reach, *property).unwrap_or_default();
            // It is the last of them.
            let has_others = has_others || !edits.is_empty();
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

    /// Why headers cannot be as typed: their names, and reasons.
    pub fn wrong_headers(&self, reach: &EditReach) -> Vec<(String, String)> {
        let reason = |row: usize, header: &NewHeader| {
            let is_twice = self.new.iter().take(row).any(|other| other.name == header.name);
            match () {
                () if header.name.is_empty() => header.edit().err(),
                () if reach.headers().any(|(other, _)| other == header.name) => {
                    Some("there is a header of that name already".to_owned())
                }
                () if is_twice => Some("it is there twice".to_owned()),
                () => match reach.why_not(&header.name) {
                    Some(why) => Some(format!("it is not for editing: {why}")),
                    None => header.edit().err(),
                },
            }
        };
        let new = self.new.iter().enumerate();
        let new = new.filter_map(|(row, header)| Some((header.name.clone(), reason(row, header)?)));
        let is_kept = |header: &Editable<'_>| !self.removed.iter().any(|removed| removed == header.name);
        let changed = editable(reach).filter(is_kept);
        let changed = changed.filter_map(|header| Some((header.name.to_owned(), self.changed(&header)?.err()?)));
        if self.is_filled { changed.chain(new).collect() } else { Vec::new() }
    }

    /// The headers that can be edited, and rows for new ones where there can be such.
    pub fn rows(&self, reach: &EditReach) -> Vec<HeaderRow> {
        let row = |Editable { name, kind, text }: Editable<'_>| HeaderRow {
            name: name.to_owned(),
            kind: self.kind(name).unwrap_or(kind),
            is_removed: self.removed.iter().any(|removed| removed == name),
            is_long: text.contains(['\r', '\n']),
            value: if self.is_filled { self.typed(name).to_owned() } else { text },
            new: None,
        };
        let mut rows: Vec<HeaderRow> = editable(reach).map(row).collect();
        let n_new = if reach.why_none_new().is_none() { self.new.len() + 1 } else { self.new.len() };
        let new = self.new.iter().cloned().chain([NewHeader::default()]).take(n_new.min(MOST_NEW)).enumerate();
        rows.extend(new.map(|(number, header)| HeaderRow {
            kind: header.kind(),
            name: header.name,
            value: header.value,
            is_removed: false,
            is_long: false,
            new: Some(number),
        }));
        rows
    }

    /// The type that is chosen for a header.
    fn kind(&self, name: &str) -> Option<ScalarType> {
        self.types.iter().find(|(typed, _)| typed == name).map(|(_, kind)| *kind)
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(typed, _)| typed == name)
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

/// What the names of the fields of a header begin with.
const VALUE: &str = "header:";
const TYPE: &str = "header_type:";

/// All fields whose names begin so, by what follows there.
fn take_named(pairs: &mut Pairs, prefix: &str) -> Result<Vec<(String, String)>, WebError> {
    let keys: Vec<String> = pairs.iter().map(|(key, _)| key).filter(|key| key.starts_with(prefix)).cloned().collect();
    let named = keys.into_iter().map(|key| {
        let value = pairs.take(&key)?.unwrap_or_default();
        Ok((key.strip_prefix(prefix).unwrap_or(&key).to_owned(), value))
    });
    named.collect()
}

fn read_type(text: &str) -> Result<ScalarType, WebError> {
    text.parse().map_err(|why: String| WebError::unprocessable(why))
}

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
        let many = ("many".to_owned(), FieldValue::Array(Vec::new()));
        reach([text("tenant", "acme"), text("x-death", "no"), number, many, text("trace", "t")].into_iter().collect())
    }

    fn check(form: &str, expected: &[&str]) {
        let form = EditForm::take(&mut Pairs::parse(form.as_bytes())).unwrap();
        let edits = form.header_edits(&headers());
        let edits = edits.iter().map(|edit| match edit {
            HeaderEdit::Set { name, value } => {
                let (kind, text) = ScalarType::of(value).unwrap();
                if kind == ScalarType::Text { format!("{name}={text}") } else { format!("{name}={text}:{kind}") }
            }
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
    fn a_header_keeps_its_type_or_gets_another() {
        let texts = "header:tenant=acme&header:trace=t";
        let check = |form: &str, expected: &[&str]| check(&format!("{texts}&{form}"), expected);
        check("header:n=1", &[]);
        check("header:n=1&header_type:n=long", &[]);
        check("header:n=+2+", &["n=2:long"]);
        check("header:n=1&header_type:n=longlong", &["n=1:longlong"]);
        check("header:n=1&header_type:n=text", &["n=1"]);
        check("header:n=x&header_type:n=long", &[]);
        check("new_name:0=a&new_type:0=bool&new_value:0=true", &["a=true:bool"]);
        assert!(EditForm::take(&mut Pairs::parse(b"header:n=1&header_type:n=int")).is_err());
    }

    #[test]
    fn what_begins_as_our_field_names_do_is_a_name_too() {
        let headers = reach([("header:a".to_owned(), FieldValue::string("b"))].into_iter().collect());
        let form = EditForm::take(&mut Pairs::parse(b"header:header:a=b")).unwrap();
        assert_eq!(form.header_edits(&headers), []);
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
        check("new_value:0=b&new_name:1=+&new_value:1=c&new_name:2=+", &["", ""]);
        check("new_name:0=tenant", &["tenant"]);
        check("new_name:0=n", &["n"]);
        check("header:n=x&header_type:n=long", &["n"]);
        check("header_type:n=long", &["n"]);
        check("header:n=x&header_removed=n", &[]);
        check("new_name:0=a&new_type:0=double&new_value:0=x", &["a"]);
        check("new_name:0=a&new_name:1=a", &["a"]);
        check("new_name:0=x-death", &["x-death"]);
    }

    #[test]
    fn what_no_page_can_hold_is_not_for_editing() {
        let field = |name: &str, value: &str| (name.to_owned(), FieldValue::string(value));
        let headers = reach([field("nul", "a\0b"), field("a\nb", "c")].into_iter().collect());
        assert_eq!(EditForm::of("").rows(&headers).len(), 1);
    }

    #[test]
    fn what_is_not_for_editing_says_why() {
        let fixed = crate::web::pages::edit_headers::fixed(&headers());
        let told: Vec<_> = fixed.iter().map(|fixed| (fixed.names.join(", "), &*fixed.why)).collect();
        let expected =
            [("x-death", "a retry takes it off or writes it anew"), ("many", "it is no text, number, boolean or time")];
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

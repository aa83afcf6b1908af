//! What a user changes in a message before it is sent back.

use amqp_message::{field::FieldValue, message::Properties, word_enum};

/// Changes to one message. What they do not name stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The whole body as the database keeps it, in all its encoding.
    pub body: Option<Vec<u8>>,
    /// Each about another header.
    pub headers: Vec<HeaderEdit>,
    /// Each about another property.
    pub properties: Vec<PropertyEdit>,
}

word_enum! {
    /// A property that can be edited, by its name in AMQP.
    Property, "property" {
        ContentType = "content_type",
        ContentEncoding = "content_encoding",
        Type = "type",
        /// 0 to 255.
        Priority = "priority",
        /// Milliseconds for which the retried message may wait in its queue. That of the letter itself never goes out:
        /// it could expire again at once.
        Expiration = "expiration",
    }
}

/// A change to one property.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PropertyEdit {
    property: Property,
    value: Option<String>,
}

/// A change to one header.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HeaderEdit {
    /// To a value of that type, whatever it was; a header that is new takes its place by its name.
    Set {
        name: String,
        value: FieldValue,
    },
    Remove {
        name: String,
    },
}

impl HeaderEdit {
    pub fn name(&self) -> &str {
        match self {
            Self::Set { name, .. } | Self::Remove { name } => name,
        }
    }
}

/// What of an edit is at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditPart {
    /// The queue that it goes to.
    Queue,
    SetHeader(String),
    RemovedHeader(String),
    Property(Property),
}

impl EditPart {
    pub fn of(header: &HeaderEdit) -> Self {
        match header {
            HeaderEdit::Set { name, .. } => Self::SetHeader(name.clone()),
            HeaderEdit::Remove { name } => Self::RemovedHeader(name.clone()),
        }
    }
}

/// The longest string that AMQP has for a property, in bytes.
const MAX_SHORT_STRING: usize = 255;

/// The longest time to live that RabbitMQ takes.
const MAX_EXPIRATION: u64 = u32::MAX as u64;

impl PropertyEdit {
    /// To this text, or with `None` away.
    ///
    /// # Errors
    /// What the property takes.
    pub fn new(property: Property, value: Option<String>) -> Result<Self, String> {
        if let Some(value) = &value {
            check(property, value)?;
        }
        Ok(Self { property, value })
    }

    pub fn property(&self) -> Property {
        self.property
    }

    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    pub fn apply(&self, properties: &mut Properties) {
        let value = self.value.clone();
        match self.property {
            Property::ContentType => properties.content_type = value,
            Property::ContentEncoding => properties.content_encoding = value,
            Property::Type => properties.kind = value,
            Property::Priority => properties.priority = value.and_then(|value| value.parse().ok()),
            Property::Expiration => properties.expiration = value,
        }
    }

    /// `property priority = 5`, `property type removed`
    pub fn summary(&self) -> String {
        match &self.value {
            Some(value) => format!("property {} = {value}", self.property),
            None => format!("property {} removed", self.property),
        }
    }
}

impl Property {
    /// What it is in a message.
    pub fn of(self, properties: &Properties) -> Option<String> {
        match self {
            Self::ContentType => properties.content_type.clone(),
            Self::ContentEncoding => properties.content_encoding.clone(),
            Self::Type => properties.kind.clone(),
            Self::Priority => properties.priority.map(|priority| priority.to_string()),
            Self::Expiration => properties.expiration.clone(),
        }
    }
}

fn check(property: Property, value: &str) -> Result<(), String> {
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let number = value.parse::<u64>().ok().filter(|_| is_number);
    match property {
        Property::Priority if number.is_none_or(|number| number > 255) => {
            Err(format!("{value:?} is no priority; it takes a whole number from 0 to 255"))
        }
        Property::Expiration if number.is_none_or(|number| number > MAX_EXPIRATION) => {
            Err(format!("{value:?} is no expiration; it takes milliseconds in digits, up to {MAX_EXPIRATION}"))
        }
        _ if value.len() > MAX_SHORT_STRING => {
            Err(format!("it has {} bytes, and AMQP takes at most {MAX_SHORT_STRING}", value.len()))
        }
        _ if value.contains('\0') => Err("it has a NUL, which no consumer expects there".to_owned()),
        _ => Ok(()),
    }
}

impl Edit {
    /// Another body, and nothing else.
    pub fn of_body(body: impl Into<Vec<u8>>) -> Self {
        Self { body: Some(body.into()), ..Self::default() }
    }

    /// Other headers, and nothing else.
    pub fn of_headers(headers: Vec<HeaderEdit>) -> Self {
        Self { headers, ..Self::default() }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.body.is_none() && self.headers.is_empty() && self.properties.is_empty()
    }

    /// `body; property priority = 5; header tenant set; header trace removed`
    pub fn summary(&self) -> String {
        let body = self.body.iter().map(|_| "body".to_owned());
        let headers = self.headers.iter().map(|header| match header {
            HeaderEdit::Set { name, .. } => format!("header {name} set"),
            HeaderEdit::Remove { name } => format!("header {name} removed"),
        });
        let properties = self.properties.iter().map(PropertyEdit::summary);
        body.chain(properties).chain(headers).collect::<Vec<_>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_it_changes() {
        let set = HeaderEdit::Set { name: "tenant".to_owned(), value: FieldValue::string("acme") };
        let removed = HeaderEdit::Remove { name: "trace".to_owned() };
        let check = |edit: &Edit, expected| assert_eq!(edit.summary(), expected);
        let priority = PropertyEdit::new(Property::Priority, Some("5".to_owned())).unwrap();
        check(
            &Edit { headers: vec![set, removed.clone()], properties: vec![priority], ..Edit::of_body("") },
            "body; property priority = 5; header tenant set; header trace removed",
        );
        check(&Edit::of_headers(vec![removed]), "header trace removed");
    }

    #[test]
    fn a_property_takes_what_amqp_takes() {
        let check = |property, value: &str, why: Option<&str>| {
            let edit = PropertyEdit::new(property, Some(value.to_owned()));
            match why {
                Some(part) => assert!(edit.unwrap_err().contains(part), "{value}"),
                None => {
                    let mut properties = Properties::default();
                    edit.unwrap().apply(&mut properties);
                    assert_eq!(property.of(&properties).as_deref(), Some(value));
                    PropertyEdit::new(property, None).unwrap().apply(&mut properties);
                    assert_eq!(properties, Properties::default());
                }
            }
        };
        check(Property::Priority, "0", None);
        check(Property::Priority, "255", None);
        for wrong in ["256", "-1", "", "1.0", "+5"] {
            check(Property::Priority, wrong, Some("from 0 to 255"));
        }
        check(Property::Expiration, "4294967295", None);
        for wrong in ["4294967296", "", "10s", "-1"] {
            check(Property::Expiration, wrong, Some("milliseconds"));
        }
        check(Property::Type, "", None);
        check(Property::ContentType, &"x".repeat(255), None);
        check(Property::ContentType, &"x".repeat(256), Some("256 bytes"));
        check(Property::ContentEncoding, "a\0b", Some("NUL"));
    }
}

//! Where a message says of which type it is.

use amqp_message::message::Message;

use super::assembly;

/// The part of a message that names its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypePlace {
    /// The property `type`.
    Property,
    /// A header, by its name.
    Header(String),
    /// A parameter of the property `content_type`.
    ContentType,
    /// The body, or what its framework keeps the message in.
    Body,
}

/// Where `message`, which says that it is of the type `name`, does so.
pub fn type_place(message: &Message, name: &str) -> TypePlace {
    let is_it = |text: &str| says(text, name);
    let properties = &message.properties;
    let header = || message.headers.iter().find(|(_, value)| value.as_str().is_some_and(is_it));
    if properties.kind.as_deref().is_some_and(is_it) {
        TypePlace::Property
    } else if let Some((header, _)) = header() {
        TypePlace::Header(header.to_owned())
    } else if properties.content_type.as_deref().is_some_and(|text| text.contains(name)) {
        TypePlace::ContentType
    } else {
        TypePlace::Body
    }
}

/// Whether a text names that type: perhaps as the first of several, as a URN, with its assembly, or without its package.
fn says(text: &str, name: &str) -> bool {
    let first = text.split(';').next().unwrap_or_default().trim();
    let first = first.strip_prefix("urn:message:").unwrap_or(first);
    first == name || assembly::without(first) == name || name.rsplit_once('.').is_some_and(|(_, last)| last == first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::{field::FieldValue, message::Properties};

    #[test]
    fn the_place_is_where_the_name_stands() {
        let check = |kind: Option<&str>, content_type: Option<&str>, headers: &[(&str, &str)], expected| {
            let text = |text: Option<&str>| text.map(str::to_owned);
            let field = |(name, value): &(&str, &str)| ((*name).to_owned(), FieldValue::string(*value));
            let message = Message {
                properties: Properties { kind: text(kind), content_type: text(content_type), ..Properties::default() },
                headers: headers.iter().map(field).collect(),
                ..Message::default()
            };
            assert_eq!(type_place(&message, "a.B"), expected, "{message:?}");
        };
        let header = |name: &str| TypePlace::Header(name.to_owned());
        check(Some("a.B"), None, &[], TypePlace::Property);
        check(Some("B"), None, &[], TypePlace::Property);
        check(None, None, &[("lang", "py"), ("__TypeId__", "a.B")], header("__TypeId__"));
        check(None, None, &[("rbs2-msg-type", "a.B, A")], header("rbs2-msg-type"));
        check(None, Some("application/x-protobuf; proto=a.B"), &[], TypePlace::ContentType);
        check(Some("a"), None, &[("tenant", "a.b")], TypePlace::Body);
    }
}

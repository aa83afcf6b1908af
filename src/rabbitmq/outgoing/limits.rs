//! What is known beforehand to be refused.
//!
//! One publish that breaks a limit takes the channel or the whole connection down, and with it the confirms of all
//! others. So the limits are looked at first.

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::{Message, Properties},
};

/// AMQP writes the length of a short string in one octet.
const MAX_SHORT_STRING: usize = 255;

/// RabbitMQ's default `frame_max` without the eight octets around a frame's payload. Properties and headers have to
/// fit one frame; a larger one closes the connection with 501 FRAME_ERROR.
const MAX_CONTENT_HEADER: usize = 131_072 - 8;

/// Class, weight, body size and property flags, which precede the properties in a content header.
const CONTENT_HEADER_PREFIX: usize = 2 + 2 + 8 + 2;

/// No application nests headers this deep, and the client library encodes them recursively.
const MAX_NESTING: usize = 64;

/// Says why the broker or the client library would refuse `message`, in words.
pub fn check(message: &Message) -> Result<(), String> {
    short_string("the exchange", &message.exchange)?;
    short_string("the routing key", &message.routing_key)?;
    let properties = properties_size(&message.properties)?;
    let headers = table_size(&message.headers, MAX_NESTING)?;
    let size = CONTENT_HEADER_PREFIX + properties + headers;
    if size > MAX_CONTENT_HEADER {
        return Err(format!(
            "its headers and properties take {size} bytes, and RabbitMQ refuses more than {MAX_CONTENT_HEADER}"
        ));
    }
    Ok(())
}

/// The encoded size of a short string.
fn short_string(what: &str, text: &str) -> Result<usize, String> {
    if text.len() > MAX_SHORT_STRING {
        let start: String = text.chars().take(40).collect();
        return Err(format!(
            "{what} ({start:?}…) is {} bytes long, and AMQP takes at most {MAX_SHORT_STRING}",
            text.len()
        ));
    }
    Ok(1 + text.len())
}

fn properties_size(properties: &Properties) -> Result<usize, String> {
    let texts = [
        ("content_type", &properties.content_type),
        ("content_encoding", &properties.content_encoding),
        ("correlation_id", &properties.correlation_id),
        ("reply_to", &properties.reply_to),
        ("expiration", &properties.expiration),
        ("message_id", &properties.message_id),
        ("type", &properties.kind),
        ("user_id", &properties.user_id),
        ("app_id", &properties.app_id),
        ("cluster_id", &properties.cluster_id),
    ];
    let mut size = properties.delivery_mode.map_or(0, |_| 1)
        + properties.priority.map_or(0, |_| 1)
        + properties.timestamp.map_or(0, |_| 8);
    for (name, text) in texts {
        if let Some(text) = text {
            size += short_string(&format!("the property {name}"), text)?;
        }
    }
    Ok(size)
}

/// The encoded size of a table: its length, then names and typed values.
fn table_size(table: &FieldTable, nesting_left: usize) -> Result<usize, String> {
    let mut size = 4;
    for (name, value) in table.iter() {
        size += short_string("the name of a header", name)? + value_size(value, nesting_left)?;
    }
    Ok(size)
}

/// The encoded size of a value, the octet for its type included.
fn value_size(value: &FieldValue, nesting_left: usize) -> Result<usize, String> {
    let payload = match value {
        FieldValue::Void => 0,
        FieldValue::Boolean(_) | FieldValue::ShortShortInt(_) | FieldValue::ShortShortUInt(_) => 1,
        FieldValue::ShortInt(_) | FieldValue::ShortUInt(_) => 2,
        FieldValue::LongInt(_) | FieldValue::LongUInt(_) | FieldValue::Float(_) => 4,
        FieldValue::Decimal { .. } => 5,
        FieldValue::LongLongInt(_) | FieldValue::Double(_) | FieldValue::Timestamp(_) => 8,
        FieldValue::LongString(bytes) | FieldValue::ByteArray(bytes) => 4 + bytes.len(),
        FieldValue::Array(values) => array_size(values, deeper(nesting_left)?)?,
        FieldValue::Table(table) => table_size(table, deeper(nesting_left)?)?,
    };
    Ok(1 + payload)
}

fn array_size(values: &[FieldValue], nesting_left: usize) -> Result<usize, String> {
    values.iter().try_fold(4, |size, value| Ok(size + value_size(value, nesting_left)?))
}

fn deeper(nesting_left: usize) -> Result<usize, String> {
    nesting_left.checked_sub(1).ok_or_else(|| format!("its headers are nested more than {MAX_NESTING} levels deep"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_message(message: Message, expected: Result<(), &str>) {
        match (check(&message), expected) {
            (Ok(()), Ok(())) => {}
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    fn check_header(name: &str, value: FieldValue, expected: Result<(), &str>) {
        let headers = [(name.to_owned(), value)].into_iter().collect();
        check_message(Message { headers, ..Message::default() }, expected);
    }

    fn nested(levels: usize) -> FieldValue {
        (0..levels).fold(FieldValue::Void, |value, _| FieldValue::Array(vec![value]))
    }

    #[test]
    fn short_strings_are_short() {
        let fits = "é".repeat(127);
        let too_long = "é".repeat(128);
        check_message(Message { routing_key: fits.clone(), ..Message::default() }, Ok(()));
        check_message(Message { routing_key: too_long.clone(), ..Message::default() }, Err("the routing key"));
        check_message(Message { exchange: too_long.clone(), ..Message::default() }, Err("is 256 bytes long"));
        check_header(&fits, FieldValue::Void, Ok(()));
        check_header(&too_long, FieldValue::Void, Err("the name of a header"));
        let inner = [(too_long.clone(), FieldValue::Void)].into_iter().collect();
        check_header("outer", FieldValue::Table(inner), Err("the name of a header"));
        let properties = Properties { kind: Some(too_long), ..Properties::default() };
        check_message(Message { properties, ..Message::default() }, Err("the property type"));
    }

    #[test]
    fn headers_fit_one_frame() {
        // 14 before the properties, then the table's length (4), the name (1 + 1), the type (1) and the length (4).
        let room = MAX_CONTENT_HEADER - 14 - 4 - 2 - 1 - 4;
        check_header("a", FieldValue::LongString(vec![b'x'; room]), Ok(()));
        check_header("a", FieldValue::LongString(vec![b'x'; room + 1]), Err("131065 bytes"));
        check_header("a", FieldValue::ByteArray(vec![0; 200_000]), Err("refuses more than 131064"));
    }

    #[test]
    fn headers_are_not_a_bottomless_pit() {
        check_header("a", nested(MAX_NESTING), Ok(()));
        check_header("a", nested(MAX_NESTING + 1), Err("nested"));
    }

    #[test]
    fn knows_the_size_of_every_type() {
        fn check(value: FieldValue, expected: usize) {
            assert_eq!(value_size(&value, 4), Ok(1 + expected), "{value:?}");
        }
        check(FieldValue::Void, 0);
        check(FieldValue::Boolean(true), 1);
        check(FieldValue::ShortUInt(1), 2);
        check(FieldValue::Float(1), 4);
        check(FieldValue::Decimal { scale: 1, value: 1 }, 5);
        check(FieldValue::Timestamp(1), 8);
        check(FieldValue::string("abc"), 7);
        check(FieldValue::Array(vec![FieldValue::Void, FieldValue::LongInt(1)]), 4 + 1 + 5);
        let table = [("ab".to_owned(), FieldValue::Boolean(true))].into_iter().collect();
        check(FieldValue::Table(table), 4 + 3 + 2);
    }
}

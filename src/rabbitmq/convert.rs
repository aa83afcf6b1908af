//! Between lapin's types and ours, without loss.

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::Properties,
};
use lapin::{
    BasicProperties,
    types::{AMQPValue, ByteArray, DecimalValue, FieldArray, FieldTable as LapinTable, LongString, ShortString},
};

use super::{SessionError, short};

pub(super) fn table_from_lapin(table: &LapinTable) -> FieldTable {
    table.inner().iter().map(|(name, value)| (name.as_str().to_owned(), value_from_lapin(value))).collect()
}

fn value_from_lapin(value: &AMQPValue) -> FieldValue {
    match value {
        AMQPValue::Boolean(v) => FieldValue::Boolean(*v),
        AMQPValue::ShortShortInt(v) => FieldValue::ShortShortInt(*v),
        AMQPValue::ShortShortUInt(v) => FieldValue::ShortShortUInt(*v),
        AMQPValue::ShortInt(v) => FieldValue::ShortInt(*v),
        AMQPValue::ShortUInt(v) => FieldValue::ShortUInt(*v),
        AMQPValue::LongInt(v) => FieldValue::LongInt(*v),
        AMQPValue::LongUInt(v) => FieldValue::LongUInt(*v),
        AMQPValue::LongLongInt(v) => FieldValue::LongLongInt(*v),
        AMQPValue::Float(v) => FieldValue::Float(v.to_bits()),
        AMQPValue::Double(v) => FieldValue::Double(v.to_bits()),
        AMQPValue::DecimalValue(v) => FieldValue::Decimal { scale: v.scale, value: v.value },
        // RabbitMQ sends none; should one come, a long string is what it takes back.
        AMQPValue::ShortString(v) => FieldValue::string(v.as_str()),
        AMQPValue::LongString(v) => FieldValue::LongString(v.as_bytes().to_vec()),
        AMQPValue::FieldArray(v) => FieldValue::Array(v.as_slice().iter().map(value_from_lapin).collect()),
        AMQPValue::Timestamp(v) => FieldValue::Timestamp(*v),
        AMQPValue::FieldTable(v) => FieldValue::Table(table_from_lapin(v)),
        AMQPValue::ByteArray(v) => FieldValue::ByteArray(v.as_slice().to_vec()),
        AMQPValue::Void => FieldValue::Void,
    }
}

pub(super) fn table_to_lapin(table: &FieldTable) -> Result<LapinTable, SessionError> {
    let mut lapin = LapinTable::default();
    for (name, value) in table.iter() {
        lapin.insert(short(name)?, value_to_lapin(value)?);
    }
    Ok(lapin)
}

fn value_to_lapin(value: &FieldValue) -> Result<AMQPValue, SessionError> {
    Ok(match value {
        FieldValue::Boolean(v) => AMQPValue::Boolean(*v),
        FieldValue::ShortShortInt(v) => AMQPValue::ShortShortInt(*v),
        FieldValue::ShortShortUInt(v) => AMQPValue::ShortShortUInt(*v),
        FieldValue::ShortInt(v) => AMQPValue::ShortInt(*v),
        FieldValue::ShortUInt(v) => AMQPValue::ShortUInt(*v),
        FieldValue::LongInt(v) => AMQPValue::LongInt(*v),
        FieldValue::LongUInt(v) => AMQPValue::LongUInt(*v),
        FieldValue::LongLongInt(v) => AMQPValue::LongLongInt(*v),
        FieldValue::Float(bits) => AMQPValue::Float(f32::from_bits(*bits)),
        FieldValue::Double(bits) => AMQPValue::Double(f64::from_bits(*bits)),
        FieldValue::Decimal { scale, value } => AMQPValue::DecimalValue(DecimalValue { scale: *scale, value: *value }),
        FieldValue::LongString(bytes) => AMQPValue::LongString(LongString::from(bytes.as_slice())),
        FieldValue::Array(values) => {
            let values: Result<Vec<AMQPValue>, SessionError> = values.iter().map(value_to_lapin).collect();
            AMQPValue::FieldArray(FieldArray::from(values?))
        }
        FieldValue::Timestamp(v) => AMQPValue::Timestamp(*v),
        FieldValue::Table(table) => AMQPValue::FieldTable(table_to_lapin(table)?),
        FieldValue::ByteArray(bytes) => AMQPValue::ByteArray(ByteArray::from(bytes.as_slice())),
        FieldValue::Void => AMQPValue::Void,
    })
}

/// Takes the headers out of the properties: the domain keeps them apart.
pub(super) fn properties_from_lapin(properties: &BasicProperties) -> (Properties, FieldTable) {
    let text = |value: &Option<ShortString>| value.as_ref().map(|value| value.as_str().to_owned());
    let headers = properties.headers().as_ref().map(table_from_lapin).unwrap_or_default();
    let properties = Properties {
        content_type: text(properties.content_type()),
        content_encoding: text(properties.content_encoding()),
        delivery_mode: *properties.delivery_mode(),
        priority: *properties.priority(),
        correlation_id: text(properties.correlation_id()),
        reply_to: text(properties.reply_to()),
        expiration: text(properties.expiration()),
        message_id: text(properties.message_id()),
        timestamp: *properties.timestamp(),
        kind: text(properties.kind()),
        user_id: text(properties.user_id()),
        app_id: text(properties.app_id()),
        cluster_id: text(properties.cluster_id()),
    };
    (properties, headers)
}

pub(super) fn properties_to_lapin(
    properties: &Properties,
    headers: &FieldTable,
) -> Result<BasicProperties, SessionError> {
    type Setter<T> = fn(BasicProperties, T) -> BasicProperties;
    let mut lapin = BasicProperties::default();
    let texts: [(&Option<String>, Setter<ShortString>); 10] = [
        (&properties.content_type, BasicProperties::with_content_type),
        (&properties.content_encoding, BasicProperties::with_content_encoding),
        (&properties.correlation_id, BasicProperties::with_correlation_id),
        (&properties.reply_to, BasicProperties::with_reply_to),
        (&properties.expiration, BasicProperties::with_expiration),
        (&properties.message_id, BasicProperties::with_message_id),
        (&properties.kind, BasicProperties::with_type),
        (&properties.user_id, BasicProperties::with_user_id),
        (&properties.app_id, BasicProperties::with_app_id),
        (&properties.cluster_id, BasicProperties::with_cluster_id),
    ];
    for (text, set) in texts {
        if let Some(text) = text {
            lapin = set(lapin, short(text)?);
        }
    }
    if let Some(mode) = properties.delivery_mode {
        lapin = lapin.with_delivery_mode(mode);
    }
    if let Some(priority) = properties.priority {
        lapin = lapin.with_priority(priority);
    }
    if let Some(seconds) = properties.timestamp {
        lapin = lapin.with_timestamp(seconds);
    }
    if !headers.is_empty() {
        lapin = lapin.with_headers(table_to_lapin(headers)?);
    }
    Ok(lapin)
}

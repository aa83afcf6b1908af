//! Properties and headers that a framework has put away inside a message, as JSON.

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::{Message, Properties},
};
use serde_json::{Map, Value};

/// What a message had before a framework wrapped it.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub properties: Properties,
    pub headers: FieldTable,
}

impl Carried {
    /// Gives a message back what it had, in place of what its wrapper has.
    pub fn restore(self, message: &mut Message) {
        message.properties = self.properties;
        message.headers = self.headers;
    }
}

/// Header values without types: each gets the one that most clients write.
pub(super) fn table(json: &Map<String, Value>) -> FieldTable {
    json.iter().map(|(name, value)| (name.clone(), field(value))).collect()
}

pub(super) fn field(value: &Value) -> FieldValue {
    match value {
        Value::Null => FieldValue::Void,
        Value::Bool(value) => FieldValue::Boolean(*value),
        Value::String(text) => FieldValue::string(text.as_str()),
        Value::Array(values) => FieldValue::Array(values.iter().map(field).collect()),
        Value::Object(fields) => FieldValue::Table(table(fields)),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => i32::try_from(whole).map_or(FieldValue::LongLongInt(whole), FieldValue::LongInt),
            None => FieldValue::Double(number.as_f64().unwrap_or_default().to_bits()),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_get_the_types_that_clients_write() {
        fn check(json: Value, expected: FieldValue) {
            assert_eq!(field(&json), expected);
        }
        check(json!("a"), FieldValue::string("a"));
        check(json!(7), FieldValue::LongInt(7));
        check(json!(7_000_000_000_i64), FieldValue::LongLongInt(7_000_000_000));
        check(json!(u64::MAX), FieldValue::Double((u64::MAX as f64).to_bits()));
        check(json!(1.5), FieldValue::Double(1.5_f64.to_bits()));
        check(json!([null, true]), FieldValue::Array(vec![FieldValue::Void, FieldValue::Boolean(true)]));
        let inner = [("b".to_owned(), FieldValue::LongInt(1))].into_iter().collect();
        check(json!({"b": 1}), FieldValue::Table(inner));
    }
}

//! Header tables from JSON that names no types, as frameworks keep them: each value gets the type that most clients write.

use serde_json::{Map, Value};

use crate::field::{FieldTable, FieldValue};

/// A table of the members of a JSON object.
pub fn table_from_plain_json(json: &Map<String, Value>) -> FieldTable {
    json.iter().map(|(name, value)| (name.clone(), value_from_plain_json(value))).collect()
}

/// Whole numbers become the narrowest of AMQP's two usual integers, all others doubles.
pub fn value_from_plain_json(json: &Value) -> FieldValue {
    match json {
        Value::Null => FieldValue::Void,
        Value::Bool(value) => FieldValue::Boolean(*value),
        Value::String(text) => FieldValue::string(text.as_str()),
        Value::Array(values) => FieldValue::Array(values.iter().map(value_from_plain_json).collect()),
        Value::Object(fields) => FieldValue::Table(table_from_plain_json(fields)),
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
            assert_eq!(value_from_plain_json(&json), expected);
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

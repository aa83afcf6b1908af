//! Messages inside the messages of EasyNetQ and Sneakers.

use amqp_message::{
    field::{FieldTable, FieldValue},
    message::Properties,
};
use serde_json::{Value, json};

use super::{automatic, summary};
use crate::unwrap::{Original, original, wrap};

fn error(message: &str, basic_properties: &Value) -> Vec<u8> {
    let error = json!({
        "RoutingKey": "order.placed", "Exchange": "Acme.Order, Acme", "Queue": "billing", "Exception": "System.E: no",
        "Message": message, "DateTime": "2026-03-14T09:26:53Z", "BasicProperties": basic_properties,
    });
    error.to_string().into_bytes()
}

#[test]
fn easynetq_is_undone() {
    let check = |message: &str, expected: &str| {
        let body = error(message, &json!({}));
        let unwrapped = automatic(&body);
        assert_eq!(summary(&unwrapped), expected);
        assert_eq!(wrap(&unwrapped.payloads, &unwrapped.steps).unwrap(), body);
    };
    check("{\"OrderId\":1090}", "easynetq: json");
    check("CghvcmQtMTA0MhAD", "easynetq base64: protobuf");
    check("declined", "easynetq: text");
}

#[test]
fn easynetq_tells_the_content_type_from_within() {
    let body = error("", &json!({"ContentType": "application/x-protobuf"}));
    assert_eq!(summary(&automatic(&body)), "easynetq: protobuf");
}

/// Checks the original of an EasyNetQ error with these properties.
fn check(basic_properties: &Value, properties: Properties, headers: Vec<(&str, FieldValue)>) {
    let headers: FieldTable = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let expected = Original { properties, headers, body: Some(b"{}".to_vec()) };
    assert_eq!(original(&error("{}", basic_properties), &FieldTable::default()), Some(expected));
}

#[test]
fn easynetq_7_and_8_0_flag_what_is_set() {
    let json = json!({
        "ContentType": null, "Headers": {"tenant": "acme", "n": 7, "big": 5_000_000_000_i64, "gone": null},
        "DeliveryMode": 2, "Priority": 0, "CorrelationId": "4b1c", "Expiration": "00:00:30", "Timestamp": 0,
        "Type": "Acme.Order, Acme", "ContentTypePresent": false, "HeadersPresent": true, "DeliveryModePresent": true,
        "PriorityPresent": false, "CorrelationIdPresent": true, "TimestampPresent": false, "TypePresent": true,
    });
    let properties = Properties {
        delivery_mode: Some(2),
        correlation_id: Some("4b1c".into()),
        expiration: Some("30000".into()),
        kind: Some("Acme.Order, Acme".into()),
        ..Properties::default()
    };
    let headers = vec![
        ("tenant", FieldValue::string("acme")),
        ("n", FieldValue::LongInt(7)),
        ("big", FieldValue::LongLongInt(5_000_000_000)),
        ("gone", FieldValue::Void),
    ];
    check(&json, properties, headers);
}

#[test]
fn easynetq_8_1_types_its_headers() {
    let json = json!({
        "Expiration": "1.02:03:04.5000000", "Timestamp": 1_773_480_413,
        "Headers": {
            "a": {"Type": 1}, "b": {"Type": 2, "Value": true}, "c": {"Type": 6, "Value": 7},
            "d": {"Type": 10, "Value": 0.5}, "e": {"Type": 12, "Value": 9}, "f": {"Type": 13, "Value": "x"},
            "g": {"Type": 14, "Value": "AAE="}, "h": {"Type": 15, "Value": [{"Type": 3, "Value": 1}]},
            "i": {"Type": 16, "Value": {"k": {"Type": 8, "Value": -1}}}, "j": {"Type": 11, "Value": "12.5"},
        },
    });
    let expiration = Some("93784500".into());
    let properties = Properties { expiration, timestamp: Some(1_773_480_413), ..Properties::default() };
    let table = [("k".to_owned(), FieldValue::LongLongInt(-1))].into_iter().collect();
    let headers = vec![
        ("a", FieldValue::Void),
        ("b", FieldValue::Boolean(true)),
        ("c", FieldValue::LongInt(7)),
        ("d", FieldValue::Double(0.5_f64.to_bits())),
        ("e", FieldValue::Timestamp(9)),
        ("f", FieldValue::string("x")),
        ("g", FieldValue::ByteArray(vec![0, 1])),
        ("h", FieldValue::Array(vec![FieldValue::ShortShortUInt(1)])),
        ("i", FieldValue::Table(table)),
        ("j", FieldValue::string("12.5")),
    ];
    check(&json, properties, headers);
}

#[test]
fn sneakers_tucks_properties_away() {
    let info = json!({"num_attempts": 6, "properties": {
        "content_type": "application/json", "priority": 0, "type": "order.placed", "message_id": "m-1",
        "timestamp": "2026-03-14 09:21:53 +0000", "headers": {"tenant": "acme"},
    }});
    let properties = Properties {
        content_type: Some("application/json".into()),
        priority: Some(0),
        kind: Some("order.placed".into()),
        message_id: Some("m-1".into()),
        timestamp: Some(1_773_480_113),
        ..Properties::default()
    };
    let headers = [("tenant".to_owned(), FieldValue::string("acme"))].into_iter().collect();
    let expected = Original { properties, headers, body: None };
    // After another trip the newest stands first among pairs.
    for info in [info.clone(), json!([info, ["error", "no"]])] {
        let outer = [("retry_info".to_owned(), FieldValue::string(info.to_string()))].into_iter().collect();
        assert_eq!(original(b"{}", &outer).as_ref(), Some(&expected));
    }
}

#[test]
fn other_messages_are_their_own() {
    for body in [b"{}".as_slice(), b"", b"{\"Message\": 1}", b"CAE="] {
        assert_eq!(original(body, &FieldTable::default()), None);
    }
    let broken = [("retry_info".to_owned(), FieldValue::string("[["))].into_iter().collect();
    assert_eq!(original(b"", &broken), None);
}

//! Messages inside the error messages of EasyNetQ.

use serde_json::{Value, json};

use super::{automatic, summary};
use crate::unwrap::wrap;

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
    let check = |basic_properties: Value, expected: &str| {
        assert_eq!(summary(&automatic(&error("EINi", &basic_properties))), expected, "{basic_properties}");
    };
    check(json!({"ContentType": "application/x-protobuf"}), "easynetq base64: protobuf");
    // Up to version 8.0 properties are flagged.
    check(json!({"ContentType": "application/x-protobuf", "ContentTypePresent": true}), "easynetq base64: protobuf");
    check(json!({"ContentType": "application/x-protobuf", "ContentTypePresent": false}), "easynetq: text");
}

//! What happened to a message on its way here that matters before it is sent back.

use amqp_message::message::Message;

use super::expiry;

/// Whole sentences; none for most messages.
pub(super) fn cautions(message: &Message) -> Vec<&'static str> {
    let has = |name: &str| message.headers.get(name).is_some();
    let is_of_amqp_1_0 = message.properties.kind.as_deref() == Some("amqp-1.0");
    let cautions = [
        (
            has("x-shovelled") || has("x-opt-shovelled-by") || has("x-received-from"),
            "A shovel or a federation link brought it here from another broker or vhost. A retry goes to the queue of that \
             name on this one, which may be missing or another queue.",
        ),
        (
            is_of_amqp_1_0,
            "It was published by AMQP 1.0 with a body that AMQP 0-9-1 has no words for. RabbitMQ converts it back, but \
             annotations and the types of some properties are lost.",
        ),
        (
            expiry::at(message).is_some(),
            "It says when it expires. It is not retried by itself where it will have expired by then, for its consumer would \
             drop it in silence; a retry by hand then goes without its expiry.",
        ),
        (has("x-stream-offset"), "It was read from a stream, which keeps its copy whatever is done here."),
    ];
    cautions.into_iter().filter(|(applies, _)| *applies).map(|(_, caution)| caution).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::{field::FieldValue, message::Properties};

    #[test]
    fn each_has_its_sign() {
        fn check(message: &Message, part: &str) {
            let cautions = cautions(message);
            assert!(cautions.len() == 1 && cautions[0].contains(part), "{cautions:?}");
        }
        let header = |name: &str| Message {
            headers: [(name.to_owned(), FieldValue::Void)].into_iter().collect(),
            ..Message::default()
        };
        check(&header("x-shovelled"), "shovel");
        check(&header("x-received-from"), "federation");
        check(&header("x-stream-offset"), "stream");
        let properties = Properties { kind: Some("amqp-1.0".to_owned()), ..Properties::default() };
        check(&Message { properties, ..Message::default() }, "AMQP 1.0");
        assert!(cautions(&Message::default()).is_empty());
    }
}

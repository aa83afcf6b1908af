//! Nameko: acknowledges what fails; what comes here has expired or was rejected by an extension.

use super::{
    evidence::Evidence,
    framework::{Framework, as_it_is},
    report::FrameworkReport,
};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Nameko",
    records: "type",
    retried: "goes back as it is",
    read,
    clean: as_it_is,
    advice: "Nameko stamps nothing on a message. Its header nameko.call_id_stack leads to the exception in its log.",
};

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let is_own = evidence.message.headers.iter().any(|(name, _)| name.starts_with("nameko."));
    is_own.then(|| FrameworkReport::typed(called(evidence)))
}

/// The routing key of a call is `service.method`.
fn called(evidence: &Evidence) -> Option<String> {
    let message = evidence.message;
    let at_death = evidence.site.and_then(|death| Some((&*death.exchange, &**death.routing_keys.first()?)));
    let (exchange, routing_key) = at_death.unwrap_or((&message.exchange, &message.routing_key));
    (exchange == "nameko-rpc" && !routing_key.is_empty()).then(|| routing_key.to_owned())
}

#[cfg(test)]
mod tests {
    use amqp_message::{field::FieldValue, message::Message};

    #[test]
    fn a_call_is_named_by_its_routing_key() {
        let check = |exchange: &str, routing_key: &str, expected: Option<&str>| {
            let headers = [("nameko.call_id_stack".to_owned(), FieldValue::Array(Vec::new()))].into_iter().collect();
            let (exchange, routing_key) = (exchange.to_owned(), routing_key.to_owned());
            let message = Message { exchange, routing_key, headers, ..Message::default() };
            assert_eq!(crate::read(&message).failure.message_type.as_deref(), expected);
        };
        check("nameko-rpc", "billing.charge", Some("billing.charge"));
        check("orders.events", "order_placed", None);
        check("dlx", "orders", None);
        check("nameko-rpc", "", None);
    }
}

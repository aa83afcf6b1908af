//! Spring AMQP's `RepublishMessageRecoverer`, which Spring Cloud Stream's binder uses too.

use amqp_message::{error_report::ErrorReport, message::Message};

use super::{evidence::Evidence, exception, framework::Framework, report::FrameworkReport, site};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Spring AMQP",
    records: "with `RepublishMessageRecoverer`, in Cloud Stream too: exception, stack trace if it is told to; not always the queue",
    retried: "the headers of the failure are removed",
    read,
    clean,
    advice: "RepublishMessageRecoverer records the exception; its stack trace is off by default since Spring AMQP 4.0.5 \
             and 4.1.1. RejectAndDontRequeueRecoverer records nothing.",
};

/// What the recoverer adds; `retry-count` is kept by the recoverer and the binder.
const ADDED: [&str; 5] =
    ["x-exception-message", "x-exception-stacktrace", "x-original-exchange", "x-original-routingKey", "retry-count"];

pub(super) fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let routing_key = evidence.text("x-original-routingKey");
    if routing_key.is_none() && !evidence.has("x-exception-message") {
        return None;
    }
    let exchange = evidence.text("x-original-exchange");
    let queue = default_exchange_queue(exchange.as_deref(), routing_key.as_deref()).or_else(|| binder_queue(evidence));
    // What names no address was rejected as it is: some services put the headers there before.
    let is_rejected = evidence.site.is_some_and(site::is_refusal);
    let names_nothing = queue.is_none() && exchange.is_none() && routing_key.is_none();
    let report = if is_rejected && names_nothing { FrameworkReport::default() } else { FrameworkReport::published() };
    Some(FrameworkReport {
        queue: queue.map(str::to_owned),
        exchange,
        routing_key,
        attempts: evidence.number("retry-count").map(|count| count.max(1)),
        error: error(evidence),
        ..report
    })
}

/// No header names the class; the stack trace does.
fn error(evidence: &Evidence) -> Option<ErrorReport> {
    let stacktrace = evidence.text("x-exception-stacktrace");
    let class = stacktrace.as_deref().and_then(exception::java_class);
    ErrorReport::new(class, evidence.text("x-exception-message"), stacktrace)
}

pub(super) fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.remove_where(|name| ADDED.contains(&name));
    Ok(())
}

/// The recoverer does not record the queue, but on the default exchange the routing key names it.
fn default_exchange_queue<'a>(exchange: Option<&str>, routing_key: Option<&'a str>) -> Option<&'a str> {
    routing_key.filter(|_| exchange == Some(""))
}

/// The binder publishes to an exchange `DLX`, perhaps with a prefix, under the name of the consumer's queue.
/// A plain recoverer's key begins with `error.`, and it does not carry Spring Messaging's `contentType`.
fn binder_queue<'a>(evidence: &Evidence<'a>) -> Option<&'a str> {
    let message = evidence.message;
    let is_binder = message.exchange.ends_with("DLX") && evidence.has("contentType");
    let queue = message.routing_key.as_str();
    (is_binder && !queue.is_empty() && !queue.starts_with("error.")).then_some(queue)
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::{field::FieldValue, message::Message};

    fn check(exchange: &str, routing_key: &str, headers: &[(&str, &str)], expected: Option<&str>) {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), FieldValue::string(*value))).collect();
        let (exchange, routing_key) = (exchange.to_owned(), routing_key.to_owned());
        let message = Message { exchange, routing_key, headers, ..Message::default() };
        let report = read(&Evidence { message: &message, deaths: &[], site: None }).unwrap();
        assert_eq!(report.queue.as_deref(), expected);
    }

    #[test]
    fn finds_the_queue_where_it_can() {
        let recoverer = [("x-original-exchange", "orders"), ("x-original-routingKey", "order.placed")];
        let by_queue = [("x-original-exchange", ""), ("x-original-routingKey", "billing")];
        let binder = [("x-exception-message", "no"), ("contentType", "application/json")];
        check("errors", "error.order.placed", &recoverer, None);
        check("DLX", "order.placed", &recoverer, None);
        check("errors", "error.billing", &by_queue, Some("billing"));
        check("DLX", "orders.billing", &binder, Some("orders.billing"));
        check("acme.DLX", "orders.billing", &binder, Some("orders.billing"));
        check("DLX", "error.order.placed", &binder, None);
        check("errors", "orders.billing", &binder, None);
    }
}

//! Services of any language that publish what they cannot process with the headers that dlo's documentation gives them,
//! which are those of Spring's recoverer. Spring is named only where something else on the message is Spring's.

use amqp_message::error_report::ErrorReport;

use super::{evidence::Evidence, exception, framework::Framework, report::FrameworkReport, spring};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "x-exception headers",
    records: "exception, stack trace, queue",
    retried: "the headers of the failure are removed",
    read,
    clean: spring::clean,
    advice: "The service itself adds the headers x-exception-message and x-exception-stacktrace.",
};

/// What Spring's libraries leave on a message besides.
const SPRING: [&str; 5] = ["__TypeId__", "contentType", "springBatchFormat", "springAutoDecompress", "retry-count"];
/// The recoverer always wraps the exception in one of Spring's own.
const PACKAGE: &str = "org.springframework.";
/// Before the routing key that the message had, unless it is configured otherwise.
const PREFIX: &str = "error.";

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let trace = evidence.text("x-exception-stacktrace");
    if is_of_spring(evidence, trace.as_deref()) {
        return None;
    }
    let report = spring::read(evidence)?;
    let python = |trace: &str| exception::python(trace).and_then(|error| error.kind);
    let class = trace.as_deref().and_then(|trace| {
        if trace.contains("Traceback (most recent call last)") { python(trace) } else { exception::java_class(trace) }
    });
    Some(FrameworkReport { error: ErrorReport::new(class, evidence.text("x-exception-message"), trace), ..report })
}

fn is_of_spring(evidence: &Evidence, trace: Option<&str>) -> bool {
    let key = evidence.text("x-original-routingKey").filter(|key| !key.is_empty());
    let is_prefixed = key.is_some_and(|key| evidence.message.routing_key.strip_prefix(PREFIX) == Some(&*key));
    is_prefixed || SPRING.iter().any(|name| evidence.has(name)) || trace.is_some_and(|trace| trace.contains(PACKAGE))
}

#[cfg(test)]
mod tests {
    use amqp_message::{death::Reason, field::FieldValue, message::Message};

    fn check(trace: &str, more: &[(&str, &str)], framework: &str, class: Option<&str>) {
        let headers = [
            ("x-exception-message", "out of stock"),
            ("x-exception-stacktrace", trace),
            ("x-original-exchange", ""),
            ("x-original-routingKey", "orders"),
        ];
        let field = |(name, value): &(&str, &str)| ((*name).to_owned(), FieldValue::string(*value));
        let headers = headers.iter().chain(more).map(field).collect();
        let report = crate::read(&Message { headers, ..Message::default() });
        let error = report.failure.error.unwrap();
        assert_eq!((report.framework, error.kind.as_deref()), (Some(framework), class), "{trace}");
        assert_eq!(error.message.as_deref(), Some("out of stock"));
        assert_eq!((report.failure.queue.as_deref(), report.failure.attempts), (Some("orders"), 1));
    }

    #[test]
    fn the_trace_tells_whose_it_is() {
        const OWN: &str = "x-exception headers";
        let python =
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nstock.OutOfStock: out of stock";
        check(python, &[], OWN, Some("stock.OutOfStock"));
        check("OutOfStock: out of stock", &[], OWN, Some("OutOfStock"));
        check("OutOfStock: out of stock\n    at f (/srv/a.js:3:7)", &[], OWN, Some("OutOfStock"));
        check("Acme.OutOfStock: out of stock\n   at Acme.F() in /a.cs:line 3", &[], OWN, Some("Acme.OutOfStock"));
        let java = "com.acme.OutOfStock: out of stock\n\tat com.acme.F.f(F.java:3)";
        check(java, &[], OWN, Some("com.acme.OutOfStock"));
        let wrapped = format!("org.springframework.amqp.ListenerExecutionFailedException: no\nCaused by: {java}");
        check(&wrapped, &[], "Spring AMQP", Some("com.acme.OutOfStock"));
        check(
            "com.acme.OutOfStock: out of stock",
            &[("__TypeId__", "a.B")],
            "Spring AMQP",
            Some("com.acme.OutOfStock"),
        );
    }

    #[test]
    fn without_a_trace_the_address_tells_whose_it_is() {
        let check = |routing_key: &str, framework: &str| {
            let headers = [("x-exception-message", "out of stock"), ("x-original-routingKey", "order.placed")];
            let field = |(name, value): (&str, &str)| (name.to_owned(), FieldValue::string(value));
            let headers = headers.into_iter().map(field).collect();
            let message = Message { routing_key: routing_key.to_owned(), headers, ..Message::default() };
            assert_eq!(crate::read(&message).framework, Some(framework), "{routing_key}");
        };
        check("error.order.placed", "Spring AMQP");
        check("order.placed", "x-exception headers");
        check("", "x-exception headers");
    }

    #[test]
    fn where_no_address_is_named_the_death_counts() {
        let check = |reason: &str, address: &[(&str, &str)], queue: Option<&str>, expected: Reason| {
            let death = [("queue", "orders"), ("reason", reason), ("exchange", "shop")];
            let death = death.map(|(name, value)| (name.to_owned(), FieldValue::string(value))).into_iter().collect();
            let deaths = FieldValue::Array(vec![FieldValue::Table(death)]);
            let said = [("x-exception-message", "out of stock"), ("x-exception-type", "OutOfStock")];
            let field = |(name, value): &(&str, &str)| ((*name).to_owned(), FieldValue::string(*value));
            let headers = said.iter().chain(address).map(field).chain([("x-death".to_owned(), deaths)]).collect();
            let failure = crate::read(&Message { headers, ..Message::default() }).failure;
            assert_eq!((failure.queue.as_deref(), failure.reason, failure.is_disputed), (queue, expected, false));
            assert_eq!(failure.error.and_then(|error| error.message).as_deref(), Some("out of stock"));
        };
        check("rejected", &[], Some("orders"), Reason::Rejected);
        check("delivery_limit", &[], Some("orders"), Reason::DeliveryLimit);
        // Published anew, after it had waited somewhere.
        check("expired", &[], None, Reason::Rejected);
        check("rejected", &[("x-original-exchange", "b"), ("x-original-routingKey", "c")], None, Reason::Rejected);
    }
}

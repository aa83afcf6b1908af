//! Services of any language that publish what they cannot process with the headers that dlo's documentation gives them,
//! which are those of Spring's recoverer.

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

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let trace = evidence.text("x-exception-stacktrace")?;
    if SPRING.iter().any(|name| evidence.has(name)) || is_java(&trace) {
        return None;
    }
    let report = spring::read(evidence)?;
    let is_python = trace.contains("Traceback (most recent call last)");
    let python = || exception::python(&trace).and_then(|error| error.kind);
    let class = if is_python { python() } else { exception::java_class(&trace) };
    Some(FrameworkReport {
        error: ErrorReport::new(class, evidence.text("x-exception-message"), Some(trace)),
        ..report
    })
}

/// Frames of Java begin with `at`. So do those of JavaScript and .NET, which name files of their own.
fn is_java(trace: &str) -> bool {
    const OTHERS: [&str; 7] = [".js:", ".ts:", ".mjs:", ".cjs:", "node:", "file://", ":line "];
    let is_frame =
        |line: &str| line.trim_start().starts_with("at ") && !OTHERS.iter().any(|other| line.contains(other));
    trace.lines().any(is_frame)
}

#[cfg(test)]
mod tests {
    use amqp_message::{field::FieldValue, message::Message};

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
        check(java, &[], "Spring AMQP", Some("com.acme.OutOfStock"));
        check(
            "com.acme.OutOfStock: out of stock",
            &[("__TypeId__", "a.B")],
            "Spring AMQP",
            Some("com.acme.OutOfStock"),
        );
    }
}

//! rascal: its recovery strategies republish to the same queue or forward elsewhere.

use amqp_message::{
    error_report::ErrorReport,
    field::{FieldTable, FieldValue},
    message::Message,
};

use super::{
    evidence::{Evidence, number},
    framework::Framework,
    report::FrameworkReport,
    site,
};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Rascal",
    records: "what the error says, attempts, queue; not after a plain nack",
    retried: "what it recorded of the failure is removed",
    read,
    clean,
    advice: "Rascal records an error only where a recovery strategy republishes or forwards before the nack: end the list \
             of strategies with one of these instead of a plain nack.",
};

/// A message with a death in the very queue rascal names was dead-lettered there; one without such a death was
/// forwarded, and only rascal knows.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let rascal = evidence.table("rascal")?;
    let text = |name| rascal.get_str(name).map(str::to_owned);
    let queue = text("originalQueue");
    let report = match evidence.site {
        Some(death) if Some(&death.queue) == queue.as_ref() => FrameworkReport::default(),
        // It was refused in another queue, to which it had been forwarded.
        Some(death) if site::is_refusal(death) => return None,
        _ => FrameworkReport::published(),
    };
    Some(FrameworkReport {
        attempts: queue.as_deref().and_then(|queue| attempts(rascal, queue)),
        error: error(rascal),
        exchange: text("originalExchange"),
        routing_key: text("originalRoutingKey"),
        queue,
        ..report
    })
}

/// Of the last time it was republished.
fn error(rascal: &FieldTable) -> Option<ErrorReport> {
    let error = rascal.get("error")?.as_table()?;
    let text = |name| error.get_str(name).map(str::to_owned);
    ErrorReport::new(text("code"), text("message"), None)
}

/// With its own account of recoveries in place rascal would nack the message without giving it to a handler. What it
/// needs for decrypting, and where the message came from, stays.
fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    let Some(FieldValue::Table(rascal)) = message.headers.get("rascal") else { return Ok(()) };
    let mut rascal = rascal.clone();
    rascal.remove_where(|name| matches!(name, "recovery" | "error" | "redeliveries"));
    message.headers.replace("rascal", FieldValue::Table(rascal));
    Ok(())
}

/// `recovery.<queue>.republished` counts the tries before this one.
fn attempts(rascal: &FieldTable, queue: &str) -> Option<u64> {
    let recovery = rascal.get("recovery")?.as_table()?;
    let republished = recovery.get(queue).and_then(FieldValue::as_table)?.get("republished")?;
    Some(number(republished)?.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::death::{Death, Reason};

    fn check(death: Option<(&str, &str)>, expected: Option<(&str, Option<Reason>)>) {
        let rascal = [("originalQueue".to_owned(), FieldValue::string("orders"))].into_iter().collect();
        let headers = [("rascal".to_owned(), FieldValue::Table(rascal))].into_iter().collect();
        let message = Message { headers, ..Message::default() };
        let death = death.map(|(queue, reason)| Death {
            queue: queue.to_owned(),
            reason: reason.to_owned(),
            count: 1,
            first_at: None,
            exchange: String::new(),
            routing_keys: vec![],
            original_expiration: None,
        });
        let report = read(&Evidence { message: &message, deaths: &[], site: death.as_ref() });
        assert_eq!(
            report.as_ref().map(|report| (report.queue.as_deref().unwrap_or_default(), report.published)),
            expected
        );
    }

    #[test]
    fn tells_forwarded_from_rejected() {
        check(None, Some(("orders", Some(Reason::Rejected))));
        check(Some(("orders", "rejected")), Some(("orders", None)));
        check(Some(("orders", "expired")), Some(("orders", None)));
        check(Some(("orders.delay", "expired")), Some(("orders", Some(Reason::Rejected))));
        check(Some(("invoices", "rejected")), None);
    }
}

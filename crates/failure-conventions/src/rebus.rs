//! Rebus: moves to one queue for all, `error` by default.

use std::time::Duration;

use amqp_message::{error_report::ErrorReport, message::Message, time::Timestamp};

use super::{assembly, evidence::Evidence, exception, framework::Framework, moment, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Rebus",
    records: "exception, stack trace, time, attempts, queue, type",
    retried: "the headers of the failure are removed",
    read,
    clean,
    advice: "Rebus records the exceptions by itself when it moves a message to its error queue.",
};

/// What it adds. A delivery count above its limit would have it give up at once.
const ADDED: [&str; 3] = ["rbs2-error-details", "rbs2-source-queue", "rbs2-delivery-count"];

fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let queue = evidence.text("rbs2-source-queue");
    let details = evidence.text("rbs2-error-details");
    if queue.is_none() && details.is_none() {
        return None;
    }
    let last = details.as_deref().and_then(last_failure);
    let sent = evidence.text("rbs2-senttime").as_deref().and_then(moment::iso);
    Some(FrameworkReport {
        queue,
        attempts: details.as_deref().and_then(attempts),
        failed_at: last.and_then(|(at, _)| time(at, sent)),
        error: error(last.map(|(_, exception)| exception), details.as_deref()),
        message_type: evidence.message.headers.get_str("rbs2-msg-type").map(assembly::without),
        ..FrameworkReport::published()
    })
}

/// The details begin with `2 unhandled exceptions: `.
fn attempts(details: &str) -> Option<u64> {
    let (number, rest) = details.split_once(' ')?;
    rest.starts_with("unhandled exception").then(|| number.parse().ok())?
}

/// Time and exception of the last of `<time>: <exception>`, which blank lines divide.
fn last_failure(details: &str) -> Option<(&str, &str)> {
    let starts = details.match_indices("\n\n").map(|(at, blank)| at + blank.len());
    let starts = starts.chain(details.match_indices("\n\r\n").map(|(at, blank)| at + blank.len()));
    let mut starts: Vec<usize> = starts.collect();
    starts.sort_unstable();
    let blocks = starts.into_iter().rev().filter_map(|start| details.get(start..));
    let first = details.split_once(": ").map(|(_, rest)| rest);
    blocks.chain(first).find_map(failure)
}

/// Only the beginning is searched for the time: there may be a block at each line break of a long text.
fn failure(block: &str) -> Option<(&str, &str)> {
    const LONGEST_TIME: usize = 64;
    if !block.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (beginning, _) = block.split_at(block.floor_char_boundary(LONGEST_TIME));
    let (at, _) = beginning.split_once(": ")?;
    Some((at, block.strip_prefix(at)?.strip_prefix(": ")?))
}

/// The time is written as the culture of the process has it; the invariant one puts the month first. Where that may
/// be a mistake, it has to be shortly after the message was sent.
fn time(text: &str, sent: Option<Timestamp>) -> Option<Timestamp> {
    const SHORTLY: Duration = Duration::from_secs(7 * 24 * 60 * 60);
    let at = moment::formatted("%m/%d/%Y %H:%M:%S %:z", text).or_else(|| moment::iso(text))?;
    let day: Option<u32> = text.split('/').nth(1).and_then(|day| day.parse().ok());
    let is_certain = day.is_none_or(|day| day > 12);
    (is_certain || sent.is_some_and(|sent| at >= sent && at.since(sent) < SHORTLY)).then_some(at)
}

fn error(exception: Option<&str>, details: Option<&str>) -> Option<ErrorReport> {
    let details = details?;
    let last = exception.and_then(exception::dotnet).unwrap_or_default();
    ErrorReport::new(last.kind, last.message, Some(details.to_owned()))
}

fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.remove_where(|name| ADDED.contains(&name));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_exceptions() {
        fn check(details: &str, expected: Option<u64>) {
            assert_eq!(attempts(details), expected);
        }
        check("2 unhandled exceptions: 03/14/2026", Some(2));
        check("1 unhandled exception: 03/14/2026", Some(1));
        check("03/14/2026 09:26:52", None);
        check("404 not found", None);
        check("", None);
    }

    #[test]
    fn finds_the_last_failure() {
        fn check(details: &str, expected: Option<(&str, &str)>) {
            assert_eq!(last_failure(details), expected);
        }
        check("1 unhandled exceptions: 1/2 x: A: b", Some(("1/2 x", "A: b")));
        check("2 unhandled exceptions: 1: A: b\n\n2: C: d\n\n  not a time: e", Some(("2", "C: d\n\n  not a time: e")));
        check("2 unhandled exceptions: 1: A: b\r\n\r\n2: C: d", Some(("2", "C: d")));
        check("nothing of the kind", None);
        check("", None);
    }

    #[test]
    fn a_time_is_short() {
        let details = |time: &str| format!("1 unhandled exceptions: {time}: A: b");
        assert!(last_failure(&details(&"1".repeat(62))).is_some());
        assert_eq!(last_failure(&details(&"1".repeat(63))), None);
        assert_eq!(last_failure(&details(&format!("1{}", "ä".repeat(40)))), None);
    }

    #[test]
    fn what_begins_like_a_failure_everywhere_is_read_once() {
        for block in ["\n\n", "\n\r\n", "\n\n1"] {
            assert_eq!(last_failure(&block.repeat(1 << 19)), None);
        }
    }

    #[test]
    fn a_day_that_may_be_a_month_needs_the_time_of_sending() {
        fn check(text: &str, sent: Option<&str>, expected: Option<&str>) {
            let at = |text: &str| moment::iso(text).unwrap();
            assert_eq!(time(text, sent.map(at)), expected.map(at), "{text}");
        }
        let (march, april) = ("2026-03-04T09:00:00Z", "2026-04-03T09:00:00Z");
        check("03/14/2026 09:00:00 +00:00", None, Some("2026-03-14T09:00:00Z"));
        check("03/04/2026 09:00:00 +00:00", None, None);
        check("03/04/2026 09:00:00 +00:00", Some(march), Some(march));
        check("03/04/2026 09:00:00 +00:00", Some(april), None);
        check("14/03/2026 09:00:00 +00:00", Some(march), None);
        check("2026-03-04T09:00:00+00:00", None, Some(march));
        check("gestern", None, None);
    }
}

//! An envelope as PHP serializes it: `addslashes(serialize($envelope))`, in base64 where that is not UTF-8.
//!
//! It is never unserialized, which would run code; a few texts are found by what stands before them.

use std::borrow::Cow;

use amqp_message::error_report::ErrorReport;
use base64::{Engine, prelude::BASE64_STANDARD};

use super::super::{
    evidence::Evidence,
    report::{FrameworkReport, OwnRetry},
};
use crate::danger::Danger;

const ENVELOPE: &str = r"Symfony\Component\Messenger\Envelope";
/// How it begins, with the slashes that `addslashes` has added, and `O:36:` of that in base64.
const ENVELOPE_SLASHED: &str = r#"O:36:\"Symfony\\Component\\Messenger\\Envelope\""#;
const ENVELOPE_BASE64: &str = "TzozNj";

/// The largest body that is looked through, in bytes.
const MAX_BODY: usize = 1024 * 1024;

pub(super) fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    let text = envelope(&evidence.message.body)?;
    // A field of the message itself may be called like one of a stamp.
    let (stamps, message) = parts(&text).unwrap_or((&text, ""));
    let moved = stamps.contains(r"\SentToFailureTransportStamp");
    let report = if moved { FrameworkReport::published() } else { FrameworkReport::default() };
    Some(FrameworkReport {
        queue_candidates: string_after(stamps, "originalReceiverName\";").into_iter().collect(),
        attempts: retries(stamps).map(|retries| retries.saturating_add(1)),
        error: ErrorReport::new(
            last_string_after(stamps, "exceptionClass\";"),
            last_string_after(stamps, "exceptionMessage\";"),
            last_string_after(stamps, "traceAsString\";"),
        ),
        message_type: class(message),
        // Without the stamp of the failure transport it goes through its retries like any other.
        danger: moved.then_some(Danger::SymfonySerialized),
        own_retry: retries(stamps)
            .filter(|number| *number > 0 && !moved)
            .map(|number| OwnRetry { number, failed_before: None }),
        ..report
    })
}

/// Whether it begins like an envelope.
pub(super) fn may_be_one(body: &[u8]) -> bool {
    body.starts_with(ENVELOPE_BASE64.as_bytes()) || body.starts_with(ENVELOPE_SLASHED.as_bytes())
}

/// The message without its stamps, which are others for each try.
pub(super) fn without_stamps(body: &[u8]) -> Option<String> {
    parts(&envelope(body)?).map(|(_, message)| message.to_owned())
}

/// The envelope's private fields: its stamps, and the message after them.
fn parts(envelope: &str) -> Option<(&str, &str)> {
    envelope.split_once(&format!("\0{ENVELOPE}\0message\";"))
}

/// The envelope without its slashes, if the body is one.
fn envelope(body: &[u8]) -> Option<String> {
    if body.len() > MAX_BODY || !may_be_one(body) {
        return None;
    }
    let is_base64 = body.starts_with(ENVELOPE_BASE64.as_bytes());
    let decoded = if is_base64 { BASE64_STANDARD.decode(body.trim_ascii()).ok()?.into() } else { Cow::Borrowed(body) };
    Some(without_slashes(&String::from_utf8_lossy(&decoded))).filter(|text| text.contains(ENVELOPE))
}

/// Undoes `addslashes`.
fn without_slashes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('0') => plain.push('\0'),
                Some(escaped) => plain.push(escaped),
                None => plain.push('\\'),
            },
            c => plain.push(c),
        }
    }
    plain
}

/// The string `s:5:"async"` that follows `name`.
fn string_after(text: &str, name: &str) -> Option<String> {
    let (_, rest) = text.split_once(name)?;
    string(rest)
}

/// Of all that follow `name` the last that is a string: stamps of other kinds have a field of that name, too, which is null
/// most of the time.
fn last_string_after(text: &str, name: &str) -> Option<String> {
    let places = text.rmatch_indices(name);
    places.filter_map(|(at, _)| string(text.get(at.checked_add(name.len())?..)?)).next()
}

/// Its length is in bytes, so that quotes inside need no escape. Digits without end are not followed: a text may begin
/// like this in very many places.
fn string(text: &str) -> Option<String> {
    const MOST_DIGITS: usize = 10;
    let rest = text.strip_prefix("s:")?;
    let digits = rest.bytes().take(MOST_DIGITS).take_while(u8::is_ascii_digit).count();
    let (length, rest) = rest.split_at_checked(digits)?;
    let (length, rest): (usize, _) = (length.parse().ok()?, rest.strip_prefix(":\"")?);
    let found = rest.get(..length)?;
    rest.get(length..)?.starts_with('"').then(|| found.to_owned())
}

/// The highest of all redeliveries; the move to the failure transport counts from 0 again.
fn retries(text: &str) -> Option<u64> {
    let counts = text.match_indices("retryCount\";i:");
    let digits = counts.filter_map(|(at, found)| text.get(at.checked_add(found.len())?..)?.split(';').next());
    digits.filter_map(|digits| digits.parse().ok()).max()
}

/// The class of an object, `O:23:"App\Message\SendInvoice":…`.
fn class(message: &str) -> Option<String> {
    let (_, rest) = message.strip_prefix("O:")?.split_once(":\"")?;
    let (class, _) = rest.split_once('"')?;
    Some(class.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use amqp_message::message::Message;

    /// Written after `Symfony\Component\Messenger\Transport\Serialization\PhpSerializer`.
    fn serialized(stamps: &str) -> String {
        serialized_with(stamps, "s:2:\"id\";i:7;")
    }

    /// With these fields of the message.
    fn serialized_with(stamps: &str, fields: &str) -> String {
        let envelope = r"Symfony\Component\Messenger\Envelope";
        let plain = format!(
            "O:36:\"{envelope}\":2:{{s:44:\"\0{envelope}\0stamps\";a:1:{{{stamps}}}s:45:\"\0{envelope}\0message\";\
             O:23:\"App\\Message\\SendInvoice\":1:{{{fields}}}}}"
        );
        plain.replace('\\', "\\\\").replace('"', "\\\"").replace('\0', "\\0")
    }

    fn stamp(class: &str, fields: &str) -> String {
        let class = format!(r"Symfony\Component\Messenger\Stamp\{class}");
        format!("s:{}:\"{class}\";a:1:{{i:0;O:{}:\"{class}\":1:{{{fields}}}}}", class.len(), class.len())
    }

    fn report(body: impl Into<Vec<u8>>) -> Option<FrameworkReport> {
        read(&Evidence { message: &Message { body: body.into(), ..Message::default() }, deaths: &[], site: None })
    }

    fn failed() -> String {
        let details = "s:3:\"\0x\0exceptionClass\";s:24:\"App\\Exception\\MailerDown\";\
            s:3:\"\0x\0exceptionMessage\";s:14:\"SMTP \"refused\"\";";
        let details = stamp("ErrorDetailsStamp", details);
        let moved = stamp("SentToFailureTransportStamp", "s:3:\"\0x\0originalReceiverName\";s:5:\"async\";");
        // Symfony 5.4 has the same fields there, and leaves them empty.
        let empty = "s:3:\"\0x\0exceptionMessage\";N;s:3:\"\0x\0flattenException\";N;";
        let again =
            stamp("RedeliveryStamp", &format!("s:3:\"\0x\0retryCount\";i:2;{empty}")) + "s:3:\"\0x\0retryCount\";i:0;";
        serialized(&(details + &moved + &again))
    }

    fn check_failed(report: &FrameworkReport) {
        let error = report.error.as_ref().unwrap();
        assert_eq!(error.kind.as_deref(), Some(r"App\Exception\MailerDown"));
        assert_eq!(error.message.as_deref(), Some("SMTP \"refused\""));
        assert_eq!((report.attempts, report.danger), (Some(3), Some(Danger::SymfonySerialized)));
        assert_eq!(report.message_type.as_deref(), Some(r"App\Message\SendInvoice"));
        assert_eq!(report.queue_candidates, ["async"]);
    }

    #[test]
    fn finds_what_it_says() {
        check_failed(&report(failed()).unwrap());
        check_failed(&report(BASE64_STANDARD.encode(failed())).unwrap());
    }

    #[test]
    fn without_the_failure_transport_there_is_no_danger() {
        let report = report(serialized(&stamp("BusNameStamp", ""))).unwrap();
        assert_eq!((report.danger, report.published, report.attempts), (None, None, None));
        assert_eq!(report.message_type.as_deref(), Some(r"App\Message\SendInvoice"));
    }

    #[test]
    fn a_copy_for_its_own_retry_is_the_same_message() {
        let retried = |n: usize| {
            // Within an exception there is a message, too.
            let count = format!("s:3:\"\0x\0retryCount\";i:{n};s:3:\"\0x\0message\";s:{n}:\"{}\";", "x".repeat(n));
            serialized(&(stamp("BusNameStamp", "") + &stamp("RedeliveryStamp", &count)))
        };
        let number = |body: &str| report(body).unwrap().own_retry.map(|retry| retry.number);
        assert_eq!((number(&retried(0)), number(&retried(2)), number(&failed())), (None, Some(2), None));
        let message = without_stamps(retried(1).as_bytes()).unwrap();
        assert!(message.contains("SendInvoice"), "{message}");
        assert_eq!(without_stamps(retried(2).as_bytes()).as_ref(), Some(&message));
        assert_eq!(without_stamps(BASE64_STANDARD.encode(failed()).as_bytes()), Some(message));
        assert_eq!(without_stamps(b"O:8:\"stdClass\":0:{}"), None);
    }

    #[test]
    fn fields_of_the_message_are_no_stamps() {
        let fields = "s:10:\"retryCount\";i:2;s:14:\"exceptionClass\";s:1:\"E\";s:20:\"originalReceiverName\";\
            s:1:\"r\";s:4:\"text\";s:30:\"\\SentToFailureTransportStamp()\";";
        let report = report(serialized_with(&stamp("BusNameStamp", ""), fields)).unwrap();
        assert_eq!((report.own_retry, report.attempts, report.danger), (None, None, None));
        assert_eq!((report.error, report.published, report.queue_candidates.len()), (None, None, 0));
        assert_eq!(report.message_type.as_deref(), Some(r"App\Message\SendInvoice"));
    }

    #[test]
    fn a_string_has_its_length_before_it() {
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(string(text).as_deref(), expected, "{text}");
        }
        check("s:3:\"a\"b\";", Some("a\"b"));
        check("s:0000000003:\"abc\";", Some("abc"));
        check("s:00000000003:\"abc\";", None);
        check("s:2:\"abc\";", None);
        check("s:1:\"ä\";", None);
        check("s:3:abc", None);
        check("s::\"\";", None);
        check("N;s:3:\"abc\";", None);
    }

    #[test]
    fn what_begins_like_a_string_everywhere_is_read_once() {
        let text = "exceptionClass\";s:".repeat(1 << 18);
        assert_eq!(last_string_after(&text, "exceptionClass\";"), None);
        assert_eq!(last_string_after(&text.replace("s:", "s:12"), "exceptionClass\";"), None);
    }

    #[test]
    fn anything_else_is_not_its_own() {
        for body in ["", "{}", "O:8:\"stdClass\":0:{}", "TzozNj!", ENVELOPE] {
            assert!(report(body).is_none(), "{body}");
        }
        let whole = failed();
        for cut in 0..whole.len() {
            _ = report(&whole.as_bytes()[..cut]);
        }
    }
}

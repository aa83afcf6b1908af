//! What a service says went wrong.

/// An error as whoever failed recorded it. At least one field is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorReport {
    /// The class of an exception, or whatever its language has for that.
    pub kind: Option<String>,
    /// What it says.
    pub message: Option<String>,
    /// Where it came from, as its language writes it.
    pub stacktrace: Option<String>,
}

/// Bytes kept of the name of a class.
const MAX_KIND: usize = 1_024;
/// Bytes kept of a message; NServiceBus alone records up to 16,384 characters.
const MAX_MESSAGE: usize = 16 * 1_024;
/// Bytes kept of a stack trace. Headers have to fit a frame of 128 KiB, but a body can bring any amount.
const MAX_STACKTRACE: usize = 64 * 1_024;

impl ErrorReport {
    /// Trims and bounds what was recorded; `None` where nothing was.
    pub fn new(kind: Option<String>, message: Option<String>, stacktrace: Option<String>) -> Option<Self> {
        let report = Self {
            kind: tidy(kind, MAX_KIND),
            message: tidy(message, MAX_MESSAGE),
            stacktrace: stacktrace.filter(|trace| !trace.trim().is_empty()).map(|trace| bounded(trace, MAX_STACKTRACE)),
        };
        (report != Self::default()).then_some(report)
    }
}

/// `kind: message` in one line; `None` where neither is known.
pub fn headline(kind: Option<&str>, message: Option<&str>) -> Option<String> {
    let message = message.map(|message| message.lines().next().unwrap_or_default());
    match (kind, message) {
        (Some(kind), Some(message)) => Some(format!("{kind}: {message}")),
        (kind, message) => kind.or(message).map(str::to_owned),
    }
}

fn tidy(text: Option<String>, limit: usize) -> Option<String> {
    let text = text?;
    let text = text.trim();
    (!text.is_empty()).then(|| bounded(text.to_owned(), limit))
}

/// What is cut off is said: the message itself still has it.
fn bounded(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let kept = text.floor_char_boundary(limit);
        let lost = text.len().saturating_sub(kept);
        text.truncate(kept);
        text.push_str(&format!("\n… {lost} more bytes"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn nothing_recorded_is_no_error() {
        assert_eq!(ErrorReport::new(None, None, None), None);
        assert_eq!(ErrorReport::new(text(" "), text(""), text("\n")), None);
        assert_eq!(ErrorReport::new(None, text(" no "), None).and_then(|error| error.message), text("no"));
    }

    #[test]
    fn long_traces_are_cut_and_say_so() {
        let trace = |len: usize| ErrorReport::new(None, None, Some("é".repeat(len))).unwrap().stacktrace.unwrap();
        assert_eq!(trace(MAX_STACKTRACE / 2), "é".repeat(MAX_STACKTRACE / 2));
        let cut = trace(MAX_STACKTRACE / 2 + 5);
        assert!(cut.ends_with("\n… 10 more bytes"), "{}", &cut[cut.len() - 40..]);
    }

    #[test]
    fn headlines_are_one_line() {
        fn check(kind: Option<&str>, message: Option<&str>, expected: Option<&str>) {
            assert_eq!(headline(kind, message).as_deref(), expected);
        }
        check(Some("A"), Some("b\nc"), Some("A: b"));
        check(Some("A"), None, Some("A"));
        check(None, Some("b"), Some("b"));
        check(None, None, None);
    }
}

//! Rebus: moves to one queue for all, `error` by default.

use super::{evidence::Evidence, told::Told};

pub(super) fn read(evidence: &Evidence) -> Option<Told> {
    let queue = evidence.text("rbs2-source-queue");
    let details = evidence.text("rbs2-error-details");
    if queue.is_none() && details.is_none() {
        return None;
    }
    Some(Told { queue, attempts: details.as_deref().and_then(attempts), ..Told::published() })
}

/// The details begin with `2 unhandled exceptions: `.
fn attempts(details: &str) -> Option<u64> {
    let (number, rest) = details.split_once(' ')?;
    rest.starts_with("unhandled exception").then(|| number.parse().ok())?
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
}

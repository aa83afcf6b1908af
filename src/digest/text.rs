//! A digest as plain text.

use super::{line::cut, report::DigestReport, visible::visible, wording};

/// Groups shown of each section.
const MOST_GROUPS: usize = 10;
/// Characters of each name and each error.
const LONGEST_PIECE: usize = 300;

/// Some lines that can be read anywhere. Nothing in them is escaped for anything.
pub fn render(report: &DigestReport) -> String {
    let mut lines = vec![one_line(&report.name), report.period_words(), String::new()];
    if report.is_quiet() {
        lines.push(report.quiet_words());
    } else {
        lines.push(report.figures().join(", "));
    }
    let with_broker = wording::has_several_brokers(report);
    for section in &report.sections {
        lines.extend([String::new(), format!("{}: {}", section.kind.title(), section.size())]);
        for group in section.groups.iter().take(MOST_GROUPS) {
            lines.push(format!("- {}: {}", one_line(&group.place(with_broker)), one_line(group.cause())));
            lines.push(format!("  {}", group.figures(report.period.until).join(", ")));
        }
        let (groups, letters) = section.beyond(MOST_GROUPS);
        if groups > 0 {
            lines.push(format!("  {}", wording::rest_words(groups, letters, MOST_GROUPS).concat()));
        }
    }
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    cut(visible(text), LONGEST_PIECE, |_| 1)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::{
        digest::{DigestGroup, DigestOptions, DigestPeriod},
        domain::{death::Reason, group::GroupId, letter::Importance, time::Timestamp},
    };

    fn report(groups: u64) -> DigestReport {
        let until = Timestamp::from_seconds(1_000_000);
        let group = |n: u64| DigestGroup {
            id: GroupId::from_uuid(Uuid::from_u128(n.into())),
            importance: Importance::Critical,
            broker: "main".to_owned(),
            queue: Some("orders\nfaked: line".to_owned()),
            message_type: None,
            reason: Reason::Expired,
            error: String::new(),
            open: n,
            new: 0,
            is_new: true,
            first_seen: until,
            last_seen: until,
            oldest_open: Some(Timestamp::from_seconds(996_400)),
            healed: 0,
            came_back: 0,
            note: None,
        };
        let period = DigestPeriod { from: Some(until), until, label: "today".to_owned() };
        DigestReport::new("Digest".to_owned(), period, (1..=groups).map(group).collect(), DigestOptions::default())
    }

    #[test]
    fn a_group_is_two_lines() {
        let expected = "Digest\ntoday\n\n1 letter open in 1 group, 0 new, 0 healed, 0 came back\n\nNew: 1 group, 1 letter\n\
            - orders faked: line: expired before a consumer took it\n  critical, 1 open, oldest 1 h";
        assert_eq!(render(&report(1)), expected);
    }

    #[test]
    fn what_is_not_shown_is_counted() {
        assert!(render(&report(1_500)).ends_with("\n  and 1,490 more groups with 1,110,795 letters"));
    }

    #[test]
    fn a_quiet_one_says_so() {
        assert_eq!(render(&report(0)), "Digest\ntoday\n\nAll quiet. Nothing is open.");
    }
}

//! The report: groups sorted into sections, and the sums.

use std::{cmp::Reverse, time::Duration};

use amqp_message::{time::Timestamp, word_enum};

use super::group::DigestGroup;

/// The time that a digest is about.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestPeriod {
    /// When the last digest was made; `None` for the first one, which is about all there is.
    pub from: Option<Timestamp>,
    /// When this one is made.
    pub until: Timestamp,
    /// The period as the clock of its readers shows it: `Fri 20 Nov 2026, 09:00 GMT to Sat 21 Nov 2026, 09:00 GMT`.
    pub label: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DigestOptions {
    /// A group is stuck once a letter of it has been open for longer than this and nothing else happens to it.
    pub stuck_after: Duration,
    /// Whether a digest is worth sending also when it says no more than that all is quiet.
    pub all_quiet: bool,
}

impl Default for DigestOptions {
    fn default() -> Self {
        Self { stuck_after: Duration::from_secs(24 * 60 * 60), all_quiet: true }
    }
}

word_enum! {
    /// What happened to a group, in the order in which people read about it.
    SectionKind, "section of a digest" {
        /// Unknown to the last digest, and open.
        New = "new",
        /// Known before, and more of its letters failed since, new ones or retried ones.
        Grew = "grew",
        /// Open for long, and nothing new.
        Stuck = "stuck",
        /// Nothing of it is open any more, or some of its letters succeeded.
        Succeeded = "succeeded",
    }
}

impl SectionKind {
    /// The letters of the group that make it count in this section.
    pub fn letters(self, group: &DigestGroup) -> u64 {
        match self {
            Self::New | Self::Stuck => group.open,
            Self::Grew => group.new,
            Self::Succeeded => group.succeeded,
        }
    }
}

/// The groups of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestSection {
    pub kind: SectionKind,
    /// The biggest first, by [`SectionKind::letters`]. Never empty. Of a digest that was read back only the first ones.
    pub groups: Vec<DigestGroup>,
    /// How many groups there are, and the letters of all of them.
    pub n_groups: u64,
    pub letters: u64,
}

/// What a digest says.
#[derive(Clone, Debug, PartialEq)]
pub struct DigestReport {
    pub name: String,
    pub period: DigestPeriod,
    pub options: DigestOptions,
    /// Letters that are open, of the importances it is about, and the groups they belong to.
    pub open: u64,
    pub open_groups: u64,
    /// What happened since the last digest, in letters.
    pub new_letters: u64,
    pub succeeded: u64,
    pub failed_again: u64,
    /// Those with groups in them, in the order of [`SectionKind::ALL`].
    pub sections: Vec<DigestSection>,
    /// Groups to which nothing happened that is worth a word. They count in the sums.
    pub unchanged: Vec<DigestGroup>,
}

impl DigestReport {
    /// `groups` are those with open letters or with something that happened in the period, in any order.
    pub fn new(name: String, period: DigestPeriod, groups: Vec<DigestGroup>, options: DigestOptions) -> Self {
        let sum = |of: fn(&DigestGroup) -> u64| total(groups.iter().map(of));
        let mut report = Self {
            name,
            open: sum(|group| group.open),
            open_groups: sum(|group| u64::from(group.open > 0)),
            new_letters: sum(|group| group.new),
            succeeded: sum(|group| group.succeeded),
            failed_again: sum(|group| group.failed_again),
            sections: Vec::new(),
            unchanged: Vec::new(),
            period,
            options,
        };
        let mut sorted: Vec<(Option<SectionKind>, DigestGroup)> =
            groups.into_iter().map(|group| (report.section_of(&group), group)).collect();
        for kind in SectionKind::ALL {
            let of_kind = sorted.extract_if(.., |(section, _)| section.as_ref() == Some(kind));
            let groups: Vec<DigestGroup> = of_kind.map(|(_, group)| group).collect();
            report.sections.extend(DigestSection::new(*kind, groups));
        }
        report.unchanged = sorted.into_iter().map(|(_, group)| group).collect();
        report
    }

    pub fn is_first(&self) -> bool {
        self.period.from.is_none()
    }

    /// Nothing happened, and nothing waits for too long.
    pub fn is_quiet(&self) -> bool {
        self.sections.is_empty()
    }

    pub fn is_worth_sending(&self) -> bool {
        !self.is_quiet() || self.options.all_quiet
    }

    /// The first that applies, so that each group stands in one section only.
    fn section_of(&self, group: &DigestGroup) -> Option<SectionKind> {
        let is_old = |since: Timestamp| self.period.until.since(since) > self.options.stuck_after;
        if group.open == 0 {
            Some(SectionKind::Succeeded)
        } else if self.is_first() || group.is_new {
            Some(SectionKind::New)
        } else if group.new > 0 || group.failed_again > 0 {
            Some(SectionKind::Grew)
        } else if group.oldest_open.is_some_and(is_old) {
            Some(SectionKind::Stuck)
        } else {
            (group.succeeded > 0).then_some(SectionKind::Succeeded)
        }
    }
}

impl DigestSection {
    /// `None` where there are no groups.
    fn new(kind: SectionKind, mut groups: Vec<DigestGroup>) -> Option<Self> {
        if groups.is_empty() {
            return None;
        }
        // Of two of a size the one that matters more, and then any order that is the same every time.
        groups.sort_by_key(|group| (Reverse(kind.letters(group)), group.importance, group.id));
        let letters = total(groups.iter().map(|group| kind.letters(group)));
        Some(Self { kind, n_groups: groups.len().try_into().unwrap_or(u64::MAX), groups, letters })
    }

    /// How many groups and letters there are beyond the first `shown` groups.
    pub fn beyond(&self, shown: usize) -> (u64, u64) {
        let first = self.groups.get(..shown).unwrap_or(&self.groups);
        let letters = total(first.iter().map(|group| self.kind.letters(group)));
        let n_first = first.len().try_into().unwrap_or(u64::MAX);
        (self.n_groups.saturating_sub(n_first), self.letters.saturating_sub(letters))
    }
}

fn total(figures: impl Iterator<Item = u64>) -> u64 {
    figures.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::{group::GroupId, letter::Importance};
    use amqp_message::death::Reason;

    const HOUR: Duration = Duration::from_secs(60 * 60);

    fn now() -> Timestamp {
        Timestamp::from_seconds(1_000_000_000)
    }

    fn hours_ago(hours: u32) -> Timestamp {
        now().minus(HOUR * hours)
    }

    /// Known for long, with letters open since an hour.
    fn group(n: u128, open: u64) -> DigestGroup {
        DigestGroup {
            id: GroupId::from_uuid(Uuid::from_u128(n)),
            importance: Importance::Normal,
            broker: "main".to_owned(),
            queue: None,
            message_type: None,
            reason: Reason::Rejected,
            error: String::new(),
            open,
            new: 0,
            is_new: false,
            first_seen: hours_ago(1_000),
            last_seen: hours_ago(1),
            oldest_open: (open > 0).then(|| hours_ago(1)),
            succeeded: 0,
            failed_again: 0,
            note: None,
        }
    }

    fn report(from: Option<Timestamp>, groups: Vec<DigestGroup>) -> DigestReport {
        let period = DigestPeriod { from, until: now(), label: String::new() };
        DigestReport::new("digest".to_owned(), period, groups, DigestOptions::default())
    }

    fn check(group: DigestGroup, expected: Option<SectionKind>) {
        let report = report(Some(hours_ago(24)), vec![group.clone()]);
        let sections: Vec<_> = report.sections.iter().map(|section| section.kind).collect();
        assert_eq!(
            (sections, report.unchanged.len()),
            (Vec::from_iter(expected), usize::from(expected.is_none())),
            "{group:?}"
        );
    }

    #[test]
    fn each_group_stands_where_it_belongs() {
        use SectionKind::{Grew, New, Stuck, Succeeded};
        check(DigestGroup { is_new: true, ..group(1, 1) }, Some(New));
        check(DigestGroup { is_new: true, new: 5, succeeded: 4, failed_again: 1, ..group(1, 1) }, Some(New));
        check(DigestGroup { is_new: true, new: 5, ..group(1, 0) }, Some(Succeeded));
        check(DigestGroup { new: 1, succeeded: 9, oldest_open: Some(hours_ago(99)), ..group(1, 3) }, Some(Grew));
        check(DigestGroup { failed_again: 1, ..group(1, 1) }, Some(Grew));
        check(DigestGroup { oldest_open: Some(hours_ago(25)), ..group(1, 1) }, Some(Stuck));
        check(DigestGroup { oldest_open: Some(hours_ago(24)), ..group(1, 1) }, None);
        check(DigestGroup { oldest_open: Some(hours_ago(25)), succeeded: 3, ..group(1, 1) }, Some(Stuck));
        check(DigestGroup { succeeded: 3, ..group(1, 1) }, Some(Succeeded));
        check(group(1, 0), Some(Succeeded));
        check(group(1, 1), None);
    }

    #[test]
    fn everything_open_is_new_in_the_first_digest() {
        let stuck = DigestGroup { oldest_open: Some(hours_ago(99)), ..group(1, 1) };
        let report = report(None, vec![stuck, group(2, 5), DigestGroup { succeeded: 2, ..group(3, 0) }]);
        let sections: Vec<_> = report.sections.iter().map(|section| (section.kind, section.letters)).collect();
        assert_eq!(sections, [(SectionKind::New, 6), (SectionKind::Succeeded, 2)]);
        assert!(report.is_first());
    }

    #[test]
    fn the_biggest_come_first_and_of_two_of_a_size_the_weightier() {
        let old = |n, open| DigestGroup { oldest_open: Some(hours_ago(99)), ..group(n, open) };
        let critical = DigestGroup { importance: Importance::Critical, ..old(3, 2) };
        let report = report(Some(hours_ago(24)), vec![old(5, 2), old(1, 1), critical, old(4, 2), old(2, 9)]);
        let order: Vec<_> = report.sections[0].groups.iter().map(|group| group.id.as_uuid().as_u128()).collect();
        assert_eq!(order, [2, 3, 4, 5, 1]);
        assert_eq!((report.sections[0].beyond(2), report.sections[0].beyond(9)), ((3, 5), (0, 0)));
    }

    #[test]
    fn sums_are_those_of_all_groups_and_never_overflow() {
        let all = DigestGroup { new: 1, succeeded: 2, failed_again: 3, ..group(1, 4) };
        let found = report(Some(hours_ago(24)), vec![all.clone(), all, group(2, 7), group(3, 0)]);
        let sums = [found.open, found.open_groups, found.new_letters, found.succeeded, found.failed_again];
        assert_eq!(sums, [15, 3, 2, 4, 6]);
        assert_eq!(report(None, vec![group(1, u64::MAX), group(2, 1)]).open, u64::MAX);
    }

    #[test]
    fn a_quiet_one_is_sent_where_it_is_wanted() {
        let quiet = report(Some(hours_ago(24)), vec![group(1, 1)]);
        assert!(quiet.is_quiet() && quiet.is_worth_sending());
        let unwanted = DigestReport { options: DigestOptions { all_quiet: false, ..quiet.options }, ..quiet };
        assert!(!unwanted.is_worth_sending());
        let loud = report(None, vec![group(1, 1)]);
        assert!(DigestReport { options: unwanted.options, ..loud }.is_worth_sending());
    }
}

//! A digest as it is kept, to be read again as it was.

use amqp_message::time::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    group::DigestGroup,
    report::{DigestOptions, DigestPeriod, DigestReport, DigestSection},
};
use crate::domain::group::GroupId;

/// Groups of each section that are kept; the figures are those of all.
const MOST_GROUPS: usize = 50;

#[derive(Deserialize, Serialize)]
struct KeptReport {
    name: String,
    from: Option<i64>,
    until: i64,
    label: String,
    /// In seconds.
    stuck_after: u64,
    all_quiet: bool,
    open: u64,
    open_groups: u64,
    new: u64,
    succeeded: u64,
    failed_again: u64,
    sections: Vec<KeptSection>,
}

#[derive(Deserialize, Serialize)]
struct KeptSection {
    kind: String,
    groups: Vec<KeptGroup>,
    n_groups: u64,
    letters: u64,
}

#[derive(Deserialize, Serialize)]
struct KeptGroup {
    id: Uuid,
    importance: String,
    broker: String,
    queue: Option<String>,
    message_type: Option<String>,
    reason: String,
    error: String,
    open: u64,
    new: u64,
    is_new: bool,
    first_seen: i64,
    last_seen: i64,
    oldest_open: Option<i64>,
    succeeded: u64,
    failed_again: u64,
    note: Option<String>,
}

impl DigestReport {
    /// As JSON, for [`DigestReport::read`]. Of each section only the biggest groups are in it, and none of those to which
    /// nothing happened.
    pub fn write(&self) -> String {
        let kept = KeptReport {
            name: self.name.clone(),
            from: self.period.from.map(Timestamp::as_micros),
            until: self.period.until.as_micros(),
            label: self.period.label.clone(),
            stuck_after: self.options.stuck_after.as_secs(),
            all_quiet: self.options.all_quiet,
            open: self.open,
            open_groups: self.open_groups,
            new: self.new_letters,
            succeeded: self.succeeded,
            failed_again: self.failed_again,
            sections: self.sections.iter().map(KeptSection::of).collect(),
        };
        serde_json::json!(kept).to_string()
    }

    /// # Errors
    /// Says why it cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        let kept: KeptReport = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let (from, until) = (kept.from.map(Timestamp::from_micros), Timestamp::from_micros(kept.until));
        let stuck_after = std::time::Duration::from_secs(kept.stuck_after);
        Ok(Self {
            name: kept.name,
            period: DigestPeriod { from, until, label: kept.label },
            options: DigestOptions { stuck_after, all_quiet: kept.all_quiet },
            open: kept.open,
            open_groups: kept.open_groups,
            new_letters: kept.new,
            succeeded: kept.succeeded,
            failed_again: kept.failed_again,
            sections: kept.sections.into_iter().map(KeptSection::read).collect::<Result<_, _>>()?,
            unchanged: Vec::new(),
        })
    }
}

impl KeptSection {
    fn of(section: &DigestSection) -> Self {
        Self {
            kind: section.kind.as_str().to_owned(),
            groups: section.groups.iter().take(MOST_GROUPS).map(KeptGroup::of).collect(),
            n_groups: section.n_groups,
            letters: section.letters,
        }
    }

    fn read(self) -> Result<DigestSection, String> {
        Ok(DigestSection {
            kind: self.kind.parse()?,
            groups: self.groups.into_iter().map(KeptGroup::read).collect::<Result<_, _>>()?,
            n_groups: self.n_groups,
            letters: self.letters,
        })
    }
}

impl KeptGroup {
    fn of(group: &DigestGroup) -> Self {
        let group = group.clone();
        Self {
            id: group.id.as_uuid(),
            importance: group.importance.as_str().to_owned(),
            broker: group.broker,
            queue: group.queue,
            message_type: group.message_type,
            reason: group.reason.as_str().to_owned(),
            error: group.error,
            open: group.open,
            new: group.new,
            is_new: group.is_new,
            first_seen: group.first_seen.as_micros(),
            last_seen: group.last_seen.as_micros(),
            oldest_open: group.oldest_open.map(Timestamp::as_micros),
            succeeded: group.succeeded,
            failed_again: group.failed_again,
            note: group.note,
        }
    }

    fn read(self) -> Result<DigestGroup, String> {
        Ok(DigestGroup {
            id: GroupId::from_uuid(self.id),
            importance: self.importance.parse()?,
            broker: self.broker,
            queue: self.queue,
            message_type: self.message_type,
            reason: self.reason.parse()?,
            error: self.error,
            open: self.open,
            new: self.new,
            is_new: self.is_new,
            first_seen: Timestamp::from_micros(self.first_seen),
            last_seen: Timestamp::from_micros(self.last_seen),
            oldest_open: self.oldest_open.map(Timestamp::from_micros),
            succeeded: self.succeeded,
            failed_again: self.failed_again,
            note: self.note,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::letter::Importance;
    use amqp_message::death::Reason;

    fn report(groups: u128) -> DigestReport {
        let until = Timestamp::from_seconds(1_000_000);
        let group = |n: u128| DigestGroup {
            id: GroupId::from_uuid(Uuid::from_u128(n)),
            importance: Importance::High,
            broker: "main".to_owned(),
            queue: Some("orders".to_owned()),
            message_type: None,
            reason: Reason::Expired,
            error: "\u{0}\u{202e}\"".to_owned(),
            open: 2,
            new: 1,
            is_new: false,
            first_seen: until,
            last_seen: until,
            oldest_open: Some(until),
            succeeded: 3,
            failed_again: 4,
            note: Some("known".to_owned()),
        };
        let period = DigestPeriod { from: Some(until), until, label: "today".to_owned() };
        DigestReport::new("Digest".to_owned(), period, (1..=groups).map(group).collect(), DigestOptions::default())
    }

    #[test]
    fn what_is_kept_is_read_as_it_was() {
        assert_eq!(DigestReport::read(&report(3).write()), Ok(report(3)));
        assert_eq!(DigestReport::read(&report(0).write()), Ok(report(0)));
        assert!(DigestReport::read("{}").is_err());
    }

    #[test]
    fn of_a_big_one_the_figures_stay() {
        let kept = DigestReport::read(&report(3_000).write()).unwrap();
        assert_eq!((kept.open, kept.open_groups, kept.sections[0].groups.len()), (6_000, 3_000, 50));
        assert_eq!(kept.sections[0].beyond(10), report(3_000).sections[0].beyond(10));
        assert_eq!(kept.sections[0].size(), "3,000 groups, 3,000 dead letters");
        assert!(report(100_000).write().len() < 100_000);
    }
}

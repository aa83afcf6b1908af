//! The search for the times a schedule names, on a clock that is put forward and back.

use jiff::{SignedDuration, Timestamp, civil::DateTime, tz::Offset};

use super::Schedule;

/// Longer than any clock was ever put back.
const LONGEST_FOLD: SignedDuration = SignedDuration::from_hours(25);

/// A schedule of times of the day. Each of them has one instant ([`Zone::first`](super::Zone)), and a later time of the
/// day never has an earlier instant, so it is enough to walk along the clock's face.
impl Schedule {
    pub(super) fn next_of_day(&self, at: Timestamp) -> Option<Timestamp> {
        let mut slot = self.zone.offset(at).to_datetime(at);
        loop {
            slot = self.cron.find_next_occurrence(&slot, false).ok()?;
            let instant = self.zone.first(slot)?;
            if instant > at {
                return Some(instant);
            }
        }
    }

    pub(super) fn last_of_day(&self, at: Timestamp) -> Option<Timestamp> {
        // In the second half of a repeated hour the clock has shown later times already than the one it shows now.
        let before = at.checked_sub(LONGEST_FOLD).unwrap_or(Timestamp::MIN);
        let furthest = self.zone.offset(at).max(self.zone.offset(before));
        let mut slot = self.cron.find_previous_occurrence(&furthest.to_datetime(at), true).ok()?;
        loop {
            let instant = self.zone.first(slot)?;
            if instant <= at {
                return Some(instant);
            }
            slot = self.cron.find_previous_occurrence(&slot, false).ok()?;
        }
    }
}

/// A schedule that runs by elapsed time: between two changes of the clock it is cron without a zone, so the search goes
/// from one stretch of time with the same offset to the next.
impl Schedule {
    pub(super) fn next_elapsed(&self, at: Timestamp) -> Option<Timestamp> {
        let (mut from, mut inclusive) = (at, false);
        loop {
            let offset = self.zone.offset(from);
            let found = self.cron.find_next_occurrence(&offset.to_datetime(from), inclusive);
            let found = found.ok().and_then(|slot| instant(slot, offset));
            match self.zone.next_change(from) {
                Some(change) if found.is_none_or(|found| found >= change) => (from, inclusive) = (change, true),
                _ => return found,
            }
        }
    }

    pub(super) fn last_elapsed(&self, at: Timestamp) -> Option<Timestamp> {
        let mut until = at;
        loop {
            let offset = self.zone.offset(until);
            let found = self.cron.find_previous_occurrence(&offset.to_datetime(until), true);
            let found = found.ok().and_then(|slot| instant(slot, offset));
            match self.zone.last_change(until) {
                // Times are whole seconds, so what came before a change came a second before it at the latest.
                Some(change) if found.is_none_or(|found| found < change) => {
                    until = change.checked_sub(SignedDuration::from_secs(1)).ok()?;
                }
                _ => return found,
            }
        }
    }
}

fn instant(slot: DateTime, offset: Offset) -> Option<Timestamp> {
    offset.to_timestamp(slot).ok()
}

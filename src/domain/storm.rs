//! When many groups are one incident, so that a storm of groups is not a storm of pages.

use std::time::Duration;

use amqp_message::time::Timestamp;

/// What begins within so long belongs together.
pub const WITHIN: Duration = Duration::from_secs(60);
/// A group whose latest letter is older was there before anybody looked.
const WAITED: Duration = Duration::from_secs(10 * 60);

/// Groups that are one incident.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Storm {
    /// The keys of those that are open.
    pub groups: Vec<String>,
    /// How many there were in all.
    pub joined: u64,
    /// How many of them users were notified of.
    pub told: u64,
    /// When the last of them joined.
    pub joined_at: Timestamp,
}

impl Storm {
    /// Whether what begins now belongs to it.
    pub fn gathers(&self, now: Timestamp) -> bool {
        now.since(self.joined_at) < WITHIN
    }

    /// Whether users are to be notified again, last notified at `told_at`: of more groups, once a minute at most.
    pub fn has_grown(&self, told_at: Timestamp, now: Timestamp) -> bool {
        self.joined > self.told && now.since(told_at) >= WITHIN
    }
}

/// What goes on when groups are found that concern people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Groups that may be incidents of their own within [`WITHIN`]; 0: any number.
    pub at_most: usize,
    /// Groups that became incidents of their own within [`WITHIN`].
    pub alone: usize,
    /// Whether a storm gathers.
    pub gathers: bool,
    pub now: Timestamp,
}

impl Surroundings {
    /// Which of the new groups, by the time of their latest letter, are one incident together.
    pub fn together(&self, latest: &[Timestamp]) -> Vec<bool> {
        if self.at_most == 0 {
            return vec![false; latest.len()];
        }
        let is_storm = self.gathers || self.alone + latest.len() > self.at_most;
        let waited = |at: &Timestamp| self.now.since(*at) >= WAITED;
        let is_backlog = latest.iter().filter(|at| waited(at)).count() > 1;
        latest.iter().map(|at| is_storm || is_backlog && waited(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_micros(1_764_000_000_000_000);

    fn ago(seconds: u64) -> Timestamp {
        NOON.minus(Duration::from_secs(seconds))
    }

    /// How many of the groups with those ages are together.
    fn together(alone: usize, gathers: bool, ages: &[u64]) -> usize {
        let latest: Vec<_> = ages.iter().map(|age| ago(*age)).collect();
        let together = Surroundings { at_most: 10, alone, gathers, now: NOON }.together(&latest);
        assert_eq!(together.len(), ages.len());
        together.into_iter().filter(|is| *is).count()
    }

    #[test]
    fn a_few_are_each_for_themselves_and_more_are_a_storm() {
        assert_eq!(together(0, false, &[1; 10]), 0);
        assert_eq!(together(0, false, &[1; 11]), 11);
        assert_eq!(together(9, false, &[1]), 0);
        assert_eq!(together(10, false, &[1]), 1);
        assert_eq!(together(0, true, &[1]), 1, "a storm takes all in that comes");
        assert_eq!(together(0, true, &[]), 0);
    }

    #[test]
    fn what_has_waited_is_told_together() {
        assert_eq!(together(0, false, &[1, 599, 600, 9_000]), 2);
        assert_eq!(together(0, false, &[1, 599, 9_000]), 0, "one is no backlog");
    }

    #[test]
    fn without_a_bound_each_is_for_itself() {
        let surroundings = Surroundings { at_most: 0, alone: 500, gathers: true, now: NOON };
        assert_eq!(surroundings.together(&[ago(1), ago(9_000), ago(9_000)]), [false; 3]);
    }

    #[test]
    fn a_storm_gathers_and_is_told_of_again_once_a_minute() {
        let storm = Storm { joined: 12, told: 11, joined_at: ago(59), groups: Vec::new() };
        assert!(storm.gathers(NOON) && !storm.gathers(NOON.plus(Duration::from_secs(1))));
        assert!(storm.has_grown(ago(60), NOON) && !storm.has_grown(ago(59), NOON));
        assert!(!Storm { told: 12, ..storm }.has_grown(ago(900), NOON));
    }
}

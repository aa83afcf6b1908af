//! What has become of every message, and which of them is off.

use std::{collections::BTreeMap, time::Instant};

use dead_letter_office::domain::letter::Status;

use super::plan::Fault;

/// A message that was published.
#[derive(Clone)]
pub struct Published {
    pub body: String,
    pub at: Instant,
    /// Whether the broker has said that it has it.
    pub confirmed: bool,
    /// How often its consumer has to be given it, unless somebody asks for more.
    pub rounds: usize,
}

/// A letter, as the database has it at the end.
pub struct Kept {
    pub status: Status,
    /// Retries of it that somebody has asked for and the broker has confirmed.
    pub retried_by_hand: usize,
    /// Somebody has asked for it to be discarded.
    pub asked: bool,
    /// For whoever reads why a test failed.
    pub history: String,
}

/// Faults at once, and when they were.
#[derive(Clone)]
pub struct Suffered {
    pub faults: Vec<Fault>,
    pub from: Instant,
    pub until: Instant,
}

impl Suffered {
    /// Of two at once one may keep dlo from finishing what the other has interrupted.
    fn may_double(&self) -> bool {
        self.faults.len() > 1 || self.faults.iter().any(|fault| fault.may_double())
    }

    /// A broker that was killed delivers again what was acknowledged, and dlo knows what it has had by its time.
    fn may_be_second_letter(&self) -> bool {
        self.faults.iter().any(|fault| *fault == Fault::KillBroker || fault.is_of_clock())
    }
}

/// Deliveries of one message to its consumer.
#[derive(Default)]
pub struct Deliveries {
    pub count: usize,
    pub is_done: bool,
    pub last: Option<Instant>,
    /// For whoever reads why a test failed: when, and how often it had failed by its headers.
    pub each: Vec<(Instant, u64)>,
}

pub struct Books {
    pub published: Vec<Published>,
    pub letters: BTreeMap<String, Vec<Kept>>,
    pub deliveries: BTreeMap<String, Deliveries>,
    pub suffered: Vec<Suffered>,
    /// Each copy may have a life of its own: whatever waits in the broker is known by no letter.
    pub copies_live: bool,
    /// Deliveries of a message in one such life.
    pub life: usize,
}

/// What a run has cost beyond what was due.
#[derive(Debug, Default)]
pub struct Doubled {
    pub deliveries: usize,
    pub letters: usize,
}

impl Books {
    /// Which messages are neither processed, nor a letter, nor discarded by somebody; and why not.
    pub fn missing(&self) -> Vec<String> {
        self.published
            .iter()
            .filter(|message| message.confirmed)
            .filter_map(|message| self.why_missing(message))
            .collect()
    }

    fn why_missing(&self, Published { body, .. }: &Published) -> Option<String> {
        let letters = self.letters.get(body).map(Vec::as_slice).unwrap_or_default();
        if let Some(status) = letters.iter().find(|letter| letter.status == Status::Discarded && !letter.asked) {
            return Some(format!("{body}: is {}, and nobody has asked for it", status.status.as_str()));
        }
        let is_kept = letters.iter().any(|letter| matches!(letter.status, Status::Open | Status::Discarded));
        let (count, is_done) = self.deliveries.get(body).map_or((0, false), |went| (went.count, went.is_done));
        (!is_kept && !is_done).then(|| {
            let stand: Vec<&str> = letters.iter().map(|letter| letter.status.as_str()).collect();
            format!("{body}: not processed in {count} deliveries, and its letters are {stand:?}")
        })
    }

    /// Which messages went more or less often than is accounted for, or are more letters; and why that is off.
    pub fn unaccounted(&self) -> Vec<String> {
        self.published.iter().filter_map(|message| self.why_unaccounted(message)).collect()
    }

    fn why_unaccounted(&self, message: &Published) -> Option<String> {
        let (body, faults) = (&message.body, self.faults_in_life_of(message));
        // Of two copies that fail at once one uses up a retry of the other.
        let least = if !message.confirmed {
            0
        } else if faults == 0 {
            self.due(message)
        } else {
            1
        };
        // Each fault may have dlo send a message again, and the broker deliver it again.
        let most = self.due(message) + 2 * faults * if self.copies_live { self.life } else { 1 };
        let went = self.deliveries.get(body).map_or(0, |deliveries| deliveries.count);
        if !(least..=most).contains(&went) {
            return Some(format!(
                "{body}: went {went} times, from {least} to {most} are accounted for by {faults} faults; {}",
                self.life_of(message)
            ));
        }
        let kept = self.letters.get(body).map_or(&[][..], Vec::as_slice);
        let letters = kept.len();
        let may_be = 1 + if self.copies_live { 2 * faults } else { self.second_letters_in_life_of(message) };
        (letters > may_be).then(|| {
            let histories: Vec<&str> = kept.iter().map(|letter| &*letter.history).collect();
            format!("{body}: is {letters} letters, {may_be} are accounted for: {histories:?}")
        })
    }

    /// How often it goes when there is no fault.
    fn due(&self, message: &Published) -> usize {
        let letters = self.letters.get(&message.body).into_iter().flatten();
        message.rounds + letters.map(|letter| letter.retried_by_hand).sum::<usize>()
    }

    fn faults_in_life_of(&self, message: &Published) -> usize {
        self.suffered_by(message).filter(|suffered| suffered.may_double()).map(|suffered| suffered.faults.len()).sum()
    }

    fn second_letters_in_life_of(&self, message: &Published) -> usize {
        self.suffered_by(message).filter(|suffered| suffered.may_be_second_letter()).count()
    }

    /// Faults between the publishing of a message and its last delivery.
    fn suffered_by(&self, message: &Published) -> impl Iterator<Item = &Suffered> {
        let (begin, end) = (message.at, self.deliveries.get(&message.body).and_then(|deliveries| deliveries.last));
        self.suffered
            .iter()
            .filter(move |suffered| suffered.until >= begin && end.is_some_and(|end| suffered.from <= end))
    }

    /// What happened, in seconds since it was published.
    fn life_of(&self, message: &Published) -> String {
        let since = |at: Instant| match at.checked_duration_since(message.at) {
            Some(after) => format!("+{:.3}", after.as_secs_f64()),
            None => format!("-{:.3}", message.at.duration_since(at).as_secs_f64()),
        };
        let each = self.deliveries.get(&message.body).map_or(&[][..], |deliveries| &deliveries.each);
        let each: Vec<String> = each.iter().map(|(at, failures)| format!("{} after {failures}", since(*at))).collect();
        let faults =
            self.suffered.iter().map(|one| format!("{:?} {} to {}", one.faults, since(one.from), since(one.until)));
        format!("it went {each:?}, with {:?}", faults.collect::<Vec<_>>())
    }

    pub fn doubled(&self) -> Doubled {
        let mut doubled = Doubled::default();
        for message in &self.published {
            let body = &message.body;
            let went = self.deliveries.get(body).map_or(0, |deliveries| deliveries.count);
            doubled.deliveries += went.saturating_sub(self.due(message));
            doubled.letters += self.letters.get(body).map_or(0, Vec::len).saturating_sub(1);
        }
        doubled
    }
}

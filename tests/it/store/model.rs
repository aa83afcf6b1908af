//! What the database ought to say, worked out the plain way: all letters in memory, every question a walk over them.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use amqp_message::time::Timestamp;
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    domain::{
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        filter::{Cursor, FacetCount, HistogramBar, LetterFilter, Sort},
        group::GroupId,
        letter::{Importance, LetterId, Status},
        lifecycle::{
            LetterState, PendingRetry,
            commands::Decider,
            edits::{self, NewCopy},
        },
    },
    store::{Arrival, Enriched, SLICE},
};

use super::make::NOON;

#[derive(Clone, Debug)]
pub struct ModelLetter {
    pub broker: String,
    pub arrival: Arrival,
    pub status: Status,
    pub importance: Importance,
    pub received_at: Timestamp,
    /// Its retry is being published.
    pub claimed: bool,
    /// The first of the letters that are edits of one another.
    pub family: LetterId,
    pub group: Option<GroupId>,
    /// It has failed elsewhere since, and is in no group until it is enriched.
    pub has_left: bool,
    /// A user has chosen its importance.
    pub by_hand: bool,
    pub is_enriched: bool,
}

impl ModelLetter {
    fn home(&self) -> String {
        let failure = &self.arrival.failure;
        format!("{} {:?} {:?}", self.broker, failure.queue, failure.reason)
    }
}

#[derive(Default)]
pub struct Model {
    pub letters: BTreeMap<LetterId, ModelLetter>,
    /// Where the letters of each group failed.
    homes: BTreeMap<GroupId, String>,
}

impl Model {
    pub fn take_in(&mut self, broker: &str, arrival: &Arrival) {
        let letter = ModelLetter {
            broker: broker.to_owned(),
            arrival: arrival.clone(),
            status: Status::Open,
            importance: arrival.importance,
            received_at: arrival.received_at,
            claimed: false,
            family: arrival.id,
            group: None,
            has_left: false,
            by_hand: false,
            is_enriched: false,
        };
        self.letters.insert(arrival.id, letter);
    }

    pub fn comes_back(&mut self, id: LetterId, arrival: &Arrival) {
        let is_replaced = self.rival(id).is_some();
        let Some(letter) = self.letters.get_mut(&id) else { return };
        let waits = letter.status == Status::Scheduled && !letter.claimed;
        let home = letter.home();
        letter.arrival.failure = arrival.failure.clone();
        letter.has_left |= letter.status != Status::Open && letter.home() != home;
        letter.received_at = arrival.received_at;
        letter.status = match waits {
            _ if is_replaced => Status::Discarded,
            true => Status::Scheduled,
            false => Status::Open,
        };
        letter.claimed = false;
    }

    pub fn edit(&mut self, id: LetterId, copy: LetterId) {
        let Some(original) = self.letters.get_mut(&id) else { return };
        let scheduled = ModelLetter { status: Status::Scheduled, is_enriched: false, ..original.clone() };
        original.status = Status::Discarded;
        self.letters.insert(copy, scheduled);
    }

    /// Another edit of it stands.
    fn rival(&self, id: LetterId) -> Option<LetterId> {
        let family = self.letters.get(&id).map(|letter| letter.family);
        let mut others = self.letters.iter().filter(|(other, letter)| **other != id && Some(letter.family) == family);
        others.find(|(_, letter)| letter.status != Status::Discarded).map(|(other, _)| *other)
    }

    pub fn forget(&mut self, outdated: impl Fn(&ModelLetter) -> bool) {
        let staying: Vec<LetterId> =
            self.letters.values().filter(|letter| !outdated(letter)).map(|letter| letter.family).collect();
        self.letters.retain(|_, letter| staying.contains(&letter.family));
    }

    /// What the machine that decides in the store says of letters that stand as they do here: what is to come of the
    /// command, and how those stand then that it moves.
    pub fn decide(&self, command: &Command, ids: &[LetterId]) -> (CommandReport, Vec<(LetterId, Status, Importance)>) {
        let (by, bodies) = (Actor::local(), RetryLimits::default());
        let mut decider = Decider::new(command, &by, NOON, &bodies);
        let (mut report, mut moved) = (CommandReport::default(), Vec::new());
        let states: Vec<_> = ids.iter().map(|id| (*id, self.state(*id))).collect();
        for (id, state) in &states {
            match state.as_ref().ok_or(Refusal::NotFound).and_then(|state| decider.decide(state)) {
                Ok(decision) => {
                    report.done.push(*id);
                    moved.extend(decision.transition().map(|to| (*id, to.status, to.importance)));
                }
                Err(refusal) => report.refused.push((*id, refusal)),
            }
        }
        (report, moved)
    }

    /// Why the machine would not have it edited.
    pub fn decide_edit(&self, id: LetterId) -> Option<Refusal> {
        let by = Actor::local();
        let copy = NewCopy { id, delay: Duration::ZERO, queue: None, summary: "", by: &by, at: NOON, job: None };
        self.state(id).map_or(Some(Refusal::NotFound), |state| edits::edit(&state, &copy).err())
    }

    fn state(&self, id: LetterId) -> Option<LetterState> {
        let letter = self.letters.get(&id)?;
        let failure = &letter.arrival.failure;
        let retry = PendingRetry {
            due_at: NOON,
            queue: String::new(),
            by: Actor::SYSTEM.to_owned(),
            claimed_until: letter.claimed.then_some(Timestamp::MAX),
            claims: u64::from(letter.claimed),
            job: None,
        };
        Some(LetterState {
            was_recognised: false,
            id,
            broker: letter.broker.clone(),
            queue: failure.queue.clone(),
            reason: failure.reason,
            status: letter.status,
            importance: letter.importance,
            importance_by: if letter.by_hand { LetterState::BY_HAND } else { "default" }.to_owned(),
            type_by_hand: None,
            note: None,
            group: letter.group,
            received_at: letter.received_at,
            enriched_at: letter.is_enriched.then_some(NOON),
            attempts: failure.attempts,
            rounds: failure.rounds,
            danger: None,
            closed_at: matches!(letter.status, Status::Retried | Status::Discarded).then_some(NOON),
            family: Some(letter.family),
            rival: self.rival(id),
            retry: (letter.status == Status::Scheduled).then_some(retry),
        })
    }

    pub fn act(&mut self, command: &Command, ids: &[LetterId]) {
        for id in ids {
            let Some(letter) = self.letters.get_mut(id) else { continue };
            match (command, letter.status) {
                (Command::Retry { .. }, Status::Open | Status::Scheduled) if !letter.claimed => {
                    letter.status = Status::Scheduled;
                }
                (Command::Discard { .. }, Status::Open) => letter.status = Status::Discarded,
                (Command::Discard { .. }, Status::Scheduled) if !letter.claimed => letter.status = Status::Discarded,
                (Command::Reopen, Status::Scheduled | Status::Discarded) if !letter.claimed => {
                    letter.status = Status::Open;
                }
                (Command::SetImportance(importance), _) => (letter.importance, letter.by_hand) = (*importance, true),
                _ => {}
            }
        }
    }

    pub fn enrich(&mut self, enriched: &Enriched) {
        let Some(letter) = self.letters.get_mut(&enriched.letter) else { return };
        let awaits = matches!(letter.status, Status::Open | Status::Scheduled);
        if !letter.by_hand && (awaits || !letter.is_enriched) {
            letter.importance = enriched.importance;
        }
        (letter.group, letter.has_left, letter.is_enriched) = (Some(enriched.group), false, true);
        self.homes.insert(enriched.group, letter.home());
    }

    /// Those whose letters are all where they were when they were enriched.
    pub fn groups(&self) -> Vec<GroupId> {
        let moved: BTreeSet<GroupId> = self
            .letters
            .values()
            .filter_map(|letter| letter.group.filter(|group| self.homes.get(group) != Some(&letter.home())))
            .collect();
        self.homes.keys().filter(|group| !moved.contains(group)).copied().collect()
    }

    pub fn claim(&mut self, id: LetterId) {
        if let Some(letter) = self.letters.get_mut(&id) {
            letter.claimed = true;
        }
    }

    pub fn finish(&mut self, id: LetterId, status: Status) {
        if let Some(letter) = self.letters.get_mut(&id).filter(|letter| letter.claimed) {
            (letter.status, letter.claimed) = (status, false);
        }
    }
}

impl Model {
    /// All letters that a filter lets through, in order.
    pub fn list(&self, filter: &LetterFilter, sort: Sort) -> Vec<Cursor> {
        let mut cursors: Vec<Cursor> = self
            .matching(filter)
            .filter(|(_, letter)| in_time(filter, letter.received_at))
            .map(|(id, letter)| Cursor::at(letter.received_at, id))
            .collect();
        cursors.sort_unstable();
        if sort == Sort::Newest {
            cursors.reverse();
        }
        cursors
    }

    pub fn facets(&self) -> Vec<FacetCount> {
        let mut facets: Vec<FacetCount> = Vec::new();
        for letter in self.letters.values() {
            let facet = FacetCount {
                broker: letter.broker.clone(),
                queue: letter.arrival.failure.queue.clone(),
                reason: letter.arrival.failure.reason,
                status: letter.status,
                importance: letter.importance,
                count: 1,
            };
            match facets.iter_mut().find(|known| FacetCount { count: 1, ..(*known).clone() } == facet) {
                Some(known) => known.count += 1,
                None => facets.push(facet),
            }
        }
        facets
    }

    /// Letters by slices of time; the filter's own times are not looked at.
    pub fn histogram(
        &self,
        filter: &LetterFilter,
        from: Timestamp,
        to: Timestamp,
        width: Duration,
    ) -> Vec<HistogramBar> {
        let starts = std::iter::successors(Some(from.floor_to(width)), |start| Some(start.plus(width)));
        let end = to.plus(SLICE - Duration::from_micros(1)).floor_to(SLICE);
        starts
            .take_while(|start| *start < to)
            .map(|start| HistogramBar { from: start, counts: self.bar(filter, start, start.plus(width).min(end)) })
            .collect()
    }

    fn bar(&self, filter: &LetterFilter, from: Timestamp, to: Timestamp) -> [u64; 4] {
        let mut counts = [0; 4];
        for (_, letter) in self.matching(filter) {
            if (from..to).contains(&letter.received_at) {
                counts[Importance::ALL.iter().position(|importance| *importance == letter.importance).unwrap()] += 1;
            }
        }
        counts
    }

    pub fn oldest_open(&self) -> Vec<(Importance, Timestamp)> {
        let oldest = |importance: &Importance| {
            let open = self.letters.values().filter(|letter| letter.status == Status::Open);
            open.filter(|letter| letter.importance == *importance).map(|letter| letter.received_at).min()
        };
        Importance::ALL.iter().filter_map(|importance| Some((*importance, oldest(importance)?))).collect()
    }

    fn matching(&self, filter: &LetterFilter) -> impl Iterator<Item = (LetterId, &ModelLetter)> {
        let queue_matches = |letter: &ModelLetter| {
            let queue = letter.arrival.failure.queue.as_deref().unwrap_or_default();
            filter.queues.is_empty()
                || filter.queues.exact.iter().any(|name| name == queue)
                || filter.queues.globs.iter().any(|glob| glob_matches(glob, queue))
        };
        self.letters.iter().map(|(id, letter)| (*id, letter)).filter(move |(_, letter)| {
            lets_through(&filter.statuses, &letter.status)
                && lets_through(&filter.importances, &letter.importance)
                && lets_through(&filter.brokers, &letter.broker)
                && lets_through(&filter.reasons, &letter.arrival.failure.reason)
                && (filter.groups.is_empty()
                    || letter.group.is_some_and(|group| !letter.has_left && filter.groups.contains(&group)))
                && queue_matches(letter)
        })
    }
}

fn in_time(filter: &LetterFilter, at: Timestamp) -> bool {
    filter.since.is_none_or(|since| since <= at) && filter.until.is_none_or(|until| at < until)
}

fn lets_through<T: PartialEq>(wanted: &[T], value: &T) -> bool {
    wanted.is_empty() || wanted.contains(value)
}

fn glob_matches(glob: &str, name: &str) -> bool {
    let mut rest = name.chars();
    match glob.chars().next() {
        None => name.is_empty(),
        Some('*') => glob_matches(&glob[1..], name) || (rest.next().is_some() && glob_matches(glob, rest.as_str())),
        Some(wanted) => {
            rest.next().is_some_and(|c| wanted == '?' || wanted == c)
                && glob_matches(&glob[wanted.len_utf8()..], rest.as_str())
        }
    }
}

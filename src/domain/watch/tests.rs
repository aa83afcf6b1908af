//! What is reported over time, first in stories and then at random.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ConcernKind::{Growing, IntakeLags, NoConsumers, RetrierLags, RetriesOverdue, Unreachable};
use amqp_message::{glob::Globs, time::Timestamp};
use arbtest::{
    arbitrary::{Result, Unstructured},
    arbtest,
};

use super::*;
use crate::domain::queue_level::{QueueLevel, QueueState};

const BEGIN: u64 = 1_000_000_000;
const DEAD_LETTERS: &str = "dlo.dead-letters";
const OBITUARIES: &str = "dlo.obituaries";

fn settings() -> Settings {
    let minutes = |n: u64| Duration::from_secs(60 * n);
    Settings {
        interval: Duration::from_secs(30),
        no_consumers_for: minutes(15),
        growing_for: minutes(10),
        lags_for: minutes(5),
        queues: Globs::new(&["texts.*".to_owned(), "dlo.*".to_owned()]),
        dead_letter_queue: DEAD_LETTERS.to_owned(),
        obituary_queue: OBITUARIES.to_owned(),
    }
}

fn level(name: &str, consumers: Option<u64>) -> QueueLevel {
    QueueLevel { name: name.to_owned(), consumers, state: Some(QueueState::Running), ..QueueLevel::default() }
}

/// A broker that is looked at, and what was reported of it, each with the seconds since the beginning.
struct Story {
    settings: Settings,
    watch: BrokerWatch,
    now: u64,
    told: Vec<(u64, Change)>,
}

impl Story {
    fn new() -> Self {
        Self { settings: settings(), watch: BrokerWatch::default(), now: 0, told: Vec::new() }
    }

    fn poll(&mut self, queues: Option<&[QueueLevel]>, overdue: Option<Duration>) {
        let at = Timestamp::from_seconds(BEGIN + self.now);
        let poll = Poll { at, queues, feeds: None, is_consuming: true, overdue };
        let changes = self.watch.observe(&self.settings, &poll);
        self.told.extend(changes.into_iter().map(|change| (self.now, change)));
    }

    /// Looks every half minute for so many minutes.
    fn minutes(&mut self, minutes: u64, queues: Option<&[QueueLevel]>) {
        for _ in 0..minutes * 2 {
            self.poll(queues, Some(Duration::ZERO));
            self.now += 30;
        }
    }

    fn consumers(&mut self, minutes: u64, consumers: Option<u64>) {
        self.minutes(minutes, Some(&[level("texts.persist", consumers)]));
    }

    /// One look that finds so many consumers.
    fn glimpse(&mut self, consumers: Option<u64>) {
        self.poll(Some(&[level("texts.persist", consumers)]), None);
        self.now += 30;
    }

    /// At which minute what was raised (`true`) or cleared.
    fn check(&self, expected: &[(u64, bool, ConcernKind)]) {
        let told: Vec<_> = self
            .told
            .iter()
            .map(|(seconds, change)| (seconds / 60, matches!(change, Change::Raised(_)), change.concern().kind()))
            .collect();
        assert_eq!(told, expected, "{:?}", self.told);
    }
}

#[test]
fn a_queue_that_lost_its_consumers_is_told_once_and_cleared_by_itself() {
    let mut story = Story::new();
    story.consumers(2, Some(3));
    story.consumers(60, Some(0));
    story.consumers(5, Some(1));
    story.check(&[(17, true, NoConsumers), (63, false, NoConsumers)]);
    let (seconds, change) = &story.told[0];
    let concern = change.concern();
    let sentence = concern.sentence(Timestamp::from_seconds(BEGIN + seconds));
    assert_eq!(sentence, "texts.persist has had no consumer for 15 min; it had 3.");
    assert_eq!(*concern, *story.told[1].1.concern());
}

#[test]
fn a_queue_that_never_had_consumers_is_nobodys_concern() {
    let mut story = Story::new();
    story.consumers(120, Some(0));
    story.consumers(120, None);
    story.check(&[]);
    assert_eq!(story.watch.queues, BTreeMap::new());
}

#[test]
fn restarts_of_a_service_are_not_reported() {
    let mut story = Story::new();
    for _ in 0..50 {
        story.consumers(10, Some(3));
        story.glimpse(Some(2));
        story.consumers(3, Some(0));
    }
    story.check(&[]);
}

#[test]
fn a_consumer_that_only_looks_in_is_not_enough() {
    let mut story = Story::new();
    story.consumers(2, Some(1));
    for _ in 0..4 {
        story.consumers(14, Some(0));
        story.glimpse(Some(1));
    }
    let [(seconds, Change::Raised(concern))] = story.told.as_slice() else { panic!("{:?}", story.told) };
    assert_eq!(seconds / 60, 18);
    let sentence = concern.sentence(Timestamp::from_seconds(BEGIN + seconds));
    assert!(sentence.starts_with("texts.persist has been without a consumer for most of 16 min"), "{sentence}");
}

#[test]
fn a_queue_without_consumers_half_of_the_time_is_never_reported() {
    let mut story = Story::new();
    for _ in 0..100 {
        story.consumers(5, Some(1));
        story.consumers(5, Some(0));
    }
    story.check(&[]);
}

#[test]
fn how_many_it_had_is_the_more_of_the_last_two_looks() {
    let mut story = Story::new();
    for consumers in [5, 5, 3, 1] {
        story.glimpse(Some(consumers));
    }
    story.consumers(16, Some(0));
    assert!(matches!(&story.told[..], [(_, Change::Raised(Concern::NoConsumers { had: 3, .. }))]), "{:?}", story.told);
}

#[test]
fn a_deleted_queue_is_over_and_one_declared_anew_begins_anew() {
    let mut story = Story::new();
    story.consumers(1, Some(1));
    story.consumers(20, Some(0));
    story.minutes(2, Some(&[]));
    story.check(&[(16, true, NoConsumers), (21, false, NoConsumers)]);
    story.consumers(60, Some(0));
    story.check(&[(16, true, NoConsumers), (21, false, NoConsumers)]);
    story.consumers(1, Some(1));
    story.consumers(16, Some(0));
    assert_eq!(story.told.len(), 3);
}

#[test]
fn a_queue_that_a_list_lacks_once_is_still_there() {
    let mut story = Story::new();
    story.consumers(1, Some(1));
    for _ in 0..40 {
        story.consumers(1, Some(0));
        story.poll(Some(&[]), None);
        story.now += 30;
    }
    assert_eq!(story.told.len(), 1, "{:?}", story.told);
}

#[test]
fn what_is_not_told_neither_raises_nor_clears() {
    let mut story = Story::new();
    story.consumers(1, Some(1));
    story.consumers(60, None);
    story.check(&[]);
    story.consumers(16, Some(0));
    story.consumers(60, None);
    let down = QueueLevel { state: Some(QueueState::Down), ..level("texts.persist", Some(1)) };
    story.minutes(60, Some(&[down]));
    story.check(&[(76, true, NoConsumers)]);
}

#[test]
fn a_clock_that_jumps_and_a_machine_that_sleeps_raise_nothing() {
    for jump in [86_400, 3_600, 91] {
        let mut story = Story::new();
        let retries = Some(Duration::from_secs(jump));
        for _ in 0..20 {
            story.glimpse(Some(1));
            story.glimpse(Some(0));
            story.poll(Some(&[level("texts.persist", Some(0))]), retries);
            story.now += jump;
        }
        story.check(&[]);
        story.now -= jump * 19;
        story.consumers(4, Some(0));
        story.check(&[]);
    }
}

#[test]
fn a_restart_forgets_nothing_and_tells_nothing_twice() {
    let mut story = Story::new();
    story.consumers(1, Some(1));
    story.consumers(14, Some(0));
    // Some hours later.
    story.now += 7_200;
    story.check(&[]);
    story.consumers(3, Some(0));
    story.check(&[(136, true, NoConsumers)]);
    story.now += 7_200;
    story.consumers(30, Some(0));
    assert_eq!(story.told.len(), 1);
}

#[test]
fn queues_that_are_nobodys_business_are_not_watched() {
    let mut story = Story::new();
    let delay = "dlo.delay.5000.2968.texts.persist";
    let queues = |consumers| {
        [
            level("orders", consumers),
            level(DEAD_LETTERS, consumers),
            level(OBITUARIES, consumers),
            level(delay, consumers),
            level("dlo.due", consumers),
            QueueLevel { exclusive: true, ..level("texts.reply", consumers) },
            QueueLevel { auto_delete: true, ..level("texts.temporary", consumers) },
        ]
    };
    story.minutes(2, Some(&queues(Some(1))));
    story.minutes(60, Some(&queues(Some(0))));
    story.check(&[]);
}

#[test]
fn a_queue_that_is_no_longer_to_be_watched_is_over() {
    let mut story = Story::new();
    story.consumers(1, Some(1));
    story.consumers(20, Some(0));
    story.settings.queues = Globs::new(&["orders".to_owned()]);
    story.consumers(1, Some(0));
    story.check(&[(16, true, NoConsumers), (21, false, NoConsumers)]);
    assert_eq!(story.watch.queues, BTreeMap::new());
}

fn own(name: &str, ready: u64) -> QueueLevel {
    QueueLevel { messages: Some(ready), messages_ready: Some(ready), ..level(name, Some(1)) }
}

#[test]
fn our_own_queues_are_told_when_they_grow_and_when_they_wait() {
    let mut story = Story::new();
    story.minutes(1, Some(&[own(DEAD_LETTERS, 0), own(OBITUARIES, 0)]));
    for n in 1..12 {
        story.minutes(1, Some(&[own(DEAD_LETTERS, 0), own(OBITUARIES, n * 10)]));
    }
    story.minutes(1, Some(&[own(DEAD_LETTERS, 5), own(OBITUARIES, 0)]));
    story.minutes(6, Some(&[own(DEAD_LETTERS, 5), own(OBITUARIES, 0)]));
    story.minutes(1, Some(&[own(DEAD_LETTERS, 0), own(OBITUARIES, 0)]));
    story.check(&[
        (6, true, IntakeLags),
        (10, true, Growing),
        (12, false, Growing),
        (12, false, IntakeLags),
        (17, true, RetrierLags),
        (19, false, RetrierLags),
    ]);
}

#[test]
fn messages_that_wait_while_we_are_not_connected_are_told_elsewhere() {
    let mut story = Story::new();
    for _ in 0..30 {
        let at = Timestamp::from_seconds(BEGIN + story.now);
        let queues = [own(OBITUARIES, 5)];
        let poll = Poll { at, queues: Some(&queues), feeds: None, is_consuming: false, overdue: None };
        assert_eq!(story.watch.observe(&story.settings, &poll), []);
        story.now += 30;
    }
}

#[test]
fn one_queue_for_both_is_reported_once() {
    let mut story = Story::new();
    story.settings.obituary_queue = DEAD_LETTERS.to_owned();
    story.minutes(1, Some(&[own(DEAD_LETTERS, 0)]));
    story.minutes(15, Some(&[own(DEAD_LETTERS, 5)]));
    story.check(&[(6, true, RetrierLags), (10, true, Growing)]);
}

#[test]
fn another_dead_letter_queue_begins_anew() {
    let mut story = Story::new();
    story.minutes(6, Some(&[own(DEAD_LETTERS, 5)]));
    story.settings.dead_letter_queue = "dead".to_owned();
    story.minutes(2, Some(&[own(DEAD_LETTERS, 5), own("dead", 5)]));
    story.check(&[(5, true, RetrierLags), (6, false, RetrierLags)]);
    assert_eq!(story.told[1].1.concern().queue(), Some(DEAD_LETTERS));
}

#[test]
fn overdue_retries_are_told_when_they_stay_so() {
    let mut story = Story::new();
    let mut poll = |overdue: &[u64]| {
        for minutes in overdue {
            story.poll(None, Some(Duration::from_secs(minutes * 60)));
            story.now += 30;
        }
    };
    poll(&[6, 0, 6, 0, 6, 6, 6, 4, 3]);
    poll(&[2]);
    let told: Vec<_> = story.told.into_iter().filter(|told| told.1.concern().kind() == RetriesOverdue).collect();
    let by = |change: &Change| match change.concern() {
        Concern::RetriesOverdue { by, .. } => by.as_secs() / 60,
        other => panic!("{other:?}"),
    };
    assert_eq!(told.iter().map(|(at, change)| (*at, by(change))).collect::<Vec<_>>(), [(180, 6), (270, 2)]);
}

#[test]
fn a_broker_that_does_not_answer_is_told_and_freezes_all_else() {
    let mut story = Story::new();
    story.consumers(1, Some(1));
    story.consumers(14, Some(0));
    story.minutes(60, None);
    story.consumers(3, Some(0));
    story.check(&[(16, true, Unreachable), (75, false, Unreachable), (76, true, NoConsumers)]);
}

#[test]
fn a_steady_queue_has_nothing_to_be_written() {
    let mut story = Story::new();
    story.consumers(1, Some(2));
    let before = story.watch.queues.clone();
    story.consumers(10, Some(2));
    assert_eq!(story.watch.queues, before);
}

#[test]
fn all_that_is_told_and_not_over_can_be_listed() {
    let mut story = Story::new();
    story.minutes(1, Some(&[level("texts.persist", Some(1)), own(OBITUARIES, 0)]));
    story.minutes(20, Some(&[level("texts.persist", Some(0)), own(OBITUARIES, 7)]));
    for _ in 0..5 {
        story.poll(None, Some(Duration::from_secs(3_600)));
        story.now += 30;
    }
    let kinds: BTreeSet<ConcernKind> = story.watch.concerns().map(|concern| concern.kind()).collect();
    assert_eq!(kinds, BTreeSet::from([NoConsumers, Growing, IntakeLags, RetriesOverdue, Unreachable]));
    let by = |concern| if let Concern::RetriesOverdue { by, .. } = concern { Some(by) } else { None };
    assert_eq!(story.watch.concerns().find_map(by), Some(Duration::from_secs(3_600)));
}

const NAMES: [&str; 5] = ["texts.a", "texts.b", "orders", DEAD_LETTERS, OBITUARIES];

struct RandomPoll {
    at: Timestamp,
    queues: Option<Vec<QueueLevel>>,
    is_consuming: bool,
    overdue: Option<Duration>,
}

/// A count that mostly stays as it was.
fn count(u: &mut Unstructured<'_>, last: &mut Option<u64>) -> Result<Option<u64>> {
    if u.ratio(1, 6)? {
        *last = *u.choose(&[None, Some(0), Some(1), Some(3), Some(1_000)])?;
    }
    Ok(*last)
}

fn random_polls(u: &mut Unstructured<'_>) -> Result<Vec<RandomPoll>> {
    let mut at = Timestamp::from_seconds(BEGIN);
    let (mut counts, mut overdue) = ([[None; 2]; NAMES.len()], None);
    let mut polls = Vec::new();
    while !u.is_empty() && polls.len() < 400 {
        at = match u.int_in_range(0..=40)? {
            0 => at.plus(Duration::from_secs(100_000)),
            1 => at.minus(Duration::from_secs(u.int_in_range(1..=5_000)?)),
            2 => at.plus(Duration::from_secs(u.int_in_range(0..=120)?)),
            _ => at.plus(Duration::from_secs(30)),
        };
        let mut queues = Vec::new();
        for (name, [consumers, messages]) in NAMES.iter().zip(&mut counts) {
            let (consumers, messages) = (count(u, consumers)?, count(u, messages)?);
            if !u.ratio(1, 30)? {
                queues.push(QueueLevel { messages, messages_ready: messages, ..level(name, consumers) });
            }
        }
        if u.ratio(1, 12)? {
            overdue = *u.choose(&[None, Some(Duration::ZERO), Some(Duration::from_secs(1_000))])?;
        }
        let queues = if u.ratio(1, 8)? { None } else { Some(queues) };
        polls.push(RandomPoll { at, queues, is_consuming: u.ratio(9, 10)?, overdue });
    }
    Ok(polls)
}

/// Short limits, so that much happens.
fn hasty() -> Settings {
    let minute = Duration::from_secs(60);
    Settings { no_consumers_for: 3 * minute, growing_for: 2 * minute, lags_for: 2 * minute, ..settings() }
}

fn observe(watch: &mut BrokerWatch, poll: &RandomPoll) -> Vec<Change> {
    let queues = poll.queues.as_deref();
    let poll = Poll { at: poll.at, queues, feeds: None, is_consuming: poll.is_consuming, overdue: poll.overdue };
    watch.observe(&hasty(), &poll)
}

#[test]
fn what_is_raised_is_cleared_before_it_is_raised_again() {
    let mut n_raised = BTreeMap::<ConcernKind, usize>::new();
    arbtest(|u| {
        let (mut watch, mut open) = (BrokerWatch::default(), BTreeSet::new());
        for poll in random_polls(u)? {
            for change in observe(&mut watch, &poll) {
                let key = change.concern().key();
                match change {
                    Change::Raised(_) => {
                        *n_raised.entry(key.kind).or_default() += 1;
                        assert!(open.insert(key.clone()), "{key} is raised twice");
                    }
                    Change::Cleared(_) => assert!(open.remove(&key), "{key} is cleared and was not raised"),
                }
            }
            let listed: BTreeSet<ConcernKey> = watch.concerns().map(|concern| concern.key()).collect();
            assert_eq!(listed, open, "what is listed as told and what was told");
        }
        Ok(())
    })
    .size_min(20_000)
    .budget_ms(3_000);
    // Else the polls are too tame to show anything.
    assert_eq!(n_raised.keys().copied().collect::<Vec<_>>(), ConcernKind::ALL, "{n_raised:?}");
}

#[test]
fn nothing_is_told_of_consumers_before_they_were_missed_for_long_enough() {
    arbtest(|u| {
        let mut watch = BrokerWatch::default();
        // Of each queue: when it was last seen without consumers, and for how long that was watched since it was reported.
        let mut missed = BTreeMap::<String, (Option<Timestamp>, Duration)>::new();
        let mut had = BTreeSet::new();
        for poll in random_polls(u)? {
            for level in poll.queues.iter().flatten() {
                let (last, lasted) = missed.entry(level.name.clone()).or_default();
                match level.consumers {
                    Some(0) => {
                        let step =
                            last.filter(|last| *last <= poll.at).map_or(Duration::MAX, |last| poll.at.since(last));
                        *lasted += if step <= Duration::from_secs(90) { step } else { Duration::ZERO };
                        *last = Some(poll.at);
                    }
                    Some(_) => {
                        *last = None;
                        had.insert(level.name.clone());
                    }
                    None => *last = None,
                }
            }
            for change in observe(&mut watch, &poll) {
                let concern = change.concern();
                let (NoConsumers, Some(queue)) = (concern.kind(), concern.queue()) else { continue };
                let Some((_, lasted)) = missed.get_mut(queue) else { panic!("{queue} was never there") };
                if matches!(change, Change::Raised(_)) {
                    assert!(*lasted >= hasty().no_consumers_for, "{queue} was missed for {lasted:?} only");
                    assert!(had.contains(queue) && queue.starts_with("texts."), "{queue} is not to be watched");
                }
                *lasted = Duration::ZERO;
            }
        }
        Ok(())
    })
    .size_min(20_000)
    .budget_ms(3_000);
}

#[test]
fn a_look_at_which_nothing_is_told_changes_nothing_that_is_reported() {
    arbtest(|u| {
        let mut watch = BrokerWatch::default();
        for poll in random_polls(u)? {
            observe(&mut watch, &poll);
        }
        let told: Vec<ConcernKey> = watch.concerns().map(|concern| concern.key()).collect();
        let mut blind: Vec<QueueLevel> = NAMES.iter().map(|name| level(name, None)).collect();
        blind.extend([level("texts.new", None)]);
        let mut at = watch.polled_at.unwrap_or_default();
        for _ in 0..100 {
            at = at.plus(Duration::from_secs(30));
            let poll = Poll { at, queues: Some(&blind), feeds: None, is_consuming: true, overdue: None };
            let changes = watch.observe(&hasty(), &poll);
            assert!(changes.iter().all(|change| change.concern().kind() == Unreachable), "{changes:?}");
        }
        let still: Vec<ConcernKey> = watch
            .concerns()
            .map(|concern| concern.key())
            .chain(told.iter().filter(|key| key.kind == Unreachable).cloned())
            .collect();
        assert_eq!(BTreeSet::from_iter(still), BTreeSet::from_iter(told));
        Ok(())
    })
    .size_min(20_000)
    .budget_ms(2_000);
}

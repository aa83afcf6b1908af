//! What holds whatever is observed.

use std::iter::repeat_with;

use arbtest::{
    arbitrary::{Result, Unstructured},
    arbtest,
};

use fastrand::Rng;

use super::*;

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
    let (at, is_consuming, overdue) = (poll.at, poll.is_consuming, poll.overdue);
    let poll = Poll { begun: at, at, queues, feeds: None, is_consuming, overdue };
    watch.observe(&hasty(), &poll)
}

#[test]
fn what_is_raised_is_cleared_before_it_is_raised_again() {
    let mut n_raised = BTreeMap::<ConcernKind, usize>::new();
    let mut property = |u: &mut Unstructured<'_>| {
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
    };
    // The same each time, however long the search has.
    let mut random = Rng::with_seed(1);
    for _ in 0..20 {
        let bytes: Vec<u8> = repeat_with(|| random.u8(..)).take(20_000).collect();
        property(&mut Unstructured::new(&bytes)).unwrap();
    }
    arbtest(&mut property).size_min(20_000);
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
    .size_min(20_000);
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
            let queues = Some(&blind[..]);
            let poll = Poll { begun: at, at, queues, feeds: None, is_consuming: true, overdue: None };
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
    .size_min(20_000);
}

//! Queues of dlo itself, overdue retries, and a broker that does not answer.

use super::*;

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
        let poll = Poll { begun: at, at, queues: Some(&queues), feeds: None, is_consuming: false, overdue: None };
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

//! Queues of services, and whether anybody consumes them.

use super::*;

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

/// As where there are very many queues.
#[test]
fn looks_that_take_longer_than_the_interval_watch_all_the_time() {
    let mut story = Story { looking: 25, ..Story::new() };
    story.settings.interval = Duration::from_secs(10);
    story.poll(Some(&[level("texts.persist", Some(1))]), None);
    for _ in 0..27 {
        story.now += 35;
        story.poll(Some(&[level("texts.persist", Some(0))]), None);
    }
    story.check(&[(15, true, NoConsumers)]);
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

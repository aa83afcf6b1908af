//! Counting, the histogram, the oldest: answered from what is kept.

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};
use dead_letter_office::{
    domain::{
        command::Command,
        filter::{FacetCount, LetterFilter, Names},
        letter::{Importance, Status},
    },
    store::{Recorded, SLICE},
};

use super::{
    database::{DISCARD, TestDatabase, record},
    make::{Make, NOON, an_arrival, later},
};

const MICRO: Duration = Duration::from_micros(1);

fn everything() -> LetterFilter {
    LetterFilter::default()
}

async fn count(database: &TestDatabase, since: Option<Timestamp>, until: Option<Timestamp>) -> u64 {
    database.count(&LetterFilter { since, until, ..everything() }).await.unwrap()
}

async fn facets_are_what_letters_are_counted_by(database: &TestDatabase) {
    let arrivals = [an_arrival(), an_arrival(), an_arrival().of_unknown_queue().reason(Reason::Unknown)];
    database.take_in(arrivals).await;
    let facet = |queue: Option<&str>, reason, count| FacetCount {
        broker: "main".to_owned(),
        queue: queue.map(str::to_owned),
        reason,
        status: Status::Open,
        importance: Importance::Normal,
        count,
    };
    let mut facets = database.facets().await.unwrap();
    facets.sort_by_key(|facet| facet.count);
    assert_eq!(facets, [facet(None, Reason::Unknown, 1), facet(Some("orders"), Reason::Rejected, 2)]);
}

async fn a_facet_without_letters_is_left_out(database: &TestDatabase) {
    database.letter_in(Status::Discarded).await;
    let facets = database.facets().await.unwrap();
    assert_eq!(facets.iter().map(|facet| (facet.status, facet.count)).collect::<Vec<_>>(), [(Status::Discarded, 1)]);
}

async fn counts_exactly_between_any_two_moments(database: &TestDatabase) {
    let edge = NOON.plus(SLICE);
    let moments = [NOON, edge.minus(MICRO), edge, edge.plus(MICRO), edge.plus(SLICE), edge.plus(SLICE * 3)];
    database.take_in(moments.map(|at| an_arrival().received(at))).await;
    for since in moments {
        for until in moments {
            let expected = moments.iter().filter(|at| (since..until).contains(*at)).count() as u64;
            assert_eq!(count(database, Some(since), Some(until)).await, expected, "{since:?} {until:?}");
        }
        let expected = moments.iter().filter(|at| **at >= since).count() as u64;
        assert_eq!(count(database, Some(since), None).await, expected);
        assert_eq!(count(database, None, Some(since)).await, 6 - expected);
    }
}

async fn counts_to_the_ends_of_time(database: &TestDatabase) {
    database.take_in_new(an_arrival()).await;
    let (first, last) = (Timestamp::from_micros(i64::MIN), Timestamp::MAX);
    assert_eq!(count(database, Some(first), Some(last)).await, 1);
    assert_eq!(count(database, Some(last), Some(first)).await, 0);
}

async fn bars_are_whole_slices_from_the_one_of_the_beginning(database: &TestDatabase) {
    let times = [0, 299, 300, 899, 900];
    database.take_in(times.map(|seconds| an_arrival().received(later(seconds)))).await;
    let bars = database.histogram(&everything(), later(10), later(700), SLICE).await.unwrap();
    let bars: Vec<_> = bars.iter().map(|bar| (bar.from, bar.counts[2])).collect();
    assert_eq!(bars, [(NOON, 2), (later(300), 1), (later(600), 1)]);
}

async fn bars_are_as_wide_as_asked_in_whole_slices(database: &TestDatabase) {
    database.take_in([0, 300, 600].map(|seconds| an_arrival().received(later(seconds)))).await;
    for (asked, expected) in [(600, vec![2, 1]), (301, vec![2, 1]), (1, vec![1, 1, 1]), (0, vec![1, 1, 1])] {
        let width = Duration::from_secs(asked);
        let bars = database.histogram(&everything(), NOON, later(601), width).await.unwrap();
        assert_eq!(bars.iter().map(|bar| bar.counts[2]).collect::<Vec<_>>(), expected, "{asked} s");
    }
}

async fn bars_tell_importances_apart_and_heed_the_filter(database: &TestDatabase) {
    let ids = database.take_in([(); 3].map(|()| an_arrival())).await.map(|recorded| recorded.letter());
    database.does(&Command::SetImportance(Importance::Critical), &ids[..1]).await;
    database.does(&DISCARD, &ids[2..]).await;
    let counts = async |statuses| {
        let filter = LetterFilter { statuses, ..everything() };
        database.histogram(&filter, NOON, later(1), SLICE).await.unwrap()[0].counts
    };
    assert_eq!(counts(vec![]).await, [1, 0, 2, 0]);
    assert_eq!(counts(vec![Status::Open]).await, [1, 0, 1, 0]);
    assert_eq!(counts(vec![Status::Retried]).await, [0; 4]);
}

async fn there_are_bars_without_letters_and_none_without_time(database: &TestDatabase) {
    let bars = database.histogram(&everything(), NOON, later(301), SLICE).await.unwrap();
    assert_eq!(bars.iter().map(|bar| bar.counts).collect::<Vec<_>>(), [[0; 4]; 2]);
    assert_eq!(database.histogram(&everything(), NOON, NOON, SLICE).await.unwrap(), []);
}

async fn the_oldest_open_letter_of_each_importance(database: &TestDatabase) {
    assert_eq!(database.oldest_open().await.unwrap(), []);
    let low = an_arrival().importance(Importance::Low);
    let arrivals = [an_arrival().received(later(1)), an_arrival().queue("b"), low.twin().received(later(9)), low];
    let [_, _, _, discarded] = database.take_in(arrivals).await.map(|recorded| recorded.letter());
    database.does(&DISCARD, &[discarded]).await;
    let expected = [(Importance::Normal, NOON), (Importance::Low, later(9))];
    assert_eq!(database.oldest_open().await.unwrap(), expected);
}

/// They are looked for among the oldest letters first, and by queue where they are not there.
async fn the_oldest_of_many_queues(database: &TestDatabase) {
    let low = an_arrival().importance(Importance::Low).received(later(700));
    let queues = (0..120).map(|n| an_arrival().queue(&format!("q{n}")).received(later(n)));
    let busy = (0..520).map(|_| an_arrival().queue("busy").received(later(200)));
    let arrivals: Vec<_> = queues.chain(busy).chain([low]).collect();
    let ids: Vec<_> = record(database, "main", &arrivals).await.into_iter().map(Recorded::letter).collect();
    let expected = [(Importance::Normal, NOON), (Importance::Low, later(700))];
    assert_eq!(database.oldest_open().await.unwrap(), expected);
    database.does(&DISCARD, &ids[..2]).await;
    assert_eq!(database.oldest_open().await.unwrap()[0], (Importance::Normal, later(2)));
}

/// Those of a queue, which are added up from its days, are what those of all are, of which there are none by queue.
async fn bars_are_the_same_however_they_are_added_up(database: &TestDatabase) {
    let hour = SLICE * 12;
    let arrivals: Vec<_> =
        (0..60).map(|n| an_arrival().received(NOON.plus(hour * (n * 7 % 100)).plus(SLICE * n))).collect();
    record(database, "main", &arrivals).await;
    let of_queue = LetterFilter { queues: Names::exact(["orders"]), ..everything() };
    let (from, to) = (NOON.plus(hour * 5), NOON.plus(hour * 97).plus(SLICE * 3));
    let narrow = database.histogram(&everything(), from.floor_to(hour * 24), to.plus(hour * 24), SLICE).await.unwrap();
    for hours in [1, 2, 3, 5, 6, 12, 24, 36, 48] {
        let bars = database.histogram(&of_queue, from, to, hour * hours).await.unwrap();
        assert!(bars.iter().map(|bar| bar.counts[2]).sum::<u64>() > 40, "{hours}");
        for bar in bars {
            let end = bar.from.plus(hour * hours).min(to);
            let within = narrow.iter().filter(|slice| slice.from >= bar.from && slice.from < end);
            assert_eq!(
                bar.counts[2],
                within.map(|slice| slice.counts[2]).sum::<u64>(),
                "{hours} h from {:?}",
                bar.from
            );
        }
    }
}

on_both!(
    facets_are_what_letters_are_counted_by,
    a_facet_without_letters_is_left_out,
    counts_exactly_between_any_two_moments,
    counts_to_the_ends_of_time,
    bars_are_whole_slices_from_the_one_of_the_beginning,
    bars_are_as_wide_as_asked_in_whole_slices,
    bars_tell_importances_apart_and_heed_the_filter,
    there_are_bars_without_letters_and_none_without_time,
    the_oldest_open_letter_of_each_importance,
    the_oldest_of_many_queues,
    bars_are_the_same_however_they_are_added_up,
);

//! What RabbitMQ delivers again because it has not seen the acknowledgement is not a second letter.

use std::sync::atomic::{AtomicBool, Ordering};

use dead_letter_office::{
    domain::{history::Event, letter::Status},
    store::{AckState, Arrival, IntakeBatch, Recorded},
};
use uuid::Uuid;

use super::{
    concurrency::waiting,
    database::{TestDatabase, batch, record},
    make::{Make, NOON, an_arrival, id, later},
};

/// Takes one arrival in by a connection that is new.
async fn take_in_first(database: &TestDatabase, arrival: &Arrival) -> Recorded {
    let arrivals = [arrival.clone()];
    database.record(&IntakeBatch { is_first: true, ..batch("main", &arrivals) }).await.unwrap()[0]
}

/// Takes one arrival in as a batch; the answer names the batch.
async fn take_in_batch(database: &TestDatabase, arrival: &Arrival, settled: AckState<'_>) -> (Uuid, Recorded) {
    let arrivals = [arrival.clone()];
    let batch = IntakeBatch { settled, ..batch("main", &arrivals) };
    let recorded = database.record(&batch).await.unwrap();
    (batch.id, recorded[0])
}

async fn a_redelivered_message_is_the_letter_we_have(database: &TestDatabase) {
    let arrival = an_arrival();
    let id = database.take_in_new(arrival.clone()).await;
    assert_eq!(database.take_in([arrival.again()]).await, [Recorded::Redelivered(id)]);
    assert_eq!(database.total().await, 1);
    assert_eq!(database.events(id).await[0].0, Event::Redelivered);
}

/// RabbitMQ 4 marks dead letters as redelivered that are delivered for the first time.
async fn nothing_comes_twice_by_one_connection(database: &TestDatabase) {
    let session = id();
    let arrival = an_arrival().again();
    for n in 1..=3 {
        let arrivals = [arrival.twin()];
        database.record(&IntakeBatch { session, ..batch("main", &arrivals) }).await.unwrap();
        assert_eq!(database.total().await, n);
    }
}

async fn each_delivery_is_known_once(database: &TestDatabase) {
    let arrival = an_arrival();
    let id = database.take_in_new(arrival.clone()).await;
    let again = [arrival.again(), arrival.again()];
    assert_eq!(database.take_in(again.clone()).await, [Recorded::Redelivered(id), Recorded::New(again[1].id)]);
}

async fn a_redelivery_can_be_redelivered(database: &TestDatabase) {
    let arrival = an_arrival();
    let id = database.take_in_new(arrival.clone()).await;
    for _ in 0..3 {
        assert_eq!(database.take_in([arrival.again()]).await, [Recorded::Redelivered(id)]);
    }
}

async fn an_equal_message_that_is_not_redelivered_is_new(database: &TestDatabase) {
    let arrival = an_arrival();
    database.take_in_new(arrival.clone()).await;
    database.take_in_new(arrival.twin()).await;
    assert_eq!(database.total().await, 2);
}

async fn a_redelivered_message_we_never_stored_is_new(database: &TestDatabase) {
    database.take_in_new(an_arrival()).await;
    database.take_in_new(an_arrival().again()).await;
}

async fn equal_twins_without_a_message_id_are_both_kept(database: &TestDatabase) {
    let arrival = an_arrival();
    database.take_in([arrival.clone(), arrival.twin()]).await;
    let again = [arrival.again(), arrival.again()];
    assert_eq!(database.take_in(again.clone()).await, again.map(|again| Recorded::New(again.id)));
}

async fn equal_twins_of_two_batches_are_both_kept_too(database: &TestDatabase) {
    let arrival = an_arrival();
    database.take_in_new(arrival.clone()).await;
    database.take_in_new(arrival.twin()).await;
    database.take_in_new(arrival.again()).await;
}

async fn twins_with_a_message_id_are_each_known_once(database: &TestDatabase) {
    let arrival = an_arrival().message_id("1");
    let twin = arrival.twin();
    database.take_in([arrival.clone(), twin.clone()]).await;
    let again = [arrival.again(), arrival.again(), arrival.again()];
    let recorded = database.take_in(again.clone()).await;
    let mut known = [recorded[0].letter(), recorded[1].letter()];
    known.sort();
    assert_eq!(known, [arrival.id, twin.id]);
    assert_eq!(recorded[2], Recorded::New(again[2].id));
}

async fn a_settled_batch_is_forgotten(database: &TestDatabase) {
    let arrival = an_arrival().message_id("1");
    let (settled, _) = take_in_batch(database, &arrival, AckState::default()).await;
    database.settle(AckState { expired: &[settled], ..AckState::default() }).await.unwrap();
    database.take_in_new(arrival.again()).await;
}

async fn an_acknowledgement_the_broker_saw_and_forgot_makes_no_second_letter(database: &TestDatabase) {
    let arrival = an_arrival().message_id("1");
    let (settled, _) = take_in_batch(database, &arrival, AckState::default()).await;
    database.settle(AckState { confirmed: &[settled], ..AckState::default() }).await.unwrap();
    assert_eq!(database.take_in([arrival.again()]).await, [Recorded::Redelivered(arrival.id)]);
}

async fn what_nothing_names_is_kept_once_the_acknowledgement_was_seen(database: &TestDatabase) {
    let arrival = an_arrival();
    let (settled, _) = take_in_batch(database, &arrival, AckState::default()).await;
    let again = arrival.again();
    let confirmed = AckState { confirmed: &[settled], ..AckState::default() };
    assert_eq!(take_in_batch(database, &again, confirmed).await.1, Recorded::New(again.id));
}

async fn a_batch_settles_earlier_ones_before_it_looks(database: &TestDatabase) {
    let arrival = an_arrival().message_id("1");
    let (settled, _) = take_in_batch(database, &arrival, AckState::default()).await;
    let again = arrival.again();
    let over = AckState { expired: &[settled], ..AckState::default() };
    assert_eq!(take_in_batch(database, &again, over).await.1, Recorded::New(again.id));
    assert_eq!(database.number("SELECT count(*) FROM pending_acks").await, 1);
}

async fn settling_nothing_or_the_unknown_is_no_trouble(database: &TestDatabase) {
    database.settle(AckState::default()).await.unwrap();
    database.settle(AckState { confirmed: &[id()], expired: &[id()] }).await.unwrap();
}

async fn what_a_dead_process_left_is_forgotten_by_age(database: &TestDatabase) {
    let arrival = an_arrival();
    let id = database.take_in_new(arrival.clone()).await;
    database.forget_pending_acks(NOON, later(1)).await.unwrap();
    assert_eq!(database.take_in([arrival.again()]).await, [Recorded::Redelivered(id)]);
    database.forget_pending_acks(later(1), NOON).await.unwrap();
    database.take_in_new(arrival.again()).await;
}

/// Whatever the next session does: its batches read what the one before has left.
async fn what_the_broker_has_seen_acknowledged_is_forgotten_sooner(database: &TestDatabase) {
    let arrival = an_arrival();
    let (settled, _) = take_in_batch(database, &arrival, AckState::default()).await;
    database.settle(AckState { confirmed: &[settled], ..AckState::default() }).await.unwrap();
    database.forget_pending_acks(NOON, NOON).await.unwrap();
    assert_eq!(database.number("SELECT count(*) FROM pending_acks").await, 1);
    database.forget_pending_acks(NOON, later(1)).await.unwrap();
    assert_eq!(database.number("SELECT count(*) FROM pending_acks").await, 0);
}

async fn another_queue_or_broker_delivers_another_message(database: &TestDatabase) {
    let arrival = an_arrival();
    database.take_in_new(arrival.clone()).await;
    let again = [arrival.again()];
    let recorded = database.record(&IntakeBatch { queue: "dlo.dead-letters", ..batch("main", &again) }).await.unwrap();
    assert_eq!(recorded, [Recorded::New(again[0].id)]);
    let again = [arrival.again()];
    assert_eq!(record(database, "other", &again).await, [Recorded::New(again[0].id)]);
}

async fn another_process_knows_it_too(database: &TestDatabase) {
    let arrival = an_arrival();
    let id = database.take_in_new(arrival.clone()).await;
    let other = database.second_server().await;
    assert_eq!(record(&other, "main", &[arrival.again()]).await, [Recorded::Redelivered(id)]);
}

async fn of_two_processes_one_knows_it(database: &TestDatabase) {
    let arrival = an_arrival();
    database.take_in_new(arrival.clone()).await;
    let other = database.second_server().await;
    let (one, another) = ([arrival.again()], [arrival.again()]);
    let recorded = tokio::join!(record(database, "main", &one), record(&other, "main", &another));
    // Whoever comes second finds the entry that the first left behind for its own delivery.
    assert_eq!((recorded.0[0].letter(), recorded.1[0].letter()), (arrival.id, arrival.id));
    assert_eq!(database.number("SELECT sum(length(entries)) / 32 FROM pending_acks").await, 1);
}

/// The commit is done, its answer and the connection to the broker are lost: another process has the messages now.
async fn a_batch_is_known_though_another_process_was_redelivered_it(database: &TestDatabase) {
    let known = database.letter_in(Status::Retried).await;
    let other = database.second_server().await;
    let arrivals = [an_arrival(), an_arrival().returning(known)];
    let batch = batch("main", &arrivals);
    let first = database.record(&batch).await.unwrap();
    let again = [arrivals[0].again(), arrivals[1].again()];
    let ids = [arrivals[0].id, known];
    assert_eq!(record(&other, "main", &again).await, ids.map(Recorded::Redelivered));
    assert_eq!(database.record(&batch).await.unwrap(), first);
    assert_eq!((database.total().await, database.shows(known).await.attempts), (2, 2));
    let told = database.events(ids[0]).await;
    assert_eq!(told.iter().map(|(event, ..)| *event).collect::<Vec<_>>(), [Event::Redelivered]);
    // The other process may die in its turn before it acknowledges.
    assert_eq!(database.take_in([arrivals[0].again()]).await, [Recorded::Redelivered(ids[0])]);
}

/// The other process was the quicker one; what the first then brings is marked by RabbitMQ when it comes again.
async fn a_batch_that_another_process_recorded_is_known_when_redelivered(database: &TestDatabase) {
    let arrivals = [an_arrival(), an_arrival()];
    let other = database.second_server().await;
    let again = [arrivals[0].again(), arrivals[1].again()];
    assert_eq!(record(&other, "main", &again).await, [0, 1].map(|n| Recorded::New(again[n].id)));
    let back_here = [again[0].again(), again[1].again()];
    assert_eq!(database.take_in(back_here).await, [0, 1].map(|n| Recorded::Redelivered(again[n].id)));
    assert_eq!(database.total().await, 2);
}

/// The first was cut off from the broker before it could store what it was delivered, and does so after the other.
async fn what_a_cut_connection_brought_is_known_where_another_process_was_quicker(database: &TestDatabase) {
    let arrivals = [an_arrival().message_id("1"), an_arrival()];
    let other = database.second_server().await;
    let again = [arrivals[0].again(), arrivals[1].again()];
    record(&other, "main", &again).await;
    let late = IntakeBatch { is_cut: &|| true, ..batch("main", &arrivals) };
    assert_eq!(database.record(&late).await.unwrap(), [0, 1].map(|n| Recorded::Redelivered(again[n].id)));
    assert_eq!(database.total().await, 2);
    // The entry is still that of the other process, which may die before it acknowledges.
    assert_eq!(database.number("SELECT sum(length(entries)) / 32 FROM pending_acks").await, 2);
    let third = [again[0].again(), again[1].again()];
    assert_eq!(database.take_in(third).await, [0, 1].map(|n| Recorded::Redelivered(again[n].id)));
}

async fn what_a_cut_connection_brought_is_new_where_it_may_be_another(database: &TestDatabase) {
    let other = database.second_server().await;
    let is_new = async |arrival: Arrival, is_cut: bool| {
        let arrivals = [arrival];
        let recorded =
            database.record(&IntakeBatch { is_cut: &move || is_cut, ..batch("main", &arrivals) }).await.unwrap();
        assert_eq!(recorded, [Recorded::New(arrivals[0].id)]);
    };
    // The other one was delivered for the first time.
    let arrival = an_arrival().message_id("1");
    record(&other, "main", &[arrival.twin()]).await;
    is_new(arrival, true).await;
    // It can be acknowledged, and is not delivered again.
    let arrival = an_arrival().message_id("2");
    record(&other, "main", &[arrival.again()]).await;
    is_new(arrival, false).await;
    // Nothing names it, and the other one is acknowledged.
    let arrival = an_arrival();
    let (settled, _) = take_in_batch(database, &arrival.again(), AckState::default()).await;
    database.settle(AckState { confirmed: &[settled], ..AckState::default() }).await.unwrap();
    is_new(arrival, true).await;
    // One entry stands for one of two.
    let arrival = an_arrival().message_id("3");
    let arrivals = [arrival.twin(), arrival];
    let again = arrivals[0].again();
    record(&other, "main", std::slice::from_ref(&again)).await;
    let recorded = database.record(&IntakeBatch { is_cut: &|| true, ..batch("main", &arrivals) }).await.unwrap();
    assert_eq!(recorded, [Recorded::Redelivered(again.id), Recorded::New(arrivals[1].id)]);
}

async fn a_letter_that_failed_again_is_known_when_redelivered(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    let back = an_arrival().returning(id);
    assert_eq!(database.take_in([back.clone()]).await, [Recorded::FailedAgain(id)]);
    assert_eq!(database.take_in([back.again()]).await, [Recorded::Redelivered(id)]);
    assert_eq!(database.shows(id).await.attempts, 2);
}

/// A service that publishes what failed as a copy does so each time, with the same bytes.
async fn a_copy_that_failed_again_is_no_redelivery_of_its_first_failure(database: &TestDatabase) {
    for recognised in [true, false] {
        let arrival = an_arrival().message_id(if recognised { "1" } else { "2" });
        let id = database.take_in_new(arrival.clone()).await;
        database.bring(id, Status::Retried).await;
        let mut again = arrival.again();
        if recognised {
            (again.returning, again.is_recognised) = (Some(id), true);
        }
        let expected = if recognised { Recorded::FailedAgain(id) } else { Recorded::New(again.id) };
        assert_eq!(database.take_in([again.clone()]).await, [expected]);
        // That one is known from now on.
        let letter = if recognised { id } else { again.id };
        assert_eq!(database.take_in([again.again()]).await, [Recorded::Redelivered(letter)]);
    }
}

async fn two_copies_that_failed_again_are_each_known_once(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    let back = an_arrival().returning(id).message_id("1");
    assert_eq!(database.take_in([back.clone(), back.twin()]).await, [Recorded::FailedAgain(id); 2]);
    assert_eq!(database.take_in([back.again()]).await, [Recorded::Redelivered(id)]);
    assert_eq!(database.take_in([back.again()]).await, [Recorded::Redelivered(id)]);
    assert_eq!(database.number("SELECT sum(length(entries)) / 32 FROM pending_acks").await, 3);
}

/// A node that was killed had not written down yet that its service rejected it.
async fn what_a_killed_broker_dead_letters_once_more_is_the_failure_we_have(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    let back = an_arrival().died_in("orders").returning(id);
    assert_eq!(database.take_in([back.clone()]).await, [Recorded::FailedAgain(id)]);
    database.bring(id, Status::Retried).await;
    for _ in 0..2 {
        assert_eq!(take_in_first(database, &back.later_death()).await, Recorded::Redelivered(id));
    }
    let shown = database.shows(id).await;
    assert_eq!((shown.attempts, shown.status), (2, Status::Retried));
    let events = database.events(id).await;
    assert_eq!(events.iter().filter(|(event, ..)| *event == Event::Redelivered).count(), 2);
    // It is the second failure that is known, and not the third.
    let third = an_arrival().died_in("orders").returning(id);
    assert_eq!(take_in_first(database, &third).await, Recorded::FailedAgain(id));
}

async fn what_comes_twice_by_a_new_connection_has_failed_once(database: &TestDatabase) {
    let session = id();
    let id = database.letter_in(Status::Retried).await;
    let back = an_arrival().died_in("orders").returning(id);
    let arrivals = [back.clone(), back.twin()];
    let first = |arrivals| IntakeBatch { session, is_first: true, ..batch("main", arrivals) };
    let recorded = database.record(&first(&arrivals)).await.unwrap();
    assert_eq!(recorded, [Recorded::FailedAgain(id), Recorded::Redelivered(id)]);
    let once_more = [back.later_death()];
    assert_eq!(database.record(&first(&once_more)).await.unwrap(), [Recorded::Redelivered(id)]);
    assert_eq!(database.shows(id).await.attempts, 2);
    // Without our headers nobody can tell.
    let arrival = an_arrival().died_in("orders").message_id("1");
    let arrivals = [arrival.clone(), arrival.twin()];
    let recorded = database.record(&first(&arrivals)).await.unwrap();
    assert_eq!(recorded, [Recorded::New(arrivals[0].id), Recorded::New(arrivals[1].id)]);
}

async fn by_a_connection_that_is_not_new_a_later_death_is_another_failure(database: &TestDatabase) {
    let id = database.letter_in(Status::Retried).await;
    let back = an_arrival().died_in("orders").returning(id);
    assert_eq!(database.take_in([back.clone()]).await, [Recorded::FailedAgain(id)]);
    assert_eq!(database.take_in([back.later_death()]).await, [Recorded::FailedAgain(id)]);
}

async fn without_our_headers_a_later_death_is_known_by_its_id_until_it_was_sent_back(database: &TestDatabase) {
    let arrival = an_arrival().died_in("orders").message_id("1");
    let id = database.take_in_new(arrival.clone()).await;
    assert_eq!(take_in_first(database, &arrival.later_death()).await, Recorded::Redelivered(id));
    database.bring(id, Status::Retried).await;
    let again = arrival.later_death();
    assert_eq!(take_in_first(database, &again).await, Recorded::New(again.id));
}

async fn a_later_death_of_what_nothing_names_is_another_message(database: &TestDatabase) {
    let arrival = an_arrival().died_in("orders");
    database.take_in_new(arrival.clone()).await;
    let again = arrival.later_death();
    assert_eq!(take_in_first(database, &again).await, Recorded::New(again.id));
}

on_both!(
    what_a_killed_broker_dead_letters_once_more_is_the_failure_we_have,
    what_comes_twice_by_a_new_connection_has_failed_once,
    by_a_connection_that_is_not_new_a_later_death_is_another_failure,
    without_our_headers_a_later_death_is_known_by_its_id_until_it_was_sent_back,
    a_later_death_of_what_nothing_names_is_another_message,
    a_redelivered_message_is_the_letter_we_have,
    nothing_comes_twice_by_one_connection,
    each_delivery_is_known_once,
    a_redelivery_can_be_redelivered,
    an_equal_message_that_is_not_redelivered_is_new,
    a_redelivered_message_we_never_stored_is_new,
    equal_twins_without_a_message_id_are_both_kept,
    equal_twins_of_two_batches_are_both_kept_too,
    twins_with_a_message_id_are_each_known_once,
    a_settled_batch_is_forgotten,
    an_acknowledgement_the_broker_saw_and_forgot_makes_no_second_letter,
    what_nothing_names_is_kept_once_the_acknowledgement_was_seen,
    a_batch_settles_earlier_ones_before_it_looks,
    settling_nothing_or_the_unknown_is_no_trouble,
    what_a_dead_process_left_is_forgotten_by_age,
    what_the_broker_has_seen_acknowledged_is_forgotten_sooner,
    another_queue_or_broker_delivers_another_message,
    another_process_knows_it_too,
    of_two_processes_one_knows_it,
    a_batch_is_known_though_another_process_was_redelivered_it,
    a_batch_that_another_process_recorded_is_known_when_redelivered,
    what_a_cut_connection_brought_is_known_where_another_process_was_quicker,
    what_a_cut_connection_brought_is_new_where_it_may_be_another,
    a_letter_that_failed_again_is_known_when_redelivered,
    a_copy_that_failed_again_is_no_redelivery_of_its_first_failure,
    two_copies_that_failed_again_are_each_known_once,
);

/// Records the second while the transaction of the first is under way, and does `meanwhile` before that can end.
async fn record_in_turn(
    database: &TestDatabase,
    (first, second): (&IntakeBatch<'_>, &IntakeBatch<'_>),
    meanwhile: impl FnOnce(),
) -> (Recorded, Recorded) {
    let server = database.server().unwrap();
    let mut lock = server.begin().await.unwrap();
    sqlx::query("LOCK TABLE letters").execute(&mut *lock).await.unwrap();
    let second = async {
        waiting(server, 1).await;
        let unlock = async {
            waiting(server, 2).await;
            meanwhile();
            lock.rollback().await.unwrap();
        };
        tokio::join!(database.record(second), unlock).0
    };
    let (first, second) = tokio::join!(database.record(first), second);
    (first.unwrap()[0], second.unwrap()[0])
}

/// The connection is cut while one server commits, and RabbitMQ delivers to another at once.
#[tokio::test]
async fn what_another_server_commits_at_this_moment_is_known() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let first = an_arrival();
    let (arrivals, again) = ([first.clone()], [first.again()]);
    let recorded = record_in_turn(&database, (&batch("main", &arrivals), &batch("main", &again)), || {}).await;
    assert_eq!(recorded, (Recorded::New(first.id), Recorded::Redelivered(first.id)));
}

/// A server is delivered a message, its connection is cut, and another that is redelivered it commits at this moment.
#[tokio::test]
async fn a_connection_that_is_cut_while_it_waits_for_another_server_is_known() {
    let Some(database) = TestDatabase::postgres().await else { return };
    let first = an_arrival();
    let (arrivals, again) = ([first.clone()], [first.again()]);
    let is_cut = AtomicBool::new(false);
    let late = IntakeBatch { is_cut: &|| is_cut.load(Ordering::SeqCst), ..batch("main", &arrivals) };
    let cut = || is_cut.store(true, Ordering::SeqCst);
    let recorded = record_in_turn(&database, (&batch("main", &again), &late), cut).await;
    assert_eq!(recorded, (Recorded::New(again[0].id), Recorded::Redelivered(again[0].id)));
}

//! What people decide, and what comes of it.

use std::time::Duration;

use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    domain::{
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        filter::LetterFilter,
        history::Event,
        job::JobState,
        letter::{Importance, LetterId, Status},
        retry::RetryOutcome,
        version::Expected,
    },
    store::Order,
};

use super::{
    database::{DISCARD, LEASE, RETRY_LATER, RETRY_NOW, TestDatabase, order},
    make::{Make, NOON, an_arrival, id, later},
};

fn note(text: &str) -> Command {
    Command::SetNote(text.to_owned())
}

fn retry(seconds: u64, queue: Option<&str>) -> Command {
    Command::Retry { delay: Duration::from_secs(seconds), queue: queue.map(str::to_owned) }
}

/// A letter in each of the statuses takes the command and is then in the status beside it, or refuses it (`None`).
async fn check(database: &TestDatabase, command: Command, after: [(Status, Option<Status>); 4]) {
    for (status, expected) in after {
        let id = database.letter_in(status).await;
        let before = database.shows(id).await;
        let events = database.events(id).await.len();
        let report = database.command(&command, &[id]).await;
        if let Some(expected) = expected {
            assert_eq!(report, CommandReport { done: vec![id], refused: vec![] });
            assert_eq!(database.status(id).await, expected, "{status} after {command:?}");
            assert_eq!(database.events(id).await.len(), events + 1);
        } else {
            let refusal = Refusal::WrongStatus { command: command.name(), status };
            assert_eq!(report, CommandReport { done: vec![], refused: vec![(id, refusal)] });
            assert_eq!((database.shows(id).await, database.events(id).await.len()), (before, events));
        }
    }
}

async fn a_retry_is_for_what_is_open_or_waits(database: &TestDatabase) {
    use Status::{Discarded, Open, Retried, Scheduled};
    let after = [(Open, Some(Scheduled)), (Scheduled, Some(Scheduled)), (Retried, None), (Discarded, None)];
    check(database, RETRY_NOW, after).await;
}

async fn a_discard_is_for_what_is_open_or_waits(database: &TestDatabase) {
    use Status::{Discarded, Open, Retried, Scheduled};
    let after = [(Open, Some(Discarded)), (Scheduled, Some(Discarded)), (Retried, None), (Discarded, None)];
    check(database, DISCARD, after).await;
}

async fn a_reopening_is_for_what_waits_or_is_discarded(database: &TestDatabase) {
    use Status::{Discarded, Open, Retried, Scheduled};
    let after = [(Open, None), (Scheduled, Some(Open)), (Retried, None), (Discarded, Some(Open))];
    check(database, Command::Reopen, after).await;
}

async fn importance_and_note_are_for_all(database: &TestDatabase) {
    use Status::{Discarded, Open, Retried, Scheduled};
    let after = [Open, Scheduled, Retried, Discarded].map(|status| (status, Some(status)));
    check(database, Command::SetImportance(Importance::Low), after).await;
    check(database, note("n"), after).await;
}

async fn a_retry_is_due_after_its_delay(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    for seconds in [3600, 0, 90] {
        database.does(&retry(seconds, None), &[id]).await;
        assert_eq!(database.shows(id).await.retry_at, Some(later(seconds)));
    }
}

async fn a_retry_goes_to_the_failed_queue_or_to_another(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().queue("orders")).await;
    let named =
        [(None, "orders"), (Some("other"), "other"), (None, "other"), (Some("orders"), "orders"), (None, "orders")];
    for (queue, expected) in named {
        database.does(&retry(0, queue), &[id]).await;
        let claimed = database.claim(NOON).await;
        assert_eq!((&*claimed[0].queue, claimed[0].failed_queue.as_deref()), (expected, Some("orders")));
        database.unclaim_retries(&[claimed[0].claim()]).await.unwrap();
    }
}

async fn a_retry_that_is_hurried_goes_where_it_went(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().of_unknown_queue()).await;
    database.does(&retry(60, Some("other")), &[id]).await;
    database.does(&RETRY_NOW, &[id]).await;
    let lines: Vec<_> = database.events(id).await.into_iter().map(|(_, _, detail)| detail).collect();
    assert_eq!(lines, ["to other, in 1 min", "to other, at once"]);
    let claimed = database.claim(NOON).await;
    assert_eq!(claimed[0].queue, "other");
    database.unclaim_retries(&[claimed[0].claim()]).await.unwrap();
    database.does(&Command::Reopen, &[id]).await;
    assert_eq!(database.command(&RETRY_NOW, &[id]).await.refused, [(id, Refusal::QueueUnknown)], "it waits no longer");
}

async fn a_retry_needs_a_queue_where_none_is_known(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().of_unknown_queue()).await;
    assert_eq!(database.command(&RETRY_NOW, &[id]).await.refused, [(id, Refusal::QueueUnknown)]);
    database.does(&retry(0, Some("orders")), &[id]).await;
    assert_eq!(database.claim(NOON).await[0].failed_queue, None);
}

async fn a_discard_can_bring_a_note(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    database.does(&Command::Discard { note: Some("twice".to_owned()) }, &[id]).await;
    database.does(&Command::Reopen, &[id]).await;
    database.does(&DISCARD, &[id]).await;
    assert_eq!(database.shows(id).await.note.as_deref(), Some("twice"));
}

async fn an_empty_note_removes_it(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    database.does(&note("ask Ann\n\"😀\""), &[id]).await;
    assert_eq!(database.shows(id).await.note.as_deref(), Some("ask Ann\n\"😀\""));
    database.does(&note(""), &[id]).await;
    assert_eq!(database.shows(id).await.note, None);
}

async fn importance_is_then_a_persons_choice(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    for importance in Importance::ALL {
        database.does(&Command::SetImportance(*importance), &[id]).await;
        let letter = database.shows(id).await;
        assert_eq!((letter.importance, &*letter.importance_by), (*importance, "manual"));
    }
}

async fn reopening_cancels_the_retry(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    database.does(&Command::Reopen, &[id]).await;
    assert_eq!((database.shows(id).await.retry_at, database.claims(later(9000)).await), (None, vec![]));
}

async fn what_is_being_published_stays_as_it_is(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    let claimed_at = later(3600);
    database.claim(claimed_at).await;
    for (command, at, expected) in [
        (Command::Reopen, claimed_at, vec![(id, Refusal::InFlight)]),
        (RETRY_NOW, claimed_at, vec![(id, Refusal::InFlight)]),
        (note("n"), claimed_at, vec![]),
        (Command::Reopen, claimed_at.plus(LEASE), vec![]),
    ] {
        let order = Order {
            ids: &[id],
            command: &command,
            by: &Actor::local(),
            at,
            limits: &RetryLimits::default(),
            edits: None,
        };
        assert_eq!(database.act(&order).await.unwrap().refused, expected, "{command:?}");
    }
}

async fn a_new_retry_says_nothing_of_old_problems(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    database.does(&RETRY_NOW, &[id]).await;
    database.finish(&database.claim(NOON).await, RetryOutcome::Failed("no such queue".to_owned())).await;
    assert_eq!(database.shows(id).await.problem.as_deref(), Some("no such queue"));
    database.does(&RETRY_LATER, &[id]).await;
    assert_eq!(database.shows(id).await.problem, None);
}

async fn history_tells_what_was_done_and_by_whom(database: &TestDatabase) {
    let id = database.letter_in(Status::Open).await;
    let ann = Actor::named("Ann");
    let expected = [
        (retry(0, None), Event::RetryScheduled, "to orders, at once"),
        (retry(90, Some("other")), Event::RetryScheduled, "to other, in 1 min 30 s"),
        (Command::Reopen, Event::Reopened, "the scheduled retry was cancelled"),
        (Command::Discard { note: Some("twice".to_owned()) }, Event::Discarded, "twice"),
        (Command::Reopen, Event::Reopened, "the discard was undone"),
        (Command::SetImportance(Importance::High), Event::ImportanceSet, "from normal to high"),
        (note("ask Bob"), Event::NoteSet, "ask Bob"),
        (note(""), Event::NoteSet, ""),
    ];
    for (command, _, _) in &expected {
        database
            .act(&Order { ids: &[id], command, by: &ann, at: NOON, limits: &RetryLimits::default(), edits: None })
            .await
            .unwrap();
    }
    let expected = expected.map(|(_, event, detail)| (event, "Ann".to_owned(), detail.to_owned()));
    assert_eq!(database.events(id).await, expected);
}

async fn each_letter_takes_or_refuses_for_itself(database: &TestDatabase) {
    let [open, discarded] = [database.letter_in(Status::Open).await, database.letter_in(Status::Discarded).await];
    let nobody = LetterId::from_uuid(id());
    let report = database.command(&DISCARD, &[nobody, open, discarded, open]).await;
    let wrong = Refusal::WrongStatus { command: "discard", status: Status::Discarded };
    let refused = vec![(nobody, Refusal::NotFound), (discarded, wrong)];
    assert_eq!(report, CommandReport { done: vec![open], refused });
    assert_eq!(database.events(open).await.len(), 1);
}

async fn an_order_for_no_letter_does_nothing(database: &TestDatabase) {
    assert_eq!(database.command(&RETRY_NOW, &[]).await, CommandReport::default());
}

async fn an_order_can_be_for_thousands(database: &TestDatabase) {
    let ids = database.take_in_many(2_100).await;
    for command in [RETRY_NOW, note("n"), Command::SetImportance(Importance::Low), Command::Reopen, DISCARD] {
        assert_eq!(database.command(&command, &ids).await, CommandReport { done: ids.clone(), refused: vec![] });
    }
    let filter = LetterFilter {
        statuses: vec![Status::Discarded],
        importances: vec![Importance::Low],
        ..LetterFilter::default()
    };
    assert_eq!(database.count(&filter).await.unwrap(), 2_100);
    assert_eq!(database.summaries(&ids).await.unwrap().len(), 2_100);
}

async fn a_job_tells_what_came_of_it(database: &TestDatabase) {
    let (letter, job) = (database.letter_in(Status::Open).await, id());
    let order = Order {
        ids: &[letter, letter],
        command: &RETRY_NOW,
        by: &Actor::local(),
        at: NOON,
        limits: &RetryLimits::default(),
        edits: None,
    };
    assert_eq!(database.act_as_job(job, &order).await.unwrap().done, [letter]);
    let job = database.job(job).await.unwrap().unwrap();
    assert_eq!((&*job.action, job.state, job.total, job.done, job.failed), ("retry", JobState::Done, 1, 1, 0));
    assert_eq!((job.errors, database.status(letter).await), (vec![], Status::Scheduled));
}

async fn a_job_tells_why_letters_refused(database: &TestDatabase) {
    let (open, nobody, job) = (database.letter_in(Status::Open).await, LetterId::from_uuid(id()), id());
    let order = Order {
        ids: &[open, nobody],
        command: &DISCARD,
        by: &Actor::local(),
        at: NOON,
        limits: &RetryLimits::default(),
        edits: None,
    };
    database.act_as_job(job, &order).await.unwrap();
    let job = database.job(job).await.unwrap().unwrap();
    assert_eq!((job.state, job.total, job.done, job.failed), (JobState::Failed, 2, 1, 1));
    assert_eq!(job.errors, [format!("{nobody}: there is no such dead letter")]);
}

async fn a_job_tells_the_first_hundred_refusals(database: &TestDatabase) {
    let (ids, job): ([_; 150], _) = (std::array::from_fn(|_| LetterId::from_uuid(id())), id());
    let order = Order {
        ids: &ids,
        command: &DISCARD,
        by: &Actor::local(),
        at: NOON,
        limits: &RetryLimits::default(),
        edits: None,
    };
    database.act_as_job(job, &order).await.unwrap();
    let job = database.job(job).await.unwrap().unwrap();
    assert_eq!((job.failed, job.errors.len()), (150, 100));
}

async fn there_is_no_job_that_nobody_began(database: &TestDatabase) {
    assert_eq!(database.job(id()).await.unwrap(), None);
}

/// A letter of which the database takes no note.
async fn letter_without_a_note(database: &TestDatabase) -> LetterId {
    const SQLITE: &str = "CREATE TRIGGER no_notes BEFORE UPDATE OF note ON letters
        BEGIN SELECT RAISE(ABORT, 'no notes'); END";
    const POSTGRES: &str = "CREATE FUNCTION no_notes() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'no notes'; END $$;
        CREATE TRIGGER no_notes BEFORE UPDATE OF note ON letters FOR EACH ROW EXECUTE FUNCTION no_notes()";
    let id = database.take_in_new(an_arrival()).await;
    database.tamper(if database.is_sqlite() { SQLITE } else { POSTGRES }).await;
    id
}

async fn several_commands_on_one_letter_are_carried_out_or_none(database: &TestDatabase) {
    let id = letter_without_a_note(database).await;
    let ids = [id];
    let (importance, note) = (Command::SetImportance(Importance::Critical), Command::SetNote("x".to_owned()));
    database.act_on_one(id, &[order(&importance, &ids), order(&note, &ids)], &Expected::Anything).await.unwrap_err();
    assert_eq!(database.shows(id).await.importance, Importance::Normal);
    assert_eq!(database.events(id).await, []);
    let message_type = Command::SetType(Some("a.B".to_owned()));
    let report = database
        .act_on_one(id, &[order(&importance, &ids), order(&message_type, &ids)], &Expected::Anything)
        .await
        .unwrap();
    assert_eq!((report.done, report.refused), (vec![id], vec![]));
    let letter = database.shows(id).await;
    assert_eq!((letter.importance, letter.message_type.as_deref()), (Importance::Critical, Some("a.B")));
    assert_eq!(database.events(id).await.len(), 2);
}

async fn where_one_command_is_refused_none_is_carried_out(database: &TestDatabase) {
    let id = database.letter_in(Status::Discarded).await;
    let ids = [id];
    let importance = Command::SetImportance(Importance::Critical);
    let report =
        database.act_on_one(id, &[order(&importance, &ids), order(&DISCARD, &ids)], &Expected::Anything).await.unwrap();
    assert_eq!((report.done.len(), report.refused.len()), (0, 1));
    assert_eq!(database.shows(id).await.importance, Importance::Normal);
}

on_both!(
    several_commands_on_one_letter_are_carried_out_or_none,
    where_one_command_is_refused_none_is_carried_out,
    a_retry_is_for_what_is_open_or_waits,
    a_discard_is_for_what_is_open_or_waits,
    a_reopening_is_for_what_waits_or_is_discarded,
    importance_and_note_are_for_all,
    a_retry_is_due_after_its_delay,
    a_retry_goes_to_the_failed_queue_or_to_another,
    a_retry_that_is_hurried_goes_where_it_went,
    a_retry_needs_a_queue_where_none_is_known,
    a_discard_can_bring_a_note,
    an_empty_note_removes_it,
    importance_is_then_a_persons_choice,
    reopening_cancels_the_retry,
    what_is_being_published_stays_as_it_is,
    a_new_retry_says_nothing_of_old_problems,
    history_tells_what_was_done_and_by_whom,
    each_letter_takes_or_refuses_for_itself,
    an_order_for_no_letter_does_nothing,
    an_order_can_be_for_thousands,
    a_job_tells_what_came_of_it,
    a_job_tells_why_letters_refused,
    a_job_tells_the_first_hundred_refusals,
    there_is_no_job_that_nobody_began,
);

//! What people decide, and what comes of it.

use std::time::Duration;

use dead_letter_office::{
    domain::{
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        filter::LetterFilter,
        history::Event,
        job::JobState,
        letter::{Importance, LetterId, Status},
        retry::RetryOutcome,
    },
    store::Order,
};
use failure_conventions::inner_body::InnerBodies;

use super::{
    ledger::{DISCARD, LEASE, Ledger, RETRY_LATER, RETRY_NOW},
    make::{Make, NOON, an_arrival, id, later},
};

fn note(text: &str) -> Command {
    Command::SetNote(text.to_owned())
}

fn retry(seconds: u64, queue: Option<&str>) -> Command {
    Command::Retry { delay: Duration::from_secs(seconds), queue: queue.map(str::to_owned) }
}

/// A letter in each of the statuses takes the command and is then in the status beside it, or refuses it (`None`).
async fn check(ledger: &Ledger, command: Command, after: [(Status, Option<Status>); 4]) {
    for (status, expected) in after {
        let id = ledger.letter_in(status).await;
        let before = ledger.shows(id).await;
        let events = ledger.events(id).await.len();
        let report = ledger.command(&command, &[id]).await;
        if let Some(expected) = expected {
            assert_eq!(report, CommandReport { done: vec![id], refused: vec![] });
            assert_eq!(ledger.status(id).await, expected, "{status} after {command:?}");
            assert_eq!(ledger.events(id).await.len(), events + 1);
        } else {
            let refusal = Refusal::WrongStatus { command: command.name(), status };
            assert_eq!(report, CommandReport { done: vec![], refused: vec![(id, refusal)] });
            assert_eq!((ledger.shows(id).await, ledger.events(id).await.len()), (before, events));
        }
    }
}

async fn a_retry_is_for_what_is_open_or_waits(ledger: &Ledger) {
    use Status::{Discarded, Open, Retried, Scheduled};
    let after = [(Open, Some(Scheduled)), (Scheduled, Some(Scheduled)), (Retried, None), (Discarded, None)];
    check(ledger, RETRY_NOW, after).await;
}

async fn a_discard_is_for_what_is_open_or_waits(ledger: &Ledger) {
    use Status::{Discarded, Open, Retried, Scheduled};
    let after = [(Open, Some(Discarded)), (Scheduled, Some(Discarded)), (Retried, None), (Discarded, None)];
    check(ledger, DISCARD, after).await;
}

async fn a_reopening_is_for_what_waits_or_is_discarded(ledger: &Ledger) {
    use Status::{Discarded, Open, Retried, Scheduled};
    let after = [(Open, None), (Scheduled, Some(Open)), (Retried, None), (Discarded, Some(Open))];
    check(ledger, Command::Reopen, after).await;
}

async fn importance_and_note_are_for_all(ledger: &Ledger) {
    use Status::{Discarded, Open, Retried, Scheduled};
    let after = [Open, Scheduled, Retried, Discarded].map(|status| (status, Some(status)));
    check(ledger, Command::SetImportance(Importance::Low), after).await;
    check(ledger, note("n"), after).await;
}

async fn a_retry_is_due_after_its_delay(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Open).await;
    for seconds in [3600, 0, 90] {
        ledger.does(&retry(seconds, None), &[id]).await;
        assert_eq!(ledger.shows(id).await.retry_at, Some(later(seconds)));
    }
}

async fn a_retry_goes_to_the_failed_queue_or_to_another(ledger: &Ledger) {
    let id = ledger.take_in_new(an_arrival().queue("orders")).await;
    let named =
        [(None, "orders"), (Some("other"), "other"), (None, "other"), (Some("orders"), "orders"), (None, "orders")];
    for (queue, expected) in named {
        ledger.does(&retry(0, queue), &[id]).await;
        let claimed = ledger.claim(NOON).await;
        assert_eq!((&*claimed[0].queue, claimed[0].failed_queue.as_deref()), (expected, Some("orders")));
        ledger.unclaim_retries(&[id]).await.unwrap();
    }
}

async fn a_retry_that_is_hurried_goes_where_it_went(ledger: &Ledger) {
    let id = ledger.take_in_new(an_arrival().of_unknown_queue()).await;
    ledger.does(&retry(60, Some("other")), &[id]).await;
    ledger.does(&RETRY_NOW, &[id]).await;
    let lines: Vec<_> = ledger.events(id).await.into_iter().map(|(_, _, detail)| detail).collect();
    assert_eq!(lines, ["to other, in 1 min", "to other, at once"]);
    assert_eq!(ledger.claim(NOON).await[0].queue, "other");
    ledger.unclaim_retries(&[id]).await.unwrap();
    ledger.does(&Command::Reopen, &[id]).await;
    assert_eq!(ledger.command(&RETRY_NOW, &[id]).await.refused, [(id, Refusal::QueueUnknown)], "it waits no longer");
}

async fn a_retry_needs_a_queue_where_none_is_known(ledger: &Ledger) {
    let id = ledger.take_in_new(an_arrival().of_unknown_queue()).await;
    assert_eq!(ledger.command(&RETRY_NOW, &[id]).await.refused, [(id, Refusal::QueueUnknown)]);
    ledger.does(&retry(0, Some("orders")), &[id]).await;
    assert_eq!(ledger.claim(NOON).await[0].failed_queue, None);
}

async fn a_discard_can_bring_a_note(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Open).await;
    ledger.does(&Command::Discard { note: Some("twice".to_owned()) }, &[id]).await;
    ledger.does(&Command::Reopen, &[id]).await;
    ledger.does(&DISCARD, &[id]).await;
    assert_eq!(ledger.shows(id).await.note.as_deref(), Some("twice"));
}

async fn an_empty_note_removes_it(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Open).await;
    ledger.does(&note("ask Ann\n\"😀\""), &[id]).await;
    assert_eq!(ledger.shows(id).await.note.as_deref(), Some("ask Ann\n\"😀\""));
    ledger.does(&note(""), &[id]).await;
    assert_eq!(ledger.shows(id).await.note, None);
}

async fn importance_is_then_a_persons_choice(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Open).await;
    for importance in Importance::ALL {
        ledger.does(&Command::SetImportance(*importance), &[id]).await;
        let letter = ledger.shows(id).await;
        assert_eq!((letter.importance, &*letter.importance_by), (*importance, "manual"));
    }
}

async fn reopening_cancels_the_retry(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Scheduled).await;
    ledger.does(&Command::Reopen, &[id]).await;
    assert_eq!((ledger.shows(id).await.retry_at, ledger.claims(later(9000)).await), (None, vec![]));
}

async fn what_is_being_published_stays_as_it_is(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Scheduled).await;
    let claimed_at = later(3600);
    ledger.claim(claimed_at).await;
    for (command, at, expected) in [
        (Command::Reopen, claimed_at, vec![(id, Refusal::InFlight)]),
        (RETRY_NOW, claimed_at, vec![(id, Refusal::InFlight)]),
        (note("n"), claimed_at, vec![]),
        (Command::Reopen, claimed_at.plus(LEASE), vec![]),
    ] {
        let order = Order { ids: &[id], command: &command, by: &Actor::local(), at, bodies: &InnerBodies::default() };
        assert_eq!(ledger.act(&order).await.unwrap().refused, expected, "{command:?}");
    }
}

async fn a_new_retry_says_nothing_of_old_problems(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Open).await;
    ledger.does(&RETRY_NOW, &[id]).await;
    ledger.finish(&ledger.claim(NOON).await, RetryOutcome::Failed("no such queue".to_owned())).await;
    assert_eq!(ledger.shows(id).await.problem.as_deref(), Some("no such queue"));
    ledger.does(&RETRY_LATER, &[id]).await;
    assert_eq!(ledger.shows(id).await.problem, None);
}

async fn history_tells_what_was_done_and_by_whom(ledger: &Ledger) {
    let id = ledger.letter_in(Status::Open).await;
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
        ledger.act(&Order { ids: &[id], command, by: &ann, at: NOON, bodies: &InnerBodies::default() }).await.unwrap();
    }
    let expected = expected.map(|(_, event, detail)| (event, "Ann".to_owned(), detail.to_owned()));
    assert_eq!(ledger.events(id).await, expected);
}

async fn each_letter_takes_or_refuses_for_itself(ledger: &Ledger) {
    let [open, discarded] = [ledger.letter_in(Status::Open).await, ledger.letter_in(Status::Discarded).await];
    let nobody = LetterId::from_uuid(id());
    let report = ledger.command(&DISCARD, &[nobody, open, discarded, open]).await;
    let wrong = Refusal::WrongStatus { command: "discard", status: Status::Discarded };
    let refused = vec![(nobody, Refusal::NotFound), (discarded, wrong)];
    assert_eq!(report, CommandReport { done: vec![open], refused });
    assert_eq!(ledger.events(open).await.len(), 1);
}

async fn an_order_for_no_letter_does_nothing(ledger: &Ledger) {
    assert_eq!(ledger.command(&RETRY_NOW, &[]).await, CommandReport::default());
}

async fn an_order_can_be_for_thousands(ledger: &Ledger) {
    let ids = ledger.take_in_many(2_100).await;
    for command in [RETRY_NOW, note("n"), Command::SetImportance(Importance::Low), Command::Reopen, DISCARD] {
        assert_eq!(ledger.command(&command, &ids).await, CommandReport { done: ids.clone(), refused: vec![] });
    }
    let filter = LetterFilter {
        statuses: vec![Status::Discarded],
        importances: vec![Importance::Low],
        ..LetterFilter::default()
    };
    assert_eq!(ledger.count(&filter).await.unwrap(), 2_100);
    assert_eq!(ledger.summaries(&ids).await.unwrap().len(), 2_100);
}

async fn a_job_tells_what_came_of_it(ledger: &Ledger) {
    let (letter, job) = (ledger.letter_in(Status::Open).await, id());
    let order = Order {
        ids: &[letter, letter],
        command: &RETRY_NOW,
        by: &Actor::local(),
        at: NOON,
        bodies: &InnerBodies::default(),
    };
    assert_eq!(ledger.act_as_job(job, &order).await.unwrap().done, [letter]);
    let job = ledger.job(job).await.unwrap().unwrap();
    assert_eq!((&*job.action, job.state, job.total, job.done, job.failed), ("retry", JobState::Done, 1, 1, 0));
    assert_eq!((job.errors, ledger.status(letter).await), (vec![], Status::Scheduled));
}

async fn a_job_tells_why_letters_refused(ledger: &Ledger) {
    let (open, nobody, job) = (ledger.letter_in(Status::Open).await, LetterId::from_uuid(id()), id());
    let order = Order {
        ids: &[open, nobody],
        command: &DISCARD,
        by: &Actor::local(),
        at: NOON,
        bodies: &InnerBodies::default(),
    };
    ledger.act_as_job(job, &order).await.unwrap();
    let job = ledger.job(job).await.unwrap().unwrap();
    assert_eq!((job.state, job.total, job.done, job.failed), (JobState::Failed, 2, 1, 1));
    assert_eq!(job.errors, [format!("{nobody}: there is no such dead letter")]);
}

async fn a_job_tells_the_first_hundred_refusals(ledger: &Ledger) {
    let (ids, job): ([_; 150], _) = (std::array::from_fn(|_| LetterId::from_uuid(id())), id());
    let order = Order { ids: &ids, command: &DISCARD, by: &Actor::local(), at: NOON, bodies: &InnerBodies::default() };
    ledger.act_as_job(job, &order).await.unwrap();
    let job = ledger.job(job).await.unwrap().unwrap();
    assert_eq!((job.failed, job.errors.len()), (150, 100));
}

async fn there_is_no_job_that_nobody_began(ledger: &Ledger) {
    assert_eq!(ledger.job(id()).await.unwrap(), None);
}

on_both!(
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

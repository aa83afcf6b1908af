//! Retries of many letters that are held back: by the API, step by step, as the clock is moved.

use std::{sync::Arc, time::Duration};

use dead_letter_office::{
    domain::{
        command::Command,
        letter::{Importance, LetterId, Status},
        pacing::{HELD_LOOK, LOOK},
        retry::RetryOutcome,
        retry_limits::RetryLimits,
    },
    services::{scheduler::LEASE, triage::Triage, worker::Next},
    store::Store,
};
use failure_conventions::danger::Danger;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    answer::Look,
    dead::{NOON, dead_in},
    desk::{Desk, MAIN},
    form::submit,
    groups::{alike, failed_with, group_of, sort},
    search::index,
};
use crate::support::{PATIENCE, process::wait_until};

on_both!(
    from crate::web::pacing::Office::new:
    a_rate_is_kept_and_a_restart_neither_bursts_nor_repeats,
    what_is_spread_takes_its_time,
    a_canary_that_does_well_lets_the_rest_go,
    a_canary_that_does_not_stops_the_rest,
    what_is_paused_is_not_sent_until_it_is_resumed,
    what_was_all_scheduled_at_once_is_paused_too,
    what_somebody_has_reopened_is_not_sent_when_the_others_are_resumed,
    a_paused_queue_holds_up_no_others,
    what_only_a_paused_queue_holds_up_is_looked_at_seldom,
    what_is_to_wait_waits_however_often_it_is_paused,
    what_is_cancelled_is_open_again,
    what_fails_before_its_confirm_counts,
    two_servers_send_each_letter_once,
    what_a_dead_server_has_claimed_holds_up_no_others,
    of_two_equal_retries_each_letter_is_sent_by_one,
    a_letter_that_somebody_else_has_dealt_with_is_left_alone,
    why_letters_were_not_sent_is_told,
    what_is_not_told_apart_is_not_said_to_be_something_else,
    what_waits_to_be_sent_is_under_way,
    nothing_is_undone_twice,
    how_long_it_takes_is_not_said_of_what_does_not_go_on,
    what_can_be_known_beforehand_is_said,
    of_what_must_not_be_retried_only_that_of_the_time_is_counted,
    only_groups_that_the_letters_are_in_say_how_retries_ended,
);

const SECOND: Duration = Duration::from_secs(1);

/// A server whose steps are taken by hand.
pub struct Office {
    pub desk: Desk,
    pub triage: Triage,
    pub stop: CancellationToken,
}

impl Office {
    pub fn new(desk: Desk) -> Self {
        let triage = Self::server(&desk, &desk.store);
        Self { desk, triage, stop: CancellationToken::new() }
    }

    pub fn server(desk: &Desk, store: &Arc<Store>) -> Triage {
        let (limits, reader) = (RetryLimits::default(), desk.reader.clone());
        Triage::new(Arc::clone(store), desk.changes.clone(), desk.clock.clone(), limits, reader)
    }

    /// Begins a retry of all that is open; the answer is the address of its job, whose letters are known.
    pub async fn begin(&self, how: Value) -> String {
        let mut action = json!({"action": "retry", "filter": {"status": "open"}});
        action.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
        let started = self.desk.post("/api/v1/actions", &action).await.expect(202).json();
        let job = format!("/api/v1/jobs/{}", started["job"].as_str().unwrap());
        let is_known = async || {
            let job = self.desk.get(&job).await.json();
            job["pacing"]["stage"] != "freezing" && (job["pacing"] != Value::Null || job["state"] != "running")
        };
        wait_until("the letters to be known", PATIENCE, is_known).await;
        job
    }

    pub async fn job(&self, job: &str) -> Value {
        self.desk.get(job).await.expect(200).json()
    }

    pub async fn control(&self, job: &str, what: &str) -> Value {
        self.desk.post(&format!("{job}/{what}"), &json!({})).await.expect(200).json()
    }

    /// To send, pending, succeeded, failed again, not sent.
    pub async fn outcome(&self, job: &str) -> [u64; 5] {
        let outcome = self.job(job).await["outcome"].clone();
        ["to_send", "pending", "succeeded", "failed_again", "not_sent"].map(|name| outcome[name].as_u64().unwrap())
    }

    /// All steps that are due.
    pub async fn steps(&self) {
        while self.triage.take_steps(&self.stop).await.unwrap() == Next::Now {}
    }

    /// Sends what is due, and says which letters that is.
    pub async fn send(&self) -> Vec<LetterId> {
        let now = self.desk.clock.now();
        let claimed = self.desk.store.claim_due_retries(MAIN, now, 60 * SECOND, 10_000).await.unwrap();
        let ended: Vec<_> = claimed.iter().map(|retry| (retry, RetryOutcome::Confirmed)).collect();
        self.desk.store.finish_retries(&ended, now).await.unwrap();
        claimed.iter().map(|retry| retry.id).collect()
    }

    /// Takes steps and sends for so long, and says how many were sent.
    pub async fn go_on(&self, time: Duration) -> usize {
        let (until, mut sent) = (self.desk.clock.now().plus(time), 0);
        while self.desk.clock.now() < until {
            self.desk.clock.advance(SECOND / 4);
            self.steps().await;
            sent += self.send().await.len();
        }
        sent
    }

    /// Takes steps for so long, in which nothing may be sent: longer ones than where it matters when something is.
    pub async fn nothing_is_sent_for(&self, time: Duration, why: &str) {
        let until = self.desk.clock.now().plus(time);
        while self.desk.clock.now() < until {
            self.desk.clock.set(self.desk.clock.now().plus(5 * SECOND).min(until));
            self.steps().await;
            assert_eq!(self.send().await, [], "{why}");
        }
    }

    /// Letters in `orders` that came in a minute before noon.
    async fn receive(&self, n: usize) {
        let dead = |_| dead_in("orders").received(NOON.minus(60 * SECOND));
        self.desk.receive_all(MAIN, (0..n).map(dead).collect()).await;
    }

    pub async fn fails_again(&self, ids: &[LetterId]) {
        let at = self.desk.clock.now();
        let dead = |id: &LetterId| {
            failed_with(dead_in("orders"), "again").received(at).with(|arrival| arrival.returning = Some(*id))
        };
        assert_eq!(self.desk.receive_all(MAIN, ids.iter().map(dead).collect()).await, ids);
    }

    async fn open(&self) -> u64 {
        self.desk.get("/api/v1/letters?status=open&limit=1").await.json()["total"].as_u64().unwrap()
    }
}

async fn a_rate_is_kept_and_a_restart_neither_bursts_nor_repeats(office: &Office) {
    office.receive(100).await;
    let job = office.begin(json!({"rate": 10})).await;
    assert_eq!(office.outcome(&job).await, [100, 0, 0, 0, 0]);
    let sent = office.go_on(5 * SECOND).await;
    assert!((48..=52).contains(&sent), "{sent} in 5 s");
    // Nobody is there for ten minutes.
    office.desk.clock.advance(600 * SECOND);
    let sent_at_once = office.go_on(SECOND / 4).await;
    assert!(sent_at_once <= 3, "{sent_at_once} at once");
    let rest = office.go_on(6 * SECOND).await;
    assert_eq!(sent + sent_at_once + rest, 100, "each once");
    let status = office.job(&job).await;
    assert_eq!((&status["state"], &status["done"], &status["failed"]), (&json!("done"), &json!(100), &json!(0)));
    assert_eq!(office.outcome(&job).await, [0, 100, 0, 0, 0]);
    office.desk.clock.advance(3_000 * SECOND);
    let sent = sent as u64;
    assert_eq!(office.outcome(&job).await, [0, 100 - sent, sent, 0, 0], "the first were sent more than an hour ago");
    office.desk.clock.advance(601 * SECOND);
    assert_eq!(office.outcome(&job).await, [0, 0, 100, 0, 0]);
}

async fn what_is_spread_takes_its_time(office: &Office) {
    alike(&office.desk, "orders", "x", 60).await;
    let job = office.begin(json!({"spread": "30s"})).await;
    let sent = office.go_on(10 * SECOND).await;
    assert!((19..=22).contains(&sent), "{sent}");
    assert_eq!(office.go_on(25 * SECOND).await + sent, 60);
    assert_eq!(office.job(&job).await["state"], "done");
}

async fn a_canary_that_does_well_lets_the_rest_go(office: &Office) {
    alike(&office.desk, "orders", "x", 50).await;
    let canary = json!({"first": 10, "wait": "1m", "at_most_failed_percent": 10});
    let job = office.begin(json!({"canary": canary})).await;
    office.steps().await;
    let first = office.send().await;
    assert_eq!(first.len(), 10);
    office.fails_again(&first[..1]).await;
    office.nothing_is_sent_for(59 * SECOND, "it waits").await;
    assert_eq!(office.outcome(&job).await, [40, 9, 0, 1, 0]);
    assert_eq!(office.go_on(2 * SECOND).await, 40);
    let status = office.job(&job).await;
    assert_eq!(status["state"], "done");
    assert_eq!((&status["pacing"]["canary_sent"], &status["pacing"]["canary_failed"]), (&json!(10), &json!(1)));
}

async fn a_canary_that_does_not_stops_the_rest(office: &Office) {
    alike(&office.desk, "orders", "x", 50).await;
    let canary = json!({"first": 10, "wait": "1m", "at_most_failed_percent": 10});
    let job = office.begin(json!({"canary": canary, "rate": 20})).await;
    office.go_on(SECOND).await;
    let sent = office.desk.store.letters_of_job(job_id(&job), "sent", 99).await.unwrap();
    office.fails_again(&sent[..2]).await;
    office.nothing_is_sent_for(90 * SECOND, "it is stopped").await;
    let status = office.job(&job).await;
    assert_eq!((&status["state"], &status["done"]), (&json!("stopped"), &json!(10)));
    assert_eq!(office.outcome(&job).await, [0, 8, 0, 2, 40]);
    assert_eq!(office.open().await, 42);
    let page = office.desk.page(&job.replace("/api/v1", "")).await;
    let words = page.words("#jobs");
    assert!(words.contains("10 sent, 2 of them failed again: stopped; nothing else was sent."), "{words}");
    sort(&office.desk).await;
    let report = office.job(&format!("{job}/report")).await;
    assert_eq!(
        (&report["failed_again"][0]["error"], &report["failed_again"][0]["letters"]),
        (&json!("again"), &json!(2))
    );
    let table = office.desk.get(&format!("{job}/report.csv")).await.expect(200);
    assert!(table.text().contains("\"orders\",\"\",\"again\",2"), "{}", table.text());
}

async fn what_is_paused_is_not_sent_until_it_is_resumed(office: &Office) {
    office.receive(60).await;
    let job = office.begin(json!({"rate": 10})).await;
    let sent = office.go_on(3 * SECOND).await;
    // Some are on their way and not sent.
    office.desk.clock.advance(SECOND / 2);
    office.steps().await;
    let paused = office.control(&job, "pause").await;
    assert_eq!((&paused["state"], &paused["done"]), (&json!("paused"), &json!(sent)));
    office.nothing_is_sent_for(60 * SECOND, "it is paused").await;
    assert_eq!(office.open().await, 60 - sent as u64);
    assert_eq!(office.outcome(&job).await[0], 60 - sent as u64);
    office.desk.post(&format!("{job}/pause"), &json!({})).await.problem(409);
    office.control(&job, "resume").await;
    assert!(office.go_on(SECOND).await <= 12, "no burst");
    office.go_on(4 * SECOND).await;
    assert_eq!(office.outcome(&job).await, [0, 60, 0, 0, 0]);
    assert_eq!(office.job(&job).await["state"], "done");
    let activity = office.desk.get("/api/v1/activity").await.json();
    let actions: Vec<_> = activity["items"].as_array().unwrap().iter().map(|item| item["action"].clone()).collect();
    assert_eq!(actions, ["resume", "pause", "retry"]);
    assert_eq!(activity["items"][2]["letters"], 60 + 5, "those that were taken back are counted again");
}

async fn what_was_all_scheduled_at_once_is_paused_too(office: &Office) {
    alike(&office.desk, "orders", "x", 30).await;
    let job = office.begin(json!({})).await;
    assert_eq!(office.outcome(&job).await, [30, 0, 0, 0, 0]);
    assert_eq!(office.control(&job, "pause").await["state"], "paused");
    assert_eq!((office.go_on(5 * SECOND).await, office.open().await), (0, 30));
    office.control(&job, "resume").await;
    office.triage.take_up(&office.stop).await.unwrap();
    assert_eq!(office.go_on(5 * SECOND).await, 30);
    assert_eq!(office.outcome(&job).await, [0, 30, 0, 0, 0]);
}

/// Nor what was discarded when the job was begun.
async fn what_somebody_has_reopened_is_not_sent_when_the_others_are_resumed(office: &Office) {
    let ids = alike(&office.desk, "orders", "x", 31).await;
    office.desk.bring(ids[30], Status::Discarded).await;
    let job = office.begin(json!({})).await;
    for id in [ids[3], ids[30]] {
        office.desk.command(id, Command::Reopen).await;
    }
    office.control(&job, "pause").await;
    office.control(&job, "resume").await;
    office.triage.take_up(&office.stop).await.unwrap();
    assert_eq!(office.go_on(5 * SECOND).await, 29);
    for id in [ids[3], ids[30]] {
        assert_eq!(office.desk.status(id).await, Status::Open);
    }
    assert_eq!(office.outcome(&job).await, [0, 29, 0, 0, 1]);
    assert_eq!(office.job(&job).await["state"], "done");
}

async fn a_paused_queue_holds_up_no_others(office: &Office) {
    let [paused, others] = [alike(&office.desk, "orders", "x", 20).await, alike(&office.desk, "texts", "x", 20).await];
    let sent_of = async |ids: &[LetterId]| {
        let mut sent = 0;
        for id in ids {
            sent += usize::from(office.desk.status(*id).await == Status::Retried);
        }
        sent
    };
    let job = office.begin(json!({"rate": 10})).await;
    office.go_on(SECOND).await;
    // Some are on their way and not sent.
    office.desk.clock.advance(SECOND / 2);
    office.steps().await;
    office.desk.post("/api/v1/queues/main/orders/pause", &json!({})).await.expect(200);
    let before = sent_of(&paused).await;
    office.go_on(5 * SECOND).await;
    assert_eq!((sent_of(&paused).await, sent_of(&others).await), (before, 20));
    let status = office.job(&job).await;
    assert_eq!((&status["state"], &status["outcome"]["held"]), (&json!("running"), &json!(true)));
    assert_eq!(office.outcome(&job).await[..2], [20 - before as u64, 20 + before as u64]);
    office.desk.post("/api/v1/queues/main/orders/resume", &json!({})).await.expect(200);
    assert!(office.go_on(SECOND).await <= 17, "no burst");
    office.go_on(3 * SECOND).await;
    assert_eq!(office.outcome(&job).await[..2], [0, 40]);
    assert_eq!(office.job(&job).await["state"], "done");

    // Nothing of a queue that was paused before goes, and that is told.
    alike(&office.desk, "orders", "x", 3).await;
    office.desk.post("/api/v1/queues/main/orders/pause", &json!({})).await.expect(200);
    let job = office.begin(json!({"rate": 10})).await;
    assert_eq!(office.go_on(5 * SECOND).await, 0);
    let page = office.desk.page(&job.replace("/api/v1", "")).await.words("#jobs");
    assert!(page.contains("0 of 3 sent. Retries into a queue that is paused wait until it is resumed."), "{page}");
    office.desk.post("/api/v1/queues/main/orders/resume", &json!({})).await.expect(200);
    assert_eq!(office.go_on(SECOND).await, 3);
}

/// There is nothing to see before the queue is resumed, and then it goes on at once.
async fn what_only_a_paused_queue_holds_up_is_looked_at_seldom(office: &Office) {
    alike(&office.desk, "orders", "x", 3).await;
    let switch = async |to: &str| {
        office.desk.post(&format!("/api/v1/queues/main/orders/{to}"), &json!({})).await.expect(200);
    };
    let is_due_in = async |time| {
        let due = office.desk.store.jobs_due(office.desk.clock.now().plus(time)).await.unwrap();
        !due.is_empty()
    };
    switch("pause").await;
    let job = office.begin(json!({"rate": 10})).await;
    office.steps().await;
    assert_eq!((is_due_in(HELD_LOOK - LOOK).await, is_due_in(HELD_LOOK).await), (false, true));
    switch("resume").await;
    assert!(is_due_in(Duration::ZERO).await);
    office.steps().await;
    assert_eq!(office.send().await.len(), 1);

    // The others are on their way when it is paused again.
    office.desk.clock.advance(SECOND);
    office.steps().await;
    switch("pause").await;
    assert_eq!(office.send().await.len(), 0);
    office.desk.clock.advance(SECOND);
    office.steps().await;
    assert_eq!((is_due_in(HELD_LOOK - LOOK).await, is_due_in(HELD_LOOK).await), (false, true));
    switch("resume").await;
    assert_eq!(office.go_on(4 * SECOND).await, 2);
    assert_eq!(office.job(&job).await["state"], "done");
}

async fn what_is_to_wait_waits_however_often_it_is_paused(office: &Office) {
    alike(&office.desk, "orders", "x", 40).await;
    let canary = json!({"first": 5, "wait": "10s", "at_most_failed_percent": 10});
    for how in [json!({"rate": 1}), json!({"spread": "1h"}), json!({ "canary": canary }), json!({})] {
        let mut delayed = json!({"delay": "10m"});
        delayed.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
        let job = office.begin(delayed).await;
        for _ in 0..2 {
            assert_eq!(office.control(&job, "pause").await["state"], "paused");
            office.control(&job, "resume").await;
            office.triage.take_up(&office.stop).await.unwrap();
            office.nothing_is_sent_for(5 * SECOND, &how.to_string()).await;
            assert_ne!(office.job(&job).await["begins_at"], Value::Null, "{how}");
        }
        office.desk.clock.advance(590 * SECOND);
        assert!(office.go_on(5 * SECOND).await > 0, "{how}");
        assert_eq!(office.job(&job).await["begins_at"], Value::Null);
        office.desk.post(&format!("{job}/cancel"), &json!({})).await;
    }
    // What was taken back is not due.
    alike(&office.desk, "orders", "x", 3).await;
    let job = office.begin(json!({"delay": "10m"})).await;
    assert_ne!(office.job(&job).await["begins_at"], Value::Null);
    office.desk.post(&format!("{job}/undo"), &json!({})).await.expect(202);
    wait_until("it to be undone", PATIENCE, async || office.outcome(&job).await[0] == 0).await;
    assert_eq!(office.job(&job).await["begins_at"], Value::Null);
}

async fn what_is_cancelled_is_open_again(office: &Office) {
    alike(&office.desk, "orders", "x", 20).await;
    let job = office.begin(json!({"rate": 4})).await;
    let sent = office.go_on(SECOND).await;
    assert_eq!(office.control(&job, "cancel").await["state"], "cancelled");
    office.nothing_is_sent_for(20 * SECOND, "it is cancelled").await;
    assert_eq!(office.open().await, 20 - sent as u64);
    assert_eq!(office.outcome(&job).await, [0, sent as u64, 0, 0, 20 - sent as u64]);
    office.desk.post(&format!("{job}/cancel"), &json!({})).await.problem(409);
    office.desk.post(&format!("{job}/resume"), &json!({})).await.problem(409);
    office.desk.post(&format!("{job}/undo"), &json!({})).await.problem(409);
}

async fn what_fails_before_its_confirm_counts(office: &Office) {
    alike(&office.desk, "orders", "x", 2).await;
    let job = office.begin(json!({})).await;
    let now = office.desk.clock.now();
    let claimed = office.desk.store.claim_due_retries(MAIN, now, SECOND, 9).await.unwrap();
    office.fails_again(&[claimed[0].id]).await;
    let ended: Vec<_> = claimed.iter().map(|retry| (retry, RetryOutcome::Confirmed)).collect();
    office.desk.store.finish_retries(&ended, now).await.unwrap();
    assert_eq!(office.outcome(&job).await, [0, 1, 0, 1, 0]);
    // It is another retry that fails the next time.
    office.desk.command(claimed[0].id, dead_letter_office::domain::command::Command::Discard { note: None }).await;
    assert_eq!(office.outcome(&job).await, [0, 1, 0, 1, 0]);
}

async fn two_servers_send_each_letter_once(office: &Office) {
    office.receive(60).await;
    let job = office.begin(json!({"rate": 20})).await;
    // SQLite has one server, of which two tasks may do the same.
    let url = office.desk.database_url();
    let is_shared = url.starts_with("postgres");
    let store = if is_shared { Arc::new(Store::open(&url).await.unwrap()) } else { Arc::clone(&office.desk.store) };
    let second = Office::server(&office.desk, &store);
    let mut sent = Vec::new();
    for _ in 0..18 {
        office.desk.clock.advance(SECOND / 4);
        let (one, other) = tokio::join!(office.triage.take_steps(&office.stop), second.take_steps(&office.stop));
        one.and(other).unwrap();
        sent.extend(office.send().await);
    }
    let n = sent.len();
    sent.sort();
    sent.dedup();
    assert_eq!((n, sent.len()), (60, 60));
    assert_eq!(office.outcome(&job).await, [0, 60, 0, 0, 0]);
}

/// It ends with these, a minute later at most, and says so.
async fn what_a_dead_server_has_claimed_holds_up_no_others(office: &Office) {
    office.receive(50).await;
    let job = office.begin(json!({"rate": 10})).await;
    let sent = office.go_on(SECOND).await;
    office.desk.clock.advance(SECOND);
    office.steps().await;
    let died = office.desk.clock.now();
    let claimed = office.desk.store.claim_due_retries(MAIN, died, LEASE, 100).await.unwrap().len();
    assert!(claimed > 0);
    assert_eq!(office.job(&job).await["waits_until"], Value::Null, "it may be sending them");
    let rest = office.go_on(5 * SECOND).await;
    assert_eq!(sent + claimed + rest, 50, "all others are sent at their rate");
    office.nothing_is_sent_for(11 * SECOND, "all that is left is claimed").await;
    let status = office.job(&job).await;
    let until = "2026-11-21T12:01:02.000000Z";
    assert_eq!((&status["state"], &status["waits_until"]), (&json!("running"), &json!(until)));
    let page = office.desk.page(&job.replace("/api/v1", "")).await;
    let words = page.words("#jobs");
    assert!(words.contains("has not been heard of for 16 s; another sends them after 12:01:02 UTC."), "{words}");
    office.nothing_is_sent_for(LEASE - 17 * SECOND, "it is claimed still").await;
    assert_eq!(office.go_on(2 * SECOND).await, claimed);
    let status = office.job(&job).await;
    assert_eq!((&status["state"], &status["waits_until"]), (&json!("done"), &Value::Null));
}

/// Whichever takes a letter first sends it.
async fn of_two_equal_retries_each_letter_is_sent_by_one(office: &Office) {
    office.receive(20).await;
    let jobs = [office.begin(json!({"rate": 10})).await, office.begin(json!({"rate": 10})).await];
    assert_eq!(office.go_on(4 * SECOND).await, 20);
    let mut sum = [0, 0];
    for job in &jobs {
        let status = office.job(job).await;
        assert_eq!((&status["state"], &status["failed"], &status["errors"]), (&json!("done"), &json!(0), &json!([])));
        let [done, skipped] = ["done", "skipped"].map(|name| status[name].as_u64().unwrap());
        assert_eq!(done + skipped, 20);
        assert_eq!(office.outcome(job).await, [0, done, 0, 0, skipped], "none is taken from another");
        sum = [sum[0] + done, sum[1] + skipped];
        let words = office.desk.page(&job.replace("/api/v1", "")).await.words("#jobs");
        assert!(skipped == 0 || words.contains(&format!("{skipped} skipped: somebody else")), "{words}");
    }
    assert_eq!(sum, [20, 20]);
}

async fn a_letter_that_somebody_else_has_dealt_with_is_left_alone(office: &Office) {
    let ids = alike(&office.desk, "orders", "x", 4).await;
    let job = office.begin(json!({"rate": 1, "delay": "1m"})).await;
    office.nothing_is_sent_for(59 * SECOND, "it begins later").await;
    office.desk.bring(ids[1], Status::Discarded).await;
    // Sent by somebody, and back: it has come in later than what is meant.
    office.desk.retry_ends(ids[2], RetryOutcome::Confirmed).await;
    office.fails_again(&[ids[2]]).await;
    assert_eq!(office.go_on(30 * SECOND).await, 2);
    let status = office.job(&job).await;
    assert_eq!((&status["state"], &status["done"], &status["failed"]), (&json!("done"), &json!(2), &json!(0)));
    assert_eq!(status["skipped"], 2);
    assert_eq!(office.outcome(&job).await, [0, 2, 0, 0, 2]);
    assert_eq!(office.desk.status(ids[2]).await, Status::Open);
}

const GONE: &str = "no queue \"orders\" on \"main\"";

async fn why_letters_were_not_sent_is_told(office: &Office) {
    let ids = alike(&office.desk, "orders", "x", 10).await;
    let job = office.begin(json!({"delay": "1m"})).await;
    office.desk.command(ids[0], Command::Reopen).await;
    office.desk.clock.advance(60 * SECOND);
    let now = office.desk.clock.now();
    let claimed = office.desk.store.claim_due_retries(MAIN, now, LEASE, 100).await.unwrap();
    let outcome = |n| if n < 3 { RetryOutcome::Failed(GONE.into()) } else { RetryOutcome::Confirmed };
    let ended: Vec<_> = claimed.iter().enumerate().map(|(n, retry)| (retry, outcome(n))).collect();
    office.desk.store.finish_retries(&ended, now).await.unwrap();
    assert_eq!(office.outcome(&job).await, [0, 6, 0, 0, 4]);
    let told = [(GONE, 3), ("taken back before they were sent", 1)];
    assert_eq!(not_sent(office, &job).await, told.map(|(why, letters)| json!({"why": why, "letters": letters})));
    let table = office.desk.get(&format!("{job}/report.csv")).await.expect(200).text();
    assert!(table.starts_with("outcome,group,queue,message_type,error,letters\r\n"), "{table}");
    assert!(table.contains("not sent,,,,\"no queue \"\"orders\"\" on \"\"main\"\"\",3\r\n"), "{table}");
    let page = office.desk.page(&job.replace("/api/v1", "")).await.words("#jobs");
    assert!(page.contains("No queue \"orders\" on \"main\" 3 Taken back before they were sent 1"), "{page}");

    // The four are open again.
    let job = office.begin(json!({"rate": 1})).await;
    let sent = office.go_on(SECOND).await;
    let rest = 4 - sent;
    office.control(&job, "cancel").await;
    let why = "the job was cancelled before it came to them: they were left as they were";
    assert_eq!(not_sent(office, &job).await, [json!({"why": why, "letters": rest})]);
    let page = office.desk.page(&job.replace("/api/v1", "")).await.words("#jobs");
    assert!(page.contains(&format!("Cancelled: {sent} sent, {rest} were not sent.")), "{page}");

    let job = office.begin(json!({"rate": 1, "delay": "1m"})).await;
    for id in ids {
        if office.desk.status(id).await == Status::Open {
            office.desk.bring(id, Status::Discarded).await;
        }
    }
    office.go_on(70 * SECOND).await;
    let why = "somebody else had dealt with them meanwhile, or they had come in again";
    assert_eq!(not_sent(office, &job).await, [json!({"why": why, "letters": rest})]);
}

async fn how_long_it_takes_is_not_said_of_what_does_not_go_on(office: &Office) {
    let desk = &office.desk;
    office.receive(40).await;
    let job = office.begin(json!({"rate": 5, "delay": "10m"})).await;
    let page = job.strip_prefix("/api/v1").unwrap();
    let says = async || desk.page(page).await.words("#jobs");
    let waits = says().await;
    assert!(waits.contains("after 10 min, 5 per second") && waits.contains("0 of 40 sent."), "{waits}");
    assert!(waits.contains("scheduled") && waits.contains("The first is due in 10 min"), "{waits}");
    desk.clock.advance(600 * SECOND);
    office.steps().await;
    assert!(says().await.contains("0 of 40 sent, about 8 s left."), "{}", says().await);
    desk.post("/api/v1/queues/main/orders/pause", &json!({})).await.expect(200);
    assert_eq!(office.go_on(2 * SECOND).await, 0);
    let held = says().await;
    assert!(held.contains("waiting") && held.contains("0 of 40 sent."), "{held}");
    assert!(held.contains("Retries into a queue that is paused wait until it is resumed."), "{held}");
    assert_eq!(office.job(&job).await["outcome"]["held"], true);
    desk.post("/api/v1/queues/main/orders/resume", &json!({})).await.expect(200);
    assert!(office.go_on(4 * SECOND).await > 0);
    assert!(says().await.contains("left."), "{}", says().await);
}

async fn what_is_not_told_apart_is_not_said_to_be_something_else(office: &Office) {
    const ALL: usize = 210;
    office.receive(ALL).await;
    let job = office.begin(json!({})).await;
    let now = office.desk.clock.now();
    let claimed = office.desk.store.claim_due_retries(MAIN, now, LEASE, ALL).await.unwrap();
    let failed = |(n, retry)| (retry, RetryOutcome::Failed(format!("no queue {n}")));
    office.desk.store.finish_retries(&claimed.iter().enumerate().map(failed).collect::<Vec<_>>(), now).await.unwrap();
    let told = not_sent(office, &job).await;
    assert_eq!(told.iter().map(|reason| reason["letters"].as_u64().unwrap()).sum::<u64>(), ALL as u64);
    let others = told.iter().filter(|reason| !reason["why"].as_str().unwrap().starts_with("no queue "));
    assert_eq!(others.collect::<Vec<_>>(), [&json!({"why": "other reasons", "letters": 10})]);
}

async fn not_sent(office: &Office, job: &str) -> Vec<Value> {
    office.job(&format!("{job}/report")).await["not_sent"].as_array().unwrap().clone()
}

async fn what_waits_to_be_sent_is_under_way(office: &Office) {
    alike(&office.desk, "orders", "x", 2).await;
    let job = office.begin(json!({"delay": "10m"})).await;
    let states = async || {
        let page = office.desk.page("/jobs").await;
        let in_part = |part: &str| page.all(&format!("section[aria-labelledby={part}] .mark-state")).len();
        (in_part("under-way-title"), in_part("finished-title"), page.words(".mark-state"))
    };
    assert_eq!(states().await, (1, 0, "scheduled".to_owned()));
    office.desk.clock.advance(600 * SECOND);
    assert_eq!(states().await, (1, 0, "sending".to_owned()));
    assert_eq!(office.send().await.len(), 2);
    assert_eq!(states().await, (0, 1, "done".to_owned()));
    let page = office.desk.page(&job.replace("/api/v1", "")).await;
    assert_eq!(page.all("form[action$=undo]").len(), 0, "all is sent");
}

async fn nothing_is_undone_twice(office: &Office) {
    alike(&office.desk, "orders", "x", 2).await;
    let undo = async |job: &str| office.desk.post(&format!("{job}/undo"), &json!({})).await;
    let discard = json!({"action": "discard", "filter": {"status": "open"}});
    let started = office.desk.post("/api/v1/actions", &discard).await.expect(202).json();
    let discarded = format!("/api/v1/jobs/{}", started["job"].as_str().unwrap());
    wait_until("all to be discarded", PATIENCE, async || office.job(&discarded).await["state"] == "done").await;
    undo(&discarded).await.expect(202);
    wait_until("all to be open", PATIENCE, async || office.open().await == 2).await;
    let why = undo(&discarded).await.problem(409);
    assert!(why.starts_with("There is nothing left to undo: "), "{why}");

    let retried = office.begin(json!({"delay": "10m"})).await;
    undo(&retried).await.expect(202);
    wait_until("all to be taken back", PATIENCE, async || office.open().await == 2).await;
    undo(&retried).await.problem(409);
    let page = office.desk.page(&retried.replace("/api/v1", "")).await;
    assert_eq!(page.all("form[action$=undo]").len(), 0);
}

async fn what_can_be_known_beforehand_is_said(office: &Office) {
    let ids = alike(&office.desk, "orders", "x", 8).await;
    for id in &ids[..6] {
        office.desk.retry_ends(*id, RetryOutcome::Confirmed).await;
    }
    let ask = json!({"action": "retry", "filter": {"status": "open"}});
    let told = office.desk.post("/api/v1/actions/preview", &ask).await.expect(200).json();
    assert_eq!(told["earlier_retries"], 0, "it is too early to tell");
    office.fails_again(&ids[..6]).await;
    office.desk.receive(super::dead::dead_somewhere()).await;
    let told = office.desk.post("/api/v1/actions/preview", &ask).await.expect(200).json();
    assert_eq!((&told["total"], &told["earlier_retries"], &told["failed_again"]), (&json!(9), &json!(6), &json!(6)));
    assert_eq!((&told["suggestion"], &told["refused"][0]["letters"]), (&json!("canary"), &json!(1)));
    // What was sent of other groups says nothing of these.
    let others = alike(&office.desk, "orders", "out of stock", 3).await;
    index(&office.desk).await;
    let ask = json!({"action": "retry", "filter": {"q": "stock"}});
    let of_others = office.desk.post("/api/v1/actions/preview", &ask).await.expect(200).json();
    assert_eq!((&of_others["total"], &of_others["earlier_retries"]), (&json!(3), &json!(0)));
    for id in others {
        office.desk.bring(id, Status::Discarded).await;
    }
    assert_eq!((&told["queues"][0]["name"], &told["queues"][0]["letters"]), (&json!("orders"), &json!(8)));
    assert_eq!(office.open().await, 9, "nothing is done");
    let page = office.desk.page(&format!("{}?all=retry", group_of(&office.desk, ids[7]).await)).await;
    assert!(page.words(".confirm-facts").contains("Suggested: a canary."), "{}", page.words(".confirm-facts"));
    assert_eq!(page.all("[name=pace][checked]").len(), 1);
    // Sent elsewhere, those can be retried, too, of which nothing says where they failed.
    let now = office.desk.clock.now().as_micros().to_string();
    for (queue, is_refused) in [("", true), ("elsewhere", false)] {
        let asked = [("part", "preflight"), ("until", &*now), ("queue", queue)];
        let part = submit(&office.desk, "/letters/all?status=open", &asked).await.expect(200).page();
        assert_eq!(part.html().contains("1 will be refused"), is_refused, "{}", part.html());
    }
    for queue in ["dlo.due".to_owned(), "o".repeat(256)] {
        let asked = [("part", "preflight"), ("until", &*now), ("queue", &queue)];
        let part = submit(&office.desk, "/letters/all?status=open", &asked).await.expect(200).page();
        assert!(part.html().contains("None of them can be sent there."), "{}", part.html());
    }
    office.desk.receive(dead_in("amq.gen-x")).await;
    let own = json!({"action": "retry", "filter": {"queue": "amq.gen-x"}});
    let told = office.desk.post("/api/v1/actions/preview", &own).await.expect(200).json();
    assert_eq!((&told["total"], &told["refused"][0]["letters"]), (&json!(1), &json!(1)));
}

async fn of_what_must_not_be_retried_only_that_of_the_time_is_counted(office: &Office) {
    for minutes in [1, 2, 3] {
        let at = NOON.minus(minutes * 60 * SECOND);
        let danger = Some(Danger::EasynetqBody);
        office.desk.receive(dead_in("orders").received(at).with(|arrival| arrival.failure.danger = danger)).await;
    }
    let refused = async |filter: Value| {
        let ask = json!({"action": "retry", "filter": filter});
        let told = office.desk.post("/api/v1/actions/preview", &ask).await.expect(200).json();
        (told["total"].clone(), told["refused"][0]["letters"].clone())
    };
    assert_eq!(refused(json!({"status": "open"})).await, (json!(3), json!(3)));
    let (since, until) = ("2026-11-21T11:57:30Z", "2026-11-21T11:58:30Z");
    assert_eq!(refused(json!({"since": since})).await, (json!(2), json!(2)));
    assert_eq!(refused(json!({"until": until})).await, (json!(2), json!(2)));
    assert_eq!(refused(json!({"since": since, "until": until})).await, (json!(1), json!(1)));
}

async fn only_groups_that_the_letters_are_in_say_how_retries_ended(office: &Office) {
    let ids = alike(&office.desk, "orders", "x", 2).await;
    office.desk.retry_ends(ids[0], RetryOutcome::Confirmed).await;
    office.fails_again(&ids[..1]).await;
    let critical = alike(&office.desk, "orders", "out of stock", 1).await[0];
    office.desk.command(critical, Command::SetImportance(Importance::Critical)).await;
    index(&office.desk).await;
    for (filter, letters, retries) in [
        (json!({"status": "open"}), 3, 1),
        (json!({"status": "open", "importance": "normal"}), 2, 1),
        (json!({"status": "open", "importance": "critical"}), 1, 0),
        (json!({"importance": "normal"}), 2, 1),
        (json!({"importance": "critical"}), 1, 0),
        (json!({"q": "stock"}), 1, 0),
        (json!({"q": "stock", "since": "2026-11-21T00:00:00Z"}), 1, 0),
        (json!({"since": "2026-11-21T00:00:00Z"}), 3, 1),
        (json!({"since": "2026-11-22T00:00:00Z"}), 0, 0),
        (json!({"since": "2026-11-21T00:00:00Z", "queue": "other"}), 0, 0),
    ] {
        let ask = json!({"action": "retry", "filter": filter});
        let told = office.desk.post("/api/v1/actions/preview", &ask).await.expect(200).json();
        assert_eq!((&told["total"], &told["earlier_retries"]), (&json!(letters), &json!(retries)), "{ask}");
    }
}

fn job_id(address: &str) -> uuid::Uuid {
    address.rsplit('/').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_makes_no_sense_together_is_refused_by_its_place() {
    let desk = Desk::open().await;
    let canary = |first, wait, percent| json!({"first": first, "wait": wait, "at_most_failed_percent": percent});
    let cases = [
        (json!({"rate": 5, "spread": "1h"}), "/spread"),
        (json!({"rate": 0}), "/rate"),
        (json!({"rate": 10_001}), "/rate"),
        (json!({"spread": "soon"}), "/spread"),
        (json!({"spread": "100d"}), "/spread"),
        (json!({"canary": canary(0, "1m", 10)}), "/canary/first"),
        (json!({"canary": canary(5, "x", 10)}), "/canary/wait"),
        (json!({"canary": canary(5, "1m", 100)}), "/canary/at_most_failed_percent"),
    ];
    for (how, pointer) in cases {
        let mut action = json!({"action": "retry", "filter": {"status": "open"}});
        action.as_object_mut().unwrap().extend(how.as_object().unwrap().clone());
        for path in ["/api/v1/actions", "/api/v1/actions/preview"] {
            let problem = desk.post(path, &action).await.expect(422).json();
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{action}: {problem}");
        }
    }
}

#[tokio::test]
async fn all_that_match_are_asked_about_and_held_back_on_the_pages() {
    let office = Office::new(Desk::open().await);
    alike(&office.desk, "orders", "x", 60).await;
    alike(&office.desk, "texts", "y", 3).await;
    let list = office.desk.page("/letters?queue=orders").await;
    assert!(list.words(".list-matching").contains("Select all 60 that match"), "{}", list.words(".list-matching"));
    let matching = [("matching", "/letters?queue=orders"), ("action", "retry"), ("back", "/letters")];
    let asked = submit(&office.desk, "/letters/actions", &matching).await.expect(303);
    let address = asked.header("location").to_owned();
    assert_eq!(address, "/letters/all?queue=orders&all=retry");
    let page = office.desk.page(&address).await;
    assert!(
        page.words(".confirm-box").contains("These 60 are meant, as they are now."),
        "{}",
        page.words(".confirm-box")
    );
    let until = page.all("[name=until]")[0].attr("value").unwrap().to_owned();
    let form = [
        ("until", &*until),
        ("action", "retry"),
        ("pace", "canary"),
        ("first", "5"),
        ("wait", "1m"),
        ("percent", "10"),
        ("then_rate", "10"),
        ("rate", "20"),
        ("spread", "1h"),
    ];
    let begun = submit(&office.desk, "/letters/all?queue=orders", &form).await.expect(303);
    let job = begun.header("location").to_owned();
    let shows = async |part: &str| {
        let page = office.desk.page(&job).await;
        page.words("#jobs").contains(part)
    };
    wait_until("the letters to be known", PATIENCE, async || shows("of the first 5 sent").await).await;
    let elsewhere = office.desk.page("/queues").await;
    assert!(elsewhere.words(".side-jobs").contains("Retry 60"), "{}", elsewhere.words(".side-jobs"));
    submit(&office.desk, &format!("{job}/pause"), &[("back", &job)]).await.expect(303);
    assert!(shows("Paused: 0 sent, 60 to send.").await);
    submit(&office.desk, &format!("{job}/resume"), &[("back", &job)]).await.expect(303);
    office.go_on(2 * SECOND).await;
    assert!(shows("5 of the first 5 sent, 0 of them failed again so far.").await);
    submit(&office.desk, &format!("{job}/cancel"), &[("back", "/jobs")]).await.expect(303);
    assert!(office.desk.page("/jobs").await.words("#jobs").contains("cancelled"));
    for action in ["discard", "importance", "reopen"] {
        let asked =
            submit(&office.desk, "/letters/actions", &[("matching", "/letters"), ("action", action)]).await.expect(303);
        office.desk.page(asked.header("location")).await;
    }
    submit(&office.desk, "/letters/actions", &[("matching", "https://x"), ("action", "retry")]).await.expect(400);
    submit(&office.desk, "/letters/actions", &[("matching", "/letters"), ("action", "note")]).await.expect(422);
}

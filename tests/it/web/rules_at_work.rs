//! Rules of importance at work: on letters that come in, on those that are here, from a file, in several processes.

use std::time::Duration;

use axum::http::Method;
use dead_letter_office::{
    config::DecodeConfig,
    domain::{
        actor::Actor,
        command::Command,
        history::Event,
        job::{APPLY_RULES, Job, JobState},
        letter::{Importance, LetterId, Status},
        rule::{Rule, RuleId},
        version::Expected,
    },
    metrics::Metrics,
    services::{
        decoding::reader::Reader,
        enrichment::{Enrichment, SoFar},
        rules::{Draft, RuleError, Rules, Trial},
    },
};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    dead::{Dead, dead_in},
    desk::{Desk, MAIN},
    payload::{OPENED, bring_lab},
};

/// How long a process may say nothing of a job before it is given up for dead.
const LEASE: Duration = Duration::from_secs(30);

/// Sorts as dlo does; each call is what one process does until it has nothing more to do.
pub async fn work(desk: &Desk) {
    work_with(desk, desk.rules.clone()).await;
}

async fn work_with(desk: &Desk, rules: Rules) {
    enrichment(desk, rules).work(&CancellationToken::new()).await.unwrap();
}

fn enrichment(desk: &Desk, rules: Rules) -> Enrichment {
    Enrichment {
        store: desk.store.clone(),
        reader: reader(desk),
        schemas: desk.schemas.clone(),
        rules,
        grouping_rules: desk.grouping_rules.clone(),
        group_splits: desk.group_splits.clone(),
        clock: desk.clock.clone(),
        metrics: Metrics::default(),
        feed: desk.feed.clone(),
        so_far: SoFar::default(),
    }
}

fn reader(desk: &Desk) -> Reader {
    Reader::new(desk.schemas.clone(), DecodeConfig::default())
}

fn rule(name: &str, expression: &str, importance: Importance) -> Rule {
    Rule { name: name.to_owned(), expression: expression.to_owned(), importance }
}

pub async fn add(desk: &Desk, name: &str, expression: &str, importance: Importance) -> RuleId {
    desk.rules.set(None, &rule(name, expression, importance), None, &Expected::Anything, &Actor::local()).await.unwrap()
}

/// How important it is, and who says so.
pub async fn evaluated(desk: &Desk, id: LetterId) -> (Importance, String) {
    let letter = desk.store.summary(id).await.unwrap().unwrap();
    (letter.importance, letter.importance_by)
}

fn by(importance: Importance, word: &str) -> (Importance, String) {
    (importance, word.to_owned())
}

async fn receive(desk: &Desk, n: usize) -> Vec<LetterId> {
    desk.receive_all(MAIN, (0..n).map(|_| dead_in("orders")).collect()).await
}

async fn job(desk: &Desk) -> Job {
    desk.store.latest_job(APPLY_RULES).await.unwrap().unwrap()
}

async fn times_set(desk: &Desk, id: LetterId) -> usize {
    desk.store.history(id).await.unwrap().iter().filter(|entry| entry.event == Event::ImportanceSet).count()
}

#[tokio::test]
async fn the_first_rule_that_matches_decides() {
    let desk = Desk::open().await;
    bring_lab(&desk).await;
    add(&desk, "the EU", "payload.region == \"eu\"", Importance::Critical).await;
    add(&desk, "doors", "letter.type == \"lab.v1.DoorOpened\" && payload.badge == \"4711\"", Importance::High).await;
    add(&desk, "texts", "letter.queue.startsWith(\"texts\")", Importance::Low).await;
    let sent = async |dead: Dead| desk.receive(dead).await;
    let eu = sent(dead_in("texts").body("{\"region\": \"eu\"}")).await;
    let text = sent(dead_in("texts").body("{\"region\": \"us\"}")).await;
    let door = sent(dead_in("doors").body(OPENED)).await;
    let other = sent(dead_in("orders")).await;
    work(&desk).await;
    assert_eq!(evaluated(&desk, eu).await, by(Importance::Critical, "rule:the EU"));
    assert_eq!(evaluated(&desk, text).await, by(Importance::Low, "rule:texts"));
    assert_eq!(evaluated(&desk, door).await, by(Importance::Normal, "default"), "nothing says that it is of that type");
    desk.command(door, Command::SetType(Some("lab.v1.DoorOpened".to_owned()))).await;
    work(&desk).await;
    assert_eq!(evaluated(&desk, door).await, by(Importance::High, "rule:doors"));
    assert_eq!(evaluated(&desk, other).await, by(Importance::Normal, "default"));
}

#[tokio::test]
async fn a_rule_that_fails_is_passed_by_and_counted() {
    let desk = Desk::open().await;
    let id = add(&desk, "odd", "10 / int(payload.n) > 1", Importance::Critical).await;
    add(&desk, "orders", "letter.queue == \"orders\"", Importance::Low).await;
    let [none, zero, text] =
        desk.receive_from(MAIN, ["{}", "{\"n\": 0}", "{\"n\": \"x\"}"].map(|body| dead_in("orders").body(body))).await;
    work(&desk).await;
    for letter in [none, zero, text] {
        assert_eq!(evaluated(&desk, letter).await, by(Importance::Low, "rule:orders"));
    }
    let failures = desk.rules.failures().await.unwrap().remove("odd").unwrap();
    assert_eq!(failures.count, 2, "what is missing is no failure");
    assert!([zero, text].contains(&failures.last_letter));
    assert!(failures.last_error.starts_with("line 1, column "), "{}", failures.last_error);
    let mended = rule("odd", "has(payload.n)", Importance::Critical);
    desk.rules.set(Some(id), &mended, None, &Expected::Anything, &Actor::local()).await.unwrap();
    assert!(desk.rules.failures().await.unwrap().is_empty());
}

#[tokio::test]
async fn hostile_letters_do_not_keep_others_waiting() {
    let desk = Desk::open().await;
    add(
        &desk,
        "all",
        "payload.list.all(a, payload.list.all(b, payload.list.all(c, a + b + c >= 0)))",
        Importance::High,
    )
    .await;
    let list = format!("{{\"list\": [{}0]}}", "0,".repeat(2_000));
    let deep = "[".repeat(100_000);
    let huge = format!("\"{}\"", "x".repeat(2 << 20));
    let bodies = [list.clone(), deep, huge, list, "{\"list\": [1]}".to_owned()];
    let ids = desk.receive_from(MAIN, bodies.map(|body| dead_in("orders").body(body))).await;
    work(&desk).await;
    assert_eq!(evaluated(&desk, ids[4]).await, by(Importance::High, "rule:all"));
    for id in &ids[..4] {
        assert_eq!(evaluated(&desk, *id).await, by(Importance::Normal, "default"));
    }
    let failures = desk.rules.failures().await.unwrap().remove("all").unwrap();
    assert!(
        failures.last_error.contains("too many steps") || failures.last_error.contains("too large"),
        "{failures:?}"
    );
}

#[tokio::test]
async fn rules_are_applied_to_what_awaits_and_a_hand_s_choice_stays() {
    let desk = Desk::open().await;
    let open = desk.receive(dead_in("orders")).await;
    let waits = desk.letter_in(Status::Scheduled).await;
    let by_hand = desk.letter_in(Status::Open).await;
    let over = desk.letter_in(Status::Discarded).await;
    desk.command(by_hand, Command::SetImportance(Importance::Low)).await;
    work(&desk).await;
    add(&desk, "orders", "letter.queue == \"orders\"", Importance::Critical).await;
    work(&desk).await;
    assert_eq!(evaluated(&desk, open).await, by(Importance::Normal, "default"), "not before it is asked for");
    desk.rules.apply(&Actor::local()).await.unwrap();
    assert_eq!((job(&desk).await.state, job(&desk).await.total), (JobState::Queued, 3));
    work(&desk).await;
    for id in [open, waits] {
        assert_eq!(evaluated(&desk, id).await, by(Importance::Critical, "rule:orders"));
    }
    assert_eq!(evaluated(&desk, by_hand).await, by(Importance::Low, "manual"));
    assert_eq!(evaluated(&desk, over).await, by(Importance::Normal, "default"), "what is over is not evaluated anew");
    let Job { state, done, total, .. } = job(&desk).await;
    assert_eq!((state, done, total), (JobState::Done, 3, 3));
}

#[tokio::test]
async fn a_job_goes_on_where_a_process_that_died_has_left_it() {
    let desk = Desk::open().await;
    let ids = receive(&desk, 600).await;
    work(&desk).await;
    add(&desk, "all", "true", Importance::High).await;
    let begun = desk.rules.apply(&Actor::local()).await.unwrap();
    let mut worker = enrichment(&desk, desk.rules.clone());
    let dies = async {
        while desk.store.job(begun).await.unwrap().unwrap().done == 0 {
            tokio::task::yield_now().await;
        }
    };
    let stop = CancellationToken::new();
    tokio::select! {
        biased;
        () = dies => {}
        _ = worker.work(&stop) => panic!("it did all of it"),
    }
    let left = desk.store.job(begun).await.unwrap().unwrap();
    assert!(left.state == JobState::Running && left.done < 600, "{left:?}");
    work(&desk).await;
    assert_eq!(job(&desk).await.done, left.done, "it may be alive");
    // Newcomers are sorted meanwhile.
    let newcomer = desk.receive(dead_in("orders")).await;
    desk.clock.advance(LEASE);
    work(&desk).await;
    let ended = job(&desk).await;
    assert_eq!((ended.id, ended.state, ended.done), (begun, JobState::Done, 600));
    for id in ids {
        assert_eq!(evaluated(&desk, id).await, by(Importance::High, "rule:all"));
        assert_eq!(times_set(&desk, id).await, 1, "each letter once");
    }
    assert_eq!(
        (evaluated(&desk, newcomer).await, times_set(&desk, newcomer).await),
        (by(Importance::High, "rule:all"), 0)
    );
}

#[tokio::test]
async fn a_job_that_is_told_to_stop_is_taken_up_at_once() {
    let desk = Desk::open().await;
    receive(&desk, 3).await;
    work(&desk).await;
    desk.rules.apply(&Actor::local()).await.unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    enrichment(&desk, desk.rules.clone()).work(&stop).await.unwrap();
    assert_eq!((job(&desk).await.state, job(&desk).await.done), (JobState::Running, 0));
    work(&desk).await;
    assert_eq!((job(&desk).await.state, job(&desk).await.done), (JobState::Done, 3));
}

#[tokio::test]
async fn a_job_that_is_cancelled_does_nothing_more() {
    let desk = Desk::open().await;
    let ids = receive(&desk, 3).await;
    work(&desk).await;
    add(&desk, "all", "true", Importance::High).await;
    let begun = desk.rules.apply(&Actor::local()).await.unwrap();
    desk.call(Method::POST, &format!("/api/v1/jobs/{begun}/cancel"), &json!({})).await.expect(200);
    work(&desk).await;
    assert_eq!(job(&desk).await.state, JobState::Cancelled);
    assert_eq!(evaluated(&desk, ids[0]).await, by(Importance::Normal, "default"));
}

#[tokio::test]
async fn another_process_applies_the_rules_as_they_are_now() {
    let desk = Desk::open().await;
    let letter = desk.receive(dead_in("orders")).await;
    let elsewhere = Rules::new(None, desk.changes.clone(), desk.clock.clone());
    elsewhere.reload().await.unwrap();
    work_with(&desk, elsewhere.clone()).await;
    add(&desk, "all", "true", Importance::Critical).await;
    assert!(elsewhere.in_force().active().is_empty(), "it has not looked since");
    desk.rules.apply(&Actor::local()).await.unwrap();
    work_with(&desk, elsewhere.clone()).await;
    assert_eq!(evaluated(&desk, letter).await, by(Importance::Critical, "rule:all"));
    let id = elsewhere.in_force().active()[0].id;
    desk.rules.remove(id, &Expected::Anything, &Actor::local()).await.unwrap();
    elsewhere.reload().await.unwrap();
    assert!(elsewhere.in_force().active().is_empty());
    let gone = elsewhere
        .set(Some(id), &rule("all", "true", Importance::Low), None, &Expected::Anything, &Actor::local())
        .await;
    assert!(matches!(gone, Err(RuleError::Gone)));
}

#[tokio::test]
async fn a_file_counts_as_long_as_it_is_right() {
    let desk = Desk::open().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.toml");
    let write = |text: &str| std::fs::write(&file, text).unwrap();
    let table =
        |name: &str, when: &str| format!("[[rule]]\nname = \"{name}\"\nwhen = '{when}'\nimportance = \"high\"\n");
    let rules = Rules::new(Some(file.clone()), desk.changes.clone(), desk.clock.clone());
    let names =
        || -> Vec<String> { rules.in_force().active().iter().map(|standing| standing.rule.name.clone()).collect() };
    let check = async |text: &str, expected: &[&str], problem: Option<&str>| {
        write(text);
        for _ in 0..2 {
            rules.reload().await.unwrap();
            assert_eq!(names(), expected, "{text}");
            let said = rules.problem();
            assert_eq!(said.is_some(), problem.is_some(), "{said:?}");
            assert!(said.unwrap_or_default().contains(problem.unwrap_or_default()), "{text}: {:?}", rules.problem());
        }
    };
    let [a, b] = [table("a", "true"), table("b", "letter.queue == \"x\"")];
    rules.reload().await.unwrap();
    assert!(rules.problem().unwrap().contains("No such file"));
    check(&format!("{a}{b}"), &["a", "b"], None).await;
    check(&format!("{b}{a}"), &["b", "a"], None).await;
    check("[[rule]", &["b", "a"], Some("TOML parse error")).await;
    check(&table("c", "letter.quue == \"x\""), &["b", "a"], Some("the rule \"c\": line 1, column ")).await;
    check(&table("", "true"), &["b", "a"], Some("a name takes 1 to 100 characters")).await;
    check(&a.repeat(2), &["b", "a"], Some("two rules are called \"a\"")).await;
    check(&format!("{b}{a}"), &["b", "a"], None).await;
    std::fs::remove_file(&file).unwrap();
    rules.reload().await.unwrap();
    assert_eq!(names(), ["b", "a"]);
    let set = rules.set(None, &rule("d", "true", Importance::Low), None, &Expected::Anything, &Actor::local()).await;
    assert!(matches!(set, Err(RuleError::InFile(_))));
    assert!(desk.store.rules().await.unwrap().is_empty());
}

#[tokio::test]
async fn failures_of_a_rule_in_a_file_are_forgotten_when_it_changes() {
    let desk = Desk::open().await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rules.toml");
    let write = |when: &str, importance: &str| {
        let text = format!("[[rule]]\nname = \"a\"\nwhen = '{when}'\nimportance = \"{importance}\"\n");
        std::fs::write(&file, text).unwrap();
    };
    let rules = Rules::new(Some(file.clone()), desk.changes.clone(), desk.clock.clone());
    write("1 / payload.n == 1", "high");
    rules.reload().await.unwrap();
    desk.receive(dead_in("orders").body("{\"n\": 0}")).await;
    work_with(&desk, rules.clone()).await;
    let failing = async || rules.failures().await.unwrap().len();
    assert_eq!(failing().await, 1);
    write("1 / payload.n == 1", "low");
    rules.reload().await.unwrap();
    assert_eq!(failing().await, 1, "it fails as it did");
    write("payload.n == 1", "low");
    rules.reload().await.unwrap();
    assert_eq!(failing().await, 0);
}

async fn try_out(desk: &Desk, id: Option<RuleId>, expression: &str, place: Option<usize>) -> Trial {
    let draft = Draft { id, rule: rule("", expression, Importance::Critical), place };
    desk.rules.try_draft(&reader(desk), &draft).await.unwrap()
}

#[tokio::test]
async fn a_draft_is_tried_in_its_place_and_nothing_is_written() {
    let desk = Desk::open().await;
    let low = add(&desk, "low", "letter.queue == \"orders\"", Importance::Low).await;
    let [first, second] =
        desk.receive_from(MAIN, ["{\"n\": 1}", "{\"n\": 2}"].map(|it| dead_in("orders").body(it))).await;
    let by_hand = desk.receive(dead_in("texts").body("{\"n\": 1}")).await;
    desk.command(by_hand, Command::SetImportance(Importance::High)).await;
    let over = desk.letter_in(Status::Discarded).await;
    work(&desk).await;
    let before = desk.store.activity(&Default::default(), None, 100).await.unwrap();

    let last = try_out(&desk, None, "payload.n == 1", None).await;
    assert_eq!((last.looked_at, last.takes, last.comes_too_late, last.n_changes()), (4, 1, 1, 0));
    assert_eq!(last.letters.iter().map(|tried| tried.letter.id).collect::<Vec<_>>(), [by_hand]);

    let first_of_all = try_out(&desk, None, "payload.n == 1", Some(0)).await;
    assert_eq!((first_of_all.takes, first_of_all.comes_too_late), (2, 0));
    assert_eq!(first_of_all.changes, [((Importance::Low, Importance::Critical), 1)].into());
    let told: Vec<_> = first_of_all.letters.iter().map(|tried| (tried.letter.id, tried.would_be)).collect();
    assert_eq!(told, [(first, Importance::Critical), (by_hand, Importance::High)], "what would change comes first");

    let instead = try_out(&desk, Some(low), "payload.n == 2", None).await;
    let changes = [((Importance::Low, Importance::Critical), 1), ((Importance::Low, Importance::Normal), 1)];
    assert_eq!((instead.takes, instead.changes.clone()), (1, changes.into()));
    assert!(instead.letters.iter().any(|tried| tried.letter.id == second && tried.is_taken));
    assert!(instead.letters.iter().all(|tried| tried.letter.id != over));

    let failing =
        try_out(&desk, None, "letter.size == 0 ? 1 / (letter.attempts - 1) == 1 : payload.n < 3", Some(0)).await;
    assert_eq!((failing.takes, failing.failures), (3, 1));
    assert!(failing.first_failure.unwrap().contains("divides by zero"));

    assert_eq!(evaluated(&desk, first).await, by(Importance::Low, "rule:low"));
    assert_eq!(desk.store.activity(&Default::default(), None, 100).await.unwrap(), before);
    assert!(desk.rules.failures().await.unwrap().is_empty());
    assert_eq!(desk.rules.in_force().active().len(), 1);
}

#[tokio::test]
async fn a_draft_that_cannot_be_tried_says_why() {
    let desk = Desk::open().await;
    let wrong = Draft { id: None, rule: rule("", "letter.quue == 1", Importance::Low), place: None };
    let Err(RuleError::Expression(mistakes)) = desk.rules.try_draft(&reader(&desk), &wrong).await else {
        panic!("it can be tried")
    };
    assert_eq!((mistakes.len(), mistakes[0].start.column), (1, 8));
    let gone = Draft { id: Some(RuleId::from_uuid(Uuid::nil())), rule: rule("", "true", Importance::Low), place: None };
    assert!(matches!(desk.rules.try_draft(&reader(&desk), &gone).await, Err(RuleError::Gone)));
}

#[tokio::test]
async fn a_draft_is_tried_on_the_newest_letters_and_first_on_those_that_await() {
    let desk = Desk::open().await;
    let over = desk.letter_in(Status::Discarded).await;
    receive(&desk, 499).await;
    let trial = try_out(&desk, None, "letter.queue == \"orders\"", None).await;
    assert_eq!((trial.looked_at, trial.takes, trial.n_changes()), (500, 500, 499));
    assert_eq!(trial.letters.len(), 20);
    receive(&desk, 1).await;
    let trial = try_out(&desk, None, "letter.queue == \"orders\"", None).await;
    assert_eq!((trial.looked_at, trial.takes, trial.n_changes()), (500, 500, 500), "{over} has no room");
}

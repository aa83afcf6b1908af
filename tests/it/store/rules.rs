//! Rules of importance: their order, their names, their failures, and who changed what.

use dead_letter_office::{
    domain::{
        activity::{ActivityFilter, Area, AuditEntry},
        actor::Actor,
        job::{Job, JobState},
        letter::{Importance, LetterId},
        rule::{Rule, RuleId},
    },
    store::{RuleChange, RuleFailure},
};

use super::{
    ledger::Ledger,
    make::{an_arrival, id, later, sorted},
};

fn rule(name: &str, expression: &str) -> Rule {
    Rule { name: name.to_owned(), expression: expression.to_owned(), importance: Importance::High }
}

async fn set(ledger: &Ledger, id: RuleId, rule: &Rule, place: Option<usize>) -> bool {
    let change = RuleChange { by: &Actor::named("Ada"), at: later(1), detail: "so" };
    ledger.set_rule(id, rule, place, &change).await.unwrap()
}

async fn add(ledger: &Ledger, name: &str) -> RuleId {
    let new = RuleId::from_uuid(id());
    assert!(set(ledger, new, &rule(name, "true"), None).await);
    new
}

async fn order(ledger: &Ledger, ids: &[RuleId]) {
    let change = RuleChange { by: &Actor::named("Ada"), at: later(2), detail: "" };
    ledger.order_rules(ids, &change).await.unwrap();
}

async fn names(ledger: &Ledger) -> Vec<String> {
    ledger.rules().await.unwrap().into_iter().map(|standing| standing.rule.name).collect()
}

/// Verb and subject of each change, the oldest first.
async fn changes(ledger: &Ledger) -> Vec<(String, String)> {
    let filter = ActivityFilter { areas: vec![Area::Rules], ..ActivityFilter::default() };
    let mut entries = ledger.activity(&filter, None, 100).await.unwrap();
    entries.reverse();
    entries.into_iter().map(|entry| (entry.entry.action, entry.entry.subject)).collect()
}

async fn fails(ledger: &Ledger, rule: &str, error: &str) {
    let failure = |n: u128| RuleFailure {
        rule: rule.to_owned(),
        letter: LetterId::from_uuid(uuid::Uuid::from_u128(n)),
        error: error.to_owned(),
    };
    ledger.count_rule_failures(&[failure(1), failure(2)], later(3)).await.unwrap();
}

async fn failing(ledger: &Ledger) -> Vec<String> {
    ledger.rule_failures().await.unwrap().into_keys().collect()
}

async fn rules_stand_in_the_order_that_people_give_them(ledger: &Ledger) {
    let [a, b, c] = [add(ledger, "a").await, add(ledger, "b").await, add(ledger, "c").await];
    assert_eq!(names(ledger).await, ["a", "b", "c"]);
    order(ledger, &[c]).await;
    assert_eq!(names(ledger).await, ["c", "a", "b"], "the others follow as they were");
    order(ledger, &[b, RuleId::from_uuid(id()), a, b]).await;
    assert_eq!(names(ledger).await, ["b", "a", "c"], "what is named twice or is not there does no harm");
    let first = RuleId::from_uuid(id());
    assert!(set(ledger, first, &rule("first", "true"), Some(0)).await);
    assert_eq!(names(ledger).await, ["first", "b", "a", "c"]);
    assert!(set(ledger, first, &rule("first", "true"), Some(99)).await);
    assert_eq!(names(ledger).await, ["b", "a", "c", "first"], "moved with nothing else changed");
    assert!(set(ledger, b, &rule("b", "false"), None).await);
    assert_eq!(names(ledger).await, ["b", "a", "c", "first"], "changed where it stands");
}

async fn no_two_rules_have_one_name(ledger: &Ledger) {
    let [a, b] = [add(ledger, "a").await, add(ledger, "b").await];
    assert!(!set(ledger, b, &rule("a", "false"), None).await);
    assert!(!set(ledger, RuleId::from_uuid(id()), &rule("a", "false"), None).await);
    assert!(set(ledger, a, &rule("a", "false"), None).await, "it keeps its own");
    assert_eq!(names(ledger).await, ["a", "b"]);
}

async fn failures_are_counted_until_the_rule_changes(ledger: &Ledger) {
    let a = add(ledger, "a").await;
    fails(ledger, "a", "one").await;
    fails(ledger, "a", "two").await;
    let failures = &ledger.rule_failures().await.unwrap()["a"];
    let last_letter = LetterId::from_uuid(uuid::Uuid::from_u128(2));
    assert_eq!(
        (failures.count, failures.last_at, failures.last_letter, &*failures.last_error),
        (4, later(3), last_letter, "two")
    );
    let low = Rule { importance: Importance::Low, ..rule("a", "true") };
    assert!(set(ledger, a, &low, Some(0)).await);
    assert_eq!(failing(ledger).await, ["a"], "it fails as it did");
    assert!(set(ledger, a, &rule("a", "false"), None).await);
    assert_eq!(failing(ledger).await, [""; 0]);
    fails(ledger, "a", "one").await;
    fails(ledger, "b", "of one that was called so before").await;
    assert!(set(ledger, a, &rule("b", "false"), None).await);
    assert_eq!(failing(ledger).await, [""; 0]);
    for name in ["b", "c", "d"] {
        fails(ledger, name, "one").await;
    }
    ledger.remove_rule(a, &RuleChange { by: &Actor::local(), at: later(4), detail: "" }).await.unwrap();
    assert_eq!(failing(ledger).await, ["c", "d"]);
    ledger.forget_rule_failures(&["c".to_owned(), "x".to_owned()]).await.unwrap();
    assert_eq!(failing(ledger).await, ["d"]);
}

async fn who_changes_rules_is_written_down(ledger: &Ledger) {
    let [a, b] = [add(ledger, "a").await, add(ledger, "b").await];
    assert!(set(ledger, a, &rule("a", "true"), None).await);
    assert!(set(ledger, a, &rule("a", "true"), Some(0)).await);
    order(ledger, &[a, b]).await;
    let change = RuleChange { by: &Actor::named("Eve"), at: later(9), detail: "high: true" };
    assert_eq!(ledger.remove_rule(b, &change).await.unwrap().as_deref(), Some("b"));
    assert_eq!(ledger.remove_rule(b, &change).await.unwrap(), None);
    let is = |verb: &str, subject: &str| (verb.to_owned(), subject.to_owned());
    assert_eq!(
        changes(ledger).await,
        [is("set", "a"), is("set", "b"), is("remove", "b")],
        "what changes nothing is none"
    );
    let last = ledger.activity(&ActivityFilter::default(), None, 1).await.unwrap().remove(0).entry;
    assert_eq!((last.by.as_str(), last.at, &*last.detail), ("Eve", later(9), "high: true"));
    let standing = ledger.rules().await.unwrap().remove(0);
    assert_eq!(standing.set, Some((Actor::named("Ada"), later(1))));
}

async fn a_job_takes_the_place_of_one_like_it_that_goes_on(ledger: &Ledger) {
    let begin = async |action: &str| {
        let job = Job { state: JobState::Queued, ..Job::begun(id(), action) };
        ledger.begin_job(&job, &AuditEntry::new(later(1), &Actor::local(), Area::Rules, "apply", "")).await.unwrap();
        job.id
    };
    let (other, first, second) = (begin("other").await, begin("apply rules").await, begin("apply rules").await);
    let state = async |id| ledger.job(id).await.unwrap().unwrap().state;
    assert_eq!(
        [state(other).await, state(first).await, state(second).await],
        [JobState::Queued, JobState::Cancelled, JobState::Queued]
    );
    let lease = std::time::Duration::from_secs(30);
    let (job, position) = ledger.claim_job("apply rules", later(2), lease).await.unwrap().unwrap();
    assert_eq!((job.id, position), (second, None));
    assert_eq!(ledger.claim_job("apply rules", later(31), lease).await.unwrap(), None, "somebody works at it");
    assert!(ledger.claim_job("apply rules", later(32), lease).await.unwrap().is_some(), "given up for dead");
    begin("apply rules").await;
    assert!(!ledger.job_has_come_to(&job, None, later(99)).await.unwrap(), "whoever worked at it hears of that");
}

async fn what_stays_as_it_was_is_not_written_again(ledger: &Ledger) {
    let one = an_arrival();
    let letter = one.id;
    ledger.take_in([one]).await;
    let when = async || ledger.texts("SELECT CAST(enriched_at AS TEXT) FROM letters").await;
    ledger.sort(&[sorted(letter)], 1, later(1)).await.unwrap();
    let first = when().await;
    ledger.sort(&[sorted(letter)], 1, later(2)).await.unwrap();
    assert_eq!(when().await, first);
    let by = "rule:a".to_owned();
    let sortings = [
        (sorted(letter), 2),
        (dead_letter_office::store::Enriched { importance_by: by, ..sorted(letter) }, 2),
        (dead_letter_office::store::Enriched { importance: Importance::Low, ..sorted(letter) }, 2),
        (dead_letter_office::store::Enriched { message_type: Some("a.T".to_owned()), ..sorted(letter) }, 2),
        (dead_letter_office::store::Enriched { confidence: Some(0.5), ..sorted(letter) }, 2),
    ];
    for ((sorted, edition), n) in sortings.into_iter().zip(3..) {
        let before = when().await;
        ledger.sort(std::slice::from_ref(&sorted), edition, later(n)).await.unwrap();
        assert_ne!(when().await, before, "{sorted:?}");
    }
}

async fn letters_come_with_their_contents_in_the_order_of_asking(ledger: &Ledger) {
    let ids = ledger.take_in_many(5).await;
    let mut summaries = ledger.summaries(&ids).await.unwrap();
    summaries.sort_by_key(|summary| std::cmp::Reverse(summary.id));
    let expected: Vec<_> = summaries.iter().map(|summary| summary.id).collect();
    let letters = ledger.with_contents(summaries).await.unwrap();
    assert_eq!(letters.into_iter().map(|letter| letter.summary.id).collect::<Vec<_>>(), expected);
    assert_eq!(ledger.with_contents(Vec::new()).await.unwrap(), []);
}

on_both!(
    rules_stand_in_the_order_that_people_give_them,
    no_two_rules_have_one_name,
    failures_are_counted_until_the_rule_changes,
    who_changes_rules_is_written_down,
    a_job_takes_the_place_of_one_like_it_that_goes_on,
    what_stays_as_it_was_is_not_written_again,
    letters_come_with_their_contents_in_the_order_of_asking,
);

//! Rules of importance: their order, their names, their failures, and who changed what.

use dead_letter_office::{
    domain::{
        activity::{ActivityFilter, Area, AuditEntry},
        actor::Actor,
        job::{Job, JobState},
        letter::{Importance, LetterId},
        rule::{Rule, RuleId},
        rule_order::{RuleOrder, RulePlace},
        version::{Expected, Versioned},
    },
    store::{RuleChange, RuleFailure, RuleSet},
};

use super::{
    database::TestDatabase,
    make::{an_arrival, enriched, id, later},
};

fn rule(name: &str, expression: &str) -> Rule {
    Rule { name: name.to_owned(), expression: expression.to_owned(), importance: Importance::High }
}

async fn set(database: &TestDatabase, id: RuleId, rule: &Rule, place: Option<usize>) -> bool {
    let place = place.map(|at| RulePlace { at, order: Expected::Anything });
    set_at(database, id, rule, place.as_ref()).await == RuleSet::Yes
}

async fn set_at(database: &TestDatabase, id: RuleId, rule: &Rule, place: Option<&RulePlace>) -> RuleSet {
    let change = RuleChange { by: &Actor::named("Ada"), at: later(1), detail: "so", expected: &Expected::Anything };
    database.set_rule(id, rule, place, &change).await.unwrap()
}

async fn add(database: &TestDatabase, name: &str) -> RuleId {
    let new = RuleId::from_uuid(id());
    assert!(set(database, new, &rule(name, "true"), None).await);
    new
}

async fn order(database: &TestDatabase, ids: &[RuleId]) {
    let change = RuleChange { by: &Actor::named("Ada"), at: later(2), detail: "", expected: &Expected::Anything };
    database.order_rules(ids, &change).await.unwrap();
}

async fn names(database: &TestDatabase) -> Vec<String> {
    database.rules().await.unwrap().into_iter().map(|standing| standing.rule.name).collect()
}

/// Verb and subject of each change, the oldest first.
async fn changes(database: &TestDatabase) -> Vec<(String, String)> {
    let filter = ActivityFilter { areas: vec![Area::Rules], ..ActivityFilter::default() };
    let mut entries = database.activity(&filter, None, 100).await.unwrap();
    entries.reverse();
    entries.into_iter().map(|entry| (entry.entry.action, entry.entry.subject)).collect()
}

async fn fails(database: &TestDatabase, rule: &str, error: &str) {
    let failure = |n: u128| RuleFailure {
        rule: rule.to_owned(),
        letter: LetterId::from_uuid(uuid::Uuid::from_u128(n)),
        error: error.to_owned(),
    };
    database.count_rule_failures(&[failure(1), failure(2)], later(3)).await.unwrap();
}

async fn failing(database: &TestDatabase) -> Vec<String> {
    database.rule_failures().await.unwrap().into_keys().collect()
}

async fn rules_stand_in_the_order_that_people_give_them(database: &TestDatabase) {
    let [a, b, c] = [add(database, "a").await, add(database, "b").await, add(database, "c").await];
    assert_eq!(names(database).await, ["a", "b", "c"]);
    order(database, &[c]).await;
    assert_eq!(names(database).await, ["c", "a", "b"], "the others follow as they were");
    order(database, &[b, RuleId::from_uuid(id()), a, b]).await;
    assert_eq!(names(database).await, ["b", "a", "c"], "what is named twice or is not there does no harm");
    let first = RuleId::from_uuid(id());
    assert!(set(database, first, &rule("first", "true"), Some(0)).await);
    assert_eq!(names(database).await, ["first", "b", "a", "c"]);
    assert!(set(database, first, &rule("first", "true"), Some(99)).await);
    assert_eq!(names(database).await, ["b", "a", "c", "first"], "moved with nothing else changed");
    assert!(set(database, b, &rule("b", "false"), None).await);
    assert_eq!(names(database).await, ["b", "a", "c", "first"], "changed where it stands");
}

/// A place is one in the order that was seen; where the rule comes to stand as it does already, nothing is in the way.
async fn a_place_in_another_order_changes_nothing(database: &TestDatabase) {
    let [a, b, c] = [add(database, "a").await, add(database, "b").await, add(database, "c").await];
    let seen = |ids: &[RuleId]| Expected::OneOf(vec![RuleOrder(ids.to_vec()).version()]);
    let place = |at| RulePlace { at, order: seen(&[a, b, c]) };
    order(database, &[b, a]).await;
    let refused = set_at(database, c, &rule("c", "false"), Some(&place(1))).await;
    let added = set_at(database, RuleId::from_uuid(id()), &rule("d", "true"), Some(&place(0))).await;
    assert_eq!((refused, added), (RuleSet::Reordered, RuleSet::Reordered));
    assert_eq!(names(database).await, ["b", "a", "c"]);
    assert_eq!(changes(database).await.len(), 4, "three that were added, and their order");
    assert_eq!(database.rules().await.unwrap()[2].rule.expression, "true");
    assert_eq!(set_at(database, c, &rule("c", "false"), Some(&place(2))).await, RuleSet::Yes);
    let place = RulePlace { at: 1, order: seen(&[b, a, c]) };
    assert_eq!(set_at(database, c, &rule("c", "true"), Some(&place)).await, RuleSet::Yes);
    assert_eq!(names(database).await, ["b", "c", "a"]);
}

async fn no_two_rules_have_one_name(database: &TestDatabase) {
    let [a, b] = [add(database, "a").await, add(database, "b").await];
    assert!(!set(database, b, &rule("a", "false"), None).await);
    assert!(!set(database, RuleId::from_uuid(id()), &rule("a", "false"), None).await);
    assert!(set(database, a, &rule("a", "false"), None).await, "it keeps its own");
    assert_eq!(names(database).await, ["a", "b"]);
}

async fn failures_are_counted_until_the_rule_changes(database: &TestDatabase) {
    let a = add(database, "a").await;
    fails(database, "a", "one").await;
    fails(database, "a", "two").await;
    let failures = &database.rule_failures().await.unwrap()["a"];
    let last_letter = LetterId::from_uuid(uuid::Uuid::from_u128(2));
    assert_eq!(
        (failures.count, failures.last_at, failures.last_letter, &*failures.last_error),
        (4, later(3), last_letter, "two")
    );
    let low = Rule { importance: Importance::Low, ..rule("a", "true") };
    assert!(set(database, a, &low, Some(0)).await);
    assert_eq!(failing(database).await, ["a"], "it fails as it did");
    assert!(set(database, a, &rule("a", "false"), None).await);
    assert_eq!(failing(database).await, [""; 0]);
    fails(database, "a", "one").await;
    fails(database, "b", "of one that was called so before").await;
    assert!(set(database, a, &rule("b", "false"), None).await);
    assert_eq!(failing(database).await, [""; 0]);
    for name in ["b", "c", "d"] {
        fails(database, name, "one").await;
    }
    database
        .remove_rule(a, &RuleChange { by: &Actor::local(), at: later(4), detail: "", expected: &Expected::Anything })
        .await
        .unwrap();
    assert_eq!(failing(database).await, ["c", "d"]);
    database.forget_rule_failures(&["c".to_owned(), "x".to_owned()]).await.unwrap();
    assert_eq!(failing(database).await, ["d"]);
}

async fn who_changes_rules_is_written_down(database: &TestDatabase) {
    let [a, b] = [add(database, "a").await, add(database, "b").await];
    assert!(set(database, a, &rule("a", "true"), None).await);
    assert!(set(database, a, &rule("a", "true"), Some(0)).await);
    order(database, &[a, b]).await;
    let change =
        RuleChange { by: &Actor::named("Eve"), at: later(9), detail: "high: true", expected: &Expected::Anything };
    assert_eq!(database.remove_rule(b, &change).await.unwrap().as_deref(), Some("b"));
    assert_eq!(database.remove_rule(b, &change).await.unwrap(), None);
    let is = |verb: &str, subject: &str| (verb.to_owned(), subject.to_owned());
    assert_eq!(
        changes(database).await,
        [is("set", "a"), is("set", "b"), is("remove", "b")],
        "what changes nothing is none"
    );
    let last = database.activity(&ActivityFilter::default(), None, 1).await.unwrap().remove(0).entry;
    assert_eq!((last.by.as_str(), last.at, &*last.detail), ("Eve", later(9), "high: true"));
    let standing = database.rules().await.unwrap().remove(0);
    assert_eq!(standing.set, Some((Actor::named("Ada"), later(1))));
}

async fn a_job_takes_the_place_of_one_like_it_that_goes_on(database: &TestDatabase) {
    let begin = async |action: &str| {
        let job = Job { state: JobState::Queued, ..Job::begun(id(), action) };
        database.begin_job(&job, &AuditEntry::new(later(1), &Actor::local(), Area::Rules, "apply", "")).await.unwrap();
        job.id
    };
    let (other, first, second) = (begin("other").await, begin("apply rules").await, begin("apply rules").await);
    let state = async |id| database.job(id).await.unwrap().unwrap().state;
    assert_eq!(
        [state(other).await, state(first).await, state(second).await],
        [JobState::Queued, JobState::Cancelled, JobState::Queued]
    );
    let lease = std::time::Duration::from_secs(30);
    let (job, position) = database.claim_job("apply rules", later(2), lease).await.unwrap().unwrap();
    assert_eq!((job.id, position), (second, None));
    assert_eq!(database.claim_job("apply rules", later(31), lease).await.unwrap(), None, "somebody works at it");
    assert!(database.claim_job("apply rules", later(32), lease).await.unwrap().is_some(), "given up for dead");
    begin("apply rules").await;
    assert!(!database.job_has_come_to(&job, None, later(99)).await.unwrap(), "whoever worked at it hears of that");
}

async fn what_stays_as_it_was_is_not_written_again(database: &TestDatabase) {
    let one = an_arrival();
    let letter = one.id;
    database.take_in([one]).await;
    let when = async || database.texts("SELECT CAST(enriched_at AS TEXT) FROM letters").await;
    database.enrich(&[enriched(letter)], 1, later(1)).await.unwrap();
    let first = when().await;
    database.enrich(&[enriched(letter)], 1, later(2)).await.unwrap();
    assert_eq!(when().await, first);
    let by = "rule:a".to_owned();
    let enrichments = [
        (enriched(letter), 2),
        (dead_letter_office::store::Enriched { importance_by: by, ..enriched(letter) }, 2),
        (dead_letter_office::store::Enriched { importance: Importance::Low, ..enriched(letter) }, 2),
        (dead_letter_office::store::Enriched { message_type: Some("a.T".to_owned()), ..enriched(letter) }, 2),
        (dead_letter_office::store::Enriched { confidence: Some(0.5), ..enriched(letter) }, 2),
    ];
    for ((enriched, edition), n) in enrichments.into_iter().zip(3..) {
        let before = when().await;
        database.enrich(std::slice::from_ref(&enriched), edition, later(n)).await.unwrap();
        assert_ne!(when().await, before, "{enriched:?}");
    }
}

async fn letters_come_with_their_contents_in_the_order_of_asking(database: &TestDatabase) {
    let ids = database.take_in_many(5).await;
    let mut summaries = database.summaries(&ids).await.unwrap();
    summaries.sort_by_key(|summary| std::cmp::Reverse(summary.id));
    let expected: Vec<_> = summaries.iter().map(|summary| summary.id).collect();
    let letters = database.with_contents(summaries).await.unwrap();
    assert_eq!(letters.into_iter().map(|letter| letter.summary.id).collect::<Vec<_>>(), expected);
    assert_eq!(database.with_contents(Vec::new()).await.unwrap(), []);
}

on_both!(
    rules_stand_in_the_order_that_people_give_them,
    a_place_in_another_order_changes_nothing,
    no_two_rules_have_one_name,
    failures_are_counted_until_the_rule_changes,
    who_changes_rules_is_written_down,
    a_job_takes_the_place_of_one_like_it_that_goes_on,
    what_stays_as_it_was_is_not_written_again,
    letters_come_with_their_contents_in_the_order_of_asking,
);

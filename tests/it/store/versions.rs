//! What several people change: who expects something else is told what is there, and nothing is changed.

use std::{fmt::Debug, time::Duration};

use amqp_message::time::Timestamp;
use dead_letter_office::{
    domain::{
        activity::ActivityFilter,
        actor::Actor,
        letter::Importance,
        mapping::{ActiveMapping, Carrier, Mapping},
        policy::{ActivePolicy, Delays, Policy, Via},
        rule::{ActiveRule, Rule, RuleId},
        rule_order::RulePlace,
        version::{Changed, Expected, Version, Versioned},
    },
    store::{ChangeError, RuleChange, RuleSet, Store},
};

use super::{
    database::TestDatabase,
    make::{NOON, an_arrival, enriched, id, later},
};

fn ann() -> Actor {
    Actor::named("Ann")
}

fn bob() -> Actor {
    Actor::named("Bob")
}

fn seen(there: &impl Versioned) -> Expected {
    Expected::OneOf(vec![there.version()])
}

/// How much was written down.
async fn changes(database: &TestDatabase) -> usize {
    database.activity(&ActivityFilter::default(), None, 100).await.unwrap().len()
}

/// Refused, with what is there instead.
#[track_caller]
fn is_told<T: Debug + PartialEq>(result: Result<impl Debug, ChangeError<T>>, there: Option<T>) {
    match result {
        Err(ChangeError::Changed(changed)) => assert_eq!(changed, Changed(there.map(Box::new))),
        other => panic!("{other:?}"),
    }
}

fn policy(seconds: u64) -> Policy {
    Policy {
        queues: "orders".to_owned(),
        reason: None,
        delays: Delays::Listed(vec![Duration::from_secs(seconds)]),
        jitter: 0.0,
        via: Via::Database,
        keep_routing_key: false,
    }
}

async fn only_policy(database: &Store) -> ActivePolicy {
    database.policies().await.unwrap().remove(0)
}

async fn of_two_who_change_a_policy_the_second_is_told(database: &TestDatabase) {
    let set = async |seconds: u64, expected: &Expected, by: &Actor, at: Timestamp| {
        database.set_policy(&policy(seconds), expected, by, at).await
    };
    set(1, &Expected::nothing(), &ann(), NOON).await.unwrap();
    let first = only_policy(database).await;
    set(2, &seen(&first), &ann(), later(1)).await.unwrap();
    let second = only_policy(database).await;
    let before = changes(database).await;
    is_told(set(3, &seen(&first), &bob(), later(2)).await, Some(second.clone()));
    is_told(set(3, &Expected::nothing(), &bob(), later(2)).await, Some(second.clone()));
    let unset = database.unset_policy("orders", None, &seen(&first), &bob(), later(2)).await;
    is_told(unset, Some(second.clone()));
    assert_eq!((only_policy(database).await, changes(database).await), (second.clone(), before));
    set(2, &seen(&first), &bob(), later(2)).await.unwrap();
    assert_eq!(only_policy(database).await, second, "what both want is no conflict, and stays the first one's");
    assert!(database.unset_policy("orders", None, &seen(&second), &bob(), later(3)).await.unwrap());
    is_told(set(3, &seen(&second), &ann(), later(4)).await, None);
    is_told(set(3, &Expected::Something, &ann(), later(4)).await, None);
}

/// Both see that there is none, at the same moment.
async fn of_two_who_set_the_first_policy_at_once_one_is_told(database: &TestDatabase) {
    let other = database.second_server().await;
    let (expected, ann, bob) = (Expected::nothing(), ann(), bob());
    let (of_ann, of_bob) = (policy(1), policy(2));
    let (first, second) = tokio::join!(
        database.set_policy(&of_ann, &expected, &ann, NOON),
        other.set_policy(&of_bob, &expected, &bob, NOON),
    );
    let there = only_policy(database).await;
    match (first, second) {
        (Ok(()), second) => is_told(second, Some(there)),
        (first, Ok(())) => is_told(first, Some(there)),
        both => panic!("{both:?}"),
    }
    assert_eq!(changes(database).await, 1);
}

fn rule(name: &str, expression: &str) -> Rule {
    Rule { name: name.to_owned(), expression: expression.to_owned(), importance: Importance::High }
}

async fn of_two_who_change_a_rule_the_second_is_told(database: &TestDatabase) {
    let rule_id = RuleId::from_uuid(id());
    let set = async |rule: &Rule, place: Option<usize>, expected: &Expected| {
        let change = RuleChange { by: &ann(), at: NOON, detail: "", expected };
        let place = place.map(|at| RulePlace { at, order: Expected::Anything });
        database.set_rule(rule_id, rule, place.as_ref(), &change).await
    };
    let there = async || database.rules().await.unwrap().into_iter().find(|active| active.id == rule_id);
    assert_eq!(set(&rule("a", "true"), None, &Expected::Anything).await.unwrap(), RuleSet::Yes);
    let first: ActiveRule = there().await.unwrap();
    assert_eq!(set(&rule("a", "false"), None, &seen(&first)).await.unwrap(), RuleSet::Yes);
    let second = there().await.unwrap();
    let before = changes(database).await;
    is_told(set(&rule("b", "true"), Some(0), &seen(&first)).await, Some(second.clone()));
    let change = RuleChange { by: &bob(), at: NOON, detail: "", expected: &seen(&first) };
    is_told(database.remove_rule(rule_id, &change).await, Some(second.clone()));
    assert_eq!((there().await, changes(database).await), (Some(second.clone()), before));
    let change = RuleChange { expected: &seen(&second), ..change };
    assert!(database.remove_rule(rule_id, &change).await.unwrap().is_some());
    is_told(set(&rule("b", "true"), None, &seen(&second)).await, None);
    assert_eq!(there().await, None);
}

async fn of_two_who_change_a_mapping_the_second_is_told(database: &TestDatabase) {
    let mapping = |message_type: &str| Mapping {
        broker: None,
        carrier: Carrier::Queue,
        pattern: "orders".to_owned(),
        message_type: message_type.to_owned(),
    };
    let there = async || -> Option<ActiveMapping> { database.mappings().await.unwrap().pop() };
    database.set_mapping(&mapping("a.A"), &Expected::nothing(), &ann(), NOON).await.unwrap();
    let first = there().await.unwrap();
    database.set_mapping(&mapping("a.B"), &seen(&first), &ann(), NOON).await.unwrap();
    let second = there().await.unwrap();
    let before = changes(database).await;
    is_told(database.set_mapping(&mapping("a.C"), &seen(&first), &bob(), NOON).await, Some(second.clone()));
    let unset = database.unset_mapping(None, Carrier::Queue, "orders", &seen(&first), &bob(), NOON).await;
    is_told(unset, Some(second.clone()));
    assert_eq!((there().await, changes(database).await), (Some(second.clone()), before));
    assert!(database.unset_mapping(None, Carrier::Queue, "orders", &seen(&second), &bob(), NOON).await.unwrap());
}

async fn of_two_who_write_a_note_the_second_is_told(database: &TestDatabase) {
    let letter = database.take_in_new(an_arrival()).await;
    let found = enriched(letter);
    let group = found.group;
    database.enrich(&[found], 1, later(1)).await.unwrap();
    let note = async || database.group(group, NOON).await.unwrap().unwrap().note;
    let write = async |text: &str, expected: &Expected, by: &Actor| {
        database.set_group_note(group, text, expected, by, NOON).await
    };
    assert!(write("ask Ann", &Expected::nothing(), &ann()).await.unwrap());
    let first = note().await.unwrap();
    is_told(write("ask Bob", &Expected::OneOf(vec![Version::none()]), &bob()).await, Some(first.clone()));
    assert!(write("", &seen(&first), &bob()).await.unwrap());
    let before = changes(database).await;
    is_told(write("ask Ann again", &seen(&first), &ann()).await, None);
    assert_eq!((note().await, changes(database).await), (None, before));
}

on_both!(
    of_two_who_change_a_policy_the_second_is_told,
    of_two_who_set_the_first_policy_at_once_one_is_told,
    of_two_who_change_a_rule_the_second_is_told,
    of_two_who_change_a_mapping_the_second_is_told,
    of_two_who_write_a_note_the_second_is_told,
);

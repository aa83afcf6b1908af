//! How far people are with groups: set, undone, and woken by letters and by the clock.

use std::sync::Arc;

use amqp_message::{death::Reason, field::FieldValue, time::Timestamp};
use dead_letter_office::{
    clock::Clock,
    domain::{
        activity::{ActivityFilter, Area},
        actor::Actor,
        group::{Group, GroupFilter, GroupId, GroupKey, GroupPart, GroupSort},
        group_state::{Assignee, GroupCommand, GroupRefusal, Phase, Until, Why},
        letter::{Importance, LetterId, Status},
        retry::RetryOutcome,
        version::{Expected, Versioned},
    },
    grouping,
    services::{change_feed::ChangeFeed, snoozes::Snoozes},
    store::{ChangeError, Enriched, GroupOrder, GroupReport},
};

use super::{
    database::{DISCARD, RETRY_NOW, TestDatabase},
    make::{InGroup, Make, NOON, an_arrival, enriched, later},
};

const ERROR: &str = "no disk";

fn found(letter: LetterId, at: Timestamp) -> Enriched {
    Enriched { received_at: at, ..enriched(letter).in_group("main", "orders", ERROR) }
}

fn group_id() -> GroupId {
    grouping::id(&found(LetterId::from_uuid(uuid::Uuid::nil()), NOON).key)
}

/// A letter that is received then, and put into its group.
async fn fail(database: &TestDatabase, at: Timestamp) -> LetterId {
    let letter = database.take_in_new(an_arrival().received(at)).await;
    database.enrich(&[found(letter, at)], 1, at).await.unwrap();
    letter
}

async fn fail_as(database: &TestDatabase, importance: Importance, at: Timestamp) -> LetterId {
    let letter = database.take_in_new(an_arrival().received(at)).await;
    database.enrich(&[Enriched { importance, ..found(letter, at) }], 1, at).await.unwrap();
    letter
}

async fn group(database: &TestDatabase) -> Group {
    database.groups_by_id(&[group_id()]).await.unwrap().remove(0)
}

async fn does(database: &TestDatabase, command: GroupCommand, at: Timestamp) -> GroupReport {
    let order = GroupOrder { ids: &[group_id()], command: &command, by: &Actor::named("ada"), at };
    database.act_on_groups(&order, &Expected::Anything).await.unwrap()
}

async fn phase(database: &TestDatabase) -> Phase {
    group(database).await.state.phase()
}

async fn a_resolved_group_that_fails_again_regresses(database: &TestDatabase) {
    fail(database, NOON).await;
    assert_eq!(does(database, GroupCommand::Resolve, later(10)).await.done, [group_id()]);
    let resolved = group(database).await.state;
    assert_eq!(resolved.progress.set, Some((Actor::named("ada"), later(10))));
    // One that came before it was resolved, and is put into its group late, is nothing new.
    fail(database, later(5)).await;
    assert_eq!(phase(database).await, Phase::Resolved);
    fail(database, later(20)).await;
    let again = group(database).await.state;
    let reopened = again.progress.reopened.unwrap();
    assert_eq!((again.progress.phase, reopened.at, reopened.since), (Phase::Open, later(20), later(10)));
    assert_eq!((reopened.was, reopened.by, reopened.why), (Phase::Resolved, Actor::named("ada"), Why::CameAgain));
    let told = activity(database).await;
    assert_eq!(told, ["dlo: wake", "ada: resolve"]);
}

/// What was done with groups, the newest first.
async fn activity(database: &TestDatabase) -> Vec<String> {
    let of_groups = ActivityFilter { areas: vec![Area::Groups], ..ActivityFilter::default() };
    let entries = database.activity(&of_groups, None, 99).await.unwrap();
    entries.into_iter().map(|line| format!("{}: {}", line.entry.by, line.entry.action)).collect()
}

async fn what_only_moves_wakes_nothing(database: &TestDatabase) {
    let ids = [fail(database, NOON).await, fail(database, NOON).await];
    does(database, GroupCommand::Resolve, later(10)).await;
    database.does(&DISCARD, &ids[..1]).await;
    database.does(&dead_letter_office::domain::command::Command::Reopen, &ids[..1]).await;
    database.does(&RETRY_NOW, &ids[1..]).await;
    let important = Enriched { importance: Importance::Critical, ..found(ids[0], NOON) };
    database.enrich(&[important], 2, later(20)).await.unwrap();
    assert_eq!(phase(database).await, Phase::Resolved);
}

/// Who has acknowledged one error has not seen another.
async fn what_fails_again_with_another_error_is_open(database: &TestDatabase) {
    let letter = fail(database, NOON).await;
    does(database, GroupCommand::Acknowledge, later(10)).await;
    database.bring(letter, Status::Retried).await;
    database.take_in([an_arrival().returning(letter).received(later(30))]).await;
    let other = enriched(letter).in_group("main", "orders", "no memory");
    let other = Enriched { received_at: later(30), ..other };
    let id = grouping::id(&other.key);
    database.enrich(&[other], 1, later(31)).await.unwrap();
    let group = database.groups_by_id(&[id]).await.unwrap().remove(0);
    assert_eq!((group.state.phase(), group.n_open()), (Phase::Open, 1));
}

/// Which group it belongs to is known when it is enriched.
async fn what_fails_again_in_another_way_wakes_no_group_before_it_is_enriched(database: &TestDatabase) {
    let letter = fail(database, NOON).await;
    database.bring(letter, Status::Retried).await;
    does(database, GroupCommand::Resolve, later(10)).await;
    database.take_in([an_arrival().error("no memory").returning(letter).received(later(30))]).await;
    assert_eq!((phase(database).await, group(database).await.letters()), (Phase::Resolved, 0));
    assert_eq!(database.shows(letter).await.group, None);
    let other = Enriched { received_at: later(30), ..enriched(letter) }.in_group("main", "orders", "no memory");
    database.enrich(&[other], 1, later(31)).await.unwrap();
    assert_eq!(phase(database).await, Phase::Resolved, "it is another error");
    database.bring(letter, Status::Retried).await;
    database.take_in([an_arrival().error(ERROR).returning(letter).received(later(40))]).await;
    assert_eq!(phase(database).await, Phase::Resolved);
    database.enrich(&[found(letter, later(40))], 1, later(41)).await.unwrap();
    assert_eq!(phase(database).await, Phase::Open, "it is this one");
    assert_eq!(activity(database).await, ["dlo: wake", "ada: resolve"]);
}

/// What is open already stays with those who know of it.
async fn what_is_open_and_fails_in_another_way_stays_in_its_group(database: &TestDatabase) {
    let letter = fail(database, NOON).await;
    database.take_in([an_arrival().error("no memory").returning(letter).received(later(30))]).await;
    assert_eq!(group(database).await.n_open(), 1);
}

/// Its letters were under way, and nothing has come since.
async fn what_cannot_be_sent_opens_a_resolved_group(database: &TestDatabase) {
    let letter = fail(database, NOON).await;
    database.does(&RETRY_NOW, &[letter]).await;
    let claimed = database.claim(later(1)).await;
    does(database, GroupCommand::Resolve, later(10)).await;
    let why = RetryOutcome::Failed("no such queue".to_owned());
    database.finish_retries(&[(&claimed[0], why)], later(20)).await.unwrap();
    let reopened = group(database).await.state.progress.reopened.unwrap();
    assert_eq!((phase(database).await, reopened.at), (Phase::Open, later(20)));
    assert_eq!(reopened.reason(), "a retry could not be sent after it was resolved");
    // No letter has come for that.
    does(database, GroupCommand::Snooze(Until::More { more: 1, arrived: 0 }), later(30)).await;
    database.does(&RETRY_NOW, &[letter]).await;
    let claimed = database.claim(later(31)).await;
    let why = RetryOutcome::Failed("no such queue".to_owned());
    database.finish_retries(&[(&claimed[0], why)], later(40)).await.unwrap();
    assert_eq!(phase(database).await, Phase::Snoozed);
}

async fn a_letter_that_was_sent_back_and_failed_again_counts(database: &TestDatabase) {
    let letter = fail(database, NOON).await;
    does(database, GroupCommand::Resolve, later(10)).await;
    database.take_in([an_arrival().returning(letter).received(later(30))]).await;
    assert_eq!(phase(database).await, Phase::Open);
    assert_eq!(group(database).await.state.progress.reopened.unwrap().at, later(30));
}

async fn a_snooze_counts_letters_that_come(database: &TestDatabase) {
    let old = fail(database, NOON).await;
    does(database, GroupCommand::Snooze(Until::More { more: 3, arrived: 0 }), later(10)).await;
    let first = fail(database, later(11)).await;
    assert_eq!(group(database).await.state.progress.until, Some(Until::More { more: 3, arrived: 1 }));
    database.does(&DISCARD, &[first, old]).await;
    fail(database, later(12)).await;
    assert_eq!(group(database).await.state.progress.until, Some(Until::More { more: 3, arrived: 2 }), "it has come");
    fail(database, later(13)).await;
    let woken = group(database).await.state;
    let reopened = woken.progress.reopened.unwrap();
    assert_eq!((woken.progress.phase, reopened.at, reopened.why), (Phase::Open, later(13), Why::More(3)));
}

async fn a_snooze_ends_by_the_clock(database: &TestDatabase) {
    fail(database, NOON).await;
    does(database, GroupCommand::Snooze(Until::Time(later(3_600))), later(10)).await;
    fail(database, later(20)).await;
    assert_eq!(database.wake_groups(later(3_599)).await.unwrap(), 0);
    assert_eq!(phase(database).await, Phase::Snoozed);
    assert_eq!(database.wake_groups(later(3_600)).await.unwrap(), 1);
    assert_eq!(database.wake_groups(later(3_601)).await.unwrap(), 0);
    assert_eq!(group(database).await.state.progress.reopened.unwrap().why, Why::Time);
    assert_eq!(activity(database).await, ["dlo: wake", "ada: snooze"]);
}

async fn a_snooze_ends_when_the_letters_change(database: &TestDatabase) {
    let clock = Clock::manual(later(100));
    let store = Arc::new(database.second_server().await);
    let mut snoozes = Snoozes::new(store, clock, ChangeFeed::default());
    let of_version = async |version: &str, at| {
        let arrival = an_arrival().received(at).header("app-version", FieldValue::string(version));
        let letter = database.take_in_new(arrival).await;
        database.enrich(&[found(letter, at)], 1, at).await.unwrap();
    };
    of_version("4.11", NOON).await;
    does(database, GroupCommand::Snooze(Until::Change), later(10)).await;
    snoozes.compare().await.unwrap();
    of_version("4.11", later(20)).await;
    snoozes.compare().await.unwrap();
    assert_eq!(phase(database).await, Phase::Snoozed, "it is as it was");
    of_version("4.12", later(30)).await;
    snoozes.compare().await.unwrap();
    let why = group(database).await.state.progress.reopened.unwrap().why;
    assert_eq!(why, Why::Changed("the header app-version has a new value".to_owned()));
    // The same error elsewhere.
    does(database, GroupCommand::Snooze(Until::Change), later(40)).await;
    let letter = database.take_in_new(an_arrival().queue("invoices").received(later(50))).await;
    let elsewhere = Enriched { received_at: later(50), ..enriched(letter).in_group("main", "invoices", ERROR) };
    database.enrich(&[elsewhere], 1, later(50)).await.unwrap();
    snoozes.compare().await.unwrap();
    let why = group(database).await.state.progress.reopened.unwrap().why;
    assert_eq!(why, Why::Changed("the same error began in another queue".to_owned()));
}

/// The group was split, or fails for another reason: neither is another queue or type.
async fn what_is_of_the_same_queue_and_type_is_no_change(database: &TestDatabase) {
    let store = Arc::new(database.second_server().await);
    let mut snoozes = Snoozes::new(store, Clock::manual(later(100)), ChangeFeed::default());
    fail(database, NOON).await;
    does(database, GroupCommand::Snooze(Until::Change), later(10)).await;
    snoozes.compare().await.unwrap();
    let part = |what: &str| Some(GroupPart { of: group_id(), what: what.to_owned() });
    let mut parts = Vec::new();
    for (n, part, reason) in [
        (20, part("currency: JPY"), Reason::Rejected),
        (30, part("currency: EUR"), Reason::Rejected),
        (40, None, Reason::Expired),
    ] {
        let letter = database.take_in_new(an_arrival().reason(reason).received(later(n))).await;
        let found = found(letter, later(n));
        let key = GroupKey { part, reason, ..found.key.clone() };
        parts.push(grouping::id(&key));
        database.enrich(&[Enriched { group: parts[parts.len() - 1], key, ..found }], 1, later(n)).await.unwrap();
        snoozes.compare().await.unwrap();
        assert_eq!(phase(database).await, Phase::Snoozed, "{reason}");
    }
    let parts = database.groups_by_id(&parts[..2]).await.unwrap();
    assert!(parts.len() == 2 && parts.iter().all(|part| part.state.phase() == Phase::Snoozed), "{parts:?}");
}

/// A letter that is sent back and fails again, now with this version.
async fn fails_again_with(database: &TestDatabase, letter: LetterId, version: &str, at: Timestamp) {
    database.bring(letter, Status::Retried).await;
    let again = an_arrival().returning(letter).received(at).header("app-version", FieldValue::string(version));
    database.take_in([again]).await;
}

async fn a_snooze_ends_by_a_change_though_no_letter_from_before_is_left(database: &TestDatabase) {
    let store = Arc::new(database.second_server().await);
    let mut snoozes = Snoozes::new(store, Clock::manual(later(100)), ChangeFeed::default());
    let letter = fail(database, NOON).await;
    fails_again_with(database, letter, "4.11", later(5)).await;
    does(database, GroupCommand::Snooze(Until::Change), later(10)).await;
    snoozes.compare().await.unwrap();
    fails_again_with(database, letter, "4.11", later(20)).await;
    snoozes.compare().await.unwrap();
    assert_eq!(phase(database).await, Phase::Snoozed, "it is as it was");
    fails_again_with(database, letter, "4.12", later(30)).await;
    // Another server, which has seen nothing of that.
    let store = Arc::new(database.second_server().await);
    Snoozes::new(store, Clock::manual(later(100)), ChangeFeed::default()).compare().await.unwrap();
    let why = group(database).await.state.progress.reopened.unwrap().why;
    assert_eq!(why, Why::Changed("the header app-version has a new value".to_owned()));
    // One that is more important than all that were open then, of which none is left.
    does(database, GroupCommand::Snooze(Until::Change), later(40)).await;
    snoozes.compare().await.unwrap();
    fails_again_with(database, letter, "4.12", later(45)).await;
    snoozes.compare().await.unwrap();
    assert_eq!(phase(database).await, Phase::Snoozed, "it is as it was then");
    fail_as(database, Importance::High, later(50)).await;
    snoozes.compare().await.unwrap();
    let why = group(database).await.state.progress.reopened.unwrap().why;
    assert_eq!(why, Why::Changed("a dead letter is high, and none was above normal".to_owned()));
}

async fn a_name_that_cannot_be_written_down_is_no_change(database: &TestDatabase) {
    let store = Arc::new(database.second_server().await);
    let mut snoozes = Snoozes::new(store, Clock::manual(later(100)), ChangeFeed::default());
    fail(database, NOON).await;
    does(database, GroupCommand::Snooze(Until::Change), later(10)).await;
    let odd = an_arrival().received(later(20)).header("app\0version", FieldValue::string("1"));
    let letter = database.take_in_new(odd).await;
    database.enrich(&[found(letter, later(20))], 1, later(20)).await.unwrap();
    snoozes.compare().await.unwrap();
    assert_eq!(phase(database).await, Phase::Snoozed);
}

async fn an_undo_takes_back_what_was_done_and_no_more(database: &TestDatabase) {
    fail(database, NOON).await;
    does(database, GroupCommand::Snooze(Until::More { more: 3, arrived: 0 }), later(10)).await;
    does(database, GroupCommand::Assign(Some(Assignee::Team("x".to_owned()))), later(11)).await;
    fail(database, later(12)).await;
    assert_eq!(does(database, GroupCommand::Undo(later(11)), later(13)).await.done, [group_id()]);
    let undone = group(database).await.state;
    assert_eq!((undone.assignee, undone.progress.until), (None, Some(Until::More { more: 3, arrived: 1 })));
    // The same letters would not be counted.
    does(database, GroupCommand::Reopen, later(14)).await;
    fail(database, later(15)).await;
    let late = does(database, GroupCommand::Undo(later(14)), later(16)).await;
    assert_eq!(late.refused, [(group_id(), GroupRefusal::LettersCame)]);
    assert_eq!(phase(database).await, Phase::Open);
}

async fn nothing_is_resolved_by_an_undo_over_letters_that_came_since(database: &TestDatabase) {
    fail(database, NOON).await;
    does(database, GroupCommand::Resolve, later(1)).await;
    does(database, GroupCommand::Reopen, later(2)).await;
    assert_eq!(does(database, GroupCommand::Undo(later(2)), later(3)).await.done, [group_id()]);
    assert_eq!(phase(database).await, Phase::Resolved);
    does(database, GroupCommand::Reopen, later(4)).await;
    fail(database, later(5)).await;
    let late = does(database, GroupCommand::Undo(later(4)), later(6)).await;
    assert_eq!(late.refused, [(group_id(), GroupRefusal::LettersCame)]);
    assert_eq!(late.refused[0].1.to_string(), "a dead letter came since, so that nothing was undone");
    assert_eq!(phase(database).await, Phase::Open);
    // What is no worse for letters that came is undone.
    does(database, GroupCommand::Resolve, later(7)).await;
    does(database, GroupCommand::Undo(later(7)), later(8)).await;
    assert_eq!(phase(database).await, Phase::Open);
}

/// A snooze until a time goes on whatever comes, and an acknowledgement would not.
async fn nothing_is_acknowledged_by_an_undo_over_letters_that_came_since(database: &TestDatabase) {
    fail(database, NOON).await;
    does(database, GroupCommand::Acknowledge, later(1)).await;
    does(database, GroupCommand::Snooze(Until::Time(later(3_600))), later(2)).await;
    fail_as(database, Importance::Critical, later(3)).await;
    let late = does(database, GroupCommand::Undo(later(2)), later(4)).await;
    assert_eq!(late.refused, [(group_id(), GroupRefusal::LettersCame)]);
    assert_eq!(phase(database).await, Phase::Snoozed);
}

async fn who_has_it_already_is_said(database: &TestDatabase) {
    fail(database, NOON).await;
    let assign = || GroupCommand::Assign(Some(Assignee::User("ada".to_owned())));
    let report = does(database, assign(), later(1)).await;
    assert_eq!((report.done, report.unchanged), (vec![group_id()], vec![]));
    let report = does(database, assign(), later(2)).await;
    assert_eq!((report.done, report.unchanged), (vec![], vec![group_id()]));
    assert_eq!(
        does(database, GroupCommand::Undo(later(1)), later(3)).await.done,
        [group_id()],
        "it can be undone still"
    );
}

async fn a_change_is_undone_unless_somebody_has_made_another(database: &TestDatabase) {
    fail(database, NOON).await;
    does(database, GroupCommand::Acknowledge, later(1)).await;
    does(database, GroupCommand::Snooze(Until::Time(later(900))), later(2)).await;
    assert_eq!(database.wake_groups(later(3)).await.unwrap(), 0);
    does(database, GroupCommand::Undo(later(2)), later(4)).await;
    let undone = group(database).await.state;
    assert_eq!((undone.phase(), undone.progress.set), (Phase::Acknowledged, Some((Actor::named("ada"), later(1)))));
    assert_eq!(database.wake_groups(later(9_999)).await.unwrap(), 0, "its clock is stopped, too");
    does(database, GroupCommand::Resolve, later(5)).await;
    let late = does(database, GroupCommand::Undo(later(2)), later(6)).await;
    assert_eq!(late.refused, [(group_id(), GroupRefusal::Overtaken)]);
}

async fn a_group_is_given_to_somebody(database: &TestDatabase) {
    fail(database, NOON).await;
    let (ada, ticket) = (Assignee::User("ada".to_owned()), "https://t.example/1".to_owned());
    does(database, GroupCommand::Assign(Some(ada.clone())), later(1)).await;
    does(database, GroupCommand::SetTicket(Some(ticket.clone())), later(2)).await;
    let state = group(database).await.state;
    assert_eq!(
        (state.assignee.as_ref(), state.ticket.as_ref(), state.phase()),
        (Some(&ada), Some(&ticket), Phase::Open)
    );
    let theirs = GroupFilter { assignees: vec![ada], ..GroupFilter::default() };
    assert_eq!(database.groups(&theirs, GroupSort::Newest, None, 9, NOON).await.unwrap().total, 1);
    let others = GroupFilter { assignees: vec![Assignee::Team("x".to_owned())], ..GroupFilter::default() };
    assert_eq!(database.groups(&others, GroupSort::Newest, None, 9, NOON).await.unwrap().total, 0);
    let gone = fail(database, NOON).await;
    let open: Vec<LetterId> = [gone].into();
    database.does(&DISCARD, &open).await;
    assert_eq!(database.forget_groups(later(999_999)).await.unwrap(), 0, "somebody has it");
}

async fn groups_are_counted_and_found_by_state(database: &TestDatabase) {
    fail(database, NOON).await;
    let letter = database.take_in_new(an_arrival()).await;
    database.enrich(&[enriched(letter).in_group("main", "orders", "other")], 1, NOON).await.unwrap();
    does(database, GroupCommand::Snooze(Until::Change), later(1)).await;
    let counts = database.count_groups(&GroupFilter::default()).await.unwrap();
    assert_eq!((counts.all, counts.to_do, counts.by_phase), (2, 1, [1, 0, 1, 0]));
    let snoozed = GroupFilter { phases: vec![Phase::Snoozed], ..GroupFilter::default() };
    let page = database.groups(&snoozed, GroupSort::Importance, None, 9, NOON).await.unwrap();
    assert_eq!(page.items.iter().map(|group| group.id).collect::<Vec<_>>(), [group_id()]);
    assert_eq!(database.open_groups().await.unwrap().iter().sum::<u64>(), 1, "what is snoozed waits");
}

async fn who_has_seen_another_version_changes_nothing(database: &TestDatabase) {
    fail(database, NOON).await;
    let seen = Expected::OneOf(vec![group(database).await.version()]);
    let act = async |command: GroupCommand| {
        let order = GroupOrder { ids: &[group_id()], command: &command, by: &Actor::local(), at: later(9) };
        database.act_on_groups(&order, &seen).await
    };
    fail(database, later(1)).await;
    assert!(act(GroupCommand::Acknowledge).await.is_ok(), "letters make no other version");
    let late = act(GroupCommand::Resolve).await;
    assert!(matches!(late, Err(ChangeError::Changed(_))), "{late:?}");
    assert_eq!(phase(database).await, Phase::Acknowledged);
}

async fn two_servers_wake_it_once(database: &TestDatabase) {
    fail(database, NOON).await;
    let other = database.second_server().await;
    does(database, GroupCommand::Snooze(Until::Time(later(60))), later(10)).await;
    let (one, two) = tokio::join!(database.wake_groups(later(60)), other.wake_groups(later(60)));
    assert_eq!(one.unwrap() + two.unwrap(), 1);
    assert_eq!(activity(database).await.len(), 2);
}

on_both!(
    a_resolved_group_that_fails_again_regresses,
    what_only_moves_wakes_nothing,
    what_fails_again_with_another_error_is_open,
    what_fails_again_in_another_way_wakes_no_group_before_it_is_enriched,
    what_is_open_and_fails_in_another_way_stays_in_its_group,
    what_cannot_be_sent_opens_a_resolved_group,
    a_letter_that_was_sent_back_and_failed_again_counts,
    a_snooze_counts_letters_that_come,
    a_snooze_ends_by_the_clock,
    a_snooze_ends_when_the_letters_change,
    what_is_of_the_same_queue_and_type_is_no_change,
    a_snooze_ends_by_a_change_though_no_letter_from_before_is_left,
    a_name_that_cannot_be_written_down_is_no_change,
    an_undo_takes_back_what_was_done_and_no_more,
    nothing_is_resolved_by_an_undo_over_letters_that_came_since,
    nothing_is_acknowledged_by_an_undo_over_letters_that_came_since,
    who_has_it_already_is_said,
    a_change_is_undone_unless_somebody_has_made_another,
    a_group_is_given_to_somebody,
    groups_are_counted_and_found_by_state,
    who_has_seen_another_version_changes_nothing,
    two_servers_wake_it_once,
);

//! Groups that are made one, and split again.

use amqp_message::time::Timestamp;
use dead_letter_office::{
    domain::{
        actor::Actor,
        filter::LetterFilter,
        group::{Group, GroupFilter, GroupId, GroupSort},
        group_state::{GroupCommand, Phase},
        letter::{LetterId, Status},
        merge::{MergeRefusal, Merged},
        search::Parsed,
        version::Expected,
    },
    grouping,
    store::{Enriched, GroupOrder, MergeOrder, Store},
};

use super::{
    concurrency::waiting,
    database::TestDatabase,
    make::{InGroup, Make, NOON, an_arrival, enriched, later},
};

fn found(letter: LetterId, error: &str, at: Timestamp) -> Enriched {
    Enriched { received_at: at, ..enriched(letter).in_group("main", "orders", error) }
}

fn id_of(error: &str) -> GroupId {
    grouping::id(&found(LetterId::from_uuid(uuid::Uuid::nil()), error, NOON).key)
}

/// A letter that is received then, and put into its group.
async fn fail(store: &TestDatabase, error: &str, at: Timestamp) -> LetterId {
    let letter = store.take_in_new(an_arrival().received(at)).await;
    store.enrich(&[found(letter, error, at)], 1, at).await.unwrap();
    letter
}

/// `n` letters, a second apart from then on.
async fn fail_often(store: &TestDatabase, error: &str, n: u64, from: u64) -> Vec<LetterId> {
    let mut letters = Vec::new();
    for second in from..from + n {
        letters.push(fail(store, error, later(second)).await);
    }
    letters
}

async fn merge(store: &Store, errors: &[&str], at: Timestamp) -> Result<Merged, MergeRefusal> {
    let ids: Vec<GroupId> = errors.iter().map(|error| id_of(error)).collect();
    store.merge_groups(&ids, MergeOrder { by: &Actor::named("ada"), at }).await.unwrap()
}

async fn split(store: &Store, error: &str) -> Result<Merged, MergeRefusal> {
    store.split_again(id_of(error), None, MergeOrder { by: &Actor::named("bob"), at: later(900) }).await.unwrap()
}

/// Two letters at a time, so that it takes some.
async fn move_all(store: &Store) {
    for _ in 0..1_000 {
        if !store.move_letters(2).await.unwrap() {
            return;
        }
    }
    panic!("there is always more to move");
}

async fn group(store: &Store, error: &str) -> Option<Group> {
    store.group(id_of(error), NOON).await.unwrap()
}

async fn n_letters(store: &Store, error: &str) -> u64 {
    group(store, error).await.map_or(0, |group| group.n_letters())
}

async fn listed(store: &Store) -> Vec<(String, u64)> {
    let page = store.groups(&GroupFilter::default(), GroupSort::Biggest, None, 9, NOON).await.unwrap();
    assert_eq!(page.total, page.items.len() as u64);
    page.items.into_iter().map(|group| (group.key.error.clone(), group.n_letters())).collect()
}

async fn merged_groups_are_the_one_with_most_letters(database: &TestDatabase) {
    fail_often(database, "a", 3, 0).await;
    fail_often(database, "b", 5, 10).await;
    fail_often(database, "c", 1, 20).await;
    let note = ("ask Bob", &Actor::named("ada"));
    database.set_group_note(id_of("b"), note.0, &Expected::Anything, note.1, NOON).await.unwrap();
    let merged = merge(database, &["a", "b", "c"], later(100)).await.unwrap();
    assert_eq!((merged.into, merged.from.len()), (id_of("b"), 2));
    move_all(database).await;
    assert_eq!(listed(database).await, [("b".to_owned(), 9)]);
    let one = group(database, "b").await.unwrap();
    assert_eq!((one.first_seen, one.last_seen), (later(0), later(20)));
    assert_eq!(one.note.map(|note| note.text).as_deref(), Some("ask Bob"));
    assert_eq!(group(database, "a").await, None);
    assert_eq!(database.merged_into(id_of("a")).await.unwrap(), Some(id_of("b")));
    let parts = database.merged_from(id_of("b")).await.unwrap();
    let told: Vec<_> = parts.iter().map(|part| (&*part.group.key.error, part.by.as_str(), part.at)).collect();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|(_, by, at)| (*by, *at) == ("ada", later(100))), "{told:?}");
    // An address of before leads to all of them.
    let filter = LetterFilter { groups: vec![id_of("a")], ..LetterFilter::default() };
    assert_eq!(database.count(&filter).await.unwrap(), 9);
    for (search, n) in [("group:{}", 9), ("-group:{}", 0), ("(group:{} OR attempts:>5)", 9)] {
        let mut filter = LetterFilter::default();
        filter.narrow(&Parsed::read(&search.replace("{}", &id_of("a").to_string())).unwrap(), later(999));
        assert_eq!(database.count(&filter).await.unwrap(), n, "{search}");
    }
}

async fn what_comes_is_in_the_merged_group(database: &TestDatabase) {
    fail_often(database, "a", 1, 0).await;
    fail_often(database, "b", 2, 0).await;
    merge(database, &["a", "b"], later(100)).await.unwrap();
    // Before the others are moved, and after.
    let letter = fail(database, "a", later(101)).await;
    assert_eq!(database.shows(letter).await.group, Some(id_of("b")));
    move_all(database).await;
    fail(database, "a", later(102)).await;
    assert_eq!(n_letters(database, "b").await, 5);
    // Looked at again it stays there.
    database.enrich(&[found(letter, "a", later(101))], 2, later(103)).await.unwrap();
    assert_eq!(database.shows(letter).await.group, Some(id_of("b")));
    // Also when nothing is left of it for long.
    assert_eq!(database.forget_groups(later(999_999)).await.unwrap(), 0);
}

async fn a_split_gives_back_what_was_and_what_came(database: &TestDatabase) {
    let a = fail_often(database, "a", 2, 0).await;
    fail_often(database, "b", 3, 10).await;
    let resolve =
        GroupOrder { ids: &[id_of("a")], command: &GroupCommand::Resolve, by: &Actor::named("ada"), at: later(50) };
    database.act_on_groups(&resolve, &Expected::Anything).await.unwrap();
    database.bring(a[0], Status::Retried).await;
    merge(database, &["a", "b"], later(100)).await.unwrap();
    move_all(database).await;
    let one = group(database, "b").await.unwrap();
    assert_eq!((one.n_letters(), one.outcome.sent, one.retried), (5, 1, 1));
    assert_eq!(one.first_seen, later(0));
    database.audit().await;
    fail(database, "a", later(20)).await;
    split(database, "a").await.unwrap();
    // What comes meanwhile is where it belongs.
    fail(database, "a", later(21)).await;
    move_all(database).await;
    let (first, second) = (group(database, "a").await.unwrap(), group(database, "b").await.unwrap());
    assert_eq!((first.n_letters(), first.outcome.sent), (4, 1));
    assert_eq!(first.state.phase(), Phase::Resolved, "none of them came after that");
    assert_eq!((second.n_letters(), second.outcome.sent), (3, 0));
    assert_eq!((second.first_seen, second.last_seen), (later(10), later(12)));
    assert_eq!(database.merged_from(id_of("b")).await.unwrap(), []);
    assert_eq!(database.merged_into(id_of("a")).await.unwrap(), None);
    assert_eq!(split(database, "a").await, Err(MergeRefusal::NotMerged));
}

/// Its letters were there when somebody acknowledged it.
async fn an_acknowledged_group_is_acknowledged_when_it_is_split_off_again(database: &TestDatabase) {
    fail_often(database, "a", 2, 0).await;
    fail_often(database, "b", 3, 10).await;
    let acknowledge =
        GroupOrder { ids: &[id_of("a")], command: &GroupCommand::Acknowledge, by: &Actor::named("ada"), at: later(50) };
    database.act_on_groups(&acknowledge, &Expected::Anything).await.unwrap();
    merge(database, &["a", "b"], later(100)).await.unwrap();
    move_all(database).await;
    split(database, "a").await.unwrap();
    move_all(database).await;
    let state = group(database, "a").await.unwrap().state;
    assert_eq!((state.phase(), state.progress.reopened), (Phase::Acknowledged, None));
}

async fn what_is_merged_may_be_merged_again(database: &TestDatabase) {
    let a = fail_often(database, "a", 1, 0).await;
    fail_often(database, "b", 2, 0).await;
    fail_often(database, "c", 9, 0).await;
    database.bring(a[0], Status::Retried).await;
    merge(database, &["a", "b"], later(100)).await.unwrap();
    // Before the letters of the first have come to the second.
    merge(database, &["b", "c"], later(101)).await.unwrap();
    move_all(database).await;
    assert_eq!(listed(database).await, [("c".to_owned(), 12)]);
    assert_eq!(group(database, "c").await.unwrap().outcome.sent, 1);
    assert_eq!(database.merged_into(id_of("a")).await.unwrap(), Some(id_of("c")));
    assert_eq!(merge(database, &["a", "c"], later(102)).await, Err(MergeRefusal::NotFound));
    assert_eq!(split(database, "a").await, Err(MergeRefusal::InAnother));
    split(database, "b").await.unwrap();
    move_all(database).await;
    assert_eq!(listed(database).await, [("c".to_owned(), 9), ("b".to_owned(), 3)]);
    split(database, "a").await.unwrap();
    move_all(database).await;
    assert_eq!((n_letters(database, "a").await, n_letters(database, "b").await), (1, 2));
    assert_eq!(group(database, "b").await.unwrap().outcome.sent, 0);
}

/// What is split off is moved when its turn comes, also where that is after the group that it leaves.
async fn a_group_is_merged_before_what_was_split_off_has_left_it(database: &TestDatabase) {
    let mut errors = ["a", "b"];
    errors.sort_by_key(|error| id_of(error));
    let [left, part] = errors;
    fail_often(database, left, 3, 0).await;
    fail_often(database, part, 2, 10).await;
    fail_often(database, "c", 9, 20).await;
    merge(database, &[left, part], later(100)).await.unwrap();
    move_all(database).await;
    split(database, part).await.unwrap();
    merge(database, &[left, "c"], later(101)).await.unwrap();
    move_all(database).await;
    assert_eq!(listed(database).await, [("c".to_owned(), 12), (part.to_owned(), 2)]);
}

async fn a_group_that_letters_are_on_their_way_into_is_not_forgotten(database: &TestDatabase) {
    fail_often(database, "a", 1, 0).await;
    fail_often(database, "b", 2, 0).await;
    merge(database, &["a", "b"], later(100)).await.unwrap();
    move_all(database).await;
    split(database, "a").await.unwrap();
    assert_eq!(database.forget_groups(later(999_999)).await.unwrap(), 0);
    assert!(group(database, "a").await.is_some());
}

/// People split one after the other; what a rule has merged is split without it, whatever it has become part of.
async fn grouping_rules_split_what_is_part_of_a_part(database: &TestDatabase) {
    let a = fail_often(database, "a", 1, 0).await;
    fail_often(database, "b", 2, 5).await;
    fail_often(database, "c", 9, 10).await;
    database.bring(a[0], Status::Retried).await;
    merge(database, &["a", "b"], later(100)).await.unwrap();
    move_all(database).await;
    merge(database, &["b", "c"], later(101)).await.unwrap();
    move_all(database).await;
    let one = group(database, "c").await.unwrap();
    assert_eq!((one.n_letters(), one.outcome.sent, one.first_seen), (12, 1, later(0)));
    assert_eq!(split(database, "a").await, Err(MergeRefusal::InAnother));
    let order = MergeOrder { by: &Actor::named(Actor::GROUPING_RULES), at: later(900) };
    let apart = database.split_again(id_of("a"), None, order).await.unwrap();
    assert_eq!(apart, Ok(Merged { into: id_of("b"), from: vec![id_of("a")] }));
    move_all(database).await;
    let (first, one) = (group(database, "a").await.unwrap(), group(database, "c").await.unwrap());
    assert_eq!((first.n_letters(), first.outcome.sent), (1, 1));
    assert_eq!((one.n_letters(), one.outcome.sent, one.first_seen), (11, 0, later(5)));
    split(database, "b").await.unwrap();
    move_all(database).await;
    let second = group(database, "b").await.unwrap();
    assert_eq!((second.n_letters(), second.outcome.sent), (2, 0));
}

async fn what_cannot_be_one_is_refused(database: &TestDatabase) {
    fail(database, "a", NOON).await;
    fail(database, "b", NOON).await;
    let elsewhere = database.take_in_new(an_arrival().queue("mail")).await;
    let other = enriched(elsewhere).in_group("main", "mail", "a");
    let group = other.group;
    database.enrich(&[other], 1, NOON).await.unwrap();
    assert_eq!(merge(database, &["a"], NOON).await, Err(MergeRefusal::TooFew));
    assert_eq!(merge(database, &["a", "no such"], NOON).await, Err(MergeRefusal::NotFound));
    let order = MergeOrder { by: &Actor::named("ada"), at: NOON };
    let apart = database.merge_groups(&[id_of("a"), group], order).await.unwrap();
    assert_eq!(apart, Err(MergeRefusal::Apart));
    merge(database, &["a", "b"], NOON).await.unwrap();
    let of_another_moment = database.split_again(id_of("b"), Some(later(1)), order).await.unwrap();
    assert_eq!(of_another_moment, Err(MergeRefusal::NotMerged));
}

/// What another server has begun is gone on with.
async fn two_servers_move_the_same_letters(database: &TestDatabase) {
    let other = database.second_server().await;
    fail_often(database, "a", 7, 0).await;
    fail_often(database, "b", 8, 0).await;
    merge(database, &["a", "b"], later(100)).await.unwrap();
    tokio::join!(move_all(database), move_all(&other));
    assert_eq!(listed(&other).await, [("b".to_owned(), 15)]);
}

/// A letter on its way into a group while that is merged comes into the other.
async fn a_letter_that_comes_meanwhile_is_not_left_behind(database: &TestDatabase) {
    fail(database, "a", NOON).await;
    fail_often(database, "b", 2, 0).await;
    let letter = database.take_in_new(an_arrival()).await;
    let found = [found(letter, "a", NOON)];
    let Some(server) = database.server() else { return };
    // It has asked what stands for its group, and waits to hold it.
    let mut other = server.begin().await.unwrap();
    sqlx::query("SELECT id FROM groups ORDER BY id FOR UPDATE").execute(&mut *other).await.unwrap();
    let merged = async {
        waiting(server, 1).await;
        sqlx::query("UPDATE groups SET merged_into = $1, is_moving = TRUE WHERE id = $2")
            .bind(id_of("b").as_uuid())
            .bind(id_of("a").as_uuid())
            .execute(&mut *other)
            .await
            .unwrap();
        other.commit().await.unwrap();
    };
    let (enriched, ()) = tokio::join!(database.enrich(&found, 1, NOON), merged);
    enriched.unwrap();
    assert_eq!(database.shows(letter).await.group, Some(id_of("b")));
    move_all(database).await;
    assert_eq!(n_letters(database, "b").await, 4);
}

on_both!(
    merged_groups_are_the_one_with_most_letters,
    what_comes_is_in_the_merged_group,
    a_split_gives_back_what_was_and_what_came,
    an_acknowledged_group_is_acknowledged_when_it_is_split_off_again,
    what_is_merged_may_be_merged_again,
    a_group_is_merged_before_what_was_split_off_has_left_it,
    a_group_that_letters_are_on_their_way_into_is_not_forgotten,
    grouping_rules_split_what_is_part_of_a_part,
    what_cannot_be_one_is_refused,
    two_servers_move_the_same_letters,
    a_letter_that_comes_meanwhile_is_not_left_behind,
);

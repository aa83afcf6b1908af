//! Sorting letters: of which types they are, how important, and in which groups.

use dead_letter_office::{
    domain::{
        actor::Actor,
        command::Command,
        health::Backlog,
        history::Event,
        job::{Job, JobState},
        letter::{Importance, LetterId, Status, TypeSource},
    },
    store::{Enriched, Exhausted},
};

use super::{
    database::{DISCARD, TestDatabase},
    make::{InGroup, Make, an_arrival, enriched, id, later},
};

fn set_type(name: Option<&str>) -> Command {
    Command::SetType(name.map(str::to_owned))
}

fn found(letter: LetterId, name: &str) -> Enriched {
    let sorted = enriched(letter);
    Enriched {
        message_type: Some(name.to_owned()),
        source: Some(TypeSource::Detected),
        confidence: Some(0.97),
        ..sorted
    }
}

fn nothing(letter: LetterId) -> Enriched {
    enriched(letter)
}

fn of(letter: LetterId, importance: Importance, error: &str) -> Enriched {
    let importance_by = "rule:a rule".to_owned();
    Enriched { importance, importance_by, ..enriched(letter).in_group("main", "orders", error) }
}

/// Name, source and confidence as the database has them.
async fn named(database: &TestDatabase, id: LetterId) -> (Option<String>, Option<TypeSource>, Option<f64>) {
    let letter = database.summary(id).await.unwrap().unwrap();
    (letter.message_type, letter.type_source, letter.type_confidence)
}

async fn three(database: &TestDatabase) -> [LetterId; 3] {
    let letters = [an_arrival(), an_arrival(), an_arrival()];
    let ids = [letters[0].id, letters[1].id, letters[2].id];
    database.take_in(letters).await;
    ids
}

async fn what_nobody_looked_at_is_counted_from_the_oldest(database: &TestDatabase) {
    assert_eq!(database.not_enriched_backlog().await.unwrap(), Backlog::default());
    let letters = [later(3), later(1), later(2)].map(|at| an_arrival().received(at));
    let ids = letters.each_ref().map(|letter| letter.id);
    database.take_in(letters).await;
    assert_eq!(database.not_enriched_backlog().await.unwrap(), Backlog { letters: 3, oldest: Some(later(1)) });
    database.enrich(&[Enriched { received_at: later(1), ..nothing(ids[1]) }], 1, later(4)).await.unwrap();
    assert_eq!(database.not_enriched_backlog().await.unwrap(), Backlog { letters: 2, oldest: Some(later(2)) });
}

async fn what_nobody_looked_at_comes_newest_first_until_it_is_named(database: &TestDatabase) {
    let [first, second, third] = three(database).await;
    assert_eq!(database.not_enriched(2).await.unwrap(), [third, second]);
    database.enrich(&[found(third, "a.T"), nothing(second)], 1, later(1)).await.unwrap();
    assert_eq!(database.not_enriched(10).await.unwrap(), [first], "to have found nothing is to have looked");
    let expected = (Some("a.T".to_owned()), Some(TypeSource::Detected), Some(0.97));
    assert_eq!(named(database, third).await, expected);
    assert_eq!(named(database, second).await, (None, None, None));
}

async fn another_edition_is_named_anew_page_by_page(database: &TestDatabase) {
    let [first, second, third] = three(database).await;
    database.enrich(&[found(first, "a.T"), found(second, "a.T")], 1, later(1)).await.unwrap();
    assert_eq!(database.count_named_otherwise(1).await.unwrap(), 0);
    assert_eq!(database.count_named_otherwise(2).await.unwrap(), 2, "{third} was never named");
    assert_eq!(database.named_otherwise(2, None, 1).await.unwrap(), [second]);
    assert_eq!(database.named_otherwise(2, Some(second), 9).await.unwrap(), [first]);
    database.enrich(&[nothing(first)], 2, later(1)).await.unwrap();
    assert_eq!(named(database, first).await, (None, None, None), "what was found before counts no more");
    assert_eq!(database.named_otherwise(2, None, 9).await.unwrap(), [second]);
}

async fn what_a_person_says_stays_until_it_is_taken_back(database: &TestDatabase) {
    let [first, ..] = three(database).await;
    database.enrich(&[found(first, "a.Guess")], 1, later(1)).await.unwrap();
    database.does(&set_type(Some("a.Said")), &[first]).await;
    let said = (Some("a.Said".to_owned()), Some(TypeSource::Manual), None);
    assert_eq!(named(database, first).await, said);
    database.enrich(&[found(first, "a.Guess")], 2, later(1)).await.unwrap();
    assert_eq!(named(database, first).await, said);
    database.does(&set_type(None), &[first]).await;
    assert_eq!(named(database, first).await, (None, None, None));
    assert!(database.not_enriched(10).await.unwrap().contains(&first), "it is looked at again");
    let events: Vec<_> = database.events(first).await.into_iter().map(|(event, ..)| event).collect();
    assert_eq!(events, [Event::TypeSet, Event::TypeSet]);
}

async fn what_changed_while_it_was_looked_at_is_looked_at_again(database: &TestDatabase) {
    let [first, second, third] = three(database).await;
    let looked_at = [found(first, "a.T"), found(second, "a.T"), found(third, "a.T")];
    database.bring(second, Status::Retried).await;
    database.take_in([an_arrival().returning(second).received(later(7))]).await;
    database.does(&set_type(Some("a.Said")), &[third]).await;
    database.enrich(&looked_at, 1, later(8)).await.unwrap();
    assert_eq!(database.not_enriched(9).await.unwrap(), [third, second]);
}

async fn a_rule_says_how_important_a_letter_is_until_a_person_does(database: &TestDatabase) {
    let [first, second, _] = three(database).await;
    database.does(&Command::SetImportance(Importance::High), &[second]).await;
    let rules = [of(first, Importance::Critical, "x"), of(second, Importance::Low, "x")];
    let exhausted = database.enrich(&rules, 1, later(1)).await.unwrap();
    let told = |importance| Exhausted { broker: "main".to_owned(), queue: Some("orders".to_owned()), importance };
    assert_eq!(exhausted, [told(Importance::Critical), told(Importance::High)]);
    let as_told = async |id| {
        let letter = database.summary(id).await.unwrap().unwrap();
        (letter.importance, letter.importance_by)
    };
    assert_eq!(as_told(first).await, (Importance::Critical, "rule:a rule".to_owned()));
    assert_eq!(as_told(second).await, (Importance::High, "manual".to_owned()));
    let again = database.enrich(&[of(first, Importance::Low, "x")], 1, later(2)).await.unwrap();
    assert_eq!(again, [], "it has been told");
    let (event, _, detail) = database.events(first).await.pop().unwrap();
    assert_eq!((event, &*detail), (Event::ImportanceSet, "from critical to low, by the rule \"a rule\""));
}

async fn what_is_over_is_not_judged_anew(database: &TestDatabase) {
    let [first, ..] = three(database).await;
    database.enrich(&[of(first, Importance::High, "x")], 1, later(1)).await.unwrap();
    database.does(&DISCARD, &[first]).await;
    database.enrich(&[of(first, Importance::Low, "x")], 2, later(2)).await.unwrap();
    assert_eq!(database.summary(first).await.unwrap().unwrap().importance, Importance::High);
}

async fn what_people_said_is_counted_by_queue(database: &TestDatabase) {
    let [first, second, third] = three(database).await;
    let elsewhere = an_arrival().queue("others");
    let other = elsewhere.id;
    database.take_in([elsewhere]).await;
    database.does(&set_type(Some("a.T")), &[first, second, other]).await;
    database.enrich(&[found(third, "a.T")], 1, later(1)).await.unwrap();
    assert_eq!(database.confirmed_types("main", "orders").await.unwrap(), [("a.T".to_owned(), 2)]);
    assert_eq!(database.confirmed_types("main", "others").await.unwrap(), [("a.T".to_owned(), 1)]);
    assert_eq!(database.confirmed_types("other", "orders").await.unwrap(), []);
}

async fn a_type_is_seen_where_letters_of_it_are_open(database: &TestDatabase) {
    let [first, second, third] = three(database).await;
    let elsewhere = an_arrival().queue("a");
    let nowhere = an_arrival().of_unknown_queue();
    let (other, lost) = (elsewhere.id, nowhere.id);
    database.take_in([elsewhere, nowhere]).await;
    let names = [first, second, third, other, lost].map(|id| found(id, if id == second { "a.B" } else { "a.T" }));
    database.enrich(&names, 1, later(1)).await.unwrap();
    let at = |queue: &str, n| ("main".to_owned(), queue.to_owned(), n);
    assert_eq!(database.seen("a.T", 9).await.unwrap(), [at("orders", 2), at("", 1), at("a", 1)]);
    assert_eq!(database.seen("a.T", 1).await.unwrap(), [at("orders", 2)]);
    database.does(&DISCARD, &[first, third]).await;
    assert_eq!(database.seen("a.T", 9).await.unwrap(), [at("", 1), at("a", 1)]);
    assert_eq!(database.seen("a.Nothing", 9).await.unwrap(), []);
}

async fn the_job_that_began_last_is_found_by_its_name(database: &TestDatabase) {
    let by = Actor::system();
    assert_eq!(database.latest_job("name types").await.unwrap(), None);
    let old = Job { state: JobState::Done, ..Job::begun(id(), "name types") };
    let new = Job { total: 7, ..Job::begun(id(), "name types") };
    database.add_job(&new, &by, later(2)).await.unwrap();
    database.add_job(&old, &by, later(1)).await.unwrap();
    database.add_job(&Job::begun(id(), "retry"), &by, later(3)).await.unwrap();
    assert_eq!(database.latest_job("name types").await.unwrap(), Some(new));
}

async fn who_sees_hidden_values_is_written_down(database: &TestDatabase) {
    let [first, ..] = three(database).await;
    assert!(database.reveal(first, &Actor::named("Ada"), later(5)).await.unwrap());
    let history = database.history(first).await.unwrap();
    let last = history.last().unwrap();
    assert_eq!((last.event, last.by.as_str(), last.at), (Event::Revealed, "Ada", later(5)));
    assert!(!database.reveal(LetterId::from_uuid(id()), &Actor::named("Ada"), later(5)).await.unwrap());
}

on_both!(
    what_nobody_looked_at_is_counted_from_the_oldest,
    what_nobody_looked_at_comes_newest_first_until_it_is_named,
    another_edition_is_named_anew_page_by_page,
    what_a_person_says_stays_until_it_is_taken_back,
    what_changed_while_it_was_looked_at_is_looked_at_again,
    a_rule_says_how_important_a_letter_is_until_a_person_does,
    what_is_over_is_not_judged_anew,
    what_people_said_is_counted_by_queue,
    a_type_is_seen_where_letters_of_it_are_open,
    the_job_that_began_last_is_found_by_its_name,
    who_sees_hidden_values_is_written_down,
);

//! Letters by their ids.

use dead_letter_office::domain::{
    history::Event,
    letter::{LetterId, Status},
};

use super::{
    database::TestDatabase,
    make::{Make, an_arrival, id, later},
};

async fn summaries_are_of_those_that_exist(database: &TestDatabase) {
    let ids = database.take_in([an_arrival(), an_arrival()]).await.map(|recorded| recorded.letter());
    let asked = [ids[1], LetterId::from_uuid(id()), ids[0], ids[1]];
    let mut found: Vec<_> = database.summaries(&asked).await.unwrap().iter().map(|letter| letter.id).collect();
    found.sort();
    assert_eq!(found, ids);
    assert_eq!(database.summaries(&[]).await.unwrap(), []);
}

async fn a_list_and_a_letter_say_the_same(database: &TestDatabase) {
    let id = database.letter_in(Status::Scheduled).await;
    let summary = database.shows(id).await;
    let page = dead_letter_office::domain::filter::PageRequest { sort: Default::default(), after: None, limit: 1 };
    assert_eq!(database.letters(&Default::default(), &page).await.unwrap().items[0], summary);
    assert_eq!(database.letter(id).await.unwrap().unwrap().summary, summary);
}

async fn history_begins_when_it_came_in(database: &TestDatabase) {
    let id = database.take_in_new(an_arrival().received(later(7))).await;
    let history = database.history(id).await.unwrap();
    assert_eq!(history.iter().map(|entry| (entry.at, entry.event)).collect::<Vec<_>>(), [(later(7), Event::Received)]);
    assert_eq!((history[0].by.as_str(), &*history[0].detail), ("dlo", ""));
}

on_both!(summaries_are_of_those_that_exist, a_list_and_a_letter_say_the_same, history_begins_when_it_came_in);

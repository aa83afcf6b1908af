//! Types of letters, found out in the background, and where they show.

use axum::http::Method;
use dead_letter_office::{
    config::DecodeConfig,
    domain::{
        actor::Actor,
        command::Command,
        job::{Job, JobState, NAME_TYPES},
        letter::LetterId,
    },
    metrics::Metrics,
    services::{
        decoding::reader::Reader,
        enrichment::{Enrichment, SoFar},
    },
};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    answer::{Look, words},
    dead::{NOON, dead_in},
    desk::{Desk, MAIN},
    payload::{ACCOUNT, bring_lab},
    run::PATIENCE,
};
use crate::support::process::wait_until;

/// Works as dlo does after every change.
struct Worker {
    enrichment: Enrichment,
}

impl Worker {
    fn of(desk: &Desk) -> Self {
        let enrichment = Enrichment {
            store: desk.store.clone(),
            reader: Reader::new(desk.schemas.clone(), DecodeConfig::default()),
            schemas: desk.schemas.clone(),
            rules: desk.rules.clone(),
            grouping_rules: desk.grouping_rules.clone(),
            group_splits: desk.group_splits.clone(),
            clock: desk.clock.clone(),
            metrics: Metrics::default(),
            feed: desk.feed.clone(),
            so_far: SoFar::default(),
        };
        Self { enrichment }
    }

    async fn work(&mut self) {
        self.enrichment.work(&CancellationToken::new()).await.unwrap();
    }
}

async fn named(desk: &Desk, id: LetterId) -> (Option<String>, Option<&'static str>) {
    let letter = desk.store.summary(id).await.unwrap().unwrap();
    (letter.message_type, letter.type_source.map(|source| source.as_str()))
}

fn as_what(name: &str, source: &'static str) -> (Option<String>, Option<&'static str>) {
    (Some(name.to_owned()), Some(source))
}

#[tokio::test]
async fn letters_already_there_get_their_type_when_a_schema_comes() {
    let desk = Desk::open().await;
    let mut worker = Worker::of(&desk);
    let [first, second] =
        desk.receive_from(MAIN, [dead_in("accounts").body(ACCOUNT), dead_in("doors").body("{}")]).await;
    worker.work().await;
    assert_eq!((named(&desk, first).await, named(&desk, second).await), ((None, None), (None, None)));
    assert_eq!(desk.store.latest_job(NAME_TYPES).await.unwrap(), None, "new letters are no job");
    bring_lab(&desk).await;
    worker.work().await;
    assert_eq!(named(&desk, first).await, as_what("lab.v1.Account", "detected"));
    assert_eq!(named(&desk, second).await, (None, None));
    let job = desk.store.latest_job(NAME_TYPES).await.unwrap().unwrap();
    assert_eq!((job.state, job.total, job.done), (JobState::Done, 2, 2));
    let told = desk.get(&format!("/api/v1/jobs/{}", job.id)).await.expect(200).json();
    assert_eq!((&told["action"], &told["state"], &told["done"]), (&json!(NAME_TYPES), &json!("done"), &json!(2)));
    worker.work().await;
    assert_eq!(desk.store.latest_job(NAME_TYPES).await.unwrap().unwrap().id, job.id, "nothing has changed since");
}

#[tokio::test]
async fn a_mapping_names_letters_until_it_is_taken_back_but_never_over_a_person() {
    let desk = Desk::open().await;
    bring_lab(&desk).await;
    let mut worker = Worker::of(&desk);
    let [first, second] = desk.receive_from(MAIN, [dead_in("doors").body("{}"), dead_in("doors").body("{}")]).await;
    desk.command(second, Command::SetType(Some("lab.v1.Said".to_owned()))).await;
    worker.work().await;
    assert_eq!(named(&desk, first).await, (None, None));
    desk.call(Method::POST, "/api/v1/mappings", &json!({"queue": "doors", "message_type": "lab.v1.DoorOpened"}))
        .await
        .expect(201);
    worker.work().await;
    assert_eq!(named(&desk, first).await, as_what("lab.v1.DoorOpened", "mapping"));
    assert_eq!(named(&desk, second).await, as_what("lab.v1.Said", "manual"));

    let rows: Vec<_> = desk
        .page("/letters")
        .await
        .all(".list-row .row-type")
        .into_iter()
        .map(|it| (words(it), it.attr("title").unwrap().to_owned()))
        .collect();
    let row = |last: &str| (last.to_owned(), format!("lab.v1.{last}"));
    assert_eq!(rows, [row("Said"), row("DoorOpened")]);
    let page = desk.page("/schemas/types/lab.v1.DoorOpened").await;
    assert_eq!(page.words(".schema-seen li"), "doors 1 open dead letter");
    assert_eq!(page.all(".schema-seen a")[0].attr("href"), Some("/letters?queue=doors"));
    assert!(desk.page("/schemas/types/lab.v1.Address").await.words("#seen").contains("No open dead letter has it."));

    let mapping = desk.get("/api/v1/mappings").await.json()["items"][0]["id"].as_str().unwrap().to_owned();
    desk.call(Method::DELETE, &format!("/api/v1/mappings/{mapping}"), &json!({})).await.expect(204);
    worker.work().await;
    assert_eq!(named(&desk, first).await, (None, None));
    assert_eq!(named(&desk, second).await, as_what("lab.v1.Said", "manual"));
}

/// What is taken back has the edition that all were named with before.
#[tokio::test]
async fn a_mapping_that_is_taken_back_at_once_names_nothing() {
    const LETTERS: usize = 600;
    let desk = Desk::open().await;
    bring_lab(&desk).await;
    let mut worker = Worker::of(&desk);
    let letters = desk.receive_all(MAIN, (0..LETTERS).map(|_| dead_in("doors").body("{}")).collect()).await;
    worker.work().await;
    let as_before = desk.schemas.edition();
    let mapping = json!({"queue": "doors", "message_type": "lab.v1.DoorOpened"});
    let mapping = desk.call(Method::POST, "/api/v1/mappings", &mapping).await.expect(201).json();
    let stop = CancellationToken::new();
    let some_are_named = async || desk.store.count_named_otherwise(as_before).await.unwrap() > 0;
    let taking_back = async {
        wait_until("some to be named", PATIENCE, some_are_named).await;
        stop.cancel();
    };
    tokio::join!(async { worker.enrichment.work(&stop).await.unwrap() }, taking_back);
    let mapping = format!("/api/v1/mappings/{}", mapping["id"].as_str().unwrap());
    desk.call(Method::DELETE, &mapping, &json!({})).await.expect(204);
    worker.work().await;
    assert_eq!(desk.store.count_named_otherwise(as_before).await.unwrap(), 0);
    assert_eq!(named(&desk, letters[0]).await, (None, None));
}

#[tokio::test]
async fn a_running_job_shows_how_far_it_is() {
    let desk = Desk::open().await;
    assert_eq!(desk.page("/schemas").await.words("#naming"), "");
    let mut job = Job { total: 54_000, done: 1_200, ..Job::begun(Uuid::now_v7(), NAME_TYPES) };
    desk.store.add_job(&job, &Actor::system(), NOON).await.unwrap();
    let page = desk.page("/schemas").await;
    assert!(page.words("#naming").ends_with("1,200 of 54,000 dead letters"));
    assert_eq!(page.all("#naming progress")[0].attr("value"), Some("1200"));
    let part = desk.get("/schemas?part=naming").await.expect(200).page();
    assert!(part.all("#naming")[0].attr("hx-get").is_some(), "it is asked for again");
    job.end();
    desk.store.update_job(&job).await.unwrap();
    let part = desk.get("/schemas?part=naming").await.expect(200).page();
    assert_eq!((part.words("#naming"), part.all("#naming")[0].attr("hx-get")), (String::new(), None));
}

//! One edit for many letters: shown beforehand, made of each as it came, and sent once.

use std::{io::Write, time::Duration};

use amqp_message::{field::FieldValue, message::Properties};
use base64::{Engine, prelude::BASE64_STANDARD};
use dead_letter_office::{
    domain::{
        actor::Actor,
        command::{Command, CommandReport, Refusal},
        filter::LetterFilter,
        job::{Bulk, JobState},
        letter::{LetterId, Status},
        pacing::Pacing,
        rights::{Grants, QueueScope, Right},
    },
    store::BulkWork,
};
use flate2::{Compression, write::GzEncoder};
use payload_codec::json::MergePatch;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    answer::Look,
    dead::{Dead, NOON, dead_in},
    desk::Desk,
    form::submit,
    groups::failed_with,
    pacing::Office,
    payload::{ACCOUNT, OPENED, SECRET, bring_lab},
};
use crate::support::{PATIENCE, process::wait_until};

on_both!(
    from crate::web::pacing::Office::new:
    each_is_edited_as_it_came_and_what_cannot_be_is_told,
    what_is_taken_back_is_not_edited_once_more,
    a_job_that_was_left_behind_keeps_its_edit_and_the_rights_of_who_asked,
    what_was_refused_before_a_crash_is_counted_once,
    what_waits_is_taken_back_as_its_copy,
);

const SECOND: Duration = Duration::from_secs(1);
/// What the patch sets, also where it is hidden.
const SET: &str = "difference-engine";

fn patch() -> Value {
    json!({"name": "Ada King", "secret": SET})
}

pub fn gzipped(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

/// Three that can be edited, and three that cannot.
async fn receive(desk: &Desk) -> Vec<LetterId> {
    bring_lab(desk).await;
    let dead = |body: Vec<u8>| dead_in("orders").body(body).received(NOON.minus(60 * SECOND));
    let in_gzip = Properties { content_encoding: Some("gzip".to_owned()), ..Properties::default() };
    let of_type = |dead: Dead, name: &str| dead.header("cloudEvents:type", FieldValue::string(name));
    let all = vec![
        of_type(dead(BASE64_STANDARD.encode(ACCOUNT).into_bytes()), "lab.v1.Account"),
        dead(BASE64_STANDARD.encode(r#"{"name":"Ada","n":1.10,"big":12345678901234567890123}"#).into_bytes()),
        dead(gzipped("{\n  \"name\": \"Ada\",\n  \"debug\": true\n}")).properties(in_gzip),
        dead(b"hello, this is no JSON at all".to_vec()),
        dead(OPENED.to_vec()),
        dead(patch().to_string().into_bytes()),
    ];
    desk.receive_all(super::desk::MAIN, all).await
}

async fn body(desk: &Desk, id: LetterId) -> Vec<u8> {
    desk.get(&format!("/api/v1/letters/{id}/body")).await.expect(200).body
}

/// The copy that stands in the place of a letter.
async fn copy_of(desk: &Desk, id: LetterId) -> LetterId {
    let original = desk.letter(id).await;
    assert_eq!(original["status"], "discarded");
    let copy: LetterId = original["replaced_by"].as_str().unwrap().parse().unwrap();
    assert_eq!(desk.letter(copy).await["edited_from"], json!(id.to_string()));
    copy
}

async fn each_is_edited_as_it_came_and_what_cannot_be_is_told(office: &Office) {
    let desk = &office.desk;
    let ids = receive(desk).await;
    let ask = json!({"action": "retry", "filter": {"status": "open"}, "merge_patch": patch()});
    let told = desk.post("/api/v1/actions/preview", &ask).await.expect(200).json()["edit"].clone();
    assert_eq!((&told["letters_tried"], &told["editable"]), (&json!(6), &json!(3)), "{told:#}");
    let of =
        |id: &LetterId| told["letters"].as_array().unwrap().iter().find(|one| one["id"] == id.to_string()).unwrap();
    let diff = |id: &LetterId| of(id)["diff"].as_str().unwrap().to_owned();
    assert!(diff(&ids[0]).contains("-  \"name\": \"Ada Lovelace\""), "{}", diff(&ids[0]));
    assert!(diff(&ids[0]).contains("+  \"name\": \"Ada King\""), "{}", diff(&ids[0]));
    assert!(!told.to_string().contains(SECRET) && !diff(&ids[0]).contains(SET), "what is hidden stays so");
    assert!(diff(&ids[1]).contains("+  \"secret\": \"difference-engine\""), "{}", diff(&ids[1]));
    let reasons =
        ["its payload is text, no JSON", "its type is not known for certain", "the edit changes nothing in it"];
    for (id, why) in ids[3..].iter().zip(reasons) {
        assert_eq!(of(id)["why_not"], why);
    }
    // As the page shows it.
    let until = office.desk.clock.now().as_micros().to_string();
    let pairs = [("part", "edit"), ("until", &*until), ("merge_patch", &*patch().to_string())];
    let page = submit(desk, "/letters/all?status=open", &pairs).await.expect(200).page();
    assert!(page.html().contains("3 of the first 6 dead letters can be edited."), "{}", page.html());
    assert!(page.html().contains("Ada King") && !page.html().contains(SECRET));
    let pairs = [("part", "edit"), ("until", &*until), ("merge_patch", "{\"a\":\n tru}")];
    let page = submit(desk, "/letters/all?status=open", &pairs).await.expect(200).page();
    assert!(page.words(".text-alarm").starts_with("line 2, column 2: "), "{}", page.words(".text-alarm"));

    let job = office.begin(json!({"merge_patch": patch()})).await;
    let status = office.job(&job).await;
    assert_eq!((&status["state"], &status["done"], &status["failed"]), (&json!("failed"), &json!(3), &json!(3)));
    assert_eq!((&status["edited"], status.to_string().contains(SET)), (&json!(true), false));
    let report = office.job(&format!("{job}/report")).await;
    let mut expected = reasons.map(|why| json!({"why": why, "letters": 1}));
    expected.sort_by_key(ToString::to_string);
    let mut refused = report["not_sent"].as_array().unwrap().clone();
    refused.sort_by_key(ToString::to_string);
    assert_eq!(refused, expected);
    let page = desk.page(&job.replace("/api/v1", "")).await.words("#jobs");
    assert!(page.contains("payloads edited") && page.contains("its payload is text, no JSON"), "{page}");
    assert!(page.contains("Not sent Why Messages Its "), "{page}");

    let mut copies = Vec::new();
    for id in &ids[..3] {
        copies.push(copy_of(desk, *id).await);
    }
    for id in &ids[3..] {
        assert_eq!(desk.status(*id).await, Status::Open);
    }
    let account = BASE64_STANDARD.decode(body(desk, copies[0]).await).unwrap();
    assert_eq!(account, b"\x0a\x08Ada King\x12\x11difference-engine\x1a\x15\x0a\x11St James's Square\x10\x0c");
    let inside = BASE64_STANDARD.decode(body(desk, copies[1]).await).unwrap();
    let expected = r#"{"name":"Ada King","n":1.10,"big":12345678901234567890123,"secret":"difference-engine"}"#;
    assert_eq!(String::from_utf8(inside).unwrap(), expected, "no digit is lost");
    let mut unzipped = String::new();
    let zipped = body(desk, copies[2]).await;
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&*zipped), &mut unzipped).unwrap();
    let expected = "{\n  \"name\": \"Ada King\",\n  \"debug\": true,\n  \"secret\": \"difference-engine\"\n}";
    assert_eq!(unzipped, expected);

    let activity = desk.get("/api/v1/activity").await.json()["items"].as_array().unwrap().clone();
    let activity = activity.iter().find(|item| item["action"] == "retry").unwrap();
    assert_eq!((&activity["action"], &activity["letters"]), (&json!("retry"), &json!(3)));
    assert!(activity["detail"].as_str().unwrap().starts_with("payloads edited; "), "{activity}");
    let history = desk.letter(copies[0]).await["history"].to_string();
    assert!(history.contains(&format!("edited copy of {}: body", ids[0])), "{history}");
    let (of_json, its_body) = (copies[1], body(desk, copies[1]).await);
    let mut sent = office.send().await;
    sent.sort();
    copies.sort();
    assert_eq!(sent, copies, "only one of both is ever sent");
    let again = failed_with(dead_in("orders"), "again").body(its_body).received(desk.clock.now());
    let again = again.with(|arrival| arrival.returning = Some(of_json));
    assert_eq!(desk.receive_all(super::desk::MAIN, vec![again]).await, [of_json]);
    assert_eq!(office.outcome(&job).await, [0, 2, 0, 1, 3]);
}

async fn what_is_taken_back_is_not_edited_once_more(office: &Office) {
    let dead = |n| dead_in("orders").body(format!(r#"{{"n":{n}}}"#)).received(NOON.minus(60 * SECOND));
    let ids = office.desk.receive_all(super::desk::MAIN, (0..20).map(dead).collect()).await;
    let job = office.begin(json!({"rate": 4, "merge_patch": {"fixed": true}})).await;
    let sent = office.go_on(2 * SECOND).await;
    // Some copies are on their way and not sent.
    office.desk.clock.advance(SECOND / 2);
    office.steps().await;
    let paused = office.control(&job, "pause").await;
    assert_eq!((&paused["state"], &paused["done"]), (&json!("paused"), &json!(sent)));
    office.nothing_is_sent_for(10 * SECOND, "it is paused").await;
    office.control(&job, "resume").await;
    assert_eq!(office.go_on(8 * SECOND).await + sent, 20);
    let status = office.job(&job).await;
    assert_eq!((&status["state"], &status["done"], &status["failed"]), (&json!("done"), &json!(20), &json!(0)));
    assert_eq!(office.outcome(&job).await, [0, 20, 0, 0, 0]);
    for (n, id) in ids.iter().enumerate() {
        let copy = office.desk.letter(copy_of(&office.desk, *id).await).await;
        assert_eq!((&copy["status"], &copy["replaced_by"]), (&json!("retried"), &Value::Null), "one copy of each");
        let copy: LetterId = copy["id"].as_str().unwrap().parse().unwrap();
        let body = String::from_utf8(body(&office.desk, copy).await).unwrap();
        assert_eq!(body, format!(r#"{{"n":{n},"fixed":true}}"#));
    }
}

async fn what_waits_is_taken_back_as_its_copy(office: &Office) {
    let id = office.desk.receive(dead_in("orders").body("{\"n\":1}").received(NOON.minus(60 * SECOND))).await;
    let job = office.begin(json!({"delay": "10m", "merge_patch": {"n": 2}})).await;
    let copy = copy_of(&office.desk, id).await;
    assert_eq!(office.desk.status(copy).await, Status::Scheduled);
    office.desk.post(&format!("{job}/undo"), &json!({})).await.expect(202);
    wait_until("the copy to be open", PATIENCE, async || office.desk.status(copy).await == Status::Open).await;
    assert_eq!(office.desk.status(id).await, Status::Discarded);
    assert_eq!(office.go_on(2 * SECOND).await, 0);
}

/// The edit of the second one is refused to Ann, who asks for it.
async fn two_of_which_one_is_refused(office: &Office) -> (Bulk, Vec<LetterId>) {
    let dead = |queue| dead_in(queue).body("{\"n\":1}").received(NOON.minus(60 * SECOND));
    let ids = office.desk.receive_all(super::desk::MAIN, ["orders", "texts"].map(dead).into()).await;
    let payload = QueueScope::read(r#"[{"brokers":[],"queues":["orders"]}]"#).unwrap();
    let grants = Grants::new(|right| match right {
        Right::Payload => payload.clone(),
        _ => QueueScope::everything(),
    });
    let bulk = Bulk {
        filter: LetterFilter { statuses: vec![Status::Open], ..LetterFilter::default() },
        until: NOON,
        left: None,
        command: Command::Retry { delay: Duration::ZERO, queue: None },
        edit: Some(MergePatch::read("{\"n\": 2}").unwrap()),
        pacing: Pacing::default(),
        by: Actor::named("Ann").granted(grants),
    };
    (bulk, ids)
}

async fn a_job_that_was_left_behind_keeps_its_edit_and_the_rights_of_who_asked(office: &Office) {
    let (bulk, ids) = two_of_which_one_is_refused(office).await;
    let stopped = CancellationToken::new();
    stopped.cancel();
    let claimed = office.triage.begin(bulk).await.unwrap();
    let job = office.triage.work_at(claimed, &stopped).await.unwrap();
    assert_eq!((job.state, office.desk.status(ids[0]).await), (JobState::Running, Status::Open));
    let next = Office::server(&office.desk, &office.desk.store);
    next.take_up(&office.stop).await.unwrap();
    let job = office.desk.store.job(job.id).await.unwrap().unwrap();
    assert_eq!((job.done, job.failed), (1, 1));
    assert!(job.errors.last().unwrap().contains("may not see payloads"), "{:?}", job.errors);
    assert_eq!(office.desk.status(ids[1]).await, Status::Open);
    assert_eq!(body(&office.desk, copy_of(&office.desk, ids[0]).await).await, b"{\"n\":2}");
}

/// Its server has written that down, and nothing after it.
async fn what_was_refused_before_a_crash_is_counted_once(office: &Office) {
    let (bulk, ids) = two_of_which_one_is_refused(office).await;
    let claimed = office.triage.begin(bulk).await.unwrap();
    let now = office.desk.clock.now();
    let mut work = BulkWork { job: claimed.job, bulk: &claimed.bulk, held_until: now };
    let refused = vec![(ids[1], Refusal::Unfit("it may not see payloads".to_owned())), (ids[0], Refusal::NotFound)];
    let report = CommandReport { refused, ..CommandReport::default() };
    assert!(office.desk.store.count_refused(&report, &mut work).await.unwrap());
    assert_eq!((work.job.failed, work.job.skipped), (1, 1));
    Office::server(&office.desk, &office.desk.store).take_up(&office.stop).await.unwrap();
    let job = office.desk.store.job(work.job.id).await.unwrap().unwrap();
    assert_eq!((job.state, job.total, job.done, job.failed, job.skipped), (JobState::Failed, 2, 1, 1, 0));
    assert_eq!(job.errors.len(), 1, "{:?}", job.errors);
}

#[tokio::test]
async fn a_selection_is_edited_too_and_mistakes_are_told_with_their_place() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders").body("{\"n\":1}")).await;
    let check = async |action: Value, expected: &str| {
        let detail = desk.post("/api/v1/actions", &action).await.problem(422);
        assert!(detail.contains(expected), "{action}: {detail}");
    };
    let filter = json!({"status": "open"});
    let place = "merge_patch: line 1, column 1: it takes a JSON object, and this is an array";
    check(json!({"action": "retry", "filter": filter, "merge_patch": [1]}), place).await;
    let place = "merge_patch: line 1, column 8: this name stands there twice";
    let raw = r#"{"action":"retry","filter":{"status":"open"},"merge_patch":{"a":1,"a":2}}"#;
    let request = super::desk::builder(axum::http::Method::POST, "/api/v1/actions")
        .header("content-type", "application/json")
        .body(axum::body::Body::from(raw));
    let detail = desk.send(request.unwrap()).await.problem(422);
    assert!(detail.contains(place), "{detail}");
    check(json!({"action": "discard", "filter": filter, "merge_patch": {"a": 1}}), "it goes only with retry").await;
    assert_eq!(desk.status(id).await, Status::Open);

    let ask = json!({"action": "retry", "ids": [id.to_string()], "merge_patch": {"n": 2}, "delay": "10m"});
    let job = desk.post("/api/v1/actions", &ask).await.expect(202).json()["job"].as_str().unwrap().to_owned();
    let job = desk.get(&format!("/api/v1/jobs/{job}")).await.json();
    assert_eq!((&job["state"], &job["done"]), (&json!("done"), &json!(1)));
    let copy = copy_of(&desk, id).await;
    assert_eq!(body(&desk, copy).await, b"{\"n\":2}");
    assert_eq!(desk.status(copy).await, Status::Scheduled);
}

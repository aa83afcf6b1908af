//! Schemas on the page and by the API: brought, looked through, removed, and said of which messages.

use axum::{body::Body, http::Method};
use dead_letter_office::services::schemas::Schemas;
use scraper::Html;
use serde_json::{Value, json};

use super::{
    answer::{Answer, Look, words},
    desk::{Desk, HOST, builder},
    form::{Form, follow, remove, submit},
};

const API: &str = "/api/v1/schemas";
const BOUNDARY: &str = "a-boundary";

pub fn fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/payload-codec/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The same set in other bytes: a field that no reader knows comes after it.
fn newer(mut set: Vec<u8>, n: u8) -> Vec<u8> {
    set.extend([0x98, 0x06, n]);
    set
}

async fn post(desk: &Desk, path: &str, content_type: &str, body: Vec<u8>) -> Answer {
    let request = builder(Method::POST, path)
        .header("content-type", content_type)
        .header("origin", format!("http://{HOST}"))
        .header("sec-fetch-site", "same-origin");
    desk.send(request.body(Body::from(body)).unwrap()).await
}

pub async fn put_set(desk: &Desk, name: &str, set: Vec<u8>) -> Answer {
    post(desk, &format!("{API}?name={name}"), "application/octet-stream", set).await
}

/// A form with files, as browsers send it.
pub async fn post_form(desk: &Desk, path: &str, name: Option<&str>, files: &[(&str, &[u8])]) -> Answer {
    let mut body = Vec::new();
    for (file, bytes) in files {
        body.extend(format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"files\"; filename=\"{file}\"\r\ncontent-type: application/octet-stream\r\n\r\n").into_bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    if let Some(name) = name {
        body.extend(
            format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"name\"\r\n\r\n{name}\r\n").into_bytes(),
        );
    }
    body.extend(format!("--{BOUNDARY}--\r\n").into_bytes());
    post(desk, path, &format!("multipart/form-data; boundary={BOUNDARY}"), body).await
}

fn rows(page: &Html) -> Vec<Vec<String>> {
    let cells = |row: &scraper::ElementRef<'_>| row.all("th, td").into_iter().map(words).collect();
    page.all("table.table-schemas tbody tr:not(.table-remarks)").iter().map(cells).collect()
}

/// The names of listed versions, and whether each counts.
async fn listed(desk: &Desk) -> Vec<(String, bool)> {
    let items = desk.get(API).await.expect(200).json()["items"].as_array().unwrap().clone();
    items.iter().map(|item| (item["name"].as_str().unwrap().to_owned(), item["current"] == true)).collect()
}

fn of(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
    expected.iter().map(|(name, current)| ((*name).to_owned(), *current)).collect()
}

#[tokio::test]
async fn a_set_is_added_once_and_removed_once() {
    let desk = Desk::open().await;
    let added = put_set(&desk, "acme", fixture("small.binpb")).await.expect(201).json();
    assert_eq!(
        (&added["name"], &added["types"], &added["current"], &added["source"], &added["uploaded_by"]),
        (&json!("acme"), &json!(73), &json!(true), &json!("upload"), &json!("local user"))
    );
    assert_eq!(
        (&added["problems"], &added["missing_imports"], &added["disagreements"]),
        (&json!([]), &json!([]), &json!([]))
    );
    assert_eq!(added["files"].as_array().unwrap().len(), 8);
    assert_eq!(added["uploaded_at"], "2026-11-21T12:00:00.000000Z");
    assert_eq!(desk.get(API).await.expect(200).json()["items"], json!([added]));
    let again = put_set(&desk, "acme", fixture("small.binpb")).await.expect(200).json();
    assert_eq!(again["id"], added["id"]);
    let one = format!("{API}/{}", added["id"].as_str().unwrap());
    desk.call(Method::DELETE, &one, &json!({})).await.expect(204);
    desk.call(Method::DELETE, &one, &json!({})).await.problem(404);
    desk.call(Method::DELETE, &format!("{API}/nonsense"), &json!({})).await.problem(404);
    assert_eq!(listed(&desk).await, []);
    assert_eq!(desk.get("/api/v1/types").await.json()["total"], 0);
}

#[tokio::test]
async fn a_newer_set_of_the_same_files_counts_until_it_is_removed() {
    let desk = Desk::open().await;
    let tick = || desk.clock.advance(std::time::Duration::from_secs(1));
    let first = put_set(&desk, "one", fixture("small.binpb")).await.json();
    tick();
    let second = put_set(&desk, "two", newer(fixture("small.binpb"), 1)).await.expect(201).json();
    assert_eq!(listed(&desk).await, of(&[("two", true), ("one", false)]));
    let items = desk.get(API).await.json()["items"].clone();
    assert_eq!(
        (&items[1]["superseded_by"], &items[1]["superseded_at"]),
        (&second["id"], &json!("2026-11-21T12:00:01.000000Z"))
    );
    let type_of =
        |item: &Value| format!("/schemas/types/acme.texts.v1.TextSent?schema={}", item["id"].as_str().unwrap());
    let page = desk.page(&type_of(&first)).await;
    assert!(page.words(".schema-origin").contains("one") && page.words(".schema-origin").contains("older version"));
    assert_eq!(page.count(".table-type-fields tbody tr"), 7, "the older one stays readable");
    tick();
    put_set(&desk, "one", fixture("small.binpb")).await.expect(200);
    assert_eq!(listed(&desk).await, of(&[("one", true), ("two", false)]), "brought again it counts again");
    desk.call(Method::DELETE, &format!("{API}/{}", first["id"].as_str().unwrap()), &json!({})).await.expect(204);
    assert_eq!(listed(&desk).await, of(&[("two", true)]));
}

/// Browsers send no folders, so that many files come by one name.
#[tokio::test]
async fn files_of_one_name_in_other_packages_take_no_place_of_each_other() {
    let desk = Desk::open().await;
    for (name, package, field) in [
        ("billing", "billing.v1", "string id = 1;"),
        ("orders", "orders.v1", "string id = 1;"),
        ("newer billing", "billing.v1", "int64 id = 1;"),
    ] {
        desk.clock.advance(std::time::Duration::from_secs(1));
        let source = format!("syntax = \"proto3\"; package {package}; message Placed {{ {field} }}");
        post_form(&desk, API, Some(name), &[("events.proto", source.as_bytes())]).await.expect(201);
    }
    assert_eq!(listed(&desk).await, of(&[("newer billing", true), ("orders", true), ("billing", false)]));
    let types = desk.get("/api/v1/types").await.expect(200).json();
    let mut names: Vec<_> = types["items"].as_array().unwrap().iter().map(|item| item["name"].clone()).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["billing.v1.Placed", "orders.v1.Placed"]);
}

#[tokio::test]
async fn sources_come_as_a_form_or_a_zip() {
    let desk = Desk::open().await;
    let files = ["common/v1/common.proto", "options/v1/options.proto", "texts/v1/texts.proto"];
    let sources: Vec<Vec<u8>> = files.iter().map(|file| fixture(&format!("acme/acme/{file}"))).collect();
    // Browsers send no folders.
    let flat: Vec<(&str, &[u8])> =
        files.iter().map(|file| file.rsplit('/').next().unwrap()).zip(sources.iter().map(Vec::as_slice)).collect();
    let item = post_form(&desk, API, None, &flat).await.expect(201).json();
    assert_eq!((&item["name"], &item["types"]), (&json!("common and 2 more"), &json!(19)));
    assert_eq!(item["files"][0], "acme/common/v1/common.proto");
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (file, source) in files.iter().zip(&sources) {
        zip.start_file(format!("main/acme/{file}"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(source).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    let again = post(&desk, &format!("{API}?name=zipped"), "application/zip", zip).await.expect(201).json();
    assert_eq!((&again["types"], again["files"].as_array().unwrap().len()), (&json!(19), 3));
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_with_its_place() {
    let desk = Desk::open().await;
    let source = b"syntax = \"proto3\";\nimport \"money.proto\";\nmessage A { Money money = 1; }";
    let detail = post_form(&desk, API, None, &[("a.proto", source)]).await.problem(422);
    assert_eq!(
        detail,
        "a.proto:2:8: It imports \"money.proto\", which is not among the sources. Upload that file with the others."
    );
    let text = post(&desk, API, "text/plain", source.to_vec()).await.problem(422);
    assert!(text.starts_with("schema.proto:2:8: "), "without a name too: {text}");
    let two = [("a.proto", b"syntax = \"proto3\"; message A { B b = 1; }".as_slice()), ("b.proto", b"message {")];
    assert!(post_form(&desk, API, None, &two).await.problem(422).starts_with("b.proto:1:9: "));
    assert!(put_set(&desk, "x", b"\xff\xff".to_vec()).await.problem(422).contains("no FileDescriptorSet"));
    assert!(put_set(&desk, "x", Vec::new()).await.problem(422).contains("empty"));
    assert!(post_form(&desk, API, None, &[]).await.problem(422).contains("It takes a FileDescriptorSet"));
    desk.post(API, &json!({"a": 1})).await.problem(415);
    post(&desk, API, "multipart/form-data", Vec::new()).await.problem(400);
    put_set(&desk, "x&colour=red", fixture("editions.binpb")).await.problem(400);
    let large = put_set(&desk, "x", vec![0; 64 * 1024 * 1024 + 1]).await.problem(413);
    assert!(large.contains("64 MiB"), "{large}");
    // With a key it is read before.
    let keyed = builder(Method::POST, &format!("{API}?name=x")).header("content-type", "application/octet-stream");
    let keyed = keyed.header("idempotency-key", "k").body(Body::from(vec![0; 64 * 1024 * 1024 + 1])).unwrap();
    let large = desk.send(keyed).await.problem(413);
    assert!(large.contains("67108864 bytes"), "{large}");
    let part = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"x\"\r\n\r\n1\r\n");
    let parts = format!("{}--{BOUNDARY}--\r\n", part.repeat(10_001)).into_bytes();
    let parts = post(&desk, API, &format!("multipart/form-data; boundary={BOUNDARY}"), parts).await.expect(422).json();
    assert_eq!(parts["errors"].as_array().unwrap().len(), 100, "no more than anybody reads");
    let letters = vec![b' '; 3 * 1024 * 1024];
    post(&desk, "/api/v1/actions", "application/json", letters).await.problem(413);
    assert_eq!(listed(&desk).await, []);
}

#[tokio::test]
async fn types_are_found_by_words() {
    let desk = Desk::open().await;
    put_set(&desk, "acme", fixture("small.binpb")).await;
    put_set(&desk, "next", fixture("editions.binpb")).await;
    let found = desk.get("/api/v1/types?q=optout").await.expect(200).json();
    let names: Vec<_> = found["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["acme.next.v1.OptOutBatch", "acme.texts.v1.OptOutReceived", "acme.next.v1.OptOutBatch.Summary"]);
    assert_eq!((&found["total"], &found["items"][0]["also_in"]), (&json!(3), &json!([])));
    let all = desk.get("/api/v1/types?limit=2").await.json();
    assert_eq!((all["items"].as_array().unwrap().len(), &all["total"]), (2, &json!(77)));
    desk.get("/api/v1/types?limit=0").await.problem(400);
    desk.get("/api/v1/types?query=a").await.problem(400);
    let request = builder(Method::GET, "/schemas?part=types&q=OPTOUT").header("hx-request", "true");
    let part = desk.send(request.body(Body::empty()).unwrap()).await.expect(200).page();
    assert_eq!((part.count("ul.schema-types li"), part.count("main")), (3, 0));
    assert_eq!(
        part.all("ul.schema-types li").len(),
        desk.page("/schemas?q=optout").await.count("#types ul.schema-types li")
    );
    assert_eq!(part.values("ul.schema-types a", "href")[0], "/schemas/types/acme.next.v1.OptOutBatch");
    desk.get("/schemas?part=all").await.expect(400);
}

#[tokio::test]
async fn sets_that_disagree_are_both_kept_and_it_is_reported() {
    let desk = Desk::open().await;
    put_set(&desk, "acme", fixture("small.binpb")).await;
    desk.clock.advance(std::time::Duration::from_secs(1));
    let other = put_set(&desk, "texts-v2", fixture("sets_odd/texts_v2_conflict.binpb")).await.expect(201).json();
    let disagreements = ["acme.texts.v1.ConversationClosed", "acme.texts.v1.OptOutReceived"];
    assert_eq!(other["disagreements"], json!(disagreements));
    assert_eq!(listed(&desk).await, of(&[("texts-v2", true), ("acme", true)]));
    let page = desk.page("/schemas").await;
    assert_eq!(page.count("p.schema-disagree"), 2, "on both");
    assert_eq!(page.values("p.schema-disagree a", "href")[0], format!("/schemas/types/{}", disagreements[0]));
    let page = desk.page(&format!("/schemas/types/{}", disagreements[1])).await;
    assert!(page.words(".schema-origin").contains("texts-v2"), "the newest counts");
    assert!(page.words("#versions").contains("acme") && page.count(".schema-differences li") > 0);
    let same = desk.page("/schemas/types/acme.texts.v1.TextSent").await;
    assert!(same.words("#versions").contains("identical"), "{}", same.words("#versions"));
    assert_eq!(desk.get("/api/v1/types?q=OptOutReceived").await.json()["items"][0]["disagrees"], true);
}

#[tokio::test]
async fn what_is_missing_is_said() {
    let desk = Desk::open().await;
    let set = fixture("sets_odd/texts_no_imports.binpb");
    let item = post(&desk, API, "application/octet-stream", set).await.expect(201).json();
    assert_eq!(item["name"], "acme/texts/v1/texts.proto", "named after what it describes");
    assert_eq!(item["missing_imports"], json!(["acme/common/v1/common.proto", "acme/options/v1/options.proto"]));
    assert_eq!(item["missing_types"][0], "acme.common.v1.Channel");
    let said = desk.page("/schemas").await.words("tr.table-remarks");
    assert!(
        said.contains("It imports \"acme/common/v1/common.proto\"") && said.contains("--include_imports"),
        "{said}"
    );
    let page = desk.page("/schemas/types/acme.texts.v1.TextSent").await;
    let header = words(page.all(".table-type-fields tbody tr")[0]);
    assert_eq!(header, "1 header acme.common.v1.EventHeader not in the set");
    desk.get("/schemas/types/acme.common.v1.EventHeader").await.expect(404);
}

#[tokio::test]
async fn a_type_shows_its_fields_and_where_it_is_seen() {
    let desk = Desk::open().await;
    put_set(&desk, "acme", fixture("small.binpb")).await;
    let page = desk.page("/schemas/types/acme.texts.v1.TextQueued").await;
    let fields: Vec<_> = page.all(".table-type-fields tbody tr").into_iter().map(words).collect();
    assert_eq!(fields[0], "1 header acme.common.v1.EventHeader");
    assert_eq!(fields[4], "5 body string redacted");
    assert_eq!(fields[5], "6 media repeated acme.texts.v1.Media");
    assert!(
        page.values(".table-type-fields a", "href").contains(&"/schemas/types/google.protobuf.Timestamp".to_owned())
    );
    assert!(page.words(".schema-enum").contains("CHANNEL_"), "its enums: {}", page.words(".schema-enum"));
    assert!(page.words("#seen").contains("No queue, exchange or routing key is mapped"));
    desk.page("/schemas/types/google.protobuf.Timestamp").await;
    let mapping = json!({"queue": "texts.*", "message_type": "acme.texts.v1.TextQueued"});
    desk.call(Method::POST, "/api/v1/mappings", &mapping).await.expect(201);
    let page = desk.page("/schemas/types/acme.texts.v1.TextQueued").await;
    assert!(page.words("#seen table").contains("queue texts.*"));
    desk.get("/schemas/types/acme.Nothing").await.expect(404);
    desk.get(&format!("/schemas/types/acme.texts.v1.TextQueued?schema={}", uuid::Uuid::nil())).await.expect(404);
    desk.get("/schemas/types/acme.texts.v1.TextQueued?schema=x").await.expect(400);
}

#[tokio::test]
async fn comments_of_sources_are_shown() {
    let desk = Desk::open().await;
    let source = b"syntax = \"proto3\";\n// A thing\n// of two lines.\nmessage A {\n  // Of <b>it</b>.\n  string name = 1; int32 n = 2; // how many\n}";
    post_form(&desk, API, None, &[("a.proto", source)]).await.expect(201);
    let page = desk.page("/schemas/types/A").await;
    assert_eq!(page.words(".schema-comment"), "A thing of two lines.");
    let fields: Vec<_> = page.all(".table-type-fields tbody tr").into_iter().map(words).collect();
    assert_eq!(fields, ["1 name string Of <b>it</b>.", "2 n int32 how many"]);
}

#[tokio::test]
async fn the_page_takes_files_and_says_what_came_of_it() {
    let desk = Desk::open().await;
    let empty = desk.page("/schemas").await;
    assert!(empty.words("#upload h2").contains("No schema yet"));
    assert_eq!((empty.count("table.table-schemas"), empty.count("#types[hidden]")), (0, 1));
    assert_eq!(empty.one("#upload form").attr("enctype"), Some("multipart/form-data"));
    let answer = post_form(&desk, "/schemas/upload", Some("acme"), &[("small.binpb", &fixture("small.binpb"))]).await;
    let page = follow(&desk, answer.expect(303)).await;
    assert_eq!(page.words(".toast-box p"), "The schema has 73 types.");
    assert_eq!(rows(&page)[0][..4], ["acme", "73 types · 8 files · 32.1 KiB", "local user now", "current"]);
    let odd = fixture("sets_odd/texts_no_imports.binpb");
    let answer = post_form(&desk, "/schemas/upload", Some(""), &[("proto/texts.binpb", &odd)]).await;
    let page = follow(&desk, answer.expect(303)).await;
    assert!(
        page.words(".toast-box p").contains("It is incomplete: see 7 remarks below."),
        "{}",
        page.words(".toast-box p")
    );
    assert!(rows(&page).iter().any(|row| row[0] == "texts"), "named after its file");
    let page = remove(&desk, &page, "Remove texts, uploaded 21 Nov 2026, 12:00:00 UTC").await;
    assert!(page.words(".toast-box p").starts_with("Removed the schema texts."));
    assert_eq!(rows(&page).len(), 1);
    submit(&desk, "/schemas/remove", &[("id", "x")]).await.expect(400);
    submit(&desk, "/schemas/remove", &[]).await.expect(400);
    let gone = submit(&desk, "/schemas/remove", &[("id", &uuid::Uuid::nil().to_string())]).await.expect(303);
    assert!(follow(&desk, gone).await.words(".toast-box.is-failed").contains("no such schema"));
}

#[tokio::test]
async fn what_is_refused_is_told_beside_the_form() {
    let desk = Desk::open().await;
    let broken = b"syntax = \"proto3\";\nmessage A {\n  Foo foo = 1;\n}";
    let answer = post_form(&desk, "/schemas/upload", Some("mine"), &[("a.proto", broken)]).await.expect(422);
    let page = answer.page();
    assert!(page.words("#refused li").starts_with("a.proto:3:3 Name 'Foo' is not defined."));
    let input = page.one("#upload input[type=file]");
    assert_eq!((input.attr("aria-invalid"), input.attr("aria-describedby")), (Some("true"), Some("refused")));
    assert_eq!(page.one("#upload input[name=name]").attr("value"), Some("mine"), "kept as typed");
    let none = post_form(&desk, "/schemas/upload", Some(""), &[("", b"")]).await.expect(422);
    assert!(none.page().words("#refused").contains("nothing in it"));
}

#[tokio::test]
async fn another_process_notices() {
    let desk = Desk::open().await;
    let other = Schemas::new(desk.changes.clone(), desk.clock.clone());
    let mut told = other.subscribe();
    let item = put_set(&desk, "acme", fixture("small.binpb")).await.json();
    desk.call(Method::POST, "/api/v1/mappings", &json!({"queue": "a", "message_type": "acme.texts.v1.TextSent"}))
        .await
        .expect(201);
    other.reload().await.unwrap();
    assert_eq!((other.catalogue().types().len(), other.mappings().all().len()), (73, 1));
    assert!(told.has_changed().unwrap());
    told.mark_unchanged();
    other.reload().await.unwrap();
    assert!(!told.has_changed().unwrap(), "nothing was changed since");
    desk.call(Method::DELETE, &format!("{API}/{}", item["id"].as_str().unwrap()), &json!({})).await.expect(204);
    other.reload().await.unwrap();
    assert_eq!(other.catalogue().types().len(), 0);
}

#[tokio::test]
async fn mappings_are_set_listed_and_taken_back_by_the_api() {
    let desk = Desk::open().await;
    const MAPPINGS: &str = "/api/v1/mappings";
    put_set(&desk, "acme", fixture("small.binpb")).await;
    let texts = json!({"queue": "texts.*", "broker": "main", "message_type": "acme.texts.v1.TextSent"});
    let made = desk.post(MAPPINGS, &texts).await.expect(201);
    let set = made.json();
    let expected = json!({
        "id": set["id"], "broker": "main", "queue": "texts.*", "exchange": null, "routing_key": null,
        "message_type": "acme.texts.v1.TextSent", "known": true, "version": set["version"], "set_by": "local user",
        "set_at": "2026-11-21T12:00:00.000000Z",
    });
    assert_eq!(set, expected);
    let place = made.header("location").to_owned();
    assert_eq!(desk.get(&place).await.expect(200).json(), expected);
    desk.post(MAPPINGS, &texts).await.problem(409);
    let later = desk.post(MAPPINGS, &json!({"routing_key": "x", "message_type": "to.Come"})).await.expect(201).json();
    assert_eq!((&later["known"], &later["broker"]), (&json!(false), &Value::Null));
    assert_eq!(desk.get(MAPPINGS).await.json()["items"], json!([later, expected]), "the most specific first");
    let other = json!({"queue": "texts.*", "broker": "main", "message_type": "acme.texts.v1.TextQueued"});
    let changed = desk.call(Method::PUT, &place, &other).await.expect(200).json();
    assert_eq!((&changed["id"], &changed["message_type"]), (&set["id"], &other["message_type"]));
    let moved = desk.call(Method::PUT, &place, &json!({"queue": "a", "message_type": "a.B"})).await.problem(422);
    assert!(moved.starts_with("queue: "), "{moved}");
    desk.call(Method::DELETE, &place, &Value::Null).await.expect(204);
    desk.call(Method::DELETE, &place, &Value::Null).await.problem(404);
    for (mapping, field) in [
        (json!({"message_type": "a.B"}), "queue: "),
        (json!({"queue": "a", "exchange": "b", "message_type": "a.B"}), "exchange: "),
        (json!({"queue": "", "message_type": "a.B"}), "queue: "),
        (json!({"queue": "a", "message_type": "a b"}), "message_type: "),
        (json!({"queue": "a"}), "message_type: it is needed"),
        (json!({"queue": "a", "message_type": "a.B", "glob": "x"}), "glob"),
    ] {
        let detail = desk.post(MAPPINGS, &mapping).await.problem(422);
        assert!(detail.starts_with(field), "{mapping}: {detail}");
    }
    assert_eq!(desk.store.mappings().await.unwrap().len(), 1);
}

#[tokio::test]
async fn mappings_are_set_and_taken_back_on_the_page() {
    let desk = Desk::open().await;
    put_set(&desk, "acme", fixture("small.binpb")).await;
    let page = desk.page("/schemas?type=acme.texts.v1.TextSent").await;
    let form = Form::of(&page, "Add");
    let page = form.fill("carrier", "routing_key").fill("pattern", "text.*").press(&desk).await;
    assert_eq!(page.words(".toast-box p"), "Messages of routing key text.* have the type acme.texts.v1.TextSent.");
    assert_eq!(words(page.all("table.table-mappings tbody th")[0]), "routing key text.*");
    let wrong =
        Form::of(&page, "Add").fill("pattern", "a").fill("type", "no type").send(&desk).await.expect(422).page();
    assert!(wrong.words("#message_type-wrong").contains("full name"));
    assert_eq!(wrong.one("input[name=type]").attr("value"), Some("no type"), "kept as typed");
    let page = remove(&desk, &page, "Remove routing key text.*").await;
    assert_eq!(
        (page.words(".toast-box p"), page.count("table.table-mappings")),
        ("Removed the mapping of routing key text.*.".to_owned(), 0)
    );
    desk.post("/api/v1/mappings", &json!({"queue": " texts ", "message_type": "a.B"})).await.expect(201);
    let page = remove(&desk, &desk.page("/schemas").await, "Remove queue texts").await;
    assert_eq!(page.count("table.table-mappings"), 0, "spaces around its name are a part of it");
    let again = submit(&desk, "/schemas/unmap", &[("carrier", "queue"), ("pattern", "x")]).await.expect(303);
    assert!(follow(&desk, again).await.words(".toast-box.is-failed").contains("There is no mapping"));
}

#[tokio::test]
async fn a_name_that_would_deceive_the_eye_is_shown() {
    let desk = Desk::open().await;
    post_form(&desk, API, Some("a\u{202e}<b>"), &[("x.binpb", &fixture("editions.binpb"))]).await.expect(201);
    let page = desk.page("/schemas").await;
    assert!(rows(&page)[0][0].contains("‹U+202E›"), "{:?}", rows(&page)[0]);
    post_form(&desk, API, Some("a\0b"), &[("x.binpb", &fixture("editions.binpb"))]).await.problem(422);
}

#[tokio::test]
async fn it_is_reached_by_keys() {
    let page = Desk::open().await.page("/schemas").await;
    assert_eq!(page.one("#side [data-go=s]").attr("href"), Some("/schemas"));
    assert_eq!(page.one("#side [aria-current=page]").attr("href"), Some("/schemas"));
}

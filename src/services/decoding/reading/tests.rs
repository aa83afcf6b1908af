use std::sync::Arc;

use amqp_message::time::Timestamp;
use base64::{Engine, prelude::BASE64_STANDARD};
use payload_codec::{json::MergePatch, message::MASK, schema::Schema, unwrap::Kind};

use super::*;
use crate::{
    domain::{
        actor::Actor,
        schema::{SchemaId, SchemaRecord, SchemaSource, packaged},
    },
    services::decoding::catalogue::{Catalogue, SchemaVersion},
};

const SET: &[u8] = include_bytes!("../../../../crates/payload-codec/fixtures/small.binpb");
const MESSAGES: &str = include_str!("../../../../crates/payload-codec/fixtures/small_messages.ndjson");

/// `string e164 = 1 [debug_redact = true]; string country_code = 2;`
const PHONE: &str = "acme.common.v1.PhoneNumber";

fn library(hidden: &[&str]) -> Library {
    let hidden: Vec<String> = hidden.iter().map(|pattern| (*pattern).to_owned()).collect();
    library_of(Schema::read("acme", SET).unwrap(), &hidden)
}

fn library_of(schema: Schema, hidden: &[String]) -> Library {
    let record = SchemaRecord {
        id: SchemaId::from_uuid(uuid::Uuid::nil()),
        name: "acme".to_owned(),
        hash: schema.hash().to_owned(),
        source: SchemaSource::Upload,
        files: packaged(schema.files()),
        size: SET.len() as u64,
        uploaded_at: Timestamp::default(),
        uploaded_by: Actor::local(),
    };
    let version = SchemaVersion {
        record: Arc::new(record),
        superseded_by: None,
        schema: Some(Arc::new(schema)),
        unreadable: Vec::new(),
    };
    Library::new(Arc::new(Catalogue::new(vec![version])), hidden, 1 << 24)
}

/// A message of which nothing is known but its body.
struct Letter {
    body: Vec<u8>,
    properties: Properties,
    headers: FieldTable,
}

impl Letter {
    fn new(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), properties: Properties::default(), headers: FieldTable::default() }
    }

    fn question(&self) -> Question<'_> {
        Question {
            body: &self.body,
            properties: &self.properties,
            headers: &self.headers,
            address: &[],
            routing_key: "",
            by_hand: None,
            declared: None,
            mapped: None,
            confirmed: &[],
            mode: &UnwrapMode::Automatic,
        }
    }
}

fn phone() -> Vec<u8> {
    b"\n\x0c+49301234567\x12\x02DE".to_vec()
}

fn check_name(question: &Question<'_>, name: Option<&str>, source: Option<TypeSource>) {
    let library = library(&[]);
    let (named, _) = library.name(question, |named, _, _| (named, ()));
    assert_eq!(named.as_ref().map(|named| (&*named.name, named.source)), name.zip(source));
    assert_eq!(library.read(question, false).named, named);
}

#[test]
fn who_names_a_type_counts_in_that_order() {
    let letter = Letter::new(phone());
    let unknown = Question { declared: Some("order.placed.v1"), ..letter.question() };
    check_name(&letter.question(), None, None);
    check_name(&unknown, Some("order.placed.v1"), Some(TypeSource::Header));
    // What no schema describes gives way to what one does.
    let mapped = Question { mapped: Some("acme.common.v1.Money"), ..unknown };
    check_name(&mapped, Some("acme.common.v1.Money"), Some(TypeSource::Mapping));
    let declared = Question { declared: Some(".acme.common.v1.PhoneNumber"), ..mapped };
    check_name(&declared, Some(PHONE), Some(TypeSource::Header));
    let short = Question { declared: Some("PhoneNumber"), ..mapped };
    check_name(&short, Some(PHONE), Some(TypeSource::Header));
    let by_hand = Question { by_hand: Some("acme.texts.v1.Yet"), ..declared };
    check_name(&by_hand, Some("acme.texts.v1.Yet"), Some(TypeSource::Manual));
}

#[test]
fn json_may_be_of_a_type_that_no_schema_describes() {
    let letter = Letter::new(*b"{\"order\":1}");
    let question = Question { declared: Some("order.placed.v1"), mapped: Some(PHONE), ..letter.question() };
    check_name(&question, Some("order.placed.v1"), Some(TypeSource::Header));
    assert_eq!(library(&[]).read(&question, false).json(), Some("{\"order\":1}"));
}

#[test]
fn what_a_schema_hides_is_hidden() {
    let letter = Letter::new(BASE64_STANDARD.encode(phone()));
    let question = Question { declared: Some(PHONE), ..letter.question() };
    let library = library(&[]);
    let reading = library.read(&question, false);
    assert_eq!(reading.unwrapped.steps.iter().map(unwrap_kind).collect::<Vec<_>>(), [Kind::Base64]);
    let json = reading.json().unwrap();
    assert!(reading.hides && json.contains(MASK) && !json.contains("+49") && json.contains("DE"), "{json}");
    let revealed = library.read(&question, true);
    assert!(!revealed.hides && revealed.json().unwrap().contains("+49301234567"));
}

fn unwrap_kind(step: &payload_codec::unwrap::Encoding) -> Kind {
    step.kind()
}

#[test]
fn what_it_may_be_hides_as_well() {
    let letter = Letter::new(phone());
    let library = library(&[]);
    let reading = library.read(&letter.question(), false);
    assert!(reading.guess.candidates.iter().any(|candidate| candidate.name.full_name == PHONE));
    assert!(reading.hides && reading.named.is_none());
    assert!(reading.json().is_none_or(|json| !json.contains("+49")), "{:?}", reading.content);
}

#[test]
fn names_hide_in_every_format() {
    let hides = |body: &[u8]| {
        let letter = Letter::new(body);
        let reading = library(&["*email", "a.b"]).read(&letter.question(), false);
        (reading.hides, reading.json().map(|json| json.split_whitespace().collect::<String>()))
    };
    assert_eq!(hides(b"{\"x\":1}"), (false, Some("{\"x\":1}".to_owned())));
    assert_eq!(hides(b"[{\"email\":{\"y\":2}}]"), (true, Some(format!("[{{\"email\":\"{MASK}\"}}]"))));
    assert_eq!(
        hides(b"{\"a\":[{\"b\":3,\"c\":4}]}"),
        (true, Some(format!("{{\"a\":[{{\"b\":\"{MASK}\",\"c\":4}}]}}")))
    );
    assert_eq!(hides(b"\x81\xa5email\xa3a@b"), (true, Some(format!("{{\"email\":\"{MASK}\"}}"))));
}

/// `{"email": "a@x.io", "id": "7"}`, as Java writes a `HashMap`.
const HASH_MAP: &[u8] = b"\xac\xed\0\x05sr\0\x11java.util.HashMap\x05\x07\xda\xc1\xc3\x16\x60\xd1\x03\0\x02F\0\x0aloadFactorI\0\x09thresholdxp\x3f\x40\0\0\0\0\0\x0cw\x08\0\0\0\x10\0\0\0\x02t\0\x05emailt\0\x06a@x.iot\0\x02idt\0\x017x";

#[test]
fn names_hide_where_keys_are_values_or_bytes() {
    let check = |body: &[u8], hidden: &str, expected: &str| {
        let letter = Letter::new(body);
        let reading = library(&[hidden]).read(&letter.question(), false);
        let json: Option<String> = reading.json().map(|json| json.split_whitespace().collect());
        assert_eq!(json.as_deref(), Some(expected), "{hidden}");
        assert_eq!(reading.hides, expected.contains(MASK), "{hidden}");
        let quoted = reading.hidden_values.scrub("no a@x.io in loadFactor");
        assert_eq!(quoted, if reading.hides { "no ••• in loadFactor" } else { "no a@x.io in loadFactor" }, "{hidden}");
    };
    let of_java = |email: &str, id: &str| {
        format!(
            r##"{{"#class":"java.util.HashMap","loadFactor":0.75,"threshold":12,"#data":[{{"#base64":"AAAAEAAAAAI="}},"email","{email}","id","{id}"]}}"##
        )
    };
    check(HASH_MAP, "e?ail", &of_java(MASK, "7"));
    check(HASH_MAP, "customer.EMAIL", &of_java(MASK, "7"));
    check(HASH_MAP, "mail", &of_java("a@x.io", "7"));
    let of_bytes = |email: &str| format!(r##"{{"{{\"#base64\":\"ZW1haWw=\"}}":{email}}}"##);
    let masked = of_bytes(&format!("\"{MASK}\""));
    check(b"\x80\x04}C\x05emailC\x06a@x.ios.", "email", &masked);
    check(b"\x80\x04}C\x05emailC\x06a@x.ios.", "mail", &of_bytes(r##"{"#base64":"YUB4Lmlv"}"##));
    check(b"\x81\xc4\x05email\xa6a@x.io", "email", &masked);
}

#[test]
fn what_is_hidden_around_a_payload_is_known() {
    let body = r#"{"specversion": "1.0", "id": "1", "source": "/x", "type": "t", "card": "4711-08", "data": {"n": 1}}"#;
    let letter = Letter::new(body);
    let read = |hidden: &str| library(&[hidden]).read(&letter.question(), false);
    let reading = read("card");
    assert_eq!(reading.unwrapped.steps.iter().map(unwrap_kind).collect::<Vec<_>>(), [Kind::CloudEvent]);
    assert!(reading.hides && reading.json().is_some_and(|json| json.contains("\"n\"")), "{:?}", reading.content);
    assert_eq!(reading.hidden_values.scrub("no 4711-08"), "no •••");
    assert!(matches!(read("data").content, Content::Hidden(_)));
    assert!(!read("color").hides);
}

/// A copy that is hidden could not be kept by an edit.
#[test]
fn a_message_that_quotes_what_it_hides_is_not_edited() {
    let letter = Letter::new(*b"\n\x0c+49301234567\x12\x10DE: +49301234567");
    let question = Question { declared: Some(PHONE), ..letter.question() };
    let library = library(&[]);
    let reading = library.read(&question, false);
    let json = reading.json().unwrap();
    assert!(json.contains("DE: •••") && !json.contains("+49") && reading.decoded_as.is_none(), "{json}");
    assert!(library.write(&question, json, EditedAs::Shown, false).is_err());
}

#[test]
fn what_is_not_edited_goes_back_byte_for_byte() {
    let library = library(&["*id"]);
    let mut n_written = 0;
    for line in MESSAGES.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let letter = Letter::new(BASE64_STANDARD.decode(line["base64"].as_str().unwrap()).unwrap());
        let question = Question { declared: line["type"].as_str(), ..letter.question() };
        let reading = library.read(&question, false);
        let Some(json) = reading.json() else { continue };
        assert_eq!(library.write(&question, json, EditedAs::Shown, false).as_deref(), Ok(&*letter.body), "{line}");
        n_written += 1;
    }
    assert!(n_written > 500, "only {n_written} could be read");
}

#[test]
fn an_edit_is_wrapped_as_the_body_was() {
    let letter = Letter::new(BASE64_STANDARD.encode(phone()));
    let question = Question { declared: Some(PHONE), ..letter.question() };
    let library = library(&[]);
    let shown = library.read(&question, false).json().unwrap().replace("DE", "AT");
    let body = library.write(&question, &shown, EditedAs::Shown, false).unwrap();
    // The hidden number is still the one it was.
    assert_eq!(BASE64_STANDARD.decode(body).unwrap(), b"\n\x0c+49301234567\x12\x02AT");

    let wrong = shown.replace("countryCode", "countryKode");
    let problems = library.write(&question, &wrong, EditedAs::Shown, false).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].at.is_some_and(|(line, _)| line == 3), "{problems:?}");
}

#[test]
fn nothing_is_written_because_of_a_guess() {
    let letter = Letter::new(phone());
    let library = library(&[]);
    let problems = library.write(&letter.question(), "{}", EditedAs::Shown, true).unwrap_err();
    assert!(problems[0].reason.contains("choose one"), "{problems:?}");
}

#[test]
fn text_that_a_person_calls_a_message_is_one() {
    // Field 1, four characters: a line feed and text.
    let letter = Letter::new(*b"\n\x04abcd");
    let question = Question { by_hand: Some("acme.common.v1.PhoneNumber"), ..letter.question() };
    let reading = library(&[]).read(&question, true);
    assert_eq!(reading.decoded_as.as_deref(), Some(PHONE));
    assert!(reading.json().unwrap().contains("abcd"));
}

#[test]
fn what_was_not_read_as_asked_says_why() {
    fn check(body: &[u8], by_hand: Option<&str>, mode: &UnwrapMode, expected: Option<&str>) {
        let letter = Letter::new(body);
        let question = Question { by_hand, mode, ..letter.question() };
        assert_eq!(library(&[]).read(&question, true).refusal(question.mode).as_deref(), expected, "{body:?}");
    }
    let base64 = UnwrapMode::Exactly(vec![Kind::Base64]);
    check(&phone(), None, &UnwrapMode::Automatic, None);
    check(&phone(), Some(PHONE), &UnwrapMode::Automatic, None);
    check(&phone(), Some("acme.Nope"), &UnwrapMode::Automatic, Some("no schema describes acme.Nope"));
    check(BASE64_STANDARD.encode(phone()).as_bytes(), Some(PHONE), &base64, None);
    check(&phone(), Some(PHONE), &base64, Some("it is not encoded as base64"));
    check(b"{\"e164\":\"+49\"}", Some(PHONE), &UnwrapMode::Automatic, None);
    let other = format!("it is msgpack, no message of {PHONE}");
    check(b"\x82\xa5email\xa3a@b\xa4name\xa3Zoe", Some(PHONE), &UnwrapMode::Automatic, Some(&other));
}

#[test]
fn other_encodings_show_nothing_that_is_hidden() {
    let letter = Letter::new(BASE64_STANDARD.encode(phone()));
    let library = library(&[]);
    let read = |kinds: &[Kind], reveal| {
        let mode = UnwrapMode::Exactly(kinds.to_vec());
        let reading = library.read(&Question { declared: Some(PHONE), mode: &mode, ..letter.question() }, reveal);
        (reading.hides, reading.content)
    };
    let (hides, content) = read(&[], false);
    assert!(hides && matches!(content, Content::Hidden(_)), "{content:?}");
    let (hides, content) = read(&[Kind::Base64], false);
    assert!(
        hides && matches!(content, Content::Json(_)),
        "what is found is shown as it is without a wish: {content:?}"
    );
    assert!(matches!(read(&[], true), (false, Content::Text(_))));
}

#[test]
fn what_is_declared_as_json_and_is_not_has_a_remark() {
    fn check(body: &[u8], content_type: &str, remark: Option<&str>) {
        let mut letter = Letter::new(body);
        letter.properties.content_type = Some(content_type.to_owned());
        let remarks = library(&[]).read(&letter.question(), false).remarks;
        let said = remarks.iter().find(|it| it.contains("declared as JSON"));
        assert_eq!(said.is_some(), remark.is_some(), "{remarks:?}");
        assert!(said.is_none_or(|said| said.contains(remark.unwrap_or_default())), "{remarks:?}");
    }
    check(b"{oops", "application/vnd.acme+json; charset=utf-8", Some("line 1, column 2"));
    check(b"{oops", "text/plain", None);
    check(b"42", "application/json", None);
    check(b"", "application/json", None);
}

#[test]
fn what_is_in_an_object_twice_has_a_remark() {
    let remarks = |body: &[u8]| library(&[]).read_to_show(&Letter::new(body).question(), false).remarks.concat();
    let twice = remarks(b"{\"total\": 5,\n \"total\": 500}");
    assert!(twice.starts_with("In line 2, column 2, a key stands a second time"), "{twice}");
    assert_eq!(remarks(b"{\"total\": 5, \"tax\": {\"total\": 1}}"), "");
}

#[test]
fn what_is_said_to_be_a_message_and_is_none_has_a_remark() {
    let remarks = |body: &[u8]| {
        let letter = Letter::new(body);
        library(&[]).read(&Question { declared: Some(PHONE), ..letter.question() }, false).remarks.concat()
    };
    let cut = remarks(b"\n\x0c+49\xff\xfe");
    let expected = format!("It is said to be {PHONE}, but cannot be read as one (");
    assert!(cut.starts_with(&expected) && cut.ends_with("at byte 2)."), "{cut}");
    assert_eq!(remarks(&phone()), "");
    assert_eq!(remarks(b""), "");
}

/// From descriptors that nobody would write to bodies that nobody would send.
#[test]
fn any_schema_and_any_body() {
    let sets: Vec<Vec<u8>> = ["small.binpb", "editions.binpb", "sets_odd/texts_v2_conflict.binpb"]
        .iter()
        .map(|name| {
            std::fs::read(format!("{}/crates/payload-codec/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
        })
        .collect();
    let mut n_read = 0_u32;
    let mut property = |u: &mut arbtest::arbitrary::Unstructured<'_>| {
        let mut set = u.choose(&sets)?.clone();
        for _ in 0..u.int_in_range(0..=6)? {
            let at = u.choose_index(set.len())?;
            set[at] = u.arbitrary()?;
        }
        let schema = match Schema::read("fuzz", &set) {
            Ok(schema) => schema,
            Err(problems) => {
                assert!(!problems.is_empty());
                return Ok(());
            }
        };
        n_read += 1;
        let declared = u.choose(schema.types()).ok().cloned();
        let library = library_of(schema, &["*id".to_owned()]);
        let letter = Letter::new(u.arbitrary::<Vec<u8>>()?);
        let question = Question { declared: declared.as_deref(), ..letter.question() };
        let reading = library.read(&question, false);
        assert!(reading.guess.candidates.iter().all(|candidate| (0.0..=1.0).contains(&candidate.confidence)));
        if let Some(json) = reading.json() {
            // Either it goes back as it came, or it is said why it cannot.
            let written = library.write(&question, json, EditedAs::Shown, false);
            assert!(written.as_ref().is_ok_and(|body| *body == letter.body) || written.is_err());
        }
        Ok(())
    };
    // One that is as it was written.
    property(&mut arbtest::arbitrary::Unstructured::new(&[])).unwrap();
    arbtest::arbtest(property);
    assert!(n_read > 0, "no schema could be read");
}

#[test]
fn one_edit_for_all_is_not_made_of_the_first_of_several_messages() {
    let one = phone();
    let letter = Letter::new([&[one.len() as u8][..], &one].concat().repeat(2));
    let question = Question { by_hand: Some(PHONE), ..letter.question() };
    let patch = MergePatch::read(r#"{"countryCode": "FR"}"#).unwrap();
    let refused = library(&[]).patch(&question, &patch).unwrap_err();
    assert_eq!(refused.why, "it holds 2 messages in a row, and one edit for all changes one");
    let letter = Letter::new(one);
    let question = Question { by_hand: Some(PHONE), ..letter.question() };
    assert_eq!(library(&[]).patch(&question, &patch).unwrap(), b"\n\x0c+49301234567\x12\x02FR");
}

//! Schema sets side by side.

use std::path::Path;

use amqp_message::time::Timestamp;
use payload_codec::schema::{Schema, differences};

use super::{Catalogue, SchemaVersion};
use crate::domain::{
    actor::Actor,
    schema::{SchemaId, SchemaRecord, SchemaSource, packaged},
};

fn schema(name: &str) -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/payload-codec/fixtures").join(name);
    Schema::read(name, &std::fs::read(path).unwrap()).unwrap()
}

fn version(n: u128, schema: Schema, superseded_by: Option<u128>) -> SchemaVersion {
    let id = |n| SchemaId::from_uuid(uuid::Uuid::from_u128(n));
    let record = SchemaRecord {
        id: id(n),
        name: n.to_string(),
        hash: schema.hash().to_owned(),
        source: SchemaSource::Upload,
        files: packaged(schema.files()),
        size: 0,
        uploaded_at: Timestamp::from_micros(i64::try_from(n).unwrap()),
        uploaded_by: Actor::local(),
    };
    SchemaVersion {
        record: record.into(),
        superseded_by: superseded_by.map(id),
        schema: Some(schema.into()),
        unreadable: vec![],
    }
}

#[test]
fn sets_that_disagree_are_both_kept_and_reported() {
    let small = version(1, schema("small.binpb"), None);
    let conflict = version(2, schema("sets_odd/texts_v2_conflict.binpb"), None);
    let ids = [small.record.id, conflict.record.id];
    let catalogue = Catalogue::new(vec![small, conflict]);
    let disagreeing: Vec<_> = catalogue.disagreements(ids[0]).map(|entry| &*entry.name).collect();
    assert!(!disagreeing.is_empty() && disagreeing.len() < 10, "{disagreeing:?}");
    let versions = catalogue.descriptions(disagreeing[0]);
    assert_eq!(
        versions.iter().map(|found| found.version.unwrap().record.id).collect::<Vec<_>>(),
        [ids[1], ids[0]],
        "the newest counts"
    );
    assert_ne!(differences(&versions[0].message, &versions[1].message), [""; 0]);
    assert_eq!(catalogue.pools().len(), 2);
}

#[test]
fn types_are_found_in_the_current_schema_before_an_older_one() {
    let old = version(1, schema("small.binpb"), Some(2));
    let new = version(2, schema("sets_odd/texts_no_imports.binpb"), None);
    let catalogue = Catalogue::new(vec![old, new]);
    let from = |name: &str| {
        catalogue.find(name).map(|found| found.version.map(|version| version.record.id.as_uuid().as_u128()))
    };
    assert_eq!(from("acme.texts.v1.TextSent"), Some(Some(2)));
    assert_eq!(from("acme.common.v1.EventHeader"), Some(Some(1)), "an empty stand-in does not count");
    assert_eq!(from("google.protobuf.Timestamp"), Some(None));
    assert_eq!(from("acme.Nothing"), None);
    assert!(
        catalogue.types().iter().all(|entry| entry.name != "acme.common.v1.EventHeader"),
        "only current ones are listed"
    );
    assert_eq!(Catalogue::default().find("google.protobuf.Any").map(|found| found.message.fields().len()), Some(2));
}

#[test]
fn types_are_searched_by_words() {
    let catalogue = Catalogue::new(vec![version(1, schema("small.binpb"), None)]);
    let check = |query: &str, expected: &[&str]| {
        let found: Vec<_> =
            catalogue.search(query).into_iter().map(|entry| entry.name.rsplit('.').next().unwrap()).take(3).collect();
        assert_eq!(found, expected, "{query}");
    };
    check("textsent", &["TextSent"]);
    check("TEXTS.v1 opt", &["OptInReceived", "OptOutReceived"]);
    check("money", &["Money"]);
    check("nothing like it", &[]);
    assert_eq!(catalogue.search("").len(), 73);
    assert_eq!(catalogue.search("text")[0].name.rsplit('.').next(), Some("TextDelivered"), "by the last part first");
}

/// The largest set at hand, which is not ours to ship: `DLO_TEST_CORPUS` names the folder it lies in.
#[test]
fn a_set_of_eleven_thousand_types_is_read() {
    let Some(folder) = std::env::var_os("DLO_TEST_CORPUS") else { return };
    let bytes = std::fs::read(Path::new(&folder).join("large.binpb")).unwrap();
    let begun = std::time::Instant::now();
    let schema = Schema::read("large.binpb", &bytes).unwrap();
    let types = schema.types().len();
    let catalogue = Catalogue::new(vec![version(1, schema, None)]);
    println!("{types} types in {:?}", begun.elapsed());
    assert!(types > 11_000);
    assert_eq!(catalogue.versions()[0].schema.as_ref().unwrap().problems(), []);
}

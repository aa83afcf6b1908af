//! Versions of schemas, and which types messages are of.

use amqp_message::time::Timestamp;
use dead_letter_office::domain::{
    actor::Actor,
    mapping::{ActiveMapping, Carrier, Mapping},
    schema::{SchemaId, SchemaRecord, SchemaSource},
    version::Expected,
};
use dead_letter_office::store::SchemaAdded;

use super::{
    database::TestDatabase,
    make::{id, later},
};

fn record(name: &str, hash: &str, at: Timestamp) -> SchemaRecord {
    SchemaRecord {
        id: SchemaId::from_uuid(id()),
        name: name.to_owned(),
        hash: hash.to_owned(),
        source: SchemaSource::Upload,
        files: [("a/b.proto", Some("acme.v1")), ("ö \"c\".proto", None)]
            .map(|(name, package)| (name.to_owned(), package.map(str::to_owned)))
            .into(),
        size: 3,
        uploaded_at: at,
        uploaded_by: Actor::named("Ada"),
    }
}

async fn a_version_is_kept_as_it_was_added(database: &TestDatabase) {
    let first = record("texts", "1", later(1));
    let second = SchemaRecord { source: SchemaSource::Folder, files: [].into(), ..record("", "2", later(0)) };
    assert_eq!(database.add_schema(&first, b"\0\xff\x01").await.unwrap().id, first.id);
    assert_eq!(database.add_schema(&second, b"").await.unwrap().id, second.id);
    assert_eq!(database.schemas().await.unwrap(), [second.clone(), first.clone()], "the oldest upload first");
    assert_eq!(database.descriptors(first.id).await.unwrap().as_deref(), Some(b"\0\xff\x01".as_slice()));
    assert_eq!(database.descriptors(second.id).await.unwrap().as_deref(), Some(b"".as_slice()));
    assert_eq!(database.descriptors(SchemaId::from_uuid(id())).await.unwrap(), None);
    let versions = database.schema_versions().await.unwrap();
    assert_eq!(versions, [(first.id, later(1)), (second.id, later(0))].into());
}

async fn the_same_descriptors_are_kept_once(database: &TestDatabase) {
    let first = record("texts", "1", later(1));
    database.add_schema(&first, b"abc").await.unwrap();
    database.add_schema(&record("texts", "2", later(2)), b"xyz").await.unwrap();
    let before = database.schema_versions().await.unwrap();
    let again = SchemaRecord { uploaded_by: Actor::named("Bob"), ..record("renamed", "1", later(3)) };
    assert_eq!(database.add_schema(&again, b"abc").await.unwrap().id, first.id);
    let found = database.schemas().await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[1], SchemaRecord { id: first.id, ..again }, "now it is the newest");
    assert_ne!(database.schema_versions().await.unwrap(), before, "others notice");
}

/// Each server that shares the database reads the folder, and brings what has changed.
async fn what_a_folder_brings_again_is_left_alone_while_it_counts(database: &TestDatabase) {
    let brought = |hash: &str, n| SchemaRecord { source: SchemaSource::Folder, ..record("folder", hash, later(n)) };
    let first = database.add_schema(&brought("1", 1), b"abc").await.unwrap();
    let before = database.schema_versions().await.unwrap();
    let added = database.add_schema(&brought("1", 2), b"abc").await.unwrap();
    assert_eq!(added, SchemaAdded { id: first.id, is_new: false });
    assert_eq!(database.schema_versions().await.unwrap(), before);
    database.add_schema(&brought("2", 3), b"xyz").await.unwrap();
    let added = database.add_schema(&brought("1", 4), b"abc").await.unwrap();
    assert_eq!(added, SchemaAdded { id: first.id, is_new: true }, "the folder has what it had before");
    assert_eq!(database.schemas().await.unwrap().last().map(|record| record.id), Some(first.id));
}

async fn a_version_is_removed_once(database: &TestDatabase) {
    let record = record("texts", "1", later(1));
    database.add_schema(&record, b"abc").await.unwrap();
    assert!(database.remove_schema(record.id, &Actor::local(), later(5)).await.unwrap().is_some());
    assert_eq!(database.remove_schema(record.id, &Actor::local(), later(5)).await.unwrap(), None);
    assert_eq!((database.schemas().await.unwrap(), database.descriptors(record.id).await.unwrap()), (vec![], None));
}

async fn mappings_are_set_replaced_and_taken_back(database: &TestDatabase) {
    let mapping = |broker: Option<&str>, carrier, pattern: &str, message_type: &str| Mapping {
        broker: broker.map(str::to_owned),
        carrier,
        pattern: pattern.to_owned(),
        message_type: message_type.to_owned(),
    };
    let any = mapping(None, Carrier::Queue, "texts.*", "acme.Text");
    let main = mapping(Some("main"), Carrier::Queue, "texts.*", "acme.Sms");
    let key = mapping(None, Carrier::RoutingKey, "text.new", "acme.Text");
    for (n, each) in [&any, &main, &key].into_iter().enumerate() {
        database.set_mapping(each, &Expected::Anything, &Actor::named("Ada"), later(n as u64)).await.unwrap();
    }
    let replaced = Mapping { message_type: "acme.Mms".to_owned(), ..main };
    database.set_mapping(&replaced, &Expected::Anything, &Actor::named("Bob"), later(9)).await.unwrap();
    let standing =
        |mapping: &Mapping, by: &str, at| ActiveMapping { mapping: mapping.clone(), by: Actor::named(by), at };
    let expected =
        [standing(&any, "Ada", later(0)), standing(&replaced, "Bob", later(9)), standing(&key, "Ada", later(2))];
    assert_eq!(database.mappings().await.unwrap(), expected);
    assert!(
        database
            .unset_mapping(Some("main"), Carrier::Queue, "texts.*", &Expected::Anything, &Actor::local(), later(9))
            .await
            .unwrap()
    );
    assert!(
        !database
            .unset_mapping(Some("main"), Carrier::Queue, "texts.*", &Expected::Anything, &Actor::local(), later(9))
            .await
            .unwrap()
    );
    assert!(
        !database
            .unset_mapping(None, Carrier::Exchange, "texts.*", &Expected::Anything, &Actor::local(), later(9))
            .await
            .unwrap()
    );
    assert_eq!(database.mappings().await.unwrap(), [expected[0].clone(), expected[2].clone()]);
}

on_both!(
    a_version_is_kept_as_it_was_added,
    the_same_descriptors_are_kept_once,
    what_a_folder_brings_again_is_left_alone_while_it_counts,
    a_version_is_removed_once,
    mappings_are_set_replaced_and_taken_back,
);

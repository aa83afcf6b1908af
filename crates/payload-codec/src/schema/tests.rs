//! Sets as they come, odd ones and hostile ones.

use std::path::{Path, PathBuf};

use prost_reflect::{Cardinality, FieldDescriptor, Kind};

use super::{
    raw::{RawEnum, RawEnumValue, RawField, RawFile, RawMessage, RawOneof, RawRange, kind, label},
    *,
};

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema(name: &str) -> Schema {
    Schema::read(name, &fixture(name)).unwrap()
}

#[track_caller]
fn field(schema: &Schema, message: &str, field: &str) -> FieldDescriptor {
    let message = schema.message(message).unwrap_or_else(|| panic!("no message {message}"));
    message.get_field_by_name(field).unwrap_or_else(|| panic!("no field {field}"))
}

fn is_redacted(field: &FieldDescriptor) -> bool {
    let options = field.options();
    options.get_field_by_name("debug_redact").is_some_and(|value| value.as_bool() == Some(true))
}

/// The sources of the invented company, by their paths.
fn acme() -> Vec<Source> {
    fn files(directory: &Path) -> Vec<PathBuf> {
        let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/acme");
    let source = |path: PathBuf| Source {
        text: std::fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(&root).unwrap().to_string_lossy().into_owned(),
    };
    files(&root).into_iter().map(source).collect()
}

#[test]
fn a_whole_set_is_read_without_a_complaint() {
    let schema = schema("small.binpb");
    assert_eq!((schema.problems(), schema.types().len(), schema.files().len()), (vec![], 73, 8));
    assert_eq!(schema.files()["acme/texts/v1/texts.proto"], "acme.texts.v1");
    assert!(schema.types().is_sorted());
    assert!(schema.message("google.protobuf.Any").is_some(), "those that come with protobuf");
    assert!(!schema.types().iter().any(|name| name.starts_with("google.protobuf.")), "are not its own");
}

#[test]
fn options_survive() {
    let schema = schema("small.binpb");
    assert!(is_redacted(&field(&schema, "acme.texts.v1.TextQueued", "body")));
    assert!(!is_redacted(&field(&schema, "acme.texts.v1.TextQueued", "text_id")));
    let options = field(&schema, "acme.texts.v1.TextQueued", "body").options();
    let pii = schema.pool().get_extension_by_name("acme.options.v1.pii").unwrap();
    assert_eq!(options.get_extension(&pii).as_enum_number(), Some(4), "custom ones too");
}

#[test]
fn editions_are_read_as_what_they_mean_on_the_wire() {
    let schema = schema("editions.binpb");
    assert_eq!(schema.problems(), []);
    let batch = |name| field(&schema, "acme.next.v1.OptOutBatch", name);
    assert_eq!(batch("batch_id").cardinality(), Cardinality::Required);
    assert!(is_redacted(&batch("phones")));
    assert_eq!((batch("reason_codes").is_packed(), batch("legacy_codes").is_packed()), (true, false));
    assert_eq!(
        (batch("summary").is_group(), batch("closed_at").is_group(), batch("per_carrier").is_map()),
        (true, false, true)
    );
    let pool = schema.pool();
    assert!(field(&schema, "acme.next.v1.RouteChanged", "weight").supports_presence());
    assert_eq!(pool.get_enum_by_name("acme.next.v1.Carrier").unwrap().default_value().number(), 1);
}

#[test]
fn editions_and_proto3_may_stand_together() {
    let schema = schema("sets_odd/proto3_plus_editions.binpb");
    assert_eq!((schema.problems(), schema.types().len()), (vec![], 73 + 4));
}

#[test]
fn a_set_without_its_imports_is_read_as_far_as_it_goes() {
    let schema = schema("sets_odd/texts_no_imports.binpb");
    let missing: Vec<_> = schema.missing_files().keys().map(String::as_str).collect();
    assert_eq!(missing, ["acme/common/v1/common.proto", "acme/options/v1/options.proto"]);
    let types: Vec<_> = schema.missing_types().keys().map(String::as_str).collect();
    let expected = ["Channel", "ErrorDetail", "EventHeader", "Money", "PhoneNumber"];
    assert_eq!(types, expected.map(|name| format!("acme.common.v1.{name}")));
    let header = field(&schema, "acme.texts.v1.TextSent", "header").kind();
    assert_eq!(header.as_message().unwrap().full_name(), "acme.common.v1.EventHeader");
    assert_eq!(header.as_message().unwrap().fields().len(), 0);
    assert_eq!(field(&schema, "acme.texts.v1.TextQueued", "channel").kind(), Kind::Int32, "an enum is a number");
    assert!(is_redacted(&field(&schema, "acme.texts.v1.TextQueued", "body")));
    assert!(schema.message("acme.common.v1.EventHeader").is_none(), "it is not described");
    assert!(schema.message("google.protobuf.Timestamp").is_some(), "these are always there");
    let shown: Vec<String> = schema.problems().iter().map(ToString::to_string).collect();
    assert!(shown[0].starts_with("acme/texts/v1/texts.proto: It imports \"acme/common/v1/common.proto\""), "{shown:?}");
    assert!(shown[0].contains("--include_imports"), "{shown:?}");
}

#[test]
fn sources_give_what_the_compiler_gives() {
    let compiled = Schema::read("acme", &compile(acme()).unwrap()).unwrap();
    let built = schema("small.binpb");
    assert_eq!((compiled.problems(), compiled.types()), (vec![], built.types()));
    for name in built.types() {
        let differences = differences(&built.message(name).unwrap(), &compiled.message(name).unwrap());
        assert_eq!(differences, [""; 0], "{name}");
    }
    assert!(is_redacted(&field(&compiled, "acme.texts.v1.TextQueued", "body")));
    let pii = compiled.pool().get_extension_by_name("acme.options.v1.pii").unwrap();
    assert!(field(&compiled, "acme.texts.v1.TextQueued", "body").options().has_extension(&pii));
    assert_eq!(compile(acme()).unwrap(), compile(acme()).unwrap(), "the same bytes each time");
}

#[test]
fn folders_that_an_upload_lost_or_added_are_made_up_for() {
    let expected = Schema::read("", &compile(acme()).unwrap()).unwrap();
    let renamed = |rename: &dyn Fn(&str) -> String| {
        let sources = acme().into_iter().map(|source| Source { path: rename(&source.path), ..source });
        Schema::read("", &compile(sources.collect()).unwrap()).unwrap()
    };
    let flat = renamed(&|path| path.rsplit('/').next().unwrap().to_owned());
    assert_eq!(flat.types(), expected.types());
    let packed = renamed(&|path| format!("acme-main/proto/{path}"));
    assert_eq!((packed.types(), packed.files()), (expected.types(), expected.files()));
}

/// Sources, and how each of their problems begins.
#[track_caller]
fn check_sources(sources: &[(&str, &str)], expected: &[&str]) {
    let source = |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: (*text).to_owned() };
    let problems = compile(sources.iter().map(source).collect()).err().unwrap_or_default();
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), expected.len(), "{shown:?}");
    for (shown, expected) in shown.iter().zip(expected) {
        assert!(shown.starts_with(expected), "{shown}");
    }
    assert!(problems.iter().all(|problem| !problem.remedy.is_empty()), "each says what to do: {shown:?}");
}

#[test]
fn mistakes_in_sources_are_reported_with_their_place() {
    check_sources(
        &[("a.proto", "syntax = \"proto3\";\nmessage A {\n  Foo foo = 1;\n}")],
        &["a.proto:3:3: Name 'Foo' is not defined."],
    );
    check_sources(
        &[("a.proto", "syntax = \"proto3\";\nmessage A {\n  string a 1;\n}")],
        &["a.proto:3:12: Expected '=', but found '1'."],
    );
    check_sources(
        &[
            ("a.proto", "syntax = \"proto3\";\nmessage A {}\nmessage A {}"),
            ("b.proto", "syntax = \"proto3\";\nmessage B { Foo foo = 1; }"),
        ],
        &["a.proto:3:9: Name 'A' is defined twice.", "b.proto:2:13: Name 'Foo' is not defined."],
    );
    check_sources(
        &[("a.proto", "syntax = \"proto3\";\n\nimport \"x/y.proto\";\nimport \"google/protobuf/any.proto\";")],
        &["a.proto:3:8: It imports \"x/y.proto\", which is not among the sources. Upload that file"],
    );
    check_sources(
        &[("a.proto", "syntax = \"proto3\";\nimport \"b.proto\";"), ("b.proto", "import \"a.proto\";")],
        &["a.proto: Files import each other in a circle: a.proto → b.proto."],
    );
    check_sources(
        &[("a.proto", "// next\nedition = \"2023\";")],
        &["a.proto:2:1: Sources of editions cannot be compiled here"],
    );
    check_sources(&[("a.proto", "syntax = \"proto9\";")], &["a.proto:1:10: Unknown syntax 'proto9'."]);
    let twice = ("types.proto", "syntax = \"proto3\";");
    check_sources(&[twice, twice], &["types.proto: Several sources have this name. Upload them as a zip"]);
    check_sources(&[], &["There is no .proto file in it."]);
}

#[test]
fn what_depends_on_a_mistake_is_not_reported_again() {
    let broken = ("a.proto", "syntax = \"proto3\"; message A { Foo foo = 1; }");
    let user = ("b.proto", "syntax = \"proto3\"; import \"a.proto\"; message B { A a = 1; }");
    check_sources(&[broken, user], &["a.proto:1:32: Name 'Foo' is not defined."]);
}

#[test]
fn public_imports_reach_through_public_imports() {
    let declares = ("a.proto", "syntax = \"proto3\"; message A {}");
    let first = ("b.proto", "syntax = \"proto3\"; import public \"a.proto\";");
    let second = ("c.proto", "syntax = \"proto3\"; import public \"b.proto\";");
    let uses = ("d.proto", "syntax = \"proto3\"; import \"c.proto\"; message D { A a = 1; }");
    check_sources(&[declares, first, second, uses], &[]);
}

#[test]
fn deep_sources_are_refused_before_they_are_followed() {
    let nested = |open: &str, close: &str| open.repeat(50_000) + &close.repeat(50_000);
    let check = |text: String, part: &str| {
        let problems = compile(vec![Source { path: "a.proto".to_owned(), text }]).unwrap_err();
        assert!(problems[0].to_string().contains(part), "{}", problems[0]);
    };
    check(nested("message A {", "}"), "deep within each other");
    check(format!("option x = {};", nested("{ a: ", "}")), "deep within each other");
    check(format!("message A {{ map<{} x = 1; }}", nested("map<", ">")), "deep within each other");
    check(nested("message A {", "}")[..50 * 11].to_owned(), "a.proto:1:");
    // The message that it sets is nested as deep as its name is long.
    let option = format!("option (foo){}.x = 1;", ".a".repeat(100_000));
    let declared = "import \"google/protobuf/descriptor.proto\";
        message A { optional A a = 1; optional int32 x = 2; }
        extend google.protobuf.FileOptions { optional A foo = 50000; }";
    check(format!("{declared} {option}"), "A name has more than 100 parts");
}

/// Each imports publicly what it imports itself, and so all that was before it.
#[test]
fn imports_of_imports_are_bounded() {
    let chain = |n: usize| {
        let source = |n: usize| Source {
            path: format!("{n}.proto"),
            text: format!("syntax = \"proto3\"; import public \"{}.proto\";", n.saturating_sub(1)),
        };
        let first = Source { path: "0.proto".to_owned(), text: "syntax = \"proto3\";".to_owned() };
        compile([first].into_iter().chain((1..n).map(source)).collect())
    };
    assert!(chain(100).is_ok());
    let problems = chain(700).unwrap_err();
    assert!(problems[0].to_string().contains("imports; 200000 are the most"), "{}", problems[0]);
}

fn a_field(name: &str, number: i32, kind: i32, type_name: Option<&str>) -> RawField {
    RawField {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(label::OPTIONAL),
        kind: Some(kind),
        type_name: type_name.map(str::to_owned),
        ..RawField::default()
    }
}

fn a_message(name: &str, field: Vec<RawField>) -> RawMessage {
    RawMessage { name: Some(name.to_owned()), field, ..RawMessage::default() }
}

fn a_file(name: &str, message_type: Vec<RawMessage>) -> RawFile {
    RawFile {
        name: Some(name.to_owned()),
        package: Some("p".to_owned()),
        syntax: Some("proto3".to_owned()),
        message_type,
        ..RawFile::default()
    }
}

fn read(file: Vec<RawFile>) -> Result<Schema, Vec<SchemaProblem>> {
    Schema::read("set", &RawSet { file }.encode_to_vec())
}

/// A file that cannot be used, and what is said of it; the file beside it stays.
#[track_caller]
fn check_left_out(file: RawFile, part: &str) {
    let schema = read(vec![a_file("good.proto", vec![a_message("Good", vec![])]), file]).unwrap();
    assert!(schema.message("p.Good").is_some());
    let shown: Vec<String> = schema.faults().iter().map(ToString::to_string).collect();
    assert!(shown.len() == 1 && shown[0].contains(part), "{part}: {shown:?}");
}

#[test]
fn a_broken_file_does_not_take_the_others_with_it() {
    let with = |field: RawField| a_file("bad.proto", vec![a_message("Bad", vec![field])]);
    let text = |name| a_field(name, 1, kind::STRING, None);
    check_left_out(RawFile { syntax: Some("proto9".to_owned()), ..a_file("bad.proto", vec![]) }, "proto9");
    let edition = RawFile { syntax: Some("editions".to_owned()), edition: Some(1_002), ..a_file("bad.proto", vec![]) };
    check_left_out(edition, "edition (number 1002)");
    check_left_out(RawFile { package: Some("a..b".to_owned()), ..a_file("bad.proto", vec![]) }, "package");
    check_left_out(RawFile { package: Some("a.".repeat(100_000)), ..a_file("bad.proto", vec![]) }, "package");
    check_left_out(with(text("no name")), "\"no name\" is no name");
    check_left_out(with(RawField { oneof_index: Some(7), ..text("a") }), "oneof");
    check_left_out(with(RawField { oneof_index: Some(-1), ..text("a") }), "oneof");
    check_left_out(with(RawField { kind: Some(99), ..text("a") }), "type that is not known");
    check_left_out(with(RawField { kind: Some(kind::MESSAGE), ..text("a") }), "has no type");
    check_left_out(with(RawField { label: Some(0), ..text("a") }), "label");
    check_left_out(with(RawField { number: Some(19_000), ..text("a") }), "Invalid field number");
    check_left_out(with(a_field("a", 1, kind::MESSAGE, Some(&".a".repeat(10_000)))), "no name of a type");
    check_left_out(a_file("bad.proto", vec![a_message("Good", vec![])]), "already defined");
    check_left_out(a_file("good.proto", vec![a_message("Other", vec![])]), "twice");
    let empty = RawEnum { name: Some("E".to_owned()), ..RawEnum::default() };
    check_left_out(RawFile { enum_type: vec![empty], ..a_file("bad.proto", vec![]) }, "at least one value");
}

#[test]
fn a_set_of_nothing_usable_is_refused_with_the_reason() {
    let check = |bytes: &[u8], part: &str| {
        let problems = Schema::read("set.binpb", bytes).unwrap_err();
        assert!(problems[0].to_string().contains(part), "{part}: {}", problems[0]);
        assert!(problems[0].file.is_some());
    };
    check(b"\xff\xff\xff", "no FileDescriptorSet");
    check(&fixture("small.binpb")[..1_000], "no FileDescriptorSet");
    check(b"", "describes no file");
    check(&vec![0; limits::SET_BYTES + 1], "larger than");
    let only_bad = RawSet { file: vec![RawFile { syntax: Some("x".to_owned()), ..a_file("bad.proto", vec![]) }] };
    check(&only_bad.encode_to_vec(), "syntax");
}

#[test]
fn bombs_are_bounded() {
    let check = |file: RawFile, part: &str| {
        let problems = read(vec![file]).unwrap_err();
        assert!(problems[0].to_string().contains(part), "{part}: {}", problems[0]);
    };
    let nested = |depth: usize, name: &str| {
        (0..depth)
            .fold(a_message("M", vec![]), |inner, _| RawMessage { nested_type: vec![inner], ..a_message(name, vec![]) })
    };
    check(a_file("a.proto", vec![nested(200, "M")]), "deep");
    check(a_file("a.proto", vec![nested(90, &"m".repeat(200))]), "full name");
    check(a_file("a.proto", vec![a_message("M", vec![]); limits::TYPES + 1]), "types");
    let value = RawEnumValue { name: Some("V".to_owned()), ..RawEnumValue::default() };
    let wide = RawEnum { name: Some("E".to_owned()), value: vec![value; limits::MEMBERS + 1], ..RawEnum::default() };
    check(RawFile { enum_type: vec![wide], ..a_file("a.proto", vec![]) }, "values of enums");
    let ranges = RawMessage { reserved_range: vec![RawRange::default(); limits::RANGES + 1], ..a_message("M", vec![]) };
    check(a_file("a.proto", vec![ranges]), "ranges");
    let files = (0..=limits::FILES).map(|n| a_file(&format!("{n}.proto"), vec![])).collect();
    assert!(read(files).unwrap_err()[0].to_string().contains("files"));
}

/// Asks for everything that a reader may ask for.
fn walk(schema: &Schema) {
    for message in schema.pool().all_messages() {
        message.options();
        message.fields().for_each(|field| {
            field.options();
            field.default_value();
            field.is_map();
        });
        message.extensions().for_each(|extension| drop(extension.options()));
        message.oneofs().for_each(|oneof| drop(oneof.options()));
    }
    for declared in schema.pool().all_enums() {
        declared.options();
        declared.default_value();
        declared.values().for_each(|value| drop(value.options()));
    }
    schema.pool().services().for_each(|service| drop(service.options()));
    schema.pool().files().for_each(|file| drop(file.options()));
}

#[test]
fn options_that_cannot_be_read_are_passed_over() {
    let extension = RawField {
        extendee: Some(".google.protobuf.FieldOptions".to_owned()),
        ..a_field("custom", 50_000, kind::STRING, None)
    };
    // `custom` as a number, which is no string, and `debug_redact`
    let options = Some(vec![0x80, 0xb5, 0x18, 0x01, 0x80, 0x01, 0x01]);
    let secret = RawField { options, ..a_field("secret", 1, kind::STRING, None) };
    let file = a_file("a.proto", vec![a_message("M", vec![secret])]);
    let schema = read(vec![RawFile { extension: vec![extension], ..file }]).unwrap();
    walk(&schema);
    assert!(is_redacted(&field(&schema, "p.M", "secret")), "what must not be shown stays so");
    assert!(schema.faults()[0].to_string().contains("a.proto: Some of its options"), "{:?}", schema.faults());
}

#[test]
fn what_no_compiler_has_interpreted_is_not_followed() {
    let delimited = |tag: &[u8], inner: &[u8]| {
        let mut bytes = tag.to_vec();
        prost::encoding::encode_varint(inner.len() as u64, &mut bytes);
        bytes.extend_from_slice(inner);
        bytes
    };
    // `uninterpreted_option { name { name_part: "features" } aggregate_value: "{ … }" }`
    let name = delimited(&[0x12], &[delimited(&[0x0a], b"features"), vec![0x10, 0]].concat());
    let value = delimited(&[0x42], ("a { ".repeat(200_000) + &"}".repeat(200_000)).as_bytes());
    let options = Some(delimited(&[0xba, 0x3e], &[name, value].concat()));
    let secret = RawField { options, ..a_field("secret", 1, kind::STRING, None) };
    let schema = read(vec![a_file("a.proto", vec![a_message("M", vec![secret])])]).unwrap();
    assert!(schema.faults()[0].to_string().contains("options"), "{:?}", schema.faults());
}

#[test]
fn well_known_types_are_what_everybody_knows() {
    let timestamp = |name: &str| RawFile {
        package: Some("google.protobuf".to_owned()),
        ..a_file(name, vec![a_message("Timestamp", vec![a_field("seconds", 1, kind::STRING, None)])])
    };
    let own = || {
        a_file(
            "own.proto",
            vec![a_message("Own", vec![a_field("at", 1, kind::MESSAGE, Some(".google.protobuf.Timestamp"))])],
        )
    };
    for name in ["google/protobuf/timestamp.proto", "elsewhere.proto"] {
        let schema = read(vec![timestamp(name), own()]).unwrap();
        assert_eq!(field(&schema, "google.protobuf.Timestamp", "seconds").kind(), Kind::Int64, "{name}");
        assert_eq!(schema.types(), ["p.Own"]);
    }
}

#[test]
fn damaged_sets_are_read_or_refused() {
    let mut random = fastrand::Rng::with_seed(7);
    for name in ["small.binpb", "editions.binpb", "sets_odd/texts_no_imports.binpb"] {
        let whole = fixture(name);
        for _ in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            if let Ok(schema) = Schema::read(name, &bytes) {
                walk(&schema);
            }
        }
    }
}

#[test]
fn circles_are_harmless() {
    let importing = |name: &str, import: &str, message: &str, other: &str| RawFile {
        dependency: vec![import.to_owned(), name.to_owned()],
        public_dependency: vec![0, 1, 7],
        ..a_file(name, vec![a_message(message, vec![a_field("other", 1, kind::MESSAGE, Some(other))])])
    };
    let schema = read(vec![importing("a.proto", "b.proto", "A", ".p.B"), importing("b.proto", "a.proto", "B", ".p.A")]);
    let schema = schema.unwrap();
    assert_eq!((schema.problems(), schema.types()), (vec![], &["p.A".to_owned(), "p.B".to_owned()][..]));
}

#[test]
fn a_map_entry_without_key_or_value_is_a_message_like_any_other() {
    let entry = |fields| RawMessage { options: Some(vec![0x38, 1]), ..a_message("Entry", fields) };
    let key = || a_field("key", 1, kind::STRING, None);
    let value = || a_field("value", 2, kind::STRING, None);
    let check = |fields: Vec<RawField>, is_map: bool| {
        let map = RawField { label: Some(label::REPEATED), ..a_field("map", 1, kind::MESSAGE, Some(".p.M.Entry")) };
        let message = RawMessage { nested_type: vec![entry(fields)], ..a_message("M", vec![map]) };
        let schema = read(vec![a_file("a.proto", vec![message])]).unwrap();
        assert_eq!(field(&schema, "p.M", "map").is_map(), is_map);
    };
    check(vec![key(), value()], true);
    check(vec![], false);
    check(vec![key()], false);
    check(vec![a_field("key", 1, kind::MESSAGE, Some(".p.M")), value()], false);
    check(vec![RawField { label: Some(label::REPEATED), ..key() }, value()], false);
}

#[test]
fn missing_types_are_made_up_for() {
    let uses = |kind, name| a_field("a", 1, kind, Some(name));
    let check = |field: RawField, expected: Kind| {
        let schema = read(vec![a_file("a.proto", vec![a_message("M", vec![field])])]).unwrap();
        assert_eq!(self::field(&schema, "p.M", "a").kind(), expected);
        assert_eq!(schema.missing_types().len(), 1);
    };
    check(uses(kind::ENUM, ".q.E"), Kind::Int32);
    check(uses(kind::MESSAGE, ".p.M.Inner"), Kind::Bytes);
    check(uses(kind::MESSAGE, ".p"), Kind::Bytes);
    let schema = read(vec![a_file("a.proto", vec![a_message("M", vec![uses(kind::GROUP, "q.Group")])])]).unwrap();
    assert!(field(&schema, "p.M", "a").is_group());
    let extension = RawField { extendee: Some(".q.Base".to_owned()), ..a_field("e", 100, kind::STRING, None) };
    let file = RawFile { extension: vec![extension], ..a_file("a.proto", vec![a_message("M", vec![])]) };
    let schema = read(vec![file]).unwrap();
    assert_eq!(schema.missing_types().keys().collect::<Vec<_>>(), ["q.Base"]);
}

#[test]
fn imports_are_mended() {
    let uses = a_file("a.proto", vec![a_message("A", vec![a_field("b", 1, kind::MESSAGE, Some("B"))])]);
    let schema = read(vec![uses, a_file("b.proto", vec![a_message("B", vec![])])]).unwrap();
    assert_eq!(
        (schema.problems(), field(&schema, "p.A", "b").kind().as_message().unwrap().full_name()),
        (vec![], "p.B")
    );
}

#[test]
fn what_is_implicit_everywhere_becomes_proto3() {
    /// `features { field_presence: IMPLICIT }` in the options of a file
    const IMPLICIT: [u8; 5] = [0x92, 0x03, 2, 0x08, 2];
    let file = |fields| RawFile {
        syntax: Some("editions".to_owned()),
        edition: Some(1_000),
        options: Some(IMPLICIT.to_vec()),
        ..a_file(
            "a.proto",
            vec![RawMessage {
                oneof_decl: vec![RawOneof { name: Some("o".to_owned()), options: None }],
                ..a_message("M", fields)
            }],
        )
    };
    let check = |field: RawField, supports_presence| {
        let schema = read(vec![file(vec![field, a_field("plain", 9, kind::INT32, None)])]).unwrap();
        assert_eq!(self::field(&schema, "p.M", "plain").supports_presence(), supports_presence);
    };
    check(RawField { oneof_index: Some(0), ..a_field("a", 1, kind::STRING, None) }, false);
    check(a_field("a", 1, kind::MESSAGE, Some(".p.M")), false);
    /// `features { field_presence: EXPLICIT }` in the options of a field
    const EXPLICIT: [u8; 5] = [0xaa, 0x01, 2, 0x08, 1];
    check(RawField { options: Some(EXPLICIT.to_vec()), ..a_field("a", 1, kind::STRING, None) }, true);
}

fn upload(name: &str, bytes: &[u8]) -> Upload {
    Upload { name: name.to_owned(), bytes: bytes.to_vec() }
}

fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, bytes).unwrap();
    gz.finish().unwrap()
}

#[test]
fn uploads_are_taken_for_what_they_are() {
    let set = fixture("editions.binpb");
    let source = b"syntax = \"proto3\"; message A {}".as_slice();
    let check = |files: Vec<Upload>, expected: Result<Option<&[u8]>, &str>| {
        let name = files.first().map(|file| file.name.clone());
        match (unpack(files), expected) {
            (Ok(bytes), Ok(expected)) => assert!(expected.is_none_or(|expected| expected == bytes), "{name:?}"),
            (Err(problems), Err(part)) => assert!(problems[0].to_string().contains(part), "{name:?}: {}", problems[0]),
            (found, expected) => panic!("{name:?}: {found:?}, not {expected:?}"),
        }
    };
    check(vec![upload("a.binpb", &set)], Ok(Some(&set)));
    check(vec![upload("image", &set)], Ok(Some(&set)));
    check(vec![upload("a.binpb.gz", &gzipped(&set))], Ok(Some(&set)));
    check(vec![upload("a.zip", &zipped(&[("x/a.binpb", &set), ("readme.md", b"x")]))], Ok(Some(&set)));
    check(vec![upload("a.proto", source)], Ok(None));
    check(vec![upload("", b"// c\nsyntax = \"proto3\"; message A {}")], Ok(None));
    check(vec![upload("a.zip", &zipped(&[("a/b.proto", source), ("__MACOSX/a/b.proto", b"\0")]))], Ok(None));
    check(vec![upload("a.zip", &zipped(&[("readme.md", b"x")]))], Err("nothing in it"));
    check(vec![upload("a.zip", b"PK\x03\x04 broken")], Err("archive cannot be read"));
    check(vec![upload("a.binpb", &set), upload("b.binpb", &set)], Err("several sets"));
    check(vec![upload("a.binpb", &set), upload("b.proto", source)], Err("stands among sources"));
    check(vec![upload("a.json", b"{\"file\": []}")], Err("JSON"));
    check(vec![upload("a.txtpb", b"file {\n name: \"a\" }")], Err("text form"));
    check(vec![upload("a.binpb", b"")], Err("empty"));
    // The length of the first file is the bracket that JSON begins with, or a space before a word of sources.
    let set = |file: RawFile| RawSet { file: vec![file] }.encode_to_vec();
    let bracket = set(a_file(&format!("{}.proto", "x".repeat(104)), vec![]));
    assert!(bracket.starts_with(b"\n{"));
    check(vec![upload("a.binpb", &bracket)], Ok(Some(&bracket)));
    let space = set(RawFile { package: Some("p.q.r.s".to_owned()), ..a_file("message.proto", vec![]) });
    assert!(space.starts_with(b"\n \n\rmessage"));
    check(vec![upload("", &space)], Ok(Some(&space)));
    check(vec![upload("a.proto", b"\xff\xfe")], Err("not UTF-8"));
    check(vec![], Err("nothing in it"));
}

#[test]
fn archives_unpack_to_no_more_than_is_read() {
    let bomb = zipped(&[("a.proto", &vec![b' '; limits::SOURCE_BYTES + 1])]);
    assert!(bomb.len() < 1_000_000);
    assert!(unpack(vec![upload("a.zip", &bomb)]).unwrap_err()[0].to_string().contains("larger"));
    let half = vec![b' '; limits::SOURCE_BYTES / 2 + 1];
    let both = zipped(&[("a.proto", &half), ("b.proto", &half)]);
    assert!(unpack(vec![upload("a.zip", &both)]).unwrap_err()[0].to_string().contains("larger"), "all together");
}

#[test]
fn all_files_of_an_upload_unpack_to_no_more_than_is_read_together() {
    let check = |files: [Upload; 2], what: &str| {
        let problems = unpack(files.into()).unwrap_err();
        assert!(problems[0].to_string().contains("Unpacked it is larger"), "{what}: {}", problems[0]);
    };
    let half = vec![b' '; limits::SOURCE_BYTES / 2 + 1];
    let (gz, archive) = (gzipped(&half), zipped(&[("a.proto", &half)]));
    check([upload("a.proto.gz", &gz), upload("b.proto.gz", &gz)], "two gzipped");
    check([upload("a.zip", &archive), upload("b.zip", &archive)], "two archives");
    check([upload("a.zip", &archive), upload("b.proto.gz", &gz)], "one of each");
    check([upload("a.proto", &half), upload("b.proto.gz", &gz)], "beside a plain one");
}

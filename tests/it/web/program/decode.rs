//! `dlo decode`: what it prints of a message, and how it ends.

use std::io::Write;

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::super::{
    run::{Program, dlo},
    schemas::fixture,
};

/// `string e164 = 1 [debug_redact = true]; string country_code = 2;`
const PHONE: &str = "acme.common.v1.PhoneNumber";
const NUMBER: &[u8] = b"\n\x0c+49301234567\x12\x02DE";

/// `dlo decode` beside a schema in `acme.binpb` and a phone number in `phone`, base64 around gzip around it.
fn decode(arguments: &[&str]) -> Program {
    let program = dlo(&["decode"]).holds("acme.binpb", &fixture("small.binpb")).holds("phone", &wrapped(NUMBER));
    arguments.iter().fold(program, |program, argument| program.with(argument))
}

fn wrapped(payload: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(payload).unwrap();
    BASE64_STANDARD.encode(gzip.finish().unwrap()).into_bytes()
}

fn json_of(mut program: Program) -> Value {
    serde_json::from_str(&program.run().expect(0).stdout).unwrap()
}

#[test]
fn a_type_is_taken_from_whoever_names_it() {
    let schema = ["--schema", "acme.binpb"];
    for (arguments, how) in [
        (&["--type", PHONE][..], "as given"),
        (&["--content-type", "application/x-protobuf; proto=acme.common.v1.PhoneNumber"], "from the message"),
        (&["--header", "cloudEvents:type=PhoneNumber"], "from the message"),
    ] {
        let said = decode(&schema).with("phone").with_all(arguments).run().expect(0).stdout;
        let head = format!(
            "encoding  base64, gzip\nformat    protobuf, 18 bytes\ntype      {PHONE}, {how}\n# Redacted values "
        );
        assert!(said.starts_with(&head), "{arguments:?}: {said}");
        assert!(said.contains("\"countryCode\": \"DE\"") && !said.contains("+49"), "{said}");
    }
    let configured = "[decode]\ntype_headers = [\"kind\"]\nhidden_fields = [\"country*\"]";
    let said =
        decode(&schema).with("phone").with("--header=kind=PhoneNumber").config(configured).run().expect(0).stdout;
    assert!(said.contains("from the message") && !said.contains("DE"), "{said}");
}

#[test]
fn without_a_type_it_says_which_it_could_be() {
    let said = decode(&["--schema", "acme.binpb", "phone", "--reveal"]).run().expect(0).stdout;
    assert!(said.contains("type      not certain; shown by field numbers\n"), "{said}");
    assert!(
        said.contains(PHONE) && said.contains(" %  acme.") && said.contains("\n        - no unknown fields\n"),
        "{said}"
    );
    assert!(said.contains("+49301234567"), "{said}");
    let hidden = decode(&["--schema", "acme.binpb", "phone"]).run().expect(0).stdout;
    assert!(!hidden.contains("+49"), "{hidden}");
}

#[test]
fn without_a_schema_fields_have_numbers() {
    let said = decode(&["phone"]).run().expect(0).stdout;
    assert!(said.contains("type      unknown\n") && said.contains("+49301234567"), "{said}");
}

#[test]
fn json_is_that_of_the_api() {
    let read = json_of(decode(&["--schema", "acme.binpb", "--type", PHONE, "--json", "--reveal", "phone"]));
    assert_eq!((&read["message_type"], &read["type_source"]), (&json!(PHONE), &json!("manual")));
    assert_eq!(read["payload"]["encoding"], json!(["base64", "gzip"]));
    assert_eq!(read["payload"]["json"], json!({"e164": "+49301234567", "countryCode": "DE"}));
}

#[test]
fn raw_is_the_payload_to_the_byte() {
    let mut program = decode(&["--raw", "-"]).input(&wrapped(NUMBER));
    assert_eq!(program.run().expect(0).stdout.as_bytes(), NUMBER);
    let mut outer = decode(&["--raw", "--encoding", ""]).input(b"aGVsbG8=");
    assert_eq!(outer.run().code, Some(2));
    let mut inner = decode(&["--raw", "--encoding=base64"]).input(b"aGVsbG8=");
    assert_eq!(inner.run().expect(0).stdout, "hello");
}

#[test]
fn other_formats_are_read_as_well() {
    for (body, head, shown) in [
        (&b"{\"a\":1}"[..], "format    json, 7 bytes", "{\"a\":1}"),
        (b"Dear all, the shop is closed today.", "format    text, 35 bytes", "the shop is closed"),
        (b"\x81\xa3key\xa5value", "format    msgpack, 11 bytes", "\"key\": \"value\""),
    ] {
        let said = decode(&[]).input(body).run().expect(0).stdout;
        assert!(said.contains(head) && said.contains(shown), "{said}");
    }
}

#[test]
fn schemas_come_in_every_form() {
    let with = |schema: &str| ["--schema", schema, "--type", "acme.billing.v1.TrialEnding", "bill"].map(str::to_owned);
    let sources = ["billing", "common", "options"].map(|name| format!("acme/acme/{name}/v1/{name}.proto"));
    let check = |program: Program, schema: &str| {
        let program = with(schema).iter().fold(program.holds("bill", b"\n\x03abc\x10\x05"), |it, word| it.with(word));
        assert_eq!(json_of(program.with("--json"))["payload"]["json"]["daysLeft"], 5, "{schema}");
    };
    check(decode(&[]), "acme.binpb");
    let folder = decode(&[]);
    std::fs::create_dir(folder.file("protos")).unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let (mut in_folder, mut one_by_one) = (folder, decode(&[]));
    for source in &sources {
        let (name, bytes) = (source.rsplit('/').next().unwrap(), fixture(source));
        in_folder = in_folder.holds(&format!("protos/{name}"), &bytes);
        one_by_one = one_by_one.holds(name, &bytes);
        if name != "billing.proto" {
            one_by_one = one_by_one.with("--schema").with(name);
        }
        zip.start_file(source, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&bytes).unwrap();
    }
    check(in_folder, "protos");
    check(one_by_one, "billing.proto");
    check(decode(&[]).holds("protos.zip", &zip.finish().unwrap().into_inner()), "protos.zip");
}

#[test]
fn without_a_schema_that_of_the_configuration_counts() {
    let mut program = decode(&["--type", PHONE, "phone"]).config("[schemas]\nfolder = \".\"");
    assert!(program.run().expect(0).stdout.contains(&format!("type      {PHONE}, as given")));
}

#[test]
fn what_cannot_be_read_as_asked_is_1() {
    for (arguments, why) in [
        (&["--type", "acme.Nope"][..], "no schema describes acme.Nope"),
        (&["--encoding", "gzip"], "it is not encoded as gzip"),
        (&["--encoding", "base64,zstd"], "it is not encoded as zstd"),
    ] {
        let ended = decode(&["--schema", "acme.binpb", "phone"]).with_all(arguments).run().expect(1);
        assert!(ended.stderr.contains(why) && ended.stdout.is_empty(), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn wrong_usage_is_2() {
    for (arguments, why) in [
        (&["nowhere"][..], "nowhere: "),
        (&["--schema", "nowhere", "phone"], "nowhere: "),
        (&["--schema", "phone", "phone"], "phone is no schema"),
        (&["--encoding", "rot13", "phone"], "there are gzip"),
        (&["--header", "=x", "phone"], "NAME=VALUE"),
        (&["--json", "--raw", "phone"], "cannot be used with"),
    ] {
        let ended = decode(arguments).run().expect(2);
        assert!(ended.stderr.contains(why) && ended.stdout.is_empty(), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn what_a_schema_lacks_is_told_beside_the_answer() {
    let set = fixture("sets_odd/texts_no_imports.binpb");
    let ended = decode(&["--schema", "part.binpb", "phone"]).holds("part.binpb", &set).run().expect(0);
    assert!(ended.stderr.contains("acme/common/v1/common.proto"), "{}", ended.stderr);
    assert!(ended.stdout.contains("format    protobuf"), "{}", ended.stdout);
    let program = decode(&["--schema", "empty", "phone"]);
    std::fs::create_dir(program.file("empty")).unwrap();
    let ended = { program }.run().expect(0);
    assert!(ended.stderr.contains("neither a descriptor set nor a .proto file in empty"), "{}", ended.stderr);
    let source = fixture("acme/acme/billing/v1/billing.proto");
    let ended = decode(&["--schema", "billing.proto", "phone"]).holds("billing.proto", &source).run().expect(2);
    assert!(ended.stderr.contains("acme/common/v1/common.proto"), "{}", ended.stderr);
}

//! Messages of known types, and sets of types, to measure guesses with.

use std::{
    collections::{HashMap, HashSet},
    io::Read,
    path::{Path, PathBuf},
};

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use flate2::read::GzDecoder;
use payload_codec::wire::{Value, fields, varint};
use prost::Message;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

/// A message, without what it was wrapped in.
pub struct Sample {
    pub full_name: String,
    pub body: Vec<u8>,
}

/// A set of types and messages of them.
pub struct Corpus {
    pub descriptors: Vec<u8>,
    pub samples: Vec<Sample>,
}

/// The corpus of an invented company, which is in the repository.
pub fn small() -> Corpus {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/payload-codec/fixtures");
    read(&folder, "small")
}

/// The corpus of some ten thousand public types, which is not ours to ship.
pub fn large() -> Option<Corpus> {
    let folder = PathBuf::from(std::env::var_os("DLO_TEST_CORPUS")?);
    Some(read(&folder, "large"))
}

fn read(folder: &Path, name: &str) -> Corpus {
    let descriptors = std::fs::read(folder.join(format!("{name}.binpb"))).expect("a descriptor set");
    let lines = std::fs::read_to_string(folder.join(format!("{name}_messages.ndjson"))).expect("messages");
    Corpus { descriptors, samples: lines.lines().map(sample).collect() }
}

fn sample(line: &str) -> Sample {
    let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
    let text = |key: &str| line[key].as_str().expect("a string");
    let wrapped = BASE64_STANDARD.decode(text("base64")).expect("base64");
    Sample { full_name: text("type").to_owned(), body: unwrap(text("encoding_variant"), wrapped) }
}

fn unwrap(encoding: &str, body: Vec<u8>) -> Vec<u8> {
    match encoding {
        "base64" => BASE64_STANDARD.decode(body).expect("base64"),
        "base64url_nopad" => BASE64_URL_SAFE_NO_PAD.decode(body).expect("base64"),
        "gzip_base64" => {
            let mut inflated = Vec::new();
            let deflated = BASE64_STANDARD.decode(body).expect("base64");
            GzDecoder::new(&deflated[..]).read_to_end(&mut inflated).expect("gzip");
            inflated
        }
        "delimited" => body[varint::read(&body, 0).expect("a length").end..].to_vec(),
        "any" => match fields(&body).flatten().find(|field| field.number == 2).map(|field| field.value) {
            Some(Value::Len(value)) => value.to_vec(),
            _ => Vec::new(),
        },
        _ => body,
    }
}

/// Some files of a set, with all they import, until they hold so many messages.
pub fn subset(descriptors: &[u8], messages: usize) -> Vec<u8> {
    let set = FileDescriptorSet::decode(descriptors).expect("a descriptor set");
    let by_name: HashMap<&str, &FileDescriptorProto> = set.file.iter().map(|file| (file.name(), file)).collect();
    let mut order: Vec<&str> = by_name.keys().copied().collect();
    order.sort_unstable();
    fastrand::Rng::with_seed(7).shuffle(&mut order);
    let mut chosen = HashSet::new();
    let mut count = 0;
    for name in order {
        let mut todo = if count < messages { vec![name] } else { break };
        while let Some(file) = todo.pop().and_then(|name| by_name.get(name)) {
            if chosen.insert(file.name()) {
                count += file.message_type.iter().map(count_messages).sum::<usize>();
                todo.extend(file.dependency.iter().map(String::as_str));
            }
        }
    }
    let file = set.file.iter().filter(|file| chosen.contains(file.name())).cloned().collect();
    FileDescriptorSet { file }.encode_to_vec()
}

fn count_messages(message: &DescriptorProto) -> usize {
    1 + message.nested_type.iter().map(count_messages).sum::<usize>()
}

/// Types of no meaning, to measure time alone.
pub fn synthetic(messages: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(7);
    let message_type = (0..messages).map(|place| DescriptorProto {
        name: Some(format!("Message{place}")),
        field: (1..=rng.i32(1..12)).map(|number| field(number, &mut rng)).collect(),
        ..DescriptorProto::default()
    });
    let file = FileDescriptorProto {
        name: Some("synthetic.proto".to_owned()),
        package: Some("synthetic".to_owned()),
        message_type: message_type.collect(),
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

fn field(number: i32, rng: &mut fastrand::Rng) -> FieldDescriptorProto {
    const NAMES: [&str; 8] = ["id", "name", "email", "created_at", "count", "state", "url", "payload"];
    const TYPES: [Type; 6] = [Type::String, Type::Int64, Type::Bool, Type::Double, Type::Bytes, Type::Uint32];
    let pick = |count: usize, rng: &mut fastrand::Rng| rng.usize(..count);
    let label = if rng.u8(..5) == 0 { Label::Repeated } else { Label::Optional };
    FieldDescriptorProto {
        name: Some(format!("{}_{number}", NAMES[pick(NAMES.len(), rng)])),
        number: Some(number),
        label: Some(label.into()),
        r#type: Some(TYPES[pick(TYPES.len(), rng)].into()),
        ..FieldDescriptorProto::default()
    }
}

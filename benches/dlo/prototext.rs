//! The closest open rival at ranking types, prototext (<https://github.com/douzebis/prototools>), fed with the same types.

use std::time::{Duration, Instant};

use prost_reflect::{Cardinality, DescriptorPool, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};
use prototext_graph::{
    build_scoring_graph::build_from_strings,
    score::{ScoringOpts, load::LoadedGraph, score_all},
};
use serde_json::{Value, json};

/// Its graph of all types.
pub struct Prototext {
    graph: LoadedGraph,
}

/// What it says of a body.
pub struct Ranking {
    /// The names of all types it does not rule out, with their scores.
    pub scores: Vec<(String, i64)>,
    pub took: Duration,
}

impl Prototext {
    /// The graph of the types a guess considers, too.
    pub fn new(pool: &DescriptorPool, is_candidate: impl Fn(&MessageDescriptor) -> bool) -> Self {
        let entries: Vec<_> =
            pool.all_messages().filter(is_candidate).map(|message| message.full_name().to_owned()).collect();
        let groups: Vec<_> = pool.all_messages().flat_map(|message| groups(&message)).collect();
        let messages: serde_json::Map<String, Value> =
            pool.all_messages().map(|message| (message.full_name().to_owned(), node(&message, &groups))).collect();
        // JSON is YAML.
        let graph = json!({ "entries": entries, "messages": messages, "extension_ranges": false }).to_string();
        let (bytes, ..) = build_from_strings(&[graph], false, false, |_, _| {}).expect("a graph");
        Self { graph: LoadedGraph::from_static_bytes(Box::leak(bytes.into_boxed_slice())).expect("a graph") }
    }

    pub fn rank(&self, body: &[u8]) -> Ranking {
        let start = Instant::now();
        let scores = score_all(body, self.graph.graph(), &ScoringOpts::default());
        let took = start.elapsed();
        let possible = scores.iter().filter(|score| !score.vetoed);
        Ranking { scores: possible.map(|score| (score.fqdn.to_owned(), score.score())).collect(), took }
    }
}

fn groups(message: &MessageDescriptor) -> Vec<String> {
    let groups = message.fields().filter(FieldDescriptor::is_group);
    groups.filter_map(|field| field.kind().as_message().map(|group| group.full_name().to_owned())).collect()
}

fn node(message: &MessageDescriptor, groups: &[String]) -> Value {
    let kind = if groups.iter().any(|group| group == message.full_name()) { "GROUP" } else { "LENDEL" };
    json!({ "kind": kind, "fields": message.fields().map(|field| edge(&field)).collect::<Vec<_>>() })
}

fn edge(field: &FieldDescriptor) -> Value {
    let label = match field.cardinality() {
        Cardinality::Optional => "optional",
        Cardinality::Required => "required",
        Cardinality::Repeated => "repeated",
    };
    let (kind, child, range) = kind(&field.kind());
    json!({
        "number": field.number(), "type": kind, "child": child, "range": range, "label": label,
        "packed": field.is_packed(),
    })
}

fn kind(kind: &Kind) -> (&'static str, Option<String>, Option<(i32, i32)>) {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => ("double", None, None),
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => ("float", None, None),
        Kind::Int32 => ("int32", None, None),
        Kind::Int64 => ("int64", None, None),
        Kind::Uint32 => ("uint32", None, None),
        Kind::Uint64 => ("uint64", None, None),
        Kind::Sint32 => ("sint32", None, None),
        Kind::Sint64 => ("sint64", None, None),
        Kind::Bool => ("bool", None, Some((0, 1))),
        Kind::String => ("string", None, None),
        Kind::Bytes => ("bytes", None, None),
        Kind::Message(message) => ("message", Some(message.full_name().to_owned()), None),
        Kind::Enum(descriptor) => ("enum", None, Some(range(descriptor))),
    }
}

fn range(descriptor: &EnumDescriptor) -> (i32, i32) {
    let numbers = || descriptor.values().map(|value| value.number());
    (numbers().min().unwrap_or_default(), numbers().max().unwrap_or_default())
}

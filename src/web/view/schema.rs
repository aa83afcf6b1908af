//! Schemas and types as a page shows them.

use std::collections::HashMap;

use amqp_message::time::Timestamp;
use payload_codec::schema::{Schema, SchemaProblem, type_of};
use prost_reflect::{EnumDescriptor, FieldDescriptor, FileDescriptor, Kind, MessageDescriptor, Value};

use super::{number, text, time::Moment};
use crate::{
    domain::{
        mapping::{ActiveMapping, Carrier},
        schema::{SchemaId, SchemaSource},
    },
    services::decoding::catalogue::{Catalogue, SchemaVersion},
};

/// The page of a type.
pub fn type_href(name: &str) -> String {
    format!("/schemas/types/{name}")
}

/// The same as a certain version describes it.
pub fn version_href(name: &str, schema: SchemaId) -> String {
    format!("/schemas/types/{name}?schema={schema}")
}

/// One version in the list.
pub struct SchemaRow {
    pub id: SchemaId,
    pub name: String,
    pub is_current: bool,
    /// `73 types`; empty where it is not held in memory.
    pub types: String,
    /// `8 files`
    pub files: String,
    /// The names of the first few.
    pub file_names: String,
    pub size: String,
    pub is_from_folder: bool,
    pub by: String,
    pub at: Moment,
    pub problems: Vec<ProblemView>,
    /// Problems that are not shown.
    pub more_problems: usize,
    /// Types that another current schema describes differently.
    pub disagreements: Vec<TypeLink>,
    pub more_disagreements: usize,
}

pub struct TypeLink {
    pub name: String,
    pub href: String,
}

impl TypeLink {
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), href: type_href(name) }
    }
}

impl SchemaRow {
    pub fn new(version: &SchemaVersion, catalogue: &Catalogue, now: Timestamp) -> Self {
        /// File names in a tooltip.
        const NAMED: usize = 12;
        let (record, schema) = (&version.record, version.schema.as_deref());
        let mut problems = schema.map(Schema::problems).unwrap_or_default();
        problems.extend(version.unreadable.iter().cloned());
        let disagreements: Vec<TypeLink> =
            catalogue.disagreements(record.id).map(|entry| TypeLink::new(&entry.name)).collect();
        let names: Vec<String> = record.files.keys().take(NAMED).map(|name| text::one_line(name)).collect();
        Self {
            id: record.id,
            name: text::one_line(&record.name),
            is_current: version.is_current(),
            types: schema.map(|schema| number::plural(schema.types().len() as u64, "type")).unwrap_or_default(),
            files: number::plural(record.files.len() as u64, "file"),
            file_names: names.join("\n") + if record.files.len() > NAMED { "\n…" } else { "" },
            size: number::bytes(record.size),
            is_from_folder: record.source == SchemaSource::Folder,
            by: text::one_line(record.uploaded_by.as_str()),
            at: Moment::new(record.uploaded_at, now),
            more_problems: problems.len().saturating_sub(ProblemView::MOST),
            problems: ProblemView::first(&problems),
            more_disagreements: disagreements.len().saturating_sub(ProblemView::MOST),
            disagreements: disagreements.into_iter().take(ProblemView::MOST).collect(),
        }
    }
}

/// The problem, where it is, and what to do.
pub struct ProblemView {
    pub place: String,
    pub what: String,
    pub remedy: String,
}

impl ProblemView {
    /// So many are shown; who mends these sees the others next.
    pub const MOST: usize = 12;

    pub fn first(problems: &[SchemaProblem]) -> Vec<Self> {
        problems.iter().take(Self::MOST).map(Self::new).collect()
    }

    fn new(problem: &SchemaProblem) -> Self {
        Self {
            place: text::one_line(&problem.place()),
            what: text::one_line(&problem.what),
            remedy: text::one_line(&problem.remedy),
        }
    }
}

pub struct MappingRow {
    /// `queue texts.*`, in words.
    pub carrier_words: &'static str,
    pub shown: String,
    pub shown_broker: String,
    pub message_type: TypeLink,
    pub is_known: bool,
    pub by: String,
    pub at: Moment,
    /// Where it is asked once more before it is removed.
    pub remove: String,
}

impl MappingRow {
    pub fn new(active: &ActiveMapping, catalogue: &Catalogue, now: Timestamp) -> Self {
        let mapping = &active.mapping;
        let broker = mapping.broker.as_deref().unwrap_or_default();
        let found_by = [("carrier", mapping.carrier.as_str()), ("pattern", &mapping.pattern), ("broker", broker)];
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(found_by).finish();
        Self {
            remove: format!("/schemas?unmap=yes&{query}"),
            shown_broker: text::one_line(broker),
            carrier_words: carrier_words(mapping.carrier),
            shown: text::one_line(&mapping.pattern),
            message_type: TypeLink::new(&mapping.message_type),
            is_known: catalogue.find(&mapping.message_type).is_some(),
            by: text::one_line(active.by.as_str()),
            at: Moment::new(active.at, now),
        }
    }
}

pub const fn carrier_words(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Queue => "queue",
        Carrier::Exchange => "exchange",
        Carrier::RoutingKey => "routing key",
    }
}

/// A field of a message.
pub struct FieldRow {
    pub number: u32,
    pub name: String,
    /// As a source would write it.
    pub kind: String,
    /// The page of the message it holds; empty for other kinds.
    pub href: String,
    /// `oneof target`, `packed`, `optional`
    pub marks: Vec<String>,
    pub is_redacted: bool,
    pub is_deprecated: bool,
    pub is_missing: bool,
    pub comment: String,
}

impl FieldRow {
    pub fn new(field: &FieldDescriptor, schema: Option<&Schema>, comments: &Comments) -> Self {
        let message = held_message(field);
        let is_missing =
            message.as_ref().is_some_and(|message| schema.is_some_and(|own| own.is_missing(message.full_name())));
        Self {
            number: field.number(),
            name: field.name().to_owned(),
            kind: type_of(field),
            href: message.filter(|_| !is_missing).map(|message| type_href(message.full_name())).unwrap_or_default(),
            marks: marks(field),
            is_redacted: has_option(&field.options(), "debug_redact"),
            is_deprecated: has_option(&field.options(), "deprecated"),
            is_missing,
            comment: comments.of(field.path()),
        }
    }
}

/// The message that a field, or the values of a map, are made of.
fn held_message(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    let Kind::Message(message) = field.kind() else { return None };
    if !field.is_map() {
        return Some(message);
    }
    match message.get_field(2)?.kind() {
        Kind::Message(value) => Some(value),
        _ => None,
    }
}

fn marks(field: &FieldDescriptor) -> Vec<String> {
    let oneof = field.containing_oneof().filter(|oneof| !is_synthetic(field, oneof.name()));
    let json = field.json_name();
    let is_usual = json == usual_json_name(field.name());
    [
        oneof.map(|oneof| format!("oneof {}", oneof.name())),
        field.is_packed().then(|| "packed".to_owned()),
        (!is_usual).then(|| format!("{} in JSON", text::one_line(json))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The oneof that stands for `optional` in proto3 (<https://protobuf.dev/programming-guides/field_presence/>).
fn is_synthetic(field: &FieldDescriptor, oneof: &str) -> bool {
    oneof.strip_prefix('_') == Some(field.name())
}

/// `userId` for `user_id`.
fn usual_json_name(name: &str) -> String {
    let mut parts = name.split('_');
    let mut usual = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        usual.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        usual.push_str(letters.as_str());
    }
    usual
}

fn has_option(options: &prost_reflect::DynamicMessage, name: &str) -> bool {
    options.get_field_by_name(name).is_some_and(|value| matches!(&*value, Value::Bool(true)))
}

/// An enum that a message uses.
pub struct EnumView {
    pub name: String,
    /// Numbers and names, in their order.
    pub values: Vec<(i32, String)>,
    /// Values that are not shown.
    pub more: usize,
}

impl EnumView {
    fn new(declared: &EnumDescriptor) -> Self {
        const MOST: usize = 200;
        let values = declared.values().take(MOST).map(|value| (value.number(), value.name().to_owned()));
        let more = declared.values().len().saturating_sub(MOST);
        Self { name: declared.full_name().to_owned(), values: values.collect(), more }
    }

    /// Those of all fields, each once.
    pub fn all(message: &MessageDescriptor) -> Vec<Self> {
        let mut enums: Vec<EnumDescriptor> = message.fields().filter_map(|field| held_enum(&field)).collect();
        enums.sort_by(|a, b| a.full_name().cmp(b.full_name()));
        enums.dedup_by(|a, b| a.full_name() == b.full_name());
        enums.iter().map(Self::new).collect()
    }
}

fn held_enum(field: &FieldDescriptor) -> Option<EnumDescriptor> {
    let kind = match field.kind() {
        Kind::Message(entry) if field.is_map() => entry.get_field(2)?.kind(),
        kind => kind,
    };
    match kind {
        Kind::Enum(declared) => Some(declared),
        _ => None,
    }
}

/// What the source says above its declarations, where the set has kept that.
pub struct Comments(HashMap<Vec<i32>, String>);

impl Comments {
    pub fn of_file(file: &FileDescriptor) -> Self {
        let locations = file.file_descriptor_proto().source_code_info.iter().flat_map(|info| &info.location);
        let comment = |location: &prost_types::source_code_info::Location| {
            let said = location.leading_comments.as_deref().or(location.trailing_comments.as_deref())?;
            Some((location.path.clone(), said.lines().map(str::trim).collect::<Vec<_>>().join(" ").trim().to_owned()))
        };
        Self(locations.filter_map(comment).collect())
    }

    pub fn of(&self, path: &[i32]) -> String {
        self.0.get(path).map(|said| text::one_line(said)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_json_names() {
        let check = |name, expected: &str| assert_eq!(usual_json_name(name), expected);
        check("user_id", "userId");
        check("a__b", "aB");
        check("url", "url");
        check("x_1y", "x1y");
    }
}

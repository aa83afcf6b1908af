//! What headers and properties let expect.

use amqp_message::field::FieldTable;

use super::{
    hints::{BodyHints, TypeHint},
    kind::Kind,
};
use crate::format::Format;

/// Headers that name a compression besides the property `content_encoding`: gRPC's, Rebus's and Celery's.
const ENCODING_HEADERS: [&str; 3] = ["grpc-encoding", "rbs2-content-encoding", "compression"];

/// Headers with the type of a CloudEvent in binary mode: the AMQP binding's two ways of writing the prefix
/// (<https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/amqp-protocol-binding.md>), Brighter's is the
/// second.
const CLOUD_EVENT_PREFIXES: [&str; 2] = ["cloudEvents:", "cloudEvents_"];

/// Names of content codings that are known but not undone.
const UNSUPPORTED: [&str; 6] = ["br", "brotli", "application/x-brotli", "compress", "snappy", "lz4"];

/// What is to be expected of a body, or of a part of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Expected {
    pub format: Option<Format>,
    /// Whether the content type is that of gRPC.
    pub grpc: bool,
    /// The declared encodings, in lower case.
    pub encodings: Vec<String>,
    pub type_hints: Vec<TypeHint>,
}

impl Expected {
    pub fn of(hints: &BodyHints) -> Self {
        let mut expected = Self::of_properties(hints.content_type, hints.content_encoding);
        let from_headers = ENCODING_HEADERS.iter().filter_map(|name| hints.headers.get_str(name));
        expected.encodings.extend(from_headers.flat_map(codings));
        expected.type_hints.extend(cloud_event(hints.headers));
        expected
    }

    pub fn of_properties(content_type: Option<&str>, content_encoding: Option<&str>) -> Self {
        let mut parts = content_type.unwrap_or_default().split(';');
        let media_type = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let type_name = parts.find_map(type_name);
        Self {
            format: format_of(&media_type),
            grpc: media_type.starts_with("application/grpc"),
            encodings: content_encoding.into_iter().flat_map(codings).collect(),
            type_hints: type_name.map(|type_name| TypeHint::ContentType { type_name }).into_iter().collect(),
        }
    }

    /// Whether one of the declared encodings is of this kind.
    pub fn declares(&self, kind: Kind) -> bool {
        self.encodings.iter().any(|coding| kinds_of(coding).contains(&kind))
    }

    /// Declared encodings that are known, but cannot be undone.
    pub fn unsupported(&self) -> impl Iterator<Item = &String> {
        self.encodings.iter().filter(|coding| UNSUPPORTED.contains(&coding.as_str()))
    }

    /// Declared encodings of which none is there.
    pub fn not_among<'a>(&'a self, there: &'a [Kind]) -> impl Iterator<Item = &'a String> {
        self.encodings.iter().filter(|coding| {
            let kinds = kinds_of(coding);
            !kinds.is_empty() && !kinds.iter().any(|kind| there.contains(kind))
        })
    }
}

fn codings(list: &str) -> impl Iterator<Item = String> {
    list.split(',').map(|coding| coding.trim().to_ascii_lowercase())
}

/// Kombu names compressions by media types. Charsets, `identity` and `binary` are of no kind.
fn kinds_of(coding: &str) -> &'static [Kind] {
    match coding {
        "gzip" | "x-gzip" | "application/gzip" | "application/x-gzip" => &[Kind::Gzip, Kind::Zlib],
        "deflate" | "zlib" | "application/zlib" => &[Kind::Zlib, Kind::RawDeflate],
        "zstd" | "application/zstd" => &[Kind::Zstd],
        "bz2" | "bzip2" | "bzip" | "application/x-bz2" | "application/x-bzip2" => &[Kind::Bzip2],
        "xz" | "lzma" | "application/x-lzma" | "application/x-xz" => &[Kind::Xz, Kind::Lzma],
        "base64" => &[Kind::Base64],
        "hex" => &[Kind::Hex],
        _ => &[],
    }
}

fn format_of(media_type: &str) -> Option<Format> {
    let subtype = media_type.split('/').nth(1)?;
    let suffix = subtype.rsplit('+').next()?;
    match suffix.trim_start_matches("x-").trim_start_matches("vnd.") {
        "json" => Some(Format::Json),
        "protobuf" | "protobuffer" | "google.protobuf" | "google-protobuf" | "proto" => Some(Format::Protobuf),
        "msgpack" => Some(Format::MessagePack),
        "cbor" => Some(Format::Cbor),
        "yaml" => Some(Format::Yaml),
        "python-serialize" | "pickle" => Some(Format::Pickle),
        "php.serialized" | "php-serialized" => Some(Format::Php),
        "java-serialized-object" => Some(Format::Java),
        "xml" => Some(Format::Text),
        _ => media_type.starts_with("text/").then_some(Format::Text),
    }
}

/// Prometheus writes `proto`, some RPC libraries write `messageType`; RFC 9996 has no such parameter.
fn type_name(parameter: &str) -> Option<String> {
    let (name, value) = parameter.split_once('=')?;
    let names_type = ["proto", "messagetype"].iter().any(|known| name.trim().eq_ignore_ascii_case(known));
    let value = value.trim().trim_matches('"');
    (names_type && !value.is_empty()).then(|| value.to_owned())
}

fn cloud_event(headers: &FieldTable) -> Option<TypeHint> {
    CLOUD_EVENT_PREFIXES.iter().find_map(|prefix| {
        let attribute = |name: &str| headers.get_str(&format!("{prefix}{name}")).map(str::to_owned);
        Some(TypeHint::CloudEvent { event_type: attribute("type")?, data_schema: attribute("dataschema") })
    })
}

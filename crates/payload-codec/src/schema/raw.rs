//! Descriptors as they stand on the wire, with options as bytes.
//!
//! The generated types of `prost-types` drop what they do not know, custom options and `debug_redact` among it. Here
//! every `options` field is left unread, and so survives as it came. Field numbers are those of `descriptor.proto`
//! (<https://github.com/protocolbuffers/protobuf/blob/main/src/google/protobuf/descriptor.proto>).

use prost::Message;

/// `FieldDescriptorProto.Type`
pub mod kind {
    pub const INT32: i32 = 5;
    pub const STRING: i32 = 9;
    pub const GROUP: i32 = 10;
    pub const MESSAGE: i32 = 11;
    pub const BYTES: i32 = 12;
    pub const ENUM: i32 = 14;
    /// The first and the last there are.
    pub const ALL: std::ops::RangeInclusive<i32> = 1..=18;
}

/// `FieldDescriptorProto.Label`
pub mod label {
    pub const OPTIONAL: i32 = 1;
    pub const REQUIRED: i32 = 2;
    pub const REPEATED: i32 = 3;
}

#[derive(Clone, PartialEq, Message)]
pub struct RawSet {
    #[prost(message, repeated, tag = "1")]
    pub file: Vec<RawFile>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawFile {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub package: Option<String>,
    #[prost(string, repeated, tag = "3")]
    pub dependency: Vec<String>,
    #[prost(message, repeated, tag = "4")]
    pub message_type: Vec<RawMessage>,
    #[prost(message, repeated, tag = "5")]
    pub enum_type: Vec<RawEnum>,
    #[prost(message, repeated, tag = "6")]
    pub service: Vec<RawService>,
    #[prost(message, repeated, tag = "7")]
    pub extension: Vec<RawField>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub options: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub source_code_info: Option<Vec<u8>>,
    #[prost(int32, repeated, packed = "false", tag = "10")]
    pub public_dependency: Vec<i32>,
    #[prost(string, optional, tag = "12")]
    pub syntax: Option<String>,
    #[prost(int32, optional, tag = "14")]
    pub edition: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawMessage {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub field: Vec<RawField>,
    #[prost(message, repeated, tag = "3")]
    pub nested_type: Vec<RawMessage>,
    #[prost(message, repeated, tag = "4")]
    pub enum_type: Vec<RawEnum>,
    #[prost(message, repeated, tag = "5")]
    pub extension_range: Vec<RawExtensionRange>,
    #[prost(message, repeated, tag = "6")]
    pub extension: Vec<RawField>,
    #[prost(bytes = "vec", optional, tag = "7")]
    pub options: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "8")]
    pub oneof_decl: Vec<RawOneof>,
    #[prost(message, repeated, tag = "9")]
    pub reserved_range: Vec<RawRange>,
    #[prost(string, repeated, tag = "10")]
    pub reserved_name: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawField {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub extendee: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub number: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub label: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub kind: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub type_name: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub default_value: Option<String>,
    #[prost(bytes = "vec", optional, tag = "8")]
    pub options: Option<Vec<u8>>,
    #[prost(int32, optional, tag = "9")]
    pub oneof_index: Option<i32>,
    #[prost(string, optional, tag = "10")]
    pub json_name: Option<String>,
    #[prost(bool, optional, tag = "17")]
    pub proto3_optional: Option<bool>,
}

impl RawField {
    pub fn is_repeated(&self) -> bool {
        self.label == Some(label::REPEATED)
    }

    /// Whether it holds a message or a group.
    pub fn is_message(&self) -> bool {
        matches!(self.kind, Some(kind::MESSAGE | kind::GROUP))
    }

    /// Whether a list of it can be packed: numbers, booleans and enums.
    pub fn is_packable(&self) -> bool {
        self.kind.is_some_and(|kind| kind != kind::STRING && kind != kind::BYTES) && !self.is_message()
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct RawOneof {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub options: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawExtensionRange {
    #[prost(int32, optional, tag = "1")]
    pub start: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub end: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub options: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawRange {
    #[prost(int32, optional, tag = "1")]
    pub start: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub end: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawEnum {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub value: Vec<RawEnumValue>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub options: Option<Vec<u8>>,
    #[prost(message, repeated, tag = "4")]
    pub reserved_range: Vec<RawRange>,
    #[prost(string, repeated, tag = "5")]
    pub reserved_name: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawEnumValue {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub number: Option<i32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub options: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawService {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub method: Vec<RawMethod>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub options: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RawMethod {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub input_type: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub output_type: Option<String>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub options: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "5")]
    pub client_streaming: Option<bool>,
    #[prost(bool, optional, tag = "6")]
    pub server_streaming: Option<bool>,
}

/// `package.Name`, or just the name where there is no scope.
pub fn join(scope: &str, name: &str) -> String {
    if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") }
}

//! What was around a payload, with all that is needed to put it around another.

use std::fmt;

use super::{
    codecs::{any::Any, base64::Base64, confluent::Confluent, data_uri::DataUri, grpc::Grpc, hex::Hex, hole::Hole},
    escaping::Escaping,
    kind::Kind,
};

/// One encoding that was undone.
#[derive(Clone, Debug, PartialEq)]
pub enum Encoding {
    /// RFC 1952.
    Gzip,
    /// RFC 1950; what HTTP calls deflate.
    Zlib,
    /// RFC 1951, without a header or a checksum; what some senders call deflate.
    RawDeflate,
    /// RFC 8878.
    Zstd,
    /// bzip2.
    Bzip2,
    /// The container of xz around LZMA2.
    Xz,
    /// LZMA with the header of 13 bytes that xz calls `alone`.
    Lzma,
    /// RFC 4648.
    Base64(Base64),
    /// Hexadecimal digits.
    Hex(Hex),
    /// RFC 2397, in base64.
    DataUri(DataUri),
    /// The whole body is one JSON string.
    JsonString(Escaping),
    /// The payload is the text of one member of a JSON object.
    JsonMember {
        /// The member's name.
        name: String,
        /// All that is around its value.
        hole: Hole,
    },
    /// A varint before each message.
    LengthDelimited,
    /// A big-endian number of 4 bytes before each message.
    LengthPrefix4,
    /// gRPC's length-prefixed messages.
    Grpc(Grpc),
    /// The wire format of Confluent's serializers.
    Confluent(Confluent),
    /// `google.protobuf.Any`.
    Any(Any),
    /// A CloudEvent in structured mode.
    CloudEvent(Hole),
    /// EasyNetQ's error message, which holds the message that failed.
    EasyNetQ(Hole),
}

impl Encoding {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Gzip => Kind::Gzip,
            Self::Zlib => Kind::Zlib,
            Self::RawDeflate => Kind::RawDeflate,
            Self::Zstd => Kind::Zstd,
            Self::Bzip2 => Kind::Bzip2,
            Self::Xz => Kind::Xz,
            Self::Lzma => Kind::Lzma,
            Self::Base64(_) => Kind::Base64,
            Self::Hex(_) => Kind::Hex,
            Self::DataUri(_) => Kind::DataUri,
            Self::JsonString(_) => Kind::JsonString,
            Self::JsonMember { .. } => Kind::JsonMember,
            Self::LengthDelimited => Kind::LengthDelimited,
            Self::LengthPrefix4 => Kind::LengthPrefix4,
            Self::Grpc(_) => Kind::Grpc,
            Self::Confluent(_) => Kind::Confluent,
            Self::Any(_) => Kind::Any,
            Self::CloudEvent(_) => Kind::CloudEvent,
            Self::EasyNetQ(_) => Kind::EasyNetQ,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

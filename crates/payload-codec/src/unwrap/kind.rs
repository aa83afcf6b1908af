//! The kinds of encodings and their names.

use std::{fmt, str::FromStr};

/// A kind of encoding, without what distinguishes one encoding of the kind from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
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
    /// RFC 4648, both alphabets.
    Base64,
    /// Hexadecimal digits.
    Hex,
    /// RFC 2397, in base64.
    DataUri,
    /// The whole body is one JSON string.
    JsonString,
    /// The payload is the text of one member of a JSON object.
    JsonMember,
    /// A varint with its length before each message.
    LengthDelimited,
    /// A big-endian length of 4 bytes before each message.
    LengthPrefix4,
    /// gRPC's length-prefixed messages.
    Grpc,
    /// The wire format of Confluent's serializers.
    Confluent,
    /// `google.protobuf.Any`.
    Any,
    /// A CloudEvent in structured mode.
    CloudEvent,
    /// EasyNetQ's error message, which holds the message that failed.
    EasyNetQ,
}

impl Kind {
    /// All kinds; those that leave no doubt come first, as looking further is then of no use.
    pub const ALL: [Self; 19] = [
        Self::Gzip,
        Self::Zlib,
        Self::Zstd,
        Self::Bzip2,
        Self::Xz,
        Self::Lzma,
        Self::EasyNetQ,
        Self::CloudEvent,
        Self::DataUri,
        Self::Any,
        Self::Grpc,
        Self::Confluent,
        Self::LengthPrefix4,
        Self::LengthDelimited,
        Self::RawDeflate,
        Self::Base64,
        Self::Hex,
        Self::JsonString,
        Self::JsonMember,
    ];

    /// The name by which the API and the pages call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zlib => "deflate",
            Self::RawDeflate => "raw-deflate",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lzma => "lzma",
            Self::Base64 => "base64",
            Self::Hex => "hex",
            Self::DataUri => "data-uri",
            Self::JsonString => "json-string",
            Self::JsonMember => "json-member",
            Self::LengthDelimited => "length-delimited",
            Self::LengthPrefix4 => "length-prefix",
            Self::Grpc => "grpc",
            Self::Confluent => "confluent",
            Self::Any => "any",
            Self::CloudEvent => "cloudevents",
            Self::EasyNetQ => "easynetq",
        }
    }

    /// Whether it compresses: compressions alone may wrap the same payload in other bytes than before.
    pub fn compresses(self) -> bool {
        matches!(self, Self::Gzip | Self::Zlib | Self::RawDeflate | Self::Zstd | Self::Bzip2 | Self::Xz | Self::Lzma)
    }

    /// Whether it does nothing but say how long the messages are.
    pub(super) fn frames(self) -> bool {
        matches!(self, Self::LengthDelimited | Self::LengthPrefix4 | Self::Grpc | Self::Confluent)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No kind of encoding has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no encoding called {:?}; there are {}", .0, names())]
pub struct UnknownKind(String);

fn names() -> String {
    Kind::ALL.map(Kind::as_str).join(", ")
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let name = name.trim();
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(name));
        kind.ok_or_else(|| UnknownKind(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        assert_eq!(" GZIP".parse(), Ok(Kind::Gzip));
        assert!("rot13".parse::<Kind>().is_err());
    }
}

//! From the bytes of a message to their meaning, and back after an edit.
//!
//! The body of a message seldom is what it seems to be: JSON in base64 in gzip, protobuf behind a length, an envelope of a
//! framework around something else. This crate finds out which and undoes it ([`unwrap`]), says which [`Format`] is
//! inside, finds the protobuf type that it most likely has among thousands ([`guess`]), and shows it as JSON
//! ([`message`], [`value`], or [`tree`] where no schema describes it). What somebody has edited in that JSON goes back into
//! a body that differs from the first one in nothing but the edit.
//!
//! ```
//! use amqp_message::field::FieldTable;
//! use payload_codec::{
//!     Format, Limits,
//!     guess::{Hints, TypeIndex},
//!     message,
//!     schema::{Schema, Source, compile},
//!     unwrap::{BodyHints, UnwrapMode, unwrap, wrap},
//! };
//!
//! // A schema from its source; `Schema::read` also takes what `protoc` and `buf` write.
//! let text = r#"syntax = "proto3"; package acme; message Order { string id = 1; uint32 items = 2; string colour = 3; }"#;
//! let source = Source { path: "orders.proto".to_owned(), text: text.to_owned() };
//! let schema = Schema::read("acme", &compile(vec![source]).unwrap()).unwrap();
//!
//! // The body does not say that it is base64 of a protobuf message.
//! let body = b"CghvcmQtMTA0MhADGgVhbWJlcg==";
//! let headers = FieldTable::default();
//! let unwrapped = unwrap(body, &BodyHints::new(&headers), &UnwrapMode::Automatic);
//! assert_eq!(unwrapped.steps[0].to_string(), "base64");
//! assert_eq!(unwrapped.format, Format::Protobuf);
//!
//! // Nor of which type it is.
//! let index = TypeIndex::new(&[schema.pool().clone()]);
//! let guess = index.guess(unwrapped.payload(), &Hints::default());
//! assert_eq!(guess.candidates[0].name.full_name, "acme.Order");
//!
//! // As JSON, edited, and in base64 again.
//! let order = schema.message("acme.Order").unwrap();
//! let limits = Limits::default();
//! let json = message::decode(unwrapped.payload(), &order, &limits).to_json(None);
//! assert_eq!(json, "{\n  \"id\": \"ord-1042\",\n  \"items\": 3,\n  \"colour\": \"amber\"\n}");
//! let edited = json.replace("amber", "green");
//! let payload = message::encode(&edited, &order, Some(unwrapped.payload()), None, &limits).unwrap();
//! assert_eq!(wrap(&[payload], &unwrapped.steps).unwrap(), b"CghvcmQtMTA0MhADGgVncmVlbg==");
//! ```
//!
//! # What holds everywhere
//! Reading never fails because of what a message brings: what cannot be read is reported and left as it is. Time and memory
//! are bounded whatever a body claims, see [`Limits`]. Writing is strict, and reports everything that is wrong at once.
//! A guess is marked as one, with its reasons; nothing is ever written by a guess unless the caller does so.
//!
//! The crate knows encodings, formats and schemas. It does not know where a message comes from, where it is stored or who
//! looks at it; all it takes from AMQP is the type of header tables.

#![warn(missing_docs)]

pub mod diff;
mod escape;
mod format;
pub mod guess;
pub mod json;
mod limits;
pub mod message;
pub mod schema;
pub mod structure;
pub mod tree;
pub mod unwrap;
pub mod value;
pub mod wire;

pub use format::Format;
pub use limits::Limits;

/// Has the example in the README tried.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Reading payloads for people, and writing them back.
//!
//! Knows wrappings, formats, protobuf descriptors and messages. It never fails at what a message brings: what cannot be
//! read is told and left as it is. It must never know where a message comes from, where it is kept or who looks at it.

pub mod diff;
pub mod escape;
pub mod format;
pub mod guess;
pub mod json;
pub mod limits;
pub mod message;
pub mod schema;
pub mod tree;
pub mod unwrap;
pub mod value;
pub mod wire;

/// Has the example in the README tried.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

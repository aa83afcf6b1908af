//! Messages as AMQP 0-9-1 carries them, and what RabbitMQ records in one when it dead-letters it.
//!
//! Header tables keep the type of each value and floating point numbers their bits, so that what came in can go out
//! again unchanged; [`json`] writes them as JSON and reads them back without loss. [`xdeath`] reads the dead-letter
//! history. Nothing here does I/O or asks for the time.

pub mod death;
pub mod error_report;
pub mod field;
pub mod glob;
pub mod json;
pub mod message;
pub mod time;
pub mod words;
pub mod xdeath;

/// Has the example in the README tried.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

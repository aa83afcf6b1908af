#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod death;
pub mod error_report;
pub mod field;
pub mod glob;
pub mod json;
pub mod message;
pub mod scalar;
pub mod time;
pub mod words;
pub mod xdeath;

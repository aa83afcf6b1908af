#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod candidates;
mod contrast;
mod document;
mod document_set;
mod fisher;

pub use candidates::{Condition, Measure};
pub use contrast::{Contrast, Options, contrasts};
pub use document::{Document, Fact};

//! What a message says: of which type it is, and its payload as people read it.
//!
//! A message is looked at together with all that is known of it ([`request`]), by the schemas and mappings in force
//! ([`catalogue`], [`reading`]).

pub mod catalogue;
#[cfg(test)]
mod catalogue_tests;
pub mod confirmed;
pub mod reader;
pub mod reading;
pub mod request;

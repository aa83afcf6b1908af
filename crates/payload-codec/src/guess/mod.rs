//! Finds the type of a protobuf message among all uploaded ones, from its bytes alone.
//!
//! Many types can read a body; the question is which of them would have written it. Each is scored by the probability of
//! writing just these bytes: by what the values look like in fields of these names and kinds, and by which of its fields
//! are there (`likelihood`). Types that no body can tell apart are scored once (`schema`), types that the field numbers
//! rule out not at all (`columns`). What is known beforehand, from the address and its history, is added (`prior`), and
//! the hypothesis that the type was never uploaded competes (`posterior`).
//!
//! It knows descriptors and the wire format. It knows nothing of envelopes, stores or the broker, and decides nothing: a
//! guess is a guess, with its reasons.

mod alone;
mod answer;
mod bits;
mod columns;
mod evidence;
mod explain;
mod index;
mod joint;
mod likelihood;
mod look;
mod names;
mod posterior;
mod prior;
mod schema;
mod search;
mod sheet;
mod spread;

pub use answer::{Candidate, Guess, Hints, TypeName};
pub use evidence::{Declaration, Evidence, FieldName};
pub use index::TypeIndex;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;

//! What a field's name lets one expect of its value.
//!
//! It knows words of the trade, in English, and nothing of any one set of descriptors.

mod number;
mod text;
mod words;

pub(super) use number::NumberMeaning;
pub(super) use text::TextMeaning;
pub(super) use words::words;

#[cfg(test)]
mod tests;

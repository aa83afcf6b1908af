//! Searches: the index that they are answered from, and the condition that they are in SQL.

mod among;
mod common;
mod condition;
pub(crate) mod counts;
mod expression;
pub(crate) mod found;
mod fragment;
pub(crate) mod index;
pub(crate) mod plan;

pub use index::ToIndex;

//! Python's pickle, protocols 0 to 5, by its opcodes
//! (<https://github.com/python/cpython/blob/main/Lib/pickletools.py>).
//!
//! A pickle is a program for a stack machine that builds values and calls functions. This machine builds only: a call
//! becomes a value that names what would be called.

mod machine;
mod number;
mod show;
mod value;

use machine::Machine;

use super::Unreadable;
use crate::{json::Node, limits::Limits};

/// From protocol 2 on it says its protocol; before, nothing tells it from text but that it can be read.
pub(super) fn looks_so(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80, 0..=5, ..]) && bytes.last() == Some(&b'.')
        || matches!(bytes, [b'(' | b'c' | b']' | b'}', .., b'.'])
}

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Node<'static>, Unreadable> {
    let (values, root) = Machine::new(bytes, limits).run()?;
    show::show(&values, root, bytes.len(), limits)
}

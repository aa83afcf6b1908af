//! Takes hidden values back.

use super::Encoder;
use crate::{
    json::Node,
    message::{mask::MASK, render::Hidden},
};

/// What was hidden in the original.
pub(super) struct HiddenValues<'t> {
    /// Whether the JSON was shown with masks, so that a mark is no text.
    pub is_masked: bool,
    /// In the order of the marks' numbers.
    pub values: Vec<Hidden<'t>>,
}

impl<'t> HiddenValues<'t> {
    /// The number of a mark.
    fn mark(&self, node: &Node<'_>) -> Option<usize> {
        let number = node.as_text()?.strip_prefix(MASK)?.parse().ok()?;
        self.is_masked.then_some(number)
    }

    fn value(&self, mark: usize) -> Option<&Hidden<'t>> {
        self.values.get(mark.checked_sub(1)?)
    }
}

impl Encoder<'_> {
    /// The bytes that a mark stands for, with their tags; `None` if it is no mark.
    ///
    /// A mark in the place of another field would show there what is to be hidden.
    pub(super) fn unhidden(&mut self, node: &Node<'_>) -> Option<Vec<u8>> {
        let mark = self.hidden.mark(node)?;
        let reason = match self.hidden.value(mark) {
            Some(hidden) if hidden.path == self.names.text => return Some(hidden.wire.concat()),
            Some(hidden) => {
                format!("this mark stands for the hidden value of {} and can be used only there", hidden.path)
            }
            None => "no hidden value has this mark".to_owned(),
        };
        self.problem(node.at, reason);
        Some(Vec::new())
    }

    /// Notes it where a mark would be taken for a text.
    pub(super) fn refuses_mark(&mut self, node: &Node<'_>) -> bool {
        let is_mark = self.hidden.mark(node).is_some();
        if is_mark {
            self.problem(node.at, "this mark stands for a hidden value and cannot be used here");
        }
        is_mark
    }
}

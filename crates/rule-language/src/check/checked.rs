//! What comes of checking a step.

use crate::{
    mistake::Slip,
    node::{Kind, Literal, Node},
    syntax::Token,
};

/// A step that was checked, what it comes to, and the token that stands for it.
pub(super) struct Checked {
    pub node: Node,
    pub kind: Kind,
    pub token: Token,
}

impl Checked {
    pub(super) fn new(node: Node, kind: Kind, token: Token) -> Option<Self> {
        Some(Self { node, kind, token })
    }

    pub(super) fn literal(literal: Literal, token: Token) -> Option<Self> {
        let kind = literal.kind();
        Self::new(Node::Literal(literal), kind, token)
    }
}

/// The mistakes that were found.
#[derive(Default)]
pub(super) struct Slips(Vec<Slip>);

impl Slips {
    /// Always `None`, which stands for a step that has a mistake.
    pub(super) fn note<T>(&mut self, token: Token, message: impl Into<String>) -> Option<T> {
        self.0.push(token.slip(message));
        None
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_vec(self) -> Vec<Slip> {
        self.0
    }
}

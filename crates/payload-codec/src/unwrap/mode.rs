//! Which encodings are to be undone.

use super::kind::Kind;

/// Which encodings to undo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UnwrapMode {
    /// Those that are found.
    #[default]
    Automatic,
    /// Those that are found, but no more than this many.
    AtMost(usize),
    /// Exactly these, the outermost first, however unlikely they look.
    Exactly(Vec<Kind>),
}

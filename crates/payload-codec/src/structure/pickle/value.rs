//! What a pickle builds.

use std::borrow::Cow;

/// A value, by its place among all.
pub(super) type Ref = usize;

/// Containers change after others have come to refer to them.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    None,
    Bool(bool),
    /// In digits; the longest integers are text.
    Number(String),
    Float(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    /// Tuples, too.
    List(Vec<Ref>),
    Set(Vec<Ref>),
    Dict(Vec<(Ref, Ref)>),
    /// `module.name`
    Global(String),
    Call {
        callee: Ref,
        args: Ref,
        keywords: Option<Ref>,
        items: Vec<Ref>,
        pairs: Vec<(Ref, Ref)>,
        state: Option<Ref>,
    },
    /// What stands outside of the pickle.
    Outside(Ref),
}

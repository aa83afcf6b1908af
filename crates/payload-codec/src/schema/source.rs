//! A `.proto` source.

/// A source under the path by which others import it, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// With slashes; relative to the root of all imports, or as much of it as is known.
    pub path: String,
    /// The whole file.
    pub text: String,
}

//! Data that languages serialize with their own means, and YAML, as JSON to be read.
//!
//! None of it is ever executed: no class is looked up, no function called, no alias expanded without end. What a payload
//! asks for beyond values is shown as an object of one member whose key begins with `#`, or has such a member first:
//!
//! | JSON | stands for |
//! | --- | --- |
//! | `{"#base64": "…"}` | bytes |
//! | `{"#class": "module.Name", …}` | an object of that class, with its fields |
//! | `{"#call": "module.name", "args": […]}` | what a pickle would call, with its arguments |
//! | `{"#set": […]}` | a set |
//! | `{"#float": "NaN"}` | a number that is not finite |
//! | `{"#reference": …}` | a value that stands elsewhere, or around this one |
//!
//! These forms cannot be written back.

mod budget;
mod java;
mod php;
mod pickle;
mod yaml;

#[cfg(test)]
mod tests;

use super::{json::Node, limits::Limits};

/// What is read so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// <https://yaml.org/spec/1.2.2/>, one document.
    Yaml,
    /// Python's, protocols 0 to 5.
    Pickle,
    /// What PHP's `serialize` writes.
    Php,
    /// Java's object serialization, version 5.
    Java,
}

/// Why a payload cannot be shown.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unreadable {
    /// It is beyond the limits: its size, its values or their depth.
    #[error("there is too much of it, or it is nested too deep")]
    TooMuch,
    /// It is not of this format; why.
    #[error("{0}")]
    Malformed(String),
}

/// What `bytes` say, in JSON over several lines.
///
/// # Errors
/// When they are not of this format to the end, or beyond the limits.
pub fn to_json(bytes: &[u8], format: Format, limits: &Limits) -> Result<String, Unreadable> {
    read(bytes, format, limits).map(|node| node.to_string())
}

/// What `bytes` say.
///
/// # Errors
/// When they are not of this format to the end, or beyond the limits.
pub fn read(bytes: &[u8], format: Format, limits: &Limits) -> Result<Node<'static>, Unreadable> {
    if bytes.len() > limits.bytes {
        return Err(Unreadable::TooMuch);
    }
    match format {
        Format::Yaml => yaml::read(bytes, limits),
        Format::Pickle => pickle::read(bytes, limits),
        Format::Php => php::read(bytes, limits),
        Format::Java => java::read(bytes, limits),
    }
}

/// Whether a payload begins as one of this format has to.
pub(crate) fn looks_like(bytes: &[u8], format: Format) -> bool {
    match format {
        Format::Yaml => yaml::looks_so(bytes),
        Format::Pickle => pickle::looks_so(bytes),
        Format::Php => php::looks_so(bytes),
        Format::Java => java::looks_so(bytes),
    }
}

fn malformed<T>(why: impl Into<String>) -> Result<T, Unreadable> {
    Err(Unreadable::Malformed(why.into()))
}

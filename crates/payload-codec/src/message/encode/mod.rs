//! Edited JSON back to bytes, checked strictly: all that is wrong is reported at once.

mod collections;
mod fields;
mod hidden;
mod message;
mod reserved;
mod scalar;
mod suggest;
mod text_forms;
mod twin;
mod well_known;

use std::fmt::{self, Display};

use prost_reflect::MessageDescriptor;

use hidden::HiddenValues;
use twin::Twin;

use super::{mask::Masks, notes::Path, render};
use crate::{
    json::{self, Position, Positions},
    limits::Limits,
};

/// So many values of JSON stand for one element at most: a field of a group that is unknown.
const NODES_PER_ELEMENT: usize = 8;

/// Levels of arrays and objects. Messages of 100 levels, all of them in lists, around groups of 100 levels take 400.
const MAX_JSON_DEPTH: usize = 512;

/// More are not reported: nobody reads them.
const MAX_PROBLEMS: usize = 500;

/// Something in the JSON that cannot be written as a message of the type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EncodeProblem {
    /// Where in the JSON it stands.
    pub position: Position,
    /// Names as in the schema, such as `items[2].price`; empty for the message itself.
    pub path: String,
    /// In plain words.
    pub reason: String,
}

/// `3:14: items[2].price: …`
impl Display for EncodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.position.line, self.position.column)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.reason)
    }
}

/// Writes `text` as a message of the type that `descriptor` describes.
///
/// With the `original` that was edited, whatever has not been changed keeps its very bytes, and fields stand in the
/// order of the JSON; without it they stand in the order of their numbers. `masks` are those the original was shown
/// with; a mark that is still there takes back the bytes it stands for.
///
/// # Errors
/// Everything that is wrong, up to 500 problems, in the order of the text.
pub fn encode(
    text: &str,
    descriptor: &MessageDescriptor,
    original: Option<&[u8]>,
    masks: Option<&Masks>,
    limits: &Limits,
) -> Result<Vec<u8>, Vec<EncodeProblem>> {
    let alone = |at, reason| vec![EncodeProblem { position: Position::of(text, at), path: String::new(), reason }];
    let max_nodes = limits.elements.saturating_mul(NODES_PER_ELEMENT);
    let node = json::read(text, max_nodes, MAX_JSON_DEPTH).map_err(|error| alone(error.at, error.reason))?;
    let is_masked = masks.is_some();
    let Some(body) = original else {
        let hidden = HiddenValues { is_masked, values: Vec::new() };
        return Encoder::new(&hidden, limits, true).run(text, descriptor, &node, None);
    };
    let decoded = super::decode(body, descriptor, limits);
    if decoded.truncated {
        return Err(alone(0, "the payload has more than can be edited".to_owned()));
    }
    let rendered = render::render(&decoded.message, masks);
    if rendered.node == node {
        return Ok(body.to_vec());
    }
    let twin = Twin { message: &decoded.message, node: &rendered.node };
    let hidden = HiddenValues { is_masked, values: rendered.hidden };
    Encoder::new(&hidden, limits, false).run(text, descriptor, &node, Some(twin))
}

struct Encoder<'h> {
    hidden: &'h HiddenValues<'h>,
    is_by_number: bool,
    max_depth: usize,
    /// How many messages are around what is written.
    depth: usize,
    /// With indexes and keys, as problems report it.
    path: Path,
    /// Names only, as hidden values know their place.
    names: Path,
    problems: Vec<Found>,
}

/// A problem and its offset in the text.
struct Found {
    at: usize,
    path: String,
    reason: String,
}

impl<'h> Encoder<'h> {
    fn new(hidden: &'h HiddenValues<'h>, limits: &Limits, is_by_number: bool) -> Self {
        Self {
            hidden,
            is_by_number,
            max_depth: limits.depth,
            depth: 0,
            path: Path::default(),
            names: Path::default(),
            problems: Vec::new(),
        }
    }

    fn run(
        mut self,
        text: &str,
        descriptor: &MessageDescriptor,
        node: &json::Node<'_>,
        twin: Option<Twin<'_>>,
    ) -> Result<Vec<u8>, Vec<EncodeProblem>> {
        let bytes = self.message(descriptor, node, twin);
        if self.problems.is_empty() {
            return Ok(bytes);
        }
        self.problems.sort_by_key(|found| found.at);
        let mut positions = Positions::new(text);
        let problems = self.problems.into_iter().map(|found| EncodeProblem {
            position: positions.at(found.at),
            path: found.path,
            reason: found.reason,
        });
        Err(problems.collect())
    }

    fn problem(&mut self, at: usize, reason: impl Into<String>) {
        if !self.is_full() {
            self.problems.push(Found { at, path: self.path.text.clone(), reason: reason.into() });
        }
    }

    /// Whether there are so many problems that looking for more is of no use.
    fn is_full(&self) -> bool {
        self.problems.len() >= MAX_PROBLEMS
    }

    /// Does something one level deeper, unless that is too deep.
    fn deeper(&mut self, at: usize, work: impl FnOnce(&mut Self) -> Vec<u8>) -> Vec<u8> {
        if self.depth >= self.max_depth {
            self.problem(at, format!("this nests deeper than {} levels", self.max_depth));
            return Vec::new();
        }
        self.depth = self.depth.saturating_add(1);
        let done = work(self);
        self.depth = self.depth.saturating_sub(1);
        done
    }

    /// The value, or `None` after the problem has been noted.
    fn noted<T>(&mut self, at: usize, result: Result<T, String>) -> Option<T> {
        result.map_err(|reason| self.problem(at, reason)).ok()
    }

    /// Does something within a field.
    fn within<T>(&mut self, name: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let (path, names) = (self.path.enter(name), self.names.enter(name));
        let done = work(self);
        self.path.leave(path);
        self.names.leave(names);
        done
    }
}

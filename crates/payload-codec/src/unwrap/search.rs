//! The search for the likeliest encodings.
//!
//! Partly unwrapped bodies are nodes of a tree. Each node can be read in some formats, which are hypotheses about the
//! whole body, and unwrapped further, which makes more nodes.

use std::borrow::Cow;

use super::{
    Unwrapped,
    bounds::{Allowance, MAX_NODES, MAX_STEPS},
    codecs::Decoded,
    encoding::Encoding,
    evidence::Expected,
    hints::{BodyHints, Known, TypeHint},
    kind::Kind,
    mode::UnwrapMode,
    node::Node,
    problem::Problem,
    undo::undo,
};
use crate::format::{Format, Reading, readings};

/// Nats that a format is likelier if the content type names it.
const DECLARED_FORMAT: f64 = 8.0;

/// Nats that an encoding is likelier if a declared encoding is of its kind.
const DECLARED_ENCODING: f64 = 8.0;

/// How much less sure to be than the prices say: they come from estimates.
const TEMPERATURE: f64 = 1.5;

/// Undoes the encodings of a message body and says what is inside.
///
/// It never fails. A body that nothing is known about is its own payload, as binary.
pub fn unwrap(body: &[u8], hints: &BodyHints, mode: &UnwrapMode) -> Unwrapped {
    let mut search = Search::new(body, hints);
    let best = match mode {
        UnwrapMode::Automatic => {
            search.expand_all();
            search.best()
        }
        UnwrapMode::AtMost(n) => {
            search.expand_all();
            let best = search.best();
            search.up_to(best, *n)
        }
        UnwrapMode::Exactly(kinds) => search.follow(kinds),
    };
    search.outcome(best)
}

/// A node read in a format.
#[derive(Clone, Copy)]
struct Hypothesis {
    node: usize,
    format: Format,
    nats: f64,
}

struct Search<'a> {
    nodes: Vec<Node<'a>>,
    hypotheses: Vec<Hypothesis>,
    allowance: Allowance,
    known: Option<Known<'a>>,
}

impl<'a> Search<'a> {
    fn new(body: &'a [u8], hints: &BodyHints<'a>) -> Self {
        let root = Node::root(body, Expected::of(hints));
        Self { nodes: vec![root], hypotheses: Vec::new(), allowance: Allowance::new(), known: hints.known }
    }

    fn expand_all(&mut self) {
        let mut next = 0;
        while next < self.nodes.len() {
            if !self.unwrap_further(next) {
                self.read(next);
            }
            next += 1;
        }
    }

    /// Adds a node for each encoding that can be undone; whether one of them leaves no doubt.
    fn unwrap_further(&mut self, at: usize) -> bool {
        let node = &self.nodes[at];
        if node.is_empty() {
            return false;
        }
        let last = node.last_kind();
        for kind in Kind::ALL.into_iter().filter(|kind| may_follow(last, *kind)) {
            let Some(decoded) = self.try_kind(at, kind) else { continue };
            if self.nodes[at].n_steps >= MAX_STEPS || self.nodes.len() >= MAX_NODES {
                self.nodes[at].problems.push(Problem::TooDeep);
                return false;
            }
            let is_certain = decoded.is_certain;
            self.add(at, decoded);
            if is_certain {
                return true;
            }
        }
        false
    }

    fn try_kind(&mut self, at: usize, kind: Kind) -> Option<Decoded<Encoding>> {
        let node = self.nodes.get_mut(at)?;
        let [payload] = node.payloads.as_slice() else { return None };
        match undo(kind, payload, &node.expected, &self.allowance) {
            Ok(decoded) => decoded,
            Err(problem) => {
                if !node.problems.contains(&problem) {
                    node.problems.push(problem);
                }
                None
            }
        }
    }

    fn add(&mut self, from: usize, decoded: Decoded<Encoding>) -> usize {
        let parent = &self.nodes[from];
        let n_before: usize = parent.payloads.iter().map(|payload| payload.len()).sum();
        let n_after: usize = decoded.payloads.iter().map(Vec::len).sum();
        self.allowance.spend(n_after);
        let kind = decoded.manner.kind();
        let ratio = if kind.compresses() { n_before as f64 / n_after.max(1) as f64 } else { 1.0 };
        let declared = if parent.expected.declares(kind) { DECLARED_ENCODING } else { 0.0 };
        let node = Node {
            n_steps: parent.n_steps + 1,
            payloads: decoded.payloads.into_iter().map(Cow::Owned).collect(),
            nats: parent.nats + parent.scale * (decoded.nats - declared),
            scale: parent.scale * ratio.min(1.0),
            formats: decoded.formats.or(parent.formats),
            expected: decoded.expected.map_or_else(|| parent.expected.clone(), Cow::Owned),
            problems: decoded.is_irregular.then_some(Problem::Irregular(kind)).into_iter().collect(),
            origin: Some((from, decoded.manner)),
        };
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Adds a hypothesis for each format in which all payloads of a node can be read.
    fn read(&mut self, at: usize) {
        let node = &self.nodes[at];
        let expects = node.expected.format.filter(|format| *format != Format::Text || node.n_steps == 0);
        let mut sums: Vec<Reading> = self.readings(&node.payloads[0], expects);
        for payload in node.payloads.iter().skip(1) {
            let more = self.readings(payload, expects);
            sums.retain_mut(|sum| {
                let reading = more.iter().find(|reading| reading.format == sum.format);
                reading.inspect(|reading| sum.nats += reading.nats).is_some()
            });
        }
        let allowed = sums.into_iter().filter(|sum| node.formats.is_none_or(|formats| formats.contains(&sum.format)));
        let hypotheses = allowed.map(|Reading { format, nats }| {
            let declared = if expects == Some(format) { DECLARED_FORMAT } else { 0.0 };
            let nats = node.nats + node.scale * nats + node.odd(format) - declared;
            Hypothesis { node: at, format, nats }
        });
        self.hypotheses.extend(hypotheses);
    }

    fn readings(&self, payload: &[u8], expects: Option<Format>) -> Vec<Reading> {
        let mut readings = readings(payload, expects);
        // No bytes are a message of every type.
        if let Some(known) = self.known.filter(|_| !payload.is_empty()) {
            let protobuf = readings.iter_mut().find(|reading| reading.format == Format::Protobuf);
            if let Some((reading, saved)) = protobuf.and_then(|reading| Some((reading, known(payload)?))) {
                reading.nats -= saved.max(0.0);
            }
        }
        readings
    }

    fn best(&self) -> Hypothesis {
        let cheapest = self.hypotheses.iter().min_by(|a, b| a.nats.total_cmp(&b.nats));
        cheapest.copied().unwrap_or(Hypothesis { node: 0, format: Format::Binary, nats: 0.0 })
    }

    /// The best reading of the node `n` steps from the start on the way to `found`.
    fn up_to(&mut self, found: Hypothesis, n: usize) -> Hypothesis {
        let mut at = found.node;
        while self.nodes[at].n_steps > n
            && let Some((parent, _)) = self.nodes[at].origin
        {
            at = parent;
        }
        if at == found.node {
            return found;
        }
        self.read_alone(at)
    }

    /// Undoes these and no others.
    fn follow(&mut self, kinds: &[Kind]) -> Hypothesis {
        let mut at = 0;
        for kind in kinds {
            match self.try_kind(at, *kind) {
                Some(decoded) => at = self.add(at, decoded),
                None => {
                    let problems = &mut self.nodes[at].problems;
                    if !problems.iter().any(|problem| problem.not_undone() == Some(*kind)) {
                        problems.push(Problem::NotWrappedSo(*kind));
                    }
                    break;
                }
            }
        }
        self.read_alone(at)
    }

    /// The best reading of one node, whatever else there is.
    fn read_alone(&mut self, at: usize) -> Hypothesis {
        self.hypotheses.clear();
        self.nodes[at].formats = None;
        self.read(at);
        self.best()
    }

    fn outcome(mut self, found: Hypothesis) -> Unwrapped {
        let sureness = self.sureness(found);
        let mut path = vec![found.node];
        while let Some((parent, _)) = path.last().and_then(|at| self.nodes[*at].origin.as_ref()) {
            path.push(*parent);
        }
        path.reverse();
        let problems = path.iter().flat_map(|at| self.nodes[*at].problems.clone()).collect();
        let steps: Vec<Encoding> =
            path.iter().filter_map(|at| Some(self.nodes[*at].origin.as_ref()?.1.clone())).collect();
        let type_hints = type_hints(&steps, &self.nodes[found.node].expected);
        let payloads = std::mem::take(&mut self.nodes[found.node].payloads);
        let mut unwrapped = Unwrapped {
            payloads: payloads.into_iter().map(Cow::into_owned).collect(),
            format: found.format,
            sureness,
            type_hints,
            problems,
            steps,
        };
        self.compare_with_hints(&mut unwrapped);
        unwrapped
    }

    fn sureness(&self, found: Hypothesis) -> f64 {
        let weight = |nats: f64| ((found.nats - nats) / TEMPERATURE).exp();
        let total: f64 = self.hypotheses.iter().map(|hypothesis| weight(hypothesis.nats)).sum();
        1.0 / total.max(1.0)
    }

    fn compare_with_hints(&self, unwrapped: &mut Unwrapped) {
        let not_undone = unwrapped.problems.iter().filter_map(Problem::not_undone);
        let there: Vec<Kind> = unwrapped.steps.iter().map(Encoding::kind).chain(not_undone).collect();
        let expected = &self.nodes[0].expected;
        unwrapped.problems.extend(expected.unsupported().cloned().map(Problem::Unsupported));
        unwrapped.problems.extend(expected.not_among(&there).cloned().map(Problem::NotAsDeclared));
    }
}

/// Lengths before lengths are not met, and what is in an `Any` is a message.
fn may_follow(last: Option<Kind>, kind: Kind) -> bool {
    match last {
        Some(Kind::Any) => kind == Kind::Any,
        Some(last) if last.frames() => kind.compresses() || kind == Kind::Any,
        _ => true,
    }
}

/// The most immediate first: what stands around the payload, then what the hints and envelopes say of it.
fn type_hints(steps: &[Encoding], expected: &Expected) -> Vec<TypeHint> {
    let around = steps.iter().rev().filter_map(|step| match step {
        Encoding::Any(any) => Some(TypeHint::Any { type_name: any.type_name().to_owned() }),
        Encoding::Confluent(confluent) => {
            let (schema_id, indexes) = (confluent.schema_id, confluent.indexes.clone());
            Some(TypeHint::Confluent { schema_id, indexes })
        }
        _ => None,
    });
    around.chain(expected.type_hints.iter().cloned()).collect()
}

//! The encodings around a payload, step by step.

use payload_codec::unwrap::Kind;

use crate::{
    services::decoding::reading::Reading,
    web::query::payload::{Chain, PayloadQuery},
};

/// One encoding that was undone.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    pub label: &'static str,
    /// The payload as it is before this step.
    pub href: String,
}

#[derive(Debug)]
pub struct Encodings {
    pub steps: Vec<Step>,
    /// The form for another chain: what is undone now, or `none`.
    pub text: String,
    /// Back to what is found without being told; empty where nothing was given.
    pub automatic: String,
    /// To choose from.
    pub known: Vec<&'static str>,
}

impl Encodings {
    /// `base` is the address of the letter.
    pub fn new(reading: &Reading, query: &PayloadQuery, base: &str) -> Self {
        let kinds: Vec<Kind> = reading.unwrapped.steps.iter().map(|step| step.kind()).collect();
        let before = |n: usize| {
            let chain = Chain(kinds.iter().take(n).copied().collect());
            PayloadQuery { form: None, encoding: Some(chain) }.href(base)
        };
        let steps = kinds.iter().enumerate().map(|(n, kind)| Step { label: kind.as_str(), href: before(n) });
        let is_told = query.encoding.is_some();
        Self {
            steps: steps.collect(),
            automatic: if is_told { PayloadQuery::default().href(base) } else { String::new() },
            known: Kind::ALL.iter().map(|kind| kind.as_str()).collect(),
            text: Chain(kinds).to_string(),
        }
    }
}

//! Hiding fields of payloads that no schema describes, by their names.

use payload_codec::{
    json::{Kind, Node},
    message::MASK,
};
use wildmatch::WildMatch;

/// Patterns of names and paths of fields, with `*` and `?`.
pub(crate) struct Names(Vec<WildMatch>);

impl Names {
    pub fn new(patterns: &[String]) -> Self {
        Self(patterns.iter().map(|pattern| WildMatch::new(pattern)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the values of matching members, at any depth, and says whether there were any. A path has no indexes.
    pub fn hide(&self, node: &mut Node<'_>) -> bool {
        !self.is_empty() && self.hide_in(node, &mut String::new())
    }

    fn hide_in(&self, node: &mut Node<'_>, path: &mut String) -> bool {
        let mut hides = false;
        match &mut node.kind {
            Kind::Array(nodes) => {
                for node in nodes {
                    hides |= self.hide_in(node, path);
                }
            }
            Kind::Object(members) => {
                for member in members {
                    let outer = path.len();
                    if outer > 0 {
                        path.push('.');
                    }
                    path.push_str(&member.key);
                    if self.0.iter().any(|pattern| pattern.matches(&member.key) || pattern.matches(path)) {
                        member.value = Node::text(MASK);
                        hides = true;
                    } else {
                        hides |= self.hide_in(&mut member.value, path);
                    }
                    path.truncate(outer);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
        }
        hides
    }
}

//! What of an edited payload is as it was.

use std::collections::{HashMap, VecDeque};

use super::{
    item::{Item, Kind},
    marks::{self, MAX_EXACT, Number},
    show::{key_text, to_json},
};
use crate::json::{self, Member, Node};

/// The number of a tag that JSON writes.
pub(super) fn as_tag(members: &[Member<'_>]) -> Option<u64> {
    let [member] = members else { return None };
    let [tag, _] = marks::two(&member.value, "tag", "value").ok().filter(|_| member.key == "#tag")?;
    marks::integer(tag).ok()
}

/// Whether JSON says what stands there. Other programs write 1.0 as 1.
pub(super) fn is_same(kind: &Kind<'_>, node: &Node<'_>) -> bool {
    match (kind, &node.kind) {
        (Kind::Null, json::Kind::Null) => true,
        (Kind::Bool(old), json::Kind::Bool(new)) => old == new,
        (Kind::Text(old), json::Kind::Text(new)) => old == new,
        (Kind::Int(old), json::Kind::Number(digits)) => match marks::number(digits, 0) {
            Ok(Number::Integer(new)) => *old == new,
            Ok(Number::Double(new)) => old.abs() <= MAX_EXACT && *old as f64 == new,
            Err(_) => false,
        },
        (Kind::Float(old), json::Kind::Number(digits)) => match marks::number(digits, 0) {
            // Zero has no sign there.
            Ok(Number::Integer(new)) => new.abs() <= MAX_EXACT && old.shown() == new as f64,
            Ok(Number::Double(new)) => old.shown().to_bits() == new.to_bits(),
            Err(_) => false,
        },
        (Kind::Array(items), json::Kind::Array(nodes)) => {
            items.len() == nodes.len() && items.iter().zip(nodes).all(|(item, node)| is_same(&item.kind, node))
        }
        (Kind::Map(pairs), json::Kind::Object(members)) => {
            pairs.len() == members.len()
                && pairs
                    .iter()
                    .zip(members)
                    .all(|((key, value), member)| key_text(key) == member.key && is_same(&value.kind, &member.value))
        }
        (Kind::Tag(_, inner), json::Kind::Object(members)) => as_tag(members).is_some_and(|tag| {
            matches!(kind, Kind::Tag(old, _) if *old == tag)
                && members.first().and_then(|member| member.value.as_object()).is_some_and(|parts| {
                    parts.iter().any(|part| part.key == "value" && is_same(&inner.kind, &part.value))
                })
        }),
        (
            Kind::Float(_) | Kind::NotText(_) | Kind::Bytes(_) | Kind::Ext(..) | Kind::Simple(_),
            json::Kind::Object(_),
        ) => to_json(kind) == *node,
        _ => false,
    }
}

/// For each of the elements the one that it was before, or one that it may be like.
pub(super) fn align<'i, 'a>(nodes: &[Node<'_>], items: &'i [Item<'a>]) -> Vec<Option<&'i Item<'a>>> {
    if nodes.len() == items.len() {
        return items.iter().map(Some).collect();
    }
    let n_start = nodes.iter().zip(items).take_while(|(node, item)| is_same(&item.kind, node)).count();
    let (nodes_left, items_left) = (nodes.get(n_start..).unwrap_or_default(), items.get(n_start..).unwrap_or_default());
    let backwards = nodes_left.iter().rev().zip(items_left.iter().rev());
    let n_end = backwards.take_while(|(node, item)| is_same(&item.kind, node)).count();
    let middle = items_left.get(..items_left.len() - n_end).unwrap_or_default();
    let n_middle = nodes_left.len() - n_end;
    let mut by_text: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (at, item) in middle.iter().enumerate() {
        by_text.entry(to_json(&item.kind).to_string()).or_default().push_back(at);
    }
    let mut found: Vec<Option<usize>> = Vec::with_capacity(n_middle);
    for node in nodes_left.iter().take(n_middle) {
        found.push(by_text.get_mut(&node.to_string()).and_then(VecDeque::pop_front));
    }
    let mut unused = by_text.into_values().flatten().collect::<Vec<_>>();
    unused.sort_unstable();
    let mut unused = unused.into_iter();
    let any = items.first();
    let in_middle = found.into_iter().map(|at| at.or_else(|| unused.next()).and_then(|at| middle.get(at)).or(any));
    let end = items_left.get(items_left.len() - n_end..).unwrap_or_default();
    items.iter().take(n_start).map(Some).chain(in_middle).chain(end.iter().map(Some)).collect()
}

//! A payload with other values in some places.
//!
//! What says the same as before is copied byte for byte; only what was changed is written anew, in the type, the width
//! and the manner of what stood there. What has no such form is refused.

use std::collections::{HashMap, VecDeque};

use super::{
    Codec, Container,
    item::{Float, Item, Kind},
    marks::{self, MAX_EXACT, Number, Wrong},
    same::{align, as_tag, is_same},
    show::key_text,
};
use crate::json::{self, Member, Node};

/// Writes values, with the payload as it was at hand.
pub(super) struct Patch<'b> {
    body: &'b [u8],
    out: Vec<u8>,
}

impl<'b> Patch<'b> {
    pub fn new(body: &'b [u8]) -> Self {
        Self { body, out: Vec::with_capacity(body.len()) }
    }

    /// `node` in the place of the whole payload, which `item` is.
    pub fn whole<C: Codec>(mut self, item: &Item<'_>, node: &Node<'_>) -> Result<Vec<u8>, Wrong> {
        self.value::<C>(node, Some(item))?;
        let behind = self.body.get(item.span.end..).unwrap_or_default();
        self.out.extend(behind);
        Ok(self.out)
    }

    /// `like` is what stood there, or what stands beside it.
    fn value<C: Codec>(&mut self, node: &Node<'_>, like: Option<&Item<'_>>) -> Result<(), Wrong> {
        match (like.map(|item| &item.kind), &node.kind) {
            (Some(Kind::Array(items)), json::Kind::Array(nodes)) => self.array::<C>(nodes, like, items),
            (Some(Kind::Map(pairs)), json::Kind::Object(members)) if !is_mark(members, pairs) => {
                self.map::<C>(members, like, pairs)
            }
            (Some(Kind::Tag(tag, inner)), json::Kind::Object(members)) if as_tag(members) == Some(*tag) => {
                let [_, value] = marks::two(&members[0].value, "tag", "value")?;
                self.copy_head(like);
                self.value::<C>(value, Some(inner))
            }
            (Some(kind), _) if is_same(kind, node) => {
                let bytes = like.and_then(|item| self.body.get(item.span.clone()));
                self.out.extend(bytes.unwrap_or_default());
                Ok(())
            }
            (_, json::Kind::Array(nodes)) => self.array::<C>(nodes, None, &[]),
            (_, json::Kind::Object(members)) if !self.marked::<C>(node, like)? => self.map::<C>(members, None, &[]),
            (_, json::Kind::Object(_)) => Ok(()),
            _ => self.scalar::<C>(node, like).map_err(|why| (node.at, why)),
        }
    }

    fn scalar<C: Codec>(&mut self, node: &Node<'_>, like: Option<&Item<'_>>) -> Result<(), String> {
        let first = like.and_then(|item| self.body.get(item.span.start)).copied().unwrap_or_default();
        match &node.kind {
            json::Kind::Bool(yes) => C::bool(&mut self.out, *yes),
            json::Kind::Text(text) => {
                let like = like
                    .and_then(|item| if let Kind::Text(old) = &item.kind { Some((first, old.len())) } else { None });
                return C::text(&mut self.out, text, like);
            }
            json::Kind::Number(digits) => {
                let number = marks::number(digits, node.at).map_err(|(_, why)| why)?;
                return self.number::<C>(number, first, like.map(|item| &item.kind));
            }
            json::Kind::Null | json::Kind::Array(_) | json::Kind::Object(_) => C::null(&mut self.out),
        }
        Ok(())
    }

    fn number<C: Codec>(&mut self, number: Number, first: u8, like: Option<&Kind<'_>>) -> Result<(), String> {
        match (number, like) {
            (Number::Integer(number), Some(Kind::Float(float))) if number.abs() <= MAX_EXACT => {
                C::float(&mut self.out, number as f64, Some(*float))
            }
            (Number::Integer(number), Some(Kind::Int(old))) => C::int(&mut self.out, number, Some((first, *old))),
            (Number::Integer(number), _) => C::int(&mut self.out, number, None),
            (Number::Double(number), Some(Kind::Int(old)))
                if number.fract() == 0.0 && number.abs() <= MAX_EXACT as f64 =>
            {
                C::int(&mut self.out, number as i128, Some((first, *old)))
            }
            (Number::Double(number), Some(Kind::Float(float))) => C::float(&mut self.out, number, Some(*float)),
            (Number::Double(number), _) => C::float(&mut self.out, number, None),
        }
    }

    /// Writes an object that stands for something JSON has no words for; whether it was one.
    fn marked<C: Codec>(&mut self, node: &Node<'_>, like: Option<&Item<'_>>) -> Result<bool, Wrong> {
        let Some(member) = node.as_pair() else { return Ok(false) };
        let value = &member.value;
        let kind = like.map(|item| &item.kind);
        let wrong = |why| (value.at, why);
        match &*member.key {
            "#base64" => {
                let first = like.and_then(|item| self.body.get(item.span.start)).copied().unwrap_or_default();
                let like =
                    kind.and_then(|kind| if let Kind::Bytes(old) = kind { Some((first, old.len())) } else { None });
                C::bytes(&mut self.out, &marks::read_bytes(value)?, like).map_err(wrong)?;
            }
            "#float" => {
                let float = kind.and_then(|kind| if let Kind::Float(float) = kind { Some(*float) } else { None });
                C::float(&mut self.out, marks::read_float(value)?, float).map_err(wrong)?;
            }
            "#float32" => {
                let json::Kind::Number(digits) = &value.kind else {
                    return Err(wrong("a number was expected".to_owned()));
                };
                let number = match marks::number(digits, value.at)? {
                    Number::Integer(number) => number as f64,
                    Number::Double(number) => number,
                };
                C::float(&mut self.out, number, Some(Float::Single(0.0))).map_err(wrong)?;
            }
            "#tag" if C::HAS_TAGS => {
                let [tag, value] = marks::two(value, "tag", "value")?;
                C::tag(&mut self.out, marks::integer(tag)?);
                self.value::<C>(value, None)?;
            }
            _ => return C::marked(&mut self.out, member),
        }
        Ok(true)
    }

    fn array<C: Codec>(
        &mut self,
        nodes: &[Node<'_>],
        like: Option<&Item<'_>>,
        items: &[Item<'_>],
    ) -> Result<(), Wrong> {
        self.head::<C>(Container::Array, nodes.len(), items.len(), like)?;
        for (node, item) in nodes.iter().zip(align(nodes, items)) {
            self.value::<C>(node, item)?;
        }
        self.copy_end(like);
        Ok(())
    }

    fn map<C: Codec>(
        &mut self,
        members: &[Member<'_>],
        like: Option<&Item<'_>>,
        pairs: &[(Item<'_>, Item<'_>)],
    ) -> Result<(), Wrong> {
        let mut typed: HashMap<&str, VecDeque<&Member<'_>>> = HashMap::new();
        members.iter().for_each(|member| typed.entry(&member.key).or_default().push_back(member));
        let keys: Vec<String> = pairs.iter().map(|(key, _)| key_text(key)).collect();
        let mut n_old: HashMap<&str, usize> = HashMap::new();
        keys.iter().for_each(|key| *n_old.entry(key).or_default() += 1);
        for (key, members) in &typed {
            let n_old = n_old.get(key).copied().unwrap_or(1);
            if members.len() > n_old || members.len() < n_old && n_old > 1 {
                let at = members.back().map_or(0, |member| member.at);
                let why = if n_old > 1 {
                    format!("of {key:?} there are {n_old}, which have to stay or go together")
                } else {
                    format!("{key:?} is here twice")
                };
                return Err((at, why));
            }
        }
        self.head::<C>(Container::Map, members.len(), pairs.len(), like)?;
        // In the order of the payload: a program that reads JSON and writes it may well have sorted it.
        for (key, (item, value)) in keys.iter().zip(pairs) {
            if let Some(member) = typed.get_mut(&**key).and_then(VecDeque::pop_front) {
                self.out.extend(self.body.get(item.span.clone()).unwrap_or_default());
                self.value::<C>(&member.value, Some(value))?;
            }
        }
        for member in members.iter().filter(|member| !n_old.contains_key(&*member.key)) {
            self.new_key::<C>(member, pairs)?;
            self.value::<C>(&member.value, None)?;
        }
        self.copy_end(like);
        Ok(())
    }

    /// A key of the type that the others have.
    fn new_key<C: Codec>(&mut self, member: &Member<'_>, pairs: &[(Item<'_>, Item<'_>)]) -> Result<(), Wrong> {
        let key = &*member.key;
        let is_text = |(key, _): &(Item<'_>, Item<'_>)| matches!(key.kind, Kind::Text(_));
        let is_int = |(key, _): &(Item<'_>, Item<'_>)| matches!(key.kind, Kind::Int(_));
        let number = key.parse::<i128>().ok();
        let refused = match (pairs.iter().all(is_text), pairs.iter().all(is_int), number) {
            (true, ..) => return C::text(&mut self.out, key, None).map_err(|why| (member.at, why)),
            (_, true, Some(number)) => return C::int(&mut self.out, number, None).map_err(|why| (member.at, why)),
            (_, true, None) => "the keys beside it are whole numbers, and this is none",
            _ => "the keys beside it are not all strings, so that its type is not known",
        };
        Err((member.at, format!("{key:?} cannot be added: {refused}")))
    }

    /// The head as it was where the number of values is.
    fn head<C: Codec>(
        &mut self,
        container: Container,
        n: usize,
        n_old: usize,
        like: Option<&Item<'_>>,
    ) -> Result<(), Wrong> {
        let Some(item) = like else {
            return C::head(&mut self.out, container, n, None).map_err(|why| (0, why));
        };
        if n == n_old {
            self.copy_head(like);
            return Ok(());
        }
        let first = self.body.get(item.span.start).copied().unwrap_or_default();
        C::head(&mut self.out, container, n, Some((first, n_old))).map_err(|why| (0, why))
    }

    fn copy_head(&mut self, like: Option<&Item<'_>>) {
        let Some(item) = like else { return };
        let head = self.body.get(item.span.start..item.span.start.saturating_add(item.n_head));
        self.out.extend(head.unwrap_or_default());
    }

    /// What ends a list or a map that has no length.
    fn copy_end(&mut self, like: Option<&Item<'_>>) {
        let Some(item) = like else { return };
        let inner_end = match &item.kind {
            Kind::Array(items) => items.last().map(|item| item.span.end),
            Kind::Map(pairs) => pairs.last().map(|(_, value)| value.span.end),
            _ => Some(item.span.end),
        };
        let from = inner_end.unwrap_or(item.span.start.saturating_add(item.n_head));
        self.out.extend(self.body.get(from..item.span.end).unwrap_or_default());
    }
}

/// Whether an object stands for something else, and is not the map that was there.
fn is_mark(members: &[Member<'_>], pairs: &[(Item<'_>, Item<'_>)]) -> bool {
    match members {
        [member] => member.key.starts_with('#') && !pairs.iter().any(|(key, _)| key_text(key) == member.key),
        _ => false,
    }
}

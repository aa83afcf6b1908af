//! A payload as JSON.

use super::{
    item::{Float, Item, Kind},
    marks,
    message_pack::ext_to_json,
};
use crate::{
    escape,
    json::{self, Member, Node},
};

pub(super) fn to_json(kind: &Kind<'_>) -> Node<'static> {
    match kind {
        Kind::Null => Node::null(),
        Kind::Bool(yes) => json::Kind::Bool(*yes).into(),
        Kind::Int(number) => Node::number(number),
        Kind::Float(Float::Single(number)) if number.is_finite() => Node::number(format!("{number:?}")),
        Kind::Float(number) => marks::float(number.shown()),
        Kind::Text(text) => Node::text(text.clone().into_owned()),
        Kind::NotText(bytes) => escape::escaped(bytes),
        Kind::Bytes(bytes) => marks::bytes(bytes),
        Kind::Array(items) => Node::array(items.iter().map(|item| to_json(&item.kind)).collect()),
        Kind::Map(pairs) => {
            Node::object(pairs.iter().map(|(key, value)| Member::new(key_text(key), to_json(&value.kind))).collect())
        }
        Kind::Ext(kind, bytes) => ext_to_json(*kind, bytes),
        Kind::Tag(tag, value) => Node::pair(
            "#tag",
            Node::object(vec![Member::new("tag", Node::number(tag)), Member::new("value", to_json(&value.kind))]),
        ),
        Kind::Simple(number) => Node::pair("#simple", Node::number(number)),
    }
}

/// A key as the key of an object: of one that is no string, the text of its JSON.
pub(super) fn key_text(key: &Item<'_>) -> String {
    marks::key(&to_json(&key.kind))
}

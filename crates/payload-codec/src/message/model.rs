//! A message that was read: its fields in the order of the wire, with all that the schema does not explain.

use std::collections::BTreeMap;

use prost_reflect::MessageDescriptor;

use super::{declaration::Declaration, notes::Problem};

/// What [`decode`](super::decode) found.
#[derive(Debug)]
pub struct Decoded<'a> {
    pub(crate) message: Message<'a>,
    /// What is not as the schema says, in no particular order.
    pub problems: Vec<Problem>,
    /// Whether something was left out because there is too much. Such a message cannot be edited.
    pub truncated: bool,
}

#[derive(Clone, Debug)]
pub struct Message<'a> {
    pub descriptor: MessageDescriptor,
    /// In the order in which the field numbers first came.
    pub entries: Vec<Entry<'a>>,
    /// The bytes behind the last field that could be read.
    pub rest: &'a [u8],
    /// Whether the rest was not read for its size rather than for an error.
    pub is_cut: bool,
    /// The form it takes in JSON.
    pub form: Form<'a>,
    /// Where in `entries` a number is, while they are read.
    pub(super) slots: BTreeMap<(u32, bool), usize>,
}

/// All occurrences of a field number.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    pub content: Content<'a>,
    /// The occurrences as they came, each with its tag.
    /// While the message is read: none as long as there is no value, or another member of the oneof has replaced it.
    pub wire: Vec<&'a [u8]>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content<'a> {
    Known(Declaration, Known<'a>),
    /// A number that is not in the schema, or not with this wire type.
    Unknown(u32, Vec<Raw<'a>>),
}

impl Entry<'_> {
    /// Whether the schema describes it.
    pub fn is_known(&self) -> bool {
        matches!(self.content, Content::Known(..))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Known<'a> {
    One(Value<'a>),
    List(Vec<Value<'a>>),
    /// Keys and values, each key once.
    Map(Vec<(Value<'a>, Value<'a>)>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Bool(bool),
    /// Of any of the signed types.
    Int(i64),
    Uint(u64),
    Float(f32),
    Double(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Enum(i32),
    Message(Box<Message<'a>>),
    /// It has the right wire type, but is no value of the declared type.
    Raw(Raw<'a>),
}

/// What the wire alone says.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw<'a> {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Group(Vec<(u32, Raw<'a>)>),
}

/// How a message is written as JSON. All but the first are for well-known types.
#[derive(Clone, Debug, PartialEq)]
pub enum Form<'a> {
    /// An object of its fields.
    Fields,
    /// A string: a timestamp, a duration, a field mask.
    Text(String),
    /// The value in a wrapper such as `google.protobuf.StringValue`.
    Wrapped,
    /// The JSON that a `Struct`, `Value` or `ListValue` holds.
    Free,
    /// The message in an `Any`.
    Any { type_url: &'a str, message: Box<Message<'a>> },
}

impl<'a> Message<'a> {
    pub(super) fn new(descriptor: MessageDescriptor) -> Self {
        Self { descriptor, entries: Vec::new(), rest: &[], is_cut: false, form: Form::Fields, slots: BTreeMap::new() }
    }

    /// Where the occurrences of a number are gathered: of a declared field, or of what does not fit the declaration.
    pub(super) fn slot(&mut self, key: (u32, bool), fresh: impl FnOnce() -> Content<'a>) -> Option<&mut Entry<'a>> {
        let next = self.entries.len();
        let slot = *self.slots.entry(key).or_insert(next);
        if slot == next {
            self.entries.push(Entry { content: fresh(), wire: Vec::new() });
        }
        self.entries.get_mut(slot)
    }

    /// The slot of a number that was there before.
    pub(super) fn filled_slot(&mut self, key: (u32, bool)) -> Option<&mut Entry<'a>> {
        let slot = *self.slots.get(&key)?;
        self.entries.get_mut(slot).filter(|entry| !entry.wire.is_empty())
    }

    /// The known field of this number, wherever it came.
    pub fn known(&self, number: u32) -> Option<&Known<'a>> {
        self.entries.iter().find_map(|entry| match &entry.content {
            Content::Known(declaration, known) if declaration.number() == number => Some(known),
            _ => None,
        })
    }

    /// The value of a field that is not repeated.
    pub fn one(&self, number: u32) -> Option<&Value<'a>> {
        match self.known(number)? {
            Known::One(value) => Some(value),
            _ => None,
        }
    }
}

/// Messages are equal if they hold the same in the same order, however it was laid out.
impl PartialEq for Message<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.descriptor == other.descriptor
            && self.rest == other.rest
            && self.is_cut == other.is_cut
            && self.form == other.form
            && self.entries == other.entries
    }
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.content == other.content
    }
}

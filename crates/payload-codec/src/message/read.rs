//! Bytes to a message.

use prost_reflect::Kind;

use super::{
    declaration::Declaration,
    model::{Content, Message, Raw, Value},
    notes::Notes,
    scalar,
};
use crate::{limits::Limits, wire};

/// Reads with what is left of the limits.
pub(super) struct Reader<'l> {
    pub limits: &'l Limits,
    pub notes: Notes,
    pub truncated: bool,
    elements_left: usize,
}

/// There are more elements than may be kept.
pub(super) struct TooMany;

/// One occurrence of a field.
#[derive(Clone, Copy)]
pub(super) struct Occurrence<'a> {
    pub field: wire::Field<'a>,
    /// With its tag.
    pub span: &'a [u8],
    /// How many messages are around the one it is in.
    pub depth: usize,
}

impl<'l> Reader<'l> {
    pub fn new(limits: &'l Limits) -> Self {
        Self { limits, notes: Notes::default(), truncated: false, elements_left: limits.elements }
    }

    /// Reads a whole payload.
    pub fn whole<'a>(&mut self, into: &mut Message<'a>, body: &'a [u8]) {
        match body.get(..self.limits.bytes) {
            Some(beginning) if beginning.len() < body.len() => {
                let mut end = 0;
                for field in wire::fields(beginning).map_while(Result::ok) {
                    end = field.end;
                }
                let (beginning, rest) = body.split_at(end);
                self.message(into, beginning, 0);
                if into.rest.is_empty() {
                    into.rest = rest;
                    self.cut(into);
                }
            }
            _ => self.message(into, body, 0),
        }
    }

    /// Reads a span into a message, which merges it with what is there. `depth` counts the messages around this one.
    pub fn message<'a>(&mut self, into: &mut Message<'a>, span: &'a [u8], depth: usize) {
        let mut end = 0;
        for field in wire::fields(span) {
            let field = match field {
                Ok(field) => field,
                Err(malformed) => {
                    self.notes.note(format!("no {} from there on: {malformed}", into.descriptor.full_name()));
                    into.rest = span.get(end..).unwrap_or_default();
                    return;
                }
            };
            let occurrence = Occurrence { field, span: span.get(field.start..field.end).unwrap_or_default(), depth };
            if self.occurrence(into, occurrence).is_err() {
                into.rest = span.get(end..).unwrap_or_default();
                self.cut(into);
                return;
            }
            end = field.end;
        }
    }

    fn cut(&mut self, message: &mut Message<'_>) {
        message.is_cut = true;
        self.truncated = true;
        self.notes
            .note(format!("{} bytes are not shown, or not all of them, because there is too much", message.rest.len()));
    }

    fn occurrence<'a>(&mut self, into: &mut Message<'a>, occurrence: Occurrence<'a>) -> Result<(), TooMany> {
        self.spend(1)?;
        let number = occurrence.field.number;
        let Some(declaration) = Declaration::by_number(&into.descriptor, number) else {
            return self.unknown(into, occurrence);
        };
        if into.descriptor.is_map_entry() {
            return self.declared(into, &declaration, occurrence);
        }
        let mark = self.notes.path.enter(&declaration.name());
        let read = self.declared(into, &declaration, occurrence);
        self.notes.path.leave(mark);
        read
    }

    pub fn unknown<'a>(&mut self, into: &mut Message<'a>, occurrence: Occurrence<'a>) -> Result<(), TooMany> {
        let raw = self.raw(occurrence.field.value)?;
        let number = occurrence.field.number;
        let fresh = || Content::Unknown(number, Vec::new());
        if let Some(entry) = into.slot((number, false), fresh)
            && let Content::Unknown(_, values) = &mut entry.content
        {
            values.push(raw);
            entry.wire.push(occurrence.span);
        }
        Ok(())
    }

    /// Groups nest no deeper than [`wire::MAX_GROUP_DEPTH`], or they would not have been read as one.
    fn raw<'a>(&mut self, value: wire::Value<'a>) -> Result<Raw<'a>, TooMany> {
        Ok(match value {
            wire::Value::Varint(bits) => Raw::Varint(bits),
            wire::Value::Fixed32(bits) => Raw::Fixed32(bits),
            wire::Value::Fixed64(bits) => Raw::Fixed64(bits),
            wire::Value::Len(bytes) => Raw::Bytes(bytes),
            wire::Value::Group(span) => {
                let mut fields = Vec::new();
                for field in wire::fields(span).map_while(Result::ok) {
                    self.spend(1)?;
                    fields.push((field.number, self.raw(field.value)?));
                }
                Raw::Group(fields)
            }
        })
    }

    pub fn value<'a>(&mut self, kind: &Kind, occurrence: Occurrence<'a>) -> Result<Value<'a>, TooMany> {
        let Kind::Message(descriptor) = kind else {
            let (value, problem) = scalar::read(kind, occurrence.field.value);
            if let Some(problem) = problem {
                self.notes.note(problem);
            }
            return Ok(value);
        };
        if occurrence.depth.saturating_add(1) >= self.limits.depth {
            self.notes.note(format!("messages nest deeper than {} levels", self.limits.depth));
            return self.raw(occurrence.field.value).map(Value::Raw);
        }
        let mut message = Box::new(Message::new(descriptor.clone()));
        self.nested(&mut message, occurrence);
        Ok(Value::Message(message))
    }

    pub fn nested<'a>(&mut self, into: &mut Message<'a>, occurrence: Occurrence<'a>) {
        if let wire::Value::Len(span) | wire::Value::Group(span) = occurrence.field.value {
            self.message(into, span, occurrence.depth.saturating_add(1));
        }
    }

    pub fn elements_left(&self) -> usize {
        self.elements_left
    }

    pub fn spend(&mut self, n_elements: usize) -> Result<(), TooMany> {
        self.elements_left = self.elements_left.checked_sub(n_elements).ok_or(TooMany)?;
        Ok(())
    }
}

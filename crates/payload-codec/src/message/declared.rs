//! Occurrences of declared fields, gathered by what the schema says.

use prost_reflect::MessageDescriptor;

use super::{
    declaration::{Declaration, packed_width},
    model::{Content, Known, Message, Value},
    read::{Occurrence, Reader, TooMany},
    scalar,
};
use crate::wire::{self, Width, packed};

type Outcome = Result<(), TooMany>;

impl Reader<'_> {
    pub fn declared<'a>(
        &mut self,
        into: &mut Message<'a>,
        declaration: &Declaration,
        occurrence: Occurrence<'a>,
    ) -> Outcome {
        let value = occurrence.field.value;
        if let Some(entry) = declaration.map_entry() {
            return match value {
                wire::Value::Len(span) => self.map_entry(into, declaration, &entry, occurrence, span),
                _ => self.mismatch(into, declaration, occurrence),
            };
        }
        if value.wire_type() == declaration.wire_type() {
            return match declaration.is_list() {
                true => self.element(into, declaration, occurrence),
                false => self.single(into, declaration, occurrence),
            };
        }
        if let wire::Value::Len(span) = value
            && declaration.is_list()
            && let Some(width) = packed_width(&declaration.kind())
            && packed::fits(span, width)
        {
            return self.packed(into, declaration, occurrence, packed::elements(span, width));
        }
        self.mismatch(into, declaration, occurrence)
    }

    fn element<'a>(
        &mut self,
        into: &mut Message<'a>,
        declaration: &Declaration,
        occurrence: Occurrence<'a>,
    ) -> Outcome {
        let fresh = || Content::Known(declaration.clone(), Known::List(Vec::new()));
        if let Some(entry) = into.slot((declaration.number(), true), fresh)
            && let Content::Known(_, Known::List(values)) = &mut entry.content
        {
            let mark = self.notes.path.enter_index(values.len());
            values.push(self.value(&declaration.kind(), occurrence)?);
            self.notes.path.leave(mark);
            entry.wire.push(occurrence.span);
        }
        Ok(())
    }

    /// Of a field that comes twice the last value counts, but messages are merged, as every parser does.
    fn single<'a>(&mut self, into: &mut Message<'a>, declaration: &Declaration, occurrence: Occurrence<'a>) -> Outcome {
        let key = (declaration.number(), true);
        if into.filled_slot(key).is_some_and(|entry| ends_in_doubt(&entry.content)) {
            return self.unknown(into, occurrence);
        }
        self.displace(into, declaration);
        let fresh = || Content::Known(declaration.clone(), Known::One(Value::Bool(false)));
        let Some(entry) = into.slot(key, fresh) else { return Ok(()) };
        let is_again = !entry.wire.is_empty();
        match &mut entry.content {
            Content::Known(_, Known::One(Value::Message(message))) if is_again => {
                self.notes.note("it is there more than once; the parts are put together");
                self.nested(message, occurrence);
            }
            content => {
                if is_again {
                    self.notes.note("it is there more than once; the last one counts");
                }
                let value = self.value(&declaration.kind(), occurrence)?;
                *content = Content::Known(declaration.clone(), Known::One(value));
                entry.wire.clear();
            }
        }
        entry.wire.push(occurrence.span);
        Ok(())
    }

    /// A member of a oneof replaces the one that was there.
    fn displace(&mut self, message: &mut Message<'_>, declaration: &Declaration) {
        let Some(oneof) = declaration.oneof() else { return };
        for other in oneof.fields().filter(|other| other.number() != declaration.number()) {
            if let Some(entry) = message.filled_slot((other.number(), true)) {
                entry.wire.clear();
                self.notes.note(format!("it replaces {}, because {} has one member only", other.name(), oneof.name()));
            }
        }
    }

    fn packed<'a>(
        &mut self,
        into: &mut Message<'a>,
        declaration: &Declaration,
        occurrence: Occurrence<'a>,
        elements: packed::Elements<'a>,
    ) -> Outcome {
        let n_elements = elements.clone().count();
        if n_elements == 0 {
            return Ok(());
        }
        let n_kept = n_elements.min(self.elements_left());
        self.spend(n_kept)?;
        let kind = declaration.kind();
        let fresh = || Content::Known(declaration.clone(), Known::List(Vec::new()));
        let Some(entry) = into.slot((declaration.number(), true), fresh) else { return Ok(()) };
        entry.wire.push(occurrence.span);
        let Content::Known(_, Known::List(values)) = &mut entry.content else { return Ok(()) };
        for bits in elements.map_while(Result::ok).take(n_kept) {
            let (value, problem) = scalar::read(&kind, unpacked(bits, packed_width(&kind)));
            if let Some(problem) = problem {
                let mark = self.notes.path.enter_index(values.len());
                self.notes.note(problem);
                self.notes.path.leave(mark);
            }
            values.push(value);
        }
        if n_kept < n_elements { Err(TooMany) } else { Ok(()) }
    }

    /// An entry is a message of a key and a value. One that is anything more than that stays as it is.
    fn map_entry<'a>(
        &mut self,
        into: &mut Message<'a>,
        declaration: &Declaration,
        descriptor: &MessageDescriptor,
        occurrence: Occurrence<'a>,
        span: &'a [u8],
    ) -> Outcome {
        let mut pair = Message::new(descriptor.clone());
        let n_before = into.filled_slot((declaration.number(), true)).map_or(0, |entry| entry.wire.len());
        let mark = self.notes.path.enter_index(n_before);
        self.message(&mut pair, span, occurrence.depth.saturating_add(1));
        self.notes.path.leave(mark);
        if pair.is_cut {
            return Err(TooMany);
        }
        let Some((key, value)) = key_and_value(pair) else {
            self.notes.note("an entry of the map is more than a key and a value, or its key cannot be read");
            return self.unknown(into, occurrence);
        };
        let fresh = || Content::Known(declaration.clone(), Known::Map(Vec::new()));
        if let Some(entry) = into.slot((declaration.number(), true), fresh)
            && let Content::Known(_, Known::Map(pairs)) = &mut entry.content
        {
            pairs.push((key, value));
            entry.wire.push(occurrence.span);
        }
        Ok(())
    }

    fn mismatch<'a>(
        &mut self,
        into: &mut Message<'a>,
        declaration: &Declaration,
        occurrence: Occurrence<'a>,
    ) -> Outcome {
        let (found, declared) = (occurrence.field.value.wire_type(), declaration.wire_type());
        self.notes.note(format!("it has wire type {found:?} where the schema says {declared:?}"));
        self.unknown(into, occurrence)
    }
}

/// Nothing can be added to a message whose end is not known.
fn ends_in_doubt(content: &Content<'_>) -> bool {
    matches!(content, Content::Known(_, Known::One(Value::Message(message))) if !message.rest.is_empty())
}

/// A missing key or value is the default, as to every parser.
fn key_and_value(pair: Message<'_>) -> Option<(Value<'_>, Value<'_>)> {
    let is_whole = pair.rest.is_empty();
    let (mut key, mut value) = (None, None);
    for entry in pair.entries {
        match entry.content {
            Content::Known(field, Known::One(found)) if field.number() == 1 => key = Some(found),
            Content::Known(_, Known::One(found)) => value = Some(found),
            _ => return None,
        }
    }
    let key = key.unwrap_or_else(|| scalar::default(&pair.descriptor.map_entry_key_field().kind()));
    let value = value.unwrap_or_else(|| scalar::default(&pair.descriptor.map_entry_value_field().kind()));
    (is_whole && !matches!(key, Value::Raw(_))).then_some((key, value))
}

fn unpacked<'a>(bits: u64, width: Option<Width>) -> wire::Value<'a> {
    match width {
        Some(Width::Fixed32) => wire::Value::Fixed32(u32::try_from(bits).unwrap_or_default()),
        Some(Width::Fixed64) => wire::Value::Fixed64(bits),
        _ => wire::Value::Varint(bits),
    }
}

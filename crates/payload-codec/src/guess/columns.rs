//! The types by field number: which declare it, and as what.
//!
//! Of ten thousand types a body's field numbers and wire types leave some hundreds, found with a few operations on bit
//! sets. And since fields of different types mostly look alike, a value is scored once for each look and not for each type.

use std::{borrow::Cow, collections::HashMap};

use super::{
    bits::Bits,
    schema::{Field, Kind, Schema},
};
use crate::wire::{Width, WireType};

/// The types that declare a number are listed as long as they are fewer than one of this many.
const SPARSE: usize = 32;

/// A class that does not declare the number.
pub const UNDECLARED: u32 = u32::MAX;

/// All columns.
pub struct Columns {
    by_number: HashMap<u32, Column>,
    /// The classes that may be a body's.
    pub candidates: Bits,
}

/// A field number.
pub struct Column {
    /// The different fields of this number.
    pub signatures: Vec<Field>,
    rows: Rows,
}

enum Rows {
    Dense(Box<Dense>),
    /// Class and signature.
    Sparse(Vec<(u32, u32)>),
}

/// Of each class.
#[derive(Clone)]
pub struct Dense {
    /// The signature of its field, or [`UNDECLARED`].
    pub signatures: Vec<u32>,
    pub declared: Bits,
    /// The classes whose field may be written in a layout.
    layouts: [Option<Bits>; Layouts::COUNT],
}

/// A set of ways to write a value, each a bit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Layouts(u16);

impl Layouts {
    pub const VARINT: Self = Self(1);
    pub const FIXED32: Self = Self(1 << 1);
    pub const FIXED64: Self = Self(1 << 2);
    pub const GROUP: Self = Self(1 << 3);
    pub const BYTES: Self = Self(1 << 4);
    pub const TEXT: Self = Self(1 << 5);
    pub const MESSAGE: Self = Self(1 << 6);
    pub const PACKED_VARINT: Self = Self(1 << 7);
    pub const PACKED32: Self = Self(1 << 8);
    pub const PACKED64: Self = Self(1 << 9);
    const COUNT: usize = 10;

    /// How values of a field may be written.
    pub fn of(field: &Field) -> Self {
        let single = match field.kind {
            Kind::String(_) => Self::TEXT,
            Kind::Bytes => Self::BYTES,
            Kind::Message(_) => Self::MESSAGE,
            _ => Self::of_wire_type(field.kind.wire_type()),
        };
        match field.kind.packed_width() {
            Some(width) if field.is_repeated => single.or(Self::of_list(width)),
            _ => single,
        }
    }

    pub fn of_wire_type(wire_type: WireType) -> Self {
        match wire_type {
            WireType::Varint => Self::VARINT,
            WireType::Fixed32 => Self::FIXED32,
            WireType::Fixed64 => Self::FIXED64,
            WireType::Group => Self::GROUP,
            WireType::Len => Self::BYTES,
        }
    }

    pub fn of_list(width: Width) -> Self {
        match width {
            Width::Varint => Self::PACKED_VARINT,
            Width::Fixed32 => Self::PACKED32,
            Width::Fixed64 => Self::PACKED64,
        }
    }

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both; in either, if nothing is in both.
    pub fn common(self, other: Self) -> Self {
        if self.0 & other.0 == 0 { self.or(other) } else { Self(self.0 & other.0) }
    }

    fn positions(self) -> impl Iterator<Item = usize> {
        (0..Self::COUNT).filter(move |at| self.0 >> at & 1 == 1)
    }
}

impl Columns {
    /// `signature` is the same for fields that give every value the same likelihood.
    pub fn new(schema: &Schema, signature: impl Fn(&Field) -> u64) -> Self {
        let mut candidates = Bits::none(schema.exemplars.len());
        let messages = schema.messages.iter().zip(&schema.classes);
        messages.filter(|(message, _)| message.is_candidate).for_each(|(_, &class)| candidates.set(class));
        let mut drafts: HashMap<u32, Draft> = HashMap::new();
        for (class, &id) in (0..).zip(&schema.exemplars) {
            for field in &schema.message(id).fields {
                drafts.entry(field.number).or_default().add(class, field, signature(field));
            }
        }
        let by_number =
            drafts.into_iter().map(|(number, draft)| (number, draft.finish(schema.exemplars.len()))).collect();
        Self { by_number, candidates }
    }

    pub fn get(&self, number: u32) -> Option<&Column> {
        self.by_number.get(&number)
    }
}

impl Column {
    /// Adds the classes that declare the number, but so that it is not written in any of the layouts.
    pub fn add_not_writable_as(&self, layouts: Layouts, classes: &mut Bits) {
        match &self.rows {
            Rows::Dense(dense) => classes.add_without(&dense.declared, &dense.writable_as(layouts)),
            Rows::Sparse(rows) => {
                let fits = |signature: u32| Layouts::of(&self.signatures[signature as usize]).overlaps(layouts);
                rows.iter().filter(|row| !fits(row.1)).for_each(|row| classes.set(row.0));
            }
        }
    }

    pub fn dense(&self, classes: usize) -> Cow<'_, Dense> {
        match &self.rows {
            Rows::Dense(dense) => Cow::Borrowed(dense),
            Rows::Sparse(rows) => Cow::Owned(Dense::new(classes, &self.signatures, rows)),
        }
    }
}

impl Dense {
    /// The classes whose field may be written in one of the layouts.
    pub fn writable_as(&self, layouts: Layouts) -> Bits {
        let mut found = Bits::none(self.signatures.len());
        for bits in layouts.positions().filter_map(|at| self.layouts[at].as_ref()) {
            found.add(bits);
        }
        found
    }

    fn new(classes: usize, signatures: &[Field], rows: &[(u32, u32)]) -> Self {
        let layouts: Vec<Layouts> = signatures.iter().map(Layouts::of).collect();
        let mut dense = Self {
            signatures: vec![UNDECLARED; classes],
            declared: Bits::none(classes),
            layouts: std::array::from_fn(|_| None),
        };
        for &(class, signature) in rows {
            dense.signatures[class as usize] = signature;
            dense.declared.set(class);
            for at in layouts[signature as usize].positions() {
                dense.layouts[at].get_or_insert_with(|| Bits::none(classes)).set(class);
            }
        }
        dense
    }
}

/// A column in the making.
#[derive(Default)]
struct Draft {
    rows: Vec<(u32, u32)>,
    signatures: Vec<Field>,
    places: HashMap<u64, u32>,
}

impl Draft {
    fn add(&mut self, class: u32, field: &Field, signature: u64) {
        let place = *self.places.entry(signature).or_insert_with(|| {
            self.signatures.push(field.clone());
            self.signatures.len() as u32 - 1
        });
        self.rows.push((class, place));
    }

    fn finish(self, classes: usize) -> Column {
        let Self { rows, signatures, .. } = self;
        let is_dense = rows.len() * SPARSE >= classes;
        let rows =
            if is_dense { Rows::Dense(Box::new(Dense::new(classes, &signatures, &rows))) } else { Rows::Sparse(rows) };
        Column { signatures, rows }
    }
}

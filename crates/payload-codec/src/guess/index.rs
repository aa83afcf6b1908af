//! The index of all uploaded types.

use prost_reflect::DescriptorPool;

use super::{
    answer::{Candidate, Hints, TypeName},
    columns::Columns,
    likelihood::{Expectations, Likelihood, Presence},
    posterior::Placed,
    prior::Members,
    schema::{Schema, signatures},
};

/// All types of the uploaded sets, laid out to be guessed from. Build it once for each state of the sets and share it.
pub struct TypeIndex {
    pub(super) schema: Schema,
    pub(super) members: Members,
    texts: Expectations,
    presence: Presence,
    pub(super) columns: Columns,
}

impl TypeIndex {
    /// Indexes the types of several sets.
    ///
    /// A type that several sets have with the same wire format is one. Sets that disagree about a type have one each, told
    /// apart by the place of their pool.
    pub fn new(pools: &[DescriptorPool]) -> Self {
        let schema = Schema::new(pools);
        let presence = Presence::new(schema.exemplars.iter().map(|&id| schema.message(id)));
        let columns = Columns::new(&schema, signatures(&schema));
        let members = Members::new(&schema);
        Self { texts: Expectations::new(), presence, columns, members, schema }
    }

    /// How many types a body may be of.
    pub fn len(&self) -> usize {
        self.members.count()
    }

    /// Whether there are no types at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn id(&self, name: &TypeName) -> Option<u32> {
        let named = self.schema.named(&name.full_name);
        named.iter().copied().find(|&id| self.schema.message(id).pool == name.pool)
    }

    pub(super) fn is_confirmed(&self, id: u32, hints: &Hints) -> bool {
        let full_name = self.schema.message(id).descriptor.full_name();
        hints.confirmed.iter().any(|&(name, times)| times > 0 && name == full_name)
    }

    pub(super) fn candidate(&self, placed: &Placed) -> Candidate {
        let mut names = placed.types.iter().map(|&id| {
            let message = self.schema.message(id);
            TypeName { full_name: message.descriptor.full_name().to_owned(), pool: message.pool }
        });
        let name = names.next().unwrap_or_else(|| TypeName { full_name: String::new(), pool: 0 });
        Candidate { name, also: names.collect(), confidence: placed.confidence }
    }

    pub(super) fn likelihood(&self) -> Likelihood<'_> {
        Likelihood { schema: &self.schema, texts: &self.texts, presence: &self.presence }
    }
}

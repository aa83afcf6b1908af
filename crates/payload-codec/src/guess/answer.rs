//! What a guess says.

/// What is known of a message besides its body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hints<'a> {
    /// The names it was sent by and to: queue, exchange, routing key.
    pub address: &'a [&'a str],
    /// The full names of types that messages of this address were confirmed to be, and of how many.
    pub confirmed: &'a [(&'a str, u64)],
}

/// The types a body may be of.
#[derive(Debug, Clone, Default)]
pub struct Guess {
    /// The likeliest type first, eight at most.
    ///
    /// They are ranked by the confidence in a single type, so that a tie may stand behind a candidate that is less likely
    /// than all of the tie together. None if the body is not well-formed, or no type can have written it.
    pub candidates: Vec<Candidate>,
    /// How many more types it may be.
    pub others: usize,
    /// How much better the uploaded types read the body than no type does, in nats. Below zero it is likelier that its type
    /// was never uploaded.
    pub evidence: f64,
    /// The body was too large to look at all of it.
    pub is_partial: bool,
    pub(super) is_strong: bool,
}

/// A type the body may be of.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The type.
    pub name: TypeName,
    /// The types that no message can tell from it, and that are as likely.
    pub also: Vec<TypeName>,
    /// The probability that it is this type or one of `also`. All candidates together have no more than one: the rest is of
    /// the others, and of types that were never uploaded.
    pub confidence: f64,
}

/// A type of one of the sets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeName {
    /// Its full name, with the package and without a dot before it.
    pub full_name: String,
    /// Its pool's place among those the index was built from. Of several that agree about the type, the first.
    pub pool: usize,
}

impl Guess {
    /// The type, if it may be named: it alone, nearly certain, and the body reads far better so than without a type.
    ///
    /// It is still a guess. Only a header, an envelope or somebody who knows identifies a message.
    pub fn strong(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|_| self.is_strong)
    }
}

impl Candidate {
    /// The types it stands for, each as likely as the others.
    pub fn types(&self) -> impl Iterator<Item = &TypeName> {
        std::iter::once(&self.name).chain(&self.also)
    }
}

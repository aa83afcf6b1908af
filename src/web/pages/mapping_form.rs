//! The form that says which type messages are of.

use amqp_message::time::Timestamp;

use crate::{
    domain::{
        mapping::{ActiveMapping, Carrier, Mapping, MappingBook},
        version::{Changed, Expected},
    },
    web::{
        error::WebError,
        input::seen,
        orders::policy::Wrong,
        query::Pairs,
        view::{conflict::ConflictView, schema::carrier_words, text},
    },
};

/// What a mapping is found by.
fn key(mapping: &Mapping) -> (Option<&str>, &str, &str) {
    (mapping.broker.as_deref(), mapping.carrier.as_str(), &mapping.pattern)
}

/// What is typed into the form of mappings.
#[derive(Default)]
pub struct MappingForm {
    pub carrier: String,
    pub pattern: String,
    pub message_type: String,
    pub broker: String,
    /// What was there when the form was opened; see [`seen`].
    pub seen: String,
    /// What somebody else has said of the same messages.
    pub conflict: Option<ConflictView>,
    pub wrong: Option<Wrong>,
}

impl MappingForm {
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok(Self {
            carrier: pairs.take("carrier")?.unwrap_or_default(),
            pattern: pairs.take("pattern")?.unwrap_or_default(),
            message_type: pairs.take("type")?.unwrap_or_default(),
            broker: pairs.take("broker")?.unwrap_or_default(),
            seen: pairs.take("seen")?.unwrap_or_default(),
            conflict: None,
            wrong: None,
        })
    }

    pub fn mapping(&self) -> Result<Mapping, Wrong> {
        Ok(Mapping {
            broker: Some(self.broker.clone()).filter(|broker| !broker.is_empty()),
            carrier: self.carrier.parse().map_err(|why| Wrong::new("pattern", why))?,
            pattern: self.pattern.trim().to_owned(),
            message_type: self.message_type.trim().to_owned(),
        })
    }

    /// What has to be in the place of `mapping`.
    pub fn expected(&self, mapping: &Mapping) -> Expected {
        seen::expected(&self.seen, &key(mapping))
    }

    /// The same after it was told what somebody else has said. To add it again replaces that.
    pub fn overtaken(self, mapping: &Mapping, changed: &Changed<ActiveMapping>, now: Timestamp) -> Self {
        let seen = seen::token(&key(mapping), changed.0.as_deref());
        Self { seen, conflict: Some(ConflictView::new(changed, now)), ..self }
    }

    /// Words of the form for what is wrong: the carriers share one field.
    pub fn wrong_with(&self, field: &str) -> &str {
        let is_it = |wrong: &&Wrong| {
            if field == "message_type" { wrong.field == "message_type" } else { wrong.field != "message_type" }
        };
        self.wrong.as_ref().filter(is_it).map_or("", |wrong| &wrong.why)
    }

    pub fn carriers(&self) -> Vec<(&'static str, &'static str, bool)> {
        let choice = |carrier: &Carrier| (carrier.as_str(), carrier_words(*carrier), self.carrier == carrier.as_str());
        Carrier::ALL.iter().map(choice).collect()
    }
}

/// A mapping that is to be removed.
pub struct Unmapping {
    /// As it is sent to take it back.
    pub broker: String,
    pub carrier: &'static str,
    pub pattern: String,
    pub shown: String,
    pub message_type: String,
    pub seen: String,
    pub conflict: Option<ConflictView>,
}

impl Unmapping {
    /// `None` where there is no such mapping.
    pub fn find(book: &MappingBook, meant: &Mapping) -> Option<Self> {
        book.all().iter().find(|active| key(&active.mapping) == key(meant)).map(Self::new)
    }

    pub fn new(active: &ActiveMapping) -> Self {
        let mapping = &active.mapping;
        Self {
            broker: mapping.broker.clone().unwrap_or_default(),
            carrier: mapping.carrier.as_str(),
            pattern: mapping.pattern.clone(),
            shown: format!("{} {}", carrier_words(mapping.carrier), text::one_line(&mapping.pattern)),
            message_type: text::one_line(&mapping.message_type),
            seen: seen::token(&key(mapping), Some(active)),
            conflict: None,
        }
    }
}

//! The form that says which type messages are of.

use crate::{
    domain::mapping::{Carrier, Mapping},
    web::{draft::Wrong, error::WebError, query::Pairs, view::schema::carrier_words},
};

/// What is typed into the form of mappings.
#[derive(Default)]
pub struct MappingForm {
    pub carrier: String,
    pub pattern: String,
    pub message_type: String,
    pub broker: String,
    pub wrong: Option<Wrong>,
}

impl MappingForm {
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        Ok(Self {
            carrier: pairs.take("carrier")?.unwrap_or_default(),
            pattern: pairs.take("pattern")?.unwrap_or_default(),
            message_type: pairs.take("type")?.unwrap_or_default(),
            broker: pairs.take("broker")?.unwrap_or_default(),
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

    /// Words of the form for what is wrong: the carriers share one field.
    pub fn wrong_with(&self, field: &str) -> &str {
        let is_it = |wrong: &&Wrong| if field == "type" { wrong.field == "type" } else { wrong.field != "type" };
        self.wrong.as_ref().filter(is_it).map_or("", |wrong| &wrong.why)
    }

    pub fn carriers(&self) -> Vec<(&'static str, &'static str, bool)> {
        let choice = |carrier: &Carrier| (carrier.as_str(), carrier_words(*carrier), self.carrier == carrier.as_str());
        Carrier::ALL.iter().map(choice).collect()
    }
}

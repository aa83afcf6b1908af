//! The form in which a rule is written: what was typed, and what is wrong with it.

use amqp_message::time::Timestamp;

use crate::{
    domain::{
        letter::Importance,
        rule::{ActiveRule, Rule, RuleId},
        rule_order::RuleOrder,
        version::{Changed, Expected, Versioned},
    },
    services::rules::{Draft, RuleBook, RuleError},
    web::{
        error::WebError,
        orders::policy::Wrong,
        query::Pairs,
        view::{conflict::ConflictView, rule::MistakeView, rule_help::suggested, text},
    },
};

/// As it was typed.
#[derive(Debug, Default)]
pub struct RuleForm {
    /// The rule that is changed; `None`: a new one.
    pub id: Option<RuleId>,
    /// The version of it that was seen; empty where none was.
    pub version: String,
    pub name: String,
    pub expression: String,
    pub importance: String,
    /// From 1 on, or empty: where it stands, or last.
    pub place: String,
    /// Where it stood when the form was opened, or for a new one the last place: it is moved only if that was changed
    /// here.
    pub placed: String,
    /// The version of the order in which both are counted; empty where none was seen.
    pub order: String,
    /// What somebody else has made of the rule meanwhile.
    pub conflict: Option<ConflictView>,
    /// What is wrong with anything but the expression.
    pub wrong: Option<Wrong>,
    /// What is wrong with the expression.
    pub mistakes: Vec<MistakeView>,
}

/// One place in the order, to choose.
pub struct PlaceChoice {
    pub value: usize,
    pub label: String,
    pub is_selected: bool,
}

impl RuleForm {
    /// What an address or a form says.
    pub fn take(pairs: &mut Pairs) -> Result<Self, WebError> {
        let id = pairs.take_parsed("edit")?;
        let mut text = |name: &str| pairs.take(name).map(Option::unwrap_or_default);
        let form = Self {
            id,
            version: text("version")?,
            name: text("name")?,
            expression: text("expression")?.replace("\r\n", "\n"),
            importance: text("importance")?,
            place: text("place")?,
            placed: text("placed")?,
            order: text("order")?,
            ..Self::default()
        };
        let (queue, message_type) = (text("queue")?, text("type")?);
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let (queue, message_type) = (given(queue), given(message_type));
        if form.expression.is_empty() && (queue.is_some() || message_type.is_some()) {
            return Ok(Self { expression: suggested(queue.as_deref(), message_type.as_deref()), ..form });
        }
        Ok(form)
    }

    /// With what the rule says that is to be changed, where nothing else was typed.
    ///
    /// # Errors
    /// [`RuleError::Gone`] where there is no such rule.
    pub fn filled(self, book: &RuleBook) -> Result<Self, RuleError> {
        let Some(id) = self.id else { return Ok(self) };
        let active = book.find(id).ok_or(RuleError::Gone)?;
        let Rule { name, expression, importance } = &active.rule;
        let or = |typed: String, was: &str| if typed.is_empty() { was.to_owned() } else { typed };
        Ok(Self {
            version: or(self.version, &active.version().to_string()),
            name: or(self.name, name),
            expression: or(self.expression, expression),
            importance: or(self.importance, importance.as_str()),
            ..self
        })
    }

    /// The same for the order in which the rules are, where none was seen; a place that was chosen stays chosen.
    pub fn in_order(self, book: &RuleBook) -> Self {
        if !self.order.is_empty() {
            return self;
        }
        let last = book.active().len() + 1;
        let place = book.active().iter().position(|active| Some(active.id) == self.id).map_or(last, |place| place + 1);
        Self {
            order: RuleOrder::of(book.active()).version().to_string(),
            place: Some(self.place).filter(|place| *place != self.placed).unwrap_or_default(),
            placed: place.to_string(),
            ..self
        }
    }

    /// # Errors
    /// What is wrong beside the name and the expression, which whoever tries or keeps the rule looks at.
    pub fn draft(&self) -> Result<Draft, Wrong> {
        let importance = match &*self.importance {
            "" => Importance::High,
            word => word.parse().map_err(|why| Wrong::new("importance", why))?,
        };
        let place = match &*self.place {
            "" => None,
            unchanged if unchanged == self.placed => None,
            number => {
                let place = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                Some(place.ok_or_else(|| Wrong::new("place", "it takes a number from 1 on"))?)
            }
        };
        let rule = Rule { name: self.name.clone(), expression: self.expression.clone(), importance };
        Ok(Draft { id: self.id, rule, place })
    }

    /// What the rule has to say that it changes.
    pub fn expected(&self) -> Expected {
        Expected::seen(&self.version)
    }

    /// The same after it was told what somebody else has made of the rule. To save it again replaces that.
    pub fn overtaken(self, changed: &Changed<ActiveRule>, now: Timestamp) -> Self {
        let (id, version) = match changed {
            Changed(Some(there)) => (self.id, there.version().to_string()),
            Changed(None) => (None, String::new()),
        };
        Self { id, version, order: String::new(), conflict: Some(ConflictView::new(changed, now)), ..self }
    }

    pub fn wrong_with(&self, field: &str) -> &str {
        self.wrong.as_ref().filter(|wrong| wrong.field == field).map_or("", |wrong| &wrong.why)
    }

    pub fn importances(&self) -> Vec<(&'static str, bool)> {
        let chosen = if self.importance.is_empty() { Importance::High.as_str() } else { &self.importance };
        Importance::ALL.iter().map(|one| (one.as_str(), one.as_str() == chosen)).collect()
    }

    /// Where it may stand among the other rules.
    pub fn places(&self, book: &RuleBook) -> Vec<PlaceChoice> {
        let was = book.active().iter().position(|active| Some(active.id) == self.id);
        let others: Vec<String> = book
            .active()
            .iter()
            .filter(|active| Some(active.id) != self.id)
            .map(|active| text::name(&active.rule.name, 60))
            .collect();
        let chosen = self.place.parse().ok().or(was.map(|was| was + 1)).unwrap_or(others.len() + 1);
        let label = |value: usize| match value.checked_sub(2).and_then(|before| others.get(before)) {
            None => "first".to_owned(),
            Some(before) => format!("{value}, after {before}"),
        };
        let choice = |value| PlaceChoice { value, label: label(value), is_selected: value == chosen };
        (1..=others.len() + 1).map(choice).collect()
    }

    /// The same with what was wrong with it when it was to be kept.
    ///
    /// # Errors
    /// Those that are not about what was typed.
    pub fn refused(self, error: RuleError) -> Result<Self, WebError> {
        match error {
            RuleError::Name(why) => Ok(Self { wrong: Some(Wrong::new("name", why)), ..self }),
            RuleError::TooMany => Ok(Self { wrong: Some(Wrong::new("name", error)), ..self }),
            RuleError::Expression(mistakes) => {
                Ok(Self { mistakes: MistakeView::all(&mistakes, &self.expression), ..self })
            }
            RuleError::InFile(_)
            | RuleError::Gone
            | RuleError::Changed(_)
            | RuleError::Reordered
            | RuleError::Store(_) => Err(error.into()),
        }
    }
}

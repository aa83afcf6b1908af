//! The form in which a policy is set: what was typed, and what is wrong with it.

use std::str::FromStr;

use amqp_message::{death::Reason, time::Timestamp};

use super::choices::Choice;
use crate::{
    domain::{
        policy::{ActivePolicy, Delays, Policy, Via},
        version::{Changed, Expected},
    },
    web::{
        error::WebError,
        input::seen,
        orders::policy::{Draft, Wrong},
        query::Pairs,
        view::{
            conflict::ConflictView,
            policy::{percent, typed, typed_duration},
        },
    },
};

/// As it was typed.
#[derive(Debug, Default)]
pub struct PolicyForm {
    pub queues: String,
    pub reason: String,
    pub is_growing: bool,
    pub delays: String,
    pub initial: String,
    pub factor: String,
    pub max: String,
    pub attempts: String,
    /// In percent.
    pub jitter: String,
    pub via: String,
    pub keep_routing_key: bool,
    /// What was there when the form was opened; see [`seen`].
    pub seen: String,
    /// What somebody else has set meanwhile.
    pub conflict: Option<ConflictView>,
    pub wrong: Vec<Wrong>,
}

impl PolicyForm {
    /// What an address or a form says; `None` if it names nothing but queues and a reason.
    pub fn take(pairs: &mut Pairs) -> Result<(String, Option<Reason>, Option<Self>), WebError> {
        let mut text = |name: &str| pairs.take(name).map(Option::unwrap_or_default);
        let kind = text("kind")?;
        let form = Self {
            queues: text("queues")?.trim().to_owned(),
            reason: text("reason")?,
            is_growing: kind == "exponential",
            delays: text("delays")?,
            initial: text("initial")?,
            factor: text("factor")?,
            max: text("max")?,
            attempts: text("attempts")?,
            jitter: text("jitter")?,
            via: text("via")?,
            keep_routing_key: !text("keep_routing_key")?.is_empty(),
            seen: text("seen")?,
            conflict: None,
            wrong: Vec::new(),
        };
        let reason = if form.reason.is_empty() { None } else { form.reason.parse().ok() };
        Ok((form.queues.clone(), reason, (!kind.is_empty()).then_some(form)))
    }

    /// A policy that is there, to be changed.
    pub fn of(policy: &Policy) -> Self {
        let form = Self {
            queues: policy.queues.clone(),
            reason: policy.reason.map(|reason| reason.as_str().to_owned()).unwrap_or_default(),
            delays: typed(&policy.delays),
            jitter: percent(policy.jitter),
            via: policy.via.as_str().to_owned(),
            keep_routing_key: policy.keep_routing_key,
            ..Self::default()
        };
        match &policy.delays {
            Delays::Listed(_) => form,
            Delays::Growing { initial, factor, max, attempts } => Self {
                is_growing: true,
                initial: typed_duration(*initial),
                factor: factor.to_string(),
                max: typed_duration(*max),
                attempts: attempts.to_string(),
                ..form
            },
        }
    }

    /// # Errors
    /// All that is wrong; of numbers that are none, the first.
    pub fn policy(&self) -> Result<Policy, Vec<Wrong>> {
        self.draft().map_err(|wrong| vec![wrong])?.policy()
    }

    fn draft(&self) -> Result<Draft, Wrong> {
        let list =
            |text: &str| text.split(',').map(str::trim).filter(|delay| !delay.is_empty()).map(str::to_owned).collect();
        let delays = (!self.is_growing).then(|| list(&self.delays));
        let growing = |text: &str| Some(text.trim().to_owned()).filter(|text| self.is_growing && !text.is_empty());
        if self.is_growing && self.initial.trim().is_empty() {
            return Err(Wrong::new("initial", "it takes the first delay, like 1s"));
        }
        let factor = growing(&self.factor).map(|text| number("factor", &text, "a number, like 2")).transpose()?;
        let attempts = growing(&self.attempts).map(|text| number("attempts", &text, "a number, like 5")).transpose()?;
        let jitter = if self.jitter.trim().is_empty() {
            0.0
        } else {
            number::<f64>("jitter", self.jitter.trim().trim_end_matches('%').trim_end(), "percent, 0 to 100")? / 100.0
        };
        if !(0.0..=1.0).contains(&jitter) {
            return Err(Wrong::new("jitter", "it takes percent, 0 to 100"));
        }
        let filled = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Ok(Draft {
            queues: self.queues.clone(),
            reason: filled(&self.reason),
            delays,
            initial: growing(&self.initial),
            factor,
            max: growing(&self.max),
            attempts,
            jitter: Some(jitter),
            via: filled(&self.via),
            keep_routing_key: Some(self.keep_routing_key),
        })
    }

    /// What has to be in the place of `policy`.
    pub fn expected(&self, policy: &Policy) -> Expected {
        seen::expected(&self.seen, &key(&policy.queues, policy.reason))
    }

    /// The same after it was told what somebody else has set. To set it again replaces that.
    pub fn overtaken(self, policy: &Policy, changed: &Changed<ActivePolicy>, now: Timestamp) -> Self {
        let seen = seen::token(&key(&policy.queues, policy.reason), changed.0.as_deref());
        Self { seen, conflict: Some(ConflictView::new(changed, now)), ..self }
    }

    /// What is wrong with a field; empty when nothing is.
    pub fn wrong_with(&self, field: &str) -> &str {
        self.wrong.iter().find(|wrong| wrong.field == field).map(|wrong| wrong.why.as_str()).unwrap_or_default()
    }

    pub fn reasons(&self) -> Vec<Choice> {
        Choice::reasons(&[&self.reason])
    }

    pub fn is_via_broker(&self) -> bool {
        self.via == Via::Broker.as_str()
    }
}

/// What a policy is found by.
pub fn key(queues: &str, reason: Option<Reason>) -> (&str, &str) {
    (queues, reason.map_or("", Reason::as_str))
}

fn number<T: FromStr>(field: &'static str, text: &str, takes: &str) -> Result<T, Wrong> {
    text.parse().map_err(|_| Wrong::new(field, format!("{text:?} is not possible; it takes {takes}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> PolicyForm {
        PolicyForm::take(&mut Pairs::parse(text.as_bytes())).unwrap().2.unwrap()
    }

    #[test]
    fn a_policy_crosses_the_form() {
        for text in [
            "queues=a.*&kind=listed&delays=10s,+1m+40s,1000s&jitter=12.5&via=broker&keep_routing_key=1",
            "queues=a&reason=expired&kind=exponential&initial=250ms&factor=1.5&max=1h&attempts=9&jitter=0&via=database",
            "queues=a&kind=listed",
        ] {
            let policy = filled(text).policy().unwrap();
            assert_eq!(PolicyForm::of(&policy).policy(), Ok(policy), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_by_its_field() {
        let check = |text: &str, field| assert_eq!(filled(text).policy().unwrap_err()[0].field, field, "{text}");
        check("kind=listed&delays=1s", "queues");
        check("queues=a&kind=listed&delays=10", "delays");
        check("queues=a&kind=exponential", "initial");
        check("queues=a&kind=exponential&initial=1s&factor=x", "factor");
        check("queues=a&kind=exponential&initial=1s&attempts=-1", "attempts");
        check("queues=a&kind=listed&jitter=101", "jitter");
        check("queues=a&kind=listed&jitter=much", "jitter");
        check("queues=a&kind=listed&reason=bored", "reason");
    }
}

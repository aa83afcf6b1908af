//! A policy as it comes in by a form or a call, read field by field.

use std::{
    fmt::{self, Display},
    str::FromStr,
    time::Duration,
};

use crate::{
    config::values::parse_duration,
    domain::policy::{Delays, Policy, Via},
    services::{policies::PolicyError, schemas::MappingError},
    web::{
        error::{WebError, codes::FaultCode},
        view::conflict::overtaken,
    },
};

/// What was given, and what was left out.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    pub queues: String,
    pub reason: Option<String>,
    pub delays: Option<Vec<String>>,
    pub initial: Option<String>,
    pub factor: Option<f64>,
    pub max: Option<String>,
    pub attempts: Option<u32>,
    /// A share, 0 to 1.
    pub jitter: Option<f64>,
    pub via: Option<String>,
    pub keep_routing_key: Option<bool>,
}

/// What is wrong, and with which field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub field: &'static str,
    /// Which of its items, from 0 on, where it is a list.
    pub item: Option<usize>,
    pub code: FaultCode,
    pub why: String,
}

impl Wrong {
    pub fn new(field: &'static str, why: impl Display) -> Self {
        Self { field, item: None, code: FaultCode::Invalid, why: why.to_string() }
    }

    /// The same of this kind.
    pub fn of(self, code: FaultCode) -> Self {
        Self { code, ..self }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.why)
    }
}

impl From<Wrong> for WebError {
    fn from(wrong: Wrong) -> Self {
        let item = wrong.item.map(|item| format!(".{item}")).unwrap_or_default();
        Self::field(&format!("{}{item}", wrong.field), wrong.code, wrong.why)
    }
}

/// Why something was not set.
pub enum Refused {
    Wrong(Wrong),
    Error(WebError),
}

impl From<Wrong> for Refused {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

impl From<Vec<Wrong>> for WebError {
    fn from(wrong: Vec<Wrong>) -> Self {
        let all = Self::all(wrong.into_iter().map(Self::from));
        all.unwrap_or_else(|| Self::unprocessable("It cannot be read."))
    }
}

impl From<PolicyError> for Refused {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Invalid(why) => Self::Wrong(Wrong::new("queues", why)),
            PolicyError::Changed(changed) => Self::Error(overtaken(&changed)),
            PolicyError::Store(error) => Self::Error(error.into()),
        }
    }
}

impl From<MappingError> for Refused {
    fn from(error: MappingError) -> Self {
        match error {
            MappingError::Invalid(field, why) => Self::Wrong(Wrong::new(field, why)),
            MappingError::Changed(changed) => Self::Error(overtaken(&changed)),
            MappingError::Store(error) => Self::Error(error.into()),
        }
    }
}

impl From<Refused> for WebError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Wrong(wrong) => wrong.into(),
            Refused::Error(error) => error,
        }
    }
}

impl Draft {
    /// What is left out is as the configuration has it.
    ///
    /// # Errors
    /// All that is wrong.
    pub fn policy(&self) -> Result<Policy, Vec<Wrong>> {
        const JITTER: f64 = 0.1;
        let mut wrong = Vec::new();
        let policy = Policy {
            queues: kept(self.queues(), &mut wrong),
            reason: kept(parsed("reason", self.reason.as_deref()), &mut wrong),
            delays: self.delays(&mut wrong),
            jitter: self.jitter.unwrap_or(JITTER),
            via: kept(parsed("via", self.via.as_deref()), &mut wrong).unwrap_or(Via::Database),
            keep_routing_key: self.keep_routing_key.unwrap_or(false),
        };
        if !(0.0..=1.0).contains(&policy.jitter) {
            let why = format!("{} is out of range; it takes 0 to 1", policy.jitter);
            wrong.push(Wrong::new("jitter", why).of(FaultCode::Range));
        }
        if wrong.is_empty() { Ok(policy) } else { Err(wrong) }
    }

    fn queues(&self) -> Result<String, Wrong> {
        let of_queues = Policy { queues: self.queues.clone(), ..Policy::none() };
        of_queues.check().map(|()| of_queues.queues).map_err(|why| Wrong::new("queues", why).of(FaultCode::Length))
    }

    fn delays(&self, wrong: &mut Vec<Wrong>) -> Delays {
        let growing =
            [("factor", self.factor.is_some()), ("max", self.max.is_some()), ("attempts", self.attempts.is_some())];
        let excluded = |field, why| Wrong::new(field, why).of(FaultCode::Excluded);
        if self.initial.is_none() {
            let given = growing.into_iter().filter(|(_, is_given)| *is_given);
            wrong.extend(given.map(|(field, _)| excluded(field, "it goes only with initial")));
        }
        match (&self.delays, &self.initial) {
            (Some(_), Some(_)) => wrong.push(excluded("delays", "it takes delays or initial, not both")),
            (Some(delays), None) => return listed(delays, wrong),
            (None, Some(initial)) => return self.growing(initial, wrong),
            (None, None) => {
                let why = "it takes a list like 10s, 100s, or initial; an empty list is none";
                wrong.push(Wrong::new("delays", why).of(FaultCode::Required));
            }
        }
        Delays::Listed(Vec::new())
    }

    fn growing(&self, initial: &str, wrong: &mut Vec<Wrong>) -> Delays {
        const FACTOR: f64 = 2.0;
        const MAX: Duration = Duration::from_secs(60 * 60);
        const ATTEMPTS: u32 = 5;
        let initial = kept(duration("initial", initial), wrong);
        let max = self.max.as_deref().map_or(MAX, |max| kept(delay("max", max), wrong));
        let (factor, attempts) = (self.factor.unwrap_or(FACTOR), self.attempts.unwrap_or(ATTEMPTS));
        if !(1.0..=1_000.0).contains(&factor) {
            let why = format!("{factor} is out of range; it takes 1 to 1000");
            wrong.push(Wrong::new("factor", why).of(FaultCode::Range));
        }
        if !(1..=Delays::MAX_RETRIES).contains(&attempts) {
            let why =
                format!("{attempts} is out of range; it takes 1 to {}; for none, list no delays", Delays::MAX_RETRIES);
            wrong.push(Wrong::new("attempts", why).of(FaultCode::Range));
        }
        Delays::Growing { initial, factor, max, attempts }
    }
}

fn listed(delays: &[String], wrong: &mut Vec<Wrong>) -> Delays {
    let listed = delays.iter().enumerate().map(|(item, text)| {
        let read = delay("delays", text).map_err(|wrong| Wrong { item: Some(item), ..wrong });
        kept(read, wrong)
    });
    let listed = Delays::Listed(listed.collect());
    if listed.retries() > Delays::MAX_RETRIES as usize {
        let why = format!("{} retries are too many; it takes up to {}", listed.retries(), Delays::MAX_RETRIES);
        wrong.push(Wrong::new("delays", why).of(FaultCode::Length));
    }
    listed
}

/// What was read; where it could not be, its default, and why is kept.
fn kept<T: Default>(read: Result<T, Wrong>, wrong: &mut Vec<Wrong>) -> T {
    read.unwrap_or_else(|why| {
        wrong.push(why);
        T::default()
    })
}

/// One that a message may wait for.
fn delay(field: &'static str, text: &str) -> Result<Duration, Wrong> {
    let delay = duration(field, text)?;
    let too_long = || Wrong::new(field, Delays::TOO_LONG).of(FaultCode::Range);
    Some(delay).filter(|delay| *delay <= Delays::MAX_DELAY).ok_or_else(too_long)
}

fn duration(field: &'static str, text: &str) -> Result<Duration, Wrong> {
    parse_duration(text).map_err(|why| Wrong::new(field, why).of(FaultCode::Format))
}

fn parsed<T: FromStr<Err = String>>(field: &'static str, text: Option<&str>) -> Result<Option<T>, Wrong> {
    text.map(|text| text.parse().map_err(|why: String| Wrong::new(field, why).of(FaultCode::Choice))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(delays: &[&str]) -> Draft {
        let delays = delays.iter().map(|delay| (*delay).to_owned()).collect();
        Draft { queues: "a".to_owned(), delays: Some(delays), ..Draft::default() }
    }

    fn growing(initial: &str) -> Draft {
        Draft { queues: "a".to_owned(), initial: Some(initial.to_owned()), ..Draft::default() }
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let policy = growing("1s").policy().unwrap();
        assert_eq!((policy.delays.retries(), policy.jitter, policy.via), (5, 0.1, Via::Database));
        assert_eq!(listed(&[]).policy().unwrap().delays, Delays::Listed(Vec::new()));
    }

    #[test]
    fn what_is_wrong_is_told_by_its_field() {
        let check = |draft: Draft, field| assert_eq!(draft.policy().unwrap_err()[0].field, field, "{draft:?}");
        check(Draft { queues: String::new(), ..listed(&["1s"]) }, "queues");
        check(Draft { reason: Some("bored".to_owned()), ..listed(&["1s"]) }, "reason");
        check(listed(&["soon"]), "delays");
        check(listed(&["40d"]), "delays");
        check(Draft { initial: Some("1s".to_owned()), ..listed(&["1s"]) }, "delays");
        check(Draft { attempts: Some(3), ..listed(&["1s"]) }, "attempts");
        check(Draft { queues: "a".to_owned(), ..Draft::default() }, "delays");
        check(growing("soon"), "initial");
        check(Draft { factor: Some(0.1), ..growing("1s") }, "factor");
        check(Draft { attempts: Some(101), ..growing("1s") }, "attempts");
        check(Draft { attempts: Some(0), ..growing("1s") }, "attempts");
        check(Draft { max: Some("40d".to_owned()), ..growing("35d") }, "max");
        check(Draft { jitter: Some(2.0), ..listed(&["1s"]) }, "jitter");
        check(Draft { via: Some("mail".to_owned()), ..listed(&["1s"]) }, "via");
        let all = Draft { jitter: Some(2.0), queues: String::new(), ..listed(&["1s", "soon", "40d"]) };
        let places: Vec<_> = all.policy().unwrap_err().iter().map(|wrong| (wrong.field, wrong.item)).collect();
        assert_eq!(places, [("queues", None), ("delays", Some(1)), ("delays", Some(2)), ("jitter", None)]);
    }
}

//! A policy as it comes in by a form or a call, read field by field.

use std::{
    fmt::{self, Display},
    str::FromStr,
    time::Duration,
};

use super::{codes::FaultCode, error::WebError, view::conflict::overtaken};
use crate::{
    config::values::parse_duration,
    domain::policy::{Delays, Policy, Via},
    services::{policies::PolicyError, schemas::MappingError},
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
    pub fn policy(&self) -> Result<Policy, Wrong> {
        const JITTER: f64 = 0.1;
        let policy = Policy {
            queues: self.queues.clone(),
            reason: parsed("reason", self.reason.as_deref())?,
            delays: self.delays()?,
            jitter: self.jitter.unwrap_or(JITTER),
            via: parsed("via", self.via.as_deref())?.unwrap_or(Via::Database),
            keep_routing_key: self.keep_routing_key.unwrap_or(false),
        };
        policy.check().map_err(|why| Wrong::new(field_at_fault(&policy), why))?;
        Ok(policy)
    }

    fn delays(&self) -> Result<Delays, Wrong> {
        const FACTOR: f64 = 2.0;
        const MAX: Duration = Duration::from_secs(60 * 60);
        const ATTEMPTS: u32 = 5;
        match (&self.delays, &self.initial) {
            (Some(_), Some(_)) => {
                Err(Wrong::new("delays", "it takes delays or initial, not both").of(FaultCode::Excluded))
            }
            (Some(delays), None) => self.listed(delays),
            (None, Some(initial)) => Ok(Delays::Growing {
                initial: duration("initial", initial)?,
                factor: self.factor.unwrap_or(FACTOR),
                max: self.max.as_deref().map_or(Ok(MAX), |max| duration("max", max))?,
                attempts: self.attempts.unwrap_or(ATTEMPTS),
            }),
            (None, None) => {
                let why = "it takes a list like 10s, 100s, or initial; an empty list is none";
                Err(Wrong::new("delays", why).of(FaultCode::Required))
            }
        }
    }

    fn listed(&self, delays: &[String]) -> Result<Delays, Wrong> {
        let belongs_elsewhere =
            [("factor", self.factor.is_some()), ("max", self.max.is_some()), ("attempts", self.attempts.is_some())];
        if let Some((field, _)) = belongs_elsewhere.into_iter().find(|(_, given)| *given) {
            return Err(Wrong::new(field, "it belongs to initial, which is not given").of(FaultCode::Excluded));
        }
        let read = |(item, delay): (usize, &String)| {
            let short_enough = |delay: Duration| {
                let too_long = || Wrong::new("delays", Delays::TOO_LONG).of(FaultCode::Range);
                Some(delay).filter(|delay| *delay <= Delays::MAX_DELAY).ok_or_else(too_long)
            };
            let delay = duration("delays", delay).and_then(short_enough);
            delay.map_err(|wrong| Wrong { item: Some(item), ..wrong })
        };
        delays.iter().enumerate().map(read).collect::<Result<_, _>>().map(Delays::Listed)
    }
}

fn duration(field: &'static str, text: &str) -> Result<Duration, Wrong> {
    parse_duration(text).map_err(|why| Wrong::new(field, why).of(FaultCode::Format))
}

fn parsed<T: FromStr<Err = String>>(field: &'static str, text: Option<&str>) -> Result<Option<T>, Wrong> {
    text.map(|text| text.parse().map_err(|why: String| Wrong::new(field, why).of(FaultCode::Choice))).transpose()
}

/// Which field a policy's own check means.
fn field_at_fault(policy: &Policy) -> &'static str {
    let with = |delays: Delays| Policy { delays, ..policy.clone() }.check().is_ok();
    match &policy.delays {
        _ if !with(Delays::Listed(Vec::new())) => {
            if (0.0..=1.0).contains(&policy.jitter) {
                "queues"
            } else {
                "jitter"
            }
        }
        Delays::Listed(_) => "delays",
        Delays::Growing { factor, .. } if !(1.0..=1_000.0).contains(factor) => "factor",
        Delays::Growing { attempts, .. } if *attempts == 0 || *attempts > Delays::MAX_RETRIES => "attempts",
        Delays::Growing { max, .. } if *max > Delays::MAX_DELAY => "max",
        Delays::Growing { .. } => "initial",
    }
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
        let check = |draft: Draft, field| assert_eq!(draft.policy().unwrap_err().field, field, "{draft:?}");
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
    }
}

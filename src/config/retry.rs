//! `[retry]`: the policies of automatic retries.

use std::{collections::BTreeMap, time::Duration};

use amqp_message::death::Reason;
use serde::{Deserialize, Deserializer, de::Error};

use super::values::{duration, durations, list, word};
use crate::domain::policy::{Delays, Policy, Via};

/// `[retry]`, `[retry.queues."GLOB"]`, and `[….reasons.REASON]` in both. What a table leaves out is as in the one
/// around it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetryConfig {
    #[serde(deserialize_with = "some_durations")]
    pub delays: Option<Vec<Duration>>,
    #[serde(deserialize_with = "some_duration")]
    pub initial: Option<Duration>,
    pub factor: Option<f64>,
    #[serde(deserialize_with = "some_duration")]
    pub max: Option<Duration>,
    pub attempts: Option<u32>,
    #[serde(deserialize_with = "some_share")]
    pub jitter: Option<f64>,
    #[serde(deserialize_with = "some_via")]
    pub via: Option<Via>,
    pub keep_routing_key: Option<bool>,
    #[serde(deserialize_with = "some_list")]
    pub targets: Option<Vec<String>>,
    pub reasons: BTreeMap<String, RetryConfig>,
    pub queues: BTreeMap<String, RetryConfig>,
}

impl RetryConfig {
    /// The policies it describes; the first is the one of every queue.
    ///
    /// # Errors
    /// Names the key and what it takes.
    pub fn policies(&self) -> Result<Vec<Policy>, String> {
        let default = Policy {
            queues: Policy::EVERY_QUEUE.to_owned(),
            reason: None,
            delays: Delays::Listed([10, 100, 1000].map(Duration::from_secs).to_vec()),
            jitter: 0.1,
            via: Via::Database,
            keep_routing_key: false,
        };
        let mut policies = self.with_reasons("retry", &default)?;
        for (queues, config) in &self.queues {
            let key = format!("retry.queues.{queues:?}");
            if !config.queues.is_empty() {
                return Err(format!("{key}.queues: there are no queues within queues"));
            }
            config.check_no_targets(&key)?;
            let around = Policy { queues: queues.clone(), ..policies[0].clone() };
            policies.extend(config.with_reasons(&key, &around)?);
        }
        Ok(policies)
    }

    /// The queues that messages may be sent to.
    pub fn target_patterns(&self) -> Vec<String> {
        self.targets.clone().unwrap_or_else(|| vec![Policy::EVERY_QUEUE.to_owned()])
    }

    fn check_no_targets(&self, key: &str) -> Result<(), String> {
        match self.targets {
            Some(_) => Err(format!("{key}.targets: they stand in [retry], for all queues")),
            None => Ok(()),
        }
    }

    /// The policy of this table and those of its reasons.
    fn with_reasons(&self, key: &str, around: &Policy) -> Result<Vec<Policy>, String> {
        let mut policies = vec![self.policy(key, around)?];
        for (reason, config) in &self.reasons {
            let key = format!("{key}.reasons.{reason}");
            if !config.queues.is_empty() || !config.reasons.is_empty() {
                return Err(format!("{key}: there are no queues or reasons within reasons"));
            }
            config.check_no_targets(&key)?;
            let reason: Reason = reason.parse().map_err(|error| format!("{key}: {error}"))?;
            let around = Policy { reason: Some(reason), ..policies[0].clone() };
            policies.push(config.policy(&key, &around)?);
        }
        Ok(policies)
    }

    fn policy(&self, key: &str, around: &Policy) -> Result<Policy, String> {
        let policy = Policy {
            queues: around.queues.clone(),
            reason: around.reason,
            delays: self.delays(key, &around.delays)?,
            jitter: self.jitter.unwrap_or(around.jitter),
            via: self.via.unwrap_or(around.via),
            keep_routing_key: self.keep_routing_key.unwrap_or(around.keep_routing_key),
        };
        policy.check().map_err(|error| format!("{key}: {error}"))?;
        Ok(policy)
    }

    fn delays(&self, key: &str, around: &Delays) -> Result<Delays, String> {
        let grows = self.factor.is_some() || self.max.is_some() || self.attempts.is_some();
        let (around_initial, factor, max, attempts) = match *around {
            Delays::Growing { initial, factor, max, attempts } => (Some(initial), factor, max, attempts),
            Delays::Listed(_) => (None, 2.0, Duration::from_secs(60 * 60), 5),
        };
        let initial = match (&self.delays, self.initial) {
            (Some(_), Some(_)) => return Err(format!("{key}: it takes delays or initial, not both")),
            (Some(delays), None) if !grows => return Ok(Delays::Listed(delays.clone())),
            (None, None) if !grows => return Ok(around.clone()),
            (None, initial) => initial.or(around_initial),
            (Some(_), None) => None,
        };
        Ok(Delays::Growing {
            initial: initial
                .ok_or_else(|| format!("{key}: factor, max and attempts belong to initial, which is not set"))?,
            factor: self.factor.unwrap_or(factor),
            max: self.max.unwrap_or(max),
            attempts: self.attempts.unwrap_or(attempts),
        })
    }
}

fn some_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

fn some_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    list(deserializer).map(Some)
}

fn some_durations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Duration>>, D::Error> {
    durations(deserializer).map(Some)
}

fn some_via<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Via>, D::Error> {
    word(deserializer).map(Some)
}

fn some_share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let share = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&share) {
        return Ok(Some(share));
    }
    Err(D::Error::custom(format!("{share} is out of range; it takes 0 to 1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policies(text: &str) -> Result<Vec<Policy>, String> {
        toml::from_str::<RetryConfig>(text).unwrap().policies()
    }

    fn seconds(delays: &Delays) -> Vec<u64> {
        (1..).map_while(|n| delays.after(n)).map(|delay| delay.as_secs()).collect()
    }

    #[test]
    fn three_retries_unless_configured() {
        let policies = policies("").unwrap();
        assert_eq!((policies.len(), &*policies[0].queues, policies[0].jitter), (1, "*", 0.1));
        assert_eq!(seconds(&policies[0].delays), [10, 100, 1000]);
    }

    #[test]
    fn what_is_left_out_is_as_around_it() {
        let policies = policies(
            r#"
            via = "broker"
            jitter = 0.5
            [reasons.expired]
            delays = []
            [queues."Texts.*"]
            initial = "1s"
            factor = 3.0
            attempts = 3
            [queues."Texts.*".reasons.maxlen]
            jitter = 0.0
            [queues."Texts.*".reasons.expired]
            initial = "5s"
            [queues."Texts.*".reasons.rejected]
            attempts = 4
            max = "4s"
            "#,
        )
        .unwrap();
        let found: Vec<_> = policies
            .iter()
            .map(|policy| (&*policy.queues, policy.reason, seconds(&policy.delays), policy.jitter, policy.via))
            .collect();
        let expected = [
            ("*", None, vec![10, 100, 1000], 0.5, Via::Broker),
            ("*", Some(Reason::Expired), vec![], 0.5, Via::Broker),
            ("Texts.*", None, vec![1, 3, 9], 0.5, Via::Broker),
            ("Texts.*", Some(Reason::Expired), vec![5, 15, 45], 0.5, Via::Broker),
            ("Texts.*", Some(Reason::MaxLen), vec![1, 3, 9], 0.0, Via::Broker),
            ("Texts.*", Some(Reason::Rejected), vec![1, 3, 4, 4], 0.5, Via::Broker),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_key() {
        fn check(text: &str, parts: [&str; 2]) {
            let error = policies(text).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        }
        check("delays = [\"1s\"]\ninitial = \"1s\"", ["retry", "not both"]);
        check("attempts = 3", ["retry", "initial"]);
        check("[queues.a]\ninitial = \"1s\"\nfactor = 0.1", ["retry.queues.\"a\"", "1 to 1000"]);
        check("[queues.a.queues.b]", ["retry.queues.\"a\".queues", "within"]);
        check("[reasons.bored]", ["retry.reasons.bored", "rejected"]);
        check("[reasons.expired.reasons.maxlen]", ["retry.reasons.expired", "within"]);
    }
}

//! How the app stands with a broker, in words, and what to do about it.

use amqp_message::time::Timestamp;

use super::{text, time::Moment};
use crate::domain::{
    broker::{BrokerHealth, ConnectionState},
    health::ConditionKind,
};

#[derive(Debug)]
pub struct BrokerView {
    pub name: String,
    pub address: String,
    /// The class of its dot; the words say the same.
    pub class: &'static str,
    /// `connected`, `connection lost`
    pub state: &'static str,
    pub since: Option<Moment>,
    pub why: String,
    /// What a user can do; empty when nothing needs doing.
    pub advice: String,
}

impl BrokerView {
    pub fn new(broker: &BrokerHealth, now: Timestamp) -> Self {
        let worst = broker.consuming.worse(&broker.publishing);
        let base = Self {
            name: text::one_line(&broker.name),
            address: text::one_line(&broker.address),
            class: "ok",
            state: "connected",
            since: since(worst).map(|at| Moment::new(at, now)),
            why: String::new(),
            advice: String::new(),
        };
        match (worst, &broker.holding) {
            (ConnectionState::Elsewhere, _) => Self { class: "", state: "served by another process", ..base },
            (ConnectionState::Connected { .. }, None) => base,
            (ConnectionState::Connected { .. }, Some(holding)) => Self {
                class: "warn",
                state: "holding deliveries",
                why: text::one_line(&holding.why),
                advice: ConditionKind::IntakeHeld.what_to_do(&base.name),
                ..base
            },
            (trouble, _) => base.in_trouble(trouble),
        }
    }

    pub fn is_in_trouble(&self) -> bool {
        !self.advice.is_empty()
    }

    fn in_trouble(self, state: &ConnectionState) -> Self {
        let (class, words, kind) = match state {
            ConnectionState::Blocked { .. } => ("warn", "blocked by an alarm", ConditionKind::BrokerBlocked),
            ConnectionState::Refused { .. } => ("bad", "refused", ConditionKind::BrokerRefuses),
            ConnectionState::Lost { .. } => ("bad", "connection lost", ConditionKind::BrokerUnreachable),
            _ => ("warn", "connecting", ConditionKind::BrokerUnreachable),
        };
        let why = if let ConnectionState::Connecting = state { "" } else { state.trouble().unwrap_or_default() };
        let advice = kind.what_to_do(&self.name);
        Self { class, state: words, why: text::one_line(why), advice, ..self }
    }
}

const fn since(state: &ConnectionState) -> Option<Timestamp> {
    match *state {
        ConnectionState::Connecting | ConnectionState::Elsewhere => None,
        ConnectionState::Connected { since }
        | ConnectionState::Blocked { since, .. }
        | ConnectionState::Refused { since, .. }
        | ConnectionState::Lost { since, .. } => Some(since),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::broker::Holding;

    fn check(consuming: ConnectionState, holding: Option<&str>, state: &str, class: &str, has_advice: bool) {
        let broker = BrokerHealth {
            name: "main".to_owned(),
            address: "localhost:5672/".to_owned(),
            publishing: ConnectionState::Connected { since: Timestamp::default() },
            consuming,
            holding: holding.map(|why| Holding { since: Timestamp::default(), why: why.to_owned(), is_full: false }),
        };
        let view = BrokerView::new(&broker, Timestamp::default());
        assert_eq!((view.state, view.class, !view.advice.is_empty()), (state, class, has_advice));
    }

    #[test]
    fn every_trouble_comes_with_advice() {
        let since = Timestamp::default();
        check(ConnectionState::Connected { since }, None, "connected", "ok", false);
        check(ConnectionState::Connected { since }, Some("disk full"), "holding deliveries", "warn", true);
        check(ConnectionState::Elsewhere, None, "connected", "ok", false);
        check(ConnectionState::Connecting, None, "connecting", "warn", true);
        check(ConnectionState::Blocked { since, why: "memory".to_owned() }, None, "blocked by an alarm", "warn", true);
        check(ConnectionState::Refused { since, why: "no access".to_owned() }, None, "refused", "bad", true);
        check(ConnectionState::Lost { since, why: "refused".to_owned() }, None, "connection lost", "bad", true);
    }
}

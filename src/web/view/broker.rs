//! How the app stands with a broker, in words, and what to do about it.

use amqp_message::time::Timestamp;

use super::{text, time::Moment};
use crate::domain::broker::{BrokerHealth, ConnectionState};

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
            (ConnectionState::Connected { .. }, Some(why)) => Self {
                class: "warn",
                state: "holding deliveries",
                why: text::one_line(why),
                advice: "RabbitMQ keeps them until the database can be written; nothing is lost. Check the database."
                    .to_owned(),
                ..base
            },
            (trouble, _) => base.in_trouble(broker, trouble),
        }
    }

    pub fn is_in_trouble(&self) -> bool {
        !self.advice.is_empty()
    }

    fn in_trouble(self, broker: &BrokerHealth, state: &ConnectionState) -> Self {
        let (class, words, advice) = match state {
            ConnectionState::Blocked { .. } => (
                "warn",
                "blocked by an alarm",
                "RabbitMQ is short of memory or disk and takes nothing in. Free some there; work resumes by itself."
                    .to_owned(),
            ),
            ConnectionState::Lost { .. } => ("bad", "connection lost", lost_advice(broker)),
            _ => ("warn", "connecting", lost_advice(broker)),
        };
        let why = if let ConnectionState::Connecting = state { "" } else { state.trouble().unwrap_or_default() };
        Self { class, state: words, why: text::one_line(why), advice, ..self }
    }
}

fn lost_advice(broker: &BrokerHealth) -> String {
    format!(
        "dlo keeps trying. Check that RabbitMQ runs at {} and that brokers.{}.url has the right user and vhost.",
        text::one_line(&broker.address),
        text::one_line(&broker.name)
    )
}

const fn since(state: &ConnectionState) -> Option<Timestamp> {
    match *state {
        ConnectionState::Connecting | ConnectionState::Elsewhere => None,
        ConnectionState::Connected { since }
        | ConnectionState::Blocked { since, .. }
        | ConnectionState::Lost { since, .. } => Some(since),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(consuming: ConnectionState, holding: Option<&str>, state: &str, class: &str, has_advice: bool) {
        let broker = BrokerHealth {
            name: "main".to_owned(),
            address: "localhost:5672/".to_owned(),
            publishing: ConnectionState::Connected { since: Timestamp::default() },
            consuming,
            holding: holding.map(str::to_owned),
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
        check(ConnectionState::Lost { since, why: "refused".to_owned() }, None, "connection lost", "bad", true);
    }
}

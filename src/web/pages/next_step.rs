//! The one thing to do next where no dead letter has come yet.

use crate::{
    domain::watch::DeadLetterPath,
    services::getting_started::ServiceQueue,
    web::{state::AppState, view::broker::BrokerView, visitor::Visitor},
};

/// Where nothing has come, what would make it come.
pub struct NextStep {
    pub title: &'static str,
    pub about: &'static str,
    /// Brokers that cannot be used, with what is the matter.
    pub troubled: Vec<BrokerView>,
    pub href: &'static str,
    pub label: &'static str,
}

impl NextStep {
    /// By what is known without asking anybody.
    pub fn of(app: &AppState) -> Self {
        let now = app.clock.now();
        let brokers = app.brokers.all();
        let troubled: Vec<_> =
            brokers.iter().map(|broker| BrokerView::new(broker, now)).filter(BrokerView::is_in_trouble).collect();
        if !troubled.is_empty() {
            return Self {
                title: "No dead letters yet, and a broker is not connected.",
                about: "Connect it first: until then nothing can come from there.",
                troubled,
                href: "/get-started",
                label: "What to check",
            };
        }
        let is_pointed = brokers.iter().any(|broker| points_here(app, &broker.name));
        let step = Self {
            title: "No dead letters yet.",
            about: "dlo is connected to RabbitMQ. What a queue that points here dead-letters appears within a second. Next: \
                    point a queue here.",
            troubled,
            href: "/get-started#queue",
            label: "Point a queue here",
        };
        if !is_pointed {
            return step;
        }
        Self {
            about: "A queue points here, and nothing has failed since. Next: see that a dead letter arrives.",
            href: "/get-started#test",
            label: "Send a test dead letter",
            ..step
        }
    }
}

/// Whether a queue that whoever asks may see sends its dead letters here, as far as the broker was asked.
fn points_here(app: &AppState, broker: &str) -> bool {
    let Some(look) = app.getting_started.last_look(broker) else { return false };
    let is_one = |queue: &ServiceQueue| queue.path == DeadLetterPath::Here && Visitor::sees_queue(broker, &queue.name);
    look.queues.as_ref().is_ok_and(|queues| queues.iter().any(is_one))
}

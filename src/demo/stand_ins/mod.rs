//! Servers on loopback that stand in for Slack, PagerDuty, Alertmanager and the receiver of a webhook.
//!
//! Each checks what the real one checks, keeps what it received, and can be made to misbehave; `GET /` shows what came
//! in. They know nothing of how dlo writes what it sends.

mod alertmanager;
mod answered;
mod line;
mod page;
mod pagerduty;
mod server;
mod slack;
mod webhook;

pub use alertmanager::AlertmanagerStandIn;
pub use answered::Answered;
pub use pagerduty::{PagerDutyIncident, PagerDutyStandIn};
pub use server::{Misbehaviour, StandIn};
pub use slack::{SlackSchema, SlackStandIn};
pub use webhook::WebhookStandIn;

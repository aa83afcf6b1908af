//! Whom the demo's server notifies, stand-ins for Slack and PagerDuty, and the rules that say of what.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use uuid::Uuid;

use super::stand_ins::{PagerDutyStandIn, SlackStandIn};
use crate::{
    clock::Clock,
    config::{Config, DigestConfig, values::Secret},
    domain::{
        access::Right,
        actor::Actor,
        letter::Importance,
        marker::{Marker, MarkerKind},
        rule::Rule,
        version::Expected,
    },
    services::{audited_store::AuditedStore, change_feed::ChangeFeed, rules::Rules, wakeup::Wakeup},
    store::Store,
};

/// Often enough to see one; at nine in the morning nobody may be watching.
const DIGEST_SCHEDULE: &str = "*/5 * * * *";

const RULES: [(&str, &str, Importance); 3] = [
    ("large orders", "letter.queue == \"billing.invoices\" && payload.total.cents >= 4000", Importance::Critical),
    ("orders", "letter.type.startsWith(\"acme.orders.\")", Importance::High),
    ("counters", "letter.queue.startsWith(\"stats.\")", Importance::Low),
];

/// People with a Slack and a pager; both are there as long as this is.
pub(super) struct People {
    slack: SlackStandIn,
    pagerduty: PagerDutyStandIn,
}

impl People {
    pub async fn gather() -> anyhow::Result<Self> {
        // What Slack takes is checked in the tests; here somebody looks at it.
        Ok(Self { slack: SlackStandIn::open(|_| Ok(())).await?, pagerduty: PagerDutyStandIn::open().await? })
    }

    /// Has dlo notify them, unless the configuration names others.
    pub fn subscribe(&self, config: &mut Config) -> anyhow::Result<()> {
        let notify = &mut config.notify;
        if !notify.slack.is_set() {
            notify.slack.webhook_url = Secret::new(self.slack.webhook_url());
            tracing::info!("fake Slack: received messages at {}", self.slack.url());
        }
        if notify.pagerduty.routing_key.is_empty() {
            notify.pagerduty.routing_key = Secret::new(self.pagerduty.routing_key());
            notify.pagerduty.url = self.pagerduty.url().parse()?;
            tracing::info!("fake PagerDuty: received incidents at {}", self.pagerduty.url());
        }
        if notify.digest == DigestConfig::default() {
            notify.digest.schedule = DIGEST_SCHEDULE.to_owned();
            notify.digest.importance = vec![Importance::High, Importance::Normal, Importance::Low];
        }
        Ok(())
    }
}

/// Writes rules and a marker into a database that has none.
pub(super) async fn prepare(config: &Config) -> anyhow::Result<()> {
    let store = Store::open(config.database.url.reveal()).await?;
    store.migrate().await?;
    let (store, clock, by) = (Arc::new(store), Clock::system(), Actor::named("demo"));
    let changes = AuditedStore::new(store, clock.clone(), ChangeFeed::default(), Wakeup::default());
    changes.add_marker(&deploy(clock.now(), &by)).await?;
    if !config.rules.file.is_empty() {
        return Ok(());
    }
    let rules = Rules::new(None, changes, clock);
    for (name, expression, importance) in RULES {
        let rule = Rule { name: name.to_owned(), expression: expression.to_owned(), importance };
        rules.set(None, &rule, None, &Expected::Anything, &by).await?;
    }
    Ok(())
}

/// What broke the orders.
fn deploy(at: Timestamp, by: &Actor) -> Marker {
    Marker {
        id: Uuid::now_v7(),
        kind: MarkerKind::Deploy,
        title: "4711".to_owned(),
        at,
        service: Some("billing".to_owned()),
        queues: vec!["billing.*".to_owned()],
        link: None,
        within: by.scope(Right::Mark),
        by: by.clone(),
        set_at: at,
    }
}

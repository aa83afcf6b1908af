//! Alertmanager: API v2 (<https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml>).

use std::{
    collections::BTreeMap,
    io,
    ops::Deref,
    sync::{Arc, Mutex},
    time::Duration,
};

use amqp_message::time::Timestamp;
use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, json};

use super::{
    answered::Answered,
    server::{Manners, StandIn, json as in_json, lock},
};
use crate::clock::Clock;

/// How long an alert fires that does not say when it ends.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5 * 60);

type Labels = BTreeMap<String, String>;

pub struct AlertmanagerStandIn {
    stand_in: StandIn,
    alertmanager: Arc<Alertmanager>,
}

struct Alertmanager {
    clock: Clock,
    alerts: Mutex<BTreeMap<Labels, Span>>,
}

/// When an alert fires.
#[derive(Clone, Copy, Debug)]
struct Span {
    starts_at: Timestamp,
    ends_at: Timestamp,
    /// It did not say itself when it ends.
    is_assumed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Posted {
    labels: Labels,
    #[serde(default)]
    annotations: Labels,
    #[serde(default, deserialize_with = "date_time")]
    starts_at: Option<Timestamp>,
    #[serde(default, deserialize_with = "date_time")]
    ends_at: Option<Timestamp>,
    #[serde(rename = "generatorURL")]
    generator_url: Option<String>,
}

impl AlertmanagerStandIn {
    /// The clock says which alerts are over.
    ///
    /// # Errors
    /// When it cannot listen.
    pub async fn open(clock: Clock) -> io::Result<Self> {
        let alertmanager = Arc::new(Alertmanager { clock, alerts: Mutex::default() });
        Ok(Self { stand_in: StandIn::open(alertmanager.clone()).await?, alertmanager })
    }

    /// The labels of what fires now.
    pub fn firing(&self) -> Vec<Labels> {
        self.alertmanager.labels(|span, now| span.ends_at > now)
    }

    /// The labels of what has fired and is over.
    pub fn resolved(&self) -> Vec<Labels> {
        self.alertmanager.labels(|span, now| span.ends_at <= now)
    }
}

impl Deref for AlertmanagerStandIn {
    type Target = StandIn;

    fn deref(&self) -> &StandIn {
        &self.stand_in
    }
}

impl Manners for Alertmanager {
    const NAME: &'static str = "Alertmanager";

    fn answer(&self, request: &Answered) -> Response<Body> {
        if request.is_get("/api/v2/status") {
            let status = json!({ "cluster": { "status": "disabled" }, "versionInfo": { "version": "stand-in" } });
            return in_json(StatusCode::OK, &status);
        }
        if !request.is_post("/api/v2/alerts") {
            return in_json(StatusCode::NOT_FOUND, &json!({ "code": 404, "message": "path was not found" }));
        }
        if !request.is_json() {
            return in_json(StatusCode::UNSUPPORTED_MEDIA_TYPE, &json!({ "code": 415, "message": "not JSON" }));
        }
        match serde_json::from_slice::<Vec<Posted>>(&request.body) {
            Ok(alerts) => self.take_all(alerts),
            Err(error) => {
                let body = json!({ "code": 422, "message": error.to_string() });
                in_json(StatusCode::UNPROCESSABLE_ENTITY, &body)
            }
        }
    }
}

impl Alertmanager {
    /// Takes those that are valid, and complains of the others.
    fn take_all(&self, alerts: Vec<Posted>) -> Response<Body> {
        let complaints: Vec<String> = alerts.into_iter().filter_map(|alert| self.take(alert).err()).collect();
        if complaints.is_empty() {
            return Response::default();
        }
        in_json(StatusCode::BAD_REQUEST, &Value::from(complaints.join("; ")))
    }

    fn take(&self, mut alert: Posted) -> Result<(), String> {
        let now = self.clock.now();
        let new = Span {
            starts_at: alert.starts_at.or(alert.ends_at).unwrap_or(now),
            ends_at: alert.ends_at.unwrap_or_else(|| now.plus(RESOLVE_TIMEOUT)),
            is_assumed: alert.ends_at.is_none(),
        };
        alert.labels.retain(|_, value| !value.is_empty());
        validate(&alert, new)?;
        let mut alerts = lock(&self.alerts);
        let merged = alerts.get(&alert.labels).map_or(new, |old| old.merged_with(new, now));
        alerts.insert(alert.labels, merged);
        Ok(())
    }

    fn labels(&self, takes: fn(&Span, Timestamp) -> bool) -> Vec<Labels> {
        let now = self.clock.now();
        lock(&self.alerts).iter().filter(|(_, span)| takes(span, now)).map(|(labels, _)| labels.clone()).collect()
    }
}

impl Span {
    /// As Alertmanager's `provider/mem` and `types.Alert.Merge` have it, where `new` is the younger.
    fn merged_with(self, new: Self, now: Timestamp) -> Self {
        let during = |at: Timestamp| self.starts_at < at && at < self.ends_at;
        if !during(new.ends_at) && !during(new.starts_at) {
            return new;
        }
        let starts_at = new.starts_at.min(self.starts_at);
        let is_resolved = |span: Self| span.ends_at <= now;
        let keeps_old_end = if is_resolved(new) { is_resolved(self) } else { !self.is_assumed };
        let ends_at = if keeps_old_end { new.ends_at.max(self.ends_at) } else { new.ends_at };
        Self { starts_at, ends_at, is_assumed: new.is_assumed }
    }
}

fn validate(alert: &Posted, span: Span) -> Result<(), String> {
    if span.ends_at < span.starts_at {
        return Err("start time must be before end time".to_owned());
    }
    if alert.labels.is_empty() {
        return Err("at least one label pair required".to_owned());
    }
    if let Some(name) = alert.labels.keys().chain(alert.annotations.keys()).find(|name| !is_name(name)) {
        return Err(format!("invalid name {name:?}"));
    }
    let is_url = |text: &String| text.is_empty() || url::Url::parse(text).is_ok();
    if alert.generator_url.as_ref().is_some_and(|text| !is_url(text)) {
        return Err("generatorURL must be of type uri".to_owned());
    }
    Ok(())
}

/// `[a-zA-Z_][a-zA-Z0-9_]*`, which every version takes.
fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| is_word(c) && !c.is_ascii_digit()) && name.chars().all(is_word)
}

fn date_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let time: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
    Ok(Some(Timestamp::from_micros(time.as_microsecond())))
}

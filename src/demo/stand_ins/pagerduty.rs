//! PagerDuty: the Events API v2 (<https://developer.pagerduty.com/docs/send-alert-event>).

use std::{
    collections::BTreeMap,
    io,
    ops::Deref,
    sync::{Arc, Mutex},
};

use axum::{
    body::Body,
    http::{Response, StatusCode},
};
use serde_json::{Value, json};

use super::{
    answered::Answered,
    server::{Manners, StandIn, json as in_json, lock},
};

const ROUTING_KEY: &str = "s3cr3t0000000000000000000000beef";
/// Bytes of an event.
const MAX_EVENT: usize = 512 * 1_024;
const MAX_DEDUP_KEY: usize = 255;
const MAX_SUMMARY: usize = 1_024;

pub struct PagerDutyStandIn {
    stand_in: StandIn,
    pagerduty: Arc<PagerDuty>,
}

/// What it knows by one dedup key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PagerDutyIncident {
    pub is_open: bool,
    /// How often somebody was paged: a trigger pages only where nothing is open.
    pub pages: u32,
    /// Events with this key.
    pub events: u32,
    /// The latest payload.
    pub payload: Value,
}

#[derive(Default)]
struct PagerDuty {
    incidents: Mutex<BTreeMap<String, PagerDutyIncident>>,
}

impl PagerDutyStandIn {
    /// # Errors
    /// When it cannot listen.
    pub async fn open() -> io::Result<Self> {
        let pagerduty = Arc::new(PagerDuty::default());
        Ok(Self { stand_in: StandIn::open(pagerduty.clone()).await?, pagerduty })
    }

    pub const fn routing_key(&self) -> &'static str {
        ROUTING_KEY
    }

    /// All it knows, by dedup key.
    pub fn incidents(&self) -> BTreeMap<String, PagerDutyIncident> {
        lock(&self.pagerduty.incidents).clone()
    }
}

impl Deref for PagerDutyStandIn {
    type Target = StandIn;

    fn deref(&self) -> &StandIn {
        &self.stand_in
    }
}

impl Manners for PagerDuty {
    const NAME: &'static str = "PagerDuty";

    fn answer(&self, request: &Answered) -> Response<Body> {
        if !request.is_post("/v2/enqueue") {
            return in_json(StatusCode::NOT_FOUND, &json!({ "status": "not found" }));
        }
        if request.body.len() > MAX_EVENT {
            return in_json(StatusCode::PAYLOAD_TOO_LARGE, &json!({ "status": "too large" }));
        }
        let event = serde_json::from_slice::<Value>(&request.body).ok().filter(|_| request.is_json());
        let errors = event.as_ref().map_or_else(|| vec!["JSON parse error".to_owned()], complaints);
        match event {
            Some(event) if errors.is_empty() => {
                let dedup_key = self.take(&event);
                let body = json!({ "status": "success", "message": "Event processed", "dedup_key": dedup_key });
                in_json(StatusCode::ACCEPTED, &body)
            }
            _ => {
                let body = json!({ "status": "invalid event", "message": "Event object is invalid", "errors": errors });
                in_json(StatusCode::BAD_REQUEST, &body)
            }
        }
    }
}

impl PagerDuty {
    /// The key the event goes by, which is a new one where it brings none.
    fn take(&self, event: &Value) -> String {
        let mut incidents = lock(&self.incidents);
        let key = event["dedup_key"].as_str().map_or_else(|| format!("made-up-{}", incidents.len()), str::to_owned);
        let is_trigger = event["event_action"] == "trigger";
        if !is_trigger && !incidents.contains_key(&key) {
            // Nothing is open by that key; the real one accepts this too.
            return key;
        }
        let incident = incidents.entry(key.clone()).or_default();
        incident.events += 1;
        if is_trigger {
            incident.pages += u32::from(!incident.is_open);
            incident.payload = event["payload"].clone();
        }
        incident.is_open = is_trigger || (incident.is_open && event["event_action"] == "acknowledge");
        key
    }
}

/// Everything that is wrong with an event.
fn complaints(event: &Value) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut need = |fits: bool, complaint: &str| {
        if !fits {
            complaints.push(complaint.to_owned());
        }
    };
    let text = |name: &str| event[name].as_str();
    need(text("routing_key").is_some_and(|key| key.len() == 32), "'routing_key' should be 32 characters");
    need(text("routing_key") == Some(ROUTING_KEY), "'routing_key' is not known");
    let key = text("dedup_key").map(|key| key.chars().count());
    need(key.is_none_or(|length| (1..=MAX_DEDUP_KEY).contains(&length)), "'dedup_key' should be 1 to 255 characters");
    need(event.get("dedup_key").is_none_or(Value::is_string), "'dedup_key' is no string");
    match text("event_action") {
        Some("trigger") => {
            need(event["payload"].is_object(), "'payload' is missing");
            payload(&event["payload"], &mut need);
            need(event.get("links").is_none_or(are_links), "'links' is invalid");
            need(event.get("client_url").is_none_or(is_url), "'client_url' is no URL");
        }
        Some("acknowledge" | "resolve") => need(key.is_some(), "'dedup_key' is missing"),
        _ => need(false, "'event_action' is invalid"),
    }
    complaints
}

fn payload(payload: &Value, need: &mut impl FnMut(bool, &str)) {
    let text = |name: &str| payload[name].as_str().unwrap_or_default();
    let fits = |name: &str| payload.get(name).is_none_or(Value::is_string);
    need((1..=MAX_SUMMARY).contains(&text("summary").chars().count()), "'payload.summary' is missing or too long");
    need(!text("source").is_empty(), "'payload.source' is missing");
    need(["critical", "error", "warning", "info"].contains(&text("severity")), "'payload.severity' is invalid");
    let is_time = |value: &Value| value.as_str().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok());
    need(payload.get("timestamp").is_none_or(is_time), "'payload.timestamp' is invalid");
    need(["component", "group", "class"].into_iter().all(fits), "a field of the payload is no string");
    need(payload.get("custom_details").is_none_or(Value::is_object), "'payload.custom_details' is no object");
}

fn are_links(links: &Value) -> bool {
    links.as_array().is_some_and(|links| links.iter().all(|link| is_url(&link["href"])))
}

fn is_url(value: &Value) -> bool {
    value.as_str().is_some_and(|text| url::Url::parse(text).is_ok())
}

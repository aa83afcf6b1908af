//! What comes along to install dlo and to watch it agrees with the program, with itself and with its pages in the docs.

#![expect(clippy::unwrap_used, reason = "in helpers of tests a panic is the error handling")]

mod command_line;
mod containers;
mod install;

use std::{collections::BTreeSet, fs, path::PathBuf, time::Duration};

use amqp_message::{death::Reason, time::Timestamp};
use dead_letter_office::{
    domain::{
        broker::{BrokerHealth, ConnectionState},
        filter::FacetCount,
        health::Backlog,
        letter::{Importance, Status},
        notification::Channel,
    },
    metrics::{DatabaseObservation, HealthObservation, Metrics, NotificationOutcome, Observation, RetryKind},
};
use serde_json::{Value, json};

use crate::support::promtool::Promtool;

const ALERTS: &str = "prometheus/alerts.yml";
const ALERTS_TEST: &str = "prometheus/alerts_test.yml";
const DASHBOARD: &str = "grafana/dashboard.json";
const PAGE: &str = "../docs/operations/alerts.md";

const NOON: Timestamp = Timestamp::from_micros(1_764_000_000_000_000);

/// Columns of a dashboard.
const GRID: u64 = 24;

#[test]
fn prometheus_takes_the_alerts() {
    let Some(promtool) = Promtool::find() else { return };
    promtool.approves(&["check", "rules", &path(ALERTS)], "");
}

#[test]
fn alerts_fire_and_resolve() {
    let Some(promtool) = Promtool::find() else { return };
    promtool.approves(&["test", "rules", &path(ALERTS_TEST)], "");
}

#[test]
fn prometheus_finds_nothing_odd_in_the_numbers() {
    let Some(promtool) = Promtool::find() else { return };
    promtool.approves(&["check", "metrics"], &in_classic_format(&everything_counted().encode()));
}

#[test]
fn prometheus_understands_every_expression_of_the_dashboard() {
    let Some(promtool) = Promtool::find() else { return };
    let rules: Vec<Value> = expressions(&dashboard())
        .iter()
        .enumerate()
        .map(|(n, expression)| json!({ "record": format!("panel:target:{n}"), "expr": without_variables(expression) }))
        .collect();
    assert!(rules.len() > 20, "{} expressions", rules.len());
    let file = tempfile::Builder::new().suffix(".yml").tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // JSON is YAML too.
    fs::write(&file, json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string()).unwrap();
    promtool.approves(&["check", "rules", file.path().to_str().unwrap()], "");
}

#[test]
fn every_number_that_is_named_is_one_of_ours() {
    let ours = our_names();
    for file in [ALERTS, ALERTS_TEST, DASHBOARD, PAGE] {
        let named = names(&read(file));
        let unknown: Vec<_> = named.difference(&ours).collect();
        assert!(unknown.is_empty(), "{file} names {unknown:?}, which nobody counts");
    }
}

#[test]
fn every_number_of_ours_is_on_the_dashboard() {
    let shown = names(&expressions(&dashboard()).join("\n"));
    assert_eq!(shown, our_names());
}

#[test]
fn the_names_are_those_of_the_samples() {
    let text = everything_counted().encode();
    let samples: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(names(&samples.join("\n")), our_names());
}

#[test]
fn every_alert_is_tested_both_ways() {
    let alerts = after_each("- alert: ", &read(ALERTS));
    assert!(!alerts.is_empty());
    let tests = read(ALERTS_TEST);
    let (quiet, firing): (Vec<_>, Vec<_>) =
        tests.split("- alertname: ").skip(1).partition(|test| test.contains("exp_alerts: []"));
    let named = |tests: Vec<&str>| tests.into_iter().map(first_word).collect::<BTreeSet<_>>();
    assert_eq!((named(quiet), named(firing)), (alerts.clone(), alerts));
}

#[test]
fn the_page_says_the_same_of_every_alert() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let alerts: Vec<_> = read(ALERTS)
        .split("- alert: ")
        .skip(1)
        .map(|alert| (first_word(alert), alert.split_once("runbook: >-").map_or(Vec::new(), |(_, text)| runbook(text))))
        .collect();
    let page = read(PAGE);
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .filter(|(name, _)| name.starts_with("Dlo"));
    let rows: Vec<_> = rows.map(|(name, rest)| (name.to_owned(), words(rest.split('|').nth(2).unwrap()))).collect();
    assert_eq!(rows, alerts);
}

/// The words of an indented text, up to the comment or the alert after it.
fn runbook(text: &str) -> Vec<String> {
    let lines = text.lines().skip(1).take_while(|line| line.starts_with("            "));
    lines.flat_map(str::split_whitespace).map(str::to_owned).collect()
}

#[test]
fn every_alert_says_how_bad_it_is_and_what_to_do() {
    let rules = read(ALERTS);
    for alert in rules.split("- alert: ").skip(1) {
        for part in ["severity: ", "summary: ", "runbook: "] {
            assert!(alert.contains(part), "{} has no {part}", first_word(alert));
        }
    }
}

#[test]
fn the_dashboard_belongs_to_no_instance() {
    let dashboard = dashboard();
    assert_eq!((&dashboard["id"], &dashboard["uid"]), (&Value::Null, &json!("dead-letter-office")));
    let sources: BTreeSet<_> = datasources(&dashboard).into_iter().filter(|uid| uid != "-- Grafana --").collect();
    assert_eq!(sources, BTreeSet::from(["${datasource}".to_owned()]));
}

#[test]
fn panels_have_ids_and_places_of_their_own() {
    let dashboard = dashboard();
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels(&dashboard) {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{} has the id of another panel", panel["title"]);
        let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(w > 0 && h > 0 && x + w <= GRID, "{} does not fit", panel["title"]);
        for cell in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(cells.insert(cell), "{} lies on another panel", panel["title"]);
        }
    }
}

#[test]
fn panels_say_what_they_show_and_in_which_unit() {
    let dashboard = dashboard();
    for panel in panels(&dashboard).filter(|panel| panel["type"] != "row") {
        let title = &panel["title"];
        assert!(panel["description"].as_str().is_some_and(|text| text.ends_with('.')), "{title} has no description");
        let unit = &panel["fieldConfig"]["defaults"]["unit"];
        assert!(unit.as_str().is_some_and(|unit| !unit.is_empty()), "{title} has no unit");
        let targets = panel["targets"].as_array().unwrap();
        let letters: BTreeSet<_> = targets.iter().map(|target| target["refId"].as_str().unwrap()).collect();
        assert!(!targets.is_empty() && letters.len() == targets.len(), "{title} has queries of one letter, or none");
    }
}

#[test]
fn names_are_found_however_they_are_written() {
    let text = "dlo_a{x=\"dlo\"} (dlo_b_total[5m]) a:dlo_c:b `dlo_d` \"dlo_e\\\" dlo.dlo_";
    assert_eq!(names(text), ["dlo_a", "dlo_b_total", "dlo_d", "dlo_e"].map(str::to_owned).into());
}

/// Metrics with a sample of each name.
pub fn everything_counted() -> Metrics {
    let metrics = Metrics::default();
    metrics.letter_received("main", Some("orders"));
    metrics.redelivered("main");
    metrics.retry_stopped("main", Some("orders"));
    metrics.exhausted("main", Some("orders"), Importance::High);
    metrics.retried("main", "orders", RetryKind::Automatic);
    metrics.retry_failed("main", "orders", RetryKind::Manual);
    metrics.notification(Channel::Slack, NotificationOutcome::Delivered);
    metrics.rule_failed("vip");
    let here = ConnectionState::Connected { since: NOON };
    let broker = BrokerHealth {
        name: "main".to_owned(),
        address: "rabbit.example:5672/".to_owned(),
        consuming: here.clone(),
        publishing: here,
        holding: None,
    };
    let facet = FacetCount {
        broker: "main".to_owned(),
        queue: Some("orders".to_owned()),
        reason: Reason::Rejected,
        status: Status::Open,
        importance: Importance::High,
        count: 1,
    };
    let database = DatabaseObservation {
        facets: &[facet],
        queues_without_consumers: &[("main".to_owned(), "orders".to_owned())],
        oldest_notification: Some(NOON.minus(Duration::from_secs(5))),
        digests_sent: &[("daily".to_owned(), NOON)],
        ..DatabaseObservation::default()
    };
    let health = HealthObservation {
        not_enriched: Some(Backlog::default()),
        not_indexed: Some(0),
        ..HealthObservation::default()
    };
    metrics.observe(&Observation { now: NOON, brokers: &[broker], health, database: Some(database) });
    metrics
}

/// `promtool check metrics` reads the older format only, in which a counter is described by the name of its samples.
fn in_classic_format(text: &str) -> String {
    let counters: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .map(|name| (format!(" {name} "), format!(" {name}_total ")))
        .collect();
    let described =
        |line: &str| {
            counters.iter().fold(line.to_owned(), |line, (short, long)| {
                if line.starts_with("# ") { line.replacen(short, long, 1) } else { line }
            })
        };
    text.lines().map(|line| described(line) + "\n").collect()
}

fn our_names() -> BTreeSet<String> {
    Metrics::default().names().iter().cloned().collect()
}

/// The names of numbers in a text; what a recording rule makes of one has a name with colons.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words.filter(|word| word.starts_with("dlo_") && *word != "dlo_").map(str::to_owned).collect()
}

/// The words that stand after `mark`.
fn after_each(mark: &str, text: &str) -> BTreeSet<String> {
    text.split(mark).skip(1).map(first_word).collect()
}

fn first_word(text: &str) -> String {
    text.chars().take_while(char::is_ascii_alphanumeric).collect()
}

fn dashboard() -> Value {
    serde_json::from_str(&read(DASHBOARD)).unwrap()
}

/// All panels, those that are folded into a row too.
fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    let top = dashboard["panels"].as_array().unwrap().iter();
    top.flat_map(|panel| std::iter::once(panel).chain(panel["panels"].as_array().into_iter().flatten()))
}

fn expressions(dashboard: &Value) -> Vec<String> {
    let targets = panels(dashboard).flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    targets.map(|target| target["expr"].as_str().unwrap().to_owned()).collect()
}

/// An expression as Grafana would send it.
fn without_variables(expression: &str) -> String {
    let ready = [("$__rate_interval", "5m"), ("$job", "dlo"), ("$broker", ".*"), ("$queue", ".*")]
        .iter()
        .fold(expression.to_owned(), |text, (variable, value)| text.replace(variable, value));
    assert!(!ready.contains('$'), "{expression} has a variable that nobody sets");
    ready
}

/// The ids of all data sources that are named anywhere.
fn datasources(value: &Value) -> BTreeSet<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(datasources).collect(),
        Value::Object(fields) => {
            let own = fields.get("datasource").map(|source| source["uid"].as_str().unwrap_or("none").to_owned());
            fields.values().flat_map(datasources).chain(own).collect()
        }
        _ => BTreeSet::new(),
    }
}

fn path(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("packaging").join(file);
    path.to_str().unwrap().to_owned()
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

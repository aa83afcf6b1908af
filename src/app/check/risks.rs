//! What of a configuration is likely not meant for production. Nothing is asked; it is read.

use ipnet::IpNet;
use url::Url;

use crate::{
    config::{AuthMode, Config, MetricsAccess, values::is_loopback},
    domain::{access::Role, policy::Policy},
};

/// Each in a sentence that begins with the key.
pub(super) fn risks(config: &Config) -> Vec<String> {
    [brokers(config), database(config), web(config), auth(config), rest(config)].concat()
}

fn brokers(config: &Config) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, broker) in &config.brokers {
        let Ok(url) = Url::parse(broker.url.reveal()) else { continue };
        if url.scheme() == "amqp" && !is_near(&url) {
            notes.push(format!(
                "brokers.{name}.url has no TLS: the password and every message can be read on their way; amqps:// has it"
            ));
        }
        if url.password() == Some("guest") && !is_near(&url) {
            notes.push(format!("brokers.{name}.url has the password that every RabbitMQ is installed with"));
        }
        let management = Url::parse(broker.management_url.reveal()).ok();
        match management {
            None => notes.push(format!(
                "brokers.{name}.management_url is empty: nobody is told of queues without consumers, and pages show no depths"
            )),
            Some(url) if url.scheme() == "http" && !is_near(&url) => {
                notes.push(format!("brokers.{name}.management_url has no TLS: the password can be read on its way"));
            }
            Some(_) => {}
        }
    }
    notes
}

fn database(config: &Config) -> Vec<String> {
    let Ok(url) = Url::parse(config.database.url.reveal()) else { return Vec::new() };
    let is_verified = url.query_pairs().any(|(name, value)| name == "sslmode" && value.starts_with("verify"));
    if url.scheme().starts_with("postgres") && !is_near(&url) && !is_verified {
        return vec![
            "database.url does not ask who the server is: ?sslmode=verify-full makes sure of it, by TLS".to_owned(),
        ];
    }
    Vec::new()
}

fn web(config: &Config) -> Vec<String> {
    let (web, mut notes) = (&config.web, Vec::new());
    let (is_here, is_far) = (is_near(&web.public_url), !web.listen.ip().is_loopback());
    if is_here && (is_far || notifies(config)) {
        notes.push(format!(
            "web.public_url is {}: links in notifications lead nowhere for anybody else",
            web.public_url
        ));
    }
    if web.public_url.scheme() == "http" && config.auth.mode != AuthMode::None {
        notes.push("web.public_url has no https: passwords and sessions can be read on their way".to_owned());
    }
    if web.public_url.scheme() == "http" && web.tls.is_set() {
        notes.push("web.public_url has http, and web.tls is set: links lead where nobody answers".to_owned());
    }
    if web.trusted_proxies.iter().any(is_everybody) {
        notes.push(
            "web.trusted_proxies has every address: anybody can say to come from anywhere, and is not held up"
                .to_owned(),
        );
    }
    notes
}

fn auth(config: &Config) -> Vec<String> {
    let (auth, mut notes) = (&config.auth, Vec::new());
    match auth.mode {
        AuthMode::None => {
            notes.push("auth.mode is none: whoever reaches this machine's loopback may do everything".to_owned());
        }
        AuthMode::Proxy if auth.proxy.from.iter().any(is_everybody) => {
            notes.push("auth.proxy.from has every address: anybody can send the header and be anybody".to_owned());
        }
        _ => {}
    }
    if let Some(role @ (Role::Admin | Role::Operator)) = auth.roles.others {
        notes.push(format!("auth.roles.others is {role}: whoever can sign in at all may change things"));
    }
    if auth.mode != AuthMode::None && auth.metrics == MetricsAccess::Open {
        notes
            .push("auth.metrics is open: names of queues and how many messages fail can be read by anybody".to_owned());
    }
    notes
}

fn rest(config: &Config) -> Vec<String> {
    let mut notes = Vec::new();
    if config.retry.target_patterns().iter().any(|pattern| pattern == Policy::EVERY_QUEUE) {
        notes.push(
            "retry.targets lets messages be sent to every queue of the broker: whoever may dead-letter chooses where dlo, with \
             its own rights, sends a message; name the queues that retries go to"
                .to_owned(),
        );
    }
    if !notifies(config) {
        notes.push("notify has no channel: nobody is told of anything".to_owned());
    }
    notes
}

fn notifies(config: &Config) -> bool {
    let notify = &config.notify;
    let is_told = [&notify.pagerduty.routing_key, &notify.webhook.url].into_iter().any(|secret| !secret.is_empty());
    is_told || notify.slack.is_set() || notify.alertmanager.url.is_some()
}

/// Whether it is on this machine.
fn is_near(url: &Url) -> bool {
    !url.has_host() || is_loopback(url)
}

fn is_everybody(network: &IpNet) -> bool {
    network.prefix_len() == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{QueueType, values::Secret};

    fn keys(change: impl FnOnce(&mut Config)) -> Vec<String> {
        let mut config = Config::default();
        change(&mut config);
        risks(&config).iter().map(|risk| risk.split(' ').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn by_default_it_is_for_one_machine() {
        assert_eq!(keys(|_| ()), ["brokers.main.management_url", "auth.mode", "retry.targets", "notify"]);
    }

    #[test]
    fn what_can_be_read_on_its_way_or_said_by_anybody_is_named() {
        let found = keys(|config| {
            let broker = config.brokers.get_mut("main").unwrap();
            broker.url = Secret::new("amqp://guest:guest@rabbit/%2f");
            broker.management_url = Secret::new("http://guest:guest@rabbit:15672");
            broker.queue_type = QueueType::Quorum;
            config.database.url = Secret::new("postgres://dlo@db/dlo");
            config.web.listen = "0.0.0.0:8420".parse().unwrap();
            config.web.trusted_proxies = vec!["0.0.0.0/0".parse().unwrap()];
            config.auth.mode = AuthMode::Proxy;
            config.auth.proxy.from = vec!["::/0".parse().unwrap()];
            config.auth.metrics = MetricsAccess::Open;
            config.auth.roles.others = Some(Role::Admin);
            config.retry.targets = Some(vec!["orders".to_owned()]);
            config.notify.webhook.url = Secret::new("https://hook.example.com");
        });
        let expected = [
            "brokers.main.url",
            "brokers.main.url",
            "brokers.main.management_url",
            "database.url",
            "web.public_url",
            "web.public_url",
            "web.trusted_proxies",
            "auth.proxy.from",
            "auth.roles.others",
            "auth.metrics",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_meant_for_production_has_no_risk() {
        let found = keys(|config| {
            let broker = config.brokers.get_mut("main").unwrap();
            broker.url = Secret::new("amqps://dlo:secret@rabbit/%2f");
            broker.management_url = Secret::new("https://dlo:secret@rabbit:15671");
            config.database.url = Secret::new("postgres://dlo@db/dlo?sslmode=verify-full");
            config.web.public_url = "https://dlo.example.com".parse().unwrap();
            config.auth.mode = AuthMode::Oidc;
            config.auth.roles.others = Some(Role::Viewer);
            config.retry.targets = Some(vec!["orders".to_owned()]);
            config.notify.slack.token = Secret::new("xoxb");
        });
        assert_eq!(found, [""; 0]);
    }
}

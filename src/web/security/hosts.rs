//! Which names this app answers to.
//!
//! Without this, a page elsewhere could point its own name at our address and read everything (DNS rebinding).

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::{
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::Response,
};

use crate::web::{
    error::{WebError, codes::FaultCode},
    state::WebSettings,
};

/// What machines ask, by whatever name or address they know this server.
pub const PROBES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The hosts that are ours.
#[derive(Clone)]
pub struct Hosts(Arc<Ours>);

struct Ours {
    listen: SocketAddr,
    /// What a missing port means in what is spoken there.
    usual_port: u16,
    public_host: Option<String>,
}

impl Hosts {
    pub fn new(settings: &WebSettings) -> Self {
        let public_host = settings.public_url.host_str().map(str::to_ascii_lowercase);
        let usual_port = if settings.is_tls { 443 } else { 80 };
        Self(Arc::new(Ours { listen: settings.listen, usual_port, public_host }))
    }
}

impl Ours {
    fn include(&self, host: &str) -> bool {
        let (name, port) = split(host);
        let name = name.to_ascii_lowercase();
        if self.public_host.as_deref() == Some(&*name) {
            return true;
        }
        let port = port.map_or(Some(self.usual_port), |port| port.parse().ok());
        port == Some(self.listen.port()) && (name == "localhost" || self.is_our_address(&name))
    }

    /// Listening on every address, all of them are ours: a bare address cannot be rebound.
    fn is_our_address(&self, name: &str) -> bool {
        let Ok(address) = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() else { return false };
        address.is_loopback() || address == self.listen.ip() || self.listen.ip().is_unspecified()
    }
}

/// Whether a host is no name: an address cannot be rebound.
fn is_address(host: &str) -> bool {
    let name = split(host).0;
    name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok()
}

/// Host and port, where there is one.
fn split(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    }
}

/// Answers 421 to a name that is not ours.
pub async fn refuse_foreign_hosts(
    State(hosts): State<Hosts>,
    request: Request,
    next: Next,
) -> Result<Response, WebError> {
    let host = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => request.headers().get(header::HOST).and_then(|host| host.to_str().ok()),
    };
    // Whoever watches knows an address, whatever lies between, or speaks HTTP/1.0; a name could be another's.
    let is_probe = PROBES.contains(&request.uri().path());
    match host {
        None if is_probe => Ok(next.run(request).await),
        Some(host) if is_probe && is_address(host) => Ok(next.run(request).await),
        Some(host) if hosts.0.include(host) => Ok(next.run(request).await),
        Some(host) => Err(WebError::new(
            StatusCode::MISDIRECTED_REQUEST,
            format!(
                "dlo does not answer to the host {host:?}. If it is reached by that name, set web.public_url to it."
            ),
        )),
        None => Err(WebError::header("Host", FaultCode::Required, "a request has to name its host")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listen: &str, host: &str, expected: bool) {
        check_by(80, listen, host, expected);
    }

    fn check_by(usual_port: u16, listen: &str, host: &str, expected: bool) {
        let public_host = Some("dlo.example.com".to_owned());
        let ours = Ours { listen: listen.parse().expect("an address"), usual_port, public_host };
        assert_eq!(ours.include(host), expected, "{host} at {listen}");
    }

    #[test]
    fn loopback_the_address_and_the_public_name_are_ours() {
        let listen = "127.0.0.1:8420";
        check(listen, "127.0.0.1:8420", true);
        check(listen, "localhost:8420", true);
        check(listen, "LocalHost:8420", true);
        check(listen, "[::1]:8420", true);
        check(listen, "dlo.example.com", true);
        check(listen, "DLO.example.com:443", true);
        check("10.1.2.3:80", "10.1.2.3", true);
        check("0.0.0.0:8420", "10.1.2.3:8420", true);
    }

    #[test]
    fn a_missing_port_is_that_of_what_is_spoken() {
        for host in ["10.1.2.3", "10.1.2.3:443", "localhost", "[::1]", "[::1]:443"] {
            check_by(443, "0.0.0.0:443", host, true);
        }
        check_by(443, "0.0.0.0:443", "10.1.2.3:80", false);
        check_by(443, "0.0.0.0:80", "10.1.2.3", false);
        check("0.0.0.0:443", "10.1.2.3", false);
        check("0.0.0.0:443", "10.1.2.3:x", false);
    }

    #[test]
    fn others_are_not() {
        let listen = "127.0.0.1:8420";
        check(listen, "evil.example", false);
        check(listen, "evil.example:8420", false);
        check(listen, "127.0.0.1:80", false);
        check(listen, "127.0.0.1", false);
        check(listen, "10.1.2.3:8420", false);
        check(listen, "localhost.evil.example:8420", false);
        check(listen, "dlo.example.com.evil.example", false);
        check("0.0.0.0:8420", "evil.example:8420", false);
        check(listen, "", false);
    }
}

//! `dlo health`: what the server of this configuration says of itself. For containers, which have no curl.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::ExitCode,
};

use anyhow::Context;

use crate::{
    config::Config,
    notify::{Patience, client},
};

/// Asks and prints the answer. It fails where nobody answers, or, if `ready` is asked for, where it is not.
pub async fn health(config: &Config, ready: bool) -> anyhow::Result<ExitCode> {
    let path = if ready { "readyz" } else { "healthz" };
    let url = format!("http://{}/{path}", reachable(config.web.listen));
    let answer =
        client(Patience::default(), None)?.get(&url).send().await.with_context(|| format!("no answer from {url}"))?;
    let is_well = answer.status().is_success();
    print(&answer.text().await?);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Who listens everywhere is asked on loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[expect(clippy::print_stdout, reason = "the answer of the command")]
fn print(answer: &str) {
    println!("{answer}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_everywhere_is_asked_on_loopback() {
        let asked = |listen: &str| reachable(listen.parse().unwrap()).to_string();
        assert_eq!(asked("0.0.0.0:8420"), "127.0.0.1:8420");
        assert_eq!(asked("[::]:8420"), "[::1]:8420");
        assert_eq!(asked("10.0.0.5:80"), "10.0.0.5:80");
    }
}

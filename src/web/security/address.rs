//! From which address somebody asks.

use std::net::{IpAddr, Ipv4Addr};

use axum::http::{Extensions, HeaderMap};
use ipnet::IpNet;

/// The other end of the connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

impl Peer {
    /// As the connection says; what is asked within this process comes from it.
    pub fn of(extensions: &Extensions) -> IpAddr {
        extensions.get::<Self>().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.0.to_canonical())
    }
}

pub fn is_within(address: IpAddr, networks: &[IpNet]) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// Who asks a trusted proxy, by what it says: the last address in `X-Forwarded-For` that is no such proxy. Whatever stands
/// before it, anybody can have written.
pub fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut client = peer;
    // What a client has put in front may be no text at all.
    let values = headers.get_all("x-forwarded-for").iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let values: Vec<_> = values.collect();
    let mut before = values.iter().flat_map(|value| value.split(',')).map(str::trim).rev();
    while is_within(client, trusted)
        && let Some(text) = before.next()
    {
        let Ok(address) = text.parse::<IpAddr>() else { break };
        client = address.to_canonical();
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, forwarded: &[&str], expected: &str) {
        let trusted: Vec<IpNet> = ["10.0.0.0/8".parse().unwrap(), "192.0.2.7/32".parse().unwrap()].into();
        let values = forwarded.iter().map(|value| ("x-forwarded-for".parse().unwrap(), value.parse().unwrap()));
        let headers: HeaderMap = values.collect();
        let client = client(peer.parse().unwrap(), &headers, &trusted);
        assert_eq!(client, expected.parse::<IpAddr>().unwrap(), "{peer}, {forwarded:?}");
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        check("198.51.100.1", &[], "198.51.100.1");
        check("198.51.100.1", &["203.0.113.9"], "198.51.100.1");
        check("10.0.0.1", &["203.0.113.9"], "203.0.113.9");
        check("10.0.0.1", &["1.1.1.1, 203.0.113.9, 192.0.2.7"], "203.0.113.9");
        check("10.0.0.1", &["1.1.1.1", "203.0.113.9"], "203.0.113.9");
        check("10.0.0.1", &["nonsense"], "10.0.0.1");
        check("10.0.0.1", &["\u{fc}, 203.0.113.9"], "203.0.113.9");
        check("10.0.0.1", &["10.2.3.4"], "10.2.3.4");
    }
}

//! Which addresses calls may reach. The names of hosts are somebody else's: whoever answers for a name could have dlo call
//! what only the network around it should reach. So what counts is the address that is connected to.

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
};

use amqp_message::glob::Globs;
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;
use url::{Host, Url};

/// Addresses of private networks that may be reached all the same.
#[derive(Clone, Debug)]
pub struct Reach {
    networks: Arc<[IpNet]>,
    names: Globs,
}

/// An address that may not be reached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} is at {address}, in a private network; name it or its network in outgoing.private")]
pub struct OutOfReach {
    name: String,
    address: IpAddr,
}

impl Default for Reach {
    fn default() -> Self {
        Self::new(&[])
    }
}

impl Reach {
    /// Networks such as `10.0.0.0/8`, addresses, and names or globs of hosts.
    pub fn new(private: &[String]) -> Self {
        let network = |text: &String| text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).ok();
        let names: Vec<String> = private.iter().filter(|text| network(text).is_none()).cloned().collect();
        Self { networks: private.iter().filter_map(network).collect(), names: Globs::new(&names) }
    }

    fn has(&self, name: &str, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address) || is_here(name) || self.names.matches(name) || self.has_network_of(address)
    }

    fn has_network_of(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// Whether an address that somebody else has told may be asked, where it names no host but a number. Names are looked
    /// at when they are resolved.
    pub fn check(&self, told: &Url) -> Result<(), OutOfReach> {
        let address: IpAddr = match told.host() {
            Some(Host::Ipv4(address)) => address.into(),
            Some(Host::Ipv6(address)) => address.into(),
            _ => return Ok(()),
        };
        if self.has("", address) { Ok(()) } else { Err(OutOfReach { name: address.to_string(), address }) }
    }

    async fn addresses(self, name: String) -> Result<Addrs, Box<dyn Error + Send + Sync>> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((&*name, 0)).await?.collect();
        let (within, without): (Vec<_>, Vec<_>) = found.into_iter().partition(|found| self.has(&name, found.ip()));
        match (within.is_empty(), without.first()) {
            (true, Some(found)) => Err(OutOfReach { address: found.ip(), name }.into()),
            _ => Ok(Box::new(within.into_iter())),
        }
    }
}

impl Resolve for Reach {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(self.clone().addresses(name.as_str().to_owned()))
    }
}

/// That name means this machine wherever it is used (RFC 6761, 6.3).
fn is_here(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether everybody can reach an address, as <https://www.iana.org/assignments/iana-ipv4-special-registry> and its sister
/// for IPv6 say.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => embedded(v6).map_or_else(|| is_public_v6(v6), is_public_v4),
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_for_protocols = a == 192 && b == 0 && c == 0;
    let is_for_benchmarks = a == 198 && (18..20).contains(&b);
    let is_special = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_documentation();
    !(is_special || is_shared || is_for_protocols || is_for_benchmarks || a == 0 || a >= 224)
}

fn is_public_v6(v6: Ipv6Addr) -> bool {
    let is_documentation = v6.segments()[..2] == [0x2001, 0xdb8];
    // Only this block is given out.
    v6.segments()[0] & 0xe000 == 0x2000 && !is_documentation
}

/// The address that a translator makes of it: NAT64 and 6to4.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = v6.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match segments {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_known() {
        let is_public = |text: &str| super::is_public(text.parse::<IpAddr>().unwrap().to_canonical());
        for address in ["1.1.1.1", "100.63.0.1", "172.32.0.1", "198.20.0.1", "2606:4700::1", "64:ff9b::101:101"] {
            assert!(is_public(address), "{address}");
        }
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.168.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "2002:a00:1::",
            "2001:db8::1",
            "fc00::1",
            "fe80::1",
            "fd00:ec2::254",
            "ff02::1",
        ] {
            assert!(!is_public(address), "{address}");
        }
    }

    #[test]
    fn what_is_named_may_be_reached() {
        let private = ["10.1.0.0/16", "192.168.0.7", "*.svc.cluster.local"].map(str::to_owned);
        let reach = Reach::new(&private);
        let has = |name: &str, address: &str| reach.has(name, address.parse().unwrap());
        assert!(has("hook", "10.1.2.3") && has("hook", "192.168.0.7") && has("hook", "::ffff:10.1.2.3"));
        assert!(has("am.monitoring.svc.cluster.local", "10.2.0.1") && has("localhost", "127.0.0.1"));
        assert!(!has("hook", "10.2.0.1") && !has("hook", "127.0.0.1") && !has("hook.localhost.com", "127.0.0.1"));
        let check = |url: &str| reach.check(&url.parse().unwrap());
        assert!(check("http://10.1.2.3/token").is_ok() && check("https://id.example.com/token").is_ok());
        let why = check("http://169.254.169.254/latest").unwrap_err().to_string();
        assert!(why.contains("169.254.169.254") && why.contains("outgoing.private"), "{why}");
    }
}

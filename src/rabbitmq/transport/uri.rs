//! The address, read with care.

use lapin::uri::AMQPUri;

use super::error::ConnectError;

/// Seconds between heartbeats, unless the URI says otherwise (`heartbeat`). RabbitMQ would offer 60.
pub const DEFAULT_HEARTBEAT: u16 = 10;

/// Octets of a frame at most, unless the URI says otherwise (`frame_max`): what RabbitMQ offers by itself. Where it is
/// told, lapin takes memory for its buffers as they fill; else an idle connection costs 8 MB.
pub(super) const FRAME_MAX: u32 = 131_072;

/// Virtual hosts travel as short strings, and lapin panics on a longer one.
const MAX_VHOST_LEN: usize = 255;

pub(super) fn parse_uri(text: &str) -> Result<AMQPUri, ConnectError> {
    let invalid = |reason: String| ConnectError::InvalidUri { reason };
    // One of the parser's messages quotes the URI, and so the password.
    let mut uri: AMQPUri = text.parse().map_err(|reason: String| {
        invalid(if reason.contains(text) { "there is no host in it".to_owned() } else { reason })
    })?;
    if uri.vhost.len() > MAX_VHOST_LEN {
        return Err(invalid(format!("the virtual host is longer than {MAX_VHOST_LEN} octets")));
    }
    if let Some(host) = ipv6_host(text) {
        uri.authority.host = host;
    }
    uri.query.heartbeat.get_or_insert(DEFAULT_HEARTBEAT);
    uri.query.frame_max.get_or_insert(FRAME_MAX);
    Ok(uri)
}

/// The host if it is an IPv6 address, which [`AMQPUri`] silently takes for `localhost`.
pub(super) fn ipv6_host(uri: &str) -> Option<String> {
    match url::Url::parse(uri).ok()?.host()? {
        url::Host::Ipv6(address) => Some(address.to_string()),
        _ => None,
    }
}

pub(super) fn address(uri: &AMQPUri) -> String {
    let (host, port) = (&uri.authority.host, uri.authority.port);
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// What the broker said, and what most likely was meant by a URI that ends in a bare `/`.
pub(super) fn vhost_reason(vhost: &str, said: &str) -> String {
    let hint = " (the default virtual host is written /%2f)";
    format!("{said}{}", if vhost.is_empty() { hint } else { "" })
}

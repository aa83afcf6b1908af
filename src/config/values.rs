//! Values that know what they take.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
    time::Duration,
};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IntoDeserializer},
};
use url::{Host, Url};

/// A length of time as people write it: `250ms`, `10s`, `5m`, `2h`, `7d`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let takes = || format!("{text:?} is no duration; it takes a number and a unit, like 250ms, 10s, 5m, 2h or 7d");
    humantime::parse_duration(text.trim()).map_err(|_| takes())
}

/// For `#[serde(with = "…")]`-less fields: a duration written as in [`parse_duration`].
pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map_err(D::Error::custom)
}

pub fn durations<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Duration>, D::Error> {
    list(deserializer)?.iter().map(|text| parse_duration(text).map_err(D::Error::custom)).collect()
}

/// A list of words: an array in TOML, separated by commas in the environment.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of strings")]
    enum List {
        Text(String),
        Items(Vec<String>),
    }
    Ok(match List::deserialize(deserializer)? {
        List::Items(items) => items,
        List::Text(text) => text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect(),
    })
}

/// One of the fixed words of a setting; the error names them all.
pub fn word<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// A list of them.
pub fn word_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    list(deserializer)?.iter().map(|word| word.parse().map_err(D::Error::custom)).collect()
}

pub fn socket_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| D::Error::custom(format!("{text:?} is no address; it takes IP:PORT, like 127.0.0.1:8420")))
}

/// An address, or none where the text is empty.
pub fn perhaps_socket_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    socket_address(text.into_deserializer()).map(Some)
}

pub fn http_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Url, D::Error> {
    let text = String::deserialize(deserializer)?;
    match Url::parse(&text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        // The text is not repeated: it may hold a password.
        _ => Err(D::Error::custom("it takes http://… or https://…")),
    }
}

/// An address, or none where the text is empty.
/// Whether it leads to this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        // The hosts of schemes that are none of the web's are not parsed.
        Some(Host::Domain(name)) => {
            let address = name.trim_matches(['[', ']']).parse();
            name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip: IpAddr| ip.is_loopback())
        }
        None => false,
    }
}

pub fn perhaps_http_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    http_url(text.into_deserializer()).map(Some)
}

pub fn perhaps_word_list<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    word_list(deserializer).map(Some)
}

/// Text that never shows itself: a password, a token, an address with a password in it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself; for whoever connects with it, never for a log.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(parse_duration(text).ok(), expected.map(Duration::from_millis), "{text}");
    }

    #[test]
    fn durations_as_the_contract_writes_them() {
        check("250ms", Some(250));
        check("10s", Some(10_000));
        check("5m", Some(300_000));
        check("2h", Some(7_200_000));
        check("7d", Some(604_800_000));
        check("10", None);
        check("-1s", None);
        check("", None);
        check("1 fortnight", None);
    }

    #[test]
    fn secrets_do_not_show_themselves() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(…)");
    }
}

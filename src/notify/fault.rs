//! Why there was no answer at all.

use std::{error::Error, io};

use rustls::CertificateError;

use super::{Channel, Patience};

/// A clause for users. What reqwest itself says holds the address and is never used.
pub(super) fn clause(channel: &Channel, error: &reqwest::Error, patience: Patience) -> String {
    let addressee = channel.addressee();
    if error.is_timeout() {
        let (what, limit) =
            if error.is_connect() { ("be reached", patience.connect) } else { ("answer", patience.total) };
        let verb = if error.is_connect() { "could not" } else { "did not" };
        return format!("{addressee} {verb} {what} within {} s", limit.as_secs_f32());
    }
    if error.is_connect() {
        return format!("cannot connect to {addressee}: {}", channel.without_secrets(&cause(error)));
    }
    format!("the connection to {addressee} was lost before it answered")
}

/// What lies at the bottom of it.
fn cause(error: &reqwest::Error) -> String {
    let links = std::iter::successors(error.source(), |&link| link.source());
    let mut innermost = "the reason is unknown".to_owned();
    for link in links {
        if let Some(error) = tls_error(link) {
            return tls_reason(error);
        }
        innermost = match link.downcast_ref().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => "the connection was refused".to_owned(),
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => {
                "the connection was closed".to_owned()
            }
            _ => link.to_string(),
        };
    }
    innermost
}

/// An I/O error does not name as its source what it was made of, which may be another one.
fn tls_error<'a>(link: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    link.downcast_ref().or_else(|| tls_error(link.downcast_ref::<io::Error>()?.get_ref()?))
}

fn tls_reason(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "its certificate is signed by nobody this machine trusts; add the authority to the system's".to_owned()
        }
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate is for another name".to_owned(),
        rustls::Error::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired".to_owned()
        }
        rustls::Error::InvalidMessage(_) => "TLS is not spoken on this port; is it http instead of https?".to_owned(),
        other => format!("TLS failed: {other}"),
    }
}

//! The HTTP client of all channels, and of whoever else asks by HTTP.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use reqwest::{Client, ClientBuilder, redirect, retry};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{
        CertificateDer,
        pem::{self, PemObject},
    },
};
use thiserror::Error;

use super::Reach;

/// How long the other side is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For name, TCP and TLS together.
    pub connect: Duration,
    /// For all of it, the answer's body included.
    pub total: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), total: Duration::from_secs(10) }
    }
}

/// Why there is no client.
#[derive(Debug, Error)]
pub enum SetupError {
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the HTTP client cannot be set up: {0}")]
    Client(#[from] reqwest::Error),
    #[error("the certificate authorities in {path} cannot be read: {cause}")]
    CaFile { path: PathBuf, cause: String },
}

/// One that follows no redirect and repeats nothing. It trusts the system's certificate authorities, some hundred files
/// that are read once, and those of `ca_file`.
///
/// # Errors
/// When TLS cannot be set up, or the file cannot be read.
pub fn client(patience: Patience, ca_file: Option<&Path>) -> Result<Client, SetupError> {
    Ok(builder(patience.connect, ca_file)?.timeout(patience.total).build()?)
}

/// The same for answers of any size, which may take long on a slow line: it waits for what comes next no longer than `pause`.
///
/// # Errors
/// When TLS cannot be set up, or the file cannot be read.
pub fn client_of_any_size(pause: Duration, ca_file: Option<&Path>) -> Result<Client, SetupError> {
    Ok(builder(Patience::default().connect, ca_file)?.read_timeout(pause).build()?)
}

/// The same, for addresses on the internet and those of `reach`.
///
/// # Errors
/// When TLS cannot be set up.
pub fn client_within(patience: Patience, reach: &Reach) -> Result<Client, SetupError> {
    Ok(builder(patience.connect, None)?.timeout(patience.total).dns_resolver(reach.clone()).build()?)
}

fn builder(connect: Duration, ca_file: Option<&Path>) -> Result<ClientBuilder, SetupError> {
    let client = Client::builder()
        .tls_backend_preconfigured(tls(ca_file)?)
        .user_agent(concat!("dlo/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        // A redirect would carry the secret to an address nobody has configured.
        .redirect(redirect::Policy::none())
        .referer(false)
        // The environment of the process must not decide who reads along.
        .no_proxy()
        // Whoever keeps the deliveries repeats them; repeated here they would not be counted.
        .retry(retry::never())
        // Deliveries are rare. A kept connection mostly turns out to be closed once it is used again, and then nobody
        // knows whether the message arrived.
        .pool_max_idle_per_host(0);
    Ok(client)
}

/// Machines without any certificate authority still reach an Alertmanager over plain HTTP.
fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, SetupError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let unusable = |cause: pem::Error| SetupError::CaFile { path: path.to_owned(), cause: cause.to_string() };
        let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        roots.add_parsable_certificates(certificates.map_err(unusable)?);
    }
    // The process may have no default provider, or another one.
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth())
}

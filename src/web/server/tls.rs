//! TLS of our own: the certificate in the files of the configuration, and the next one as soon as it is there.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use thiserror::Error;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::services::worker::{Next, Worker};

/// How soon another certificate is noticed.
const POLL: Duration = Duration::from_secs(1);

/// Why files make no certificate.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum TlsError {
    #[error("{0} cannot be read: {1}")]
    File(PathBuf, String),
    #[error("{0} has no certificate in PEM")]
    NoCertificate(PathBuf),
    #[error("{0} and {1} are no pair: {2}")]
    NoPair(PathBuf, PathBuf, String),
    #[error("TLS cannot be set up: {0}")]
    SetUp(rustls::Error),
}

/// The files of a certificate and its key, in PEM.
#[derive(Clone, Debug)]
pub struct CertificateFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl CertificateFiles {
    /// The certificate first, then those that it was signed by.
    pub fn read(&self) -> Result<CertifiedKey, TlsError> {
        let unreadable =
            |path: &Path, error: &dyn std::fmt::Display| TlsError::File(path.to_owned(), error.to_string());
        let (certificate, key) = (&self.certificate, &self.key);
        let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| unreadable(certificate, &error))?;
        if chain.is_empty() {
            return Err(TlsError::NoCertificate(certificate.clone()));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
        let no_pair = |error: rustls::Error| TlsError::NoPair(certificate.clone(), key.clone(), error.to_string());
        CertifiedKey::from_der(chain, secret, &ring::default_provider()).map_err(no_pair)
    }
}

/// The certificate in use.
#[derive(Debug)]
struct InUse(RwLock<Arc<CertifiedKey>>);

impl InUse {
    fn now(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for InUse {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.now())
    }
}

/// Takes another certificate when there is one. What cannot be used changes nothing.
pub struct Certificate {
    files: CertificateFiles,
    in_use: Arc<InUse>,
    /// What was said last of files that cannot be used.
    problem: Option<TlsError>,
}

impl Certificate {
    pub fn open(files: CertificateFiles) -> Result<Self, TlsError> {
        let in_use = Arc::new(InUse(RwLock::new(Arc::new(files.read()?))));
        Ok(Self { files, in_use, problem: None })
    }

    /// Begins connections with the certificate that is in use at that moment.
    pub fn acceptor(&self) -> Result<TlsAcceptor, TlsError> {
        // The process may have no default provider, or another one.
        let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(TlsError::SetUp)?;
        let mut config = builder.with_no_client_auth().with_cert_resolver(Arc::clone(&self.in_use) as _);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// The certificate in use, then those that it was signed by.
    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.in_use.now().cert.clone()
    }

    fn take(&mut self, found: CertifiedKey) {
        self.problem = None;
        if self.in_use.now().cert != found.cert {
            *self.in_use.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
            tracing::info!("another certificate is in use");
        }
    }
}

impl Worker for Certificate {
    const NAME: &'static str = "the certificate";
    const BEGINS_LATE: bool = true;
    type Error = TlsError;

    fn every(&self) -> Duration {
        POLL
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, TlsError> {
        let files = self.files.clone();
        match tokio::task::spawn_blocking(move || files.read()).await {
            Ok(Ok(found)) => self.take(found),
            // While one file is there and the other is not yet, they are no pair.
            Ok(Err(problem)) if self.problem.as_ref() != Some(&problem) => {
                tracing::error!("the certificate was not taken, the one before stays in use: {problem}");
                self.problem = Some(problem);
            }
            _ => {}
        }
        Ok(Next::Later)
    }
}

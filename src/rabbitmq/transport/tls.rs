//! TLS.

use std::{io, path::Path};

use lapin::tcp::{RustlsConnector, RustlsConnectorConfig};
use rustls::{
    CertificateError,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::error::ConnectError;

/// Loads the certificate authorities, which reads some hundred files, off the runtime's threads.
pub(super) async fn load_connector(ca_file: Option<&Path>) -> Result<RustlsConnector, ConnectError> {
    let ca_file = ca_file.map(Path::to_owned);
    tokio::task::spawn_blocking(move || connector(ca_file.as_deref()))
        .await
        .map_err(|cause| ConnectError::TlsSetup { cause: cause.into() })?
}

/// What lapin would set up by itself (rustls, the system's authorities, no client certificate),
/// plus those of `ca_file`, which are also enough alone: a small container has no others.
pub(super) fn connector(ca_file: Option<&Path>) -> Result<RustlsConnector, ConnectError> {
    let mut config = match (RustlsConnectorConfig::new_with_native_certs(), ca_file) {
        (Ok(config), _) => config,
        (Err(_), Some(_)) => RustlsConnectorConfig::default(),
        (Err(cause), None) => return Err(ConnectError::TlsSetup { cause }),
    };
    if let Some(path) = ca_file {
        config.add_parsable_certificates(read_certificates(path)?);
    }
    config.connector_with_no_client_auth().map_err(|cause| ConnectError::TlsSetup { cause })
}

pub(super) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let unusable = |cause: String| ConnectError::CaFile { path: path.to_owned(), cause };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|cause| unusable(cause.to_string()))?;
    if certificates.is_empty() {
        return Err(unusable("there is no certificate in it".to_owned()));
    }
    Ok(certificates)
}

pub(super) fn tls_reason(cause: &io::Error) -> String {
    let inner = cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let reason = match inner {
        Some(rustls::Error::InvalidCertificate(certificate)) => match certificate {
            CertificateError::UnknownIssuer => {
                "its certificate is signed by nobody this machine trusts; is a CA file needed?"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "its certificate is for another name than the one in the URI"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired",
            _ => return cause.to_string(),
        },
        Some(rustls::Error::InvalidMessage(_)) => "TLS is not spoken on this port",
        _ => return cause.to_string(),
    };
    reason.to_owned()
}

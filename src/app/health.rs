//! `dlo health`: what the server of this configuration says of itself. For containers, which have no curl.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

use crate::{
    config::Config,
    notify::{Patience, client},
};

/// Asks and prints the answer. It fails where nobody answers, or, if `ready` is asked for, where it is not.
pub async fn health(config: &Config, ready: bool) -> anyhow::Result<ExitCode> {
    let path = if ready { "readyz" } else { "healthz" };
    let (scheme, client) = match super::web::certificate(config)? {
        None => ("http", client(Patience::default(), None)?),
        Some(certificate) => ("https", client_of_own(certificate.chain())?),
    };
    let url = format!("{scheme}://{}/{path}", reachable(config.web.listen));
    let answer = client.get(&url).send().await.with_context(|| format!("no answer from {url}"))?;
    let is_well = answer.status().is_success();
    super::answer(format_args!("{}", answer.text().await?));
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A client that believes the certificate of our own and no other, whatever name it is for.
fn client_of_own(chain: Vec<CertificateDer<'static>>) -> anyhow::Result<reqwest::Client> {
    let provider = Arc::new(ring::default_provider());
    let own = Arc::new(Own { chain, provider: Arc::clone(&provider) });
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let tls = builder.dangerous().with_custom_certificate_verifier(own).with_no_client_auth();
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls).timeout(Patience::default().total);
    Ok(client.no_proxy().build()?)
}

#[derive(Debug)]
struct Own {
    chain: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Own {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.chain.first() == Some(end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
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

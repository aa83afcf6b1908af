//! Attempts that fail, and what they say.

use std::{
    io::{Read, Write},
    net::TcpListener,
    path::PathBuf,
    sync::atomic::{AtomicUsize, Ordering},
    thread::JoinHandle,
};

use rustls::CertificateError;
use tokio::sync::oneshot;

use super::{tls::read_certificates, uri::DEFAULT_HEARTBEAT, *};

const SECRET: &str = "s3cret";
/// What a client says first.
const HEADER: &[u8] = b"AMQP\0\0\x09\x01";

async fn failure(uri: &str) -> ConnectError {
    let error = connect(uri, "test", None, false).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
    error
}

/// A server for one client: says something, and then listens until the client goes away.
struct Served {
    port: u16,
    /// The client has said as much as AMQP's header.
    is_greeted: oneshot::Receiver<()>,
    heard: JoinHandle<Vec<u8>>,
}

fn serve(greeting: &'static [u8]) -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (greeted, is_greeted) = oneshot::channel();
    let heard = std::thread::spawn(move || {
        let mut client = listener.accept().unwrap().0;
        client.write_all(greeting).unwrap();
        let mut heard = Vec::new();
        (&client).take(HEADER.len() as u64).read_to_end(&mut heard).unwrap();
        _ = greeted.send(());
        client.read_to_end(&mut heard).unwrap();
        heard
    });
    Served { port, is_greeted, heard }
}

#[tokio::test]
async fn what_is_no_uri_is_refused_without_quoting_it() {
    for uri in [
        "",
        "localhost",
        "http://guest:s3cret@localhost",
        "amqp:guest:s3cret@localhost",
        "guest:s3cret@localhost:5672",
        "amqp://guest:s3cret/@localhost",
        "amqp://guest:s3cret@localhost?heartbeat=often",
    ] {
        let error = failure(uri).await;
        assert!(matches!(error, ConnectError::InvalidUri { .. }), "{uri}: {error}");
    }
}

#[tokio::test]
async fn a_virtual_host_that_fits_no_short_string_is_refused() {
    let error = failure(&format!("amqp://localhost/{}", "v".repeat(256))).await;
    assert!(matches!(error, ConnectError::InvalidUri { .. }), "{error}");
}

#[test]
fn the_heartbeat_is_ours_unless_the_uri_has_one() {
    assert_eq!(parse_uri("amqp://h").unwrap().query.heartbeat, Some(DEFAULT_HEARTBEAT));
    assert_eq!(parse_uri("amqp://h?heartbeat=0").unwrap().query.heartbeat, Some(0));
}

#[test]
fn an_ipv6_address_is_not_taken_for_localhost() {
    let uri = parse_uri("amqps://u:p@[2001:db8::1]:5671/v").unwrap();
    assert_eq!(uri.authority.host, "2001:db8::1");
    assert_eq!(address(&uri), "[2001:db8::1]:5671");
}

#[test]
fn an_empty_virtual_host_gets_a_hint() {
    assert!(vhost_reason("", "not found").contains("/%2f"));
    assert_eq!(vhost_reason("v", "not found"), "not found");
}

#[tokio::test]
async fn the_timeout_may_be_absurd() {
    let attempt = Attempt::new(&format!("amqp://h?connection_timeout={}", u64::MAX)).unwrap();
    assert_eq!(attempt.limit, MAX_TIMEOUT);
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let error = failure("amqp://guest:s3cret@127.0.0.1:1/%2f").await;
    assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn an_unknown_name_is_told_apart() {
    let error = failure("amqp://guest:s3cret@nowhere.invalid/%2f").await;
    assert!(matches!(error, ConnectError::UnknownHost { .. }), "{error}");
}

#[tokio::test]
async fn something_else_than_a_broker_is_told_apart() {
    let Served { port, .. } = serve(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let error = failure(&format!("amqp://guest:s3cret@127.0.0.1:{port}/%2f")).await;
    assert!(matches!(error, ConnectError::NotAmqp { .. }), "{error}");
}

/// lapin's I/O thread is told, too: the server sees the connection end.
#[tokio::test]
async fn silence_ends_the_attempt_and_the_socket() {
    let silent = async |scheme: &str, step| {
        let Served { port, heard, .. } = serve(b"");
        // lapin's thread needs a processor meanwhile.
        let uri = format!("{scheme}://guest:s3cret@127.0.0.1:{port}/%2f?connection_timeout=3000");
        let error = failure_with_some_ca(&uri).await;
        assert!(matches!(error, ConnectError::TimedOut { step: at, .. } if at == step), "{error}");
        assert!(!heard.join().unwrap().is_empty());
    };
    tokio::join!(silent("amqp", Step::Amqp), silent("amqps", Step::Tls));
}

#[tokio::test]
async fn a_dropped_attempt_closes_its_socket() {
    let Served { port, is_greeted, heard } = serve(b"");
    let uri = format!("amqp://guest:s3cret@127.0.0.1:{port}/%2f");
    tokio::select! {
        outcome = connect(&uri, "test", None, false) => panic!("nobody answers: {:?}", outcome.err()),
        greeted = is_greeted => greeted.unwrap(),
    }
    assert_eq!(heard.join().unwrap(), HEADER);
}

#[tokio::test]
async fn plain_amqp_is_no_tls() {
    let Served { port, .. } = serve(HEADER);
    let error = failure_with_some_ca(&format!("amqps://guest:s3cret@127.0.0.1:{port}/%2f")).await;
    assert!(error.to_string().contains("TLS is not spoken"), "{error}");
}

/// A self-signed certificate, so that these tests need no certificate store on the machine.
const SOME_CA: &str = "-----BEGIN CERTIFICATE-----
MIIBdDCCARugAwIBAgIUJG0R039bpGRtKes9FQC4gqcXg1YwCgYIKoZIzj0EAwIw
DzENMAsGA1UEAwwEdGVzdDAgFw0yNjExMjExMTA0NDJaGA8yMTI2MTAyODExMDQ0
MlowDzENMAsGA1UEAwwEdGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIrD
xbtqsYMK5eYAqi8dO9SLFJBb19g8TkcjbFE8ssWMS2Z47AWczioa9jL0Mpl60O4F
KERIifHVS3EkUNqQ5z2jUzBRMB0GA1UdDgQWBBShp/WkG0ItBVX3wvyDtXWQhNIk
iDAfBgNVHSMEGDAWgBShp/WkG0ItBVX3wvyDtXWQhNIkiDAPBgNVHRMBAf8EBTAD
AQH/MAoGCCqGSM49BAMCA0cAMEQCIACoGk+LTunc5ZR4QPLofUj0UOO4GOLr9Bgs
l9IvFnpNAiAP9S13IDn061o2WKuYkzKfwA13cdFrpDYyQgm6LvBx6A==
-----END CERTIFICATE-----
";

/// A file of its own for each use, gone afterwards.
struct PemFile(PathBuf);

impl PemFile {
    fn new(content: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dlo-transport-{}-{count}.pem", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for PemFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

async fn failure_with_some_ca(uri: &str) -> ConnectError {
    let ca_file = PemFile::new(SOME_CA);
    connect(uri, "test", Some(&ca_file.0), false).await.unwrap_err()
}

#[test]
fn certificates_are_read_or_the_file_is_named() {
    let good = PemFile::new(SOME_CA);
    assert_eq!(read_certificates(&good.0).unwrap().len(), 1);
    let empty = PemFile::new("");
    for file in [empty.0.as_path(), Path::new("/nowhere/ca.pem")] {
        let error = read_certificates(file).unwrap_err();
        assert!(error.to_string().contains(&file.display().to_string()), "{error}");
    }
}

#[test]
fn certificates_are_judged_in_plain_words() {
    let reason = |error: CertificateError| tls_reason(&io::Error::other(rustls::Error::InvalidCertificate(error)));
    assert!(reason(CertificateError::UnknownIssuer).contains("nobody this machine trusts"));
    assert!(reason(CertificateError::NotValidForName).contains("another name"));
    assert!(reason(CertificateError::Expired).contains("expired"));
    assert!(reason(CertificateError::Revoked).contains("Revoked"));
}

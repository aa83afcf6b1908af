//! Opens a connection to RabbitMQ: one attempt, in bounded time, with an error a person can act on.
//!
//! lapin is given a stream that is already open, with TLS taken off and [`Utf8Guard`] put on, rather
//! than left to open one itself. So the guard sees the clear octets whatever the scheme, an attempt
//! that is given up leaves no half-open socket, and it is known at which step an attempt failed.
//!
//! There is no second attempt here and no recovery: when anything fails the session ends, and who
//! called decides when to begin another.

use std::{
    io,
    net::{Shutdown, SocketAddr, TcpStream as StdTcpStream},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_rs::{Runtime, Tokio, traits::Reactor, util::RuntimeParts};
use futures_core::Stream;
use futures_io::{AsyncRead, AsyncWrite};
use lapin::{
    AsyncTcpStream, Connection, ConnectionProperties, ErrorKind,
    protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError},
    tcp::{RustlsConnector, RustlsConnectorConfig},
    uri::{AMQPScheme, AMQPUri},
};
use rustls::{
    CertificateError,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, timeout_at},
};
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

use super::utf8_guard::{Repairs, Utf8Guard};

/// How long an attempt may take from the look-up of the name to the open connection, unless the
/// URI says otherwise (`connection_timeout`, in milliseconds).
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Seconds between heartbeats, unless the URI says otherwise (`heartbeat`). RabbitMQ would offer 60.
pub const DEFAULT_HEARTBEAT: u16 = 10;

/// What a `connection_timeout` can ask for at most.
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// Virtual hosts travel as short strings, and lapin panics on a longer one.
const MAX_VHOST_LEN: usize = 255;

/// Why there is no connection. Its text is for the operator and never holds the password.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URI can't be understood.
    #[error("not an AMQP URI (amqp://user:password@host:port/vhost): {reason}")]
    InvalidUri {
        /// What is wrong with it.
        reason: String,
    },
    /// The file with certificate authorities can't be used.
    #[error("cannot read certificate authorities from {}: {cause}", path.display())]
    CaFile {
        /// The file that was given.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// TLS can't be set up on this machine.
    #[error("TLS cannot be set up on this machine: {cause}")]
    TlsSetup {
        /// Why not; mostly that no certificate authorities are installed.
        cause: io::Error,
    },
    /// The name of the host isn't known.
    #[error("the name {host} cannot be resolved: {cause}")]
    UnknownHost {
        /// The host of the URI.
        host: String,
        /// What the resolver said.
        cause: io::Error,
    },
    /// There is no TCP connection to be had, say because it was refused.
    #[error("cannot connect to {address}: {cause}")]
    Unreachable {
        /// Host and port.
        address: String,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The TLS handshake failed, say because the certificate isn't trusted.
    #[error("TLS with {address} failed: {reason}")]
    Tls {
        /// Host and port.
        address: String,
        /// What went wrong.
        reason: String,
    },
    /// An attempt took too long.
    #[error("{address} did not answer within {seconds} s ({step})", seconds = limit.as_secs_f32())]
    TimedOut {
        /// Host and port.
        address: String,
        /// How long it was given.
        limit: Duration,
        /// What was being waited for.
        step: Step,
    },
    /// Something else than a broker, or one that wants TLS, is listening there.
    #[error("{address} does not speak AMQP 0-9-1 (is it the right port, and amqp or amqps?)")]
    NotAmqp {
        /// Host and port.
        address: String,
    },
    /// User or password are wrong, or the user may not log in from here.
    #[error("{address} refused the login of user {user}: {reason}")]
    LoginRefused {
        /// Host and port.
        address: String,
        /// The user of the URI.
        user: String,
        /// What the broker said.
        reason: String,
    },
    /// The virtual host doesn't exist, or isn't for this user, or is full.
    #[error("{address} refused virtual host \"{vhost}\": {reason}")]
    VhostRefused {
        /// Host and port.
        address: String,
        /// The virtual host of the URI.
        vhost: String,
        /// What the broker said.
        reason: String,
    },
    /// The AMQP handshake failed in some other way.
    #[error("the handshake with {address} failed: {cause}")]
    Handshake {
        /// Host and port.
        address: String,
        /// What lapin said.
        cause: lapin::Error,
    },
}

/// The steps of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The name of the host is looked up.
    Name,
    /// The TCP connection is opened.
    Tcp,
    /// TLS is agreed upon.
    Tls,
    /// The AMQP handshake: greeting, login, virtual host.
    Amqp,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Name => "resolving the name",
            Self::Tcp => "TCP connection",
            Self::Tls => "TLS handshake",
            Self::Amqp => "AMQP handshake",
        })
    }
}

/// Connects to the broker at `uri`, once, and shows there as `name`.
///
/// `ca_file`, in PEM form, holds certificate authorities to trust beside those of the system. The
/// handle that comes with the connection tells which deliveries had to be mended; lapin's own
/// behaviour is otherwise unchanged.
///
/// Dropping the future ends the attempt and closes its socket. To learn of a broker that blocks
/// publishers, ask for `events_listener()` as soon as the connection is there: an event that nobody
/// listens for is gone, and two listeners share the events rather than each getting all.
///
/// # Errors
///
/// See [`ConnectError`]; a name that resolves to several addresses fails with the last one's error.
///
/// # Panics
///
/// Outside of a tokio runtime, or in one that has I/O or time disabled.
pub async fn connect(uri: &str, name: &str, ca_file: Option<&Path>) -> Result<(Connection, Repairs), ConnectError> {
    let attempt = Attempt::new(uri)?;
    let (tcp, hang_up) = attempt.open_tcp().await?;
    let clear = attempt.take_tls_off(tcp, ca_file).await?;
    let repairs = Repairs::default();
    let connection = attempt.open_amqp(Utf8Guard::new(clear, repairs.clone()), name).await?;
    hang_up.disarm();
    Ok((connection, repairs))
}

type Tcp = Compat<TcpStream>;

/// The octets of AMQP, over TCP alone or out of TLS.
type Clear = AsyncTcpStream<Tcp>;

type Guarded = Utf8Guard<Clear>;

/// One attempt at connecting, with the time it has.
struct Attempt {
    uri: AMQPUri,
    /// Host and port, for a person.
    address: String,
    limit: Duration,
    deadline: Instant,
}

impl Attempt {
    fn new(uri: &str) -> Result<Self, ConnectError> {
        let uri = parse_uri(uri)?;
        let limit = uri.query.connection_timeout.map_or(CONNECT_TIMEOUT, Duration::from_millis);
        let limit = limit.min(MAX_TIMEOUT);
        Ok(Self { address: address(&uri), uri, limit, deadline: Instant::now() + limit })
    }

    async fn within<T>(&self, step: Step, work: impl Future<Output = T>) -> Result<T, ConnectError> {
        timeout_at(self.deadline, work).await.map_err(|_| ConnectError::TimedOut {
            address: self.address.clone(),
            limit: self.limit,
            step,
        })
    }

    async fn open_tcp(&self) -> Result<(Tcp, HangUp), ConnectError> {
        let addresses = self.resolve().await?;
        let tcp = self.within(Step::Tcp, TcpStream::connect(&addresses[..])).await?;
        tcp.and_then(HangUp::prepare).map_err(|cause| self.unreachable(cause))
    }

    async fn resolve(&self) -> Result<Vec<SocketAddr>, ConnectError> {
        let host = self.uri.authority.host.as_str();
        match self.within(Step::Name, lookup_host((host, self.uri.authority.port))).await? {
            Ok(addresses) => Ok(addresses.collect()),
            Err(cause) => Err(ConnectError::UnknownHost { host: host.to_owned(), cause }),
        }
    }

    async fn take_tls_off(&self, tcp: Tcp, ca_file: Option<&Path>) -> Result<Clear, ConnectError> {
        let stream = AsyncTcpStream::Plain(tcp);
        match self.uri.scheme {
            AMQPScheme::AMQP => Ok(stream),
            AMQPScheme::AMQPS => {
                let connector = load_connector(ca_file).await?;
                let handshake = stream.into_rustls(&connector, &self.uri.authority.host);
                self.within(Step::Tls, handshake).await?.map_err(|cause| self.tls(&cause))
            }
        }
    }

    async fn open_amqp(&self, stream: Guarded, name: &str) -> Result<Connection, ConnectError> {
        // No retries and no recovery is lapin's default, too; it is vital here, so it is said.
        let options = ConnectionProperties::default()
            .with_connection_name(name.into())
            .configure_backoff(|backoff| backoff.with_max_times(0));
        let stream = Mutex::new(Some(stream));
        let hand_over = async move |_: AMQPUri, _: Runtime<Kit>| {
            let stream = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
            let stream = stream.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
            Ok(AsyncTcpStream::Plain(stream))
        };
        let handshake = Connection::connector(self.uri.clone(), runtime(), hand_over, options);
        self.within(Step::Amqp, handshake).await?.map_err(|cause| self.amqp(cause))
    }

    fn unreachable(&self, cause: io::Error) -> ConnectError {
        ConnectError::Unreachable { address: self.address.clone(), cause }
    }

    fn tls(&self, cause: &io::Error) -> ConnectError {
        ConnectError::Tls { address: self.address.clone(), reason: tls_reason(cause) }
    }

    fn amqp(&self, cause: lapin::Error) -> ConnectError {
        let address = self.address.clone();
        match cause.kind() {
            ErrorKind::ParsingError(_) | ErrorKind::InvalidProtocolVersion(_) => ConnectError::NotAmqp { address },
            ErrorKind::ProtocolError(refusal) => match refusal.kind() {
                AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED) => ConnectError::LoginRefused {
                    address,
                    user: self.uri.authority.userinfo.username.clone(),
                    reason: refusal.get_message().to_string(),
                },
                AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED) => ConnectError::VhostRefused {
                    address,
                    vhost: self.uri.vhost.clone(),
                    reason: vhost_reason(&self.uri.vhost, refusal.get_message().as_str()),
                },
                _ => ConnectError::Handshake { address, cause },
            },
            _ => ConnectError::Handshake { address, cause },
        }
    }
}

// ---------------------------------------------------------------------------------------------
// The URI

fn parse_uri(text: &str) -> Result<AMQPUri, ConnectError> {
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
    Ok(uri)
}

/// The host if it is an IPv6 address, which [`AMQPUri`] silently takes for `localhost`.
fn ipv6_host(uri: &str) -> Option<String> {
    match url::Url::parse(uri).ok()?.host()? {
        url::Host::Ipv6(address) => Some(address.to_string()),
        _ => None,
    }
}

fn address(uri: &AMQPUri) -> String {
    let (host, port) = (&uri.authority.host, uri.authority.port);
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// What the broker said, and what most likely was meant by a URI that ends in a bare `/`.
fn vhost_reason(vhost: &str, said: &str) -> String {
    let hint = " (the default virtual host is written /%2f)";
    format!("{said}{}", if vhost.is_empty() { hint } else { "" })
}

// ---------------------------------------------------------------------------------------------
// TLS

/// Loads the certificate authorities, which reads some hundred files, off the runtime's threads.
async fn load_connector(ca_file: Option<&Path>) -> Result<RustlsConnector, ConnectError> {
    let ca_file = ca_file.map(Path::to_owned);
    tokio::task::spawn_blocking(move || connector(ca_file.as_deref()))
        .await
        .map_err(|cause| ConnectError::TlsSetup { cause: cause.into() })?
}

/// What lapin would set up by itself (rustls, the system's authorities, no client certificate),
/// plus those of `ca_file`, which are also enough alone: a small container has no others.
fn connector(ca_file: Option<&Path>) -> Result<RustlsConnector, ConnectError> {
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

fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let unusable = |cause: String| ConnectError::CaFile { path: path.to_owned(), cause };
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|cause| unusable(cause.to_string()))?;
    if certificates.is_empty() {
        return Err(unusable("there is no certificate in it".to_owned()));
    }
    Ok(certificates)
}

fn tls_reason(cause: &io::Error) -> String {
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

// ---------------------------------------------------------------------------------------------
// The socket

/// Shuts the socket down when dropped, unless the attempt has succeeded.
///
/// lapin reads on a thread of its own, which outlives the future that waits for the handshake:
/// without this, each attempt at an endpoint that accepts and then says nothing would leave a
/// thread behind, with its buffers and its socket.
struct HangUp(Option<StdTcpStream>);

impl HangUp {
    fn prepare(tcp: TcpStream) -> io::Result<(Tcp, Self)> {
        tcp.set_nodelay(true)?;
        let socket = tcp.into_std()?;
        let handle = socket.try_clone()?;
        Ok((TcpStream::from_std(socket)?.compat(), Self(Some(handle))))
    }

    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for HangUp {
    fn drop(&mut self) {
        if let Some(socket) = self.0.take() {
            // It may have been closed by the other side already; then there is nothing to do.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

// ---------------------------------------------------------------------------------------------
// The runtime

/// Tokio, but for the type of the streams: lapin takes a stream only if its runtime makes such.
type Kit = RuntimeParts<Tokio, GuardedReactor>;

fn runtime() -> Runtime<Kit> {
    let tokio = Tokio::current();
    Runtime::new(RuntimeParts::new(tokio.clone(), GuardedReactor(tokio)))
}

/// Tokio's timers. It opens no streams: lapin gets the one it is handed.
#[derive(Clone, Debug)]
struct GuardedReactor(Tokio);

impl Reactor for GuardedReactor {
    type TcpStream = Guarded;
    type Sleep = <Tokio as Reactor>::Sleep;

    fn register<H: io::Read + io::Write + Send + 'static>(
        &self,
        _socket: H,
    ) -> io::Result<impl AsyncRead + AsyncWrite + Send + Unpin + 'static> {
        Err::<Guarded, _>(io::ErrorKind::Unsupported.into())
    }

    fn sleep(&self, duration: Duration) -> Self::Sleep {
        self.0.sleep(duration)
    }

    fn interval(&self, period: Duration) -> impl Stream<Item = std::time::Instant> + Send + 'static {
        self.0.interval(period)
    }

    fn tcp_connect_addr(&self, _address: SocketAddr) -> impl Future<Output = io::Result<Guarded>> + Send + 'static {
        std::future::ready(Err(io::ErrorKind::Unsupported.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::JoinHandle;

    use super::*;

    const SECRET: &str = "s3cret";

    async fn failure(uri: &str) -> ConnectError {
        let error = connect(uri, "test", None).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
        error
    }

    /// A server for one client: says something, and then listens until the client goes away.
    fn serve(greeting: &'static [u8]) -> (u16, JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = std::thread::spawn(move || {
            let mut client = listener.accept().unwrap().0;
            client.write_all(greeting).unwrap();
            let mut heard = Vec::new();
            client.read_to_end(&mut heard).unwrap();
            heard
        });
        (port, heard)
    }

    fn unused_port() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
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
        let error = failure(&format!("amqp://guest:s3cret@127.0.0.1:{}/%2f", unused_port())).await;
        assert!(matches!(error, ConnectError::Unreachable { .. }), "{error}");
    }

    #[tokio::test]
    async fn an_unknown_name_is_told_apart() {
        let error = failure("amqp://guest:s3cret@nowhere.invalid/%2f").await;
        assert!(matches!(error, ConnectError::UnknownHost { .. }), "{error}");
    }

    #[tokio::test]
    async fn something_else_than_a_broker_is_told_apart() {
        let (port, _heard) = serve(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let error = failure(&format!("amqp://guest:s3cret@127.0.0.1:{port}/%2f")).await;
        assert!(matches!(error, ConnectError::NotAmqp { .. }), "{error}");
    }

    /// lapin's I/O thread is told, too: the server sees the connection end.
    #[tokio::test]
    async fn silence_ends_the_attempt_and_the_socket() {
        for (scheme, step) in [("amqp", Step::Amqp), ("amqps", Step::Tls)] {
            let (port, heard) = serve(b"");
            let uri = format!("{scheme}://guest:s3cret@127.0.0.1:{port}/%2f?connection_timeout=100");
            let error = failure_with_some_ca(&uri).await;
            assert!(matches!(error, ConnectError::TimedOut { step: at, .. } if at == step), "{error}");
            assert!(!heard.join().unwrap().is_empty());
        }
    }

    #[tokio::test]
    async fn a_dropped_attempt_closes_its_socket() {
        let (port, heard) = serve(b"");
        let uri = format!("amqp://guest:s3cret@127.0.0.1:{port}/%2f");
        let attempt = connect(&uri, "test", None);
        tokio::time::timeout(Duration::from_millis(100), attempt).await.unwrap_err();
        assert_eq!(heard.join().unwrap(), b"AMQP\0\0\x09\x01");
    }

    #[tokio::test]
    async fn plain_amqp_is_no_tls() {
        let (port, _heard) = serve(b"AMQP\0\0\x09\x01");
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
        connect(uri, "test", Some(&ca_file.0)).await.unwrap_err()
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
}

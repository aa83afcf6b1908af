//! Opens a connection to RabbitMQ: one attempt, in bounded time, with an error that says what to do.
//!
//! lapin is given a stream that is already open, with TLS taken off and [`Utf8Guard`] put on, rather
//! than left to open one itself. So the guard sees the clear octets whatever the scheme, an attempt
//! that is given up leaves no half-open socket, and it is known at which step an attempt failed.
//!
//! There is no second attempt here and no recovery: when anything fails the session ends, and who
//! called decides when to begin another.

mod error;
mod runtime;
mod socket;
mod tls;
mod uri;

#[cfg(test)]
mod tests;

use std::{
    io,
    net::SocketAddr,
    path::Path,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_rs::Runtime;
use lapin::{
    AsyncTcpStream, Connection, ConnectionProperties, ErrorKind,
    protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError},
    uri::{AMQPScheme, AMQPUri},
};
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, timeout_at},
};

use runtime::{Kit, runtime};
use socket::{HangUp, Tcp};
use tls::{load_connector, tls_reason};
use uri::{address, parse_uri, vhost_reason};

use super::utf8_guard::{ROOM, Repairs, Utf8Guard};

pub use error::{ConnectError, Step};

/// How long an attempt may take from the look-up of the name to the open connection, unless the
/// URI says otherwise (`connection_timeout`, in milliseconds).
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a `connection_timeout` can ask for at most.
const MAX_TIMEOUT: Duration = Duration::from_mins(5);

/// The virtual host that `uri` names.
pub fn vhost(uri: &str) -> Result<String, ConnectError> {
    parse_uri(uri).map(|uri| uri.vhost)
}

/// Connects to the broker at `uri`, once, and shows there as `name`.
///
/// `ca_file`, in PEM form, holds certificate authorities to trust beside those of the system. The
/// handle that comes with the connection says which deliveries had to be mended; lapin's own
/// behaviour is otherwise unchanged. With `only_receives`, nothing may be published, and frames may be larger than was agreed.
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
pub async fn connect(
    uri: &str,
    name: &str,
    ca_file: Option<&Path>,
    only_receives: bool,
) -> Result<(Connection, Repairs), ConnectError> {
    let mut attempt = Attempt::new(uri)?;
    if only_receives {
        attempt.uri.query.frame_max = attempt.uri.query.frame_max.map(larger);
    }
    let (tcp, hang_up) = attempt.open_tcp().await?;
    let clear = attempt.take_tls_off(tcp, ca_file).await?;
    let repairs = Repairs::default();
    let guard = if only_receives { Utf8Guard::with_larger_frames } else { Utf8Guard::new };
    let connection = attempt.open_amqp(guard(clear, repairs.clone()), name).await?;
    hang_up.disarm();
    Ok((connection, repairs))
}

/// None is none.
const fn larger(frame_max: u32) -> u32 {
    if frame_max == 0 { 0 } else { frame_max.saturating_add(ROOM) }
}

/// The octets of AMQP, over TCP alone or out of TLS.
type Clear = AsyncTcpStream<Tcp>;

type Guarded = Utf8Guard<Clear>;

/// One attempt at connecting, with the time it has.
struct Attempt {
    uri: AMQPUri,
    /// Host and port, to be shown.
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

//! Why there is no connection.

use std::{io, path::PathBuf, time::Duration};

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

//! Why the management API told nothing.

use std::time::Duration;

/// Why there is no answer. Its text is for the operator, says what to do, and never holds the password.
#[derive(Debug, thiserror::Error)]
pub enum ManagementError {
    #[error("not an address of a management API (http://USER:PASSWORD@HOST:PORT or https://…): {reason}")]
    InvalidUrl { reason: String },
    #[error(
        "cannot connect to {address}: {cause} (is the management plugin on, `rabbitmq-plugins enable \
         rabbitmq_management`, is this its port, and is it http or https?)"
    )]
    Unreachable { address: String, cause: String },
    #[error("{address} did not answer within {} s", limit.as_secs())]
    Timeout { address: String, limit: Duration },
    #[error("{address} took longer than {} s to list the queues of virtual host {vhost:?}", limit.as_secs())]
    TooSlow { address: String, vhost: String, limit: Duration },
    #[error("{address} wants to know who asks; give user and password in the address: http://USER:PASSWORD@HOST:PORT")]
    NoUser { address: String },
    #[error("{address} refused the login of user {user:?}: {said}")]
    LoginRefused { address: String, user: String, said: String },
    #[error(
        "user {user:?} may not use the management API of {address}; it needs the tag `monitoring` or `management`: \
         rabbitmqctl set_user_tags {user} monitoring"
    )]
    NoTag { address: String, user: String },
    #[error(
        "user {user:?} has no permission in virtual host {vhost:?} of {address}; any will do: \
         rabbitmqctl set_permissions -p {vhost} {user} '^$' '^$' '^$'"
    )]
    NoPermission { address: String, user: String, vhost: String },
    #[error("{address} knows no virtual host {vhost:?}, or user {user:?} has no permission in it")]
    NoVhost { address: String, user: String, vhost: String },
    #[error("{address} does not speak RabbitMQ's management API: {why} (is it the right port, and http or https?)")]
    NotManagement { address: String, why: String },
    #[error("{address} answered more than {limit} bytes at once, which no list of queues needs")]
    TooLarge { address: String, limit: usize },
    #[error("virtual host {vhost:?} of {address} has more than {limit} queues, which are too many to watch")]
    TooMany { address: String, vhost: String, limit: usize },
    #[error("{address} answered {status}: {said}")]
    Refused { address: String, status: u16, said: String },
}

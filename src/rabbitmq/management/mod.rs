//! RabbitMQ's management API: how the queues of a virtual host stand.
//!
//! It only ever reads. Its numbers are as old as the broker's statistics, five seconds by default and up to five more
//! for quorum queues, so nothing that has to be exact is decided by them.
//!
//! Facts that are not in RabbitMQ's documentation were measured on 3.10.8, 4.0.5 and 4.3.6.

mod address;
mod answer;
mod call;
mod error;
mod queues;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, fmt, time::Duration};

use reqwest::Client;
use url::Url;

use answer::Binding;
use call::Caller;

use super::transport;
use crate::{config::BrokerConfig, domain::queue_level::QueueLevel};

pub use answer::{Overview, Probe, WhoAmI};
pub use error::ManagementError;

/// How long it may take to find out what is bound to our queues.
const FEEDS_TIMEOUT: Duration = Duration::from_secs(20);

/// A client for one virtual host.
///
/// It can be shared and cloned; the connections are those of the [`Client`] that was handed in.
#[derive(Clone)]
pub struct Management {
    caller: Caller,
    vhost: String,
    /// `…/api/queues/{vhost}`
    queues: Url,
}

impl Management {
    /// `url` is `http://USER:PASSWORD@HOST:PORT` or `https://…`, with a path where the API has a prefix
    /// (`management.path_prefix`). Timeouts and the limits of what is read are set here for each request; certificate
    /// authorities, proxies and redirects are the client's: it should follow none, for it would take the password
    /// along.
    pub fn new(url: &str, vhost: &str, client: Client) -> Result<Self, ManagementError> {
        let base = address::parse(url)?;
        let queues = address::join(&base, &["queues", vhost])?;
        Ok(Self { caller: Caller::new(client, base), vhost: vhost.to_owned(), queues })
    }

    /// The one that the configuration names for a broker; `None` where it names none.
    pub fn of(config: &BrokerConfig, client: Client) -> Option<Result<Self, ManagementError>> {
        let url = Some(config.management_url.reveal()).filter(|url| !url.is_empty())?;
        let vhost = transport::vhost(config.url.reveal());
        let invalid = |error: transport::ConnectError| ManagementError::InvalidUrl { reason: error.to_string() };
        Some(vhost.map_err(invalid).and_then(|vhost| Self::new(url, &vhost, client)))
    }

    /// Host and port, for people; never the password.
    pub fn address(&self) -> &str {
        self.caller.address()
    }

    /// All queues of the virtual host, by name.
    ///
    /// They are asked for by pages. A queue that is declared or deleted meanwhile moves others across the borders of
    /// pages, so that now and then one is missing that is there. None is there twice.
    pub async fn queues(&self) -> Result<Vec<QueueLevel>, ManagementError> {
        queues::all(self).await
    }

    /// The exchanges that are bound to one of these queues, or to an exchange that is. Each is asked for by itself, so
    /// that all of it has an end, too.
    pub async fn feeds(&self, queues: &[&str]) -> Result<BTreeSet<String>, ManagementError> {
        let late = |_| ManagementError::Timeout { address: self.address().to_owned(), limit: FEEDS_TIMEOUT };
        tokio::time::timeout(FEEDS_TIMEOUT, self.read_feeds(queues)).await.map_err(late)?
    }

    async fn read_feeds(&self, queues: &[&str]) -> Result<BTreeSet<String>, ManagementError> {
        let mut feeds = BTreeSet::new();
        for queue in queues {
            feeds.extend(self.sources(&["queues", &self.vhost, queue, "bindings"]).await?);
        }
        for exchange in feeds.clone() {
            feeds.extend(self.sources(&["exchanges", &self.vhost, &exchange, "bindings", "destination"]).await?);
        }
        Ok(feeds)
    }

    /// Without the default exchange, which every queue is bound to.
    async fn sources(&self, path: &[&str]) -> Result<Vec<String>, ManagementError> {
        let bindings: Vec<Binding> = self.caller.ask(self.caller.url(path)?).await?;
        Ok(bindings.into_iter().map(|binding| binding.source).filter(|source| !source.is_empty()).collect())
    }

    /// What broker it is. Any user may ask who may use the API at all.
    pub async fn overview(&self) -> Result<Overview, ManagementError> {
        let url = self.caller.url(&["overview"])?;
        self.caller.ask(url).await
    }

    /// As whom we are known.
    pub async fn whoami(&self) -> Result<WhoAmI, ManagementError> {
        let url = self.caller.url(&["whoami"])?;
        self.caller.ask(url).await
    }

    /// Finds out whether [`queues`](Self::queues) would work, without reading them all.
    pub async fn probe(&self) -> Result<Probe, ManagementError> {
        let user = self.whoami().await?.name;
        let overview = self.overview().await?;
        let n_queues = queues::count(self).await?;
        Ok(Probe { user, overview, n_queues })
    }
}

impl fmt::Debug for Management {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Management").field("address", &self.address()).field("vhost", &self.vhost).finish()
    }
}

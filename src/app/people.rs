//! What `dlo user` and `dlo token` do.

use std::sync::Arc;

use crate::{
    clock::Clock,
    config::Config,
    services::{
        change_feed::ChangeFeed,
        sign_in::{Tokens, Users},
    },
    store::Store,
};

/// Users and tokens, also while servers use the database.
pub struct People {
    pub users: Users,
    pub tokens: Tokens,
}

impl People {
    /// Opens the database, and makes the tables of a new one where servers would.
    ///
    /// # Errors
    /// Where the database is at another version: servers of an older one may use it, which only who upgrades can tell.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let store = Store::open(config.database.url.reveal()).await?;
        if config.database.auto_migrate && store.is_new().await? {
            store.migrate().await?;
        }
        store.check_version().await?;
        let (store, clock, feed) = (Arc::new(store), Clock::system(), ChangeFeed::default());
        Ok(Self {
            users: Users::new(Arc::clone(&store), clock.clone(), feed.clone()),
            tokens: Tokens::new(store, clock, feed),
        })
    }
}

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
    /// Opens the database, and brings it to this version where servers would.
    pub async fn open(config: &Config) -> anyhow::Result<Self> {
        let store = Store::open(config.database.url.reveal()).await?;
        if config.database.auto_migrate {
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

//! Connections to Postgres.

use std::{future::pending, io, time::Duration};

use sqlx::{
    Connection, Executor, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::sleep;

use super::{ACQUIRE_TIMEOUT, Renewal};
use crate::store::StoreError;

/// Of each pool.
const CONNECTIONS: u32 = 10;
/// When it is asked why a connection is not there yet; most are by then.
const SOON: Duration = Duration::from_millis(300);
/// No statement here runs for long: Postgres would spend more on starting workers and compiling expressions than these save.
const SHORT_STATEMENTS: &str = "SET max_parallel_workers_per_gather = 0; SET jit = off";

/// Connects a pool, or says why that is not to be had: a pool itself tries for long, and then says only that it has.
pub(super) async fn connect(renewal: &Renewal, options: PgConnectOptions) -> Result<PgPool, StoreError> {
    let refused = async {
        sleep(SOON).await;
        match PgConnection::connect_with(&options).await {
            Ok(connection) => {
                drop(connection.close().await);
                pending().await
            }
            Err(cause) => cause,
        }
    };
    tokio::select! {
        connected = pool(renewal).connect_with(options.clone()) => connected,
        cause = refused => Err(cause),
    }
    .map_err(|cause| StoreError::NoConnection { address: address(&options), cause: told(cause) })
}

/// In words of who has no pool.
fn told(cause: sqlx::Error) -> sqlx::Error {
    let no_answer = || format!("no answer within {} s", ACQUIRE_TIMEOUT.as_secs());
    match cause {
        sqlx::Error::PoolTimedOut => io::Error::new(io::ErrorKind::TimedOut, no_answer()).into(),
        cause => cause,
    }
}

fn address(options: &PgConnectOptions) -> String {
    match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    }
}

pub(super) fn pool(renewal: &Renewal) -> PgPoolOptions {
    let renewal = renewal.clone();
    PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .before_acquire(move |_, connection| {
            let is_current = renewal.is_current(connection.age);
            Box::pin(async move { Ok(is_current) })
        })
        .after_connect(|connection, _| Box::pin(async move { connection.execute(SHORT_STATEMENTS).await.map(drop) }))
}

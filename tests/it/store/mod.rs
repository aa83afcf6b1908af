//! The database. Every test of it runs on SQLite and on Postgres.
//!
//! A test is an `async fn(&TestDatabase)` that is named once more in `on_both!` at the end of its file. When it is over, the
//! database is audited: what is kept (counts, one retry for each scheduled letter) has to equal what is recounted.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the error handling")]

macro_rules! on_both {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                let database = $crate::store::database::TestDatabase::sqlite().await;
                super::$test(&database).await;
                database.audit().await;
            })+
        }
        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                let Some(database) = $crate::store::database::TestDatabase::postgres().await else { return };
                super::$test(&database).await;
                database.audit().await;
            })+
        }
    };
}

pub mod database;
pub mod make;
mod model;

mod activity;
mod backup;
mod bulk;
mod claims;
mod clock;
mod commands;
pub mod concurrency;
mod counts;
mod digests;
mod dump;
mod edits;
mod enrichment;
mod errors;
mod failed_again;
mod group_states;
mod groups;
mod incidents;
mod jobs;
mod listing;
mod merges;
mod opening;
mod outages;
mod pauses;
mod random_lives;
mod reading;
mod record;
mod redelivery;
mod releases;
mod retries;
mod rules;
mod schemas;
mod search;
mod settled;
mod statements;
mod storms;
mod tidying;
mod versions;
mod waiting;
mod watch;

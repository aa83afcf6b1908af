//! The database. Every test of it runs on SQLite and on Postgres.
//!
//! A test is an `async fn(&Ledger)` that is named once more in `on_both!` at the end of its file. When it is over, the
//! database is audited: what is kept (counts, one retry for each scheduled letter) has to equal what is recounted.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the error handling")]

macro_rules! on_both {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                let ledger = $crate::store::ledger::Ledger::sqlite().await;
                super::$test(&ledger).await;
                ledger.audit().await;
            })+
        }
        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                let Some(ledger) = $crate::store::ledger::Ledger::postgres().await else { return };
                super::$test(&ledger).await;
                ledger.audit().await;
            })+
        }
    };
}

pub mod ledger;
pub mod make;
mod model;

mod activity;
mod bulk;
mod came_back;
mod commands;
mod concurrency;
mod counts;
mod digests;
mod edits;
mod errors;
mod groups;
mod incidents;
mod listing;
mod opening;
mod outages;
mod random_lives;
mod reading;
mod record;
mod redelivery;
mod retries;
mod rules;
mod schemas;
mod settled;
mod sorting;
mod statements;
mod waiting;
mod watch;

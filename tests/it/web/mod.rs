//! What people, scripts and machines see: pages, API, security, the program itself, and all of it in a real browser.
//!
//! Most tests ask the router of a server that has a database but no broker ([`desk`]). Those of the program and of the
//! browser run the binary, with a real RabbitMQ where one is needed ([`program`], [`browser`]).
#![expect(clippy::unwrap_used, reason = "in a test a panic is the error handling")]

/// Runs tests on a desk over each database, or on what `from` makes of such a desk.
macro_rules! on_both {
    (from $make:path: $($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                let desk = $crate::web::desk::Desk::open().await;
                super::$test(&$make(desk)).await;
            })+
        }
        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                let Some((desk, _database)) = $crate::web::desk::Desk::on_postgres().await else { return };
                super::$test(&$make(desk)).await;
            })+
        }
    };
    ($($test:ident),+ $(,)?) => {
        on_both!(from std::convert::identity: $($test),+);
    };
}

pub mod answer;
mod dead;
pub mod desk;
mod digests;
mod form;
pub mod run;
mod service;

mod activity;
mod api_calls;
mod api_groups;
mod api_letters;
mod api_mistakes;
mod api_promises;
mod api_refusals;
mod api_tools;
mod backoff;
mod browser;
mod connections;
mod decode;
mod edit_page;
mod edits;
mod events;
mod failures;
mod filters;
mod forms;
mod group_splits;
mod group_states;
mod grouping_rules;
mod groups;
mod hostile;
mod idempotency;
mod in_common;
mod letter_page;
mod letters_export;
mod lists;
mod machines;
mod markers;
mod mass_edit;
mod naming;
mod openapi;
mod pacing;
mod pages;
mod paging;
mod parts;
mod payload;
mod policies;
mod program;
mod queue_page;
mod queue_pause;
mod queues;
mod rules;
mod rules_at_work;
mod schemas;
mod schemas_folder;
pub mod search;
mod secrets;
mod security;
pub mod sign_in;
mod tasks;
mod teams;
mod two_editors;
mod views;
mod watch;
mod why;

//! Dead Letter Office: where the messages that RabbitMQ services could not process are kept, understood and dealt
//! with.
//!
//! # The way a letter goes
//! A service rejects a message, RabbitMQ dead-letters it, and [`services::intake`] consumes it: it reads from the
//! headers where and why it failed ([`failure_conventions`]), asks the policy in force ([`services::policies`]) whether
//! and when it goes back, commits it to the database ([`store`]) or publishes it to a delay queue ([`rabbitmq`]), and only
//! then acknowledges. [`services::scheduler`] publishes what is due to the very queue it failed in and marks it once the
//! broker has confirmed; what has waited in a delay queue comes back to the intake, which sends it on. What fails again comes back to the same letter, what does not is forgotten
//! ([`services::retention`]).
//!
//! A letter that is stored is sorted ([`services::enrichment`]): of which type it is ([`payload_codec`]), how important
//! ([`rule_language`]), and what failed like it ([`grouping`]). A group that matters is told at once
//! ([`services::incidents`]), the rest in a digest ([`services::digests`]); both stand in the database until they are sent
//! ([`services::notifications`], [`notify`]). When the retries are used up, a person finds the letter on a page ([`web`])
//! and decides; [`services::triage`] writes the decision down.
//!
//! # The floors
//! A module uses only what stands below it here, and its own folder; `tests/it/invariants.rs` sees to that.
//!
//! 5. [`app`], [`cli`], [`demo`]: parse, build, run.
//! 4. [`web`]: pages, JSON API, security.
//! 3. [`services`]: the verbs.
//! 2. [`store`], [`rabbitmq`], [`notify`]: the database, RabbitMQ, Slack and pagers. None knows another. [`metrics`]
//!    beside them.
//! 1. [`config`], [`clock`], [`grouping`], [`crash_point`].
//! 0. [`domain`]: the nouns.
//!
//! Below all of them are the crates of this workspace, which know nothing of dlo: [`amqp_message`],
//! [`failure_conventions`], [`payload_codec`], [`rule_language`].

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crash_point;
pub mod demo;
pub mod domain;
pub mod grouping;
pub mod metrics;
pub mod notify;
pub mod rabbitmq;
pub mod services;
pub mod store;
pub mod web;

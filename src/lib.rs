//! Dead Letter Office: where the messages that RabbitMQ services could not process are kept, understood and dealt
//! with.
//!
//! # The way a letter goes
//! A service rejects a message, RabbitMQ dead-letters it, and [`pipeline::intake`] consumes it: it reads from the
//! headers where and why it failed ([`failure`], [`xdeath`]), asks the policy in force ([`pipeline::policies`]) whether
//! and when it goes back, commits it to the ledger ([`store`]) or publishes it to a delay queue ([`broker`]), and only
//! then acknowledges. [`pipeline::scheduler`] publishes what is due to the very queue it failed in and marks it once the
//! broker has confirmed; what has waited in a delay queue comes back to the intake, which sends it on. What fails again comes back to the same letter, what does not is forgotten
//! ([`pipeline::retention`]).
//!
//! A letter that is stored is sorted ([`pipeline::sorting`]): of which type it is ([`decode`]), how important
//! ([`classify`]), and what failed like it ([`grouping`]). A group that matters is told at once
//! ([`pipeline::incidents`]), the rest in a digest ([`pipeline::digests`]); both stand in the ledger until they are sent
//! ([`pipeline::deliveries`], [`notify`]). When the retries are used up, a person finds the letter on a page ([`web`])
//! and decides; [`pipeline::triage`] writes the decision down.
//!
//! # The floors of the house
//! A module uses only what stands below it here, and its own folder; `tests/it/invariants.rs` sees to that.
//!
//! 5. [`app`], [`cli`], [`logging`], [`demo`]: parse, build, run.
//! 4. [`web`]: pages, JSON API, security.
//! 3. [`pipeline`]: the verbs.
//! 2. [`store`], [`broker`], [`notify`]: the ledger, RabbitMQ, Slack and pagers. None knows another. [`metrics`] beside
//!    them.
//! 1. [`config`], [`clock`], [`decode`], [`classify`], [`grouping`], [`digest`], [`schedule`], [`failure`], [`xdeath`],
//!    [`own_headers`], [`own_names`], [`retry`], [`topology`], [`typed_json`], [`watch`]: pure.
//! 0. [`domain`]: the nouns.

pub mod app;
pub mod broker;
pub mod classify;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crash;
pub mod decode;
pub mod demo;
pub mod digest;
pub mod domain;
pub mod failure;
pub mod grouping;
pub mod logging;
pub mod metrics;
pub mod notify;
pub mod own_headers;
pub mod own_names;
pub mod pipeline;
pub mod retry;
pub mod schedule;
pub mod store;
pub mod topology;
pub mod typed_json;
pub mod watch;
pub mod web;
pub mod xdeath;

//! The nouns of the house: letter, death, message, importance, filter, actor.
//!
//! These modules know the words of the public contract and of RabbitMQ and nothing else: no SQL, no AMQP client, no
//! JSON. They never do I/O and have no clock of their own; what time it is is always handed in.

pub mod access;
pub mod activity;
pub mod actor;
pub mod broker;
pub mod column;
pub mod command;
pub mod content_key;
pub mod delay_queue;
mod derived_id;
pub mod digest;
pub mod disclosure;
pub mod edit;
pub mod filter;
pub mod group;
mod group_id;
pub mod group_state;
pub mod grouping_rule;
pub mod health;
pub mod history;
pub mod incident;
pub mod job;
pub mod letter;
pub mod lifecycle;
pub mod link;
pub mod mapping;
pub mod marker;
pub mod merge;
pub mod names;
pub mod notification;
pub(crate) mod number;
pub mod pacing;
pub mod policy;
pub(crate) mod policy_meaning;
pub mod preflight;
pub mod queue_level;
pub mod queue_outlook;
pub mod queue_pause;
pub mod queue_sample;
pub mod retry;
pub mod retry_limits;
pub mod rights;
pub mod rule;
pub mod rule_order;
pub mod saved_view;
pub(crate) mod schedule;
pub mod schema;
pub mod search;
pub mod split;
pub mod storm;
pub mod telling;
pub mod version;
pub mod waiting;
pub mod watch;
pub mod when;

//! How things look in words: times, numbers, payloads, rows. Pure: it reads no database and has no clock.
//!
//! Templates hold no logic beyond `if` and `for`; what they print is made here.

pub mod activity;
pub mod agent;
pub mod broker;
pub mod chart;
pub mod conflict;
pub mod deaths;
pub mod digest;
pub mod edits;
pub mod encoding;
pub mod fields;
pub mod group;
pub mod group_chart;
pub mod group_state;
pub mod hex;
pub mod history;
pub mod in_common;
pub mod incident;
pub mod job;
pub mod json;
pub mod letter;
pub mod message_type;
pub mod number;
pub mod outcome;
pub mod payload;
pub mod policy;
pub mod postmark;
pub mod preflight;
pub mod queue;
pub mod queue_page;
pub mod report;
pub mod retry_outcomes;
pub mod row;
pub mod rule;
pub mod rule_help;
pub mod schema;
pub mod spark;
pub mod tally;
pub mod text;
pub mod time;
pub mod tree;
pub mod trial;
pub mod waiting;
pub mod watch;
pub mod why;

//! Intake, retry and dlo's life with its brokers, on a real RabbitMQ.
//!
//! Each test has a virtual host and a database of its own. What every database does alike is tested on SQLite, what
//! differs on both.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "in helpers of tests a panic is the error handling")]

mod alarm;
mod automatic;
mod broker_life;
mod database_outage;
mod deaths;
mod desk;
mod destinations;
mod edits;
#[cfg(feature = "crash-points")]
mod faults;
mod foreign_clients;
mod frameworks;
mod hostile;
mod identities;
#[cfg(feature = "crash-points")]
mod kills;
mod line;
mod odd_messages;
mod own_retries;
mod processes;
#[cfg(feature = "crash-points")]
mod program;
mod real_frameworks;
mod retries;
#[cfg(feature = "crash-points")]
mod retry_kills;
mod returns;
mod service;
mod storm;
mod targets;
mod topology;
mod waiting;
#[cfg(feature = "crash-points")]
mod waiting_kills;
mod watch;
mod watching;
mod window;
mod worker;

//! The benchmarks: what dlo does, in ratios to what RabbitMQ does by itself in the same run.
//!
//! `make bench` runs all; `cargo bench -- intake` only those whose name begins so. Figures in messages or pages a
//! second depend on the machine; the ratios are what the project promises.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "in a benchmark a panic that says what was expected is the error handling, and printing is its purpose"
)]

mod backlog;
mod backoff;
mod broker;
mod database;
mod footprint;
mod full;
mod groups;
mod guess;
mod intake;
mod letters;
mod load;
mod pages;
mod past;
mod prototext;
mod retry;
mod samples;
mod search;
mod server;
mod teams;
mod watching;

#[path = "../../tests/it/support/mod.rs"]
mod support;

use std::{env, str::FromStr};

/// Messages in one run.
const MESSAGES: u32 = 100_000;
/// Bytes of a message's body.
const BODY: usize = 1_024;

fn main() {
    let wanted: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| name.starts_with(wanted.as_str()));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    if runs("intake") {
        runtime.block_on(intake::run());
    }
    if runs("backlog") {
        runtime.block_on(backlog::run());
    }
    if runs("retry") {
        runtime.block_on(retry::run());
    }
    if runs("backoff") {
        runtime.block_on(backoff::run());
    }
    if runs("guess") {
        guess::run();
    }
    if runs("pages") {
        runtime.block_on(pages::run());
    }
    if runs("search") {
        runtime.block_on(search::run());
    }
    if runs("teams") {
        runtime.block_on(teams::run());
    }
    if runs("groups") {
        runtime.block_on(groups::run());
    }
    if runs("watching") {
        runtime.block_on(watching::run());
    }
    if runs("past") {
        runtime.block_on(past::run());
    }
    if runs("load") {
        runtime.block_on(load::run());
    }
}

/// Prints one line of the table: a rate, what it is compared with, the ratio and what is promised.
fn line(what: &str, rate: f64, against: f64, promised: f64) {
    let ratio = rate / against;
    let verdict = if ratio >= promised { "kept" } else { "MISSED" };
    println!("{what:<44} {rate:>9.0}/s  ratio {ratio:>5.2}  promised {promised:.2}  {verdict}");
}

/// A number that the environment may say otherwise.
fn setting<T: FromStr>(name: &str, default: T) -> T {
    env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

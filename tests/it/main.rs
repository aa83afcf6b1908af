//! The integration tests: one binary, real databases, a real RabbitMQ, a real browser.

mod digests;
mod invariants;
mod notify;
mod office;
mod packaging;
mod store;
mod support;
mod web;

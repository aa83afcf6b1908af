//! The integration tests: one binary, real databases, a real RabbitMQ, a real browser.

mod digests;
mod docs;
mod invariants;
mod notify;
mod packaging;
mod services;
mod store;
mod support;
mod web;

//! The integration tests: one binary, real databases, a real RabbitMQ, a real browser.

mod invariants;
mod office;
mod store;
mod support;
mod web;

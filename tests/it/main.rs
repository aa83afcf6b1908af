//! The integration tests: one binary, real databases, a real RabbitMQ, a real browser.

mod store;
mod support;

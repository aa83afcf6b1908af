//! What a retry publishes.
//!
//! This knows which headers and properties would misroute a message, have it refused or mislead its consumer, and the
//! limits of AMQP. It must never know when a retry is due, nor how it is published.

mod limits;
pub mod message;
mod obituary;

#[cfg(test)]
mod vectors;

pub use limits::check;
pub use message::{expiration_of_copy, outgoing, takes_over};
pub use obituary::{obituary, undeliverable};

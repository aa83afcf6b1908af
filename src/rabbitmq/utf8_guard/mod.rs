//! Keeps one odd message from taking the connection down, and so every message behind it.
//!
//! AMQP 0-9-1 says that a short string is UTF-8. Nothing enforces it: clients send what they are
//! given and RabbitMQ passes it on. lapin's parser does enforce it, its maintainer's position being
//! that such a string is [invalid by the specification][issue]: a delivery with one in it
//! (`message_id`, a header's name, the routing key…) ends the connection, is requeued, and ends the
//! next one. A quorum queue of RabbitMQ 4 drops the message after twenty of these rounds.
//!
//! [`Utf8Guard`] sits between the clear octets of a connection and lapin. It replaces each octet
//! that isn't UTF-8 by `?` where it stands, so that every length still holds, and says through
//! [`Repairs`] which delivery it touched and what stood there. It does the same for tables nested
//! deeper than [`MAX_NESTING`], which lapin's recursive parser answers by overflowing the stack and
//! aborting the process.
//!
//! Where nothing is published, it also has lapin take frames that are [larger](frame_limit) than was agreed.
//!
//! Frames that carry bodies pass unread, and what is malformed in any other way passes unchanged:
//! refusing it is lapin's business.
//!
//! [issue]: https://github.com/amqp-rs/amq-protocol/issues/28

mod frame_limit;
mod frames;
mod payload;
mod repairs;
mod stream;

#[cfg(test)]
mod tests;

pub use frame_limit::ROOM;
pub use payload::NESTING;
pub use repairs::{Repair, Repairs};
pub use stream::Utf8Guard;

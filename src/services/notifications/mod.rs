//! What is sent out: kept in the database until it is sent, and sent over the channels of the configuration.

pub mod channels;
pub mod deliveries;

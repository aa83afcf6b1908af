//! What a message says: of which type it is, and its payload as people read it and edit it.
//!
//! - [`reader`] is what the rest of dlo calls: it reads letters, and messages that are no letters, with the schemas and
//!   mappings in force.
//! - [`request`] puts together what is known of a message besides its bytes: its properties, what its framework keeps of
//!   the message inside, the type that a header, a mapping or a user names.
//! - [`reading`] does the work for one body: unwrap, find the type, decode, hide; and back after an edit. It needs no
//!   database and no runtime.
//! - [`scrub`] takes out of headers and errors what is hidden in the payload.
//! - [`catalogue`] is all schemas together, as the [`schemas`](super::schemas) service loads them.
//! - [`confirmed`] looks up which types people have confirmed on a queue; that makes guesses better.
//!
//! Encodings, formats and protobuf themselves are the crate [`payload_codec`].

pub mod catalogue;
pub mod confirmed;
pub mod reader;
pub mod reading;
pub mod request;
pub mod scrub;
pub(crate) mod values;

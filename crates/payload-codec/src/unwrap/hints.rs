//! What is known of a body besides its bytes.

use std::fmt;

use amqp_message::field::FieldTable;

/// How many nats a payload costs less if it is a message of the best of the types that are known; `None` if it is none.
pub type Known<'a> = &'a dyn Fn(&[u8]) -> Option<f64>;

/// What besides the body says how it is wrapped.
#[derive(Clone, Copy)]
pub struct BodyHints<'a> {
    /// The property `content_type`.
    pub content_type: Option<&'a str>,
    /// The property `content_encoding`.
    pub content_encoding: Option<&'a str>,
    /// The headers of the message.
    pub headers: &'a FieldTable,
    /// A judge of payloads who knows types; never asked about no bytes at all. Without one, protobuf is recognised by its
    /// wire format alone.
    pub known: Option<Known<'a>>,
}

/// What names the type of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeHint {
    /// The full name in the URL of a `google.protobuf.Any`.
    Any {
        /// With the package, without a dot before it.
        type_name: String,
    },
    /// The attributes `type` and `dataschema` of a CloudEvent, in the body or in headers.
    CloudEvent {
        /// `type`
        event_type: String,
        /// `dataschema`
        data_schema: Option<String>,
    },
    /// A message of a schema in Confluent's registry.
    Confluent {
        /// The schema's number in the registry.
        schema_id: u32,
        /// The way to the message: the index among the schema's messages, then among the messages nested in that one, and so
        /// on. Empty for JSON.
        indexes: Vec<u32>,
    },
    /// A parameter of the content type: `application/x-protobuf; messageType="acme.Order"`.
    ContentType {
        /// As it is written there.
        type_name: String,
    },
}

impl<'a> BodyHints<'a> {
    /// Nothing but headers.
    pub fn new(headers: &'a FieldTable) -> Self {
        Self { content_type: None, content_encoding: None, headers, known: None }
    }
}

impl fmt::Debug for BodyHints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BodyHints")
            .field("content_type", &self.content_type)
            .field("content_encoding", &self.content_encoding)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

//! What is told about a body from outside it.

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
    pub headers: &'a FieldTable,
    /// A judge of payloads who knows types; never asked about no bytes at all. Without one, protobuf is recognised by its
    /// wire format alone.
    pub known: Option<Known<'a>>,
}

/// What names the type of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeHint {
    /// The full name in the URL of a `google.protobuf.Any`.
    Any { type_name: String },
    /// The attributes `type` and `dataschema` of a CloudEvent, in the body or in headers.
    CloudEvent { event_type: String, data_schema: Option<String> },
    /// A schema in Confluent's registry, and the way to the message in it: the index among its messages, then among the
    /// messages nested in that one, and so on.
    Confluent { schema_id: u32, indexes: Vec<u32> },
    /// A parameter of the content type: `application/x-protobuf; messageType="acme.Order"`.
    ContentType { type_name: String },
}

impl fmt::Debug for BodyHints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told")
            .field("content_type", &self.content_type)
            .field("content_encoding", &self.content_encoding)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

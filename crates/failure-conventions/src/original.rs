//! What a message had before a framework put it into another.

use amqp_message::{
    field::FieldTable,
    message::{Message, Properties},
};

/// Properties and headers of a message inside another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Original {
    /// Its properties, in place of those of the outer message.
    pub properties: Properties,
    /// Its headers, in place of those of the outer message.
    pub headers: FieldTable,
}

impl Original {
    /// Gives `message` what it had, in place of what its wrapper has.
    pub(super) fn restore(self, message: &mut Message) {
        message.properties = self.properties;
        message.headers = self.headers;
    }
}

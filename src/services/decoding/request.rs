//! What is known of a message besides its bytes, put together for reading it.
//!
//! It does not know where a message is kept: a letter is read like what somebody has in a file.

use amqp_message::message::Message;
use failure_conventions::Original;
use payload_codec::unwrap::UnwrapMode;

use crate::{
    domain::mapping::{MappingBook, Route},
    services::decoding::reading::Question,
};

/// A message that is no letter, and what somebody says of it.
#[derive(Clone, Debug, Default)]
pub struct DecodeRequest {
    /// With the exchange and the routing key that it was published under.
    pub message: Message,
    pub queue: Option<String>,
    /// The type it is to be read as.
    pub message_type: Option<String>,
    /// Which encodings to undo.
    pub mode: UnwrapMode,
}

/// A message, the way it came, and what a user has said of it.
pub(crate) struct MessageContext<'a> {
    pub message: &'a Message,
    pub route: Route<'a>,
    /// The type that a user gave to it.
    pub by_hand: Option<&'a str>,
    /// How often people confirmed which types on its address.
    pub confirmed: &'a [(String, u64)],
    pub mode: &'a UnwrapMode,
}

impl DecodeRequest {
    /// Asks `answer` about it where there are no letters. `type_headers` are those that name types.
    pub fn ask<T>(&self, type_headers: &[String], answer: impl FnOnce(&Question<'_>) -> T) -> T {
        self.context().ask(type_headers, &MappingBook::default(), answer)
    }

    pub(crate) fn context(&self) -> MessageContext<'_> {
        let Message { exchange, routing_key, .. } = &self.message;
        MessageContext {
            message: &self.message,
            // Which broker it is from is not known, so what is said of a single one is not said of it.
            route: Route { broker: "", queue: self.queue.as_deref(), exchange, routing_key },
            by_hand: self.message_type.as_deref(),
            confirmed: &[],
            mode: &self.mode,
        }
    }
}

impl MessageContext<'_> {
    pub(crate) fn ask<T>(
        &self,
        type_headers: &[String],
        mappings: &MappingBook,
        answer: impl FnOnce(&Question<'_>) -> T,
    ) -> T {
        let (message, route) = (self.message, &self.route);
        let original = failure_conventions::original(message);
        let (properties, headers) = match &original {
            Some(Original { properties, headers }) => (properties, headers),
            None => (&message.properties, &message.headers),
        };
        let names = route.queue.into_iter().chain([route.exchange, route.routing_key]);
        let address: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        let confirmed: Vec<(&str, u64)> = self.confirmed.iter().map(|(name, times)| (name.as_str(), *times)).collect();
        let declared = declared_type(message, type_headers);
        answer(&Question {
            body: &message.body,
            properties,
            headers,
            address: &address,
            routing_key: route.routing_key,
            by_hand: self.by_hand,
            declared: declared.as_deref(),
            mapped: mappings.find(route).map(|active| active.mapping.message_type.as_str()),
            confirmed: &confirmed,
            mode: self.mode,
        })
    }
}

/// The type that a message names: in a header that the configuration knows, else as its framework does.
fn declared_type(message: &Message, type_headers: &[String]) -> Option<String> {
    let configured = type_headers.iter().find_map(|name| message.headers.get_str(name));
    configured.map(str::to_owned).or_else(|| failure_conventions::read(message).failure.message_type)
}

#[cfg(test)]
mod tests {
    use amqp_message::field::FieldValue;

    use super::*;

    #[test]
    fn a_message_that_its_framework_put_away_is_read_by_its_own_properties() {
        let retry_info = r#"{"properties":{"content_type":"application/x-protobuf","headers":{"tenant":"acme"}}}"#;
        let headers = [("retry_info".to_owned(), FieldValue::string(retry_info))].into_iter().collect();
        let message = Message { headers, ..Message::default() };
        let request = DecodeRequest { message, ..DecodeRequest::default() };
        request.ask(&[], |question| {
            assert_eq!(question.properties.content_type.as_deref(), Some("application/x-protobuf"));
            assert_eq!(question.headers.get_str("tenant"), Some("acme"));
        });
    }
}

//! `POST /api/v1/decode`: what a body says that is no letter.

use std::sync::Arc;

use amqp_message::{
    json::table_from_json,
    message::{Message, Properties},
};
use axum::{Json, extract::State};
use base64::{Engine, prelude::BASE64_STANDARD};
use payload_codec::unwrap::{Kind, UnwrapMode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::payload::ReadPayload;
use super::words;
use crate::{
    services::decoding::{reading::Reading, request::DecodeRequest},
    web::{
        error::{Gathered, WebError, codes::FaultCode},
        input::call_body::{Call, CallBody, JsonBody},
        problem::Problem,
        state::AppState,
    },
};

/// A body, and what is known of it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecodeRequestBody {
    /// Its bytes, as base64.
    #[schema(content_encoding = "base64", example = "eyJhIjogMX0=")]
    body_base64: String,
    /// Full name of the message type to read it as.
    #[schema(example = "acme.texts.v1.Text")]
    r#type: Option<String>,
    content_type: Option<String>,
    content_encoding: Option<String>,
    /// As those of a letter: strings, booleans and null as they are, any other type as `{"t": type, "v": value}`.
    #[schema(value_type = Option<Object>)]
    headers: Option<Value>,
    /// The queue it came from; helps to find its type.
    queue: Option<String>,
    exchange: Option<String>,
    routing_key: Option<String>,
    /// Which encodings to undo, from the outside in: exactly these. Left out, those that are found.
    #[schema(value_type = Option<Vec<words::Encoding>>, max_items = 16)]
    encoding: Option<Vec<String>>,
}

/// What a body says, and of which type it is.
#[derive(Serialize, ToSchema)]
pub struct Decoded {
    /// Null unless the message, a mapping or the question names it, or a guess is nearly certain.
    message_type: Option<String>,
    /// `manual`, `header`, `mapping` or `detected`
    #[schema(value_type = Option<words::TypeSource>)]
    type_source: Option<&'static str>,
    /// From 0 to 1; only of a guess.
    type_confidence: Option<f64>,
    payload: ReadPayload,
}

impl Decoded {
    pub fn new(reading: &Reading) -> Self {
        let named = reading.named.as_ref();
        Self {
            message_type: named.map(|named| named.name.clone()),
            type_source: named.map(|named| named.source.as_str()),
            type_confidence: named.and_then(|named| named.confidence),
            payload: ReadPayload::new(reading),
        }
    }
}

/// What a body says, and which types it may be of; nothing is kept of it
#[utoipa::path(post, path = "/decode", operation_id = "decode_payload", tag = "schemas", request_body = DecodeRequestBody, responses(
    (status = OK, body = Decoded),
    (status = UNPROCESSABLE_ENTITY, body = Problem, content_type = "application/problem+json",
        description = "It cannot be decoded as requested"),
))]
pub async fn decode(
    State(app): State<Arc<AppState>>,
    JsonBody(request): JsonBody<DecodeRequestBody>,
) -> Result<Json<Decoded>, WebError> {
    let mode = request.mode.clone();
    let reading = app.reader.read_message(request).await;
    let mut gathered = Gathered::default();
    let refused = [("encoding", reading.refused_encoding(&mode)), ("type", reading.refused_type())];
    for (field, why) in refused.into_iter().filter_map(|(field, why)| Some((field, why?))) {
        gathered.add(wrong(field, FaultCode::Invalid, &why));
    }
    gathered.end().map(|()| Json(Decoded::new(&reading)))
}

impl CallBody for DecodeRequestBody {
    type Read = DecodeRequest;

    async fn read(self, _: &Call<'_>) -> Result<DecodeRequest, WebError> {
        let mut gathered = Gathered::default();
        let body =
            BASE64_STANDARD.decode(&self.body_base64).map_err(|why| wrong("body_base64", FaultCode::Format, &why));
        let headers = self.headers.as_ref().map(table_from_json).transpose();
        let kinds = self.encoding.map(|names| names.iter().map(|name| name.parse::<Kind>()).collect()).transpose();
        let kinds = kinds.map_err(|why| wrong("encoding", FaultCode::Choice, &why));
        let message = Message {
            exchange: self.exchange.unwrap_or_default(),
            routing_key: self.routing_key.unwrap_or_default(),
            properties: Properties {
                content_type: self.content_type,
                content_encoding: self.content_encoding,
                ..Properties::default()
            },
            headers: gathered
                .take(headers.map_err(|why| wrong("headers", FaultCode::Format, &why)))
                .unwrap_or_default(),
            body: gathered.take(body),
        };
        let mode = gathered.take(kinds).map_or(UnwrapMode::Automatic, UnwrapMode::Exactly);
        gathered.end()?;
        Ok(DecodeRequest { message, queue: self.queue, message_type: self.r#type, mode })
    }
}

fn wrong(field: &str, code: FaultCode, why: &dyn std::fmt::Display) -> WebError {
    WebError::field(field, code, why)
}

//! The message types of the demo, and messages of them.

use std::{
    io::{Read, Write},
    path::Path,
};

use anyhow::{Context, anyhow};
use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use payload_codec::{
    Limits,
    message::encode,
    schema::{Schema, Source, compile},
};
use prost_reflect::DynamicMessage;
use serde_json::Value;

/// By the paths that imports would name.
const SOURCES: [(&str, &str); 2] =
    [("images.proto", include_str!("acme/images.proto")), ("orders.proto", include_str!("acme/orders.proto"))];

/// What the services agree on.
pub(super) struct Types(Schema);

impl Types {
    pub(super) fn compile() -> anyhow::Result<Self> {
        let source = |(path, text): (&str, &str)| Source { path: path.to_owned(), text: text.to_owned() };
        let read = compile(SOURCES.map(source).into()).and_then(|set| Schema::read("acme", &set));
        read.map(Self).map_err(|problems| anyhow!("the demo's schema: {problems:?}"))
    }

    /// Writes the sources to where dlo finds them.
    pub(super) fn publish(folder: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        SOURCES.iter().try_for_each(|(path, text)| std::fs::write(folder.join(path), text))
    }

    /// A message of the type that says what `json` says.
    pub(super) fn message(&self, name: &str, json: &Value) -> anyhow::Result<Vec<u8>> {
        let descriptor = self.0.message(name).with_context(|| format!("the demo has no type {name}"))?;
        encode(&json.to_string(), &descriptor, None, None, &Limits::default())
            .map_err(|problems| anyhow!("a {name} of the demo: {problems:?}"))
    }

    /// Whether an order that was placed says in which currency.
    pub(super) fn has_currency(&self, order: &[u8]) -> anyhow::Result<bool> {
        let descriptor = self.0.message("acme.orders.v1.OrderPlaced").context("the demo has no orders")?;
        let order = DynamicMessage::decode(descriptor, &*plain(order)?)?;
        let total = order.get_field_by_name("total").context("an order without a total")?;
        let currency = total.as_message().and_then(|total| total.get_field_by_name("currency"));
        Ok(currency.is_some_and(|currency| currency.as_str().is_some_and(|code| !code.is_empty())))
    }
}

pub(super) fn gzip(payload: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(payload)?;
    gzip.finish()
}

/// The message itself, which the shop compresses when it is in the mood.
fn plain(body: &[u8]) -> std::io::Result<Vec<u8>> {
    if !body.starts_with(&[0x1f, 0x8b]) {
        return Ok(body.to_vec());
    }
    let mut payload = Vec::new();
    GzDecoder::new(body).read_to_end(&mut payload)?;
    Ok(payload)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_order_without_a_currency_is_known_in_any_encoding() {
        let types = Types::compile().unwrap();
        for (total, expected) in [(json!({"cents": 1, "currency": "EUR"}), true), (json!({"cents": 1}), false)] {
            let order = types.message("acme.orders.v1.OrderPlaced", &json!({"number": 1, "total": total})).unwrap();
            assert_eq!(types.has_currency(&order).unwrap(), expected);
            assert_eq!(types.has_currency(&gzip(&order).unwrap()).unwrap(), expected);
        }
    }
}

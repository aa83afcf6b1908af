//! Texts in bodies that have a form of their own, by the name that the description of the API gives it.

use amqp_message::time::Timestamp;
use base64::{Engine, prelude::BASE64_STANDARD};
use uuid::Uuid;

use super::delay;
use crate::{config::values::parse_duration, web::query::When};

/// Whether a text is written as its format has it; an unknown format takes any.
///
/// # Errors
/// What it takes.
pub fn check(format: &str, text: &str) -> Result<(), String> {
    match format {
        "uuid" => text.parse::<Uuid>().map(drop).map_err(|_| format!("{text:?} is no id; an id is a UUID")),
        "base64" => {
            let decoded = BASE64_STANDARD.decode(text).map(drop);
            decoded.map_err(|why| format!("it is no base64 as of RFC 4648, section 4: {why}"))
        }
        // How far away tomorrow is does not matter here.
        "delay" => delay::read(text, Timestamp::default()).map(drop),
        "length-of-time" => parse_duration(text).map(drop),
        "point-in-time" => text.parse::<When>().map(drop),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_as_their_format_has_it() {
        let check = |format, right: &[&str], wrong: &[&str]| {
            for text in right {
                assert_eq!(check(format, text), Ok(()), "{format}: {text}");
            }
            for text in wrong {
                assert!(check(format, text).is_err(), "{format}: {text}");
            }
        };
        check("uuid", &["0195f1c2-7b1a-7000-8000-000000000000"], &["", "7"]);
        check("base64", &["", "AP+A"], &["AP-A", "AP+", "{}"]);
        check("delay", &["now", "tomorrow", "1h 30m"], &["", " ", "soon", "400d"]);
        check("length-of-time", &["250ms", "10s"], &["", "soon", "-1s"]);
        check("point-in-time", &["24h", "2026-11-21"], &["", "24", "yesterday"]);
        check("password", &["anything"], &[]);
    }
}

//! The contents of a message as a form shows them, and as they go out.

use payload_codec::{Format, json::OneLine};

use super::edit_check::why_only_headers;
use crate::services::decoding::reading::{Content, Reading};

/// Of JSON that is laid out for the form.
const LAID_OUT: usize = 256 << 10;

/// JSON that came on one line, where it is edited over several.
pub fn one_line(reading: &Reading) -> Option<OneLine> {
    let is_plain = reading.unwrapped.format == Format::Json && !reading.hides;
    text(reading).filter(|text| is_plain && text.len() <= LAID_OUT).and_then(OneLine::of)
}

/// What is shown for editing; `None` where there is nothing to edit but headers.
pub fn text(reading: &Reading) -> Option<&str> {
    if why_only_headers(reading).is_some() {
        return None;
    }
    match &reading.content {
        // With its comments, and in its own layout.
        Content::Json(_) if reading.unwrapped.format == Format::Yaml => {
            std::str::from_utf8(reading.unwrapped.payload()).ok()
        }
        Content::Json(text) | Content::Text(text) => Some(text),
        _ => None,
    }
}

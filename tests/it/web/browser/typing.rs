//! Keys, as the browser is told of them.

use amqp_message::time::Timestamp;
use serde_json::{Value, json};

/// How long after the one before a key is pressed, by the time that events tell. Pages may ask how fast somebody types;
/// how fast this test does is nothing to go by.
const PACE: f64 = 0.01;

/// The bit of the modifier.
const SHIFT: u8 = 8;

#[derive(Clone, Copy, Debug)]
pub enum Key {
    Char(char),
    Enter,
    Escape,
    Tab,
    Left,
    Right,
    Up,
    Down,
    ShiftLeft,
}

impl From<char> for Key {
    fn from(character: char) -> Self {
        if character == '\n' { Self::Enter } else { Self::Char(character) }
    }
}

impl Key {
    /// Name, Windows' code, text and modifiers.
    fn parts(self) -> (String, u8, String, u8) {
        let (name, code, text, modifiers) = match self {
            Self::Char(character) => return (character.into(), 0, character.into(), 0),
            Self::Enter => ("Enter", 13, "\r", 0),
            Self::Escape => ("Escape", 27, "", 0),
            Self::Tab => ("Tab", 9, "", 0),
            Self::Left => ("ArrowLeft", 37, "", 0),
            Self::Right => ("ArrowRight", 39, "", 0),
            Self::Up => ("ArrowUp", 38, "", 0),
            Self::Down => ("ArrowDown", 40, "", 0),
            Self::ShiftLeft => ("ArrowLeft", 37, "", SHIFT),
        };
        (name.into(), code, text.into(), modifiers)
    }
}

/// What `Input.dispatchKeyEvent` takes, for keys that are pressed one after the other from `begin` on.
pub fn events(keys: impl IntoIterator<Item = Key>, begin: Timestamp) -> Vec<Value> {
    let mut at = begin.as_micros() as f64 / 1e6;
    let mut events = Vec::new();
    for key in keys {
        let (name, code, text, modifiers) = key.parts();
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let event = |kind: &str, at: f64| {
            json!({
                "type": kind, "key": name, "windowsVirtualKeyCode": code, "modifiers": modifiers, "timestamp": at
            })
        };
        let mut down = event(kind, at);
        if !text.is_empty() {
            down["text"] = json!(text);
        }
        events.extend([down, event("keyUp", at)]);
        at += PACE;
    }
    events
}

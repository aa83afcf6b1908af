//! What is hidden around a payload: in the JSON that it came in.

use payload_codec::{
    json,
    unwrap::{Encoding, Hole},
};

use super::{Library, Reading, hidden::Hidden};

/// Stands where the payload was.
const PAYLOAD: &str = "#payload";

impl Library {
    /// Notes what is hidden there. A payload in a hidden field is hidden itself.
    pub(super) fn with_envelopes(&self, mut reading: Reading) -> Reading {
        if !self.hidden.is_empty() {
            let holes: Vec<Hole> = reading.unwrapped.steps.iter().filter_map(hole).cloned().collect();
            holes.iter().for_each(|hole| self.note_envelope(&mut reading, hole));
        }
        reading
    }

    fn note_envelope(&self, reading: &mut Reading, hole: &Hole) {
        let text = format!("{}\"{PAYLOAD}\"{}", hole.before, hole.after);
        let Ok(open) = json::read(&text, self.limits.elements, self.limits.depth) else {
            return reading.hide("It came in JSON that cannot be read, and may be in a field that is hidden.");
        };
        let mut shown = open.clone();
        if !self.hidden.hide(&mut shown) {
            return;
        }
        let hidden = Hidden::found(&self.hidden, &open, &shown);
        if hidden.has(PAYLOAD) {
            reading.hide("It came in a field that is hidden.");
        }
        reading.hides = true;
        reading.hidden_values = std::mem::take(&mut reading.hidden_values).and(hidden.into_values(&[]));
    }
}

fn hole(step: &Encoding) -> Option<&Hole> {
    match step {
        Encoding::JsonMember { hole, .. } | Encoding::CloudEvent(hole) | Encoding::EasyNetQ(hole) => Some(hole),
        _ => None,
    }
}

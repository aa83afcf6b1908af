//! Which part of a letter an address asks for, and from which list somebody came to it.

use amqp_message::word_enum;

use super::{came_from::CameFrom, described::described, form, parameters};

word_enum! {
    /// The parts of a letter, of which one is shown.
    #[derive(Default)]
    LetterTab, "part of a dead letter" {
        #[default]
        Payload = "payload",
        Headers = "headers",
        Timeline = "timeline",
        Similar = "similar",
    }
}

described!(LetterTab);

impl LetterTab {
    pub const fn label(self) -> &'static str {
        match self {
            Self::Payload => "Payload",
            Self::Headers => "Headers",
            Self::Timeline => "Timeline",
            Self::Similar => "Similar",
        }
    }
}

parameters! {
    /// The part of a letter that is shown.
    pub TabQuery {
        "tab" tab: LetterTab as form::Order,
    }
}

parameters! {
    /// Where somebody came from.
    pub FromQuery {
        /// The address of the list.
        "list" list: Option<CameFrom> as form::One,
    }
}

//! Why a message must not be retried at all.

use amqp_message::word_enum;

use super::inner_body::InnerBodies;

word_enum! {
    /// What makes a retry do harm.
    Danger, "danger" {
        /// Symfony would drop it in silence on its next failure: the stamp of the failure transport is still in it, and
        /// what PHP has serialized is not ours to edit.
        SymfonySerialized = "symfony_serialized",
        /// EasyNetQ's error message holds the body as a text that may be base64 or may be the body itself.
        EasynetqBody = "easynetq_body",
        /// EasyNetQ's error message cannot be read, and its consumer does not know what to do with the whole of it.
        EasynetqWrapper = "easynetq_wrapper",
    }
}

impl Danger {
    /// What would happen and what to do instead, as a clause for people.
    pub const fn clause(self) -> &'static str {
        match self {
            Self::SymfonySerialized => {
                "Symfony's failure transport has stamped it and PHP has serialized it, and with that stamp Symfony \
                 would drop it in silence on its next failure; use `bin/console messenger:failed:retry` instead"
            }
            Self::EasynetqBody => {
                "EasyNetQ's error message does not say whether the body inside is plain text or base64, and here it \
                 could be either; set the queue to text or base64 under [easynetq.bodies] in the configuration"
            }
            Self::EasynetqWrapper => {
                "it is an error message of EasyNetQ that cannot be read, and a consumer can make nothing of the wrapper; \
                 the message inside has to be published by hand"
            }
        }
    }

    /// Whether the configuration has settled it for what failed in `queue`.
    pub fn is_settled(self, queue: &str, bodies: &InnerBodies) -> bool {
        self == Self::EasynetqBody && bodies.of(queue).is_some()
    }
}

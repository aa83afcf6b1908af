//! What is known of one framework.

use amqp_message::message::Message;

use super::{evidence::Evidence, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

/// One framework: how its failed messages are recognised and read, and how they go back.
pub(super) struct Framework {
    pub name: &'static str,
    /// What its messages say of a failure, in a few words.
    pub records: &'static str,
    /// What becomes of a message when it is retried, in a few words.
    pub retried: &'static str,
    /// Reads its own fields; `None` where the message is not one of its kind.
    pub read: fn(&Evidence) -> Option<FrameworkReport>,
    /// Takes off what it has added when it gave up, so that its consumer begins anew. Only for messages of its kind.
    pub clean: fn(&mut Message, &InnerBodies) -> Result<(), Danger>,
    /// How a service of this kind can record the error next time: whole sentences.
    pub advice: &'static str,
}

/// For frameworks whose messages go back as they are.
pub(super) const fn as_it_is(_: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    Ok(())
}

//! Symfony Messenger, with its JSON serializer or with PHP's own.

mod json;
mod serialized;

use amqp_message::message::Message;

use super::{evidence::Evidence, framework::Framework, report::FrameworkReport};
use crate::{danger::Danger, inner_body::InnerBodies};

pub(super) const FRAMEWORK: Framework = Framework {
    name: "Symfony Messenger",
    records: "from a failure transport: exception, stack trace, time, attempts; not the queue",
    retried: "JSON: the stamps of the failure are removed; serialized by PHP: refused",
    read,
    clean,
    advice: "A failure transport (framework.messenger.failure_transport) records the exception. A message that is rejected \
             without one says nothing.",
};

/// The failure transport's stamp names the transport the message came from, which is no queue.
fn read(evidence: &Evidence) -> Option<FrameworkReport> {
    json::read(evidence).or_else(|| serialized::read(evidence))
}

pub(super) fn may_be_one(message: &Message) -> bool {
    message.headers.iter().any(|(name, _)| name == "type" || name.starts_with(json::STAMP_PREFIX))
        || serialized::may_be_one(&message.body)
}

/// What a body that PHP has serialized brings, whatever has become of it on the way.
pub(super) fn without_stamps(body: &[u8]) -> Option<String> {
    serialized::without_stamps(body)
}

fn clean(message: &mut Message, _: &InnerBodies) -> Result<(), Danger> {
    message.headers.remove_where(json::is_of_failure);
    Ok(())
}

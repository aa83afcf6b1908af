//! Headers of the broker, which say how a message got to where it is, and not what it is.

/// Headers that must not go out again, each with why: it would misroute the message or mislead its next reader. A name
/// that ends in `*` stands for all that begin so.
pub const STRIPPED: &[(&str, &str)] = &[
    ("x-death", "RabbitMQ up to 3.12 goes on counting in it, RabbitMQ 4 leaves it stale, and handlers act on either"),
    ("x-first-death-*", "as `x-death`"),
    ("x-last-death-*", "as `x-death`"),
    ("x-delivery-count", "it describes deliveries of another queue, and a consumer takes it for its own"),
    ("x-acquired-count", "as `x-delivery-count`"),
    ("x-stream-offset", "as `x-delivery-count`"),
    ("x-delay", "the delayed message exchange would hold the message back once more"),
    ("CC", "on the default exchange each of its keys is one more queue that gets a copy"),
    ("BCC", "as `CC`"),
];

/// Whether it is one of [`STRIPPED`].
pub fn is_stripped(name: &str) -> bool {
    STRIPPED.iter().any(|(its, _)| is(its, name))
}

/// Whether one of `names` stands for `name`.
pub(super) fn is_any_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|its| is(its, name))
}

fn is(its: &str, name: &str) -> bool {
    match its.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == its,
    }
}

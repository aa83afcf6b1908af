//! The exchange and the queues of the demo.

/// Where the services publish.
pub(super) const EVENTS: &str = "demo.events";

/// A queue of the demo: how it is bound and what limits it has.
pub(super) struct Queue {
    pub(super) name: &'static str,
    pub(super) binding: &'static str,
    /// Further arguments, in whole numbers.
    pub(super) limits: &'static [(&'static str, i64)],
}

pub(super) const BILLING: &str = "billing.invoices";
pub(super) const THUMBNAILS: &str = "media.thumbnails";
const COUNTERS: &str = "stats.counters";

pub(super) const QUEUES: &[Queue] = &[
    Queue { name: BILLING, binding: "order.*", limits: &[] },
    // Whoever waits longer for a thumbnail has gone.
    Queue { name: THUMBNAILS, binding: "image.*", limits: &[("x-message-ttl", 4_000)] },
    Queue { name: COUNTERS, binding: "text.*", limits: &[("x-max-length", 20)] },
];

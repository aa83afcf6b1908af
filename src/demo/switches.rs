//! Which services of the demo are broken: two of them can be mended, and broken again, while it runs.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use amqp_message::word_enum;

use super::queues::{BILLING, THUMBNAILS};

word_enum! {
    /// A service that can be mended.
    Service, "service of the demo" {
        Billing = "billing",
        Thumbnails = "thumbnails",
    }
}

impl Service {
    pub(super) const fn queue(self) -> &'static str {
        match self {
            Self::Billing => BILLING,
            Self::Thumbnails => THUMBNAILS,
        }
    }

    /// What is wrong with it, and what is different once it is mended.
    pub(super) const fn about(self) -> (&'static str, &'static str) {
        match self {
            Self::Billing => (
                "It cannot process orders without a currency, one of four, and now and then its exchange rates do not answer \
                 in time. Of what is sent back to it one of four succeeds.",
                "It processes every order, so that every retry succeeds.",
            ),
            Self::Thumbnails => (
                "It takes 2.5 s for an image. Messages of its queue expire after 4 s, so that most of them do.",
                "It takes a moment for an image, so that none expires.",
            ),
        }
    }
}

/// What is mended. Whoever clones it shares it.
#[derive(Clone, Debug, Default)]
pub(super) struct Switches(Arc<[AtomicBool; Service::ALL.len()]>);

impl Switches {
    pub(super) fn is_mended(&self, service: Service) -> bool {
        self.0[service as usize].load(Ordering::Relaxed)
    }

    pub(super) fn set_mended(&self, service: Service, is_mended: bool) {
        self.0[service as usize].store(is_mended, Ordering::Relaxed);
    }
}

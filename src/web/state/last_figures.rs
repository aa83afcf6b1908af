//! What the database last said to who asks for metrics.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use amqp_message::time::Timestamp;

use crate::{
    domain::{filter::FacetCount, letter::Importance},
    metrics::DatabaseObservation,
};

/// What the database said longer ago says nothing any more.
const TOLD_LONG_AGO: Duration = Duration::from_secs(60);

/// What the database said last to who asked for metrics; cheap to clone.
#[derive(Clone, Default)]
pub struct LastFigures {
    /// Held by whoever asks the database.
    asking: Arc<tokio::sync::Mutex<()>>,
    last: Arc<Mutex<Option<Told>>>,
}

/// When it said what.
type Told = (Timestamp, Arc<DatabaseFigures>);

impl LastFigures {
    /// Who has the answer asks the database; none while somebody else does.
    pub fn asking(&self) -> Option<tokio::sync::OwnedMutexGuard<()>> {
        Arc::clone(&self.asking).try_lock_owned().ok()
    }

    pub fn keep(&self, at: Timestamp, figures: &Arc<DatabaseFigures>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, Arc::clone(figures)));
    }

    pub fn recent(&self, now: Timestamp) -> Option<Arc<DatabaseFigures>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(at, _)| now.since(*at) < TOLD_LONG_AGO).map(|(_, figures)| Arc::clone(figures))
    }
}

/// What the database says at the moment.
pub struct DatabaseFigures {
    pub facets: Vec<FacetCount>,
    pub oldest_open: Vec<(Importance, Timestamp)>,
    pub groups_open: u64,
    pub open_incidents: Vec<(Importance, u64)>,
    pub queues_without_consumers: Vec<(String, String)>,
    pub notifications_waiting: u64,
    pub oldest_notification: Option<Timestamp>,
    /// Only those of the configuration: one that was renamed would be missed for ever.
    pub digests_sent: Vec<(String, Timestamp)>,
}

impl DatabaseFigures {
    pub fn as_observed(&self) -> DatabaseObservation<'_> {
        DatabaseObservation {
            facets: &self.facets,
            oldest_open: &self.oldest_open,
            groups_open: self.groups_open,
            open_incidents: &self.open_incidents,
            queues_without_consumers: &self.queues_without_consumers,
            notifications_waiting: self.notifications_waiting,
            oldest_notification: self.oldest_notification,
            digests_sent: &self.digests_sent,
        }
    }
}

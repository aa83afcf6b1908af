//! Markers where they explain something: in charts, and beside what began soon after.

use std::time::Duration;

use amqp_message::time::Timestamp;

use crate::{
    domain::{
        filter::LetterFilter,
        group::Group,
        marker::{Marker, MarkerFilter},
    },
    store::StoreReader,
    web::{
        error::WebError,
        state::AppState,
        view::{
            chart::{Chart, Window},
            mark::{Began, Mark},
        },
    },
};

/// A chart shows no more of them, the newest.
const MOST: usize = 200;
/// What began so soon after a marker may be because of it.
const SOON: Duration = Duration::from_secs(60 * 60);

/// The chart with what happened in its time, as far as `is_meant`.
pub async fn with_marks(
    app: &AppState,
    (chart, window): (Chart, Window),
    is_meant: impl Fn(&Marker) -> bool,
) -> Result<Chart, WebError> {
    let markers = until(&app.store(), window.from, window.to).await?;
    let markers: Vec<&Marker> = markers.iter().filter(|marker| is_meant(marker)).collect();
    Ok(Chart { marks: Mark::all(&(window.from..window.to), window.step, &markers), ..chart })
}

/// Those of a time with both of its ends.
async fn until(store: &StoreReader, from: Timestamp, last: Timestamp) -> Result<Vec<Marker>, WebError> {
    let end = last.plus(Duration::from_micros(1));
    let filter = MarkerFilter { since: Some(from), until: Some(end), ..MarkerFilter::default() };
    Ok(store.markers(&filter, None, MOST).await?)
}

/// Whether a marker is about a queue; what has none that is known is only meant by those about all queues.
pub fn is_about(marker: &Marker, broker: &str, queue: Option<&str>) -> bool {
    marker.reach().includes(broker, queue.unwrap_or_default())
}

/// Whether a marker may be about letters of a filter.
pub fn may_be_about(marker: &Marker, filter: &LetterFilter) -> bool {
    let queues = &filter.queues;
    let is_any = queues.exact.is_empty() || !queues.globs.is_empty();
    is_any || queues.exact.iter().any(|queue| marker.reach().names(queue))
}

/// What happened shortly before a group began, and shortly before it came back.
pub async fn before_group(app: &AppState, group: &Group) -> Result<Vec<Began>, WebError> {
    let reopened = group.state.progress.reopened.as_ref().map(|reopened| ("Came back", reopened.at));
    let mut all = Vec::new();
    for (what, at) in [Some(("Began", group.first_seen)), reopened].into_iter().flatten() {
        let around = until(&app.store(), at.minus(SOON), at).await?;
        let cause = around.iter().find(|marker| is_about(marker, &group.key.broker, group.key.queue.as_deref()));
        all.extend(cause.map(|marker| Began::new(what, at, marker)));
    }
    Ok(all)
}

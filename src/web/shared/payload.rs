//! Reading a payload, as pages and API do.

use std::sync::Arc;

use crate::{
    domain::{access::Right, actor::Actor, letter::Letter},
    services::decoding::{confirmed::Confirmed, reading::Reading, scrub::scrub},
    web::{error::WebError, input::path_id::missing, query::payload::PayloadQuery, state::AppState, visitor::Visitor},
};

/// Reads the body of a letter. To whoever is to see hidden values they are shown, once it is written down; where nothing
/// is hidden there is nothing to write.
pub async fn read(
    app: &AppState,
    letter: &Arc<Letter>,
    query: &PayloadQuery,
    reveal_to: Option<&Actor>,
) -> Result<Reading, WebError> {
    let summary = &letter.summary;
    let confirmed = match summary.queue.as_deref() {
        Some(queue) => app.store().confirmed_types(&summary.broker, queue).await?,
        None => Confirmed::new(),
    };
    let reading = app.reader.read(letter, confirmed.clone(), query.mode(), false).await;
    if reveal_to.is_some() {
        Visitor::need(Right::Reveal)?;
    }
    let Some(by) = reveal_to.filter(|_| reading.hides) else { return Ok(reading) };
    if !app.triage.reveal(summary.id, by).await? {
        return Err(missing::<Letter>());
    }
    Ok(app.reader.read(letter, confirmed, query.mode(), true).await)
}

/// The letter without what is hidden beside its payload, and without what repeats that for who may not see it.
pub fn without_hidden(mut letter: Arc<Letter>, reading: &Reading) -> Arc<Letter> {
    if Visitor::need(Right::Payload).is_err() {
        let headers = &mut Arc::make_mut(&mut letter).message.headers;
        let repeating: Vec<&str> = failure_conventions::repeats_body(headers).collect();
        headers.remove_where(|name| repeating.contains(&name));
    }
    if reading.hides {
        scrub(Arc::make_mut(&mut letter), reading);
    }
    letter
}

//! A letter with what its policy says of it now, beside what was remarked when it came in.

use crate::{
    domain::letter::{Letter, LetterId, LetterSummary},
    web::{error::WebError, state::AppState},
};

/// The letter of that id, if there is one.
pub async fn letter(app: &AppState, id: LetterId) -> Result<Option<Letter>, WebError> {
    let Some(mut letter) = app.letter(id).await? else { return Ok(None) };
    letter.remarks.extend(of_lost_key(app, &letter.summary));
    app.reader.hide_in_lists([&mut letter.summary]).await;
    Ok(Some(letter))
}

/// A consumer that dispatches by routing key finds no handler for what comes under the name of the queue, and so uses up
/// all retries.
fn of_lost_key(app: &AppState, letter: &LetterSummary) -> Option<String> {
    let (queue, key) = (letter.queue.as_deref()?, &letter.routing_key);
    if letter.rounds < 2 || key.is_empty() || key == queue || app.policies.keeps_routing_key(queue, letter.reason) {
        return None;
    }
    Some(format!(
        "its retries came with the routing key {queue}, the name of the queue, and not {key}: if its consumer dispatches by \
         routing key, set keep_routing_key for this queue"
    ))
}

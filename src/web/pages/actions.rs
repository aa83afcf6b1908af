//! The forms on the pages: what people do to letters.
//!
//! One form does for one letter as for many. The answer is always a redirect back to where one was, with the same
//! filter, and a toast that says what came of it.

use std::{fmt::Write, str::FromStr, sync::Arc};

use amqp_message::time::Timestamp;
use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::toast::Toast;
use crate::{
    domain::{
        command::{Command, CommandReport},
        letter::{Importance, LetterId, Status},
    },
    web::{
        AppState,
        error::WebError,
        input::{self, FormPairs},
        query::Pairs,
        security::CurrentUser,
        view::{number, text, time},
    },
};

/// What a form asks for.
struct Order {
    ids: Vec<LetterId>,
    command: Command,
}

pub async fn act(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let back = take_back(&mut pairs)?;
    let toast = match take_order(pairs, app.clock.now())? {
        order if order.ids.is_empty() => Toast::failed("No dead letter is selected.".to_owned()),
        order => {
            let report = app.triage.act(&order.ids, &order.command, &user).await?;
            tell(&order.command, &report)
        }
    };
    Ok(redirect(&back, &toast, &headers))
}

fn take_order(mut pairs: Pairs, now: Timestamp) -> Result<Order, WebError> {
    let ids = take_ids(&mut pairs)?;
    let action = pairs.take("action")?.unwrap_or_default();
    let command = take_command(&action, &mut pairs, now)?;
    Ok(Order { ids, command })
}

/// Only a list or a letter, so that no form can lead anybody to another site.
pub fn take_back(pairs: &mut Pairs) -> Result<String, WebError> {
    let back = pairs.take("back")?.unwrap_or_else(|| "/letters".to_owned());
    let is_list = |list: &str| back.strip_prefix(list).is_some_and(|rest| rest.is_empty() || rest.starts_with('?'));
    if is_list("/letters") || is_list("/scheduled") || back.starts_with("/letters/") {
        return Ok(back);
    }
    Err(WebError::bad_request("back: it takes the address of a list or of a letter"))
}

fn take_ids(pairs: &mut Pairs) -> Result<Vec<LetterId>, WebError> {
    let values = pairs.take_all("id");
    let ids = values.iter().flat_map(|value| value.split(','));
    let ids = ids.map(LetterId::from_str).collect::<Result<Vec<_>, _>>();
    ids.map_err(WebError::bad_request)
}

/// Reads what a form says of an action, whether that is one of a few letters or of all.
pub fn take_command(action: &str, pairs: &mut Pairs, now: Timestamp) -> Result<Command, WebError> {
    match action {
        "retry" => {
            let delay = pairs.take("custom_delay")?.or(pairs.take("delay")?).unwrap_or_default();
            let delay = input::parse_delay(&delay, now).map_err(WebError::unprocessable)?;
            Ok(Command::Retry { delay, queue: pairs.take("queue")? })
        }
        "discard" => Ok(Command::Discard { note: pairs.take("note")? }),
        "reopen" => Ok(Command::Reopen),
        "importance" => {
            let importance = pairs.take_parsed::<Importance>("importance")?;
            let missing = || WebError::unprocessable("Choose an importance first.");
            Ok(Command::SetImportance(importance.ok_or_else(missing)?))
        }
        "note" => Ok(Command::SetNote(pairs.take("note")?.unwrap_or_default())),
        "type" => Ok(Command::SetType(input::read_type(&pairs.take("message_type")?.unwrap_or_default())?)),
        other => Err(WebError::bad_request(format!(
            "action: {other:?} is not possible; it takes one of retry, discard, reopen, importance, note, type"
        ))),
    }
}

/// What came of it, in one or two sentences.
fn tell(command: &Command, report: &CommandReport) -> Toast {
    /// Reasons told at most; they are alike more often than not.
    const REASONS: usize = 3;
    let mut reasons: Vec<String> = Vec::new();
    for (_, refusal) in &report.refused {
        let reason = refusal.to_string();
        if reasons.len() < REASONS && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let refused = report.refused.len() as u64;
    if report.done.is_empty() {
        return Toast::failed(format!("Not done: {}.", reasons.join("; ")));
    }
    let mut text = done(command, None, report.done.len() as u64);
    if refused > 0 {
        // Writing to a string cannot fail.
        let _ = write!(text, " {} not: {}.", number::thousands(refused), reasons.join("; "));
    }
    let can_undo = match command {
        // What goes out at once is gone before anybody could take it back.
        Command::Retry { delay, .. } => !delay.is_zero(),
        Command::Discard { .. } => true,
        _ => false,
    };
    Toast::done(text, if can_undo { report.done.clone() } else { Vec::new() })
}

/// What was done with so many dead letters, all of them of that status where it is known.
pub fn done(command: &Command, status: Option<Status>, n: u64) -> String {
    let letters = number::plural(n, "dead letter");
    match command {
        Command::Retry { delay, queue } => {
            let queue = queue.as_ref().map(|queue| format!(" to {}", text::shortened(&text::one_line(queue), 60)));
            let queue = queue.unwrap_or_default();
            if delay.is_zero() {
                format!("Retrying {letters}{queue}.")
            } else {
                format!("{letters} will be retried{queue} in {}.", time::span(*delay))
            }
        }
        Command::Discard { .. } => format!("Discarded {letters}."),
        Command::Reopen if status == Some(Status::Scheduled) => {
            format!("Stopped retrying {letters}; they are open now.")
        }
        Command::Reopen => format!("Reopened {letters}."),
        Command::SetImportance(importance) => format!("{letters} set to {importance}."),
        Command::SetNote(note) if note.is_empty() => "Note removed.".to_owned(),
        Command::SetNote(_) => "Note saved.".to_owned(),
        Command::SetType(Some(name)) => format!("{letters} set to the type {}.", text::shortened(name, 80)),
        Command::SetType(None) => "The type is detected again.".to_owned(),
    }
}

/// Back to the page; htmx is told to put it in place of the one shown.
pub fn redirect(back: &str, toast: &Toast, headers: &HeaderMap) -> Response {
    let (status, name, value) = if input::is_htmx(headers) {
        let place = serde_json::json!({
            "path": back, "target": "#main", "swap": "outerHTML show:none", "values": {"part": "main"}, "push": "false",
        });
        (StatusCode::NO_CONTENT, HeaderName::from_static("hx-location"), place.to_string())
    } else {
        (StatusCode::SEE_OTHER, header::LOCATION, back.to_owned())
    };
    let mut response = status.into_response();
    let headers = response.headers_mut();
    headers.insert(name, HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("/letters")));
    if let Some(cookie) = toast.to_cookie() {
        headers.insert(header::SET_COOKIE, cookie);
    }
    response
}

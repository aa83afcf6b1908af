//! The forms on the pages: what people do to letters.
//!
//! One form does for one letter as for many. The answer is always a redirect back to where one was, with the same
//! filter, and a toast with the result.

use std::{str::FromStr, sync::Arc};

use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::{
    bulk_action::BulkAction,
    toast::{Toast, leads_back},
};
use crate::{
    domain::{
        command::{Command, CommandReport},
        letter::LetterId,
    },
    web::{
        AppState,
        codes::FaultCode,
        error::WebError,
        input::{self, FormPairs},
        order::{Action, Order},
        query::Pairs,
        security::CurrentUser,
        view::report,
    },
};

pub async fn act(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    if let Some(list) = pairs.take("matching")? {
        return ask_about_all(&list, &mut pairs, &headers);
    }
    let back = take_back(&mut pairs)?;
    let ids = take_ids(&mut pairs)?;
    let command = Order::take(&mut pairs)?.command(Action::ALL, &app)?;
    let toast = if ids.is_empty() {
        Toast::failed("No dead letter is selected.")
    } else {
        tell(&command, app.triage.act(&ids, &command, &user).await?)
    };
    Ok(redirect(&back, &toast, &headers))
}

/// Asks about all letters of a list, of which the page shows some.
fn ask_about_all(list: &str, pairs: &mut Pairs, headers: &HeaderMap) -> Result<Response, WebError> {
    let action = pairs.take("action")?.unwrap_or_default();
    let all: BulkAction = action.parse().map_err(|why| WebError::field("action", FaultCode::Choice, why))?;
    let query = list.strip_prefix("/letters").filter(|query| query.is_empty() || query.starts_with('?'));
    let query = query.ok_or_else(|| WebError::bad_request("matching: it takes the address of a list"))?;
    let ((name, word), and) = (all.as_pair(), if query.is_empty() { '?' } else { '&' });
    Ok(lead_to(&format!("/letters/all{query}{and}{name}={word}"), headers))
}

/// Where a form leads back to.
pub fn take_back(pairs: &mut Pairs) -> Result<String, WebError> {
    let back = pairs.take("back")?.unwrap_or_else(|| "/letters".to_owned());
    let elsewhere = || WebError::bad_request("back: it takes the address of a list or of a letter");
    leads_back(&back).then_some(back).ok_or_else(elsewhere)
}

fn take_ids(pairs: &mut Pairs) -> Result<Vec<LetterId>, WebError> {
    let values = pairs.take_all("id");
    let ids = values.iter().flat_map(|value| value.split(','));
    let ids = ids.map(LetterId::from_str).collect::<Result<Vec<_>, _>>();
    ids.map_err(WebError::bad_request)
}

/// Its result, in one or two sentences.
fn tell(command: &Command, report: CommandReport) -> Toast {
    let reasons: Vec<String> = report.refused.iter().map(|(_, refusal)| refusal.to_string()).collect();
    let (n_done, n_refused) = (report.done.len() as u64, report.refused.len() as u64);
    let can_undo = match command {
        // What goes out at once is gone before anybody could take it back.
        Command::Retry { delay, .. } => !delay.is_zero(),
        Command::Discard { .. } => true,
        _ => false,
    };
    match report::told(command, None, n_done, n_refused, reasons.iter().map(String::as_str)) {
        Ok(text) if can_undo => Toast::done(text).undone_by(report.done),
        Ok(text) => Toast::done(text),
        Err(text) => Toast::failed(text),
    }
}

/// Back to the page, which says what was done.
pub fn redirect(back: &str, toast: &Toast, headers: &HeaderMap) -> Response {
    let mut response = lead_to(back, headers);
    if let Some(cookie) = toast.to_cookie() {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// To another page; htmx is told to put it in place of the one shown.
pub fn lead_to(back: &str, headers: &HeaderMap) -> Response {
    let (status, name, value) = if input::is_htmx(headers) {
        let place = serde_json::json!({
            "path": back, "target": "#main", "swap": "outerHTML show:none", "push": "false",
        });
        (StatusCode::NO_CONTENT, HeaderName::from_static("hx-location"), place.to_string())
    } else {
        (StatusCode::SEE_OTHER, header::LOCATION, back.to_owned())
    };
    let mut response = status.into_response();
    let headers = response.headers_mut();
    headers.insert(name, HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("/letters")));
    response
}

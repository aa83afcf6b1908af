//! The forms on the pages: what people do to letters.
//!
//! One form does for one letter as for many. The answer is always a redirect back to where one was, with the same
//! filter, and a toast with the result.

use std::{str::FromStr, sync::Arc};

use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    back_to::take_back,
    bulk_action::BulkAction,
    letters_all::{self, AskedFrom},
    redirect::{lead_to, redirect},
    toast::Toast,
};
use crate::{
    domain::{
        command::{Command, CommandReport},
        letter::LetterId,
    },
    web::{
        error::{WebError, codes::FaultCode},
        input::FormPairs,
        orders::letters::{Action, Order},
        query::{LetterQuery, Pairs, Parameters, borrowed, further},
        state::AppState,
        view::report,
        visitor::CurrentUser,
    },
};

pub async fn act(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let asked = pairs.take("ask")?.map(|word| read_action("ask", &word)).transpose()?;
    if let Some(list) = pairs.take("matching")? {
        return ask_about_all(&list, asked, &mut pairs, &headers);
    }
    let back = take_back(&mut pairs)?;
    let ids = take_ids(&mut pairs)?;
    let order = Order::take(&mut pairs)?;
    if let Some(all) = asked {
        return Ok(ask_about(&ids, AskedFrom::of(all, order), back, &headers));
    }
    let command = order.command(Action::ALL, &app)?;
    let toast = if ids.is_empty() {
        Toast::failed("No dead letter is selected.")
    } else {
        tell(&command, app.triage.act(&ids, &command, &user).await?)
    };
    Ok(redirect(&back, &toast, &headers))
}

fn read_action(field: &str, word: &str) -> Result<BulkAction, WebError> {
    word.parse().map_err(|why| WebError::field(field, FaultCode::Choice, why))
}

/// Letters that one address has room for.
const MOST_PICKED: usize = 100;

/// Asks about letters that were picked, with all that can be said of a retry of many.
fn ask_about(ids: &[LetterId], asked: AskedFrom, back: String, headers: &HeaderMap) -> Response {
    let ids: Vec<String> = ids.iter().map(LetterId::to_string).collect();
    let refused = match ids.len() {
        0 => Some("No dead letter is selected.".to_owned()),
        1..=MOST_PICKED => None,
        _ => Some(format!("Select {MOST_PICKED} at most, or all that match.")),
    };
    if let Some(why) = refused {
        return redirect(&back, &Toast::failed(why), headers);
    }
    let search = format!("id:{}", ids.join(","));
    let picked = LetterQuery { search: search.parse().ok(), ..LetterQuery::default() };
    lead_to(&letters_all::address(&picked, &AskedFrom { back: Some(back), ..asked }), headers)
}

/// Asks about all letters of a list, of which the page shows some.
fn ask_about_all(
    list: &str,
    asked: Option<BulkAction>,
    pairs: &mut Pairs,
    headers: &HeaderMap,
) -> Result<Response, WebError> {
    let order = Order::take(pairs)?;
    let all = asked.map_or_else(|| read_action("action", &order.action), Ok)?;
    let query = list.strip_prefix("/letters").filter(|query| query.is_empty() || query.starts_with('?'));
    let query = query.ok_or_else(|| WebError::bad_request("matching: it takes the address of a list"))?;
    let asked = AskedFrom::of(all, order).pairs();
    Ok(lead_to(&further(&format!("/letters/all{query}"), borrowed(&asked)), headers))
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

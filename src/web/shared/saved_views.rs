//! Saved views: read as they come in, and with how many letters each shows.

use axum::http::StatusCode;

use super::search;
use crate::{
    domain::{
        access::Right,
        filter::Counted,
        saved_view::{Keeper, LONGEST_NAME, LONGEST_QUERY, MOST, SavedView, ViewContent},
    },
    services::audited_views::ViewChange,
    store::{ChangeError, ViewRefusal},
    web::{
        error::{
            Gathered, WebError,
            codes::FaultCode,
            fault::{Fault, NO_NUL, Place},
        },
        input::path_id::missing,
        query::{LetterQuery, Listed, Pairs, Parameters},
        state::{
            AppState,
            view_counts::{CountKey, KnownCount},
        },
        view::conflict::overtaken,
        visitor::Visitor,
    },
};

/// More letters of a view are not counted.
const COUNTED: u64 = 1_000;

/// Whose views they are who asks; nobody has any.
pub fn keeper() -> Keeper {
    let visitor = Visitor::current();
    let is_admin = visitor.as_ref().is_some_and(|visitor| visitor.may(Right::Admin));
    // A token that nobody has made, but the command line, has its own.
    let name = visitor.map(|visitor| visitor.person().unwrap_or_else(|| visitor.name())).unwrap_or_default();
    Keeper { name, is_admin }
}

/// Reads what is to be saved.
///
/// # Errors
/// All that is wrong with it.
pub fn read(app: &AppState, name: &str, query: &str, is_shared: bool) -> Result<ViewContent, WebError> {
    let mut gathered = Gathered::default();
    let name = name.trim();
    gathered.take(check_name(name));
    let query = gathered.take(not_too_long(query));
    let pairs = Pairs::parse(query.trim_start_matches('?').as_bytes());
    if pairs.iter().any(|(name, value)| name.contains('\0') || value.contains('\0')) {
        gathered.add(WebError::field("query", FaultCode::Format, NO_NUL));
    }
    let of_search = LetterQuery::of_search(&pairs);
    gathered.take(search::refused(&Place::field("query"), &search::mistakes(app, &of_search)));
    let read = gathered.take(LetterQuery::read(pairs).map_err(in_query).map(Some)).unwrap_or_default();
    gathered.end()?;
    Ok(ViewContent { name: name.to_owned(), query: written(&read), is_shared })
}

fn check_name(name: &str) -> Result<(), WebError> {
    let wrong = |code, why: String| Err(WebError::field("name", code, why));
    if name.is_empty() {
        wrong(FaultCode::Required, "it needs a name".to_owned())
    } else if name.chars().count() > LONGEST_NAME {
        wrong(FaultCode::Length, format!("it has more than {LONGEST_NAME} characters"))
    } else if name.chars().any(char::is_control) {
        wrong(FaultCode::Format, "it takes one line, without control characters".to_owned())
    } else {
        Ok(())
    }
}

fn not_too_long(query: &str) -> Result<&str, WebError> {
    if query.chars().nth(LONGEST_QUERY).is_none() {
        return Ok(query);
    }
    Err(WebError::field("query", FaultCode::Length, format!("it has more than {LONGEST_QUERY} characters")))
}

/// What is wrong with a parameter is wrong with the query.
fn in_query(error: WebError) -> WebError {
    let faults = error.faults.iter().map(|fault| Fault::new(Place::field("query"), fault.code, fault));
    WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, faults.collect())
}

/// A list as it is saved: from its first page on.
pub fn written(query: &LetterQuery) -> String {
    let href = query.with(|query| query.limit = None).href();
    href.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default()
}

/// The list that was saved; none where this version cannot read it.
pub fn list(view: &SavedView) -> Option<LetterQuery> {
    LetterQuery::read(Pairs::parse(view.content.query.as_bytes())).ok()
}

/// The address of the list.
pub fn href(view: &SavedView) -> String {
    if view.content.query.is_empty() { "/letters".to_owned() } else { format!("/letters?{}", view.content.query) }
}

/// # Errors
/// Why it was not changed.
pub fn changed(change: ViewChange) -> Result<SavedView, WebError> {
    let refusal = match change {
        Ok(Ok(view)) => return Ok(view),
        Ok(Err(refusal)) => refusal,
        Err(ChangeError::Changed(changed)) => return Err(overtaken(&changed)),
        Err(ChangeError::Store(error)) => return Err(error.into()),
    };
    Err(match refusal {
        ViewRefusal::Missing => missing::<SavedView>(),
        ViewRefusal::NameTaken => WebError::conflict("There is a view of this name already. Choose another name."),
        ViewRefusal::TooMany => WebError::conflict(format!("There are {MOST} views already. Remove some first.")),
    })
}

/// How many letters a view shows, as far as it is known; nothing is counted.
pub fn known_count(app: &AppState, view: &SavedView) -> KnownCount {
    app.view_counts.known(&key(app, view), app.clock.now())
}

/// How many letters a view shows, counted where that is not known well enough; none where it cannot be read.
pub async fn count(app: &AppState, view: &SavedView) -> Result<Option<Counted>, WebError> {
    let known = known_count(app, view);
    if !known.is_stale {
        return Ok(known.counted);
    }
    let Some(query) = list(view).filter(|query| search::mistakes(app, query).is_empty()) else { return Ok(None) };
    let now = app.clock.now();
    let counted = app.store().count_at_most(&query.page_filter(now), COUNTED).await?;
    app.view_counts.keep(key(app, view), now, counted);
    Ok(Some(counted))
}

fn key(app: &AppState, view: &SavedView) -> CountKey {
    (view.id, view.content.query.clone(), app.store().seen_within())
}

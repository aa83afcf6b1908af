//! What is wrong with a search, for who asks.

use std::sync::Arc;

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use rule_language::{Mistake as Located, Place as At};

use crate::{
    domain::{
        actor::Actor,
        filter::LetterFilter,
        rights::Right,
        search::{Mistake, Search},
    },
    web::{
        error::{
            WebError,
            codes::{FaultCode, ProblemCode},
            fault::{Fault, Place},
        },
        input::exact_pairs,
        query::{LetterQuery, Parameters},
        state::AppState,
        visitor::Visitor,
    },
};

/// All that is wrong with the search of an address, and what may not be asked by it.
pub fn mistakes(app: &AppState, query: &LetterQuery) -> Vec<Mistake> {
    let parsed = match query.search.as_ref().map(|search| search.parsed()) {
        None => return Vec::new(),
        Some(Err(mistakes)) => return mistakes.to_vec(),
        Some(Ok(parsed)) => parsed,
    };
    if !app.settings.is_search_enabled {
        return parsed.mistakes_without_index();
    }
    let is_withheld = Visitor::current().is_some_and(|visitor| !visitor.may(Right::Payload));
    if is_withheld { parsed.mistakes_without_payloads() } else { Vec::new() }
}

/// What the address of a list says; all that is wrong with it and with its search is told at once.
pub struct Searched<T = LetterQuery>(pub T);

impl<T: Parameters + Default> FromRequestParts<Arc<AppState>> for Searched<T> {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<AppState>) -> Result<Self, WebError> {
        let pairs = exact_pairs(parts);
        let search = check(app, &LetterQuery::of_search(&pairs));
        WebError::both(T::read(pairs), search).map(|(query, ())| Self(query))
    }
}

/// # Errors
/// All that is wrong with the search of an address.
pub fn check(app: &AppState, query: &LetterQuery) -> Result<(), WebError> {
    refused(&Place::parameter("q"), &mistakes(app, query))
}

/// The same of searches that stand there.
///
/// # Errors
/// If there are any mistakes.
pub fn refused(place: &Place, mistakes: &[Mistake]) -> Result<(), WebError> {
    if mistakes.is_empty() {
        return Ok(());
    }
    let fault = |mistake: &Mistake| {
        let fault = Fault::new(place.clone(), FaultCode::Search, mistake);
        Fault { mistake: Some(located(mistake)), ..fault }
    };
    let faults = mistakes.iter().map(fault).collect();
    Err(WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, faults).with_code(ProblemCode::InvalidSearch))
}

fn located(mistake: &Mistake) -> Located {
    let at = |column| At { line: 1, column };
    Located { start: at(mistake.column), end: at(mistake.end_column), message: mistake.message.clone() }
}

/// What is done with letters by what is in their payloads takes the right to see these: who may not could find out by it what
/// is in them.
///
/// # Errors
/// If the search asks for payloads that are withheld.
pub fn refuse_blind(filter: &LetterFilter, by: &Actor) -> Result<(), WebError> {
    let looks_into_payloads = filter.search.as_ref().is_some_and(Search::looks_into_payloads);
    if !looks_into_payloads || by.scope(Right::Act).is_within(&by.scope(Right::Payload)) {
        return Ok(());
    }
    let why = "words and payload fields cannot be searched for an action by who may not see the payloads of all that it is about";
    Err(WebError::field("filter.q", FaultCode::Search, why).with_code(ProblemCode::InvalidSearch))
}

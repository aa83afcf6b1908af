//! Pieces of answers that several calls share.

use utoipa::ToSchema;

use crate::{
    domain::command::{CommandReport, Refusal},
    web::{error::WebError, view::report},
};

/// For the description of bodies that are not JSON.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes the body")]
pub struct Bytes(Vec<u8>);

/// What a call does not offer yet is said, not ignored.
pub fn not_available_yet(what: &str) -> WebError {
    WebError::unprocessable(format!("{what} is not available yet."))
}

/// Turns a refusal of the only letter there was into an error.
pub fn done_or_refused(report: &CommandReport) -> Result<(), WebError> {
    report.refused.first().map_or(Ok(()), |(_, refusal)| Err(refused(refusal)))
}

pub fn refused(refusal: &Refusal) -> WebError {
    let detail = report::sentence(refusal);
    match refusal {
        Refusal::NotFound => WebError::not_found(detail),
        // Another request would mend the first and the last, nothing here the danger.
        Refusal::QueueUnknown | Refusal::Dangerous(_) | Refusal::Unfit(_) => WebError::unprocessable(detail),
        Refusal::WrongStatus { .. } | Refusal::InFlight | Refusal::Replaced { .. } | Refusal::PerhapsSent => {
            WebError::conflict(detail)
        }
    }
}

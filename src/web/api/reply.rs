//! Pieces of answers that several calls share.

use std::fmt::Display;

use axum::http::{HeaderName, StatusCode, header};
use utoipa::ToSchema;

use crate::{
    domain::{
        command::{CommandReport, Refusal},
        edit::EditPart,
    },
    web::{
        error::{
            WebError,
            codes::{FaultCode, ProblemCode},
            fault::{Fault, Place},
        },
        view::report,
    },
};

/// Bytes as they are.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes the body")]
pub struct Bytes(Vec<u8>);

/// Where something that was made is.
pub fn made_at<T>(kind: &str, id: impl Display, body: T) -> (StatusCode, [(HeaderName, String); 1], T) {
    (StatusCode::CREATED, [(header::LOCATION, format!("/api/v1/{kind}/{id}"))], body)
}

/// Turns a refusal of the only letter there was into an error.
pub fn done_or_refused(report: &CommandReport) -> Result<(), WebError> {
    report.refused.first().map_or(Ok(()), |(_, refusal)| Err(refused(refusal)))
}

fn at(steps: &[&str], detail: String) -> WebError {
    let place = Place::Body(steps.iter().map(|step| (*step).to_owned()).collect());
    WebError::of_faults(StatusCode::UNPROCESSABLE_ENTITY, vec![Fault::new(place, FaultCode::Invalid, detail)])
}

pub fn refused(refusal: &Refusal) -> WebError {
    let detail = report::sentence(refusal);
    match refusal {
        Refusal::NotFound => WebError::not_found(detail),
        Refusal::NotAllowed => WebError::new(StatusCode::FORBIDDEN, detail).with_code(ProblemCode::NotAllowed),
        Refusal::Changed => WebError::not_as_expected(&detail),
        // Another request would mend most of these, nothing here the danger.
        Refusal::QueueUnknown => WebError::field("queue", FaultCode::Required, refusal),
        Refusal::Dangerous(_) | Refusal::Unfit(_) => at(&[], detail),
        Refusal::UnfitPart { part, .. } => match part {
            EditPart::Queue => at(&["queue"], detail),
            EditPart::SetHeader(name) => at(&["headers", "set", name], detail),
            EditPart::RemovedHeader(_) => at(&["headers", "remove"], detail),
            EditPart::Property(property) => at(&["properties", property.as_str()], detail),
        },
        Refusal::WrongStatus { .. } | Refusal::InFlight | Refusal::Replaced { .. } | Refusal::PerhapsSent => {
            WebError::conflict(detail)
        }
    }
}

//! What is wrong with a rule, for those who call the API.

use axum::http::StatusCode;
use rule_language::Mistake;

use crate::{
    services::rules::RuleError,
    web::{
        error::{
            WebError,
            codes::FaultCode,
            fault::{Fault, Place},
        },
        view::conflict::overtaken,
    },
};

impl From<RuleError> for WebError {
    fn from(error: RuleError) -> Self {
        let detail = error.to_string();
        match error {
            RuleError::Name(why) => Self::field("name", FaultCode::Invalid, why),
            RuleError::Expression(mistakes) => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                let faults = mistakes.iter().map(in_expression).collect();
                let mut error = Self::of_faults(status, faults);
                error.detail = format!("when: {detail}");
                error
            }
            RuleError::TooMany => Self::conflict(detail),
            RuleError::InFile(_) => Self::conflict(detail),
            RuleError::Changed(changed) => overtaken(&changed),
            RuleError::Reordered => Self::not_as_expected(&detail),
            RuleError::Gone => Self::not_found("There is no such rule; an id is a UUID."),
            RuleError::Store(error) => error.into(),
        }
    }
}

fn in_expression(mistake: &Mistake) -> Fault {
    Fault { mistake: Some(mistake.clone()), ..Fault::new(Place::field("when"), FaultCode::Invalid, &mistake.message) }
}

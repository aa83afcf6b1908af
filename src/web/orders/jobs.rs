//! Why a job is not paused, resumed, cancelled or undone, for who asks for that by a form or a call.

use axum::http::StatusCode;

use crate::{
    domain::job::{Job, JobRefusal},
    web::{
        error::{WebError, codes::ProblemCode},
        input::path_id::missing,
    },
};

pub fn refused(refusal: JobRefusal) -> WebError {
    match refusal {
        JobRefusal::NotFound => missing::<Job>(),
        JobRefusal::NotAllowed => {
            WebError::new(StatusCode::FORBIDDEN, refusal.to_string()).with_code(ProblemCode::NotAllowed)
        }
    }
}

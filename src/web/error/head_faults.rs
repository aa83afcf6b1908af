//! What was found wrong with a call before its body was read.

use axum::http::{Extensions, StatusCode};

use super::{WebError, fault::Fault};

/// What is wrong with its address and its headers.
#[derive(Clone, Default)]
pub struct HeadFaults(pub Vec<Fault>);

impl HeadFaults {
    /// Of the request with these extensions.
    pub fn of(extensions: &Extensions) -> Self {
        extensions.get().cloned().unwrap_or_default()
    }

    pub fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// What was read, where nothing is wrong.
    ///
    /// # Errors
    /// All that is wrong, here and there.
    pub fn with<T>(self, read: Result<T, WebError>) -> Result<T, WebError> {
        match read {
            Ok(_) if !self.0.is_empty() => Err(WebError::of_faults(StatusCode::BAD_REQUEST, self.0)),
            read => read.map_err(|error| error.after(self.0)),
        }
    }
}

//! What goes wrong. A handler only says what; [`problem`](super::problem) gives it its form.

pub mod codes;
pub mod fault;
pub mod head_faults;

use std::{any::Any, error::Error, sync::Arc};

use axum::{
    http::{Response as HttpResponse, StatusCode},
    response::{IntoResponse, Response},
};

use codes::{FaultCode, ProblemCode};
use fault::{Fault, Place};

use crate::{services::digests::DigestError, store::StoreError};

/// Mistakes that are told at once: nobody reads more of them. Whoever looks for them may stop behind so many.
pub const MOST_FAULTS: usize = 100;
/// Stands behind so many, where there are others.
const MORE: &str = "\nand more";

/// Why a request is not answered as it wished.
#[derive(Clone, Debug)]
pub struct WebError {
    pub status: StatusCode,
    /// Its kind, for programs: it stays the same when the words change.
    pub code: ProblemCode,
    /// For users, and never anything internal.
    pub detail: String,
    /// Everything that is wrong with the request, and where.
    pub faults: Vec<Fault>,
    /// For the log.
    cause: Option<Arc<dyn Error + Send + Sync>>,
}

impl WebError {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, code: ProblemCode::of(status), detail: detail.into(), faults: Vec::new(), cause: None }
    }

    /// The same of a more particular kind.
    pub fn with_code(self, code: ProblemCode) -> Self {
        Self { code, ..self }
    }

    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Nobody knows who asks.
    pub fn unauthorized() -> Self {
        Self::unauthorized_because("Sign in first, or send a token.")
    }

    pub fn unauthorized_because(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, detail)
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// The request is well formed and asks for what cannot be.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// A field of the body, as `delay` or `headers.set`, holds what cannot be.
    pub fn field(name: &str, code: FaultCode, why: impl ToString) -> Self {
        Self::of_faults(StatusCode::UNPROCESSABLE_ENTITY, vec![Fault::new(Place::field(name), code, why)])
    }

    /// The body as a whole is what cannot be.
    pub fn body(status: StatusCode, code: FaultCode, why: impl ToString) -> Self {
        Self::of_faults(status, vec![Fault::new(Place::Body(Vec::new()), code, why)])
    }

    /// A word of the address is given as it cannot be.
    pub fn parameter(name: &str, code: FaultCode, why: impl ToString) -> Self {
        Self::of_faults(StatusCode::BAD_REQUEST, vec![Fault::new(Place::parameter(name), code, why)])
    }

    /// A header is given as it cannot be.
    pub fn header(name: &'static str, code: FaultCode, why: impl ToString) -> Self {
        Self::of_faults(StatusCode::BAD_REQUEST, vec![Fault::new(Place::Header(name), code, why)])
    }

    /// All that is wrong.
    pub fn of_faults(status: StatusCode, mut faults: Vec<Fault>) -> Self {
        let has_more = faults.len() > MOST_FAULTS;
        faults.truncate(MOST_FAULTS);
        let mut detail = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        if has_more {
            detail.push_str(MORE);
        }
        Self { faults, ..Self::new(status, detail) }
    }

    /// What both say, with the status of this one, as far as anybody reads it.
    fn and(&mut self, other: Self) {
        if self.faults.len() < MOST_FAULTS {
            self.detail.push('\n');
            self.detail.push_str(&other.detail);
            self.faults.extend(other.faults);
            if self.faults.len() <= MOST_FAULTS {
                return;
            }
            self.faults.truncate(MOST_FAULTS);
        }
        if !self.detail.ends_with(MORE) {
            self.detail.push_str(MORE);
        }
    }

    /// All of them, see [`Gathered`]; `None` where there are none.
    pub fn all(errors: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut gathered = Gathered::default();
        errors.into_iter().for_each(|error| gathered.add(error));
        gathered.0
    }

    /// The same, where something was wrong before: what is said again of the same places is left out. One that is not about
    /// a field, a parameter or a header stands alone.
    pub fn after(self, mut earlier: Vec<Fault>) -> Self {
        if earlier.is_empty() || self.faults.is_empty() {
            return self;
        }
        let is_new = |fault: &Fault| {
            fault.code == FaultCode::Excluded || !earlier.iter().any(|known| known.place.meets(&fault.place))
        };
        let (new, _): (Vec<_>, Vec<_>) = self.faults.into_iter().partition(is_new);
        earlier.extend(new);
        Self::of_faults(StatusCode::UNPROCESSABLE_ENTITY, earlier)
    }

    /// Both, or all that is wrong with them.
    pub fn both<A, B>(one: Result<A, Self>, other: Result<B, Self>) -> Result<(A, B), Self> {
        let mut gathered = Gathered::default();
        let both = gathered.take(one.map(Some)).zip(gathered.take(other.map(Some)));
        gathered.end()?;
        both.ok_or_else(|| Self::unprocessable("It cannot be read."))
    }

    /// It is not as the call expected, see [`Precondition`](super::precondition::Precondition).
    pub fn not_as_expected(there: &str) -> Self {
        let detail = format!("{there} Get it again, and repeat the change if it is still meant.");
        Self::new(StatusCode::PRECONDITION_FAILED, detail)
    }

    /// The database is away.
    pub fn no_database() -> Self {
        let detail = "The database cannot be used at the moment. Nothing is lost; dlo keeps trying.";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail).with_code(ProblemCode::DatabaseUnavailable)
    }

    /// For the log: the detail, or its cause with all that lies behind it, in one line.
    pub fn for_the_log(&self) -> String {
        self.cause.as_deref().map_or_else(|| self.detail.clone(), chain)
    }

    pub fn internal(cause: impl Error + Send + Sync + 'static) -> Self {
        let error = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal error. See the log for details.");
        Self { cause: Some(Arc::new(cause)), ..error }
    }
}

/// Gathers what is wrong, so that all of it is told at once, with the status of the first. What is not about a field, a
/// parameter or a header stands alone.
#[derive(Debug, Default)]
pub struct Gathered(Option<WebError>);

impl Gathered {
    /// What was read; where it could not be, nothing, and why is kept.
    pub fn take<T: Default>(&mut self, read: Result<T, WebError>) -> T {
        read.unwrap_or_else(|error| {
            self.add(error);
            T::default()
        })
    }

    /// Keeps what is wrong.
    pub fn add(&mut self, error: WebError) {
        match &mut self.0 {
            Some(found) if found.faults.is_empty() => {}
            Some(found) if !error.faults.is_empty() => found.and(error),
            found => *found = Some(error),
        }
    }

    /// # Errors
    /// All that went wrong.
    pub fn end(self) -> Result<(), WebError> {
        self.0.map_or(Ok(()), Err)
    }
}

impl From<StoreError> for WebError {
    fn from(error: StoreError) -> Self {
        if !error.is_outage() {
            return Self::internal(error);
        }
        Self { cause: Some(Arc::new(error)), ..Self::no_database() }
    }
}

impl From<DigestError> for WebError {
    fn from(error: DigestError) -> Self {
        match error {
            DigestError::Store(error) => error.into(),
            DigestError::NoSlack => Self::conflict(format!("Nothing was sent: {error}.")),
        }
    }
}

impl From<askama::Error> for WebError {
    fn from(error: askama::Error) -> Self {
        Self::internal(error)
    }
}

impl IntoResponse for WebError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Answers a panic like any other failure of ours.
pub fn on_panic(_: Box<dyn Any + Send + 'static>) -> HttpResponse<axum::body::Body> {
    #[derive(Debug, thiserror::Error)]
    #[error("a handler panicked; the message stands above")]
    struct Panicked;
    WebError::internal(Panicked).into_response()
}

/// An error with all its causes, in one line.
fn chain(error: &(dyn Error + Send + Sync)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_gathered_than_anybody_reads() {
        let wrong = |n: usize| WebError::field(&format!("ids.{n}"), FaultCode::Format, "it is no id");
        let all = WebError::all((0..200_000).map(wrong)).unwrap();
        assert_eq!((all.faults.len(), all.detail.lines().count()), (MOST_FAULTS, MOST_FAULTS + 1));
        assert!(all.detail.ends_with("ids[99]: it is no id\nand more"), "{}", all.detail);
        let both = WebError::all([wrong(0), all.clone()]).unwrap();
        assert!(both.faults.len() == MOST_FAULTS && both.detail.ends_with("\nand more"), "{}", both.detail);
        let again = WebError::of_faults(all.status, [all.faults.clone(), all.faults].concat());
        assert_eq!((again.faults.len(), again.detail), (MOST_FAULTS, all.detail));
    }

    #[test]
    fn what_is_about_no_field_stands_alone() {
        let field = || WebError::parameter("limit", FaultCode::Range, "it is too large");
        for errors in [[field(), WebError::no_database(), field()], [WebError::no_database(), field(), field()]] {
            assert_eq!(WebError::all(errors).unwrap().code, ProblemCode::DatabaseUnavailable);
        }
        let both = WebError::both::<(), ()>(Err(field()), Err(WebError::unprocessable("no"))).unwrap_err();
        assert_eq!(both.detail, "no");
        let both = WebError::both::<(), ()>(Err(field()), Err(field())).unwrap_err();
        assert_eq!((both.status, both.faults.len()), (StatusCode::BAD_REQUEST, 2));
        assert_eq!(WebError::both(Ok(1), Ok(2)).map_err(|error| error.detail), Ok((1, 2)));
    }
}

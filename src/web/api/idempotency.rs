//! `Idempotency-Key`: a call that is made again, because its answer was lost, is answered as it was the first time
//! (<https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>).

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};
use tracing::Instrument;
use utoipa::openapi::{
    ObjectBuilder, Required, Type,
    path::{Parameter, ParameterBuilder, ParameterIn},
};

use crate::{
    domain::actor::Actor,
    store::{KeptAnswer, KeyClaim, KeyedCall},
    web::{
        error::{
            WebError,
            codes::{FaultCode, ProblemCode},
            fault::{Fault, Place},
            head_faults::HeadFaults,
        },
        input::read_body,
        state::AppState,
        visitor::{CurrentUser, Visitor},
    },
};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that the answer is the one to an earlier call.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Characters of a key.
const LONGEST: usize = 255;
/// What of an answer is kept beside its body.
const HEADERS: [HeaderName; 3] = [header::CONTENT_TYPE, header::ETAG, header::LOCATION];
/// Calls that change nothing: they may be made again as they are, and what they answer is nobody else's business.
const HARMLESS: [&str; 5] = ["/reveal", "/decode", "/rules/test", "/digests/preview", "/split/preview"];

/// Whether a call by POST takes a key.
pub fn takes_key(path: &str) -> bool {
    !HARMLESS.iter().any(|end| path.ends_with(end))
}

/// Has a call with a key happen once.
pub async fn once(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    request: Request,
    next: Next,
) -> Result<Response, WebError> {
    let is_meant = request.method() == Method::POST && takes_key(request.uri().path());
    // What is refused anyhow uses up no key.
    let is_meant = is_meant && HeadFaults::of(request.extensions()).are_none();
    let key = is_meant.then(|| read_key(request.headers())).transpose()?.flatten();
    let Some(key) = key else { return Ok(next.run(request).await) };
    let (parts, body) = request.into_parts();
    let body = read_body(Request::from_parts(parts.clone(), body), &()).await?;
    let hash = hash(&parts, &body);
    let request = Request::from_parts(parts, Body::from(body));
    let going = claim_and_run(Arc::clone(&app), (user.clone(), key, hash), request, next);
    // A caller that hangs up or is told that it takes too long asks again, and for this very answer.
    let going = match Visitor::current() {
        Some(visitor) => app.tasks.spawn(visitor.during(going).in_current_span()),
        None => app.tasks.spawn(going.in_current_span()),
    };
    going.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// Makes a call for the first time and keeps what it is answered, whether somebody waits for that or not.
async fn claim_and_run(
    app: Arc<AppState>,
    (by, key, hash): (Actor, String, String),
    request: Request,
    next: Next,
) -> Result<Response, WebError> {
    let call = KeyedCall { by: &by, key: &key, hash: &hash };
    match app.keys.claim(call).await? {
        KeyClaim::First => {}
        KeyClaim::Answered(answer) => return Ok(replay(answer)),
        KeyClaim::UnderWay => return Err(under_way()),
        KeyClaim::CutOff => return Err(cut_off()),
        KeyClaim::Other => return Err(used_otherwise()),
    }
    let response = next.run(request).await;
    if !response.status().is_success() {
        app.keys.release(call).await?;
        return Ok(response);
    }
    keep(&app, call, response).await
}

fn cut_off() -> WebError {
    WebError::conflict(
        "A call with this Idempotency-Key was begun and never answered, because its server ended; whether it was done is \
         not known. Look, and make it with another key if it was not.",
    )
    .with_code(ProblemCode::KeyCutOff)
}

fn under_way() -> WebError {
    WebError::conflict("A call with this Idempotency-Key is under way; its answer is there in a moment.")
        .with_code(ProblemCode::KeyInUse)
}

fn used_otherwise() -> WebError {
    let why = "it was used for another call; take another one, or make the same call";
    let used = WebError::of_faults(
        StatusCode::UNPROCESSABLE_ENTITY,
        vec![Fault::new(Place::Header("Idempotency-Key"), FaultCode::Repeated, why)],
    );
    used.with_code(ProblemCode::KeyReused)
}

/// The key of a call, if it has one.
///
/// # Errors
/// If it is none.
pub fn read_key(headers: &HeaderMap) -> Result<Option<String>, WebError> {
    const NAME: &str = "Idempotency-Key";
    let mut values = headers.get_all(KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(WebError::header(NAME, FaultCode::Repeated, "it is given more than once"));
    }
    let wrong = |code| WebError::header(NAME, code, format!("it takes 1 to {LONGEST} characters of ASCII"));
    let text = value.to_str().map_err(|_| wrong(FaultCode::Format))?;
    if (1..=LONGEST).contains(&text.len()) { Ok(Some(text.to_owned())) } else { Err(wrong(FaultCode::Length)) }
}

/// Stands for what is asked.
fn hash(parts: &Parts, body: &[u8]) -> String {
    let media_type = parts.headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [parts.uri.to_string().as_bytes(), media_type, body] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn keep(app: &AppState, call: KeyedCall<'_>, response: Response) -> Result<Response, WebError> {
    let (parts, body) = response.into_parts();
    // Answers of this API are made whole before they are sent.
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    let text = |name: &HeaderName| Some((name.to_string(), parts.headers.get(name)?.to_str().ok()?.to_owned()));
    let headers = HEADERS.iter().filter_map(text).collect();
    app.keys.keep(call, &KeptAnswer { status: parts.status.as_u16(), headers, body: body.to_vec() }).await?;
    Ok(Response::from_parts(parts, Body::from(body)))
}

fn replay(answer: KeptAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = (status, answer.body).into_response();
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    for (name, value) in answer.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

/// What the description says of it.
pub fn parameter() -> Parameter {
    const ABOUT: &str = "A text of the caller's, as a UUID: the same call with the same key is answered as the first time, for 24 \
        hours, and done once. Another call with it is a 422, one that is still under way a 409, and so is one that was cut \
        off with its server: look whether it was done. What failed can be repeated with the same key.";
    let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(LONGEST));
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(ABOUT))
        .schema(Some(text.pattern(Some("^[ -~]+$"))))
        .build()
}

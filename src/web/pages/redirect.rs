//! Where a form leads to when it is done.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::toast::Toast;
use crate::web::htmx::is_htmx;

/// Back to the page, which says what was done.
pub fn redirect(back: &str, toast: &Toast, headers: &HeaderMap) -> Response {
    let mut response = lead_to(back, headers);
    if let Some(cookie) = toast.to_cookie() {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

/// To another page; htmx is told to put it in place of the one shown.
pub fn lead_to(back: &str, headers: &HeaderMap) -> Response {
    let (status, name, value) = if is_htmx(headers) {
        let place = serde_json::json!({
            "path": back, "target": "#main", "swap": "outerHTML show:none", "push": "false",
        });
        (StatusCode::NO_CONTENT, HeaderName::from_static("hx-location"), place.to_string())
    } else {
        (StatusCode::SEE_OTHER, header::LOCATION, back.to_owned())
    };
    let mut response = status.into_response();
    let headers = response.headers_mut();
    headers.insert(name, HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("/letters")));
    response
}

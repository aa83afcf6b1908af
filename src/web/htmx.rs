//! What htmx says of a request.

use axum::http::HeaderMap;

/// Whether htmx asks, and not the browser itself.
pub fn is_htmx(headers: &HeaderMap) -> bool {
    headers.contains_key("hx-request")
}

//! Pages that ask for themselves.

use axum::http::HeaderMap;

/// Whether a page asks for itself to bring what it shows up to date, see `static/js/refresh.js`.
pub fn is_refresh(headers: &HeaderMap) -> bool {
    headers.contains_key("dlo-refresh")
}

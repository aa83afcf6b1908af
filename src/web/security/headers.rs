//! Headers that every answer carries.

use axum::{
    extract::{Request, State},
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::Response,
};

/// Nothing is allowed but what is named, and nothing named is inline or from elsewhere.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    // Without any referrer, browsers do not say either from which site a form comes.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // Letters are nobody else's business: no copy stays behind in a cache.
    (header::CACHE_CONTROL, "no-store"),
];

/// A year, as browsers ask for who wants to stay in their lists. Subdomains are for others to decide on.
const ONLY_TLS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Sets them where an answer has not set its own. Where people come by TLS, they come by nothing else from then on, and no
/// cookie goes any other way.
pub async fn set_headers(State(is_tls): State<bool>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if is_tls {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, ONLY_TLS);
        if let header::Entry::Occupied(mut cookies) = headers.entry(header::SET_COOKIE) {
            cookies.iter_mut().for_each(secure);
        }
    }
    response
}

fn secure(cookie: &mut HeaderValue) {
    let Ok(text) = cookie.to_str() else { return };
    if !text.contains("; Secure")
        && let Ok(secure) = HeaderValue::from_str(&format!("{text}; Secure"))
    {
        *cookie = secure;
    }
}

//! Posts from other sites are refused.
//!
//! Browsers say themselves where a request comes from, so no tokens are needed; what is no browser says nothing and
//! carries no one's session either. The order of the checks is that of Go's `http.CrossOriginProtection`.

use axum::{
    extract::Request,
    http::{HeaderMap, Method, StatusCode, header},
    middleware::Next,
    response::Response,
};

use crate::web::error::WebError;

/// Answers 403 to a change that another site wants.
pub async fn refuse_other_sites(request: Request, next: Next) -> Result<Response, WebError> {
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let host = request.uri().authority().map(|authority| authority.as_str());
    if changes && is_from_elsewhere(request.headers(), host) {
        let detail = "This came from another site. Only pages of this dlo server may change anything.";
        return Err(WebError::new(StatusCode::FORBIDDEN, detail));
    }
    Ok(next.run(request).await)
}

fn is_from_elsewhere(headers: &HeaderMap, authority: Option<&str>) -> bool {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    match text("sec-fetch-site") {
        Some("same-origin" | "none") => return false,
        Some(_) => return true,
        None => {}
    }
    let Some(origin) = text(header::ORIGIN.as_str()) else { return false };
    let host = authority.or_else(|| text(header::HOST.as_str()));
    origin.split_once("://").is_none_or(|(_, origin)| host.is_none_or(|host| !host.eq_ignore_ascii_case(origin)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &'static str)], elsewhere: bool) {
        let map = headers.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value")));
        assert_eq!(is_from_elsewhere(&map.collect(), None), elsewhere, "{headers:?}");
    }

    #[test]
    fn browsers_tell_where_they_come_from() {
        check(&[("sec-fetch-site", "same-origin")], false);
        check(&[("sec-fetch-site", "none")], false);
        check(&[("sec-fetch-site", "cross-site")], true);
        check(&[("sec-fetch-site", "same-site")], true);
        check(&[("host", "a:1"), ("origin", "http://a:1")], false);
        check(&[("host", "a:1"), ("origin", "https://A:1")], false);
        check(&[("host", "a:1"), ("origin", "http://a:2")], true);
        check(&[("host", "a:1"), ("origin", "null")], true);
        check(&[("origin", "http://a:1")], true);
        check(&[("host", "a:1"), ("origin", "http://a:1"), ("sec-fetch-site", "cross-site")], true);
    }

    #[test]
    fn programs_say_nothing() {
        check(&[("host", "a:1")], false);
    }
}

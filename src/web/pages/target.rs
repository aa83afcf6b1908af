//! An htmx request is answered with the element that it is for, whatever else is sent: a page within a page is what
//! anything else would make of it.

use axum::{
    extract::Request,
    http::{HeaderMap, Method, Uri},
    middleware::Next,
    response::Response,
};

/// Elements that links and forms bring anew, by their ids, and the part of a page that each is.
const PARTS: [(&str, &str); 3] = [("main", "main"), ("results", "results"), ("pane", "letter")];

/// Has pages answer with the part that takes the place of the request's target, also where a link has inherited another.
pub async fn choose_part(mut request: Request, next: Next) -> Response {
    if request.method() == Method::GET
        && let Some(part) = part(request.headers())
        && let Some(uri) = with_part(request.uri(), part)
    {
        *request.uri_mut() = uri;
    }
    next.run(request).await
}

fn part(headers: &HeaderMap) -> Option<&'static str> {
    // What htmx has forgotten of its history is asked for as a whole (<https://htmx.org/docs/#history>).
    let is_whole = !headers.contains_key("hx-request") || headers.contains_key("hx-history-restore-request");
    let target = headers.get("hx-target").filter(|_| !is_whole)?.to_str().ok()?;
    PARTS.iter().find(|(id, _)| *id == target).map(|(_, part)| *part)
}

fn with_part(uri: &Uri, part: &str) -> Option<Uri> {
    let named =
        uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("part="));
    let query: Vec<&str> = named.collect();
    let and = if query.is_empty() { "" } else { "&" };
    format!("{}?{}{and}part={part}", uri.path(), query.join("&")).parse().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn asked(uri: &str, headers: &[(&'static str, &'static str)]) -> String {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        let uri: Uri = uri.parse().unwrap();
        part(&headers).and_then(|part| with_part(&uri, part)).unwrap_or(uri).to_string()
    }

    #[test]
    fn the_target_says_which_part() {
        let main = [("hx-request", "true"), ("hx-target", "main")];
        assert_eq!(asked("/groups", &main), "/groups?part=main");
        assert_eq!(asked("/groups?queue=a%26b", &main), "/groups?queue=a%26b&part=main");
        assert_eq!(asked("/groups?part=results&sort=a", &main), "/groups?sort=a&part=main", "it was inherited");
        assert_eq!(asked("/letters", &[("hx-request", "true"), ("hx-target", "pane")]), "/letters?part=letter");
        assert_eq!(asked("/letters", &[("hx-target", "main")]), "/letters", "a browser asks");
        assert_eq!(asked("/letters", &[("hx-request", "true"), ("hx-target", "news")]), "/letters");
        let restored = [main[0], main[1], ("hx-history-restore-request", "true")];
        assert_eq!(asked("/letters", &restored), "/letters");
    }
}

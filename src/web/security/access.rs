//! What each page and each call takes: the one table. What does not stand in it is not there.

use std::{collections::HashMap, sync::LazyLock};

use axum::http::Method;
use matchit::Router;

use crate::domain::access::Right::{self, Act, Admin, Mark, Payload, Read, Reveal};

/// What a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing: anybody may ask.
    Nothing,
    /// Somebody who has signed in, for what is their own; no token.
    Person,
    /// These rights, for people and tokens.
    Rights(&'static [Right]),
    /// The same, and no token: what pages show is for people.
    Page(&'static [Right]),
    /// To read, unless the configuration leaves it open.
    Metrics,
}

use Need::{Metrics, Nothing, Page, Person, Rights};

type Entry = (&'static str, &'static str, Need);

const PAGES: &[Entry] = &[
    ("GET", "/", Page(&[Read])),
    ("GET", "/banner", Page(&[Read])),
    ("GET", "/events", Page(&[Read])),
    ("GET", "/api/docs", Page(&[Read])),
    ("GET", "/get-started", Page(&[Read])),
    ("POST", "/get-started/test", Page(&[Act])),
    ("GET", "/groups", Page(&[Read])),
    ("POST", "/groups/actions", Page(&[Act])),
    ("GET", "/groups/{id}", Page(&[Read])),
    // Payloads have no part in it without the right to see them.
    ("GET", "/groups/{id}/in-common", Page(&[Read])),
    ("POST", "/groups/{id}/all", Page(&[Act])),
    ("POST", "/groups/{id}/note", Page(&[Act])),
    ("POST", "/groups/{id}/unmerge", Page(&[Act])),
    ("GET", "/groups/{id}/split", Page(&[Act, Payload])),
    ("POST", "/groups/{id}/split", Page(&[Act, Payload])),
    ("POST", "/groups/{id}/join", Page(&[Act])),
    ("GET", "/jobs", Page(&[Read])),
    ("GET", "/jobs/{id}", Page(&[Read])),
    ("POST", "/jobs/{id}/pause", Page(&[Act])),
    ("POST", "/jobs/{id}/resume", Page(&[Act])),
    ("POST", "/jobs/{id}/cancel", Page(&[Act])),
    ("POST", "/jobs/{id}/undo", Page(&[Act])),
    // What is in messages is left out without the right to see it.
    ("GET", "/letters", Page(&[Read])),
    ("GET", "/letters/completions", Page(&[Read])),
    ("GET", "/letters/columns", Page(&[Read])),
    ("POST", "/letters/columns", Page(&[Read])),
    // Payloads have no part in it without the right to see them.
    ("GET", "/letters/in-common", Page(&[Read])),
    ("GET", "/letters/{id}", Page(&[Read])),
    ("POST", "/letters/{id}/reveal", Page(&[Reveal])),
    ("GET", "/letters/{id}/edit", Page(&[Act, Payload])),
    ("POST", "/letters/{id}/edit", Page(&[Act, Payload])),
    ("POST", "/letters/actions", Page(&[Act])),
    ("GET", "/letters/all", Page(&[Act])),
    ("POST", "/letters/all", Page(&[Act])),
    ("GET", "/scheduled", Page(&[Read])),
    ("POST", "/scheduled/all", Page(&[Act])),
    ("GET", "/queues", Page(&[Read])),
    ("GET", "/queues/{broker}/{queue}", Page(&[Read])),
    ("POST", "/queues/{broker}/{queue}/pause", Page(&[Act])),
    ("POST", "/queues/{broker}/{queue}/resume", Page(&[Act])),
    ("GET", "/policies", Page(&[Read])),
    ("POST", "/policies/set", Page(&[Admin])),
    ("POST", "/policies/unset", Page(&[Admin])),
    ("GET", "/digests", Page(&[Read])),
    ("POST", "/digests/send", Page(&[Admin])),
    ("GET", "/digests/{id}", Page(&[Read])),
    ("GET", "/rules", Page(&[Read])),
    ("POST", "/rules/check", Page(&[Admin])),
    ("POST", "/rules/set", Page(&[Admin])),
    ("POST", "/rules/remove", Page(&[Admin])),
    ("POST", "/rules/move", Page(&[Admin])),
    ("POST", "/rules/apply", Page(&[Admin])),
    ("POST", "/rules/cancel", Page(&[Admin])),
    ("GET", "/groups/rules", Page(&[Read])),
    ("POST", "/groups/rules/check", Page(&[Admin])),
    ("POST", "/groups/rules/add", Page(&[Admin])),
    ("POST", "/groups/rules/remove", Page(&[Admin])),
    // What is saved there is one's own.
    ("GET", "/views", Page(&[Read])),
    ("GET", "/views/menu", Page(&[Read])),
    ("GET", "/views/{id}", Page(&[Read])),
    ("POST", "/views/set", Page(&[Read])),
    ("POST", "/views/remove", Page(&[Read])),
    ("POST", "/views/restore", Page(&[Read])),
    ("GET", "/markers", Page(&[Read])),
    ("POST", "/markers/set", Page(&[Mark])),
    ("POST", "/markers/remove", Page(&[Mark])),
    ("GET", "/activity", Page(&[Read])),
    ("GET", "/schemas", Page(&[Read])),
    ("POST", "/schemas/upload", Page(&[Admin])),
    ("POST", "/schemas/remove", Page(&[Admin])),
    ("POST", "/schemas/map", Page(&[Admin])),
    ("POST", "/schemas/unmap", Page(&[Admin])),
    ("GET", "/schemas/types/{name}", Page(&[Read])),
    ("GET", "/users", Page(&[Admin])),
    ("POST", "/users/add", Page(&[Admin])),
    ("POST", "/users/change", Page(&[Admin])),
    ("POST", "/users/revoke", Page(&[Admin])),
    ("GET", "/account", Person),
    ("POST", "/account/password", Person),
    ("POST", "/account/sessions", Person),
    ("POST", "/account/tokens", Person),
    ("POST", "/account/revoke", Person),
    ("GET", "/login", Nothing),
    ("GET", "/sign-in", Nothing),
    ("POST", "/sign-in", Nothing),
    ("GET", "/sign-in/start", Nothing),
    ("GET", "/sign-in/callback", Nothing),
    ("POST", "/sign-out", Nothing),
    ("GET", "/set-up", Nothing),
    ("POST", "/set-up", Nothing),
    ("GET", "/assets/{version}/{*name}", Nothing),
    ("GET", "/docs/{*file}", Nothing),
    ("GET", "/healthz", Nothing),
    ("GET", "/readyz", Nothing),
];

const CALLS: &[Entry] = &[
    ("GET", "/metrics", Metrics),
    ("GET", "/api/openapi.json", Nothing),
    ("GET", "/api/v1/letters", Rights(&[Read])),
    ("GET", "/api/v1/letters/in-common", Rights(&[Read])),
    // As of a single letter; what is hidden takes the right to reveal it.
    ("GET", "/api/v1/letters/export", Rights(&[Read])),
    // What is in the message is left out without the right to see it.
    ("GET", "/api/v1/letters/{id}", Rights(&[Read])),
    ("PATCH", "/api/v1/letters/{id}", Rights(&[Act])),
    ("POST", "/api/v1/letters/{id}/reveal", Rights(&[Reveal])),
    ("GET", "/api/v1/letters/{id}/body", Rights(&[Reveal])),
    ("POST", "/api/v1/letters/{id}/retry", Rights(&[Act])),
    ("POST", "/api/v1/letters/{id}/discard", Rights(&[Act])),
    ("POST", "/api/v1/letters/{id}/reopen", Rights(&[Act])),
    ("POST", "/api/v1/actions", Rights(&[Act])),
    // It says what there is, as calls about groups and queues do; only who acts on letters need not see them.
    ("POST", "/api/v1/actions/preview", Rights(&[Read, Act])),
    ("GET", "/api/v1/jobs", Rights(&[Read])),
    ("GET", "/api/v1/jobs/{id}", Rights(&[Read])),
    ("POST", "/api/v1/jobs/{id}/cancel", Rights(&[Act])),
    ("POST", "/api/v1/jobs/{id}/undo", Rights(&[Act])),
    ("POST", "/api/v1/jobs/{id}/pause", Rights(&[Act])),
    ("POST", "/api/v1/jobs/{id}/resume", Rights(&[Act])),
    ("GET", "/api/v1/jobs/{id}/report", Rights(&[Read])),
    ("GET", "/api/v1/jobs/{id}/report.csv", Rights(&[Read])),
    ("GET", "/api/v1/groups", Rights(&[Read])),
    ("GET", "/api/v1/groups/{id}", Rights(&[Read])),
    ("GET", "/api/v1/groups/{id}/in-common", Rights(&[Read])),
    ("PATCH", "/api/v1/groups/{id}", Rights(&[Read, Act])),
    ("POST", "/api/v1/groups/{id}/acknowledge", Rights(&[Read, Act])),
    ("POST", "/api/v1/groups/{id}/snooze", Rights(&[Read, Act])),
    ("POST", "/api/v1/groups/{id}/resolve", Rights(&[Read, Act])),
    ("POST", "/api/v1/groups/{id}/reopen", Rights(&[Read, Act])),
    ("POST", "/api/v1/groups/actions", Rights(&[Read, Act])),
    ("POST", "/api/v1/groups/merge", Rights(&[Read, Act])),
    ("POST", "/api/v1/groups/{id}/unmerge", Rights(&[Read, Act])),
    ("POST", "/api/v1/groups/{id}/split", Rights(&[Read, Act, Payload])),
    ("POST", "/api/v1/groups/{id}/split/preview", Rights(&[Read, Act, Payload])),
    ("POST", "/api/v1/groups/{id}/join", Rights(&[Read, Act])),
    ("GET", "/api/v1/queues", Rights(&[Read])),
    ("GET", "/api/v1/queues/{broker}/{queue}", Rights(&[Read])),
    ("POST", "/api/v1/queues/{broker}/{queue}/pause", Rights(&[Read, Act])),
    ("POST", "/api/v1/queues/{broker}/{queue}/resume", Rights(&[Read, Act])),
    ("GET", "/api/v1/views", Rights(&[Read])),
    ("POST", "/api/v1/views", Rights(&[Act])),
    ("GET", "/api/v1/views/{id}", Rights(&[Read])),
    ("PUT", "/api/v1/views/{id}", Rights(&[Act])),
    ("DELETE", "/api/v1/views/{id}", Rights(&[Act])),
    ("GET", "/api/v1/markers", Rights(&[Read])),
    ("POST", "/api/v1/markers", Rights(&[Mark])),
    ("GET", "/api/v1/markers/{id}", Rights(&[Read])),
    ("DELETE", "/api/v1/markers/{id}", Rights(&[Mark])),
    ("GET", "/api/v1/activity", Rights(&[Read])),
    ("GET", "/api/v1/activity.ndjson", Rights(&[Read])),
    ("GET", "/api/v1/activity.csv", Rights(&[Read])),
    ("POST", "/api/v1/decode", Rights(&[Read])),
    ("GET", "/api/v1/policies", Rights(&[Read])),
    ("POST", "/api/v1/policies", Rights(&[Admin])),
    ("GET", "/api/v1/policies/{id}", Rights(&[Read])),
    ("PUT", "/api/v1/policies/{id}", Rights(&[Admin])),
    ("DELETE", "/api/v1/policies/{id}", Rights(&[Admin])),
    ("GET", "/api/v1/digests", Rights(&[Read])),
    ("GET", "/api/v1/digests/runs", Rights(&[Read])),
    ("GET", "/api/v1/digests/runs/{id}", Rights(&[Read])),
    ("POST", "/api/v1/digests/preview", Rights(&[Read])),
    ("POST", "/api/v1/digests/send", Rights(&[Admin])),
    ("GET", "/api/v1/grouping-rules", Rights(&[Read])),
    ("POST", "/api/v1/grouping-rules", Rights(&[Admin])),
    ("POST", "/api/v1/grouping-rules/preview", Rights(&[Admin])),
    ("GET", "/api/v1/grouping-rules/{id}", Rights(&[Read])),
    ("DELETE", "/api/v1/grouping-rules/{id}", Rights(&[Admin])),
    ("GET", "/api/v1/rules", Rights(&[Read])),
    ("POST", "/api/v1/rules", Rights(&[Admin])),
    ("GET", "/api/v1/rules/{id}", Rights(&[Read])),
    ("PUT", "/api/v1/rules/{id}", Rights(&[Admin])),
    ("DELETE", "/api/v1/rules/{id}", Rights(&[Admin])),
    ("PUT", "/api/v1/rules/order", Rights(&[Admin])),
    // An expression can ask what is in a message, and what is hidden in it.
    ("POST", "/api/v1/rules/test", Rights(&[Admin, Reveal])),
    ("POST", "/api/v1/rules/apply", Rights(&[Admin])),
    ("GET", "/api/v1/schemas", Rights(&[Read])),
    ("POST", "/api/v1/schemas", Rights(&[Admin])),
    ("GET", "/api/v1/schemas/{id}", Rights(&[Read])),
    ("DELETE", "/api/v1/schemas/{id}", Rights(&[Admin])),
    ("GET", "/api/v1/types", Rights(&[Read])),
    ("GET", "/api/v1/mappings", Rights(&[Read])),
    ("POST", "/api/v1/mappings", Rights(&[Admin])),
    ("GET", "/api/v1/mappings/{id}", Rights(&[Read])),
    ("PUT", "/api/v1/mappings/{id}", Rights(&[Admin])),
    ("DELETE", "/api/v1/mappings/{id}", Rights(&[Admin])),
];

/// Every route: its method, its path as it is written for the router, and what it takes.
pub fn table() -> impl Iterator<Item = Entry> {
    PAGES.iter().chain(CALLS).copied()
}

/// What a request takes; else the methods that the path takes, which are none where there is no such route.
pub fn need_of(method: &Method, path: &str) -> Result<Need, Vec<&'static str>> {
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let here = || table().filter(move |(_, its, _)| *its == path);
    let found = here().find(|(its, ..)| *its == method).map(|(.., need)| need);
    found.ok_or_else(|| {
        here().flat_map(|(its, ..)| if its == "GET" { vec!["GET", "HEAD"] } else { vec![its] }).collect()
    })
}

/// What is wrong with following a link or sending a form to that address, for who has only some rights: the first that
/// is missing.
pub fn missing(method: &Method, address: &str, may: impl Fn(Right) -> bool) -> Option<Right> {
    /// By method, as the router of the server finds them: a page asks for each of its thousand links.
    static ROUTES: LazyLock<HashMap<&str, Router<Need>>> = LazyLock::new(|| {
        let mut routes: HashMap<&str, Router<Need>> = HashMap::new();
        for (method, path, need) in table() {
            // What the router of the server refuses keeps the server from starting.
            let _ = routes.entry(method).or_default().insert(path, need);
        }
        routes
    });
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let need = ROUTES.get(method.as_str())?.at(path).ok()?.value;
    let (Rights(rights) | Page(rights)) = need else { return None };
    rights.iter().copied().find(|right| !may(*right))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::access::Role;

    #[test]
    fn no_route_stands_there_twice() {
        let mut routes: Vec<_> = table().map(|(method, path, _)| (method, path)).collect();
        let n_routes = routes.len();
        routes.sort_unstable();
        routes.dedup();
        assert_eq!(routes.len(), n_routes);
    }

    #[test]
    fn every_path_is_one_that_is_found() {
        for (method, path, need) in table() {
            let mut routes = Router::new();
            assert!(routes.insert(path, ()).is_ok(), "{path}");
            let (Rights(rights) | Page(rights)) = need else { continue };
            let method = method.parse().expect("a method");
            assert_eq!(super::missing(&method, path, |_| false), rights.first().copied(), "{method} {path}");
        }
    }

    #[test]
    fn who_only_looks_is_told_what_is_missing() {
        let missing = |method, address| super::missing(&method, address, |right| Role::Viewer.may(right));
        assert_eq!(missing(Method::POST, "/letters/actions"), Some(Act));
        assert_eq!(missing(Method::POST, "/letters/0198/reveal"), Some(Reveal));
        assert_eq!(missing(Method::GET, "/letters/0198/edit?encoding=none#x"), Some(Act));
        assert_eq!(missing(Method::GET, "/api/v1/letters/0198/body"), Some(Reveal));
        assert_eq!(missing(Method::POST, "/rules/set"), Some(Admin));
        assert_eq!(missing(Method::GET, "/letters/0198"), None);
        assert_eq!(missing(Method::POST, "/sign-out"), None);
        assert_eq!(missing(Method::GET, "/assets/x/css/app.css"), None);
        assert_eq!(missing(Method::GET, "https://elsewhere.example/"), None);
    }

    #[test]
    fn what_is_not_in_the_table_is_not_there() {
        assert_eq!(need_of(&Method::HEAD, "/letters"), Ok(Page(&[Read])));
        assert_eq!(need_of(&Method::DELETE, "/letters"), Err(vec!["GET", "HEAD"]));
        assert_eq!(need_of(&Method::GET, "/nowhere"), Err(vec![]));
    }
}

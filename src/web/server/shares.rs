//! What takes much, or long: so much of it at once, and a part of that for one, so that there is room for everything else.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    body::HttpBody,
    extract::{MatchedPath, Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::held_body::holding;
use crate::web::{
    error::{WebError, codes::ProblemCode},
    input::DEFAULT_LIMIT,
    visitor::Visitor,
};

/// What there is a limit for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Share {
    /// Up to 64 MiB in memory each.
    Uploads,
    /// Likewise, of requests that may have more bytes than others: most retries bring no body.
    Edits,
    /// As long as somebody reads.
    Exports,
    /// Decoded, compared or tried while somebody waits.
    Trials,
    /// Of many letters, one after the other.
    Comparisons,
    /// As long as a page is open.
    Streams,
}

impl Share {
    /// Of a request with that path among the routes; `bytes` may come with it at most, if that is known.
    fn of(method: &Method, path: &str, bytes: Option<u64>) -> Option<Self> {
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        match (method.as_str(), path) {
            ("POST", "/schemas/upload" | "/api/v1/schemas") => Some(Self::Uploads),
            ("POST", "/letters/{id}/edit" | "/api/v1/letters/{id}/retry") => {
                bytes.is_none_or(|bytes| bytes > DEFAULT_LIMIT as u64).then_some(Self::Edits)
            }
            (
                "GET",
                "/api/v1/letters/export"
                | "/api/v1/activity.ndjson"
                | "/api/v1/activity.csv"
                | "/api/v1/jobs/{id}/report.csv",
            ) => Some(Self::Exports),
            (
                "POST",
                "/api/v1/decode"
                | "/api/v1/actions/preview"
                | "/api/v1/digests/preview"
                | "/api/v1/grouping-rules/preview"
                | "/api/v1/groups/{id}/split/preview",
            ) => Some(Self::Trials),
            (
                "GET",
                "/groups/{id}/in-common"
                | "/letters/in-common"
                | "/api/v1/groups/{id}/in-common"
                | "/api/v1/letters/in-common",
            ) => Some(Self::Comparisons),
            ("GET", "/events") => Some(Self::Streams),
            _ => None,
        }
    }

    /// At once, and of these for one person or token. Connections, of which streams take one each, are 512.
    const fn limits(self) -> (usize, usize) {
        match self {
            Self::Uploads => (4, 2),
            Self::Edits => (8, 4),
            Self::Exports => (16, 4),
            Self::Trials => (16, 8),
            Self::Comparisons => (32, 4),
            Self::Streams => (384, 96),
        }
    }

    const fn told(self) -> &'static str {
        match self {
            Self::Uploads => "uploads are under way",
            Self::Edits => "large edits are under way",
            Self::Exports => "exports are under way",
            Self::Trials => "previews are under way",
            Self::Comparisons => "comparisons are under way",
            Self::Streams => "pages listen for changes",
        }
    }
}

/// Of what is under way, how much is whose.
#[derive(Default)]
pub struct Shares(Mutex<HashMap<(Share, String), usize>>);

impl Shares {
    /// None where there is enough of it. Where nobody has to sign in, `who` is nobody and has all of it.
    fn take(self: &Arc<Self>, share: Share, who: Option<String>) -> Option<Taken> {
        let (at_once, of_one) = share.limits();
        let of_one = if who.is_some() { of_one } else { at_once };
        let key = (share, who.unwrap_or_default());
        let mut taken = self.lock();
        let all: usize = taken.iter().filter(|((of, _), _)| *of == share).map(|(_, n)| n).sum();
        let theirs = taken.entry(key.clone()).or_default();
        if all >= at_once || *theirs >= of_one {
            return None;
        }
        *theirs += 1;
        Some(Taken { shares: Arc::clone(self), key })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Share, String), usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a share, until it is dropped.
struct Taken {
    shares: Arc<Shares>,
    key: (Share, String),
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut taken = self.shares.lock();
        if let Some(n) = taken.get_mut(&self.key) {
            *n = n.saturating_sub(1);
        }
        taken.retain(|_, n| *n > 0);
    }
}

/// Answers 503 to what would be more than its share.
pub async fn keep_to(State(shares): State<Arc<Shares>>, request: Request, next: Next) -> Response {
    let (path, bytes) = (request.extensions().get::<MatchedPath>(), request.body().size_hint().upper());
    let Some(share) = path.and_then(|path| Share::of(request.method(), path.as_str(), bytes)) else {
        return next.run(request).await;
    };
    let who = Visitor::current().filter(|visitor| !visitor.is_local()).map(|visitor| visitor.name());
    let Some(taken) = shares.take(share, who) else {
        let why = format!("Too many {} at once. Try again in a moment.", share.told());
        return WebError::new(StatusCode::SERVICE_UNAVAILABLE, why).with_code(ProblemCode::Unavailable).into_response();
    };
    next.run(request).await.map(|body| holding(body, taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_a_part_and_all_have_the_rest() {
        let shares = Arc::new(Shares::default());
        let take = |who: &str| shares.take(Share::Uploads, Some(who.to_owned()));
        let (first, second) = (take("eve").unwrap(), take("eve").unwrap());
        assert!(take("eve").is_none(), "her part");
        let others = (take("ada").unwrap(), take("ben").unwrap());
        assert!(take("cleo").is_none(), "all of it");
        assert!(shares.take(Share::Exports, Some("eve".to_owned())).is_some(), "of something else");
        drop(first);
        assert!(take("cleo").is_some());
        drop((second, others));
        assert!(shares.lock().is_empty());
    }

    #[test]
    fn comparisons_have_a_part_for_each() {
        for of in ["/groups/{id}", "/letters"] {
            for path in [format!("{of}/in-common"), format!("/api/v1{of}/in-common")] {
                // Whoever asks by HEAD has all of it made.
                for method in [Method::GET, Method::HEAD] {
                    assert_eq!(Share::of(&method, &path, Some(0)), Some(Share::Comparisons), "{method} {path}");
                }
            }
        }
    }

    #[test]
    fn a_retry_that_brings_no_large_body_has_all_the_room() {
        for path in ["/letters/{id}/edit", "/api/v1/letters/{id}/retry"] {
            let share = |bytes| Share::of(&Method::POST, path, bytes);
            assert_eq!(share(Some(0)).or(share(Some(DEFAULT_LIMIT as u64))), None, "{path}");
            assert_eq!([share(Some(DEFAULT_LIMIT as u64 + 1)), share(None)], [Some(Share::Edits); 2], "{path}");
        }
    }

    #[test]
    fn where_nobody_signs_in_there_are_no_parts() {
        let shares = Arc::new(Shares::default());
        let all: Vec<_> = std::iter::from_fn(|| shares.take(Share::Streams, None)).collect();
        assert_eq!(all.len(), Share::Streams.limits().0);
    }
}

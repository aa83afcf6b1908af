//! Since when what a list shows is new to who looks at it: since the visit before this one.
//!
//! A cookie keeps it, so that it is of one person at one browser, and nothing about it is kept here. Looks that are less than
//! half an hour apart are one visit: what is new stays marked while somebody works at it.

use std::time::Duration;

use amqp_message::time::Timestamp;
use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::Response,
};

use crate::{
    domain::{actor::Actor, version::Version},
    web::security::cookie,
};

const COOKIE: &str = "dlo-visit";
/// After so long without a look, the next one is another visit.
const PAUSE: Duration = Duration::from_secs(30 * 60);
/// How long it is known when somebody was here.
const KEPT: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// The visits of one person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastVisit {
    /// Stands for who it is.
    who: String,
    /// When they looked last before this visit; `None` at the first.
    pub before: Option<Timestamp>,
    /// When they looked last.
    last: Timestamp,
}

impl LastVisit {
    /// With a look now.
    pub fn of(headers: &HeaderMap, by: &Actor, now: Timestamp) -> Self {
        let who: String = Version::of(by).to_string().chars().take(12).collect();
        let known = cookie(headers, COOKIE).and_then(Self::read);
        // Another person at the same browser has not seen what the one before has.
        let known = known.filter(|known| known.who == who && known.last <= now);
        match known {
            None => Self { who, before: None, last: now },
            Some(known) if now.since(known.last) > PAUSE => Self { who, before: Some(known.last), last: now },
            Some(known) => Self { last: now, ..known },
        }
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let who = parts.next()?.to_owned();
        let mut time = || parts.next().map(|text| text.parse().ok().map(Timestamp::from_micros));
        let (before, last) = (time()?, time()??);
        Some(Self { who, before, last })
    }

    /// Writes it down with the answer to a look of somebody's; what a page asks for by itself is none.
    pub fn keep(&self, response: &mut Response) {
        let before = self.before.map(|at| at.as_micros().to_string()).unwrap_or_default();
        let (who, last, seconds) = (&self.who, self.last.as_micros(), KEPT.as_secs());
        let value = format!("{COOKIE}={who}.{before}.{last}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict");
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_micros(43_200_000_000);

    fn at(minutes: u64) -> Timestamp {
        NOON.plus(Duration::from_secs(60 * minutes))
    }

    /// What the browser sends after the answer.
    fn headers(visit: &LastVisit) -> HeaderMap {
        let mut response = Response::default();
        visit.keep(&mut response);
        let cookie = response.headers()[header::SET_COOKIE].to_str().expect("ascii").split(';').next();
        let value = cookie.expect("a value").parse().expect("a value");
        HeaderMap::from_iter([(header::COOKIE, value)])
    }

    #[test]
    fn looks_that_are_close_are_one_visit() {
        let ada = Actor::named("ada");
        let first = LastVisit::of(&HeaderMap::new(), &ada, at(0));
        assert_eq!(first.before, None);
        let same = LastVisit::of(&headers(&first), &ada, at(20));
        assert_eq!(same.before, None);
        let same = LastVisit::of(&headers(&same), &ada, at(45));
        assert_eq!(same.before, None, "half an hour after the last look, not the first");
        let second = LastVisit::of(&headers(&same), &ada, at(100));
        assert_eq!(second.before, Some(at(45)));
        let again = LastVisit::of(&headers(&second), &ada, at(110));
        assert_eq!(again.before, Some(at(45)), "what is new stays marked");
        let bob = LastVisit::of(&headers(&again), &Actor::named("bob"), at(200));
        assert_eq!(bob.before, None);
        let back = LastVisit::of(&headers(&again), &ada, at(50));
        assert_eq!(back.before, None, "a clock that was ahead");
    }

    #[test]
    fn a_cookie_of_somebody_else_is_none() {
        for odd in ["", "a", "a.b", "a.1.x", "..", "a..-"] {
            let headers = HeaderMap::from_iter([(header::COOKIE, format!("{COOKIE}={odd}").parse().expect("a value"))]);
            assert_eq!(LastVisit::of(&headers, &Actor::local(), NOON).before, None, "{odd}");
        }
    }
}

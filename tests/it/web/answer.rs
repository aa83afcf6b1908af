//! What came back, and how a test looks at it.

use axum::http::{HeaderMap, StatusCode};
use dead_letter_office::web::{FaultCode, ProblemCode};
use scraper::{ElementRef, Html, Selector};
use serde_json::Value;

#[derive(Clone)]
pub struct Answer {
    /// What was asked, for failures.
    pub asked: String,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    /// Fails the test, with what came instead, unless the status is this one.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}: {}", self.asked, self.text());
        self
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{}: {error}: {}", self.asked, self.text()))
    }

    pub fn page(&self) -> Html {
        Html::parse_document(&self.text())
    }

    /// The value of a header; empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The `detail` of a problem+json with this status.
    #[track_caller]
    pub fn problem(self, status: u16) -> String {
        let answer = self.expect(status);
        assert_eq!(answer.header("content-type"), "application/problem+json", "{}", answer.asked);
        let problem = answer.json();
        assert_eq!(problem["status"], status, "{}", answer.asked);
        assert!(problem["title"].as_str().is_some_and(|title| !title.is_empty()), "{}: {problem}", answer.asked);
        let code = problem["code"].as_str().unwrap();
        assert!(code.parse::<ProblemCode>().is_ok(), "{}: {problem}", answer.asked);
        let kind = problem["type"].as_str().unwrap();
        assert!(kind.ends_with(&format!("/api/docs#{code}")), "{}: {problem}", answer.asked);
        // What the caller can mend is told by its place.
        let errors = problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!(!errors.is_empty(), matches!(status, 400 | 422), "{}: {problem}", answer.asked);
        for error in errors {
            assert!(error["code"].as_str().unwrap().parse::<FaultCode>().is_ok(), "{}: {problem}", answer.asked);
            let places = ["pointer", "parameter", "header"].into_iter().filter(|place| !error[place].is_null());
            assert_eq!(places.count(), 1, "{}: {problem}", answer.asked);
        }
        problem["detail"].as_str().unwrap().to_owned()
    }
}

/// Looking at a page.
pub trait Look {
    fn all(&self, selector: &str) -> Vec<ElementRef<'_>>;

    fn count(&self, selector: &str) -> usize {
        self.all(selector).len()
    }

    /// The only element of that kind.
    #[track_caller]
    fn one(&self, selector: &str) -> ElementRef<'_> {
        let found = self.all(selector);
        assert_eq!(found.len(), 1, "elements {selector:?}");
        found[0]
    }

    /// The values of an attribute, in order.
    fn values(&self, selector: &str, attribute: &str) -> Vec<String> {
        self.all(selector).iter().filter_map(|element| element.attr(attribute)).map(str::to_owned).collect()
    }

    /// The words of the only element of that kind, with single spaces.
    #[track_caller]
    fn words(&self, selector: &str) -> String {
        words(self.one(selector))
    }
}

impl Look for Html {
    fn all(&self, selector: &str) -> Vec<ElementRef<'_>> {
        self.select(&Selector::parse(selector).unwrap()).collect()
    }
}

impl Look for ElementRef<'_> {
    fn all(&self, selector: &str) -> Vec<ElementRef<'_>> {
        self.select(&Selector::parse(selector).unwrap()).collect()
    }
}

/// The text of an element, with single spaces, also where only its layout separates words.
pub fn words(element: ElementRef<'_>) -> String {
    element.text().flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

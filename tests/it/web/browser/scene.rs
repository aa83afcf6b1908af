//! A browser at a server.

use std::time::Duration;

use dead_letter_office::{clock::Clock, domain::letter::LetterId};
use fantoccini::{Locator, elements::Element, key::Key};
use serde_json::{Value, json};

use super::super::{
    dead::{Dead, dead_in},
    desk::Desk,
    run::{PATIENCE, Running, serve},
};
use crate::support::{browser::Browser, process::wait_until};

/// Collects what goes wrong on any page, over all pages of a session. That a request is cut off because the page is
/// being left is no trouble.
const WATCH: &str = "
    let left = false;
    addEventListener('beforeunload', () => (left = true));
    const note = (what) => left || (sessionStorage.trouble = (sessionStorage.trouble ?? '') + what + '\\n');
    addEventListener('securitypolicyviolation', (event) => note(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
    addEventListener('error', (event) => note(`error: ${event.message}`), true);
    addEventListener('unhandledrejection', (event) => note(`rejection: ${event.reason}`));
    const error = console.error;
    console.error = (...words) => (note(`console: ${words.join(' ')}`), error(...words));
";

/// Whether the page is there with its scripts.
const READY: &str = "document.readyState === 'complete'";

/// Whether one can see what has the focus: it, or what it is a part of, has an outline.
const SHOWS_FOCUS: &str = "((at) => {
    const outlined = (it) => it && getComputedStyle(it).outlineStyle !== 'none' && it.checkVisibility();
    return [at, at.nextElementSibling, at.closest('.list-row'), at.closest('.tile-box'), at.closest('label')].some(outlined);
})(document.activeElement)";

pub struct Scene {
    pub browser: Browser,
    pub office: Running,
}

impl Scene {
    /// An server on the database of `desk`, without brokers; `None` where tests for the browser may be skipped.
    pub async fn over(desk: &Desk) -> Option<Self> {
        let browser = Browser::start().await?;
        let office = serve().with("--roles=web").set("DLO_DATABASE__URL", &desk.ledger_url()).open().await;
        Some(Self::at(browser, office).await)
    }

    pub async fn at(browser: Browser, office: Running) -> Self {
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({"source": WATCH})).await;
        Self { browser, office }
    }

    /// Opens a page and waits until its scripts are there.
    pub async fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.office.url)).await;
        self.sees(READY).await;
    }

    /// Evaluates an expression in the page.
    pub async fn ask(&self, expression: &str) -> Value {
        let answer = self.browser.client().execute(&format!("return ({expression})"), vec![]).await;
        answer.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Waits until an expression holds in the page, which may be about to be replaced.
    #[track_caller]
    pub fn sees<'a>(&'a self, expression: &str) -> impl Future<Output = ()> + use<'a> {
        let script = format!("return Boolean({expression})");
        let expression = expression.to_owned();
        let at = std::panic::Location::caller();
        async move {
            let holds =
                async || self.browser.client().execute(&script, vec![]).await.is_ok_and(|answer| answer == true);
            wait_until(&format!("{expression} ({at})"), PATIENCE, holds).await;
        }
    }

    /// Waits until the page's text in `selector` contains `text`.
    #[track_caller]
    pub fn reads<'a>(&'a self, selector: &str, text: &str) -> impl Future<Output = ()> + use<'a> {
        let (selector, text) = (json!(selector), json!(text));
        let expression =
            format!("document.querySelector({selector})?.innerText.replace(/\\s+/g, ' ').includes({text})");
        self.sees(&expression)
    }

    pub async fn count(&self, selector: &str) -> u64 {
        self.ask(&format!("document.querySelectorAll({}).length", json!(selector))).await.as_u64().unwrap()
    }

    /// The element, once the page's scripts listen to it.
    pub async fn find(&self, selector: &str) -> Element {
        self.sees(READY).await;
        let found = self.browser.client().wait().at_most(PATIENCE).for_element(Locator::Css(selector)).await;
        found.unwrap_or_else(|error| panic!("{selector}: {error}"))
    }

    pub async fn click(&self, selector: &str) {
        let clicked = self.find(selector).await.click().await;
        clicked.unwrap_or_else(|error| panic!("{selector}: {error}"));
    }

    /// Types into whatever has the focus, once the page's scripts listen.
    pub async fn press(&self, keys: &str) {
        self.sees(READY).await;
        // What had the focus a moment ago may be gone with the page before, or hidden; then nothing has been typed.
        wait_until("what has the focus to take keys", PATIENCE, async || {
            let focused = self.browser.client().active_element().await.unwrap();
            match focused.send_keys(keys).await {
                Err(error) if error.is_element_not_interactable() || error.is_stale_element_reference() => false,
                typed => {
                    typed.unwrap();
                    true
                }
            }
        })
        .await;
    }

    pub async fn press_key(&self, key: Key) {
        self.press(&char::from(key).to_string()).await;
    }

    /// The path and query of the page.
    pub async fn address(&self) -> String {
        self.ask("decodeURIComponent(location.pathname + location.search)").await.as_str().unwrap().to_owned()
    }

    /// Whoever walks by keys sees where they are.
    #[track_caller]
    pub fn check_focus(&self) -> impl Future<Output = ()> {
        let at = std::panic::Location::caller();
        async move {
            let element = self.ask("document.activeElement.outerHTML.slice(0, 200)").await;
            assert_eq!(self.ask(SHOWS_FOCUS).await, true, "{at}: {element}");
        }
    }

    /// Nothing went wrong on any page so far.
    pub async fn check_quiet(&self) {
        assert_eq!(self.ask("sessionStorage.trouble ?? ''").await, "");
    }
}

/// A message that died a while ago by the machine's own clock, as the spawned server reads it.
pub fn fresh(queue: &str, seconds_ago: u64) -> Dead {
    dead_in(queue).received(Clock::system().now().minus(Duration::from_secs(seconds_ago)))
}

/// Letters in that queue, the first one the newest.
pub async fn letters(desk: &Desk, queue: &str, n: u64) -> Vec<LetterId> {
    desk.receive_all(super::super::desk::MAIN, (0..n).map(|i| fresh(queue, 10 + i).body("{\"n\": 1}")).collect()).await
}

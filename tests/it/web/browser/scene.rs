//! A browser at a server.
//!
//! Nothing here depends on how fast anything is. Whatever acts on a page waits until it is at rest: loaded, with
//! nothing on its way into it, and not on its way to another page. Whatever looks at a page waits until it sees what it
//! should, or, where there is nothing to wait for, until the page is at rest.

use std::time::Duration;

use dead_letter_office::{clock::Clock, domain::letter::LetterId};
use serde_json::{Value, json};

use super::{
    super::{
        dead::{Dead, dead_in},
        desk::Desk,
        run::{PATIENCE, Running, serve},
    },
    typing::{self, Key},
};
use crate::support::{
    browser::Browser,
    process::{wait_to_see, wait_until},
};

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
    console.error = (...words) => {
        error(...words);
        note(`console: ${words.join(' ')}`);
    };
";

/// Whether the page is there with its scripts, and nothing of it is just being fetched or put in. htmx marks what is, and
/// what it has put in listens to nothing before that mark is gone. What only some pages have comes after the page.
const AT_REST: &str = "(async () => {
    const isIdle = () => document.readyState === 'complete'
        && !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling, .htmx-added');
    const scripts = document.querySelector('script[type=module][src*=\"/app.js\"]');
    if (isIdle() && scripts && window.htmx) await (await import(scripts.src)).fetchParts();
    return isIdle();
})()";

/// Where the page is, and what it says of its requests and of the server.
const SAID: &str = "location.pathname + location.search + ['#connection', '#health', '#busy', '#toasts']
    .map((part) => document.querySelector(part)).filter((it) => it?.checkVisibility()).map((it) => ' | ' + it.innerText).join('')";

const IS_SHOWN: &str = "(at) => Boolean(at?.checkVisibility({ visibilityProperty: true }))";

/// Clicks on an element if somebody with a mouse could: it is shown, and nothing lies over its middle. Returns whether.
const CLICK: &str = "(at) => {
    if (!isShown(at?.closest('select') ?? at)) return false;
    if (at.matches('option')) {
        at.selected = true;
        return at.closest('select').dispatchEvent(new Event('change', { bubbles: true }));
    }
    at.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    const box = at.getClientRects()[0];
    const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    if (!at.contains(hit)) return false;
    hit.closest('a, button, input, label, select, summary, textarea, [tabindex]')?.focus();
    hit.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, composed: true, view: window }));
    return true;
}";

/// Puts the focus into a field whose whole text is to be replaced.
const SELECT_TEXT: &str = "(at) => {
    if (!isShown(at)) return false;
    at.focus();
    at.select();
    return document.activeElement === at;
}";

/// Whether one can see what has the focus: it, or what it is a part of, has an outline.
const SHOWS_FOCUS: &str = "((at) => {
    const outlined = (it) => it && getComputedStyle(it).outlineStyle !== 'none' && it.checkVisibility();
    return [at, at.nextElementSibling, at.closest('.list-row'), at.closest('.tile-box'), at.closest('label, .search-field')].some(outlined);
})(document.activeElement)";

pub struct Scene {
    pub browser: Browser,
    pub server: Running,
}

impl Scene {
    /// A server on the database of `desk`, without brokers; `None` where tests for the browser may be skipped.
    pub async fn over(desk: &Desk) -> Option<Self> {
        let browser = Browser::start().await?;
        let server = serve().with("--roles=web").set("DLO_DATABASE__URL", &desk.database_url()).open().await;
        Some(Self::at(browser, server).await)
    }

    /// The same with a broker whose queues another process watches.
    pub async fn watching(desk: &Desk) -> Option<Self> {
        let browser = Browser::start().await?;
        let server = serve().with("--roles=web").set("DLO_DATABASE__URL", &desk.database_url());
        let server = server.set("DLO_BROKERS__MAIN__URL", "amqp://rabbitmq.invalid");
        let server = server.set("DLO_BROKERS__MAIN__MANAGEMENT_URL", "http://rabbitmq.invalid:15672");
        Some(Self::at(browser, server.open().await).await)
    }

    pub async fn at(browser: Browser, server: Running) -> Self {
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({"source": WATCH})).await;
        Self { browser, server }
    }

    /// Opens a page, once all is done that was begun on the page before.
    pub async fn open(&self, path: &str) {
        self.rests().await;
        self.browser.open(&format!("{}{path}", self.server.url)).await;
        self.rests().await;
    }

    /// Has the server answer nothing. The page hears of no changes meanwhile: what it asked for then would keep it from coming to
    /// rest.
    pub async fn freeze(&self) {
        self.ask("window.deaf = (event) => event.stopImmediatePropagation()").await;
        self.ask("addEventListener('dlo:changes', deaf, true)").await;
        self.rests().await;
        self.server.freeze().await;
    }

    /// Has it go on.
    pub async fn thaw(&self) {
        self.server.thaw();
        self.ask("removeEventListener('dlo:changes', deaf, true)").await;
    }

    /// Opens the page before.
    pub async fn back(&self) {
        self.rests().await;
        self.browser.back().await;
    }

    /// Leaves the page for an empty one, once all is done that was begun on it.
    pub async fn leave(&self) {
        self.rests().await;
        self.browser.open("about:blank").await;
    }

    /// From now on, or again, pages do without scripts. The page that is open is left first: what it has begun would never be
    /// done.
    pub async fn disable_scripts(&self) {
        self.leave().await;
        self.browser.devtools("Emulation.setScriptExecutionDisabled", json!({"value": true})).await;
    }

    /// Evaluates an expression in the page at rest.
    pub async fn ask(&self, expression: &str) -> Value {
        self.rests().await;
        let answer = self.browser.evaluate(expression).await;
        answer.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// Waits until an expression holds in the page, which may be about to be replaced.
    #[track_caller]
    pub fn sees<'a>(&'a self, expression: &str) -> impl Future<Output = ()> + use<'a> {
        let script = format!("Boolean({expression}) || ({SAID})");
        let expression = expression.to_owned();
        let at = std::panic::Location::caller();
        async move {
            let what = format!("{expression} ({at})");
            let holds = async || match self.browser.evaluate(&script).await {
                Ok(Value::Bool(true)) => Ok(()),
                seen => Err(seen),
            };
            wait_to_see(&what, PATIENCE, holds).await;
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

    /// Waits until so many elements match.
    #[track_caller]
    pub fn counts<'a>(&'a self, selector: &str, expected: usize) -> impl Future<Output = ()> + use<'a> {
        self.sees(&format!("document.querySelectorAll({}).length === {expected}", json!(selector)))
    }

    /// Waits until the page has that path and query.
    #[track_caller]
    pub fn is_at<'a>(&'a self, address: &str) -> impl Future<Output = ()> + use<'a> {
        self.sees(&format!("decodeURIComponent(location.pathname + location.search) === {}", json!(address)))
    }

    /// How many elements match in the page at rest.
    pub async fn count(&self, selector: &str) -> u64 {
        self.ask(&format!("document.querySelectorAll({}).length", json!(selector))).await.as_u64().unwrap()
    }

    /// Clicks on the element, once somebody with a mouse could.
    #[track_caller]
    pub fn click<'a>(&'a self, selector: &str) -> impl Future<Output = ()> + use<'a> {
        self.does(CLICK, selector)
    }

    /// Types into the field, in place of what was in it.
    pub async fn types(&self, selector: &str, text: &str) {
        self.does(SELECT_TEXT, selector).await;
        self.press(text).await;
    }

    /// Types into whatever has the focus, once the page's scripts listen.
    pub async fn press(&self, text: &str) {
        self.press_all(text.chars().map(Key::from)).await;
    }

    pub async fn press_key(&self, key: Key) {
        self.press_all([key]).await;
    }

    async fn press_all(&self, all: impl IntoIterator<Item = Key>) {
        self.rests().await;
        for event in typing::events(all, Clock::system().now()) {
            self.browser.devtools("Input.dispatchKeyEvent", event).await;
        }
    }

    /// The path and query of the page at rest.
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

    /// Waits until the page is at rest.
    #[track_caller]
    pub fn rests(&self) -> impl Future<Output = ()> {
        wait_until("the page to be at rest", PATIENCE, async || self.is_at_rest().await)
    }

    async fn is_at_rest(&self) -> bool {
        // In this order: with the answer all is known that led away from the page before.
        self.browser.evaluate(AT_REST).await.is_ok_and(|answer| answer == true) && !self.browser.is_leaving()
    }

    /// Has a function act on an element, at one stroke with the look at whether it can, and waits until it could.
    #[track_caller]
    fn does<'a>(&'a self, function: &str, selector: &str) -> impl Future<Output = ()> + use<'a> {
        let selected = format!("document.querySelector({})", json!(selector));
        let act = format!("{AT_REST} && ((isShown) => ({function})({selected}))({IS_SHOWN})");
        let what = format!("{selector} ({})", std::panic::Location::caller());
        async move {
            let acted = async || {
                if self.is_at_rest().await {
                    let acted = self.browser.evaluate(&act).await.unwrap_or_else(|error| panic!("{act}: {error}"));
                    if acted == true {
                        return Ok(());
                    }
                }
                Err(self.browser.evaluate(SAID).await)
            };
            wait_to_see(&what, PATIENCE, acted).await;
        }
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

/// Has every server on that database hear of what was done before: on SQLite another process is noticed by the counts of
/// letters alone, which nothing changes that is done with groups.
pub async fn told_to_other_processes(desk: &Desk) {
    letters(desk, "told", 1).await;
}

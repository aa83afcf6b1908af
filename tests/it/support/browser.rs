//! A headless Chromium that all tests share, and in it a page of its own for each test, with its own storage.
//!
//! It is spoken to in the DevTools protocol (<https://chromedevtools.github.io/devtools-protocol/>) over a pipe. Its
//! answers and events come in one order, so whoever has an answer knows of all that the page did before it.

use std::{
    collections::{HashMap, HashSet},
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Command,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{
    PATIENCE, ServerFacts, find_or_skip,
    process::{Leash, Leashed},
    rig_script, scratch_dir,
};

/// Size of the page unless a test sets another.
const DESKTOP: (u32, u32) = (1280, 900);

/// A page for one test. Storage, cookies and cache are its own; they go with it when it is dropped.
pub struct Browser {
    chromium: &'static Chromium,
    context: String,
    session: String,
}

impl Browser {
    /// `None` where tests for it may be skipped.
    pub async fn start() -> Option<Self> {
        let chromium = Chromium::shared()?;
        let context = chromium.ask("", "Target.createBrowserContext", json!({})).await;
        let context = text(&context["browserContextId"]);
        let target = json!({"url": "about:blank", "browserContextId": context, "newWindow": true});
        let target = chromium.ask("", "Target.createTarget", target).await;
        let session = json!({"targetId": target["targetId"], "flatten": true});
        let session = text(&chromium.ask("", "Target.attachToTarget", session).await["sessionId"]);
        let browser = Self { chromium, context, session };
        browser.devtools("Page.enable", json!({})).await;
        // Each page behaves as the one that somebody is at.
        browser.devtools("Emulation.setFocusEmulationEnabled", json!({"enabled": true})).await;
        browser.set_viewport(DESKTOP.0, DESKTOP.1).await;
        Some(browser)
    }

    /// Begins to open a page.
    pub async fn open(&self, url: &str) {
        let opened = self.devtools("Page.navigate", json!({"url": url})).await;
        assert!(opened.get("errorText").is_none(), "{url}: {opened}");
    }

    /// Begins to go back to the page before.
    pub async fn back(&self) {
        let history = self.devtools("Page.getNavigationHistory", json!({})).await;
        let before = history["currentIndex"].as_u64().expect("a number") as usize - 1;
        let id = &history["entries"][before]["id"];
        self.devtools("Page.navigateToHistoryEntry", json!({"entryId": id})).await;
    }

    /// Whether the page is about to become another one, by all that was known at the last answer.
    pub fn is_leaving(&self) -> bool {
        self.chromium.inbox().leaving.contains(&self.session)
    }

    /// Evaluates an expression in the page; else says what was thrown, or that the page went meanwhile.
    pub async fn evaluate(&self, expression: &str) -> Result<Value, String> {
        let parameters = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true
        });
        let mut answer = self.chromium.call(&self.session, "Runtime.evaluate", parameters).await?;
        match answer.get("exceptionDetails") {
            Some(thrown) => Err(thrown.to_string()),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    /// Sets the size of the page in CSS pixels. Unlike a window's, it can be as narrow as a phone's.
    pub async fn set_viewport(&self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// Sets a preference of the user's system that pages can ask for, such as `prefers-color-scheme` to `dark`.
    pub async fn set_media_feature(&self, name: &str, value: &str) {
        let features = json!({"features": [{"name": name, "value": value}]});
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// Writes what is in the viewport to a PNG file.
    pub async fn screenshot(&self, file: &Path) {
        let image = self.devtools("Page.captureScreenshot", json!({})).await;
        let image = BASE64_STANDARD.decode(text(&image["data"])).expect("base64");
        std::fs::write(file, image).expect("the screenshot can be written");
    }

    /// Runs a command of the protocol on the page and returns its result.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.chromium.ask(&self.session, command, parameters).await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Nobody waits for the answer.
        self.chromium.send("", "Target.disposeBrowserContext", json!({"browserContextId": self.context}));
        self.chromium.inbox().leaving.remove(&self.session);
    }
}

/// The browser itself. It is killed when this process ends.
struct Chromium {
    requests: Mutex<Requests>,
    inbox: Arc<Mutex<Inbox>>,
    process: Leashed,
}

struct Requests {
    pipe: File,
    sent: u64,
}

#[derive(Default)]
struct Inbox {
    /// Who waits for the answer to which request.
    waiting: HashMap<u64, oneshot::Sender<Value>>,
    /// Sessions whose page has begun to go to another one.
    leaving: HashSet<String>,
}

impl Chromium {
    fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Chromium>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }

    fn start() -> Option<Self> {
        find_or_skip("chromium")?;
        let dir = scratch_dir("chromium-").keep();
        let mut script = Command::new(rig_script("chromium.sh"));
        script.arg(&dir);
        let process = Leash::on(script).then_remove(&dir).spawn();
        ServerFacts::await_from(&process);
        // Both ways, which does not wait for the other end.
        let open = |name: &str| {
            let pipe = OpenOptions::new().read(true).write(true).open(dir.join(name));
            pipe.expect("a pipe of Chromium can be opened")
        };
        let inbox = Arc::<Mutex<Inbox>>::default();
        let (answers, for_reader) = (open("answers"), Arc::clone(&inbox));
        thread::spawn(move || read_on(answers, &for_reader));
        Some(Self { requests: Mutex::new(Requests { pipe: open("requests"), sent: 0 }), inbox, process })
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request to that session, or to the browser itself where the name is empty.
    fn send(&self, session: &str, method: &str, parameters: Value) -> oneshot::Receiver<Value> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.sent += 1;
        let mut request = json!({"id": requests.sent, "method": method, "params": parameters});
        if !session.is_empty() {
            request["sessionId"] = json!(session);
        }
        let (answered, answer) = oneshot::channel();
        self.inbox().waiting.insert(requests.sent, answered);
        let bytes = [request.to_string().as_bytes(), b"\0"].concat();
        requests.pipe.write_all(&bytes).expect("Chromium takes requests");
        answer
    }

    async fn call(&self, session: &str, method: &str, parameters: Value) -> Result<Value, String> {
        let answer = tokio::time::timeout(PATIENCE, self.send(session, method, parameters)).await;
        let Ok(Ok(mut answer)) = answer else {
            panic!("no answer to {method} within {PATIENCE:?}\n{}", self.process.lines().join("\n"));
        };
        match answer.get("error") {
            Some(error) => Err(error.to_string()),
            None => Ok(answer["result"].take()),
        }
    }

    async fn ask(&self, session: &str, method: &str, parameters: Value) -> Value {
        let answer = self.call(session, method, parameters).await;
        answer.unwrap_or_else(|error| panic!("{method}: {error}"))
    }
}

fn read_on(answers: File, inbox: &Mutex<Inbox>) {
    for message in BufReader::new(answers).split(0).map_while(Result::ok) {
        let message: Value = serde_json::from_slice(&message).expect("Chromium writes JSON");
        inbox.lock().unwrap_or_else(PoisonError::into_inner).take(message);
    }
}

impl Inbox {
    fn take(&mut self, message: Value) {
        if let Some(id) = message["id"].as_u64() {
            // Whoever asked may be gone.
            drop(self.waiting.remove(&id).map(|waiting| waiting.send(message)));
            return;
        }
        let session = || message["sessionId"].as_str().unwrap_or_default().to_owned();
        match message["method"].as_str() {
            // The first comes from the page itself, before the answer to what made it go.
            Some("Page.frameRequestedNavigation" | "Page.frameStartedNavigating") => {
                self.leaving.insert(session());
            }
            // The second where only a part of the page after a # was asked for.
            Some("Page.frameStoppedLoading" | "Page.navigatedWithinDocument") => {
                self.leaving.remove(&session());
            }
            _ => {}
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

//! A headless Chromium for the tests of pages.

use std::{path::Path, process::Command, time::Duration};

use fantoccini::{Client, ClientBuilder, wd::Capabilities};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use super::{
    find_or_skip,
    process::{Leash, Leashed, wait_for},
    scratch_dir,
};

/// How long Chromium may take to start, also when all tests do so at once on two cores.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Window size unless a test sets another.
const DESKTOP: (u32, u32) = (1280, 900);

/// A browser of its own for one test, with a fresh profile. It is killed when dropped or when this process ends.
pub struct Browser {
    client: Client,
    /// URL of ChromeDriver's own calls for this session.
    session_url: String,
    /// Only held: its end is the browser's end.
    _driver: Leashed,
}

impl Browser {
    /// `None` where tests for it may be skipped.
    pub async fn start() -> Option<Self> {
        let chromium = find_or_skip("chromium")?;
        let chromedriver = find_or_skip("chromedriver")?;
        let profile = scratch_dir("chromium-").keep();
        let mut command = Command::new(chromedriver);
        // Whatever Chromium wants to keep anywhere goes to the profile too, which the leash deletes.
        command.arg("--port=0").env("HOME", &profile).env("TMPDIR", &profile);
        let driver = Leash::on(command).then_remove(&profile).spawn();
        let port = driver_port(&driver).await;
        let driver_url = format!("http://127.0.0.1:{port}");
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities(&chromium, &profile))
            .connect(&driver_url)
            .await
            .expect("ChromeDriver starts Chromium");
        let session = client.session_id().await.ok().flatten();
        let session = session.expect("a browser has a session");
        let browser = Self { client, session_url: format!("{driver_url}/session/{session}"), _driver: driver };
        browser.set_viewport(DESKTOP.0, DESKTOP.1).await;
        Some(browser)
    }

    /// For everything that WebDriver can do.
    pub fn client(&self) -> &Client {
        &self.client
    }

    pub async fn open(&self, url: &str) {
        self.client.goto(url).await.expect("the page opens");
    }

    /// Sets the size of the page's area in CSS pixels. Unlike a window's, it can be as narrow as a phone's.
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
        let image = self.client.screenshot().await.expect("a screenshot");
        std::fs::write(file, image).expect("the screenshot can be written");
    }

    /// Runs a command of the Chrome DevTools protocol and returns its result.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let url = format!("{}/goog/cdp/execute", self.session_url);
        let http = super::http().build().expect("an HTTP client");
        let call = http.post(url).json(&json!({"cmd": command, "params": parameters}));
        let response = call.send().await.expect("ChromeDriver answers");
        let mut answer: Value = response.json().await.expect("ChromeDriver answers in JSON");
        let result = answer["value"].take();
        assert!(result.get("error").is_none(), "{command}: {result}");
        result
    }
}

/// ChromeDriver chooses a free port and tells it: "ChromeDriver was started successfully on port 41234."
async fn driver_port(driver: &Leashed) -> u16 {
    wait_for("ChromeDriver to start", START_TIMEOUT, async || {
        let lines = driver.lines();
        let told = lines.iter().find_map(|line| line.split_once("successfully on port "));
        told?.1.trim_end_matches('.').parse().ok()
    })
    .await
}

fn capabilities(chromium: &Path, profile: &Path) -> Capabilities {
    let mut arguments = vec![
        "--headless=new".to_owned(),
        "--disable-gpu".to_owned(),
        // In containers /dev/shm is too small for it.
        "--disable-dev-shm-usage".to_owned(),
        // It must not call home: tests run on closed networks too.
        "--disable-quic".to_owned(),
        "--no-first-run".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--disable-sync".to_owned(),
        format!("--user-data-dir={}", profile.display()),
        format!("--window-size={},{}", DESKTOP.0, DESKTOP.1),
    ];
    if is_root() {
        // Chromium refuses to run its sandbox as root.
        arguments.push("--no-sandbox".to_owned());
    }
    Capabilities::from_iter([("goog:chromeOptions".to_owned(), json!({"binary": chromium, "args": arguments}))])
}

/// Whose process this is, read from the owner of its own entry in `/proc`: the standard library does not tell.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

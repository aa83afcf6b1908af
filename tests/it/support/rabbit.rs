//! A private RabbitMQ node, and a virtual host of its own for each test.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
    time::Duration,
};

use lapin::{Channel, Connection, ConnectionProperties, options::QueueDeclareOptions, types::FieldTable};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{
    START_TIMEOUT, ServerFacts, find_or_skip,
    process::{Leash, Leashed, block_on, wait_until},
    rig_script, scratch_dir, unique_name,
};

/// How long the node may take to stop in order or to answer a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Ten times as often as usual, so that tests of what the management API tells need not wait long for it.
const STATISTICS_INTERVAL: &str = "collect_statistics_interval = 500";

/// What a private node should have beyond the usual.
#[derive(Clone, Default)]
pub struct Options {
    arguments: Vec<String>,
}

impl Options {
    /// A line of `rabbitmq.conf`, such as `max_message_size = 1048576`.
    pub fn set(mut self, line: &str) -> Self {
        self.arguments.extend(["--set".to_owned(), line.to_owned()]);
        self
    }

    /// A listener for `amqps` beside the plain one, with a certificate for `localhost`.
    pub fn tls(mut self) -> Self {
        self.arguments.push("--tls".to_owned());
        self
    }
}

/// A private RabbitMQ node. It is killed when dropped or when this process ends.
///
/// What disturbs all users of a node takes `&mut self`, which nobody gets of the shared one.
pub struct Rabbit {
    endpoint: Endpoint,
    options: Options,
    node: Leashed,
    /// `None` for the shared node, whose leash deletes the data: what is in a `static` is never dropped.
    _data: Option<tempfile::TempDir>,
}

impl Rabbit {
    /// The node that all tests share, started by the first to ask; `None` where tests for it may be skipped.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Rabbit>> = OnceLock::new();
        let start = || {
            find_or_skip("rabbitmq-server")?;
            let dir = scratch_dir("rabbitmq-").keep();
            let options = Options::default();
            let node = leash(&dir, &options).then_remove(&dir).spawn();
            Some(Self::once_ready(node, &dir, options, None))
        };
        SHARED.get_or_init(start).as_ref()
    }

    /// A node of one's own, to be killed, stopped, started and blocked at will.
    pub fn private(options: Options) -> Option<Self> {
        find_or_skip("rabbitmq-server")?;
        let data = scratch_dir("rabbitmq-");
        let dir = data.path().to_owned();
        let node = leash(&dir, &options).spawn();
        Some(Self::once_ready(node, &dir, options, Some(data)))
    }

    fn once_ready(node: Leashed, dir: &Path, options: Options, data: Option<tempfile::TempDir>) -> Self {
        let facts = ServerFacts::await_from(&node);
        Self { endpoint: Endpoint::from_facts(&facts, dir), options, node, _data: data }
    }

    /// A new virtual host.
    pub fn vhost(&self) -> Vhost {
        block_on(Vhost::create(self.endpoint.clone())).expect("a virtual host can be created")
    }

    /// The URL of the management API, with user and password in it.
    pub fn management_url(&self) -> &str {
        &self.endpoint.management_url
    }

    /// The certificate of the authority that signed the one of the `amqps` listener.
    ///
    /// # Panics
    /// Without [`Options::tls`].
    pub fn ca_file(&self) -> &Path {
        let tls = self.endpoint.tls.as_ref();
        &tls.expect("the node was started with TLS").ca_file
    }

    /// Kills the node as a crash would: no goodbye to clients, no orderly end for its files.
    pub fn kill(&mut self) {
        self.node.kill();
    }

    /// Stops the node in order.
    pub async fn stop(&mut self) {
        self.node.terminate();
        self.node.exited(CALL_TIMEOUT).await;
    }

    /// Starts the killed or stopped node again, on the same ports and with the data it had.
    pub async fn start(&mut self) {
        self.node = leash(&self.endpoint.dir, &self.options).spawn();
        let is_ready = async || self.node.lines().iter().any(|line| line == "READY");
        wait_until("RabbitMQ to come up again", START_TIMEOUT, is_ready).await;
    }

    /// Raises a real memory alarm, which blocks all that publish, or clears it.
    pub fn memory_alarm(&mut self, raised: bool) {
        let watermark = if raised { "0.0000001" } else { "0.4" };
        self.endpoint.control(&["set_vm_memory_high_watermark", watermark]);
    }
}

fn leash(dir: &Path, options: &Options) -> Leash {
    let mut script = Command::new(rig_script("rabbitmq.sh"));
    script.arg(dir).args(["--set", STATISTICS_INTERVAL]).args(&options.arguments);
    Leash::on(script)
}

/// Where a node is, and how its management API is called.
#[derive(Clone)]
struct Endpoint {
    /// Without a virtual host.
    amqp_url: String,
    /// User and password included.
    management_url: String,
    tls: Option<TlsEndpoint>,
    /// The node's data, by which `rabbitmqctl.sh` knows it.
    dir: PathBuf,
}

#[derive(Clone)]
struct TlsEndpoint {
    /// Without a virtual host.
    amqps_url: String,
    ca_file: PathBuf,
}

impl Endpoint {
    fn from_facts(facts: &ServerFacts, dir: &Path) -> Self {
        let without_vhost = |url: &str| url.trim_end_matches("/%2f").to_owned();
        Self {
            amqp_url: without_vhost(facts.require("AMQP_URL")),
            management_url: facts.require("MANAGEMENT_URL").to_owned(),
            tls: facts
                .get("AMQPS_URL")
                .map(|url| TlsEndpoint { amqps_url: without_vhost(url), ca_file: facts.require("CA_FILE").into() }),
            dir: dir.to_owned(),
        }
    }

    fn amqp_url_of(&self, vhost: &str) -> String {
        format!("{}/{}", self.amqp_url, encode(vhost))
    }

    /// Runs `rabbitmqctl` on the node.
    fn control(&self, arguments: &[&str]) {
        let status = Command::new(rig_script("rabbitmqctl.sh")).arg(&self.dir).arg("--quiet").args(arguments).status();
        assert!(status.is_ok_and(|status| status.success()), "rabbitmqctl failed: {arguments:?}");
    }

    /// Runs lines for a shell in which `rabbitmqctl` is the one of the node.
    fn shell(&self, lines: &str) -> Output {
        let with_function = format!("rabbitmqctl() {{ \"$SCRIPT\" \"$DIR\" --quiet \"$@\"; }}\n{lines}");
        let mut shell = Command::new("sh");
        shell.args(["-euc", &with_function]).env("SCRIPT", rig_script("rabbitmqctl.sh")).env("DIR", &self.dir);
        shell.output().expect("a shell runs")
    }

    /// Calls the management API: `/api` and then `path`, of which each segment is percent-encoded.
    async fn manage(&self, method: Method, path: &[&str], body: Option<&Value>) -> anyhow::Result<Value> {
        let mut url = Url::parse(&self.management_url)?;
        url.path_segments_mut().map_err(|()| anyhow::anyhow!("a URL that can have no path"))?.push("api").extend(path);
        // A client for each call, since the connections of a kept one belong to the runtime of one test.
        let client = super::http().timeout(CALL_TIMEOUT).build()?;
        let mut request = client.request(method, url.clone());
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        anyhow::ensure!(status.is_success(), "{status} from {url}: {text}");
        if text.is_empty() {
            return Ok(Value::Null);
        }
        Ok(serde_json::from_str(&text)?)
    }
}

/// The name of a virtual host as it stands in a URL. Ours have one character that needs encoding.
fn encode(vhost: &str) -> String {
    vhost.replace('/', "%2f")
}

/// A virtual host for one test, deleted with this value.
///
/// Its methods panic when RabbitMQ refuses: a test that expects a refusal makes the call itself.
pub struct Vhost {
    name: String,
    endpoint: Endpoint,
    /// For the test's own channels.
    connection: KeptConnection,
    /// For looking at queues. Apart from the other, since an alarm blocks a connection once it has published.
    looking: KeptConnection,
}

impl Vhost {
    async fn create(endpoint: Endpoint) -> anyhow::Result<Self> {
        // The slash is there to be percent-encoded in every URL.
        let name = unique_name("test/");
        let all = json!({"configure": ".*", "write": ".*", "read": ".*"});
        endpoint.manage(Method::PUT, &["vhosts", &name], None).await?;
        endpoint.manage(Method::PUT, &["permissions", &name, "guest"], Some(&all)).await?;
        let url = endpoint.amqp_url_of(&name);
        Ok(Self { connection: KeptConnection::to(&url), looking: KeptConnection::to(&url), name, endpoint })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL of this virtual host, its name percent-encoded.
    pub fn amqp_url(&self) -> String {
        self.endpoint.amqp_url_of(&self.name)
    }

    /// The same over TLS.
    ///
    /// # Panics
    /// Without [`Options::tls`].
    pub fn amqps_url(&self) -> String {
        let tls = self.endpoint.tls.as_ref();
        let base = &tls.expect("the node was started with TLS").amqps_url;
        format!("{base}/{}", encode(&self.name))
    }

    /// The URL of the node's management API, with user and password in it.
    pub fn management_url(&self) -> &str {
        &self.endpoint.management_url
    }

    /// A connection of one's own.
    pub async fn connect(&self) -> Connection {
        connect(&self.amqp_url()).await
    }

    /// A new channel on a connection that lives as long as this virtual host.
    pub async fn channel(&self) -> Channel {
        self.connection.channel().await
    }

    /// Declares a durable queue with arguments such as `{"x-max-length": 1}`.
    pub async fn declare_queue(&self, queue: &str, arguments: Value) {
        let body = json!({"durable": true, "arguments": arguments});
        self.manage(Method::PUT, &["queues", &self.name, queue], Some(&body)).await;
    }

    pub async fn delete_queue(&self, queue: &str) {
        self.manage(Method::DELETE, &["queues", &self.name, queue], None).await;
    }

    pub async fn purge(&self, queue: &str) {
        let path = ["queues", &self.name, queue, "contents"];
        self.manage(Method::DELETE, &path, None).await;
    }

    /// How many messages are ready in the queue at this moment. Asked over AMQP, for the management API lags behind.
    pub async fn depth(&self, queue: &str) -> u32 {
        self.looking
            .channel()
            .await
            .queue_declare(
                queue.into(),
                QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() },
                FieldTable::default(),
            )
            .await
            .expect("the queue exists")
            .message_count()
    }

    /// Waits until exactly so many messages are ready in the queue.
    pub async fn await_depth(&self, queue: &str, expected: u32) {
        let what = format!("{expected} messages in {queue}");
        let reached = async || self.depth(queue).await == expected;
        wait_until(&what, CALL_TIMEOUT, reached).await;
    }

    /// Makes the broker close all connections to this virtual host, as an operator would. Not by the management API,
    /// which learns of new connections only seconds later.
    pub async fn close_connections(&self) {
        // Ours would only notice later that they are closed.
        self.connection.forget().await;
        self.looking.forget().await;
        let vhost = ["--vhost", &self.name];
        let command = ["close_all_connections", "closed by a test"];
        self.endpoint.control(&[vhost, command].concat());
    }

    /// Runs lines for a shell in which `rabbitmqctl` is the one of the node. The virtual host they name themselves.
    pub fn shell(&self, lines: &str) -> Output {
        self.endpoint.shell(lines)
    }

    /// The version of RabbitMQ, as far as it tells what it can do: `(4, 3)`.
    pub async fn version(&self) -> (u32, u32) {
        let overview = self.manage(Method::GET, &["overview"], None).await;
        let mut numbers = overview["rabbitmq_version"].as_str().into_iter().flat_map(|version| version.split('.'));
        let mut next = || numbers.next().and_then(|number| number.parse().ok()).expect("a version has two numbers");
        (next(), next())
    }

    /// Calls the management API, as in `manage(Method::PUT, &["policies", vhost.name(), "p"], Some(&json!({…})))`.
    pub async fn manage(&self, method: Method, path: &[&str], body: Option<&Value>) -> Value {
        self.endpoint.manage(method, path, body).await.unwrap_or_else(|error| panic!("management API: {error:#}"))
    }
}

impl Drop for Vhost {
    fn drop(&mut self) {
        let path = ["vhosts", &self.name];
        // The node may be down, and then it is about to be thrown away.
        drop(block_on(self.endpoint.manage(Method::DELETE, &path, None)));
    }
}

/// A connection that is made when first used, and again when it was lost.
struct KeptConnection {
    url: String,
    connection: Mutex<Option<Connection>>,
}

impl KeptConnection {
    fn to(url: &str) -> Self {
        Self { url: url.to_owned(), connection: Mutex::default() }
    }

    async fn channel(&self) -> Channel {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = kept.as_ref()
            && let Ok(channel) = connection.create_channel().await
        {
            return channel;
        }
        let connection = kept.insert(connect(&self.url).await);
        connection.create_channel().await.expect("a channel can be opened")
    }

    async fn forget(&self) {
        *self.connection.lock().await = None;
    }
}

async fn connect(url: &str) -> Connection {
    let connecting = Connection::connect(url, ConnectionProperties::default());
    tokio::time::timeout(CALL_TIMEOUT, connecting)
        .await
        .expect("RabbitMQ answers in time")
        .expect("RabbitMQ accepts the connection")
}

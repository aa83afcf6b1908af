//! Private RabbitMQ nodes that tests share, and a virtual host of its own for each test.
//!
//! There are four, each started by the first test to ask: [`Rabbit::shared`] for nearly all, two [`Rabbit::doomed`] for
//! tests that kill, stop or block one, and [`Rabbit::strict`] for those that need other settings.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use lapin::{Channel, Connection, ConnectionProperties, Queue, options::QueueDeclareOptions, types::FieldTable};
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio::sync::{MappedMutexGuard, Mutex, MutexGuard};

use super::{
    PATIENCE, ServerFacts, find_or_skip,
    process::{Leash, Leashed, block_on, wait_until},
    rig_script, scratch_dir, unique_name,
};

/// Ten times as often as usual, so that tests of what the management API tells need not wait long for it.
const STATISTICS_INTERVAL: &str = "collect_statistics_interval = 500";

/// How soon a delay queue tries again what found no way out, in milliseconds. Three minutes are as long as a test waits.
const AGAIN: &str = "--dead-letter-again";

/// RabbitMQ 3 takes messages of 128 MiB unless told otherwise, RabbitMQ 4 of an eighth of that.
const ROOMY: &str = "max_message_size = 134217728";

/// The largest message that [`Rabbit::strict`] takes.
pub const STRICT_LIMIT: usize = 64 * 1024;

/// What a node is given beyond the usual, as arguments of `rabbitmq.sh`.
type Options = &'static [&'static str];

/// A private RabbitMQ node. It is killed when this process ends.
///
/// What disturbs all users of a node takes `&mut self`, which only [`Rabbit::doomed`] grants.
pub struct Rabbit {
    endpoint: Endpoint,
    options: Options,
    node: Leashed,
    /// Whether it is down or in alarm at this moment.
    is_disturbed: bool,
    /// Whether it is down and Erlang runs.
    is_stopped: bool,
    /// Only held, after the node: the data outlive its deaths.
    _data: Leashed,
}

/// A doomed node, in the hands of one test; others have to wait for it.
pub type Doomed = MappedMutexGuard<'static, Rabbit>;

/// The manager of events answers once it has told all connections of an alarm.
const IS_TOLD: &str = "rabbit_alarm:get_alarms()";

impl Rabbit {
    /// The node that nearly all tests share; `None` where tests for it may be skipped. It listens for `amqps` beside
    /// the plain protocol, with a certificate for `localhost`.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Rabbit>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start_new(&["--tls", "--set", ROOMY, AGAIN, "5000"])).as_ref()
    }

    /// A node that takes nothing above [`STRICT_LIMIT`] and keeps no statistics; `None` where tests for it may be
    /// skipped.
    pub fn strict() -> Option<&'static Self> {
        static STRICT: OnceLock<Option<Rabbit>> = OnceLock::new();
        const OPTIONS: Options = &["--set", "max_message_size = 65536", "--set", "management.disable_stats = true"];
        STRICT.get_or_init(|| Self::start_new(OPTIONS)).as_ref()
    }

    /// A node for one test at a time, to be killed, stopped, started and blocked at will; `None` where tests for it may
    /// be skipped.
    pub async fn doomed() -> Option<Doomed> {
        static DOOMED: [Mutex<Option<Rabbit>>; 2] = [Mutex::const_new(None), Mutex::const_new(None)];
        let [first, second] = &DOOMED;
        let mut node = tokio::select! {
            biased;
            node = first.lock() => node,
            node = second.lock() => node,
        };
        // What a failed test has left behind is not for the next one.
        if node.as_ref().is_none_or(|node| node.is_disturbed) {
            *node = None;
            *node = Self::start_new(&[AGAIN, "5000"]);
        }
        MutexGuard::try_map(node, Option::as_mut).ok()
    }

    fn start_new(options: Options) -> Option<Self> {
        find_or_skip("rabbitmq-server")?;
        let dir = scratch_dir("rabbitmq-").keep();
        let data = Leash::keeping(&dir).spawn();
        let node = leash(&dir, options).spawn();
        let facts = ServerFacts::await_from(&node);
        let endpoint = Endpoint::from_facts(&facts, &dir);
        Some(Self { endpoint, options, node, is_disturbed: false, is_stopped: false, _data: data })
    }

    /// A new virtual host.
    pub fn vhost(&self) -> Vhost {
        block_on(Vhost::create(self.endpoint.clone())).expect("a virtual host can be created")
    }

    /// The URL of its default virtual host, with user and password in it.
    pub fn amqp_url(&self) -> String {
        self.endpoint.amqp_url_of("/")
    }

    /// The URL of the management API, with user and password in it.
    pub fn management_url(&self) -> &str {
        &self.endpoint.management_url
    }

    /// The certificate of the authority that signed the one of the `amqps` listener.
    ///
    /// # Panics
    /// Without such a listener.
    pub fn ca_file(&self) -> &Path {
        let tls = self.endpoint.tls.as_ref();
        &tls.expect("the node was started with TLS").ca_file
    }

    /// Kills the node as a crash would: no goodbye to clients, no orderly end for its files.
    pub fn kill(&mut self) {
        (self.is_disturbed, self.is_stopped) = (true, false);
        self.node.kill();
    }

    /// Stops RabbitMQ in order, as `rabbitmqctl stop_app` does. Erlang goes on, of which a start takes six times as much of a
    /// processor as all that RabbitMQ does then.
    pub async fn stop(&mut self) {
        (self.is_disturbed, self.is_stopped) = (true, true);
        self.endpoint.eval_apart("rabbit:stop()").await;
    }

    /// Starts the killed or stopped node again, on the same ports and with the data it had.
    pub async fn start(&mut self) {
        if self.is_stopped {
            self.endpoint.eval_apart("rabbit:start()").await;
        } else {
            self.node = leash(&self.endpoint.dir, self.options).spawn();
            let is_ready = async || self.node.lines().iter().any(|line| line == "READY");
            wait_until("RabbitMQ to come up again", PATIENCE, is_ready).await;
        }
        (self.is_disturbed, self.is_stopped) = (false, false);
    }

    /// Raises a real memory alarm, which blocks all that publish, or clears it.
    pub fn memory_alarm(&mut self, raised: bool) {
        let watermark = if raised { "0.0000001" } else { "0.4" };
        self.is_disturbed = true;
        self.endpoint.eval(&format!("vm_memory_monitor:set_vm_memory_high_watermark({watermark}), {IS_TOLD}"));
        self.is_disturbed = raised;
    }

    /// The same with an alarm for the disk: there is less room than the node is told to keep.
    pub fn disk_alarm(&mut self, raised: bool) {
        let keep_free = if raised { 9_000_000_000_000_000_u64 } else { 50_000_000 };
        self.is_disturbed = true;
        self.endpoint.eval(&format!("rabbit_disk_monitor:set_disk_free_limit({keep_free}), {IS_TOLD}"));
        self.is_disturbed = raised;
    }
}

/// Nothing is to be seen of a rig that ends without a word.
#[test]
fn a_rabbitmq_that_is_not_here_is_named_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    for (version, said) in [("4.3", "run DLO_TEST_RABBITMQ=4.3 "), ("3.0", "there is no RabbitMQ 3.0 to test with")] {
        let mut script = Command::new(rig_script("rabbitmq.sh"));
        script.arg(directory.path()).env("DLO_TEST_RABBITMQ", version).env("CARGO_TARGET_DIR", directory.path());
        let output = script.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(said), "{text}");
    }
}

fn leash(dir: &Path, options: Options) -> Leash {
    let mut script = Command::new(rig_script("rabbitmq.sh"));
    script.arg(dir).args(["--set", STATISTICS_INTERVAL]).args(options);
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

    /// Has the node evaluate an expression of Erlang, and returns its value as Erlang writes it. What `rabbitmqctl` has a node
    /// do is such an expression too, but it takes half a second of a processor to start.
    #[track_caller]
    fn eval(&self, expression: &str) -> String {
        let (input, mut sink) = std::io::pipe().expect("a pipe");
        writeln!(sink, "{expression}.").expect("a pipe takes a line");
        drop(sink);
        let mut script = Command::new(rig_script("erlang.sh"));
        let output = script.arg(&self.dir).stdin(input).output().expect("tests/rig/erlang.sh runs");
        let answer = String::from_utf8_lossy(&output.stdout);
        let value = answer.trim().strip_prefix("{ok, ").and_then(|answer| answer.strip_suffix('}'));
        value.unwrap_or_else(|| panic!("{expression}: {output:?}")).to_owned()
    }

    /// The same for what takes seconds.
    async fn eval_apart(&self, expression: &'static str) {
        let endpoint = self.clone();
        tokio::task::spawn_blocking(move || endpoint.eval(expression)).await.expect("it is evaluated");
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
        let client = super::http().timeout(PATIENCE).build()?;
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

/// Queues are asked in the order in which messages go through them: one that moves on meanwhile is seen in the next. A quorum
/// queue is asked itself, as what it tells others is seconds old and leaves out what it dead-letters. After a crash of the node
/// one that was declared shortly before may be unable to say it (`function_clause`, 3.10).
const WHAT_IS_LEFT: &str = r#"begin
    Name = fun(Queue) -> {resource, _, _, Name} = amqqueue:get_name(Queue), Name end,
    Place = fun(Queue) ->
        case Name(Queue) of
            <<"dlo.delay.", _/binary>> -> 1;
            <<"dlo.due">> -> 2;
            <<"dlo.", _/binary>> -> 0;
            _ -> 3
        end
    end,
    Count = fun(Queue) ->
        Asked = case amqqueue:get_type(Queue) of
            rabbit_quorum_queue ->
                ra:local_query(amqqueue:get_pid(Queue), fun rabbit_fifo:query_messages_total/1);
            _ -> no
        end,
        case Asked of
            {ok, {_, Messages}, _} -> Messages;
            _ -> lists:sum([N || {_, N} <- rabbit_amqqueue:info(Queue, [messages, messages_dlx]), is_integer(N)])
        end
    end,
    Told = fun(Queue) -> {binary_to_atom(Name(Queue)), try Count(Queue) catch _:Error -> Error end} end,
    InOrder = lists:sort(fun(One, Other) -> Place(One) =< Place(Other) end, rabbit_amqqueue:list(<<"VHOST">>)),
    lists:filter(fun({_, Messages}) -> Messages =/= 0 end, lists:map(Told, InOrder))
end"#;

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
    /// Without a listener for TLS.
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

    /// A channel that does not share its connection with those that publish, for what may end it.
    pub async fn looking_channel(&self) -> Channel {
        self.looking.channel().await
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

    /// On a channel of its own: the broker closes it when there is none.
    pub async fn has_queue(&self, queue: &str) -> bool {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        let channel = self.looking_channel().await;
        let found = channel.queue_declare(queue.into(), passive, FieldTable::default()).await.is_ok();
        if found {
            channel.close(200, "seen".into()).await.expect("the channel is open");
        }
        found
    }

    /// How many messages are ready in the queue at this moment. Asked over AMQP, for the management API lags behind.
    pub async fn depth(&self, queue: &str) -> u32 {
        self.look_at(queue).await.expect("the queue exists").message_count()
    }

    /// How many consume a queue that may not be there. What one had that is gone is ready again.
    pub async fn consumers(&self, queue: &str) -> u32 {
        self.look_at(queue).await.map_or(0, |queue| queue.consumer_count())
    }

    async fn look_at(&self, queue: &str) -> lapin::Result<Queue> {
        let passive = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        self.looking_channel().await.queue_declare(queue.into(), passive, FieldTable::default()).await
    }

    /// Waits until exactly so many messages are ready in the queue.
    pub async fn await_depth(&self, queue: &str, expected: u32) {
        let what = format!("{expected} messages in {queue}");
        let reached = async || self.depth(queue).await == expected;
        wait_until(&what, PATIENCE, reached).await;
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

    /// Whether no queue has a message, neither ready, nor with a consumer, nor on its way to where it is dead-lettered to.
    pub fn is_drained(&self) -> bool {
        self.what_is_left() == "[]"
    }

    /// Queues with messages, and how many each has.
    pub fn what_is_left(&self) -> String {
        self.eval(&WHAT_IS_LEFT.replace("VHOST", &self.name))
    }

    /// Has the node evaluate an expression of Erlang, and returns its value as Erlang writes it.
    #[track_caller]
    pub fn eval(&self, expression: &str) -> String {
        self.endpoint.eval(expression)
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
    tokio::time::timeout(PATIENCE, connecting)
        .await
        .expect("RabbitMQ answers in time")
        .expect("RabbitMQ accepts the connection")
}

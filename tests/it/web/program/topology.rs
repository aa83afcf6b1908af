//! `dlo topology`: what it prints, and whether RabbitMQ takes it and does it.

use std::{
    collections::BTreeMap,
    process::{Command, Output},
    time::{Duration, Instant},
};

use lapin::{
    BasicProperties, Channel,
    message::BasicGetMessage,
    options::{BasicGetOptions, BasicPublishOptions, BasicRejectOptions, QueueDeclareOptions},
    types::FieldTable,
};
use reqwest::Method;
use serde_json::{Value, json};

use super::super::run::{PATIENCE, Program, dlo, serve};
use crate::support::{
    process::wait_for,
    rabbit::{Rabbit, Vhost},
};

/// Names that shells and regular expressions would take for something else.
const HOSTILE: [&str; 8] =
    ["a.b+c", "-dash", "it's \"quoted\"", "$HOME `x` $(x)", r"\Qa|b\E", "(a)[b]{2}^*?$#", "ö ü€", "a,b;c&d!e~f %s"];

/// Names that a careless pattern for those would match too.
const INNOCENT: [&str; 7] = ["aXb+c", "a.bbc", "a.b+c.d", "x-dash", "dash", "b", "ö ü€x"];

fn topology(arguments: &[&str]) -> Program {
    arguments.iter().fold(dlo(&["topology"]), |program, argument| program.with(argument))
}

fn on(vhost: &Vhost, arguments: &[&str]) -> Program {
    topology(arguments).set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url())
}

fn json_of(mut program: Program) -> Value {
    serde_json::from_str(&program.run().expect(0).stdout).unwrap()
}

async fn import(vhost: &Vhost, definitions: &Value) {
    vhost.manage(Method::POST, &["definitions", vhost.name()], Some(definitions)).await;
}

/// The commands among what it printed that set policies.
fn set_policies(text: &str) -> String {
    text.lines().filter(|line| line.starts_with("rabbitmqctl ")).map(|line| format!("{line}\n")).collect()
}

/// Publishes a message to the queue.
async fn send(channel: &Channel, queue: &str) {
    let (options, properties) = (BasicPublishOptions::default(), BasicProperties::default());
    channel.basic_publish("".into(), queue.into(), options, b"{}", properties).await.unwrap();
}

async fn next(channel: &Channel, queue: &str) -> BasicGetMessage {
    let get = async || channel.basic_get(queue.into(), BasicGetOptions::default()).await.unwrap();
    wait_for(&format!("a message in {queue}"), PATIENCE, get).await
}

async fn reject(message: &BasicGetMessage, requeue: bool) {
    message.reject(BasicRejectOptions { requeue }).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_definitions_bring_a_rejected_message_to_the_server() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({})).await;
    let definitions = json_of(on(&vhost, &["orders", "--json"]));
    import(&vhost, &definitions).await;
    // A second time changes nothing.
    import(&vhost, &definitions).await;
    let server = serve().set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url()).set("DLO_BROKERS__MAIN__DECLARE", "false");
    let server = server.open().await;
    let channel = vhost.channel().await;
    send(&channel, "orders").await;
    reject(&next(&channel, "orders").await, false).await;
    let letter = server.await_letters("status=open", 1).await;
    assert_eq!((&letter["queue"], &letter["reason"]), (&json!("orders"), &json!("rejected")));
}

/// The definitions are for where dlo may declare nothing, so they have to be what it would declare.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_definitions_are_what_the_server_declares() {
    let Some(rabbit) = Rabbit::shared() else { return };
    for queue_type in ["quorum", "classic"] {
        let [declared, imported] = [rabbit.vhost(), rabbit.vhost()];
        let of_type = |program: Program| program.set("DLO_BROKERS__MAIN__QUEUE_TYPE", queue_type);
        let server = of_type(serve()).set("DLO_BROKERS__MAIN__URL", &declared.amqp_url()).open().await;
        server.await_ready().await;
        import(&imported, &json_of(of_type(on(&imported, &["orders", "--json"])))).await;
        let (mut expected, mut found) = (parts(&declared).await, parts(&imported).await);
        assert_eq!(found["policies"].as_array().unwrap().len(), 1);
        for all in [&mut expected, &mut found] {
            all.as_object_mut().unwrap().remove("policies");
        }
        assert_eq!(found, expected);
    }
}

/// What RabbitMQ exports of a virtual host.
async fn parts(vhost: &Vhost) -> Value {
    let mut all = vhost.manage(Method::GET, &["definitions", vhost.name()], None).await;
    let sorted = |list: &Value| {
        let mut list = list.as_array().unwrap().clone();
        list.sort_by_key(|part| part["name"].as_str().map(str::to_owned));
        Value::from(list)
    };
    Value::from_iter(["exchanges", "queues", "bindings", "policies"].map(|key| (key, sorted(&all[key].take()))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_is_for_its_queue_alone() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    import(&vhost, &json_of(on(&vhost, &[&["--json", "--"], &HOSTILE[..]].concat()))).await;
    let channel = vhost.channel().await;
    for queue in INNOCENT.into_iter().chain(HOSTILE) {
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        channel.queue_declare(queue.into(), durable, FieldTable::default()).await.unwrap();
    }
    // Those without a policy were declared before the others, so all is told once those with one are.
    let told = async || {
        let queues = vhost.manage(Method::GET, &["queues", vhost.name()], None).await;
        let policies = queues.as_array()?.iter().filter_map(|queue| {
            let policy = queue["policy"].as_str().filter(|policy| !policy.is_empty())?;
            Some((queue["name"].as_str()?.to_owned(), policy.to_owned()))
        });
        Some(policies.collect::<BTreeMap<_, _>>()).filter(|policies| policies.len() >= HOSTILE.len())
    };
    let policies = wait_for("the policies of all queues", PATIENCE, told).await;
    assert_eq!(policies, HOSTILE.map(|queue| (queue.to_owned(), format!("dlo-{queue}"))).into());
}

#[test]
fn the_commands_say_the_same_to_any_shell() {
    let all = topology(&[&["--"], &HOSTILE[..]].concat()).run().expect(0).stdout;
    let script = format!("rabbitmqctl() {{ printf '%s\\0' \"$@\"; }}\n{}", set_policies(&all));
    let Output { status, stdout, stderr } = Command::new("sh").args(["-euc", &script]).output().unwrap();
    assert!(status.success() && stderr.is_empty(), "{script}");
    let said: Vec<_> = stdout.split(|byte| *byte == 0).map(|word| String::from_utf8(word.to_vec()).unwrap()).collect();
    let definitions = json_of(topology(&[&["--json", "--"], &HOSTILE[..]].concat()));
    let policies = definitions["policies"].as_array().unwrap();
    assert_eq!((policies.len(), said.len()), (HOSTILE.len(), 7 * HOSTILE.len() + 1));
    for (words, policy) in said.chunks(7).zip(policies) {
        let text = |key: &str| policy[key].as_str().unwrap().to_owned();
        assert_eq!(words[..4], ["set_policy", "--vhost=/", "--apply-to=queues", "--priority=10"]);
        assert_eq!(words[4..6], [text("name"), text("pattern")]);
        assert_eq!(serde_json::from_str::<Value>(&words[6]).unwrap(), policy["definition"]);
    }
}

/// What RabbitMQ retries by itself arrives when its retries are used up, and then dlo does not begin anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queue_that_waits_by_itself() {
    const DELAYS: &str = "400ms,700ms";
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    vhost.declare_queue("orders", json!({"x-queue-type": "quorum"})).await;
    let mut native = on(&vhost, &["orders", "--native"]).set("DLO_RETRY__DELAYS", DELAYS);
    let set = vhost.shell(&set_policies(&native.run().expect(0).stdout));
    if vhost.version().await < (4, 3) {
        // Better refused than set without the delays.
        let said = String::from_utf8_lossy(&set.stderr);
        assert!(!set.status.success() && said.contains("delayed-retry-min"), "{said}");
        assert_eq!(vhost.manage(Method::GET, &["policies", vhost.name()], None).await, json!([]));
        return;
    }
    assert!(set.status.success(), "{set:?}");
    let server = serve().set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url()).set("DLO_RETRY__DELAYS", DELAYS).open().await;
    server.await_ready().await;
    let channel = vhost.channel().await;
    send(&channel, "orders").await;
    let mut message = next(&channel, "orders").await;
    for delay in [400, 700] {
        let rejected = Instant::now();
        reject(&message, true).await;
        message = next(&channel, "orders").await;
        let waited = rejected.elapsed();
        assert!(waited > Duration::from_millis(delay - 20), "{waited:?}, not {delay} ms");
    }
    reject(&message, true).await;
    let letter = server.await_letters("status=open", 1).await;
    assert_eq!((&letter["queue"], &letter["reason"]), (&json!("orders"), &json!("delivery_limit")));
}

#[test]
fn the_broker_is_named_where_there_are_several() {
    let two = "[brokers.a]\nurl = \"amqp://h/a\"\n[brokers.b]\nurl = \"amqp://h/b\"";
    let vhost = |arguments: &[&str]| json_of(topology(arguments).config(two))["policies"][0]["vhost"].clone();
    assert_eq!(vhost(&["orders", "--json", "--broker", "b"]), "b");
    for arguments in [&["orders"][..], &["orders", "--broker", "c"]] {
        let said = topology(arguments).config(two).run().expect(2).stderr;
        assert!(said.contains("--broker takes one of a, b"), "{said}");
    }
    let said = topology(&["dlo.obituaries"]).run().expect(2).stderr;
    assert!(said.contains("one of dlo's own queues"), "{said}");
}

#[test]
fn only_the_definitions_are_on_standard_output_for_json() {
    let mut program = topology(&["orders", "--native", "--json"]).set("DLO_RETRY__DELAYS", "");
    let said = program.run().expect(0);
    assert!(said.stderr.contains("no retries"), "{}", said.stderr);
    let definitions: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(definitions["policies"][0]["definition"], json!({"dead-letter-exchange": "dlx"}));
}

//! `dlo demo`: that its world fails in the ways it is meant to show.

use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::Command,
};

use serde_json::{Value, json};

use super::super::run::{PATIENCE, Running, dlo};
use crate::support::{
    http,
    process::{Leash, wait_for},
    rabbit::Rabbit,
    rig_script,
};

/// What `tests/rig/rabbitmq.sh` does, without a RabbitMQ.
const NODE: &str = "#!/bin/sh
mkdir \"$1\"
echo 'AMQP_URL=amqp://127.0.0.1:1 MANAGEMENT_URL=http://127.0.0.1:1' >\"$1/node.env\"
echo READY
exec sleep infinity
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_letters_say_what_is_in_them() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let demo = dlo(&["demo"]).set("DLO_WEB__LISTEN", "127.0.0.1:0").set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url());
    let mut demo = demo.open().await;
    for (queue, type_source, message_type) in [
        ("billing.invoices", "header", "acme.orders.v1.OrderPlaced"),
        ("media.thumbnails", "detected", "acme.images.v1.ImageUploaded"),
    ] {
        let named = |letter: &Value| letter["type_source"] == type_source && letter["message_type"] == message_type;
        let look = async || {
            let letters = demo.json(&format!("/api/v1/letters?queue={queue}")).await;
            letters["items"].as_array().unwrap().iter().find(|letter| named(letter)).cloned()
        };
        wait_for(&format!("a dead letter of {queue} with its type"), PATIENCE, look).await;
    }
    once_a_service_is_mended_its_retries_succeed(&demo).await;
    assert!(demo.stop().await.success());
}

/// As the page of the demo does it, to which the foot of each page leads.
async fn once_a_service_is_mended_its_retries_succeed(demo: &Running) {
    let page = scraper::Html::parse_document(&demo.get("/").await.text().await.unwrap());
    let link = scraper::Selector::parse(".side-foot a[href^='http://127.0.0.1']").unwrap();
    let control = page.select(&link).next().unwrap().attr("href").unwrap().to_owned();
    let about = http().build().unwrap().get(&control).send().await.unwrap().text().await.unwrap();
    assert!(about.contains("billing: broken") && about.contains("thumbnails: broken"), "{about}");
    let mend = |site: &'static str| {
        let client = http().build().unwrap();
        let post = client.post(format!("{control}services/billing/mend")).header("sec-fetch-site", site);
        async move { post.send().await.unwrap() }
    };
    assert_eq!(mend("cross-site").await.status(), 403);
    let states: Value = mend("none").await.json().await.unwrap();
    assert_eq!((&states[0]["name"], &states[0]["state"]), (&json!("billing"), &json!("mended")));
    let all = json!({"action": "retry", "filter": {"queue": ["billing.invoices"], "status": ["open", "scheduled"]}});
    assert_eq!(demo.post("/api/v1/actions", &all).await.status(), 202);
    demo.await_none("queue=billing.invoices&status=open&status=scheduled").await;
}

/// Brokers and channels of whoever runs `make demo` are not its own: it would take what waits there, and call people.
#[tokio::test]
async fn it_has_no_configuration_but_its_own() {
    let rig = tempfile::tempdir().unwrap();
    let program = |name: &str, text: &str| {
        fs::write(rig.path().join(name), text).unwrap();
        fs::set_permissions(rig.path().join(name), Permissions::from_mode(0o755)).unwrap();
    };
    program("demo-world.sh", &fs::read_to_string(rig_script("demo-world.sh")).unwrap());
    program("rabbitmq.sh", NODE);
    fs::create_dir(rig.path().join("demo")).unwrap();
    let says_what_is_set = "$(echo \"$*\" | sed 's/demo$/config --set/')";
    program("demo/dlo", &format!("#!/bin/sh\nexec '{}' {says_what_is_set}\n", env!("CARGO_BIN_EXE_dlo")));
    fs::write(rig.path().join("dlo.toml"), "[notify.webhook]\nurl = \"https://people.example\"\n").unwrap();
    let mut command = Command::new(rig.path().join("demo-world.sh"));
    command.arg(rig.path()).current_dir(rig.path()).env("CARGO_TARGET_DIR", rig.path());
    command.env("DLO_BROKERS__THEIRS__URL", "amqp://theirs.example").env("DLO_AUTH__MODE", "password");
    let mut world = Leash::on(command).spawn();
    let ended = world.exited(PATIENCE).await;
    let lines = world.lines();
    assert!(ended.success(), "{lines:?}");
    let origins: BTreeSet<&str> = lines.iter().filter_map(|line| Some(line.split_once("  # ")?.1)).collect();
    let node = BTreeSet::from(["DLO_BROKERS__MAIN__MANAGEMENT_URL", "DLO_BROKERS__MAIN__URL"]);
    assert_eq!(origins, node, "{lines:?}");
}

//! `dlo config`: what is in effect, and from where each value comes.

use super::super::run::dlo;

/// Every line, with the spaces between value and origin as one.
fn shown(stdout: &str) -> Vec<String> {
    stdout.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn each_value_comes_with_its_origin() {
    let file =
        "[web]\nlisten = \"127.0.0.1:9000\"\n[retry]\ninitial = \"1s\"\n[retry.queues.\"texts.*\"]\nvia = \"broker\"\n
        [retry.queues.\"texts.*\".reasons.expired]\ndelays = []\n[brokers.far]\nprefetch = 7\n[brokers.near]\n
        url = \"amqp://near.example\"\n[auth.teams.pay]\nqueues = [\"pay.*\"]\n[notify.digests.mail]\nqueues = [\"a\"]";
    let mut program = dlo(&["config"]).config(file).holds("url", b"postgres://dlo:hunter2@db/dlo\n");
    program = program.set("DLO_DATABASE__URL_FILE", "url").set("DLO_RETRY__TARGETS", "orders,texts.*");
    let stdout = program.run().expect(0).stdout;
    let lines = shown(&stdout);
    for line in [
        "# The file is dlo.toml.",
        "url = \"postgres://dlo:•••@db/dlo\" # DLO_DATABASE__URL_FILE",
        "auto_migrate = true # default",
        "listen = \"127.0.0.1:9000\" # file",
        "public_url = \"http://127.0.0.1:9000/\" # default",
        "initial = \"1s\" # file",
        "targets = [\"orders\", \"texts.*\"] # DLO_RETRY__TARGETS",
        "[retry.queues.\"texts.*\".reasons.expired]",
        "prefetch = 7 # file",
        "[brokers.near]",
        "[auth.teams.pay]",
        "[notify.digests.mail]",
    ] {
        assert!(lines.iter().any(|shown| shown == line), "{line} is not in\n{stdout}");
    }
    for absent in ["hunter2", "[brokers.main]", "[notify.digest]", "delays = [\"10s\""] {
        assert!(!stdout.contains(absent), "{absent} is in\n{stdout}");
    }
    let again = dlo(&["config"]).config(&stdout.replace("•••", "hunter2")).run().expect(0).stdout;
    let without_origins =
        |text: &str| shown(text).iter().map(|line| line.split(" # ").next().unwrap().to_owned()).collect();
    let (first, second): (Vec<String>, Vec<String>) = (without_origins(&stdout), without_origins(&again));
    assert_eq!(first, second, "it can be read as a configuration");
    let set = { dlo(&["config", "--set"]) }.run().expect(0).stdout;
    assert_eq!(set.trim(), "# There is no file.");
}

#[test]
fn no_secret_is_shown() {
    let planted = "[brokers.main]\nurl = \"amqp://dlo:planted@h\"\nmanagement_url = \"http://dlo:planted@h\"\n
        [notify.slack]\nwebhook_url = \"https://hooks.slack.com/planted\"\n[notify.digests.mail]\n
        webhook_url = \"https://hooks.slack.com/planted\"\n[notify.pagerduty]\nrouting_key = \"planted\"\n
        url = \"https://u:planted@h\"\n[notify.alertmanager]\nurl = \"https://u:planted@h\"\n[notify.webhook]\n
        url = \"https://h/planted\"\nsecret = \"planted\"\n[auth.oidc]\nclient_secret = \"planted\"";
    let mut program = dlo(&["config"]).config(planted).set("DLO_DATABASE__URL", "postgres://h/d?password=planted");
    let stdout = program.run().expect(0).stdout;
    assert!(!stdout.contains("planted") && stdout.matches("•••").count() == 11, "{stdout}");
}

#[test]
fn what_cannot_be_used_is_not_shown() {
    let said = { dlo(&["config"]) }.config("[web]\nlisten = \"nowhere\"").run().expect(2);
    assert!(said.stdout.is_empty() && said.stderr.contains("web.listen"), "{}", said.stderr);
}

//! Mistakes in the configuration: exit code 2, and a message that names the key and what it takes.

use super::super::run::{Ended, Program, dlo};

/// What `dlo check` says of a configuration it cannot use.
#[track_caller]
fn refused(mut program: Program) -> String {
    let Ended { stdout, stderr, .. } = program.run().expect(2);
    assert_eq!(stdout, "", "nothing was begun");
    assert!(stderr.starts_with("dlo: ") && stderr.trim().lines().count() < 12, "{stderr}");
    stderr
}

#[track_caller]
fn check_file(toml: &str, parts: &[&str]) {
    let said = refused(dlo(&["check"]).config(toml));
    for part in parts {
        assert!(said.contains(part), "{toml:?} and {part:?}: {said}");
    }
}

#[track_caller]
fn check_environment(name: &str, value: &str, parts: &[&str]) {
    let said = refused(dlo(&["check"]).set(name, value));
    for part in parts {
        assert!(said.contains(part), "{name}={value} and {part:?}: {said}");
    }
}

#[test]
fn an_unknown_key_is_named_beside_those_there_are() {
    check_file("[web]\nlissten = \"127.0.0.1:1\"", &["web", "lissten", "listen", "public_url"]);
    check_file("[wbe]\nlisten = \"127.0.0.1:1\"", &["wbe", "database", "brokers"]);
    check_file("[brokers.main]\nulr = \"amqp://h\"", &["brokers.main", "ulr", "prefetch"]);
    check_file("[retry.queues.\"a.*\"]\ndelay = [\"1s\"]", &["retry.queues", "delay", "delays"]);
    check_file("listen = \"127.0.0.1:1\"", &["listen", "web"]);
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_what_it_takes() {
    check_file("[brokers.main]\nprefetch = \"many\"", &["brokers.main.prefetch", "integer"]);
    check_file("[brokers.main]\ndeclare = \"perhaps\"", &["brokers.main.declare", "boolean"]);
    check_file("[retry]\njitter = \"much\"", &["retry.jitter", "float"]);
    check_file("[web]\nlisten = [1]", &["web.listen", "string"]);
    check_file("brokers = 7", &["brokers", "map"]);
    // In the environment all is text; here it is not.
    check_file("[brokers.main]\nprefetch = \"5\"", &["brokers.main.prefetch", "integer"]);
    check_file("[brokers.main]\ndeclare = \"true\"", &["brokers.main.declare", "boolean"]);
    let said = refused(dlo(&["check"]).config("[notify.pagerduty]\nrouting_key = 123456789"));
    assert!(said.contains("notify.pagerduty.routing_key") && !said.contains("123456789"), "{said}");
}

#[test]
fn a_channel_that_cannot_be_one_is_named() {
    check_file("[notify.slack]\nwebhook_url = \"hooks\"", &["notify.slack.webhook_url", "https://"]);
    check_file("[notify.digests.a]\nchannel = \"#ops\"", &["notify.digests.a.channel", "notify.slack.token"]);
    let webhook = "[notify.webhook]\nurl = \"https://h/\"\nsecret = \"hunter2\"";
    check_file(webhook, &["notify.webhook.secret", "whsec_"]);
    let said = refused(dlo(&["serve"]).config(webhook));
    assert!(said.contains("notify.webhook.secret") && !said.contains("hunter2"), "{said}");
}

#[test]
fn a_team_without_queues_and_brokers_is_none() {
    check_file("[auth.teams.pay]\noperator = [\"ops\"]", &["auth.teams.pay", "queues"]);
}

#[test]
fn an_impossible_value_is_named_with_what_it_takes() {
    check_file("[web]\nlisten = \"nowhere\"", &["web.listen", "nowhere", "IP:PORT"]);
    check_file("[web]\npublic_url = \"dlo.example\"", &["web.public_url", "http://"]);
    check_file("[database]\nurl = \"mysql://u@h/d\"", &["database.url", "sqlite://FILE", "postgres://"]);
    check_file("[brokers.main]\nurl = \"http://h\"", &["brokers.main.url", "amqp://"]);
    check_file("[brokers.main]\nprefetch = 0", &["brokers.main.prefetch", "1 to 65535"]);
    check_file("[brokers.main]\nqueue_type = \"stream\"", &["brokers.main.queue_type", "quorum", "classic"]);
    check_file("[brokers.main]\nobituary_queue = \"\"", &["brokers.main.obituary_queue", "1 to 255"]);
    check_file("[intake]\nbatch_size = 0", &["intake.batch_size", "1 to 10000"]);
    check_file("[retry]\njitter = 1.5", &["retry.jitter", "0 to 1"]);
    check_file("[retry]\ndelays = [\"10s\", \"soon\"]", &["retry.delays", "soon", "250ms"]);
    check_file("[log]\nformat = \"xml\"", &["log.format", "text", "json"]);
    check_file("[log]\nfilter = \"=====\"", &["log.filter", "info"]);
    check_file("[retention]\nretried = \"forever\"", &["retention.retried", "7d"]);
    check_file("[notify.page]\nimportance = [\"huge\"]", &["notify.page.importance", "critical"]);
}

#[test]
fn the_environment_is_read_as_strictly() {
    check_environment("DLO_WEB__LISTEN", "nowhere", &["web.listen", "IP:PORT"]);
    check_environment("DLO_BROKERS__MAIN__PREFETCH", "0", &["brokers.main.prefetch", "1 to 65535"]);
    check_environment("DLO_BROKERS__MAIN__PREFETCH", "many", &["brokers.main.prefetch"]);
    check_environment("DLO_BROKERS__MAIN__DECLARE", "perhaps", &["brokers.main.declare"]);
    check_environment("DLO_RETRY__DELAYS", "1s,soon", &["retry.delays", "soon"]);
    check_environment("DLO_LOG__FORMAT", "xml", &["log.format", "json"]);
    check_environment("DLO_NOPE", "1", &["nope"]);
    check_environment("DLO_WEB__NOPE", "1", &["web", "nope", "listen"]);
}

#[test]
fn a_key_is_named_once() {
    let once = |toml: &str, key: &str| {
        let said = refused(dlo(&["check"]).config(toml));
        assert_eq!(said.matches(key).count(), 1, "{said}");
        assert!(!said.contains("for key"), "{said}");
    };
    once("[retry]\ndelays = [\"10x\"]", "retry.delays");
    once("[web]\nlisten = [1]", "web.listen");
    once("[brokers.main]\nprefetch = \"many\"", "brokers.main.prefetch");
    once("[wbe]\nlisten = \"127.0.0.1:1\"", "wbe");
}

#[test]
fn a_mistake_in_the_environment_names_the_variable() {
    check_environment("DLO_FOO", "1", &["unknown field `foo`", "DLO_FOO"]);
    check_environment("DLO_WEB__NOPE", "1", &["web: unknown field `nope`", "DLO_WEB__NOPE"]);
    check_environment("DLO_WBE__LISTEN", "127.0.0.1:1", &["unknown field `wbe`", "DLO_WBE__LISTEN"]);
    check_environment("DLO_RETRY__DELAYS", "10x", &["retry.delays: \"10x\" is no duration", "DLO_RETRY__DELAYS"]);
    check_environment("DLO_BROKERS__MAIN__PREFETCH", "many", &["DLO_BROKERS__MAIN__PREFETCH"]);
    check_environment("DLO_WEB__LISTEN", "0.0.0.0:8420", &["web.listen: ", "DLO_WEB__LISTEN"]);
    let said = refused(dlo(&["check"]).set("DLO_WEB__LISTEN", "127.0.0.1:0").config("foo = 1"));
    assert!(!said.contains("DLO_"), "it is in the file: {said}");
}

#[test]
fn wrong_quiet_hours_say_which_end_is_wrong() {
    let hours = |from: &str, to: &str| format!("[notify.page.quiet_hours]\nfrom = \"{from}\"\nto = \"{to}\"");
    check_file(&hours("25:00", "07:00"), &["notify.page.quiet_hours: from: \"25:00\" is no time of the day"]);
    check_file(&hours("22:00", "7"), &["notify.page.quiet_hours: to: \"7\" is no time of the day"]);
}

#[test]
fn a_password_is_not_repeated_with_the_mistake() {
    let said = refused(dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", "amq://user:hunter2@host"));
    assert!(!said.contains("hunter2") && said.contains("brokers.main.url"), "{said}");
    let said = refused(dlo(&["check"]).set("DLO_DATABASE__URL", "mysql://user:hunter2@host/db"));
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn no_line_of_the_file_is_repeated_with_the_mistake() {
    for (toml, part) in [
        ("[brokers.main]\nurl = \"amqp://user:hunter2@host\nprefetch = 1", "line 2"),
        ("[notify.pagerduty]\nrouting_key = hunter2", "line 2"),
        ("[notify.webhook]\nsecret = \"a\"\nsecret = \"hunter2\"", "duplicate key"),
        ("[brokers]\nmain = \"amqp://user:hunter2@host\"", "brokers.main: invalid type: string"),
        ("[notify.webhook]\nsecret = [\"hunter2\"]", "notify.webhook.secret"),
        ("[web]\npublic_url = \"ftp://user:hunter2@host\"", "web.public_url"),
        ("[web]\nhunter = \"hunter2\"", "hunter"),
    ] {
        let said = refused(dlo(&["check"]).config(toml));
        assert!(!said.contains("hunter2") && said.contains(part), "{toml}: {said}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let said = refused(dlo(&["check", "--config", "nowhere.toml"]));
    assert!(said.contains("nowhere.toml") && said.contains("No such file"), "{said}");
}

#[test]
fn a_slip_in_the_file_is_shown_where_it_stands() {
    check_file("[web\nlisten = 1", &["dlo.toml", "line 1"]);
    check_file("[web]\nlisten = \"127.0.0.1:1\nx = 2", &["dlo.toml", "line 2"]);
}

#[test]
fn without_sign_in_it_listens_on_loopback_only() {
    for address in ["0.0.0.0:8420", "[::]:8420", "192.0.2.1:8420"] {
        for command in ["check", "serve"] {
            let said = refused(dlo(&[command]).set("DLO_WEB__LISTEN", address));
            assert!(said.contains("web.listen") && said.contains("auth.mode"), "{address}: {said}");
        }
    }
    check_environment("DLO_AUTH__MODE", "magic", &["auth.mode"]);
}

#[test]
fn each_way_to_sign_in_says_what_it_needs() {
    check_file("[auth]\nmode = \"oidc\"", &["auth.oidc.issuer"]);
    check_file("[auth]\nmode = \"oidc\"\n[auth.oidc]\nissuer = \"id.example\"", &["auth.oidc.issuer", "https://"]);
    check_file("[auth]\nmode = \"oidc\"\n[auth.oidc]\nissuer = \"https://id.example\"", &["auth.oidc.client_id"]);
    check_file("[auth]\nmode = \"proxy\"", &["auth.proxy.from"]);
    check_file("[auth]\nmode = \"proxy\"\n[auth.proxy]\nfrom = [\"nowhere\"]", &["auth.proxy.from", "10.0.0.5"]);
    let proxy = "[auth]\nmode = \"proxy\"\n[auth.proxy]\nfrom = [\"10.0.0.5\"]\n";
    check_file(proxy, &["auth.roles"]);
    check_file(&format!("{proxy}user_header = \"a b\""), &["auth.proxy.user_header"]);
    check_file(&format!("{proxy}[auth.roles]\nothers = \"king\""), &["auth.roles.others", "viewer"]);
    check_file("[auth]\nmode = \"password\"\nsession_idle = \"0s\"", &["auth.session_idle"]);
}

#[test]
fn what_is_no_command_is_refused() {
    for arguments in [&["frobnicate"][..], &["serve", "--roles", "web,cook"], &["serve", "--port", "1"], &[]] {
        let said = dlo(arguments).run().expect(2).stderr;
        assert!(said.contains("Usage") || said.contains("--help"), "{arguments:?}: {said}");
    }
    let said = dlo(&["serve", "--roles", "web,cook"]).run().stderr;
    assert!(said.contains("web, intake, retry and notify"), "{said}");
}

#[test]
fn help_and_version_need_no_configuration() {
    let help = dlo(&["--help"]).set("DLO_NOPE", "1").run().expect(0).stdout;
    for command in ["serve", "check", "migrate", "topology", "decode", "demo"] {
        assert!(help.contains(command), "{help}");
    }
    assert!(dlo(&["--version"]).run().expect(0).stdout.starts_with("dlo "));
}

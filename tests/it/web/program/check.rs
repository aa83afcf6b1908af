//! `dlo check`: one line for each thing that has to be reached.

use std::net::TcpListener;

use super::super::{
    run::{Ended, dlo},
    schemas::fixture,
};
use crate::{
    store::{database::TestDatabase, make::an_arrival},
    support::{postgres::Postgres, rabbit::Rabbit},
};

/// A broker at an address where surely nobody listens.
fn nowhere() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("amqp://guest:hunter2@127.0.0.1:{port}/%2f")
}

const NO_DATABASE_YET: &str = "ok    database: dlo.db does not exist yet; `dlo serve` creates it";

#[test]
fn all_is_well() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let Ended { stdout, .. } = dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url()).run().expect(0);
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!(lines[..2], ["ok    configuration", NO_DATABASE_YET]);
    assert!(lines[2].starts_with("ok    broker main (127.0.0.1:") && lines[2].contains(vhost.name()), "{stdout}");
    assert!(lines[3].starts_with("ok    folder .: ") && lines[3].ends_with(" MB free"), "{stdout}");
    let notes =
        ["brokers.main.management_url", "auth.mode", "retry.targets lets messages be sent to every queue", "notify"];
    for (line, note) in lines[4..].iter().zip(notes) {
        assert!(line.starts_with(&format!("note  {note}")), "{stdout}");
    }
    assert_eq!(lines.len(), 8);
    let named = dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url()).set("DLO_RETRY__TARGETS", "orders");
    assert!(!{ named }.run().expect(0).stdout.contains("retry.targets"), "it names them");
}

#[test]
fn each_thing_that_is_not_is_a_line_that_says_why() {
    let mut program = dlo(&["check"])
        .set("DLO_BROKERS__MAIN__URL", &nowhere())
        .set("DLO_BROKERS__OTHER__URL", &nowhere())
        .set("DLO_DATABASE__URL", "sqlite:///nowhere/at/all.db");
    let Ended { stdout, stderr, .. } = program.run().expect(1);
    let lines: Vec<_> = stdout.lines().collect();
    assert_eq!(lines[0], "ok    configuration");
    assert!(lines[1].starts_with("FAIL  database: "), "{stdout}");
    for (line, broker) in lines[2..].iter().zip(["main", "other"]) {
        assert!(line.starts_with(&format!("FAIL  broker {broker} (127.0.0.1:")), "{stdout}");
        assert!(line.contains("refused"), "{stdout}");
    }
    assert!(lines[4].starts_with("FAIL  folder /nowhere/at: it cannot be written to"), "{stdout}");
    assert!(lines[5..].iter().all(|line| line.starts_with("note")), "{stdout}");
    assert!(!stdout.contains("hunter2") && !stderr.contains("hunter2"), "{stdout}{stderr}");
}

#[test]
fn a_postgres_that_is_not_there_is_named_by_its_address() {
    let said = |url: &str| {
        let ended =
            dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", &nowhere()).set("DLO_DATABASE__URL", url).run().expect(1);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("hunter2"), "{}{}", ended.stdout, ended.stderr);
        ended.stdout.lines().find(|line| line.contains("database")).unwrap().to_owned()
    };
    let url = nowhere().replace("amqp:", "postgres:").replace("/%2f", "/dlo");
    let (_, address) = url.trim_end_matches("/dlo").split_once('@').unwrap();
    let passwords = dlo(&["check"]).set("DLO_DATABASE__URL", &url).set("DLO_AUTH__MODE", "password").run().expect(1);
    assert!(!passwords.stdout.contains("there is no admin yet"), "nobody knows: {}", passwords.stdout);
    let line = said(&url);
    assert!(line.starts_with(&format!("FAIL  database: no connection to the database at {address}: ")), "{line}");
    assert!(line.contains("refused"), "{line}");
    let Some(postgres) = Postgres::shared() else { return };
    let line = said(&format!("{}/nowhere", postgres.url()));
    assert!(
        line.contains("no connection to the database at ") && line.contains("\"nowhere\" does not exist"),
        "{line}"
    );
}

#[tokio::test]
async fn letters_of_a_broker_that_is_not_configured_any_more_are_told() {
    let database = TestDatabase::sqlite().await;
    database.take_in_new(an_arrival()).await;
    let check = |broker: &str| {
        let program = dlo(&["check"]).set("DLO_DATABASE__URL", database.url());
        program.set(&format!("DLO_BROKERS__{broker}__URL"), &nowhere()).run().expect(1).stdout
    };
    assert!(!check("MAIN").contains("cannot be sent"));
    let told = check("EU");
    assert!(told.contains("no broker main: 1 dead letter of it cannot be sent"), "{told}");
}

#[test]
fn a_wrong_password_or_vhost_is_said_to_be_one() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let wrong_password = vhost.amqp_url().replace("guest:guest@", "guest:hunter2@");
    let wrong_vhost = format!("{}-missing", vhost.amqp_url());
    for (url, part) in [(wrong_password, "ACCESS"), (wrong_vhost, "vhost")] {
        let Ended { stdout, .. } = dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", &url).run().expect(1);
        assert!(stdout.contains("FAIL  broker main") && stdout.contains(part), "{stdout}");
        assert!(!stdout.contains("hunter2"), "{stdout}");
    }
}

#[test]
fn the_management_api_is_asked_where_it_is_named() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let check = |url: &str| {
        let program = dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url());
        let Ended { stdout, .. } = program.set("DLO_BROKERS__MAIN__MANAGEMENT_URL", url).run();
        stdout.lines().nth(3).unwrap().to_owned()
    };
    let told = check(rabbit.management_url());
    assert!(
        told.starts_with("ok    management API of main (127.0.0.1:") && told.contains("0 queues, as guest"),
        "{told}"
    );
    let told = check(&rabbit.management_url().replace("guest:guest@", "guest:hunter2@"));
    assert!(told.starts_with("FAIL  management API of main") && told.contains("refused the login"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    let told = check(&nowhere().replace("amqp:", "http:"));
    assert!(told.contains("cannot connect") && told.contains("rabbitmq-plugins enable"), "{told}");
}

#[test]
fn who_may_not_publish_is_told() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let (name, url) = (format!("reader-of-{}", vhost.name().replace('/', "-")), vhost.amqp_url());
    let rights = serde_json::json!({"configure": ".*", "write": "^dlo", "read": ".*"});
    let give = async {
        let user = serde_json::json!({"password": "secret", "tags": ""});
        vhost.manage(reqwest::Method::PUT, &["users", &name], Some(&user)).await;
        vhost.manage(reqwest::Method::PUT, &["permissions", vhost.name(), &name], Some(&rights)).await;
    };
    crate::support::process::block_on(give);
    let url = url.replace("guest:guest@", &format!("{name}:secret@"));
    let said = dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", &url).run().expect(1).stdout;
    assert!(said.contains("FAIL  broker main") && said.contains("publishing to the default exchange"), "{said}");
}

#[test]
fn a_check_declares_nothing_and_needs_no_migration() {
    let Some(rabbit) = Rabbit::shared() else { return };
    let vhost = rabbit.vhost();
    let check = || dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", &vhost.amqp_url());
    let mut program = check();
    program.run().expect(0);
    assert_eq!(program.file("").read_dir().unwrap().count(), 0, "nothing is left behind");
    let queues = crate::support::process::block_on(vhost.manage(reqwest::Method::GET, &["queues", vhost.name()], None));
    assert_eq!(queues, serde_json::json!([]));
    let mut program = check().set("DLO_DATABASE__AUTO_MIGRATE", "false");
    let said = program.run().expect(1).stdout;
    assert!(said.contains("FAIL  database: dlo.db does not exist yet; `dlo migrate` creates it"), "{said}");
    assert!(!program.file("dlo.db").exists());
}

#[test]
fn postgres_is_reached_too() {
    let Some(postgres) = Postgres::shared() else { return };
    let database = postgres.database();
    let check = |url: &str| dlo(&["check"]).set("DLO_DATABASE__URL", url).run().stdout;
    let said = check(&database.url);
    assert!(said.contains("ok    database\n") && said.contains("ok    clock\n") && !said.contains("folder"), "{said}");
    let missing = format!("{}_missing", database.url);
    assert!(check(&missing).contains("FAIL  database: "), "{}", check(&missing));
}

/// `dlo serve` refuses it, whether it may migrate or not.
#[tokio::test]
async fn a_database_of_a_newer_version_fails() {
    for database in [Some(TestDatabase::sqlite().await), TestDatabase::postgres().await].into_iter().flatten() {
        database.tamper("UPDATE _sqlx_migrations SET version = 9999 WHERE version = 1").await;
        for may_migrate in ["true", "false"] {
            let program = dlo(&["check"]).set("DLO_DATABASE__URL", database.url());
            let program = program.set("DLO_DATABASE__AUTO_MIGRATE", may_migrate);
            let said = { program.set("DLO_BROKERS__MAIN__URL", &nowhere()) }.run().expect(1).stdout;
            let line = said.lines().find(|line| line.contains("database")).unwrap();
            assert!(line.starts_with("FAIL  database: ") && line.contains("a newer dlo"), "{said}");
        }
    }
}

#[test]
fn a_database_that_is_there_is_opened() {
    let check = |name: &str, bytes: &[u8], parameters: &str| {
        let url = format!("sqlite://{name}{parameters}");
        let program = dlo(&["check"]).set("DLO_DATABASE__URL", &url).set("DLO_BROKERS__MAIN__URL", &nowhere());
        { program.holds(name, bytes) }.run().expect(1).stdout
    };
    assert!(check("empty.db", b"", "").contains("ok    database\n"), "an empty file is an empty database");
    let broken = check("other.db", &[b'x'; 4_096], "");
    assert!(broken.contains("FAIL  database: ") && broken.contains("not a database"), "{broken}");
    let program = dlo(&["check"]).set("DLO_DATABASE__URL", "sqlite://new.db?mode=rwc");
    let said = program.set("DLO_BROKERS__MAIN__URL", &nowhere()).run().expect(1).stdout;
    assert!(said.contains("ok    database: new.db does not exist yet"), "{said}");
}

/// The sample names hosts that are not here; what counts is that nothing in it is refused.
#[test]
fn the_sample_of_the_contract_is_accepted() {
    let sample = include_str!("contract.toml");
    let Ended { code, stdout, stderr } = dlo(&["check"]).config(sample).run();
    assert_ne!(code, Some(2), "{stderr}");
    assert!(stdout.starts_with("ok    configuration\nok    database"), "{stdout}");
    assert!(stdout.contains("broker main (127.0.0.1:5672, vhost /)"), "{stdout}");
}

#[test]
fn the_folder_of_schemas_is_read() {
    let check = |files: &[(&str, &[u8])]| {
        let program =
            dlo(&["check"]).config("[schemas]\nfolder = \"protos\"").set("DLO_BROKERS__MAIN__URL", &nowhere());
        std::fs::create_dir(program.file("protos")).unwrap();
        let program = files.iter().fold(program, |it, (name, bytes)| it.holds(&format!("protos/{name}"), bytes));
        let Ended { stdout, .. } = { program }.run().expect(1);
        stdout.lines().rfind(|line| !line.starts_with("note")).unwrap().to_owned()
    };
    let acme = fixture("small.binpb");
    let source = b"syntax = \"proto3\"; message A {}";
    assert_eq!(check(&[]), "ok    schemas in protos: 0 schemas, 0 types");
    assert_eq!(check(&[("a.proto", source)]), "ok    schemas in protos: 1 schema, 1 type");
    assert_eq!(check(&[("a.proto", source), ("acme.binpb", &acme)]), "ok    schemas in protos: 2 schemas, 74 types");
    let said = check(&[("acme.binpb", &acme), ("b.proto", b"message {")]);
    assert!(said.starts_with("FAIL  schemas in protos: protos: b.proto"), "{said}");
    let said = { dlo(&["check"]).set("DLO_SCHEMAS__FOLDER", "nowhere") }.run().expect(1).stdout;
    assert!(said.contains("FAIL  schemas in nowhere: No such file"), "{said}");
}

#[test]
fn the_environment_goes_before_the_file() {
    let mut program =
        dlo(&["check"]).config("[database]\nurl = \"sqlite://file.db\"\n[brokers.far]\nurl = \"amqp://h:1\"");
    program = program.set("DLO_DATABASE__URL", "sqlite://environment.db").set("DLO_BROKERS__FAR__URL", &nowhere());
    let Ended { stdout, .. } = program.run().expect(1);
    assert!(stdout.contains("broker far (127.0.0.1:") && !stdout.contains("broker main"), "{stdout}");
    assert!(stdout.contains("environment.db") && !stdout.contains("file.db"), "{stdout}");
}

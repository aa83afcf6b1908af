//! TLS of dlo's own.

use std::{fs, path::Path, process::Command};

use super::super::run::{PATIENCE, Running, dlo, serve};
use crate::support::{http, process::wait_until, rig_script};

/// Makes an authority and a certificate in a folder.
fn certificates(folder: &Path) {
    let made = Command::new("bash").arg(rig_script("certificates.sh")).arg(folder).status().unwrap();
    assert!(made.success());
}

/// A client that trusts the authority of that folder only.
fn client(folder: &Path) -> reqwest::Client {
    let authority = reqwest::Certificate::from_pem(&fs::read(folder.join("ca.pem")).unwrap()).unwrap();
    http().tls_certs_only([authority]).timeout(PATIENCE).build().unwrap()
}

async fn is_trusted(server: &Running, folder: &Path) -> bool {
    let url = format!("https://{}/healthz", server.url.strip_prefix("https://").unwrap());
    client(folder).get(url).send().await.is_ok_and(|answer| answer.status() == 200)
}

fn copy(from: &Path, to: &Path, files: &[&str]) {
    for file in files {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

#[tokio::test]
async fn the_certificate_is_that_of_the_files_and_follows_them() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&first, &second] {
        certificates(folder.path());
    }
    let program = serve().with("--roles=web").set("DLO_WEB__TLS__CERT_FILE", "server.pem");
    let program = program.set("DLO_WEB__TLS__KEY_FILE", "server.key");
    copy(first.path(), &program.file(""), &["server.pem", "server.key"]);
    let server = program.open().await;
    assert!(server.url.starts_with("https://"), "{}", server.url);
    assert!(is_trusted(&server, first.path()).await && !is_trusted(&server, second.path()).await);
    let listen = server.url.strip_prefix("https://").unwrap();
    let plain = http().timeout(PATIENCE).build().unwrap().get(format!("http://{listen}/healthz")).send().await;
    assert!(plain.is_err(), "there is nothing but TLS");
    let health = || {
        let pem = server.file("server.pem");
        let program =
            dlo(&["health"]).set("DLO_WEB__LISTEN", listen).set("DLO_WEB__TLS__CERT_FILE", pem.to_str().unwrap());
        { program.set("DLO_WEB__TLS__KEY_FILE", server.file("server.key").to_str().unwrap()) }.run()
    };
    assert!(health().expect(0).stdout.contains("status"), "it knows its own certificate, whatever name that is for");
    copy(second.path(), &server.file(""), &["server.pem"]);
    server.says("the one before stays in use").await;
    assert!(is_trusted(&server, first.path()).await, "half of a pair is none");
    copy(second.path(), &server.file(""), &["server.key"]);
    server.says("another certificate is in use").await;
    wait_until("the other certificate", PATIENCE, async || is_trusted(&server, second.path()).await).await;
}

#[test]
fn files_that_make_no_certificate_are_said() {
    let folder = tempfile::tempdir().unwrap();
    certificates(folder.path());
    let check = |certificate: &str, key: &str, part: &str| {
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let program = dlo(&["check"]).set("DLO_BROKERS__MAIN__URL", "amqp://127.0.0.1:1");
        let program =
            program.set("DLO_WEB__TLS__CERT_FILE", &file(certificate)).set("DLO_WEB__TLS__KEY_FILE", &file(key));
        let said = { program }.run().expect(1).stdout;
        let line = said.lines().find(|line| line.contains("certificate ")).unwrap();
        assert!(line.contains(part), "{line}");
    };
    check("server.pem", "server.key", "ok    certificate");
    check("server.pem", "ca.key", "are no pair");
    check("missing.pem", "server.key", "cannot be read");
    check("server.key", "server.key", "has no certificate");
    let half = { dlo(&["check"]).set("DLO_WEB__TLS__KEY_FILE", "server.key") }.run().expect(2).stderr;
    assert!(half.contains("web.tls: it takes cert_file and key_file"), "{half}");
}

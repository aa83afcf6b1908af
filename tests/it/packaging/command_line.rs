//! What packages and containers need of the program: is it alive, man pages, completions.

use std::{collections::BTreeSet, fs, process::Command};

use crate::web::run::{dlo, serve};

#[tokio::test]
async fn a_server_without_its_broker_is_alive_and_not_ready() {
    let server = serve().set("DLO_BROKERS__MAIN__URL", "amqp://127.0.0.1:1").open().await;
    let listen = server.url.strip_prefix("http://").unwrap();
    let ask = |arguments: &[&str], code: i32| dlo(arguments).set("DLO_WEB__LISTEN", listen).run().expect(code).stdout;
    assert!(ask(&["health"], 0).starts_with("{\"status\":\""));
    // It is said to be unreachable as soon as that was tried.
    server.says("main").await;
    assert!(ask(&["health", "--ready"], 1).contains("\"status\":\"unready\""));
}

#[test]
fn nobody_is_not_alive() {
    let ended = dlo(&["health"]).set("DLO_WEB__LISTEN", "127.0.0.1:1").run().expect(1);
    assert!(ended.stderr.contains("no answer from http://127.0.0.1:1/healthz"), "{}", ended.stderr);
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        // Also where there is no configuration that can be used.
        let script = dlo(&["completions", shell]).config("[nonsense]").run().expect(0).stdout;
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not complete {command}");
        }
        if shell == "bash" {
            let file = dlo(&[]).holds("script", script.as_bytes());
            let checked = Command::new("bash").arg("-n").arg(file.file("script")).output().unwrap();
            assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        }
    }
    dlo(&["completions", "tcsh"]).run().expect(2);
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man");
    dlo(&["man", pages.to_str().unwrap()]).config("[nonsense]").run().expect(0);
    let there: BTreeSet<String> =
        fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for page in commands().into_iter().map(|command| format!("dlo-{command}.1")).chain(["dlo.1".to_owned()]) {
        assert!(there.contains(&page), "{page} is not among {there:?}");
        assert!(fs::read_to_string(pages.join(&page)).unwrap().contains("\n.SH SYNOPSIS\n"), "{page}");
    }
}

/// Those that `dlo --help` lists.
fn commands() -> Vec<String> {
    let help = dlo(&["--help"]).run().expect(0).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned));
    let names: Vec<String> = names.filter(|name| !name.is_empty() && name != "help").collect();
    assert!(names.len() > 5, "{names:?}");
    names
}

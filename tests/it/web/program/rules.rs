//! Rules in a file: read at the start, shown on the page, and read again when it changes.

use std::fs;

use super::super::run::{Ended, PATIENCE, Program, dlo, serve};
use crate::support::process::wait_until;

const RIGHT: &str = "[[rule]]\nname = \"texts\"\nwhen = 'letter.queue == \"texts\"'\nimportance = \"high\"\n";

fn with_file(program: Program, rules: &str) -> Program {
    program.config("[rules]\nfile = \"rules.toml\"").holds("rules.toml", rules.as_bytes())
}

#[test]
fn an_server_does_not_open_with_rules_that_are_wrong() {
    let wrong = RIGHT.replace("letter.queue", "letter.quue");
    let mut program = with_file(serve().with("--roles=web"), &wrong);
    let Ended { stdout, stderr, .. } = program.run().expect(1);
    let said = format!("{stdout}{stderr}");
    assert!(said.contains("rules.file: rules.toml: the rule \"texts\": line 1, column 8"), "{said}");
}

#[test]
fn a_check_reads_them() {
    let check = |rules: &str| with_file(dlo(&["check"]), rules).run().stdout;
    assert!(check(RIGHT).contains("ok    rules in rules.toml: 1 rule\n"), "{}", check(RIGHT));
    let said = check("[[rule]]\nname = \"a\"");
    assert!(said.contains("FAIL  rules in rules.toml: ") && said.contains("when"), "{said}");
    let gone = dlo(&["check"]).set("DLO_RULES__FILE", "gone.toml").run().stdout;
    assert!(gone.contains("FAIL  rules in gone.toml: No such file"), "{gone}");
    for said in [said, gone, check(&RIGHT.replace("letter.queue", "letter.quue"))] {
        assert_eq!(said.matches(".toml").count(), 1, "{said}");
    }
}

#[tokio::test]
async fn a_file_that_breaks_later_leaves_the_rules_as_they_are() {
    let server = with_file(serve().with("--roles=web"), RIGHT).open().await;
    let page = async || server.get("/rules").await.text().await.unwrap();
    let has = async |text: &str| wait_until(text, PATIENCE, async || page().await.contains(text)).await;
    let first = page().await;
    assert!(first.contains("rules.toml") && !first.contains("action=\"/rules/remove\""), "{first}");
    assert!(!first.contains("class=\"btn-primary\">Save"), "nothing can be saved");
    // At one stroke: while it is being written it is empty, and right.
    fs::write(server.file("written.toml"), "[[rule]").unwrap();
    fs::rename(server.file("written.toml"), server.file("rules.toml")).unwrap();
    has("The file has an error.").await;
    assert!(page().await.contains("texts"));
    let refused =
        server.post("/api/v1/rules", &serde_json::json!({"name": "a", "when": "true", "importance": "low"})).await;
    assert_eq!(refused.status(), 409);
    fs::write(server.file("rules.toml"), RIGHT.replace("\"texts\"\n", "\"words\"\n")).unwrap();
    has("words").await;
    assert!(!page().await.contains("The file has an error"));
}

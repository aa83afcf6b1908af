//! The pages of the reference that are made from tables of the program.

use std::collections::BTreeMap;

use failure_conventions::stripped::STRIPPED;
use failure_conventions::{dlo_headers, frameworks};
use rule_language as rules;

use super::{check_part, code, table};
use crate::{packaging::everything_counted, web::run::dlo};

#[test]
fn the_page_of_the_commands() {
    let text = |arguments: &[&str]| dlo(arguments).set("COLUMNS", "100").run().expect(0).stdout;
    let all = text(&["--help"]);
    let (_, list) = all.split_once("Commands:\n").unwrap();
    let names = list.lines().take_while(|line| line.starts_with("  ")).filter_map(|line| line[2..].split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.contains(&"serve"), "{names:?}");
    let commands =
        names.iter().map(|name| format!("## `dlo {name}`\n\n```text\n{}\n```\n", text(&[name, "--help"]).trim()));
    let all = format!("```text\n{}\n```\n", all.trim());
    check_part("commands.md", "help", &[all].into_iter().chain(commands).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_page_of_the_headers() {
    let row = |(name, meaning): &(&str, &str)| [code(name), meaning.trim().to_owned()];
    let is_written = |(name, _): &&(&str, &str)| dlo_headers::WRITTEN.contains(name);
    let (written, read): (Vec<_>, Vec<_>) = dlo_headers::ALL.iter().partition(is_written);
    check_part("headers.md", "written", &table(["header", "meaning"], written.into_iter().map(row)));
    check_part("headers.md", "read", &table(["header", "meaning"], read.into_iter().map(row)));
    check_part("headers.md", "removed", &table(["header", "why"], STRIPPED.iter().map(row)));
}

#[test]
fn the_page_of_the_frameworks() {
    let mut frameworks: Vec<_> = frameworks().collect();
    frameworks.sort_by_key(|framework| framework.name.to_lowercase());
    let rows = frameworks.iter().map(|its| [its.name, its.records, its.retried].map(str::to_owned));
    check_part("frameworks.md", "frameworks", &table(["framework", "its messages say", "a retry"], rows));
    let advice: String = frameworks.iter().map(|its| format!("- **{}**: {}\n", its.name, its.advice)).collect();
    check_part("frameworks.md", "advice", &advice);
}

#[test]
fn the_page_of_the_rule_language() {
    let fields = rules::FIELDS.iter().map(|(name, meaning)| [code(name), (*meaning).to_owned()]);
    check_part("rules.md", "fields", &table(["field", "meaning"], fields));
    let functions = rules::functions().map(|its| [code(&its.usage), its.takes, its.gives.to_owned()]);
    check_part("rules.md", "functions", &table(["function", "on", "gives"], functions));
    let limits = [
        ("characters of a rule", rules::MAX_CHARACTERS),
        ("words, numbers, texts and signs of a rule", rules::MAX_TOKENS),
        ("brackets within each other", rules::MAX_BRACKETS),
        ("steps that build on each other", rules::MAX_DEPTH),
        ("bytes of a compiled pattern", rules::MAX_PATTERN),
        ("steps of a rule for a letter", rules::MAX_STEPS),
        ("steps of all rules for a letter", rules::MAX_STEPS_PER_MESSAGE),
        ("steps that a rule has in any case", rules::MIN_STEPS),
        ("bytes of a text that a rule makes", rules::MAX_TEXT),
        ("bytes of a payload's JSON that rules read", rules::MAX_PAYLOAD),
        ("values of a payload that rules read", rules::MAX_PAYLOAD_VALUES),
    ];
    let limits = limits.map(|(limit, value)| [limit.to_owned(), value.to_string()]);
    check_part("rules.md", "limits", &table(["limit", "value"], limits));
}

#[test]
fn the_page_of_the_metrics() {
    let text = everything_counted().encode();
    let about = |kind: &str| -> BTreeMap<&str, &str> {
        text.lines().filter_map(|line| line.strip_prefix(kind)?.trim_start().split_once(' ')).collect()
    };
    let (meanings, types) = (about("# HELP"), about("# TYPE"));
    let rows = types.iter().map(|(name, kind)| {
        let sample = text
            .lines()
            .find(|line| line.split(['{', ' ']).next().is_some_and(|its| its.trim_end_matches("_total") == *name));
        let sample = sample.unwrap_or_else(|| panic!("{name} has no sample"));
        let whole = sample.split(['{', ' ']).next().unwrap_or_default();
        [code(whole), (*kind).to_owned(), labels(sample), meanings[name].trim_end_matches('.').to_owned()]
    });
    check_part("metrics.md", "metrics", &table(["metric", "type", "labels", "meaning"], rows));
}

fn labels(sample: &str) -> String {
    let Some((_, rest)) = sample.split_once('{') else { return String::new() };
    let (inside, _) = rest.split_once('}').unwrap_or_default();
    let names: Vec<String> =
        inside.split("\",").filter_map(|label| label.split_once('=')).map(|(name, _)| code(name)).collect();
    names.join(", ")
}

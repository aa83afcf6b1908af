//! `[rules]`, and the file that rules may stand in.

use std::path::Path;

use serde::Deserialize;
use uuid::Uuid;

use super::values::word;
use crate::domain::{
    letter::Importance,
    rule::{ActiveRule, Rule, RuleId},
};

/// `[rules]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RulesConfig {
    pub file: String,
}

/// A file of rules: `[[rule]]` tables in the order in which they are tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleFile {
    #[serde(default)]
    rule: Vec<RuleTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    name: String,
    when: String,
    #[serde(deserialize_with = "word")]
    importance: Importance,
}

/// The rules of a file.
///
/// # Errors
/// What is wrong with it, in words. Whether expressions are right is not looked at here.
pub async fn rules_of(file: &Path) -> Result<Vec<ActiveRule>, String> {
    let text = tokio::fs::read_to_string(file).await.map_err(|error| format!("{}: {error}", file.display()))?;
    read(&text).map_err(|why| format!("{}: {why}", file.display()))
}

fn read(text: &str) -> Result<Vec<ActiveRule>, String> {
    let file: RuleFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut rules: Vec<ActiveRule> = Vec::with_capacity(file.rule.len());
    for (table, number) in file.rule.into_iter().zip(1_u128..) {
        if rules.iter().any(|active| active.rule.name == table.name) {
            return Err(format!("two rules are called {:?}", table.name));
        }
        let rule = Rule { name: table.name, expression: table.when, importance: table.importance };
        // Their places name them: there is nothing else that an edit of the file leaves as it is.
        rules.push(ActiveRule { id: RuleId::from_uuid(Uuid::from_u128(number)), rule, set: None });
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_come_in_their_order() {
        let text = "[[rule]]\nname = \"texts\"\nwhen = 'letter.queue == \"texts\"'\nimportance = \"high\"\n
            [[rule]]\nname = \"rest\"\nwhen = \"true\"\nimportance = \"low\"";
        let rules = read(text).unwrap();
        let names: Vec<&str> = rules.iter().map(|standing| &*standing.rule.name).collect();
        assert_eq!(names, ["texts", "rest"]);
        assert_eq!(rules[0].rule.expression, "letter.queue == \"texts\"");
        assert_eq!(rules[1].rule.importance, Importance::Low);
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_is_reported() {
        let check = |text: &str, part: &str| {
            let why = read(text).unwrap_err();
            assert!(why.contains(part), "{why}");
        };
        let rule = "[[rule]]\nname = \"a\"\nwhen = \"true\"\nimportance = \"low\"\n";
        check(&rule.repeat(2), "two rules are called \"a\"");
        check(&rule.replace("low", "lower"), "critical, high, normal, low");
        check(&rule.replace("when", "if"), "unknown field `if`");
        check("[[rules]]", "unknown field `rules`");
        check("x", "TOML parse error");
    }
}

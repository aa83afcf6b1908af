//! What there is to say of a rule and of what has become of it.

use super::{MAX_NAME, RuleError};
use crate::domain::rule::Rule;

/// A rule as it is kept: without space around it, and with the line breaks of everybody.
pub(crate) fn tidy(rule: &Rule) -> Rule {
    let expression = rule.expression.replace("\r\n", "\n").trim_end().to_owned();
    Rule { name: rule.name.trim().to_owned(), expression, importance: rule.importance }
}

pub(crate) fn check_name(name: &str) -> Result<(), RuleError> {
    if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
        return Err(RuleError::Name(format!("a name takes 1 to {MAX_NAME} characters in one line")));
    }
    Ok(())
}

pub(crate) fn described(rule: &Rule) -> String {
    format!("{}: {}", rule.importance, rule.expression)
}

/// What has become of a rule that stood at `place`.
pub(crate) fn changed(was: &Rule, place: usize, is: &Rule, new_place: Option<usize>) -> String {
    let mut parts = Vec::new();
    if was.name != is.name {
        parts.push(format!("it was called {:?}", was.name));
    }
    if was.importance != is.importance {
        parts.push(format!("{} instead of {}", is.importance, was.importance));
    }
    if was.expression != is.expression {
        parts.push(format!("{} instead of {}", is.expression, was.expression));
    }
    if let Some(new_place) = new_place.filter(|new_place| *new_place != place) {
        parts.push(format!("number {} instead of {}", new_place + 1, place + 1));
    }
    if parts.is_empty() { "as it was".to_owned() } else { parts.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::letter::Importance;

    fn rule(name: &str, expression: &str, importance: Importance) -> Rule {
        Rule { name: name.to_owned(), expression: expression.to_owned(), importance }
    }

    #[test]
    fn what_has_become_of_a_rule_is_told_in_its_parts() {
        let was = rule("a", "true", Importance::High);
        let check = |is: Rule, place, expected: &str| assert_eq!(changed(&was, 1, &is, place), expected);
        check(was.clone(), None, "as it was");
        check(was.clone(), Some(1), "as it was");
        check(was.clone(), Some(0), "number 1 instead of 2");
        check(
            rule("b", "false", Importance::Low),
            None,
            "it was called \"a\"; low instead of high; false instead of true",
        );
    }

    #[test]
    fn a_rule_is_kept_without_what_forms_add() {
        assert_eq!(tidy(&rule(" a ", " a\r\n  b \r\n", Importance::Low)), rule("a", " a\n  b", Importance::Low));
    }

    #[test]
    fn names_are_one_line() {
        let check = |name: &str, ok: bool| assert_eq!(check_name(name).is_ok(), ok, "{name:?}");
        check("texts in the EU", true);
        check(&"ä".repeat(MAX_NAME), true);
        check(&"a".repeat(MAX_NAME + 1), false);
        check("", false);
        check("a\nb", false);
    }
}

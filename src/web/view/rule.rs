//! Rules of importance, as the page shows them.

use amqp_message::time::Timestamp;
use rule_language::Mistake;

use super::{number, text, time::Moment};
use crate::{
    domain::{
        activity::{ActivityEntry, AuditEntry},
        rule::{ActiveRule, RuleFailures},
        version::Versioned,
    },
    services::rules::{BY_RULE, DEFAULT, RuleBook},
};

/// Where rules are seen and changed.
pub const RULES: &str = "/rules";

/// One line of the rules in force.
#[derive(Debug)]
pub struct RuleRow {
    pub id: String,
    /// The version of it that is shown.
    pub version: String,
    /// From 1 on.
    pub number: usize,
    pub name: String,
    pub expression: String,
    pub importance: &'static str,
    pub set: Option<SetView>,
    pub failures: Option<FailuresView>,
    /// Why it cannot be tried.
    pub mistakes: Vec<MistakeView>,
    pub is_first: bool,
    pub is_last: bool,
    /// Whether the address asks for it.
    pub is_meant: bool,
}

/// Who wrote it, and when.
#[derive(Debug)]
pub struct SetView {
    pub by: String,
    pub at: Moment,
}

/// That it could not be tried.
#[derive(Debug)]
pub struct FailuresView {
    /// `12 letters`
    pub letters: String,
    pub last_at: Moment,
    pub last_error: String,
    pub last_letter: String,
}

impl RuleRow {
    pub fn new(
        book: &RuleBook,
        place: usize,
        active: &ActiveRule,
        failures: Option<&RuleFailures>,
        now: Timestamp,
    ) -> Self {
        let rule = &active.rule;
        Self {
            id: active.id.to_string(),
            version: active.version().to_string(),
            number: place + 1,
            name: text::one_line(&rule.name),
            expression: text::visible(&rule.expression).into_owned(),
            importance: rule.importance.as_str(),
            set: active
                .set
                .as_ref()
                .map(|(by, at)| SetView { by: text::one_line(by.as_str()), at: Moment::new(*at, now) }),
            failures: failures.map(|failures| FailuresView {
                letters: number::plural(failures.count, "dead letter"),
                last_at: Moment::new(failures.last_at, now),
                last_error: text::one_line(&failures.last_error),
                last_letter: failures.last_letter.to_string(),
            }),
            mistakes: MistakeView::all(book.mistakes(active.id), &rule.expression),
            is_first: place == 0,
            is_last: place + 1 == book.active().len(),
            is_meant: false,
        }
    }
}

/// A mistake under the line it is in.
#[derive(Debug, PartialEq, Eq)]
pub struct MistakeView {
    /// `line 1, column 8`
    pub place: String,
    pub message: String,
    /// The line in three parts, of which the second is wrong.
    pub before: String,
    pub wrong: String,
    pub after: String,
    /// Spaces and carets to stand under the line.
    pub carets: String,
}

impl MistakeView {
    /// Characters of a line that are shown on either side.
    const AROUND: usize = 60;
    /// Carets at most.
    const WIDEST: usize = 40;

    pub fn all(mistakes: &[Mistake], expression: &str) -> Vec<Self> {
        mistakes.iter().map(|mistake| Self::new(mistake, expression)).collect()
    }

    fn new(mistake: &Mistake, expression: &str) -> Self {
        let (start, end) = (mistake.start, mistake.end);
        let line: Vec<char> = expression.lines().nth(start.line - 1).unwrap_or_default().chars().collect();
        let from = (start.column - 1).min(line.len());
        // What goes on in the next line is marked up to the end of this one.
        let to = if end.line == start.line { (end.column - 1).clamp(from, line.len()) } else { line.len() };
        let first = from.saturating_sub(Self::AROUND);
        let last = line.len().min(to.min(from + Self::WIDEST) + Self::AROUND);
        let part = |from: usize, to: usize| -> String {
            text::one_line(&line.get(from..to.max(from)).unwrap_or_default().iter().collect::<String>())
        };
        let before = format!("{}{}", if first > 0 { "…" } else { "" }, part(first, from));
        let after = format!("{}{}", part(to, last), if last < line.len() { "…" } else { "" });
        let width = to.saturating_sub(from).clamp(1, Self::WIDEST);
        Self {
            place: start.to_string(),
            message: text::one_line(&mistake.message),
            carets: format!("{}{}", " ".repeat(before.chars().count()), "^".repeat(width)),
            before,
            wrong: part(from, to),
            after,
        }
    }
}

/// What somebody did to rules.
#[derive(Debug)]
pub struct ChangeRow {
    pub at: Moment,
    pub by: String,
    /// `wrote`, `removed`
    pub verb: &'static str,
    /// The rule; empty where it is about all of them.
    pub name: String,
    pub detail: String,
}

impl ChangeRow {
    pub fn new(entry: &ActivityEntry, now: Timestamp) -> Self {
        /// Characters of what there is to say; the expression stands in full where it is in force.
        const DETAIL: usize = 600;
        let AuditEntry { at, by, action, subject, letters, detail, .. } = &entry.entry;
        let verb = match action.as_str() {
            "set" => "wrote",
            "remove" => "removed",
            "order" => "changed the order",
            "apply" => "applied the rules",
            _ => "changed",
        };
        let letters = (*letters > 0).then(|| format!("to {}", number::plural(*letters, "dead letter")));
        let detail = Some(text::visible(detail).into_owned()).filter(|detail| !detail.is_empty());
        let detail = [letters, detail].into_iter().flatten().collect::<Vec<_>>().join("; ");
        Self {
            at: Moment::new(*at, now),
            by: text::one_line(by.as_str()),
            verb,
            name: text::one_line(subject),
            detail: text::shortened(&detail, DETAIL),
        }
    }
}

/// Who says how important a letter is.
#[derive(Debug, PartialEq, Eq)]
pub struct ImportanceBy {
    pub text: String,
    /// Where one sees why.
    pub href: Option<String>,
}

impl ImportanceBy {
    pub fn new(word: &str) -> Self {
        match word.strip_prefix(BY_RULE) {
            Some(name) => {
                let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("rule", name).finish();
                Self { text: format!("rule {}", text::one_line(name)), href: Some(format!("{RULES}?{query}#meant")) }
            }
            None if word == DEFAULT => Self { text: "no rule matches".to_owned(), href: Some(RULES.to_owned()) },
            None => Self { text: "set by hand".to_owned(), href: None },
        }
    }
}

/// Where one writes a rule for letters like this one.
pub fn new_rule_href(queue: Option<&str>, message_type: Option<&str>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in [("queue", queue), ("type", message_type)] {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    let query = query.finish();
    if query.is_empty() { format!("{RULES}#rule") } else { format!("{RULES}?{query}#rule") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rule_language::{Expression, Place};

    fn mistake(line: usize, column: usize, end_line: usize, end_column: usize) -> Mistake {
        let message = "no".to_owned();
        Mistake { start: Place { line, column }, end: Place { line: end_line, column: end_column }, message }
    }

    #[test]
    fn a_mistake_is_marked_where_it_stands() {
        let check = |mistake: Mistake, expression: &str, parts: [&str; 4]| {
            let view = MistakeView::new(&mistake, expression);
            assert_eq!([&*view.before, &*view.wrong, &*view.after, &*view.carets], parts);
        };
        check(mistake(1, 3, 1, 5), "abcdef", ["ab", "cd", "ef", "  ^^"]);
        check(mistake(2, 1, 2, 2), "ab\näö", ["", "ä", "ö", "^"]);
        check(mistake(1, 3, 1, 3), "ab", ["ab", "", "", "  ^"]);
        check(mistake(1, 2, 2, 2), "ab\ncd", ["a", "b", "", " ^"]);
        check(mistake(9, 9, 9, 9), "ab", ["", "", "", "^"]);
        let long = "x".repeat(200);
        let around = "x".repeat(MistakeView::AROUND);
        let carets = format!("{}^", " ".repeat(MistakeView::AROUND + 1));
        check(mistake(1, 101, 1, 102), &long, [&format!("…{around}"), "x", &format!("{around}…"), &carets]);
    }

    #[test]
    fn what_the_language_says_is_wrong_is_shown() {
        let expression = "letter.attempts > 3 &&\n  letter.quue == \"a\"";
        let mistakes = Expression::compile(expression).unwrap_err();
        let view = MistakeView::all(&mistakes, expression);
        assert_eq!((view.len(), view[0].place.starts_with("line 2, column "), &*view[0].wrong), (1, true, "quue"));
    }

    #[test]
    fn who_says_so_leads_to_where_one_sees_why() {
        let check = |word: &str, text: &str, href: Option<&str>| {
            let expected = ImportanceBy { text: text.to_owned(), href: href.map(str::to_owned) };
            assert_eq!(ImportanceBy::new(word), expected);
        };
        check("default", "no rule matches", Some("/rules"));
        check("manual", "set by hand", None);
        check("rule:a & b", "rule a & b", Some("/rules?rule=a+%26+b#meant"));
    }

    #[test]
    fn a_new_rule_begins_with_what_is_known() {
        assert_eq!(new_rule_href(Some("a b"), Some("x.Y")), "/rules?queue=a+b&type=x.Y#rule");
        assert_eq!(new_rule_href(None, None), "/rules#rule");
    }
}

//! What the letters of a group or a search have in common, in words.

use std::collections::BTreeSet;

use contrast_sets::{Condition, Contrast, Fact, Measure};
use search_language::Language;

use super::{
    number::{bytes, plural, thousands},
    text,
};
use crate::{
    domain::{column::Column, search::Parsed},
    services::causes::{Elsewhere, FEWEST, InCommon, LARGEST},
};

/// Characters of a value that are shown.
const LONGEST: usize = 80;

/// The panel.
#[derive(Debug)]
pub struct InCommonView {
    pub rows: Vec<CommonRow>,
    /// Whether there was enough to compare.
    pub is_compared: bool,
    /// Who was compared with whom, or why nothing was.
    pub compared: String,
}

/// What is compared with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    Group,
    Search,
}

impl Compared {
    const fn too_few(self) -> &'static str {
        match self {
            Self::Group => "The group has too few dead letters to compare",
            Self::Search => "These are too few dead letters to compare",
        }
    }

    const fn no_others(self) -> &'static str {
        match self {
            Self::Group => {
                "There is too little to compare with: no other dead letters of this queue or type, and none that succeeded on a \
                 retry."
            }
            Self::Search => "There is too little to compare with: hardly any other dead letters of these queues.",
        }
    }

    /// Whom they are compared with, each with how many there are.
    const fn others(self, elsewhere: Elsewhere) -> [(usize, &'static str); 3] {
        let Elsewhere { other_groups, succeeded, same_type, .. } = elsewhere;
        match self {
            Self::Group => [
                (other_groups, "of other groups of this queue"),
                (succeeded, "of this queue that were retried and have not failed again"),
                (same_type, "of the same type in other queues"),
            ],
            Self::Search => [
                (other_groups, "others of the same queues"),
                (succeeded, "of the same queues that were retried and have not failed again"),
                (same_type, "of the same types in other queues"),
            ],
        }
    }
}

/// One condition, and how often it holds.
#[derive(Debug)]
pub struct CommonRow {
    /// `payload.total.currency`
    pub attribute: String,
    /// `is missing`
    pub says: String,
    pub here: Share,
    pub elsewhere: Share,
    /// A list of the letters for which it holds; none where no search asks for that.
    pub found: Option<String>,
    /// Where the group is split by it; none where all say the same, or it is no field.
    pub split: Option<String>,
    /// What holds for nearly the same messages, and a list of those, where a search asks for it.
    pub same: Vec<(String, Option<String>)>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Share {
    pub percent: u64,
    /// `98 %`; all and none are said only of all and none.
    pub text: String,
    /// `392 of 400`
    pub count: String,
}

impl Share {
    fn new(count: usize, of: usize) -> Self {
        let percent = match (count * 200 + of).checked_div(of * 2).unwrap_or_default() {
            0 if count > 0 => 1,
            100 if count < of => 99,
            percent => percent as u64,
        };
        let count = format!("{} of {}", thousands(count as u64), thousands(of as u64));
        Self { percent, text: format!("{percent} %"), count }
    }
}

impl InCommonView {
    /// `list` is the address of the list with a term of a search, `split` where the group is split by a field.
    pub fn new(
        of: Compared,
        found: &InCommon,
        list: impl Fn(&str) -> Option<String>,
        split: impl Fn(&Column) -> Option<String>,
    ) -> Self {
        let splits = |contrast: &Contrast| {
            let field = contrast.attribute.parse().ok().filter(|_| contrast.here < found.here)?;
            split(&field)
        };
        let found_by = |attribute: &str, condition: &Condition| {
            term(attribute, condition, &found.untold).and_then(|term| list(&term))
        };
        let same =
            |attribute: &str, condition: &Condition| (in_words(attribute, condition), found_by(attribute, condition));
        let row = |contrast: &Contrast| CommonRow {
            attribute: text::shortened(&text::one_line(&contrast.attribute), LONGEST),
            says: says(&contrast.attribute, &contrast.condition),
            here: Share::new(contrast.here, found.here),
            elsewhere: Share::new(contrast.elsewhere, found.elsewhere.total()),
            found: found_by(&contrast.attribute, &contrast.condition),
            split: splits(contrast),
            same: contrast.same.iter().map(|(attribute, condition)| same(attribute, condition)).collect(),
        };
        Self {
            rows: found.contrasts.iter().map(row).collect(),
            is_compared: found.here >= FEWEST && found.elsewhere.total() >= FEWEST,
            compared: compared(of, found),
        }
    }
}

/// Whole numbers below it are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The search for it, where there is one that finds the same. Whether a field is there that is null or hidden somewhere, the
/// index does not know.
fn term(attribute: &str, condition: &Condition, untold: &BTreeSet<String>) -> Option<String> {
    let is_field = ["payload.", "header."].iter().any(|place| attribute.starts_with(place)) || attribute == "size";
    let compared = |comparison: &str, value: String| format!("{attribute}:{comparison}{}", Language::written(&value));
    let term = match condition {
        Condition::Missing | Condition::Present if untold.contains(attribute) => return None,
        Condition::Missing => format!("-{attribute}:*"),
        Condition::Present => format!("{attribute}:*"),
        // Without quotes it would be every text that is this number.
        Condition::Is(Fact::Text(text)) if text.parse::<f64>().is_ok() => {
            format!("{attribute}:{}", Language::quoted(text))
        }
        Condition::Is(Fact::Text(text)) => compared("", text.clone()),
        Condition::Is(Fact::Number(number)) if number.abs() >= EXACT => return None,
        Condition::Is(Fact::Number(number)) => compared("", number.to_string()),
        Condition::Is(Fact::Bool(is)) => compared("", is.to_string()),
        Condition::AtLeast(Measure::Value, least) => compared(">=", least.to_string()),
        Condition::AtMost(Measure::Value, most) => compared("<=", most.to_string()),
        Condition::Empty | Condition::Is(_) | Condition::AtLeast(..) | Condition::AtMost(..) => return None,
    };
    // A name with a colon or a comma would be read as another.
    let is_meant = is_field && Parsed::read(&term).is_ok_and(|parsed| parsed.asks_for(attribute));
    is_meant.then_some(term)
}

fn in_words(attribute: &str, condition: &Condition) -> String {
    format!("{} {}", text::shortened(&text::one_line(attribute), LONGEST), says(attribute, condition))
}

/// What holds for the attribute, as the end of a sentence that begins with its name.
pub fn says(attribute: &str, condition: &Condition) -> String {
    match condition {
        Condition::Missing if attribute == "payload" => "cannot be read as fields".to_owned(),
        Condition::Present if attribute == "payload" => "can be read as fields".to_owned(),
        Condition::Missing => "is missing".to_owned(),
        Condition::Empty => "is empty".to_owned(),
        Condition::Present => "is present".to_owned(),
        Condition::Is(fact) => format!("is {}", value(fact)),
        Condition::AtLeast(measure, least) => measured(*measure, "at least", *least),
        Condition::AtMost(measure, most) => measured(*measure, "at most", *most),
    }
}

fn measured(measure: Measure, bound: &str, value: f64) -> String {
    let count = value as u64;
    match measure {
        Measure::Value => format!("is {bound} {}", number(value)),
        Measure::Items => format!("has {bound} {}", plural(count, "item")),
        Measure::Length => format!("has {bound} {}", plural(count, "character")),
    }
}

fn value(fact: &Fact) -> String {
    match fact {
        Fact::Bool(is) => is.to_string(),
        Fact::Number(value) => number(*value),
        Fact::Text(value) => format!("“{}”", text::shortened(&text::one_line(value), LONGEST)),
        Fact::Items(items) => plural(*items as u64, "item"),
        Fact::Long(characters) => plural(*characters as u64, "character"),
        Fact::Null => "null".to_owned(),
        Fact::Hidden | Fact::Object => "present".to_owned(),
    }
}

/// Whole numbers as they are counted, others as they are written.
fn number(value: f64) -> String {
    if value.fract() != 0.0 || value.abs() >= EXACT {
        return value.to_string();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", thousands(value.abs() as u64))
}

/// `400 of its 12,431 dead letters, compared with 200 of other groups of this queue and 200 that succeeded on a retry.`
fn compared(of: Compared, found: &InCommon) -> String {
    let InCommon { here, total, elsewhere, .. } = found;
    if of == Compared::Group && total.n == 0 {
        return "It has no dead letters but those that were sent back and have not failed again, which are not compared.".to_owned();
    }
    if *here < FEWEST {
        let small = (total.n >= FEWEST as u64).then(|| format!(" with a body of {} at most", bytes(LARGEST)));
        return format!("{}: it takes {FEWEST}{}.", of.too_few(), small.unwrap_or_default());
    }
    if elsewhere.total() < FEWEST {
        return format!("{} Bodies above {} are not read.", of.no_others(), bytes(LARGEST));
    }
    let whole = if *here as u64 >= total.n && !total.is_least {
        format!("All {} dead letters", thousands(*here as u64))
    } else {
        let at_least = if total.is_least { "at least " } else { "" };
        format!("A sample of {} of {at_least}{} dead letters", thousands(*here as u64), thousands(total.n))
    };
    let parts = of.others(*elsewhere);
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", thousands(*n as u64))).collect();
    let time = if elsewhere.is_same_time { ", all of the same time" } else { "" };
    format!("{whole} compared with {}{time}.", parts.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::filter::Counted, services::causes::Elsewhere};

    #[test]
    fn conditions_in_words() {
        fn check(condition: Condition, expected: &str) {
            assert_eq!(says("payload.x", &condition), expected);
        }
        check(Condition::Missing, "is missing");
        check(Condition::Is(Fact::Text("ISK".to_owned())), "is “ISK”");
        check(Condition::Is(Fact::Number(0.5)), "is 0.5");
        check(Condition::AtLeast(Measure::Value, -4_000.0), "is at least -4,000");
        check(Condition::AtMost(Measure::Items, 1.0), "has at most 1 item");
        check(Condition::AtLeast(Measure::Length, 80.0), "has at least 80 characters");
        assert_eq!(says("payload", &Condition::Missing), "cannot be read as fields");
    }

    #[test]
    fn what_can_be_searched_for_is() {
        let untold = BTreeSet::from(["payload.pin".to_owned()]);
        let check = |attribute, condition, expected: Option<&str>| {
            assert_eq!(term(attribute, &condition, &untold).as_deref(), expected, "{attribute} {condition:?}");
        };
        let text = |text: &str| Condition::Is(Fact::Text(text.to_owned()));
        check("payload.total.currency", Condition::Missing, Some("-payload.total.currency:*"));
        check("payload.name", text("Zoë Ångström"), Some("payload.name:\"Zoë Ångström\""));
        check("header.x-tenant", text("eu"), Some("header.x-tenant:eu"));
        check("payload.cents", Condition::AtLeast(Measure::Value, 4_000.0), Some("payload.cents:>=4000"));
        check("size", Condition::AtMost(Measure::Value, 92.0), Some("size:<=92"));
        check("payload.items", Condition::AtLeast(Measure::Items, 3.0), None);
        check("payload.a b", Condition::Missing, None);
        check("routing key", text("x"), None);
        check("payload", Condition::Missing, None);
        check("payload.pin", Condition::Missing, None);
        check("payload.pin", Condition::Present, None);
        check("payload.pin", text("7a"), Some("payload.pin:7a"));
        check("payload.soap:Envelope", Condition::Missing, None);
        check("payload.soap:Envelope", text("x"), None);
        check("payload.a,b", Condition::Present, None);
        check("payload.zip", text("0123"), Some("payload.zip:\"0123\""));
        check("payload.zip", Condition::Is(Fact::Number(123.0)), Some("payload.zip:123"));
        check("payload.id", Condition::Is(Fact::Number(EXACT)), None);
        check("payload.mark", text("*"), Some("payload.mark:\"*\""));
    }

    #[test]
    fn all_and_none_are_said_only_of_all_and_none() {
        let check = |count, of, expected: &str| assert_eq!(Share::new(count, of).text, expected, "{count} of {of}");
        check(400, 400, "100 %");
        check(399, 400, "99 %");
        check(1, 400, "1 %");
        check(0, 400, "0 %");
        check(1, 8, "13 %");
        check(0, 0, "0 %");
    }

    #[test]
    fn it_is_said_who_was_compared_with_whom() {
        let elsewhere = Elsewhere { other_groups: 300, succeeded: 100, ..Elsewhere::default() };
        let total = Counted { n: 12_431, is_least: false };
        let found = InCommon { here: 400, total, elsewhere, ..InCommon::default() };
        let compared = |found: &InCommon| compared(Compared::Group, found);
        assert_eq!(
            compared(&found),
            "A sample of 400 of 12,431 dead letters compared with 300 of other groups of this queue and 100 of this queue that \
             were retried and have not failed again."
        );
        let now = InCommon { elsewhere: Elsewhere { is_same_time: true, ..elsewhere }, ..found.clone() };
        assert!(compared(&now).ends_with("have not failed again, all of the same time."), "{}", compared(&now));
        assert!(compared(&InCommon { here: 3, ..found.clone() }).contains("too few"));
        let too_large = InCommon { here: 0, ..found.clone() };
        assert!(
            compared(&too_large).ends_with("it takes 10 with a body of 64.0 KiB at most."),
            "{}",
            compared(&too_large)
        );
        assert!(compared(&InCommon { elsewhere: Elsewhere::default(), ..found }).contains("too little"));
    }
}

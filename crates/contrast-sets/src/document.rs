//! What a document says.

use std::collections::BTreeMap;

use serde_json::Value;

/// One thing that a document says of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// Something that must not be told: only that it is there takes part.
    Hidden,
    /// Nothing, said expressly.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number. What is not finite only counts as there.
    Number(f64),
    /// A text. A text that is a whole number counts as that number, too: the JSON of protobuf writes 64-bit numbers so.
    Text(String),
    /// A text of so many characters that is too long to be compared: what becomes of a longer text in a document.
    Long(usize),
    /// A list of so many.
    Items(usize),
    /// An object with members.
    Object,
}

/// Facts by attribute.
///
/// It holds at most 200 attributes, and of a list in JSON the first 20 elements; what is deeper than 16 levels is left
/// out. A document that said more may have what it seems to lack. Of a text above 64 bytes it holds the length; an
/// attribute whose name has more than 200 bytes is in no document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub(crate) facts: BTreeMap<String, Vec<Fact>>,
    /// Something is left out.
    pub(crate) is_cut: bool,
}

impl Document {
    const MOST_ATTRIBUTES: usize = 200;
    const MOST_ELEMENTS: usize = 20;
    const DEEPEST: usize = 16;
    const LONGEST_NAME: usize = 200;

    /// Adds a fact. An attribute may have several.
    pub fn add(&mut self, attribute: &str, fact: Fact) {
        if attribute.len() > Self::LONGEST_NAME {
            return;
        }
        let fact = fact.shortened();
        if let Some(facts) = self.facts.get_mut(attribute) {
            if facts.len() < Self::MOST_ELEMENTS && !facts.contains(&fact) {
                facts.push(fact);
            }
        } else if self.facts.len() < Self::MOST_ATTRIBUTES {
            self.facts.insert(attribute.to_owned(), vec![fact]);
        } else {
            self.is_cut = true;
        }
    }

    /// Says that there is more in the document than was added, so that it may have what it seems to lack.
    pub const fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Takes out all attributes but those that are to be compared.
    pub fn retain(&mut self, mut is_compared: impl FnMut(&str) -> bool) {
        self.facts.retain(|attribute, _| is_compared(attribute));
    }

    /// The attributes with a fact that says nothing to whoever looks for it: null, or hidden.
    pub fn untold(&self) -> impl Iterator<Item = &str> {
        let is_untold = |fact: &Fact| matches!(fact, Fact::Null | Fact::Hidden);
        let untold = self.facts.iter().filter(move |(_, facts)| facts.iter().any(is_untold));
        untold.map(|(attribute, _)| attribute.as_str())
    }

    /// Adds all that a value of JSON says; the attributes are the paths in it, behind `prefix`. Elements of a list have the
    /// path of their list. Texts of which `is_hidden` says so stand for hidden values.
    pub fn add_json(&mut self, prefix: &str, value: &Value, is_hidden: &dyn Fn(&str) -> bool) {
        self.add_value(&mut prefix.to_owned(), value, is_hidden, 0);
    }

    fn add_value(&mut self, path: &mut String, value: &Value, is_hidden: &dyn Fn(&str) -> bool, depth: usize) {
        if depth > Self::DEEPEST {
            self.is_cut = true;
            return;
        }
        match value {
            Value::Null => self.add(path, Fact::Null),
            Value::Bool(is) => self.add(path, Fact::Bool(*is)),
            Value::Number(number) => self.add(path, Fact::Number(number.as_f64().unwrap_or(f64::NAN))),
            Value::String(text) if is_hidden(text) => self.add(path, Fact::Hidden),
            Value::String(text) => self.add(path, Fact::Text(text.clone())),
            Value::Array(values) => {
                self.add(path, Fact::Items(values.len()));
                self.is_cut |= values.len() > Self::MOST_ELEMENTS;
                for value in values.iter().take(Self::MOST_ELEMENTS) {
                    self.add_value(path, value, is_hidden, depth + 1);
                }
            }
            Value::Object(members) => {
                self.add(path, if members.is_empty() { Fact::Items(0) } else { Fact::Object });
                for (name, value) in members {
                    let outer = path.len();
                    path.push('.');
                    path.push_str(name);
                    self.add_value(path, value, is_hidden, depth + 1);
                    path.truncate(outer);
                }
            }
        }
    }
}

impl Fact {
    /// Of a text that is not compared only its length.
    fn shortened(self) -> Self {
        /// Bytes.
        const LONGEST: usize = 64;
        match self {
            Self::Text(text) if text.len() > LONGEST => Self::Long(text.chars().count()),
            fact => fact,
        }
    }

    /// As a number, where it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        /// A longer text is an id, not a quantity.
        const LONGEST: usize = 15;
        let of_text = |text: &String| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let is_whole = !digits.is_empty() && text.len() <= LONGEST && digits.bytes().all(|b| b.is_ascii_digit());
            // With a leading zero it is a code.
            let is_code = digits.len() > 1 && digits.starts_with('0');
            (is_whole && !is_code).then(|| text.parse().ok()).flatten()
        };
        match self {
            Self::Number(number) => Some(*number).filter(|number| number.is_finite()),
            Self::Text(text) => of_text(text),
            Self::Items(_) | Self::Object | Self::Hidden | Self::Null | Self::Bool(_) | Self::Long(_) => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Null | Self::Items(0) => true,
            Self::Text(text) => text.is_empty(),
            Self::Items(_) | Self::Object | Self::Hidden | Self::Bool(_) | Self::Number(_) | Self::Long(_) => false,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// The facts of a payload `p`.
    pub(crate) fn document(value: &Value) -> Document {
        let mut document = Document::default();
        document.add_json("p", value, &|text| text.starts_with("•••"));
        document
    }

    #[test]
    fn json_is_read_as_facts_by_path() {
        let read = document(&json!({"a": {"b": [1, 2, 2], "c": null}, "pin": "•••", "x": "7"}));
        let facts = |path: &str| read.facts.get(path).cloned().unwrap_or_default();
        assert_eq!(facts("p"), [Fact::Object]);
        assert_eq!(facts("p.a.b"), [Fact::Items(3), Fact::Number(1.0), Fact::Number(2.0)]);
        assert_eq!(facts("p.a.c"), [Fact::Null]);
        assert_eq!(facts("p.pin"), [Fact::Hidden]);
        assert_eq!(facts("p.x")[0].number(), Some(7.0));
        assert_eq!(read.untold().collect::<Vec<_>>(), ["p.a.c", "p.pin"]);
        assert!(!read.is_cut);
    }

    #[test]
    fn a_text_is_a_number_where_it_is_a_quantity() {
        let number = |text: &str| Fact::Text(text.to_owned()).number();
        assert_eq!(number("-40"), Some(-40.0));
        assert_eq!(number("0"), Some(0.0));
        for code in ["", "-", "007", "1234567890123456", "1e5", "0x10", "4.5"] {
            assert_eq!(number(code), None, "{code}");
        }
    }

    #[test]
    fn what_a_document_says_is_bounded() {
        let many: serde_json::Map<String, Value> = (0..1_000).map(|n| (n.to_string(), json!(n))).collect();
        let read = document(&Value::Object(many));
        assert_eq!((read.facts.len(), read.is_cut), (Document::MOST_ATTRIBUTES, true));
        let list = document(&json!((0..1_000).collect::<Vec<_>>()));
        assert_eq!((list.facts["p"].len(), list.is_cut), (Document::MOST_ELEMENTS, true));
        let deep = (0..100).fold(json!(1), |inner, _| json!({ "d": inner }));
        assert!(document(&deep).is_cut);
        let (name, text) = ("n".repeat(1_000), "ä".repeat(1_000));
        let long = document(&json!({"a": text, "b": {name.as_str(): {"c": 1}}}));
        let held: Vec<_> = long.facts.iter().map(|(name, facts)| (&**name, &**facts)).collect();
        let object: &[Fact] = &[Fact::Object];
        assert_eq!(held, [("p", object), ("p.a", &[Fact::Long(1_000)]), ("p.b", object)]);
        assert!(!long.is_cut, "no other document has more of it");
    }
}

//! Which headers of a message its form edits, and as what.

use amqp_message::{field::FieldValue, scalar::ScalarType};

use crate::{
    domain::edit::HeaderEdit,
    services::triage::edits::{EditReach, NAMELESS},
    web::view::text,
};

/// A header that is not there yet, as it was typed.
#[derive(Clone, Debug, Default)]
pub(super) struct NewHeader {
    pub name: String,
    pub kind: Option<ScalarType>,
    pub value: String,
}

impl NewHeader {
    pub fn kind(&self) -> ScalarType {
        self.kind.unwrap_or(ScalarType::Text)
    }

    /// What it adds.
    ///
    /// # Errors
    /// It has no name, or not what its type takes.
    pub fn edit(&self) -> Result<HeaderEdit, String> {
        if self.name.is_empty() {
            return Err(NAMELESS.to_owned());
        }
        self.kind().read(&self.value).map(|value| HeaderEdit::Set { name: self.name.clone(), value })
    }
}

/// Headers that cannot be edited, all for one reason.
pub struct FixedHeaders {
    pub names: Vec<String>,
    pub why: String,
}

/// The headers that cannot be edited, by why.
pub fn fixed(reach: &EditReach) -> Vec<FixedHeaders> {
    let mut fixed: Vec<FixedHeaders> = Vec::new();
    for (name, value) in reach.headers() {
        let Some(why) = why_fixed(reach, name, value) else { continue };
        let name = text::one_line(name);
        match fixed.iter_mut().find(|fixed| fixed.why == why) {
            Some(others) if others.names.contains(&name) => {}
            Some(others) => others.names.push(name),
            None => fixed.push(FixedHeaders { names: vec![name], why }),
        }
    }
    fixed
}

/// A header that can be edited, and the text of its value.
pub(super) struct Editable<'a> {
    pub name: &'a str,
    pub kind: ScalarType,
    pub text: String,
}

/// Those that the message has.
pub(super) fn editable(reach: &EditReach) -> impl Iterator<Item = Editable<'_>> {
    let is_editable = |(name, value): &(&str, &FieldValue)| why_fixed(reach, name, value).is_none();
    let editable = |(name, value)| ScalarType::of(value).map(|(kind, text)| Editable { name, kind, text });
    reach.headers().filter(is_editable).filter_map(editable)
}

/// No field of a page can hold a NUL, and one of several headers of the same name could not be told from the others.
fn why_fixed(reach: &EditReach, name: &str, value: &FieldValue) -> Option<String> {
    let why = match ScalarType::of(value) {
        _ if reach.headers().filter(|(other, _)| *other == name).count() > 1 => "there are several of that name",
        Some((_, text)) if name.contains(['\0', '\r', '\n']) || text.contains('\0') => {
            "it has characters that no field of a page can hold"
        }
        Some(_) => return reach.why_not(name),
        None => return reach.why_not(name).or_else(|| Some("it is no text, number, boolean or time".to_owned())),
    };
    Some(why.to_owned())
}

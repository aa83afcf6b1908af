//! One edit for many payloads: what a merge patch makes of a body.

use payload_codec::{Format, json::MergePatch};

use super::{Content, EditProblem, EditedAs, Library, Question, Reading};

/// Why the payload of a letter cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPatch {
    /// A clause, which tells nothing of the payload nor of the patch: whoever sees the job sees it.
    pub why: String,
    /// All that is wrong with what the patch makes of it, for who may see payloads.
    pub details: Vec<EditProblem>,
}

impl NoPatch {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), details: Vec::new() }
    }
}

impl Library {
    /// The body whose payload is that of the question with the patch applied to what [`read`](Self::read) shows of it:
    /// hidden values stay what they are, unless the patch sets them.
    ///
    /// # Errors
    /// Why there is none, or that it would be the same.
    pub fn patch(&self, question: &Question<'_>, patch: &MergePatch) -> Result<Vec<u8>, NoPatch> {
        let reading = self.read(question, false);
        let shown = reading.patchable()?;
        let edited =
            patch.apply(shown).ok_or_else(|| NoPatch::new("what is shown of it is no JSON that can be read"))?;
        if reading.says_no_more(&edited) {
            return Err(unchanged());
        }
        let body = self.write(question, &edited, EditedAs::Json, false).map_err(|details| {
            let format = reading.unwrapped.format.as_str();
            let named = reading.decoded_as.as_ref().map_or(format!("as {format}"), |name| format!("as {name}"));
            NoPatch { why: format!("with the edit it cannot be written {named}"), details }
        })?;
        // Where values are hidden it must not be told that a guess at one is right.
        if !reading.hides && body == question.body { Err(unchanged()) } else { Ok(body) }
    }
}

fn unchanged() -> NoPatch {
    NoPatch::new("the edit changes nothing in it")
}

impl Reading {
    /// The JSON that is shown and can be written back.
    fn patchable(&self) -> Result<&str, NoPatch> {
        let n_messages = self.unwrapped.payloads.len();
        if n_messages > 1 {
            let why = format!("it holds {n_messages} messages in a row, and one edit for all changes one");
            return Err(NoPatch::new(why));
        }
        let (json, format) = match &self.content {
            Content::Json(json) => (json, self.unwrapped.format),
            Content::Text(_) => return Err(NoPatch::new("its payload is text, no JSON")),
            Content::Binary if self.is_unread => return Err(NoPatch::new("it is too large to be decoded")),
            Content::Binary => return Err(NoPatch::new("only the bytes of its payload can be shown")),
            Content::Hidden(_) => return Err(NoPatch::new("its payload is hidden as a whole")),
        };
        match format {
            Format::Pickle | Format::Php | Format::Java => {
                Err(NoPatch::new(format!("its payload is {}, which is shown and never written", format.as_str())))
            }
            Format::Yaml => Err(NoPatch::new("its payload is YAML, which is edited as the text it is, one by one")),
            Format::Protobuf if !self.is_certain() => Err(NoPatch::new("its type is not known for certain")),
            _ if self.hides && self.decoded_as.is_none() => {
                Err(NoPatch::new("it has hidden values, which could not be kept without a type"))
            }
            _ => Ok(json),
        }
    }
}

//! JSON on one line, over several while somebody edits it.

use super::{Kind, Member, Node, read::parsed, write};

/// As much as fits on a line is read as it is.
const FITS: usize = 60;

/// JSON that came on one line. It comes out on one line again, written as it was: what is not edited stays the same, byte for
/// byte.
#[derive(Clone, Debug)]
pub struct OneLine {
    spaced: bool,
    laid_out: String,
}

impl OneLine {
    /// `None` of what is no JSON, short, or written so that it would not come out the same.
    pub fn of(text: &str) -> Option<Self> {
        if text.len() <= FITS || text.contains('\n') {
            return None;
        }
        let node = parsed(text).ok()?;
        let spaced = [false, true].into_iter().find(|spaced| joined(&node, *spaced) == text)?;
        Some(Self { spaced, laid_out: node.to_string() })
    }

    /// Over several lines.
    pub fn laid_out(&self) -> &str {
        &self.laid_out
    }

    /// An edit of it on one line; `None` of what is no JSON.
    pub fn joined(&self, edited: &str) -> Option<String> {
        parsed(edited).ok().map(|node| joined(&node, self.spaced))
    }
}

/// On one line, with spaces where `like` has them, which is written as `text`.
pub(super) fn joined_like(node: &Node<'_>, like: &Node<'_>, text: &str) -> String {
    joined(node, joined(like, true) == text)
}

/// With a space behind colons and commas, as Python writes it, or without.
fn joined(node: &Node<'_>, spaced: bool) -> String {
    if !spaced {
        return node.compact();
    }
    let all = |parts: Vec<String>| parts.join(", ");
    match &node.kind {
        Kind::Array(nodes) => format!("[{}]", all(nodes.iter().map(|node| joined(node, spaced)).collect())),
        Kind::Object(members) => {
            let member =
                |member: &Member<'_>| format!("{}: {}", write::quoted(&member.key), joined(&member.value, spaced));
            format!("{{{}}}", all(members.iter().map(member).collect()))
        }
        _ => node.compact(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "0123456789012345678901234567890123456789012345678901234567890123456789";

    #[test]
    fn it_is_laid_out_and_comes_out_as_it_was() {
        for text in [
            format!(r#"{{"b":1.50,"a":[true,null,{{}},[]],"b":"{LONG}"}}"#),
            format!(r#"{{"b": 1.50, "a": [true, null, {{}}, []], "b": "{LONG} Zoë \"x\""}}"#),
        ] {
            let one_line = OneLine::of(&text).unwrap();
            assert!(one_line.laid_out().lines().count() > 4, "{}", one_line.laid_out());
            assert_eq!(one_line.joined(one_line.laid_out()).as_deref(), Some(&*text));
            let edited = one_line.laid_out().replace("1.50", "2e3");
            assert_eq!(one_line.joined(&edited), Some(text.replace("1.50", "2e3")));
            assert_eq!(one_line.joined("{\"a\": }"), None);
        }
    }

    #[test]
    fn what_would_not_come_out_the_same_is_left_alone() {
        for text in [
            "{\"n\":1}".to_owned(),
            LONG.repeat(2) + "x",
            format!("{{\n\"a\":\"{LONG}\"}}"),
            format!("{{\"a\" :\"{LONG}\"}}"),
            format!("{{\"a\":1, \"b\":\"{LONG}\"}}"),
            format!("{{\"a\":\"\\u00e9\\/{LONG}\"}}"),
        ] {
            assert!(OneLine::of(&text).is_none(), "{text}");
        }
    }
}

//! What users and tokens can be called.

use crate::domain::actor::Actor;

/// Characters of a name.
const LONGEST: usize = 100;

/// The name, where it is one. What is done is recorded under it, so that it must not look like anybody else's.
///
/// # Errors
/// What a name takes.
pub fn check_name(name: &str) -> Result<&str, String> {
    let is_reserved =
        [Actor::SYSTEM, Actor::LOCAL, Actor::COMMAND_LINE].iter().any(|ours| ours.eq_ignore_ascii_case(name));
    let is_odd = |c: char| c.is_control() || "()<>\"\\".contains(c) || is_invisible(c);
    if name.is_empty() || name.chars().count() > LONGEST {
        Err(format!("a name has 1 to {LONGEST} characters"))
    } else if is_reserved {
        Err(format!("{name:?} is what dlo calls itself"))
    } else if name.trim() != name || name.chars().any(is_odd) {
        Err("a name has no spaces at its ends, and no control characters, parentheses, quotes, < or >".to_owned())
    } else {
        Ok(name)
    }
}

/// What is not seen, or looks like a space, and what turns the direction of text: with them two names look the same.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_look_like_nobody_elses() {
        for good in ["ada", "Ada Moreno", "ada@acme.example", "María", "deploy hook", "x"] {
            assert_eq!(check_name(good), Ok(good));
        }
        for bad in [
            "",
            " ada",
            "ada ",
            "a\u{200b}da",
            "a\nb",
            "dlo",
            "DLO",
            "Local User",
            "ada\u{3164}",
            "x (token of ada)",
            "<b>",
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        assert!(check_name(&"x".repeat(101)).is_err());
    }
}

use super::*;
use crate::{MAX_DEPTH, MAX_LENGTH, MAX_TERMS};

#[track_caller]
fn refused(text: &str, part: &str) {
    let mistakes = LANGUAGE.parse(text).expect_err(part);
    assert!(mistakes.iter().any(|mistake| mistake.message.contains(part)), "{mistakes:?}");
}

#[test]
fn everything_has_a_bound() {
    refused(&"a".repeat(MAX_LENGTH + 1), "4096 bytes at most");
    refused(&"€".repeat(MAX_LENGTH / 2), "bytes at most");
    refused(&"(".repeat(MAX_LENGTH), "20 deep at most");
    refused(&"-".repeat(MAX_LENGTH), "20 deep at most");
    refused(&"a ".repeat(MAX_TERMS + 1), "100 terms at most");
    refused(&format!("queue:{}", "a,".repeat(MAX_TERMS + 1)), "a value is missing");
    refused(&format!("queue:{}a", "a,".repeat(MAX_TERMS)), "100 terms at most");
    assert!(LANGUAGE.parse(&format!("{}a{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH))).is_ok());
    assert!(LANGUAGE.parse(&"a".repeat(MAX_LENGTH)).is_ok());
    assert!(LANGUAGE.parse(&"a ".repeat(MAX_TERMS)).is_ok());
}

#[test]
fn no_text_takes_it_down() {
    arbtest::arbtest(|u| {
        let text: String = u.arbitrary()?;
        _ = LANGUAGE.parse(&text);
        let at: usize = u.int_in_range(0..=text.len() + 3)?;
        let cursor = LANGUAGE.at(&text, at);
        assert!(text.get(cursor.span.clone()).is_some(), "{text:?} {at} {cursor:?}");
        Ok(())
    });
}

#[test]
fn repeated_pieces_take_it_nowhere() {
    for piece in ["\"", "\\", "queue:", ",", ")", "a:", "OR ", "- ", "\"a\"", "payload.", ":", "queue:\"", "() "] {
        let text = piece.repeat(MAX_LENGTH / piece.len());
        _ = LANGUAGE.parse(&text);
        _ = LANGUAGE.at(&text, text.len());
    }
}

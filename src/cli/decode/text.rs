//! A message that was read, as text for people.

use std::fmt::Write;

use payload_codec::{
    Format,
    guess::{Candidate, Evidence},
};

use crate::{
    domain::letter::TypeSource,
    services::decoding::reading::{Content, Named, Reading},
};

/// Bytes of what is neither JSON nor text that are shown.
const SHOWN_BYTES: usize = 1_024;
const BYTES_IN_A_ROW: usize = 16;
/// Types that cannot be told apart, as many as are named.
const SHOWN_TWINS: usize = 5;

const HIDES: &str = "# Redacted values are hidden; --reveal shows them.\n";

/// What is around the payload, its format, its type or those it could be, what there is to say, and what it says.
pub(super) fn text(reading: &Reading) -> String {
    let mut text = heading(reading);
    if reading.named.as_ref().is_none_or(|named| named.source == TypeSource::Detected) {
        text += &candidates(reading);
    }
    for remark in &reading.remarks {
        text += &format!("# {remark}\n");
    }
    if reading.hides && !matches!(reading.content, Content::Hidden(_)) {
        text += HIDES;
    }
    text += "\n";
    text += &content(reading);
    if !text.ends_with('\n') {
        text += "\n";
    }
    printable(&text)
}

fn heading(reading: &Reading) -> String {
    let unwrapped = &reading.unwrapped;
    let chain: Vec<&str> = unwrapped.steps.iter().map(|step| step.kind().as_str()).collect();
    let encoding = if chain.is_empty() { "none".to_owned() } else { chain.join(", ") };
    let (format, size) = (unwrapped.format.as_str(), bytes(unwrapped.payload().len()));
    let mut text = format!("encoding  {encoding}\nformat    {format}, {size}\n");
    if let Some(named) = &reading.named {
        text += &format!("type      {}, {}\n", named.name, how_sure(named));
    } else if unwrapped.format != Format::Protobuf {
        // JSON and text are read without one.
    } else if reading.guess.candidates.is_empty() {
        text += "type      unknown\n";
    } else {
        text += "type      not certain; shown by field numbers\n";
    }
    text
}

fn how_sure(named: &Named) -> String {
    match (named.source, named.confidence) {
        (TypeSource::Manual, _) => "as given".to_owned(),
        (TypeSource::Header, _) => "from the message".to_owned(),
        (TypeSource::Mapping, _) => "by a mapping".to_owned(),
        (TypeSource::Detected, Some(confidence)) => format!("a guess, {} likely", percent(confidence)),
        (TypeSource::Detected, None) => "a guess".to_owned(),
    }
}

fn candidates(reading: &Reading) -> String {
    let mut text = String::new();
    for (candidate, evidence) in reading.candidates() {
        text += &one(candidate, evidence);
    }
    match reading.guess.others {
        0 => {}
        others => text += &format!("        and {others} more\n"),
    }
    text
}

fn one(candidate: &Candidate, evidence: &[Evidence]) -> String {
    let mut text = format!("{:>6}  {}\n", percent(candidate.confidence), candidate.name.full_name);
    if !candidate.also.is_empty() {
        let mut twins: Vec<&str> =
            candidate.also.iter().take(SHOWN_TWINS).map(|twin| twin.full_name.as_str()).collect();
        let more = candidate.also.len().saturating_sub(SHOWN_TWINS);
        let more = (more > 0).then(|| format!("and {more} more"));
        twins.extend(more.as_deref());
        text += &format!("        identical on the wire: {}\n", twins.join(", "));
    }
    for evidence in evidence {
        text += &format!("        - {evidence}\n");
    }
    text
}

fn content(reading: &Reading) -> String {
    match &reading.content {
        Content::Json(json) => json.clone(),
        Content::Text(text) => text.clone(),
        Content::Hidden(why) => format!("# {why} --reveal shows it.\n"),
        Content::Binary => hex(reading.unwrapped.payload()),
    }
}

/// Sixteen bytes in a row, and what of them is ASCII.
fn hex(payload: &[u8]) -> String {
    let mut text = String::new();
    for (row, bytes) in payload.chunks(BYTES_IN_A_ROW).take(SHOWN_BYTES / BYTES_IN_A_ROW).enumerate() {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let ascii = bytes.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' });
        let ascii: String = ascii.collect();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:08x}  {:<47}  {ascii}", row.saturating_mul(BYTES_IN_A_ROW), digits.join(" "));
    }
    match payload.len().saturating_sub(SHOWN_BYTES) {
        0 => text,
        left => format!("{text}# and {} more, which --raw writes\n", bytes(left)),
    }
}

fn bytes(n: usize) -> String {
    if n == 1 { "1 byte".to_owned() } else { format!("{n} bytes") }
}

/// Never 100 % of what is not certain, nor 0 % of what is possible.
fn percent(share: f64) -> String {
    match share * 100.0 {
        low if low < 1.0 => "< 1 %".to_owned(),
        high if high > 99.0 && high < 99.9 => format!("{high:.1} %"),
        high if high >= 99.9 => "> 99.9 %".to_owned(),
        usual => format!("{usual:.0} %"),
    }
}

/// A message must not steer the terminal it is shown in.
fn printable(text: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use payload_codec::{
        guess::{Guess, TypeName},
        unwrap::{Encoding, Unwrapped},
    };

    fn reading(format: Format, payload: &[u8], content: Content) -> Reading {
        let unwrapped = Unwrapped {
            steps: Vec::new(),
            payloads: vec![payload.to_vec()],
            format,
            sureness: 1.0,
            type_hints: Vec::new(),
            problems: Vec::new(),
        };
        Reading {
            unwrapped,
            named: None,
            decoded_as: None,
            guess: Guess::default(),
            evidence: Vec::new(),
            content,
            task: None,
            is_unread: false,
            hides: false,
            hidden_values: crate::domain::disclosure::HiddenValues::default(),
            hidden_headers: Vec::new(),
            remarks: Vec::new(),
        }
    }

    fn named(name: &str, source: TypeSource, confidence: Option<f64>) -> Option<Named> {
        Some(Named { name: name.to_owned(), source, confidence, is_described: true })
    }

    fn candidate(name: &str, also: &[&str], confidence: f64) -> Candidate {
        let name_of = |name: &str| TypeName { full_name: name.to_owned(), pool: 0 };
        let also = also.iter().map(|twin| name_of(twin)).collect();
        Candidate { name: name_of(name), also, confidence }
    }

    #[test]
    fn what_is_certain_is_told_in_short() {
        let mut order = reading(Format::Protobuf, b"\x08\x01", Content::Json("{\n  \"id\": 1\n}".to_owned()));
        order.unwrapped.steps = vec![Encoding::Gzip, Encoding::Zstd];
        order.named = named("a.Order", TypeSource::Header, None);
        order.guess.candidates = vec![candidate("a.Other", &[], 0.5)];
        order.evidence = vec![vec![Evidence::NoUnknownFields]];
        order.remarks = vec!["There is more.".to_owned()];
        order.hides = true;
        let expected = "\
encoding  gzip, zstd
format    protobuf, 2 bytes
type      a.Order, from the message
# There is more.
# Redacted values are hidden; --reveal shows them.

{
  \"id\": 1
}
";
        assert_eq!(text(&order), expected);
    }

    #[test]
    fn a_guess_comes_with_its_reasons() {
        let mut order = reading(Format::Protobuf, b"\x08", Content::Json("{}".to_owned()));
        order.guess.candidates =
            vec![candidate("a.Order", &["b.Order", "c.Order"], 0.62), candidate("a.Bill", &[], 0.004)];
        order.evidence = vec![vec![Evidence::NoUnknownFields]; 2];
        order.guess.others = 3;
        let expected = "\
encoding  none
format    protobuf, 1 byte
type      not certain; shown by field numbers
  62 %  a.Order
        identical on the wire: b.Order, c.Order
        - no unknown fields
 < 1 %  a.Bill
        - no unknown fields
        and 3 more

{}
";
        assert_eq!(text(&order), expected);
    }

    #[test]
    fn the_likeliest_comes_first() {
        let mut order = reading(Format::Protobuf, b"\x08", Content::Json("{}".to_owned()));
        order.guess.candidates = vec![candidate("a.Order", &[], 0.3), candidate("a.Bill", &["b.Bill"], 0.6)];
        order.evidence = vec![vec![Evidence::NoUnknownFields], Vec::new()];
        let expected =
            "  60 %  a.Bill\n        identical on the wire: b.Bill\n  30 %  a.Order\n        - no unknown fields\n";
        assert!(text(&order).contains(expected), "{}", text(&order));
    }

    #[test]
    fn only_protobuf_lacks_a_type() {
        let said = |format| text(&reading(format, b"", Content::Binary));
        assert_eq!(said(Format::Text), "encoding  none\nformat    text, 0 bytes\n\n");
        assert_eq!(said(Format::Protobuf), "encoding  none\nformat    protobuf, 0 bytes\ntype      unknown\n\n");
    }

    #[test]
    fn many_twins_are_counted() {
        let twins = ["a", "b", "c", "d", "e", "f", "g"];
        assert!(one(&candidate("x", &twins, 0.5), &[]).contains("identical on the wire: a, b, c, d, e, and 2 more\n"));
    }

    #[test]
    fn how_a_type_is_known_is_said() {
        fn check(source: TypeSource, confidence: Option<f64>, expected: &str) {
            assert_eq!(how_sure(&named("x", source, confidence).unwrap()), expected);
        }
        check(TypeSource::Manual, None, "as given");
        check(TypeSource::Mapping, None, "by a mapping");
        check(TypeSource::Detected, Some(0.995), "a guess, 99.5 % likely");
    }

    #[test]
    fn shares_never_claim_certainty() {
        for (share, expected) in
            [(0.0001, "< 1 %"), (0.01, "1 %"), (0.5, "50 %"), (0.99, "99 %"), (0.9949, "99.5 %"), (1.0, "> 99.9 %")]
        {
            assert_eq!(percent(share), expected, "{share}");
        }
    }

    #[test]
    fn bytes_are_shown_up_to_a_limit() {
        let shown = text(&reading(Format::Binary, b"\xffdlo \n", Content::Binary));
        assert!(shown.ends_with("\n\n00000000  ff 64 6c 6f 20 0a                                .dlo..\n"), "{shown}");
        let shown = text(&reading(Format::Binary, &[0; 1_030], Content::Binary));
        assert!(shown.ends_with("# and 6 bytes more, which --raw writes\n"), "{shown}");
        assert_eq!(shown.lines().filter(|line| line.contains("00 00")).count(), 64);
    }

    #[test]
    fn nothing_in_a_message_steers_the_terminal() {
        let hostile = "\u{1b}]0;x\u{7}\ttab\u{9b}2J\r";
        let shown = text(&reading(Format::Text, b"", Content::Text(hostile.to_owned())));
        assert!(shown.ends_with("\\u{1b}]0;x\\u{7}\ttab\\u{9b}2J\\u{d}\n"), "{shown}");
    }

    #[test]
    fn what_is_hidden_as_a_whole_says_how_to_see_it() {
        let shown = text(&reading(Format::Protobuf, b"", Content::Hidden("It may be secret.".to_owned())));
        assert!(shown.ends_with("\n\n# It may be secret. --reveal shows it.\n"), "{shown}");
    }
}

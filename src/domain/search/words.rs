//! Words of texts, cut in the same way when they are stored and when they are looked for.

/// Characters of a word that count.
const LONGEST: usize = 64;
/// A shorter word is found only as a whole: what begins with one letter is nearly everything.
const SHORTEST_BEGUN: usize = 3;

/// The words of a text in small letters. Whatever is neither letter nor digit separates them. Where a script has no spaces
/// between words, each character with the next one is a word, and at the end the last alone: whatever stands in such a text
/// is then found as words next to each other.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    cut(text)
        .flat_map(|part| if part.chars().next().is_some_and(is_unspaced) { pairs(part) } else { vec![whole(part)] })
}

/// The words of what is looked for, and whether the last one only has to begin so. What stands behind the last character of a
/// script without spaces is not said by it.
pub(super) fn words_sought(text: &str, is_quoted: bool) -> (Vec<String>, bool) {
    let mut sought: Vec<String> = words(text).collect();
    let last = cut(text).last().unwrap_or_default();
    if !last.chars().next().is_some_and(is_unspaced) {
        let is_long = sought.last().is_some_and(|word| word.chars().count() >= SHORTEST_BEGUN);
        return (sought, is_long && !is_quoted);
    }
    if last.chars().nth(1).is_none() {
        return (sought, true);
    }
    sought.pop();
    (sought, false)
}

/// Letters and digits that stand together, of scripts with spaces and of others apart.
fn cut(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            let kind = is_unspaced(rest.chars().next()?);
            let (one, others) = rest.split_at(rest.find(|c| is_unspaced(c) != kind).unwrap_or(rest.len()));
            rest = others;
            Some(one)
        })
    })
}

fn whole(part: &str) -> String {
    // What is a letter may have small letters of two characters, one of which is a mark.
    let small = part.chars().take(LONGEST).flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric());
    // The sigma that ends a word is the other one in capitals.
    small.map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}

fn pairs(part: &str) -> Vec<String> {
    let behind = part.chars().skip(1).map(Some).chain([None]);
    part.chars().zip(behind).map(|(one, next)| [Some(one), next].into_iter().flatten().collect()).collect()
}

/// Whether a character is of a script that has no spaces between words, or of Korean, whose words have endings.
const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7ff}' // Korean
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{318f}' | '\u{31a0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' // kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}') // Han
}

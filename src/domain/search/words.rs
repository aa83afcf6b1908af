//! Words of texts, cut in the same way when they are stored and when they are looked for.

/// Characters of a word that count.
const LONGEST: usize = 64;
/// A shorter word is found only as a whole: what begins with one letter is nearly everything.
pub(super) const SHORTEST_BEGUN: usize = 3;

/// The words of a text in small letters. Whatever is neither letter nor digit separates them.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty());
    // What is a letter may have small letters of two characters, one of which is a mark.
    parts.map(|part| {
        let small = part.chars().take(LONGEST).flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric());
        // The sigma that ends a word is the other one in capitals.
        small.map(|c| if c == 'ς' { 'σ' } else { c }).collect::<String>()
    })
}

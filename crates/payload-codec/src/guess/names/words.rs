//! The words a name is made of.

/// The words of a field's or type's name or of an address, in lower case: `userIds` and `user_ids` are both `user` and
/// `ids`. Digits end a word and are left out.
pub fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for c in name.chars() {
        let is_new = !c.is_alphabetic() || c.is_uppercase() && after_lower;
        if is_new && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

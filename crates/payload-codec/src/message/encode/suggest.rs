//! "Did you mean …?"

/// How alike names have to be, from 0 to 1; as Python's difflib has it.
const CUTOFF: f32 = 0.6;

/// Longer names are compared with nothing.
const MAX_LEN: usize = 100;

/// The nearest of `names`, as the end of a sentence; nothing if none is near.
pub(super) fn suggestion(word: &str, names: &[String]) -> String {
    if word.len() > MAX_LEN {
        return String::new();
    }
    let names: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.len() <= MAX_LEN).collect();
    match similar::get_close_matches(word, &names, 1, CUTOFF).as_slice() {
        [nearest, ..] => format!("; did you mean {nearest:?}?"),
        [] => String::new(),
    }
}

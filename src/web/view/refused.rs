//! Letters that were refused by a job, as its page shows them.

use super::text;
use crate::domain::letter::LetterId;

/// Which one, where the job names it, and why.
pub struct RefusedLetter {
    pub letter: Option<LetterId>,
    pub why: String,
}

impl RefusedLetter {
    /// From the words of the job: `ID: reason`.
    pub fn read(error: &str) -> Self {
        let named = error.split_once(": ").and_then(|(id, why)| Some((id.parse().ok()?, why)));
        let (letter, why) = named.map_or((None, error), |(letter, why)| (Some(letter), why));
        Self { letter, why: text::one_line(why) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_letter_is_named_where_the_job_names_one() {
        let id = "0192f1c4-0000-7000-8000-000000000000";
        let refused = RefusedLetter::read(&format!("{id}: it is retried: see there"));
        assert_eq!((refused.letter, &*refused.why), (id.parse().ok(), "it is retried: see there"));
        let refused = RefusedLetter::read("database: gone");
        assert_eq!((refused.letter, &*refused.why), (None, "database: gone"));
    }
}

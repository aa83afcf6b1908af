//! The result of trying a rule, in words.

use super::{number, row::queue_title, text};
use crate::services::rules::{Trial, TriedLetter};

#[derive(Debug)]
pub struct TrialView {
    /// `It takes 42 of the 500 latest letters.`
    pub takes: String,
    /// What else there is to know, one sentence each.
    pub remarks: Vec<String>,
    /// What would change, or that nothing would.
    pub changes: String,
    pub moves: Vec<MoveView>,
    pub letters: Vec<TriedRow>,
    /// How many more there are than are shown; empty where there are none.
    pub hidden: String,
    /// Why it could not be tried on some letters; empty where it could.
    pub trouble: String,
}

/// How many letters would go from one importance to another.
#[derive(Debug)]
pub struct MoveView {
    pub count: String,
    pub from: &'static str,
    pub to: &'static str,
}

#[derive(Debug)]
pub struct TriedRow {
    pub href: String,
    pub queue: String,
    pub message_type: String,
    pub why: String,
    pub importance: &'static str,
    pub would_be: &'static str,
    pub changes: bool,
    pub is_taken: bool,
}

impl TrialView {
    pub fn new(trial: &Trial) -> Self {
        let takes = match (trial.looked_at, trial.takes) {
            (0, _) => "There are no dead letters yet to test it on.".to_owned(),
            (1, 0) => "It does not match the only dead letter.".to_owned(),
            (1, _) => "It matches the only dead letter.".to_owned(),
            (n, 0) => format!("It matches none of the latest {n} dead letters."),
            (n, takes) => format!("It matches {takes} of the latest {n} dead letters."),
        };
        let n_changes = trial.n_changes();
        let changes = match n_changes {
            0 if trial.looked_at == 0 => String::new(),
            0 => "Applying the rules with it would change none of these.".to_owned(),
            n => format!("Applying the rules with it would change {}:", number::plural(n, "dead letter")),
        };
        let moves = trial.changes.iter().map(|((from, to), count)| MoveView {
            count: number::thousands(*count),
            from: from.as_str(),
            to: to.as_str(),
        });
        let shown_taken = trial.letters.iter().filter(|tried| tried.is_taken).count() as u64;
        let shown_changed = trial.letters.iter().filter(|tried| tried.would_be != tried.letter.importance).count();
        let hidden = trial.takes.saturating_sub(shown_taken).max(n_changes.saturating_sub(shown_changed as u64));
        Self {
            takes,
            remarks: remarks(trial),
            changes,
            moves: moves.collect(),
            letters: trial.letters.iter().map(TriedRow::new).collect(),
            hidden: if hidden > 0 { number::thousands(hidden) } else { String::new() },
            trouble: trouble(trial),
        }
    }
}

fn remarks(trial: &Trial) -> Vec<String> {
    let mut remarks = Vec::new();
    if trial.comes_too_late > 0 {
        let (n, verb) = (number::thousands(trial.comes_too_late), if trial.comes_too_late == 1 { "es" } else { "" });
        remarks.push(format!("{n} more match{verb} it, but an earlier rule applies."));
    }
    if trial.is_cut {
        remarks.push("The test took too long and stopped before the end.".to_owned());
    }
    remarks
}

fn trouble(trial: &Trial) -> String {
    let Some(failure) = &trial.first_failure else { return String::new() };
    format!("On {} evaluation failed: {}", number::plural(trial.failures, "dead letter"), text::one_line(failure))
}

impl TriedRow {
    fn new(tried: &TriedLetter) -> Self {
        /// Characters of an error beside the rest of a line.
        const WHY: usize = 90;
        let TriedLetter { letter, is_taken, would_be } = tried;
        Self {
            href: format!("/letters/{}", letter.id),
            queue: queue_title(letter),
            message_type: letter.message_type.as_deref().map(|name| text::name(name, WHY)).unwrap_or_default(),
            why: letter.error().map(|error| text::name(&error, WHY)).unwrap_or_default(),
            importance: letter.importance.as_str(),
            would_be: would_be.as_str(),
            changes: *would_be != letter.importance,
            is_taken: *is_taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::letter::Importance;

    #[test]
    fn a_trial_is_told_in_sentences() {
        let check = |trial: Trial, takes: &str, changes: &str| {
            let view = TrialView::new(&trial);
            assert_eq!((&*view.takes, &*view.changes), (takes, changes));
        };
        check(Trial::default(), "There are no dead letters yet to test it on.", "");
        let one = Trial { looked_at: 1, ..Trial::default() };
        let nothing = "Applying the rules with it would change none of these.";
        check(one.clone(), "It does not match the only dead letter.", nothing);
        check(Trial { takes: 1, ..one }, "It matches the only dead letter.", nothing);
        check(Trial { looked_at: 2, ..Trial::default() }, "It matches none of the latest 2 dead letters.", nothing);
        let changes = [((Importance::Normal, Importance::Critical), 2)].into();
        let many = Trial { looked_at: 500, takes: 42, changes, ..Trial::default() };
        let changed = "Applying the rules with it would change 2 dead letters:";
        check(many, "It matches 42 of the latest 500 dead letters.", changed);
    }

    #[test]
    fn what_keeps_it_from_matching_is_reported() {
        let trial = Trial { comes_too_late: 1, is_cut: true, ..Trial::default() };
        let expected =
            ["1 more matches it, but an earlier rule applies.", "The test took too long and stopped before the end."];
        assert_eq!(TrialView::new(&trial).remarks, expected);
        let failed = Trial { failures: 3, first_failure: Some("this divides by zero".to_owned()), ..Trial::default() };
        assert_eq!(TrialView::new(&failed).trouble, "On 3 dead letters evaluation failed: this divides by zero");
    }
}

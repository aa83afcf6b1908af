//! Regular expressions whose cost is known before it is paid.
//!
//! All of them take linear time, but a byte of text can cost ten microseconds where an expression is large, and a usual
//! matcher goes over to that without a word. So the quick way, an automaton that is built as the text needs it, is
//! asked first; what it builds costs steps. Where it takes too much memory, or meets a word boundary beside a letter
//! that is not ASCII, the slow way is only gone if the budget covers its worst case.

use std::panic::{RefUnwindSafe, UnwindSafe};

use regex_automata::{
    Input,
    hybrid::dfa::{Cache, DFA},
    nfa::thompson::{self, NFA, pikevm::PikeVM},
    util::{pool::Pool, syntax},
};

use super::{budget::Budget, failure::Fault, limits::MAX_PATTERN};

/// Bytes of memory that the automaton of one pattern may take, for each thread.
const MAX_AUTOMATON: usize = 128 << 10;

type Make<T> = Box<dyn Fn() -> T + Send + Sync + UnwindSafe + RefUnwindSafe>;

pub(super) struct Pattern {
    nfa: NFA,
    dfa: DFA,
    caches: Pool<Cache, Make<Cache>>,
}

impl std::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pattern").field("states", &self.nfa.states().len()).finish_non_exhaustive()
    }
}

impl Pattern {
    /// # Errors
    /// Why it is no regular expression, in the words of the library that reads it.
    pub(super) fn compile(pattern: &str) -> Result<Self, String> {
        let syntax = syntax::Config::new().nest_limit(32);
        let parsed = syntax::parse_with(pattern, &syntax).map_err(|error| {
            // The last line of several says why; those before it show where.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        })?;
        let too_large = || "it is too large; take fewer or smaller repetitions, and [a-z] rather than \\w".to_owned();
        let size = thompson::Config::new().nfa_size_limit(Some(MAX_PATTERN));
        let nfa = thompson::Compiler::new().configure(size).build_from_hir(&parsed).map_err(|_| too_large())?;
        let bounds = DFA::config()
            .cache_capacity(MAX_AUTOMATON)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(0))
            .unicode_word_boundary(true);
        let dfa = DFA::builder().configure(bounds).build_from_nfa(nfa.clone()).map_err(|_| too_large())?;
        let maker = dfa.clone();
        Ok(Self { nfa, dfa, caches: Pool::new(Box::new(move || maker.create_cache())) })
    }

    pub(super) fn is_match(&self, text: &str, budget: &mut Budget) -> Result<bool, Fault> {
        budget.charge(1)?;
        budget.charge_text(text.len())?;
        let mut cache = self.caches.get();
        let before = cache.memory_usage();
        let found = self.dfa.try_search_fwd(&mut cache, &Input::new(text).earliest(true));
        // Building takes some five nanoseconds for each byte.
        let built = cache.memory_usage().saturating_sub(before) / 8;
        if found.is_err() {
            cache.reset(&self.dfa);
        }
        drop(cache);
        budget.charge(built)?;
        match found {
            Ok(found) => Ok(found.is_some()),
            Err(_) => self.is_match_slowly(text, budget),
        }
    }

    /// At worst each byte meets each state, which takes some five nanoseconds.
    fn is_match_slowly(&self, text: &str, budget: &mut Budget) -> Result<bool, Fault> {
        budget.charge(self.nfa.states().len().saturating_mul(text.len().saturating_add(8)) / 8)?;
        let Ok(machine) = PikeVM::new_from_nfa(self.nfa.clone()) else { return Err(Fault::TooCostly) };
        Ok(machine.is_match(&mut machine.create_cache(), text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_STEPS;

    #[test]
    fn finds_what_it_should() {
        fn check(pattern: &str, text: &str, expected: bool) {
            let found = Pattern::compile(pattern).unwrap().is_match(text, &mut Budget::new());
            assert_eq!(found, Ok(expected), "{pattern} {text}");
        }
        check("b", "abc", true);
        check("^b", "abc", false);
        check("^a.c$", "aéc", true);
        check("", "", true);
        check("(?i)TIMEOUT", "a timeout", true);
        check(r"^\w+$", "Zoë", true);
        check(r"\btimeout\b", "a timeout!", true);
        check(r"\btimeout\b", "timeouts", false);
        check(r"\btimeout\b", "é timeout é", true);
        check(r"\btimeout\b", "étimeout", false);
        check("(a|aa)+$", &"a".repeat(10_000), true);
    }

    #[test]
    fn what_is_built_is_charged_once() {
        let pattern = Pattern::compile("(a?){50}a{50}").unwrap();
        let steps = || {
            let mut budget = Budget::new();
            assert_eq!(pattern.is_match(&"a".repeat(40), &mut budget), Ok(false));
            budget.used()
        };
        let (first, second) = (steps(), steps());
        assert!(first > 500 && second < 5, "{first} {second}");
    }

    #[test]
    fn a_large_pattern_ends_instead_of_slowing_down() {
        let large = Pattern::compile("((a{1,10}){1,10}){1,5}[^a]").unwrap();
        let mut budget = Budget::new();
        assert_eq!(large.is_match(&"a".repeat(50_000), &mut budget), Err(Fault::TooCostly));
        assert_eq!(budget.used(), MAX_STEPS);
        let short = large.is_match(&"a".repeat(5), &mut Budget::new());
        assert_eq!(short, Ok(false));
        assert_eq!(large.is_match("aab", &mut Budget::new()), Ok(true));
    }
}

//! Rules that stand in a file.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use super::{MAX_RULES, RuleBook, check_name, error::describe};
use crate::{config, domain::rule::ActiveRule};

/// Why a file cannot be read, until it changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileProblem {
    pub(crate) why: String,
    /// What stands in it, where that much could be read.
    pub(crate) active: Option<Vec<ActiveRule>>,
}

/// The rules of a file, if all of them can be tried.
///
/// # Errors
/// What is wrong with it, in words.
pub async fn read_file(file: &Path) -> Result<Vec<ActiveRule>, String> {
    let active = config::rules_of(file).await?;
    let book = super::compile(active, &Arc::default()).await;
    check(file, &book)?;
    Ok(book.active().to_vec())
}

/// Whether rules of a file can be in force.
pub(crate) fn check(file: &Path, book: &RuleBook) -> Result<(), String> {
    let rules = book.active();
    if rules.len() > MAX_RULES {
        return Err(format!("{}: it has {} rules; at most {MAX_RULES} are possible", file.display(), rules.len()));
    }
    for ActiveRule { id, rule, .. } in rules {
        let wrong = |why: String| format!("{}: the rule {:?}: {why}", file.display(), rule.name);
        check_name(&rule.name).map_err(|why| wrong(why.to_string()))?;
        if let mistakes @ [_, ..] = book.mistakes(*id) {
            return Err(wrong(describe(mistakes)));
        }
    }
    Ok(())
}

/// The names of rules that are not any more what they were, of whose failures there is nothing more to say.
pub(crate) fn changed(was: &[ActiveRule], is: &[ActiveRule]) -> Vec<String> {
    let said = |active: &ActiveRule| (active.rule.name.clone(), active.rule.expression.clone());
    let is: BTreeSet<_> = is.iter().map(said).collect();
    was.iter().map(said).filter(|said| !is.contains(said)).map(|(name, _)| name).collect()
}

//! What is wrong with a grouping rule, for forms and calls.

use super::policy::Wrong;
use crate::{
    services::grouping_rules::{GroupingRuleError, NewGroupingRule},
    web::error::{WebError, codes::FaultCode},
};

/// # Errors
/// All that is wrong with it.
pub fn check(new: &NewGroupingRule) -> Result<(), Vec<Wrong>> {
    let wrong: Vec<Wrong> = new.mistakes().into_iter().map(|(field, why)| Wrong::new(field, why)).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// What is wrong with it among the others that there are.
///
/// # Errors
/// Those that are not about what was given.
pub fn wrong_with(error: GroupingRuleError) -> Result<Wrong, WebError> {
    match error {
        GroupingRuleError::NameTaken => Ok(Wrong::new("name", error).of(FaultCode::Repeated)),
        GroupingRuleError::TooMany => Err(WebError::conflict(error.to_string())),
        GroupingRuleError::Store(error) => Err(error.into()),
    }
}

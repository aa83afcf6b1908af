//! In which order rules are tried.

use super::{
    rule::{ActiveRule, RuleId},
    version::{Expected, Version, Versioned},
};

/// All rules, the first that is tried first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleOrder(pub Vec<RuleId>);

impl RuleOrder {
    pub fn of(rules: &[ActiveRule]) -> Self {
        Self(rules.iter().map(|active| active.id).collect())
    }
}

impl Versioned for RuleOrder {
    fn version(&self) -> Version {
        Version::of(&self.0)
    }
}

/// Where a rule comes to stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePlace {
    /// From 0 on.
    pub at: usize,
    /// In which order the rules have to be that it is counted in.
    pub order: Expected,
}

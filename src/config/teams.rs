//! `[auth.teams.NAME]`: people whose rights hold for some queues only.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::values::list;
use crate::domain::access::{Membership, Role, check_team};

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TeamConfig {
    /// Names or globs; none: all. One of the two is needed.
    #[serde(deserialize_with = "list")]
    pub brokers: Vec<String>,
    #[serde(deserialize_with = "list")]
    pub queues: Vec<String>,
    /// Groups, and people as `user:NAME`.
    #[serde(deserialize_with = "list")]
    pub viewer: Vec<String>,
    #[serde(deserialize_with = "list")]
    pub operator: Vec<String>,
}

impl TeamConfig {
    pub(super) const fn has_members(&self) -> bool {
        !(self.viewer.is_empty() && self.operator.is_empty())
    }
}

/// The teams that somebody is in by name or by one of the groups.
pub fn memberships(teams: &BTreeMap<String, TeamConfig>, name: &str, groups: &[String]) -> Vec<Membership> {
    let role = |team: &TeamConfig| {
        let by_list = [(Role::Operator, &team.operator), (Role::Viewer, &team.viewer)];
        by_list.into_iter().find(|(_, list)| names(list, name, groups)).map(|(role, _)| role)
    };
    let membership = |(team, config): (&String, &TeamConfig)| {
        let role = Some(role(config)?);
        Some(Membership { team: team.clone(), role })
    };
    teams.iter().filter_map(membership).collect()
}

/// Whether a list names somebody, or one of their groups.
pub(super) fn names(list: &[String], name: &str, groups: &[String]) -> bool {
    let by_name = format!("user:{name}");
    list.iter().any(|entry| *entry == by_name || is_group(entry) && groups.contains(entry))
}

fn is_group(entry: &str) -> bool {
    !entry.starts_with("user:")
}

/// Whether it may take the groups of somebody to say which of these lists is the first that names them.
pub(super) fn take_groups<const N: usize>(lists: [&[String]; N], name: &str) -> bool {
    let before_their_name = lists.into_iter().take_while(|list| !names(list, name, &[]));
    before_their_name.flatten().any(|entry| is_group(entry))
}

pub(super) fn check(teams: &BTreeMap<String, TeamConfig>) -> Result<(), String> {
    for (name, team) in teams {
        check_team(name).map_err(|why| format!("auth.teams.{name}: {why}"))?;
        if team.queues.is_empty() && team.brokers.is_empty() {
            return Err(format!("auth.teams.{name}: it takes queues, brokers or both; with neither it has no queue"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_in_a_team_by_name_or_by_group() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let team = |viewer: &[&str], operator: &[&str]| TeamConfig {
            queues: words(&["pay.*"]),
            viewer: words(viewer),
            operator: words(operator),
            ..TeamConfig::default()
        };
        let teams = BTreeMap::from([
            ("pay".to_owned(), team(&["staff"], &["pay-ops"])),
            ("texts".to_owned(), team(&["user:ada"], &[])),
        ]);
        let of = |name, groups| {
            memberships(&teams, name, &words(groups)).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of("ada", &["staff", "pay-ops"]), ["pay=operator", "texts=viewer"]);
        assert_eq!(of("bob", &["staff"]), ["pay=viewer"]);
        assert!(of("eve", &["user:ada"]).is_empty());
        assert!(check(&teams).is_ok());
        let refused = |name: &str, team| check(&BTreeMap::from([(name.to_owned(), team)])).unwrap_err();
        assert!(refused("a b", team(&[], &[])).starts_with("auth.teams.a b: "));
        let without_queues = TeamConfig { queues: Vec::new(), ..team(&["staff"], &[]) };
        assert!(refused("pay", without_queues).starts_with("auth.teams.pay: it takes queues"));
    }
}

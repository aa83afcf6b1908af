//! What roles and teams give to people and tokens.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    config::AuthConfig,
    domain::access::{Grants, Membership, QueueScope, Right, Role, TeamQueues, Token, User},
};

/// The teams of the configuration.
pub(super) struct Teams {
    queues: BTreeMap<String, Arc<TeamQueues>>,
    do_viewers_see_payloads: bool,
}

impl Teams {
    pub(super) fn new(config: &AuthConfig) -> Self {
        let queues = config.teams.iter();
        let queues = queues.map(|(name, team)| (name.clone(), Arc::new(TeamQueues::new(&team.brokers, &team.queues))));
        Self { queues: queues.collect(), do_viewers_see_payloads: config.viewers_see_payloads }
    }

    /// The names of teams that have all of these queues, by broker and name.
    pub(super) fn that_see(&self, queues: &[(String, String)]) -> Vec<String> {
        let sees = |team: &TeamQueues| queues.iter().all(|(broker, queue)| team.includes(broker, queue));
        self.queues.iter().filter(|(_, team)| sees(team)).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn of_user(&self, user: &User) -> Grants {
        self.of(user.role, teams_of(user))
    }

    /// Not more than whoever has made it may, now.
    pub(super) fn of_token(&self, token: &Token) -> Grants {
        let role = token.owner.as_ref().map_or(Role::Admin, |owner| owner.role);
        let of_owner = token.owner.as_ref().and_then(teams_of);
        let grants = match of_owner {
            _ if token.teams.is_empty() => self.of(role, of_owner),
            Some(teams) => {
                let left: Vec<Membership> =
                    teams.iter().filter(|membership| token.teams.contains(&membership.team)).cloned().collect();
                self.of(role, Some(&left))
            }
            None => {
                let membership = |team: &String| Membership { team: team.clone(), role: None };
                self.of(role, Some(&token.teams.iter().map(membership).collect::<Vec<_>>()))
            }
        };
        Grants::new(|right| {
            let is_meant = token.scopes.iter().any(|scope| scope.may(right));
            if is_meant { grants.scope(right).clone() } else { QueueScope::nothing() }
        })
    }

    /// A team that is not in the configuration any more gives nothing.
    fn of(&self, role: Role, teams: Option<&[Membership]>) -> Grants {
        Grants::new(|right| match teams {
            None if self.may(role, right) => QueueScope::everything(),
            None => QueueScope::nothing(),
            Some(teams) => {
                let giving = teams.iter().filter(|membership| self.may(membership.role_of(role), right));
                QueueScope::of(giving.filter_map(|membership| self.queues.get(&membership.team).cloned()).collect())
            }
        })
    }

    fn may(&self, role: Role, right: Right) -> bool {
        let is_withheld = right == Right::Payload && role == Role::Viewer && !self.do_viewers_see_payloads;
        role.may(right) && !is_withheld
    }
}

/// The teams that somebody is confined to.
fn teams_of(user: &User) -> Option<&[Membership]> {
    Some(&*user.teams).filter(|teams| !teams.is_empty() && user.role != Role::Admin)
}

#[cfg(test)]
mod tests {
    use amqp_message::time::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::{
        config::TeamConfig,
        domain::access::{Scope, Source, TokenId, UserId, read_memberships},
    };

    fn teams() -> Teams {
        let team = |queues: &str| TeamConfig { queues: vec![queues.to_owned()], ..TeamConfig::default() };
        let teams = [("pay", team("pay.*")), ("texts", team("texts.*"))];
        let teams = teams.into_iter().map(|(name, team)| (name.to_owned(), team)).collect();
        Teams::new(&AuthConfig { teams, viewers_see_payloads: false, ..AuthConfig::default() })
    }

    fn user(role: Role, teams: &str) -> User {
        User {
            id: UserId::from_uuid(Uuid::nil()),
            name: "ada".to_owned(),
            source: Source::Password,
            role,
            teams: read_memberships(teams).expect("memberships"),
            is_disabled: false,
            is_withdrawn: false,
            created_at: Timestamp::default(),
            signed_in_at: None,
        }
    }

    fn token(owner: Option<User>, scopes: &[Scope], teams: &[&str]) -> Token {
        Token {
            id: TokenId::from_uuid(Uuid::nil()),
            name: "hook".to_owned(),
            scopes: scopes.to_vec(),
            owner,
            teams: teams.iter().map(|team| (*team).to_owned()).collect(),
            created_at: Timestamp::default(),
            expires_at: None,
            used_at: None,
            used_from: String::new(),
        }
    }

    /// The rights at a queue, by the first letters of their words.
    fn at(grants: &Grants, queue: &str) -> String {
        let held = Right::ALL.iter().filter(|right| grants.may_at(**right, "main", queue));
        held.map(|right| right.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn teams_confine_all_but_admins() {
        let check = |role, teams_of: &str, pay: &str, texts: &str| {
            let grants = teams().of_user(&user(role, teams_of));
            assert_eq!((&*at(&grants, "pay.a"), &*at(&grants, "texts.a")), (pay, texts), "{role} in {teams_of:?}");
        };
        let (all, acts) = ("read payload reveal act mark admin", "read payload reveal act mark");
        check(Role::Admin, "pay=viewer", all, all);
        check(Role::Operator, "", acts, acts);
        check(Role::Viewer, "", "read", "read");
        check(Role::Operator, "pay=viewer", "read", "");
        check(Role::Viewer, "pay=operator, texts=viewer", acts, "read");
        check(Role::Viewer, "pay, texts=operator", "read", acts);
        check(Role::Operator, "pay, texts=viewer", acts, "read");
        check(Role::Operator, "gone=operator", "", "");
    }

    #[test]
    fn a_token_may_what_its_owner_may_and_less() {
        let check = |owner, scopes: &[Scope], of: &[&str], pay: &str, texts: &str| {
            let grants = teams().of_token(&token(owner, scopes, of));
            assert_eq!((&*at(&grants, "pay.a"), &*at(&grants, "texts.a")), (pay, texts), "{scopes:?} {of:?}");
        };
        let both = [Scope::Read, Scope::Act];
        check(None, &both, &[], "read act", "read act");
        check(None, &[Scope::Read, Scope::Admin], &["pay"], "read", "");
        let ada = || Some(user(Role::Operator, "pay=operator, texts=viewer"));
        check(ada(), &both, &[], "read act", "read");
        check(ada(), &both, &["texts"], "", "read");
        check(ada(), &both, &["gone"], "", "");
        check(Some(user(Role::Viewer, "")), &both, &["pay"], "read", "");
        check(Some(user(Role::Admin, "")), &[Scope::Admin], &["pay"], "", "");
    }
}

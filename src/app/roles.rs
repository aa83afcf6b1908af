//! What a process does, so that several can share the work.

use std::{collections::BTreeSet, str::FromStr};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Pages and API.
    Web,
    /// Taking obituaries in.
    Intake,
    /// Taking dead letters in and sending them back.
    Retry,
    /// Notifying users, and watching queues.
    Notify,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles(BTreeSet<Role>);

impl Roles {
    pub fn all() -> Self {
        Self([Role::Web, Role::Intake, Role::Retry, Role::Notify].into())
    }

    pub fn has(&self, role: Role) -> bool {
        self.0.contains(&role)
    }
}

impl FromStr for Roles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|name| role(name.trim())).collect::<Result<_, _>>().map(Self)
    }
}

fn role(name: &str) -> Result<Role, String> {
    match name {
        "web" => Ok(Role::Web),
        "intake" => Ok(Role::Intake),
        "retry" => Ok(Role::Retry),
        "notify" => Ok(Role::Notify),
        _ => Err(format!("{name:?} is no role; it takes web, intake, retry and notify, separated by commas")),
    }
}

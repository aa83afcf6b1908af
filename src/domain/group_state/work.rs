//! Who a group is given to.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Who a group is given to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Assignee {
    User(String),
    Team(String),
}

impl Assignee {
    pub fn name(&self) -> &str {
        match self {
            Self::User(name) | Self::Team(name) => name,
        }
    }

    /// `ada`, `the team payments`
    pub fn in_words(&self) -> String {
        match self {
            Self::User(name) => name.clone(),
            Self::Team(name) => format!("the team {name}"),
        }
    }
}

/// As it is kept and asked for: `user:ada`, `team:payments`.
impl fmt::Display for Assignee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user:{name}"),
            Self::Team(name) => write!(f, "team:{name}"),
        }
    }
}

impl From<Assignee> for String {
    fn from(assignee: Assignee) -> Self {
        assignee.to_string()
    }
}

impl TryFrom<String> for Assignee {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Assignee {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("user", name)) if !name.is_empty() => Ok(Self::User(name.to_owned())),
            Some(("team", name)) if !name.is_empty() => Ok(Self::Team(name.to_owned())),
            _ => Err(format!("{text:?} is nobody; it takes user:NAME or team:NAME")),
        }
    }
}

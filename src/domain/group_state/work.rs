//! Who a group is given to, and where its ticket is.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use url::Url;

/// Characters of the address of a ticket.
pub const LONGEST_TICKET: usize = 2_000;

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

/// The address of a ticket as it is kept; `None` where it is empty.
///
/// # Errors
/// It is no address that a browser may be led to.
pub fn read_ticket(text: &str) -> Result<Option<String>, String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let takes = "it takes an address that begins with https:// or http://";
    let url = Url::parse(text).map_err(|_| takes.to_owned())?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    // A name before the host looks like another host.
    if is_web && (!url.username().is_empty() || url.password().is_some()) {
        return Err("it takes an address without a user name or password".to_owned());
    }
    if !is_web {
        return Err(takes.to_owned());
    }
    if url.as_str().chars().count() > LONGEST_TICKET {
        return Err(format!("it takes {LONGEST_TICKET} characters at most"));
    }
    Ok(Some(url.into()))
}

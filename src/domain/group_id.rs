//! The names of groups.

use std::{fmt, str::FromStr};

use uuid::Uuid;

/// Names a group for good: it follows from what its letters have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(Uuid);

impl GroupId {
    pub const fn from_uuid(id: Uuid) -> Self {
        Self(id)
    }

    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for GroupId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Uuid::try_parse(text).map(Self).map_err(|_| format!("{text:?} is no group's id; it takes a UUID"))
    }
}

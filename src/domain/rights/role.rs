//! Roles of people and scopes of tokens, and the one table of what each of them may.

use amqp_message::word_enum;

word_enum! {
    /// What somebody is here. Each may all that the one before may.
    Role, "role" {
        Viewer = "viewer",
        Operator = "operator",
        Admin = "admin",
    }
}

word_enum! {
    /// What a program may.
    Scope, "scope" {
        Read = "read",
        Payload = "payload",
        Act = "act",
        Markers = "markers",
        Admin = "admin",
    }
}

word_enum! {
    /// What a page or a call takes.
    Right, "right" {
        /// To see what there is.
        Read = "read",
        /// To see what is in messages.
        Payload = "payload",
        /// To see what is hidden in them.
        Reveal = "reveal",
        /// To retry, edit, discard and annotate.
        Act = "act",
        /// To set and remove markers: deploys, flags, incidents.
        Mark = "mark",
        /// To change policies, rules, schemas and digests, and who may do what.
        Admin = "admin",
    }
}

impl Role {
    pub const fn may(self, right: Right) -> bool {
        match right {
            Right::Read | Right::Payload => true,
            Right::Reveal | Right::Act | Right::Mark => matches!(self, Self::Operator | Self::Admin),
            Right::Admin => matches!(self, Self::Admin),
        }
    }
}

impl Scope {
    pub const fn may(self, right: Right) -> bool {
        match self {
            Self::Read => matches!(right, Right::Read),
            Self::Payload => matches!(right, Right::Payload | Right::Reveal),
            Self::Act => matches!(right, Right::Act),
            Self::Markers => matches!(right, Right::Mark),
            Self::Admin => matches!(right, Right::Admin),
        }
    }
}

impl Right {
    /// What it lets somebody do, after "may not".
    pub const fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Payload => "see payloads",
            Self::Reveal => "reveal hidden values or take a body as it is",
            Self::Act => "retry, edit, discard or annotate",
            Self::Mark => "set or remove markers",
            Self::Admin => "change policies, rules, schemas, digests or users",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rights(may: impl Fn(Right) -> bool) -> Vec<&'static str> {
        Right::ALL.iter().filter(|right| may(**right)).map(|right| right.as_str()).collect()
    }

    #[test]
    fn each_role_may_what_the_one_before_may_and_more() {
        assert_eq!(rights(|right| Role::Viewer.may(right)), ["read", "payload"]);
        assert_eq!(rights(|right| Role::Operator.may(right)), ["read", "payload", "reveal", "act", "mark"]);
        assert_eq!(rights(|right| Role::Admin.may(right)), ["read", "payload", "reveal", "act", "mark", "admin"]);
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
    }

    #[test]
    fn a_scope_is_that_alone() {
        assert_eq!(rights(|right| Scope::Read.may(right)), ["read"]);
        assert_eq!(rights(|right| Scope::Payload.may(right)), ["payload", "reveal"]);
        assert_eq!(rights(|right| Scope::Act.may(right)), ["act"]);
        assert_eq!(rights(|right| Scope::Markers.may(right)), ["mark"]);
        assert_eq!(rights(|right| Scope::Admin.may(right)), ["admin"]);
    }
}

//! What Slack answers.

use std::fmt;

use serde::{
    Deserializer as _,
    de::{IgnoredAny, MapAccess, Visitor},
};

/// The beginning of an answer of Slack's Web API.
///
/// A posted message comes back in it, blocks and all, so that the answer may be longer than what is read of it. What
/// counts comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::notify) struct Reply {
    /// `None` where it is no answer of Slack's.
    pub(in crate::notify) ok: Option<bool>,
    pub(in crate::notify) error: Option<String>,
    pub(in crate::notify) channel: Option<String>,
    /// Names the message within its channel.
    pub(in crate::notify) ts: Option<String>,
}

impl Reply {
    pub(in crate::notify) fn read(body: &[u8]) -> Self {
        let mut reply = Self::default();
        // Where it breaks off or goes wrong, what was read until then stays.
        let _ = serde_json::Deserializer::from_slice(body).deserialize_map(Fields(&mut reply));
        reply
    }

    /// `CHANNEL/TS`, which is what it takes to change the message or to answer it.
    pub(in crate::notify) fn reference(&self) -> Option<String> {
        Some(format!("{}/{}", self.channel.as_ref()?, self.ts.as_ref()?))
    }
}

struct Fields<'a>(&'a mut Reply);

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "ok" => self.0.ok = Some(map.next_value()?),
                "error" => self.0.error = Some(map.next_value()?),
                "channel" => self.0.channel = Some(map.next_value()?),
                "ts" => self.0.ts = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Whether an error may be over by the next attempt
/// (<https://docs.slack.dev/reference/methods/chat.postMessage#errors>).
pub(in crate::notify) fn is_passing(error: &str) -> bool {
    matches!(
        error,
        "ratelimited"
            | "rate_limited"
            | "internal_error"
            | "fatal_error"
            | "service_unavailable"
            | "request_timeout"
            // The workspace is being moved to an organization.
            | "team_added_to_org"
    )
}

/// The name of an error as both of Slack's ways give it; `None` for anything that is no such name.
pub(in crate::notify) fn error_name(text: &str) -> Option<&str> {
    let name = text.trim().split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-')).next()?;
    let is_name = (1..=64).contains(&name.len()) && name.starts_with(|c: char| c.is_ascii_alphabetic());
    is_name.then_some(name)
}

/// What to do about the errors people meet most; empty for others.
pub(in crate::notify) fn advice(error: &str) -> &'static str {
    match error {
        "invalid_auth" | "not_authed" | "token_revoked" | "token_expired" | "account_inactive" => {
            "; give notify.slack.token a token that is valid"
        }
        "missing_scope" => "; the bot needs the scope chat:write",
        "not_in_channel" => "; invite the bot to the channel",
        "channel_not_found" => "; check the channel's name, and invite the bot if it is private",
        "is_archived" | "channel_is_archived" => "; choose a channel that is not archived",
        "no_service" | "no_team" | "invalid_token" | "no_active_hooks" => {
            "; the webhook was removed or disabled, make a new one"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_breaks_off_still_tells() {
        fn check(body: &str, ok: Option<bool>, reference: Option<&str>) {
            let reply = Reply::read(body.as_bytes());
            assert_eq!((reply.ok, reply.reference().as_deref()), (ok, reference), "{body}");
        }
        check(r#"{"ok":true,"channel":"C1","ts":"1.2","message":{"blocks":[{"#, Some(true), Some("C1/1.2"));
        check(r#"{"ok":true,"channel":"C1","ts":"1.2"}"#, Some(true), Some("C1/1.2"));
        check(r#"{"warning":[{}],"ok":true}"#, Some(true), None);
        check(r#"{"ok":true,"channel":7}"#, Some(true), None);
        check(r#"{"ok":"#, None, None);
        check(r#"{"ok":"true"}"#, None, None);
        check("[true]", None, None);
        check("<html>", None, None);
        check("", None, None);
        assert_eq!(Reply::read(br#"{"ok":false,"error":"not_authed"}"#).error.as_deref(), Some("not_authed"));
    }

    #[test]
    fn names_of_errors_and_nothing_else() {
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(error_name(text), expected, "{text:?}");
        }
        check("invalid_blocks", Some("invalid_blocks"));
        check(" no_service\n", Some("no_service"));
        check("invalid_blocks: at 3", Some("invalid_blocks"));
        check("<html>", None);
        check("", None);
        check("1", None);
        check(&"a".repeat(65), None);
    }
}

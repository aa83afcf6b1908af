//! The short word after an action: what was done, and how to undo it.
//!
//! It travels in a cookie from the action to the page it leads back to, so that nothing about it is kept here and any
//! process may show it.

use amqp_message::time::Timestamp;
use askama::Template;
use axum::http::{HeaderMap, HeaderValue};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use uuid::Uuid;

use super::{back_to::leads_back, refresh::is_refresh};
use crate::{
    domain::{group::GroupId, letter::LetterId},
    web::{error::WebError, query::Pairs, security::cookie},
};

const COOKIE: &str = "dlo-toast";
/// Letters that an undo can name at most: a cookie holds no more than 4 kB.
const MAX_UNDO: usize = 110;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    pub tone: Tone,
    pub text: String,
    pub undo: Option<Undo>,
    /// The page it is shown on, to come back to after the undo.
    pub back: String,
    /// Fields of the form that was sent that are wrong, by their names: the page marks them.
    pub fields: Vec<String>,
}

/// What undoes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undo {
    /// Reopening these letters.
    Letters(Vec<LetterId>),
    /// Undoing this job.
    Job(Uuid),
    /// Undoing what was done with these groups at that moment, in microseconds since the epoch.
    Groups(Vec<GroupId>, i64),
    /// Bringing back this view.
    View(Uuid),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Done,
    Failed,
}

#[derive(Template)]
#[template(path = "_toast.html")]
struct ToastPart<'a> {
    toast: &'a Toast,
}

impl Toast {
    pub fn done(text: impl Into<String>) -> Self {
        Self::new(Tone::Done, text.into())
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(Tone::Failed, text.into())
    }

    fn new(tone: Tone, text: String) -> Self {
        Self { tone, text, undo: None, back: "/letters".to_owned(), fields: Vec::new() }
    }

    /// It can be undone by reopening these, if they are not too many.
    pub fn undone_by(self, letters: Vec<LetterId>) -> Self {
        let can_undo = (1..=MAX_UNDO).contains(&letters.len());
        Self { undo: can_undo.then_some(Undo::Letters(letters)), ..self }
    }

    /// It was done by a job, which can be undone.
    pub fn undone_by_job(self, job: Uuid) -> Self {
        Self { undo: Some(Undo::Job(job)), ..self }
    }

    /// It can be undone for these groups, where nobody has changed them since that moment.
    pub fn undone_for(self, groups: Vec<GroupId>, at: Timestamp) -> Self {
        let can_undo = (1..=MAX_UNDO).contains(&groups.len());
        Self { undo: can_undo.then_some(Undo::Groups(groups, at.as_micros())), ..self }
    }

    /// It removed a view, which can be brought back.
    pub fn undone_for_view(self, view: Uuid) -> Self {
        Self { undo: Some(Undo::View(view)), ..self }
    }

    /// What htmx shows of an error.
    pub fn failure(error: &WebError, request_id: Option<String>) -> Self {
        let id = request_id.map(|id| format!(" (request {id})")).unwrap_or_default();
        let fields = error.faults.iter().filter(|fault| fault.label.is_some());
        let fields =
            fields.filter_map(|fault| Some(fault.place.pointer()?.trim_start_matches('/').to_owned())).collect();
        Self { fields, ..Self::failed(format!("{}{id}", error.detail)) }
    }

    pub fn is_failure(&self) -> bool {
        self.tone == Tone::Failed
    }

    /// The form that undoes it: where it is sent, and what it says.
    pub fn undo_form(&self) -> Option<(String, Vec<(&'static str, String)>)> {
        let back = ("back", self.back.clone());
        Some(match self.undo.as_ref()? {
            Undo::Letters(letters) => {
                let letters = letters.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                ("/letters/actions".to_owned(), vec![("id", letters), ("action", "reopen".to_owned()), back])
            }
            Undo::Job(job) => (format!("/jobs/{job}/undo"), vec![back]),
            Undo::View(view) => ("/views/restore".to_owned(), vec![("id", view.to_string())]),
            Undo::Groups(groups, at) => {
                let groups = groups.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
                let fields = vec![("id", groups), ("action", "undo".to_owned()), ("at", at.to_string()), back];
                ("/groups/actions".to_owned(), fields)
            }
        })
    }

    /// For where it is sent beside something else.
    pub fn to_html(&self) -> String {
        // A template fails only if memory does.
        ToastPart { toast: self }.render().unwrap_or_default()
    }

    /// For where it is put into a page that is there already, beside another block.
    pub fn to_html_beside(&self) -> String {
        format!("<div hx-swap-oob=\"innerHTML:#toasts\">{}</div>", self.to_html())
    }

    /// The cookie that brings it to the next page.
    pub fn to_cookie(&self) -> Option<HeaderValue> {
        let view = if let Some(Undo::View(view)) = &self.undo { view.to_string() } else { String::new() };
        let (ids, job, at): (Vec<Uuid>, _, _) = match &self.undo {
            Some(Undo::Letters(letters)) => (letters.iter().map(|id| id.as_uuid()).collect(), String::new(), None),
            Some(Undo::Groups(groups, at)) => (groups.iter().map(|id| id.as_uuid()).collect(), String::new(), Some(at)),
            Some(Undo::Job(job)) => (Vec::new(), job.to_string(), None),
            Some(Undo::View(_)) | None => (Vec::new(), String::new(), None),
        };
        let ids: Vec<u8> = ids.iter().flat_map(|id| *id.as_bytes()).collect();
        let value = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("failed", if self.is_failure() { "1" } else { "" })
            .append_pair("text", &self.text)
            .append_pair("letters", &BASE64_URL_SAFE_NO_PAD.encode(ids))
            .append_pair("job", &job)
            .append_pair("view", &view)
            .append_pair("at", &at.map(i64::to_string).unwrap_or_default())
            .finish();
        HeaderValue::from_str(&format!("{COOKIE}={value}; Path=/; Max-Age=60; HttpOnly; SameSite=Strict")).ok()
    }

    /// What the page before left to say, to somebody who looks.
    pub fn from_cookie(headers: &HeaderMap) -> Option<Self> {
        if is_refresh(headers) {
            return None;
        }
        let mut pairs = Pairs::parse(cookie(headers, COOKIE)?.as_bytes());
        let failed = pairs.take("failed").ok()?.is_some();
        let text = pairs.take("text").ok()??;
        if failed {
            return Some(Self::failed(text));
        }
        if let Some(job) = pairs.take_parsed("job").ok()? {
            return Some(Self::done(text).undone_by_job(job));
        }
        if let Some(view) = pairs.take_parsed("view").ok()? {
            return Some(Self::done(text).undone_for_view(view));
        }
        let letters = BASE64_URL_SAFE_NO_PAD.decode(pairs.take("letters").ok()?.unwrap_or_default()).ok()?;
        let ids = letters.chunks_exact(16).filter_map(|id| Uuid::from_slice(id).ok());
        Some(match pairs.take_parsed("at").ok()? {
            Some(at) => Self::done(text).undone_for(ids.map(GroupId::from_uuid).collect(), Timestamp::from_micros(at)),
            None => Self::done(text).undone_by(ids.map(LetterId::from_uuid).collect()),
        })
    }

    /// On the page at `here`, to come back to it where a form may.
    pub fn on(self, here: &str) -> Self {
        if leads_back(here) { Self { back: here.to_owned(), ..self } } else { self }
    }

    /// Removes the cookie once it is shown.
    pub fn clearing_cookie() -> HeaderValue {
        HeaderValue::from_static("dlo-toast=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header;

    use super::*;

    fn carried(toast: &Toast) -> Option<Toast> {
        let cookie = toast.to_cookie().expect("a cookie");
        let (pair, _) = cookie.to_str().expect("ascii").split_once(';').expect("attributes");
        let mut headers = HeaderMap::new();
        headers.insert(header::COOKIE, format!("other=1; {pair}").parse().expect("a value"));
        Toast::from_cookie(&headers)
    }

    #[test]
    fn crosses_a_redirect() {
        let ids = vec![LetterId::from_uuid(Uuid::from_u128(1)), LetterId::from_uuid(Uuid::from_u128(u128::MAX))];
        let toast = Toast::done("Discarded 2; ö & more = fine").undone_by(ids);
        assert_eq!(carried(&toast), Some(toast));
        let of_job = Toast::done("Discarded 12,431").undone_by_job(Uuid::from_u128(7));
        assert_eq!(carried(&of_job), Some(of_job));
        let groups = vec![GroupId::from_uuid(Uuid::from_u128(9))];
        let of_groups = Toast::done("Resolved 1 group.").undone_for(groups, Timestamp::from_micros(-5));
        assert_eq!(carried(&of_groups), Some(of_groups));
        let of_view = Toast::done("Removed").undone_for_view(Uuid::from_u128(3));
        assert_eq!(carried(&of_view), Some(of_view));
        let failed = Toast::failed("no");
        assert_eq!(carried(&failed), Some(failed));
    }

    #[test]
    fn fits_a_cookie() {
        let ids = vec![LetterId::from_uuid(Uuid::max()); MAX_UNDO];
        let cookie = Toast::done("ä".repeat(150)).undone_by(ids).to_cookie().expect("a cookie");
        assert!(cookie.len() < 4_096, "{}", cookie.len());
        assert!(Toast::done("").undone_by(vec![LetterId::from_uuid(Uuid::nil()); MAX_UNDO + 1]).undo.is_none());
    }
}

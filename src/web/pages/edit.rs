//! `/letters/{id}/edit`: mend a message and send it back.
//!
//! What is typed is checked against the type of the message while it is typed, and nothing is sent before the changes
//! were shown.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use askama::Template;
use axum::{
    Extension,
    extract::{DefaultBodyLimit, State},
    http::HeaderMap,
    response::Response,
};
use payload_codec::{diff::diff, json::OneLine, message::MASK, unwrap::UnwrapMode};

use super::{
    back_to::BackTo,
    edit_check::{Check, WrongPlace, header_in_words, why_only_headers},
    edit_form::{EditForm, FIELDS, HeaderRow, PropertyRow},
    edit_headers::{FixedHeaders, fixed},
    edit_text, fragment,
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{
        access::Right,
        actor::Actor,
        command::Refusal,
        edit::Edit,
        letter::{Letter, LetterId},
    },
    services::{
        decoding::{
            reading::{EditProblem, EditedAs, Reading},
            scrub::telling_headers,
        },
        triage::edits::EditReach,
    },
    web::{
        error::WebError,
        input::{BodyLimit, FormPairs, body_limit, delay, path_id},
        orders::letters::read_retry,
        query::further,
        state::AppState,
        view::{letter_facts::TITLE, payload::label, report, text, why},
        visitor::{CurrentUser, Visitor},
    },
};

/// Of a form: a body that is shown as JSON takes several times its size, and once more as a form.
const LARGEST: usize = 64 << 20;

/// Of contents that are shown twice, as they came beside what is made of them.
const COMPARED: usize = 256 << 10;

#[derive(Template)]
#[template(path = "letter/edit.html", blocks = ["check"])]
struct EditPage {
    shell: Shell,
    /// Where it is shown, and this form.
    back: String,
    here: String,
    /// The error it failed with.
    error: String,
    queue: String,
    /// What is edited, as it came; empty where there is nothing, or too much to look at both.
    original: String,
    /// `base64 → gzip → protobuf acme.texts.v1.Text`
    shape: String,
    form: EditForm,
    headers: Vec<HeaderRow>,
    fixed: Vec<FixedHeaders>,
    properties: Vec<PropertyRow>,
    /// Why there are none of these.
    no_properties: Option<String>,
    remarks: Vec<String>,
    /// Why its contents cannot be edited; its headers can.
    only_headers: Option<String>,
    check: Check,
}

/// The limit of its form.
pub fn limit() -> (DefaultBodyLimit, Extension<BodyLimit>) {
    body_limit(LARGEST)
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    path_id::PathId(id): path_id::PathId<Letter>,
    BackTo(back): BackTo,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let desk = Desk::lay(&app, id, back).await?;
    let form = EditForm::of(desk.text().unwrap_or_default());
    let mut page = desk.page(&app, form, Check::Same).await?;
    page.shell.toast = Toast::from_cookie(&headers).map(|toast| toast.on(&page.shell.here));
    Ok(fragment::whole(page.render()?, &page.shell))
}

pub async fn act(
    State(app): State<Arc<AppState>>,
    path_id::PathId(id): path_id::PathId<Letter>,
    user: CurrentUser,
    BackTo(back): BackTo,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let is_part = pairs.take("part")?.is_some();
    let seen = pairs.take("send")?;
    // Scripts name the page they are on.
    pairs.take("back")?;
    let form = EditForm::take(&mut pairs)?;
    pairs.finish(FIELDS)?;
    let desk = Desk::lay(&app, id, back).await?;
    let edit = desk.edit(&app, &form).await;
    if let (Some(seen), Ok(edit)) = (&seen, &edit)
        && *seen == desk.fingerprint(&form, edit)
    {
        let refusal = match desk.send(&app, &form, edit, &user).await? {
            Ok((copy, delay)) => return Ok(desk.sent(copy, delay, &headers)),
            Err(refusal) => refusal,
        };
        let check = desk.check(&form, Ok(edit.clone()));
        let mut page = desk.page(&app, form, check).await?;
        page.shell.toast = Some(Toast::failed(report::not_done([&*refusal.to_string()])));
        return Ok(fragment::refused(page.render()?, &page.shell));
    }
    let check = desk.check(&form, edit);
    let page = desk.page(&app, form, check).await?;
    if is_part {
        return Ok(fragment::only(page.as_check().render()?));
    }
    Ok(fragment::whole(page.render()?, &page.shell))
}

/// A letter that is being edited.
struct Desk {
    letter: Arc<Letter>,
    reading: Reading,
    one_line: Option<OneLine>,
    reach: EditReach,
    /// Where it is shown.
    back: String,
}

impl Desk {
    async fn lay(app: &AppState, id: LetterId, back: Option<String>) -> Result<Self, WebError> {
        let letter = Arc::new(app.letter(id).await?.ok_or_else(path_id::missing::<Letter>)?);
        // At that queue: the table of routes asks for any.
        [Right::Act, Right::Payload].into_iter().try_for_each(Visitor::need)?;
        let reading = app.reader.read(&letter, Vec::new(), UnwrapMode::Automatic, false).await;
        let reach = app.triage.edit_reach(&letter).without_hidden(telling_headers(&letter.message.headers, &reading));
        let one_line = edit_text::one_line(&reading);
        Ok(Self { letter, reading, one_line, reach, back: back.unwrap_or_else(|| format!("/letters/{id}")) })
    }

    /// The copy is shown where the original was.
    fn sent(&self, copy: LetterId, delay: Duration, headers: &HeaderMap) -> Response {
        let toast = Toast::done(report::edited(delay));
        let there = self.back.replacen(&self.letter.summary.id.to_string(), &copy.to_string(), 1);
        redirect(&there, &toast, headers)
    }

    /// What is shown for editing; `None` where there is nothing to edit but headers.
    fn text(&self) -> Option<&str> {
        self.one_line.as_ref().map(OneLine::laid_out).or_else(|| edit_text::text(&self.reading))
    }

    /// The body with that text in it. What is wrong with it is told at its place in the form.
    async fn written(&self, app: &AppState, text: String) -> Result<Vec<u8>, Vec<EditProblem>> {
        let joined = self.one_line.as_ref().and_then(|one_line| one_line.joined(&text));
        app.reader.write(&self.letter, joined.unwrap_or(text), EditedAs::Shown).await
    }

    /// What the form changes.
    async fn edit(&self, app: &AppState, form: &EditForm) -> Result<Edit, Vec<EditProblem>> {
        let mut problems = self.problems_beside(app, form);
        let shown = self.text();
        let changed = shown.map(|shown| form.text_like(shown)).filter(|text| Some(text.as_str()) != shown);
        let changed_text = changed.clone();
        let written = match changed {
            Some(text) => self.written(app, text).await.map(Some),
            None => Ok(None),
        };
        let body = written.unwrap_or_else(|wrong| {
            problems.splice(..0, wrong);
            None
        });
        // Where values are hidden it must not be told that a guess at one is right.
        let is_guess = self.reading.hides && changed_text.is_some_and(|text| !self.reading.says_no_more(&text));
        let body = body.filter(|body| is_guess || *body != self.letter.message.body);
        let headers = form.header_edits(&self.reach);
        let properties =
            form.property_edits(&self.reach, body.is_some() || !headers.is_empty()).unwrap_or_else(|wrong| {
                let problem =
                    |(property, reason)| EditProblem { at: None, path: format!("property {property}"), reason };
                problems.extend(wrong.into_iter().map(problem));
                Vec::new()
            });
        let edit = app.triage.with_consequences(&self.letter.message, Edit { body, headers, properties });
        match app.triage.check_edit(&self.letter, &edit, form.queue()) {
            _ if !problems.is_empty() => Err(problems),
            Err(refusal) if !edit.is_empty() => {
                Err(vec![EditProblem { at: None, path: String::new(), reason: refusal.to_string() }])
            }
            _ => Ok(edit),
        }
    }

    /// What is wrong beside the contents.
    fn problems_beside(&self, app: &AppState, form: &EditForm) -> Vec<EditProblem> {
        let problem = |path, reason| EditProblem { at: None, path, reason };
        let headers = form.wrong_headers(&self.reach).into_iter();
        let delay = Some(&*form.delay).filter(|delay| !delay.trim().is_empty());
        let delay = delay.and_then(|delay| delay::read(delay, app.clock.now()).err());
        let delay = delay.map(|reason| problem("after".to_owned(), reason));
        headers.map(|(name, reason)| problem(format!("header {name}"), reason)).chain(delay).collect()
    }

    fn check(&self, form: &EditForm, edit: Result<Edit, Vec<EditProblem>>) -> Check {
        match edit {
            Err(problems) => Check::Wrong(problems.into_iter().map(WrongPlace::from).collect()),
            Ok(edit) if edit.is_empty() => Check::Same,
            Ok(edit) => {
                let shown = self.text().unwrap_or_default();
                let hunks = edit.body.as_ref().map(|_| diff(shown, &form.text_like(shown))).unwrap_or_default();
                let only_breaks = edit.body.is_some() && hunks.is_empty();
                let seen = self.fingerprint(form, &edit);
                let headers = edit.headers.iter().map(header_in_words).collect();
                let properties = edit.properties.iter().map(|edit| text::one_line(&edit.summary())).collect();
                Check::Changed { hunks, headers, properties, only_breaks, seen }
            }
        }
    }

    /// The same for the same changes. It is made of what was typed only: one of the body would tell whether a guess at a
    /// hidden value is right.
    fn fingerprint(&self, form: &EditForm, edit: &Edit) -> String {
        let mut hasher = DefaultHasher::new();
        let text = edit.body.as_ref().and_then(|_| self.text()).map(|shown| form.text_like(shown));
        (text, &edit.headers, &edit.properties).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// The copy, or why there is none.
    async fn send(
        &self,
        app: &AppState,
        form: &EditForm,
        edit: &Edit,
        by: &Actor,
    ) -> Result<Result<(LetterId, Duration), Refusal>, WebError> {
        let delay = Some(form.delay.clone()).filter(|delay| !delay.trim().is_empty());
        let (delay, queue) = read_retry(delay.as_deref(), form.queue().map(str::to_owned), app)?;
        let sent = app.triage.retry_edited(self.letter.summary.id, edit, delay, queue.as_deref(), by).await?;
        Ok(sent.map(|copy| (copy, delay)))
    }

    fn remarks(&self) -> Vec<String> {
        let masked = (self.reading.hides && self.text().is_some()).then(|| {
            format!("Hidden values read {MASK}1, {MASK}2. One that is left so keeps its value; what you write instead is sent.")
        });
        let one_line = self.one_line.is_some().then(|| "It came on one line, and goes out on one.".to_owned());
        masked.into_iter().chain(one_line).chain(self.reading.remarks.clone()).collect()
    }

    async fn page(&self, app: &AppState, form: EditForm, check: Check) -> Result<EditPage, WebError> {
        let summary = &self.letter.summary;
        let steps = self.reading.unwrapped.steps.iter().map(ToString::to_string);
        let format = label(self.reading.unwrapped.format).to_owned();
        let shape = steps.chain([format]).collect::<Vec<_>>().join(" → ");
        let named = self.reading.named.as_ref().map(|named| format!(" {}", named.name)).unwrap_or_default();
        let here = further(&format!("/letters/{}/edit", summary.id), [("back", &*self.back)].into_iter());
        Ok(EditPage {
            shell: Shell { here: here.clone(), ..Shell::load(app, Page::Letters).await? },
            back: self.back.clone(),
            here,
            error: text::shortened(&why::title(summary).0, TITLE),
            original: self.text().filter(|text| text.len() <= COMPARED).map(str::to_owned).unwrap_or_default(),
            queue: summary.queue.clone().unwrap_or_default(),
            shape: text::one_line(&format!("{shape}{named}")),
            headers: form.rows(&self.reach),
            fixed: fixed(&self.reach),
            properties: form.property_rows(&self.reach),
            no_properties: self.reach.why_no_properties(),
            form,
            remarks: self.remarks(),
            only_headers: why_only_headers(&self.reading),
            check,
        })
    }
}

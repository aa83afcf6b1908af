//! `/groups/rules`: what makes errors alike; seen, tried and added.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};
use uuid::Uuid;

use super::{
    fragment,
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::grouping_rule::GroupingRule,
    services::grouping_rules::{NewGroupingRule, Preview, WouldMerge},
    web::{
        error::WebError,
        htmx::is_htmx,
        input::{FormPairs, path_id::missing},
        orders::{grouping_rule, policy::Wrong},
        query::Pairs,
        state::AppState,
        view::{activity::GROUPING_RULES, group, number, text, time::Moment},
        visitor::CurrentUser,
    },
};

/// Groups of one merge that are shown; the others are counted.
const SHOWN: usize = 10;
/// Characters of an error.
const ERROR: usize = 160;

#[derive(Template)]
#[template(path = "grouping_rules/page.html", blocks = ["preview"])]
struct GroupingRulesPage {
    shell: Shell,
    rows: Vec<RuleRow>,
    new: NewGroupingRule,
    wrong: Vec<Wrong>,
    preview: Option<PreviewView>,
}

struct RuleRow {
    id: String,
    name: String,
    pattern: String,
    placeholder: String,
    by: String,
    at: Moment,
}

struct PreviewView {
    words: String,
    merges: Vec<MergeView>,
}

struct MergeView {
    place: String,
    error: String,
    groups: Vec<MergedView>,
    more: String,
}

struct MergedView {
    href: String,
    error: String,
    letters: String,
}

impl RuleRow {
    fn new(rule: &GroupingRule, now: Timestamp) -> Self {
        Self {
            id: rule.id.to_string(),
            name: text::one_line(&rule.name),
            pattern: text::one_line(&rule.pattern),
            placeholder: text::one_line(&rule.placeholder),
            by: text::one_line(rule.by.as_str()),
            at: Moment::new(rule.set_at, now),
        }
    }
}

impl PreviewView {
    fn new(preview: &Preview) -> Self {
        let merges = preview.merges.len() + preview.left_out;
        let matched = number::plural(preview.matched as u64, "error group");
        let words = match (preview.matched, merges) {
            (0, _) => "It matches the error of no group that there is.".to_owned(),
            (_, 0) => format!("It matches the errors of {matched}, and merges none: they are alike in nothing else."),
            (_, 1) => format!("It matches the errors of {matched}, and merges these:"),
            (_, merges) => {
                format!("It matches the errors of {matched}, and makes {merges} groups of them. Those of most are:")
            }
        };
        Self { words, merges: preview.merges.iter().map(MergeView::new).collect() }
    }
}

impl MergeView {
    fn new(merge: &WouldMerge) -> Self {
        let groups = merge.groups.iter().take(SHOWN).map(|known| MergedView {
            href: group::href(known.id),
            error: text::shortened(&text::one_line(&known.key.error), ERROR),
            letters: number::plural(known.letters, "dead letter"),
        });
        let more = merge.groups.len().saturating_sub(SHOWN) + merge.left_out;
        Self {
            place: text::one_line(&merge.key.title()),
            error: text::shortened(&text::one_line(&merge.key.error), ERROR),
            groups: groups.collect(),
            more: if more > 0 { format!("and {} more", number::thousands(more as u64)) } else { String::new() },
        }
    }
}

impl GroupingRulesPage {
    fn wrong_with(&self, field: &str) -> &str {
        self.wrong.iter().find(|wrong| wrong.field == field).map_or("", |wrong| &wrong.why)
    }
}

pub async fn show(State(app): State<Arc<AppState>>, headers: HeaderMap) -> Result<Response, WebError> {
    let new = NewGroupingRule { placeholder: "…".to_owned(), ..NewGroupingRule::default() };
    let mut page = load(&app, new, Vec::new()).await?;
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

async fn load(app: &AppState, new: NewGroupingRule, wrong: Vec<Wrong>) -> Result<GroupingRulesPage, WebError> {
    let (now, facets) = (app.clock.now(), app.store().counts_overall().await?);
    Ok(GroupingRulesPage {
        shell: Shell::new(app, Page::Groups, &facets).await?,
        rows: app.grouping_rules.all().iter().map(|rule| RuleRow::new(rule, now)).collect(),
        new,
        wrong,
        preview: None,
    })
}

/// What the rule that is being typed would do.
pub async fn check(
    State(app): State<Arc<AppState>>,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let new = take(&mut pairs)?;
    // It needs no name to be tried.
    let named = NewGroupingRule { name: "new".to_owned(), ..new.clone() };
    let wrong = grouping_rule::check(&named).err().unwrap_or_default();
    let preview = match wrong.is_empty() {
        true => Some(PreviewView::new(&app.grouping_rules.preview(&named, &app.store()).await?)),
        false => None,
    };
    let page = GroupingRulesPage { preview, ..load(&app, new, wrong).await? };
    Ok(match is_htmx(&headers) {
        true => fragment::only(page.as_preview().render()?),
        false => fragment::whole(page.render()?, &page.shell),
    })
}

pub async fn add(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let new = take(&mut pairs)?;
    let added = match grouping_rule::check(&new) {
        Ok(()) => app.grouping_rules.add(&new, &user).await.map_err(grouping_rule::wrong_with),
        Err(wrong) => return refuse(&app, new, wrong).await,
    };
    match added {
        Ok(rule) => {
            let toast = Toast::done(format!("Added the grouping rule {}.", text::name(&rule.name, 60)));
            Ok(redirect(GROUPING_RULES, &toast, &headers))
        }
        Err(wrong) => refuse(&app, new, vec![wrong?]).await,
    }
}

async fn refuse(app: &AppState, new: NewGroupingRule, wrong: Vec<Wrong>) -> Result<Response, WebError> {
    let page = load(app, new, wrong).await?;
    Ok(fragment::refused(page.render()?, &page.shell))
}

fn take(pairs: &mut Pairs) -> Result<NewGroupingRule, WebError> {
    let mut text = |name: &str| pairs.take(name).map(Option::unwrap_or_default);
    Ok(NewGroupingRule { name: text("name")?, pattern: text("pattern")?, placeholder: text("placeholder")? })
}

pub async fn remove(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let id: Uuid = pairs.need("id")?;
    let removed = app.grouping_rules.remove(id, &user).await?.ok_or_else(missing::<GroupingRule>)?;
    let name = text::name(&removed.name, 60);
    let toast = Toast::done(format!("Removed the grouping rule {name}. What it had merged is split again."));
    Ok(redirect(GROUPING_RULES, &toast, &headers))
}

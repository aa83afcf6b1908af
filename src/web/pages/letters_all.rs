//! `/letters/all`: one thing done with all letters that a list shows, asked once more first.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    back_to::leads_back,
    bulk_action::{self, BulkAction, BulkTarget, Confirmation, Confirmed},
    bulk_preview,
    choices::queue_names,
    fragment::answer,
    part::MainPart,
    redirect::redirect,
    shell::{Page, Shell},
    visit::Visit,
};
use crate::{
    domain::{
        actor::Actor,
        command::Command,
        filter::LetterFilter,
        job::Bulk,
        letter::{Importance, Status},
    },
    services::triage::scope,
    web::{
        error::WebError,
        input::{FormPairs, QueryPairs},
        orders::letters::{Action, Order},
        query::{LetterQuery, Listed, Parameters, borrowed, form, parameters},
        shared::search,
        state::AppState,
        view::{group, number, preflight::PreflightView, text},
        visitor::CurrentUser,
    },
};

/// Characters of what is meant.
const MEANT: usize = 200;

parameters! {
    /// What is about to be done with all of them, and where it was asked.
    pub AskedFrom {
        "all" all: Option<BulkAction> as form::One,
        /// The delay or importance that was chosen there.
        "chosen" chosen: Option<String> as form::One,
        /// The list of letters, if that is not said.
        "back" back: Option<String> as form::One,
    }
}

#[derive(Template)]
#[template(path = "letters/all.html", blocks = ["title", "main", "nav"])]
struct AllPage {
    shell: Shell,
    heading: &'static str,
    /// The list that it is about, and what it is called.
    list: String,
    list_name: &'static str,
    /// Where it was asked.
    back: String,
    /// None where nothing there takes it.
    confirmation: Option<Confirmation>,
    queues: Vec<String>,
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    visit: Visit<(LetterQuery, AskedFrom), MainPart>,
) -> Result<Response, WebError> {
    let (query, asked) = &visit.query;
    search::check(&app, query)?;
    let (now, all) = (app.clock.now(), asked.all.unwrap_or(BulkAction::Retry));
    let list = query.with(|_| ());
    let facets = app.store().counts_overall().await?;
    let back = asked.way_back(&list)?;
    let confirmation = confirmation(&app, all, (&list, asked), &user, now).await?;
    let here = AskedFrom { all: Some(all), ..asked.clone() };
    let is_of_groups = back.starts_with("/groups");
    let (page, list_name) = if is_of_groups { (Page::Groups, "Error groups") } else { (Page::Letters, "Dead letters") };
    let page = AllPage {
        shell: visit.at(address(&list, &here), Shell::new(&app, page, &facets).await?),
        heading: if list.asks_for("id") { "Picked dead letters" } else { "All that match" },
        list: if is_of_groups { back.clone() } else { list.href() },
        list_name,
        back,
        queues: queue_names(&facets),
        confirmation,
    };
    Ok(answer!(page, visit.part, MainPart::Main => main))
}

/// Does it with what was received before it was asked.
pub async fn act(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    QueryPairs(mut words): QueryPairs,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let (query, asked) = <(LetterQuery, AskedFrom)>::take(&mut words)?;
    search::check(&app, &query)?;
    if let Some(part) = pairs.take_parsed("part")? {
        let until = bulk_preview::take_until(&mut pairs)?;
        let filter = acted_on(&query, &BulkAction::Retry.command(), until);
        search::refuse_blind(&filter, &user)?;
        return bulk_preview::preview(&app, part, (&filter, until), &mut pairs, &user).await;
    }
    let Confirmed { command, until, edit, pacing } = Confirmed::take(&mut pairs, Action::OF_MANY, &app)?;
    let filter = acted_on(&query, &command, until);
    search::refuse_blind(&filter, &user)?;
    let bulk = Bulk { filter, until, left: None, command, edit, pacing, by: user.clone() };
    let (to, toast) = bulk_action::carry_out_from(&app, bulk, &asked.way_back(&query.with(|_| ()))?).await?;
    Ok(redirect(&to, &toast, &headers))
}

impl AskedFrom {
    /// With what its order says that can still be chosen.
    pub fn of(all: BulkAction, order: Order) -> Self {
        Self { all: Some(all), chosen: all.chosen(order), back: None }
    }

    /// Where one is again when it is done, or left.
    fn way_back(&self, list: &LetterQuery) -> Result<String, WebError> {
        match &self.back {
            None => Ok(list.href()),
            Some(back) if leads_back(back) => Ok(back.clone()),
            Some(_) => Err(WebError::bad_request("back: it takes the address of a list")),
        }
    }
}

/// The page that asks, for a list.
pub fn address(list: &LetterQuery, asked: &AskedFrom) -> String {
    let href = list.href_with(&borrowed(&asked.pairs()).collect::<Vec<_>>());
    href.replacen("/letters", "/letters/all", 1)
}

/// Those of a list that may take the command: a list of all statuses has others.
fn acted_on(query: &LetterQuery, command: &Command, until: Timestamp) -> LetterFilter {
    let mut filter = query.page_filter(until);
    let allowed = command.allowed_in();
    let shown = |status: &Status| filter.statuses.is_empty() || filter.statuses.contains(status);
    let statuses: Vec<Status> = allowed.iter().filter(|status| shown(status)).copied().collect();
    // Where none may, each says why.
    if !statuses.is_empty() {
        filter.statuses = statuses;
    }
    filter
}

/// A group has its title, and several are counted: their ids say nothing.
async fn meant(app: &AppState, filter: &LetterFilter, count: u64) -> Result<String, WebError> {
    let groups = app.store().groups_by_id(&filter.groups).await?;
    let describe = |filter: &LetterFilter| scope::describe_so_many(filter, Some(count));
    let of_any = || describe(&LetterFilter { groups: Vec::new(), ..filter.clone() });
    Ok(match (&*groups, filter.groups.len()) {
        (_, 0) | ([], 1) => describe(filter),
        ([group], 1) => format!("{} of the group “{}”", of_any(), group::Title::new(&group.key).with_error()),
        (_, n) => format!("{} of {}", of_any(), number::plural(n as u64, "error group")),
    })
}

async fn confirmation(
    app: &AppState,
    all: BulkAction,
    (list, asked): (&LetterQuery, &AskedFrom),
    by: &Actor,
    now: Timestamp,
) -> Result<Option<Confirmation>, WebError> {
    let command = all.command();
    let filter = acted_on(list, &command, now);
    search::refuse_blind(&filter, by)?;
    let count = app.store().count(&filter).await?;
    if count == 0 || !filter.statuses.iter().any(|status| command.allowed_in().contains(status)) {
        return Ok(None);
    }
    let preflight = app.triage.preflight(&filter, [now, now.minus(app.settings.succeeded_after)], None, by).await?;
    let status = match &*filter.statuses {
        [one] => *one,
        _ => Status::Open,
    };
    let whole = BulkTarget {
        status,
        count,
        of: text::shortened(&text::one_line(&meant(app, &filter, count).await?), MEANT),
        needs_queue: !preflight.queues.iter().any(|queue| queue.letters > 0),
        post: address(list, &AskedFrom { back: asked.back.clone(), ..AskedFrom::default() }),
        fields: Vec::new(),
        until: now.as_micros(),
        cancel: asked.way_back(list)?,
        importances: Importance::ALL,
    };
    let verb = match all {
        BulkAction::Retry => "Retry",
        BulkAction::Reopen => "Reopen",
        BulkAction::Discard => "Discard",
        BulkAction::Importance => "Set the importance of",
    };
    let question = format!("{verb} {} {}?", number::thousands(count), whole.of);
    let chosen = asked.chosen.clone().unwrap_or_default();
    let confirmation = Confirmation { question, chosen, ..Confirmation::new(all, whole) };
    let preflight = (all == BulkAction::Retry).then(|| PreflightView::new(&preflight));
    Ok(Some(Confirmation { preflight, ..confirmation }))
}

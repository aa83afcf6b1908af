//! `/groups/actions`: what people do with groups, one or many by one form.

use std::{collections::BTreeSet, str::FromStr, sync::Arc};

use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    back_to::take_back,
    bulk_action::BulkAction,
    group_merges,
    letters_all::{self, AskedFrom},
    redirect::{lead_to, redirect},
    toast::Toast,
};
use crate::{
    domain::{
        group::GroupId,
        group_state::{GroupCommand, GroupRefusal},
        letter::Status,
        version::Expected,
    },
    store::{ChangeError, GroupReport},
    web::{
        error::WebError,
        htmx::is_htmx,
        input::FormPairs,
        orders::{self, groups::GroupOrderFields},
        query::{LetterQuery, Pairs},
        state::AppState,
        view::{
            group_state::{done, unchanged},
            report,
        },
        visitor::CurrentUser,
    },
};

/// What the list of groups calls it.
const MERGE: &str = "merge";

pub async fn act(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let back = take_back(&mut pairs)?;
    let ids = take_ids(&mut pairs)?;
    let expected = pairs.take("version")?.map_or(Expected::Anything, |seen| Expected::seen(&seen));
    let fields = GroupOrderFields::take(&mut pairs)?;
    if ids.is_empty() {
        return Ok(redirect(&back, &Toast::failed("No group is selected."), &headers));
    }
    if let Some(all) = of_letters(&fields.action) {
        return Ok(lead_to(&about_letters(ids, all, back), &headers));
    }
    if fields.action == MERGE {
        return match group_merges::merge(&app, &user, &ids).await {
            Ok(toast) => Ok(redirect(&back, &toast, &headers)),
            Err(error) => not_done(error, &back, &headers),
        };
    }
    // Before a length of time is counted from: it is told as it was chosen.
    let now = app.clock.now();
    let groups = app.store().groups_by_id(&ids).await?;
    let command = match &*fields.action {
        "ticket" => orders::groups::ticket(&pairs.take("ticket")?.unwrap_or_default()),
        _ => fields.command(&app, &user, &groups).await,
    };
    let command = match command {
        Ok(command) => command,
        Err(error) => return not_done(error, &back, &headers),
    };
    let toast = match app.triage.act_on_groups(&ids, &command, &expected, &user).await {
        Ok((report, at)) => {
            let toast = tell(&command, &report, now);
            if command.can_be_undone() && !toast.is_failure() { toast.undone_for(report.done, at) } else { toast }
        }
        Err(ChangeError::Changed(_)) => overtaken(),
        Err(ChangeError::Store(error)) => return Err(error.into()),
    };
    Ok(redirect(&back, &toast, &headers))
}

/// Scripts leave the page as it is, with what was chosen or typed; without them one is where one was.
fn not_done(mut error: WebError, back: &str, headers: &HeaderMap) -> Result<Response, WebError> {
    if !error.status.is_client_error() {
        return Err(error);
    }
    error.detail = format!("Not done: {}.", error.detail);
    match is_htmx(headers) {
        true => Err(error),
        false => Ok(redirect(back, &Toast::failed(error.detail), headers)),
    }
}

fn take_ids(pairs: &mut Pairs) -> Result<Vec<GroupId>, WebError> {
    let values = pairs.take_all("id");
    let ids = values.iter().flat_map(|value| value.split(',')).map(GroupId::from_str);
    let ids = ids.collect::<Result<BTreeSet<_>, _>>().map_err(WebError::bad_request)?;
    Ok(ids.into_iter().collect())
}

/// What is done with the open letters of groups.
fn of_letters(action: &str) -> Option<BulkAction> {
    [BulkAction::Retry, BulkAction::Discard].into_iter().find(|all| all.as_str() == action)
}

/// The page that asks once more.
fn about_letters(groups: Vec<GroupId>, all: BulkAction, back: String) -> String {
    let query = LetterQuery { groups, statuses: Some(vec![Status::Open]), ..LetterQuery::default() };
    letters_all::address(&query, &AskedFrom { all: Some(all), back: Some(back), ..AskedFrom::default() })
}

fn tell(command: &GroupCommand, report: &GroupReport, at: amqp_message::time::Timestamp) -> Toast {
    let reasons: Vec<String> =
        report.refused.iter().map(|(_, refusal): &(_, GroupRefusal)| refusal.to_string()).collect();
    let reasons = || reasons.iter().map(String::as_str);
    let [n_done, n_unchanged, n_refused] =
        [report.done.len(), report.unchanged.len(), report.refused.len()].map(|n| n as u64);
    if n_done + n_unchanged == 0 {
        return Toast::failed(report::not_done(reasons()));
    }
    let parts = [
        (n_done > 0).then(|| done(command, n_done, at)),
        (n_unchanged > 0).then(|| unchanged(command, n_unchanged)),
        (n_refused > 0).then(|| report::others(n_refused, reasons())),
    ];
    Toast::done(parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// Somebody has done something else with the group since its page was made.
fn overtaken() -> Toast {
    Toast::failed("Nothing was done: somebody has changed this group meanwhile. It is shown as it is now.")
}

//! The pages, one file a screen.
//!
//! A handler reads the address, loads once, makes one struct and renders it: the whole page, or the block that `?part=`
//! names, which the target of an htmx request stands for. What is shown is decided here and in `view`, how it looks in
//! `templates` and `static/css`.

mod account;
mod actions;
mod activity;
mod back_to;
pub mod banner;
mod bulk_action;
mod bulk_preview;
mod choices;
mod columns;
mod completions;
mod digests;
mod edit;
mod edit_check;
mod edit_form;
mod edit_headers;
mod edit_text;
mod filters;
mod fragment;
mod get_started;
mod group;
mod group_buttons;
mod group_charts;
mod group_commands;
mod group_filters;
mod group_merges;
mod group_moved;
mod group_split;
mod grouping_rules;
mod groups;
mod in_common;
mod jobs;
mod last_visit;
mod letter;
mod letter_links;
mod letters;
mod letters_all;
mod line_breaks;
mod list;
mod mapping_commands;
mod mapping_form;
mod markers;
mod neighbours;
mod next_step;
mod overview;
mod part;
mod policies;
mod policy_form;
mod queue;
mod queues;
mod redirect;
mod refresh;
mod rule_commands;
mod rule_form;
mod rules;
mod running_jobs;
mod scheduled;
mod schema_type;
mod schemas;
mod search_box;
mod set_up;
pub mod shell;
mod sign_in;
mod sort_menu;
mod target;
pub mod toast;
mod users;
mod views;
mod views_menu;
mod visit;

use std::sync::Arc;

use axum::{Router, middleware};

use super::handlers::{any, get, post};
use crate::web::{input::upload, state::AppState};

pub fn routes() -> Router<Arc<AppState>> {
    Router::new()
        .route("/", get(overview::show))
        .route("/banner", get(banner::show))
        .route("/get-started", get(get_started::show))
        .route("/get-started/test", post(get_started::test))
        .route("/groups", get(groups::show))
        .route("/groups/actions", post(group_commands::act))
        .route("/groups/{id}", get(group::show))
        .route("/groups/{id}/in-common", get(in_common::show))
        .route("/groups/{id}/all", post(group::act))
        .route("/groups/{id}/note", post(group::note))
        .route("/groups/{id}/unmerge", post(group_merges::unmerge))
        .route("/groups/{id}/split", get(group_split::show).post(any(group_split::split)))
        .route("/groups/{id}/join", post(group_split::join))
        .route("/jobs", get(jobs::list))
        .route("/jobs/{id}", get(jobs::show))
        .route("/jobs/{id}/pause", post(jobs::pause))
        .route("/jobs/{id}/resume", post(jobs::resume))
        .route("/jobs/{id}/cancel", post(jobs::cancel))
        .route("/jobs/{id}/undo", post(jobs::undo))
        .route("/letters", get(letters::show))
        .route("/letters/columns", get(columns::show).post(any(columns::choose)))
        .route("/letters/completions", get(completions::show))
        .route("/letters/in-common", get(in_common::of_search))
        .route("/letters/{id}", get(letter::show))
        .route("/letters/{id}/reveal", post(letter::reveal))
        .route("/letters/{id}/edit", get(edit::show).post(any(edit::act)).layer(edit::limit()))
        .route("/letters/actions", post(actions::act))
        .route("/letters/all", get(letters_all::show).post(any(letters_all::act)))
        .route("/scheduled", get(scheduled::show))
        .route("/scheduled/all", post(scheduled::act))
        .route("/queues", get(queues::show))
        .route("/queues/{broker}/{queue}", get(queue::show))
        .route("/queues/{broker}/{queue}/pause", post(queue::pause))
        .route("/queues/{broker}/{queue}/resume", post(queue::resume))
        .route("/policies", get(policies::show))
        .route("/policies/set", post(policies::set))
        .route("/policies/unset", post(policies::unset))
        .route("/digests", get(digests::show))
        .route("/digests/send", post(digests::send))
        .route("/digests/{id}", get(digests::digest))
        .route("/rules", get(rules::show))
        .route("/rules/check", post(rules::check))
        .route("/rules/set", post(rule_commands::set))
        .route("/rules/remove", post(rule_commands::remove))
        .route("/rules/move", post(rule_commands::step))
        .route("/rules/apply", post(rule_commands::apply))
        .route("/rules/cancel", post(rule_commands::cancel))
        .route("/groups/rules", get(grouping_rules::show))
        .route("/groups/rules/check", post(grouping_rules::check))
        .route("/groups/rules/add", post(grouping_rules::add))
        .route("/groups/rules/remove", post(grouping_rules::remove))
        .route("/views", get(views::show))
        .route("/views/menu", get(views::menu))
        .route("/views/{id}", get(views::open))
        .route("/views/set", post(views::set))
        .route("/views/remove", post(views::remove))
        .route("/views/restore", post(views::restore))
        .route("/markers", get(markers::show))
        .route("/markers/set", post(markers::set))
        .route("/markers/remove", post(markers::remove))
        .route("/activity", get(activity::show))
        .route("/schemas", get(schemas::show))
        .route("/schemas/upload", post(schemas::upload).layer(upload::limit()))
        .route("/schemas/remove", post(schemas::remove))
        .route("/schemas/map", post(mapping_commands::set))
        .route("/schemas/unmap", post(mapping_commands::unset))
        .route("/schemas/types/{name}", get(schema_type::show))
        .merge(people())
        .layer(middleware::from_fn(target::choose_part))
}

/// Who comes in, and what is theirs.
fn people() -> Router<Arc<AppState>> {
    Router::new()
        .route("/login", get(sign_in::login))
        .route("/sign-in", get(sign_in::show).post(any(sign_in::by_password)))
        .route("/sign-in/start", get(sign_in::start))
        .route("/sign-in/callback", get(sign_in::callback))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/set-up", get(set_up::show).post(any(set_up::add)))
        .route("/account", get(account::show))
        .route("/account/password", post(account::change_password))
        .route("/account/sessions", post(account::end_sessions))
        .route("/account/tokens", post(account::add_token))
        .route("/account/revoke", post(account::revoke))
        .route("/users", get(users::show))
        .route("/users/add", post(users::add))
        .route("/users/change", post(users::change))
        .route("/users/revoke", post(users::revoke))
}

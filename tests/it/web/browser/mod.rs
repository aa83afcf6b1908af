//! The pages in a real browser.
//!
//! Each file has one page, in which its scenes are played one after the other. Where no broker is needed, dlo
//! serves the database of a [`Desk`], which lets a test put letters in.

mod away;
mod backoff;
mod bar;
mod digests;
mod edit;
mod explorer;
mod filter;
mod get_started;
mod gone;
mod groups;
mod keys;
mod letter;
mod lists;
mod live;
pub mod looks;
mod mass;
mod queue;
mod rules;
pub mod scene;
mod search;
mod triage;
mod types;
mod typing;
mod unsaved;
mod unscripted;
mod views;
mod walk;
mod work;

//! The digest: the outcome of the failures that can wait until the morning.
//!
//! [`Figures`] are what the database says at one moment; from them follows which groups a digest is about, and what happened
//! to these since the last one. [`DigestReport`] sorts the groups and adds them up; [`slack`] writes it down for Slack, and
//! a page does so from the report itself. Whatever the number of groups, every figure is that of all of them, and only
//! the biggest are shown.
//!
//! This module knows neither the database nor the network nor the time.

pub mod group;
pub mod keep;
pub mod line;
pub mod report;
pub mod snapshot;
pub mod visible;
pub mod wording;

pub use self::{
    group::DigestGroup,
    report::{DigestOptions, DigestPeriod, DigestReport, DigestSection, SectionKind},
    snapshot::{Figures, GroupSnapshot, LastDigest, PartOf},
    wording::{has_several_brokers, rest_words},
};

//! A part of a sorted list.

use sqlx::{Database, Encode, QueryBuilder, Type};
use uuid::Uuid;

use crate::{
    domain::{
        filter::{Cursor, LetterFilter, LetterPage, PageRequest, Sort},
        letter::LetterSummary,
    },
    store::search::plan::Plan,
};

/// Which part of a sorted list is meant.
pub(super) struct Part<'a> {
    pub(super) filter: &'a LetterFilter,
    pub(super) page: &'a PageRequest,
    pub(super) limit: usize,
    pub(super) plan: Option<&'a Plan>,
}

impl Part<'_> {
    pub(super) fn push_conditions<DB: Database>(&self, query: &mut QueryBuilder<DB>, table: &str)
    where
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        if let Some(since) = self.filter.since {
            query.push(" AND ").push(table).push("received_at >= ").push_bind(since.as_micros());
        }
        if let Some(until) = self.filter.until {
            query.push(" AND ").push(table).push("received_at < ").push_bind(until.as_micros());
        }
        if let Some(after) = self.page.after {
            let beyond = match self.page.sort {
                Sort::Newest => "<",
                Sort::Oldest => ">",
            };
            query.push(format_args!(" AND ({table}received_at, {table}id) {beyond} ("));
            query.push_bind(after.received_at.as_micros()).push(", ").push_bind(after.id.as_uuid()).push(")");
        }
    }

    /// What the search asks of letters `l`.
    pub(super) fn push_search<DB: Database>(&self, query: &mut QueryBuilder<DB>)
    where
        for<'q> String: Encode<'q, DB> + Type<DB>,
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        if let Some(plan) = self.plan {
            plan.push_whole(query);
        }
    }

    pub(super) fn push_order<DB: Database>(&self, query: &mut QueryBuilder<DB>, table: &str) {
        let direction = match self.page.sort {
            Sort::Newest => "DESC",
            Sort::Oldest => "ASC",
        };
        query.push(format_args!(" ORDER BY {table}received_at {direction}, {table}id {direction}"));
    }
}

/// One more than `limit` tells that there are further ones.
pub(super) fn page_of(mut items: Vec<LetterSummary>, limit: usize) -> LetterPage {
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor { received_at: last.received_at, id: last.id });
    LetterPage { items, next }
}

pub(super) fn sort(items: &mut [LetterSummary], sort: Sort) {
    items.sort_unstable_by_key(|item| (item.received_at, item.id));
    if sort == Sort::Newest {
        items.reverse();
    }
}

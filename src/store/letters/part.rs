//! A part of a sorted list.

use sqlx::{Database, Encode, QueryBuilder, Type};
use uuid::Uuid;

use super::rows::bigint;
use crate::{
    domain::{
        filter::{Cursor, LetterFilter, LetterPage, PageRequest, Sort},
        letter::LetterSummary,
    },
    store::{
        counts::{facets::Range, times::push_times},
        search::{found::FoundLetter, plan::Plan},
    },
};

/// Which part of a sorted list is meant.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    pub(super) filter: &'a LetterFilter,
    pub(super) page: &'a PageRequest,
    pub(super) limit: usize,
    pub(super) plan: Option<&'a Plan>,
    /// Against the order of the list: those before a place, the nearest first.
    pub(super) is_backwards: bool,
}

/// What a list is sorted by before the time.
#[derive(Clone, Copy)]
pub(super) struct Rank {
    pub(super) column: &'static str,
    /// A sign before the column, which keeps a database from walking along an index that has it.
    sign: &'static str,
}

impl<'a> Part<'a> {
    /// The first few that stand behind the place where a page begins.
    pub(super) const fn new(filter: &'a LetterFilter, page: &'a PageRequest, limit: usize) -> Self {
        Self { filter, page, limit, plan: None, is_backwards: false }
    }
}

impl Part<'_> {
    pub(super) const fn rank(&self) -> Option<Rank> {
        match self.page.sort {
            Sort::Newest | Sort::Oldest | Sort::Importance => None,
            Sort::Attempts => Some(Rank { column: "attempts", sign: "" }),
            Sort::Size => Some(Rank { column: "size", sign: "" }),
        }
    }

    /// In which order a range is read. The letters of a group stand in an index that has all that is asked for and is
    /// small; along the other one a database would come past all letters of its queue.
    fn rank_in(&self, range: Range) -> Option<Rank> {
        let sign = if matches!(range, Range::Group(..)) { "+" } else { "" };
        self.rank().map(|rank| Rank { sign, ..rank })
    }

    const fn is_descending(&self) -> bool {
        matches!(self.page.sort, Sort::Oldest) == self.is_backwards
    }

    pub(super) fn push_conditions<DB: Database>(&self, query: &mut QueryBuilder<DB>, table: &str)
    where
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        self.push_conditions_by(query, table, self.rank());
    }

    /// The conditions and the order of one range, of letters that need no name.
    pub(super) fn push_range<DB: Database>(&self, query: &mut QueryBuilder<DB>, range: Range)
    where
        for<'q> String: Encode<'q, DB> + Type<DB>,
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        let rank = self.rank_in(range);
        range.push(query);
        self.push_conditions_by(query, "", rank);
        self.push_search(query);
        self.push_order_by(query, "", rank);
    }

    fn push_conditions_by<DB: Database>(&self, query: &mut QueryBuilder<DB>, table: &str, rank: Option<Rank>)
    where
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        push_times(query, self.filter, table);
        let Some(after) = self.page.after else { return };
        query.push(" AND (");
        if let Some(Rank { column, sign }) = rank {
            query.push(format_args!("{sign}{table}{column}, "));
        }
        let beyond = if self.is_descending() { "<" } else { ">" };
        query.push(format_args!("{table}received_at, {table}id) {beyond} ("));
        if rank.is_some() {
            query.push_bind(bigint(after.rank)).push(", ");
        }
        query.push_bind(after.received_at.as_micros()).push(", ").push_bind(after.id.as_uuid()).push(")");
    }

    /// Leaves those of the page, where it is sorted by time alone.
    pub(super) fn cut(&self, letters: &mut Vec<FoundLetter>) {
        let place = |letter: &FoundLetter| Cursor::at(letter.received_at, letter.id);
        let order = |one: Cursor, other: Cursor| {
            let order = self.page.sort.compare(one, other);
            if self.is_backwards { order.reverse() } else { order }
        };
        letters.retain(|letter| self.page.after.is_none_or(|after| order(after, place(letter)).is_lt()));
        letters.sort_unstable_by(|one, other| order(place(one), place(other)));
        letters.truncate(self.limit);
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
        self.push_order_by(query, table, self.rank());
    }

    fn push_order_by<DB: Database>(&self, query: &mut QueryBuilder<DB>, table: &str, rank: Option<Rank>) {
        let direction = if self.is_descending() { "DESC" } else { "ASC" };
        query.push(" ORDER BY ");
        if let Some(Rank { column, sign }) = rank {
            query.push(format_args!("{sign}{table}{column} {direction}, "));
        }
        query.push(format_args!("{table}received_at {direction}, {table}id {direction}"));
    }

    /// The columns that order needs, of letters `l`.
    pub(super) fn columns(&self) -> String {
        let rank = self.rank().map(|rank| format!(", l.{}", rank.column)).unwrap_or_default();
        format!("l.id, l.received_at{rank}")
    }
}

/// One more than `limit` tells that there are further ones.
pub(super) fn page_of(mut items: Vec<LetterSummary>, page: &PageRequest) -> LetterPage {
    let more = items.len() > page.limit;
    items.truncate(page.limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::of(last, page.sort));
    LetterPage { items, next }
}

pub(super) fn sort(items: &mut [LetterSummary], sort: Sort, is_backwards: bool) {
    items.sort_unstable_by(|one, other| sort.compare(Cursor::of(one, sort), Cursor::of(other, sort)));
    if is_backwards {
        items.reverse();
    }
}

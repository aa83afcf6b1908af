//! Counting and the histogram, from the counts that are kept.

pub(crate) mod facet_scope;
pub(crate) mod facets;
mod kept;
mod oldest;
pub(crate) mod place;
pub(crate) mod seen;
pub(crate) mod slices;
pub(crate) mod summary;
pub(crate) mod tally;
mod tidying;
pub(crate) mod times;

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use amqp_message::time::Timestamp;
use sqlx::{Encode, QueryBuilder, Type};

use super::{
    StoreError, StoreReader,
    counts::{
        facets::{GroupHome, Matching, SeenFacet, facet_count},
        kept::Counted,
        slices::{HOUR, SLICE, Unit},
        times::push_times,
    },
    db::{
        Sql,
        id_list::{IdList, Unnest, numbers, push_uuids},
        on,
    },
};
use crate::domain::{
    filter::{FacetCount, HistogramBar, LetterFilter},
    letter::{Importance, Status},
};

impl StoreReader {
    /// How many letters `filter` lets through, exactly.
    pub async fn count(&self, filter: &LetterFilter) -> Result<u64, StoreError> {
        if filter.search.is_some() {
            return self.count_found(filter, None).await;
        }
        let matching = self.matching(filter).await?;
        let since = filter.since.unwrap_or(Timestamp::from_micros(0));
        let until = filter.until.unwrap_or(Timestamp::MAX);
        if matching.groups.is_some() {
            return self.count_rows(&matching, since, until).await;
        }
        if filter.since.is_none() && filter.until.is_none() {
            return Ok(matching.total());
        }
        let (first_whole, last_whole) = (slices::ceil_to(since, SLICE), until.floor_to(SLICE));
        if first_whole >= last_whole {
            return self.count_rows(&matching, since, until).await;
        }
        let spans = slices::cover(first_whole, last_whole, Unit::DAY);
        let of_facets = self.tells_facets_apart(filter).then_some(&matching);
        let whole = self.kept(filter, of_facets, &spans).await?;
        Ok(self.count_rows(&matching, since, first_whole).await?
            + whole.iter().map(|slice| slice.count).sum::<u64>()
            + self.count_rows(&matching, last_whole, until).await?)
    }

    /// How many letters each facet has under the rest of `filter`, whatever it says of statuses and importances, counted one
    /// by one: of groups and types no counts by facets are kept.
    pub async fn facets_within(&self, filter: &LetterFilter) -> Result<Vec<FacetCount>, StoreError> {
        if filter.search.is_some() {
            return self.all_facets_found(filter).await;
        }
        let any = filter.of_any_status();
        let matching = self.matching(&any).await?;
        if matching.facets.is_empty() {
            return Ok(Vec::new());
        }
        let letters = source(&matching).pick(self.db.reader());
        let rows: Vec<(i64, i64)> = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT facet_id, COUNT(*) FROM ");
            query.push(letters).push(" WHERE facet_id IN ").push(numbers(matching.ids().map(|facet| facet.0)));
            push_times(&mut query, filter, "");
            push_groups(&mut query, &matching.groups);
            query.push(" GROUP BY facet_id").build_query_as().persistent(false).fetch_all(pool).await?
        });
        let counts: HashMap<i64, i64> = rows.into_iter().collect();
        let counted = |(id, key, _): &SeenFacet| counts.get(&id.0).map(|count| facet_count(key, count.unsigned_abs()));
        Ok(matching.facets.iter().filter_map(counted).collect())
    }

    /// The narrowest bars that are quickly added up for a day and more. Of many queues there are about as many slices as
    /// letters.
    pub async fn bar_width(&self, filter: &LetterFilter) -> Result<Duration, StoreError> {
        /// Facets.
        const MANY: usize = 400;
        if filter.is_counted_anew() || !self.tells_facets_apart(filter) {
            return Ok(SLICE);
        }
        Ok(if self.matching(filter).await?.facets.len() > MANY { HOUR } else { SLICE })
    }

    /// Letters received from `from` until `to`, in bars of `width`, which is rounded up to whole slices. There are none of a
    /// search that finds too many to be counted.
    pub async fn histogram(
        &self,
        filter: &LetterFilter,
        from: Timestamp,
        to: Timestamp,
        width: Duration,
    ) -> Result<Vec<HistogramBar>, StoreError> {
        // Who does not tell facets apart need not read them: there may be any number of queues in the past.
        let asks_for_some = self.tells_facets_apart(filter) || filter.is_counted_anew();
        let matching = if asks_for_some { Some(self.matching(filter).await?) } else { None };
        let width = SLICE * u32::try_from(width.as_secs().div_ceil(SLICE.as_secs()).max(1)).unwrap_or(u32::MAX);
        let spans = slices::cover(from.floor_to(width), slices::ceil_to(to, SLICE), Unit::within(width));
        let mut bars = empty_bars(from, to, width);
        let slices = match &matching {
            Some(matching) if filter.search.is_some() => {
                let to = slices::ceil_to(to, SLICE);
                let Some(found) = self.found_between(filter, matching, from.floor_to(width), to).await? else {
                    return Ok(Vec::new());
                };
                with_importance(matching, found.into_iter().map(|(facet, at)| (facet.0, at, 1)))
            }
            Some(matching) if matching.groups.is_some() => {
                self.slices_of_rows(matching, from.floor_to(width), slices::ceil_to(to, SLICE)).await?
            }
            matching => self.kept(filter, matching.as_ref(), &spans).await?,
        };
        for slice in slices {
            if let Some(bar) = bars.get_mut(&slice.start.floor_to(width)) {
                bar[slice.importance] += slice.count;
            }
        }
        Ok(bars.into_iter().map(|(from, counts)| HistogramBar { from, counts }).collect())
    }

    /// Whether facets have to be told apart: by what is asked for, or because not all of them are there for who asks.
    pub(crate) fn tells_facets_apart(&self, filter: &LetterFilter) -> bool {
        filter.tells_facets_apart() || !self.scope.is_everything()
    }

    /// The condition that `f` is one of the facets of this status that are there for who asks; nothing where all are.
    pub(crate) async fn seen_of(&self, status: Status) -> Result<String, StoreError> {
        if self.scope.is_everything() {
            return Ok(String::new());
        }
        let of_status = LetterFilter { statuses: vec![status], ..LetterFilter::default() };
        let facets = self.matching(&of_status).await?;
        // A facet that is none stands in for an empty list.
        Ok(format!(" AND f.id IN {}", numbers(facets.ids().map(|facet| facet.0).chain([-1]))))
    }

    async fn count_rows(&self, matching: &Matching, from: Timestamp, to: Timestamp) -> Result<u64, StoreError> {
        if from >= to || matching.facets.is_empty() {
            return Ok(0);
        }
        let letters = source(matching).pick(self.db.reader());
        let count: i64 = on!(self.db.reader(), |pool| {
            let mut query = QueryBuilder::new("SELECT count(*) FROM ");
            query
                .push(letters)
                .push(" WHERE received_at >= ")
                .push_bind(from.as_micros())
                .push(" AND received_at < ")
                .push_bind(to.as_micros());
            query.push(" AND facet_id IN ").push(numbers(matching.ids().map(|facet| facet.0)));
            push_groups(&mut query, &matching.groups);
            query.build_query_scalar().persistent(false).fetch_one(pool).await?
        });
        Ok(count.unsigned_abs())
    }

    /// The same, counted: of groups no slices are kept.
    async fn slices_of_rows(
        &self,
        matching: &Matching,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Counted>, StoreError> {
        let width = slices::micros(SLICE);
        if matching.facets.is_empty() {
            return Ok(Vec::new());
        }
        let letters = source(matching).pick(self.db.reader());
        let rows: Vec<(i64, i64, i64)> = on!(self.db.reader(), |pool| {
            // A number of our own in the text: Postgres would not see that both mentions of a bind are the same.
            let start = format!("received_at / {width} * {width}");
            let mut query = QueryBuilder::new("SELECT facet_id, ");
            query.push(&start).push(", COUNT(*) FROM ").push(letters);
            query.push(" WHERE received_at >= ").push_bind(from.as_micros());
            query.push(" AND received_at < ").push_bind(to.as_micros()).push(" AND facet_id IN ");
            query.push(numbers(matching.ids().map(|facet| facet.0)));
            push_groups(&mut query, &matching.groups);
            query.push(" GROUP BY facet_id, ").push(&start);
            query.build_query_as().persistent(false).fetch_all(pool).await?
        });
        let row = |(facet, start, count): (i64, i64, i64)| (facet, Timestamp::from_micros(start), count.unsigned_abs());
        Ok(with_importance(matching, rows.into_iter().map(row)))
    }
}

/// Slices of facets as those of their importances.
fn with_importance(matching: &Matching, rows: impl Iterator<Item = (i64, Timestamp, u64)>) -> Vec<Counted> {
    let importance_of: HashMap<i64, usize> =
        matching.facets.iter().map(|(id, key, _)| (id.0, key.importance as usize)).collect();
    let importance = |facet| importance_of.get(&facet).copied().unwrap_or_default();
    rows.map(|(facet, start, count)| Counted { importance: importance(facet), start, count }).collect()
}

/// Where letters are counted. SQLite would rather look at all letters of the facets than at those of the groups.
fn source(matching: &Matching) -> Sql {
    let by_group = "letters INDEXED BY letters_by_group";
    Sql { sqlite: if matching.groups.is_some() { by_group } else { "letters" }, postgres: "letters" }
}

/// Pushes that only letters of these groups are meant.
fn push_groups<DB: Unnest>(query: &mut QueryBuilder<DB>, groups: &Option<Vec<GroupHome>>)
where
    for<'q> IdList: Encode<'q, DB> + Type<DB>,
{
    if let Some(groups) = groups {
        query.push(" AND group_id IN ");
        push_uuids(query, groups.iter().map(|home| home.group.as_uuid()).collect());
    }
}

fn empty_bars(from: Timestamp, to: Timestamp, width: Duration) -> BTreeMap<Timestamp, [u64; Importance::ALL.len()]> {
    let mut bars = BTreeMap::new();
    let mut at = from.floor_to(width);
    while at < to {
        bars.insert(at, [0; Importance::ALL.len()]);
        at = at.plus(width);
    }
    bars
}

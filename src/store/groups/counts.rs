//! How many groups there are, by how far people are with them and how important what is open in them is.

use std::sync::Arc;

use sqlx::QueryBuilder;

use crate::{
    domain::{
        group::{Group, GroupCounts, GroupFilter},
        group_state::Phase,
        letter::Importance,
    },
    store::{StoreError, StoreReader, db::on, letters::rows::parse},
};

/// Of which importances there are open letters in a group: a bit for each, in the order of [`Importance::ALL`]. In the words
/// of its index.
const OPEN_OF: &str = "CASE WHEN critical > 0 THEN 1 ELSE 0 END + CASE WHEN high > 0 THEN 2 ELSE 0 END
    + CASE WHEN normal > 0 THEN 4 ELSE 0 END + CASE WHEN low > 0 THEN 8 ELSE 0 END";

/// Groups that are alike in what they are counted by.
#[derive(Clone)]
pub(crate) struct Alike {
    phase: Phase,
    open_of: u32,
    count: u64,
}

impl Alike {
    fn is_open(&self) -> bool {
        self.open_of > 0
    }

    fn is_open_of(&self, importance: Importance) -> bool {
        self.open_of & 1 << importance as u32 > 0
    }

    fn is_to_do(&self) -> bool {
        self.is_open() && Group::TO_DO.contains(&self.phase)
    }

    fn is_of_phase(&self, filter: &GroupFilter) -> bool {
        filter.phases.is_empty() || filter.phases.contains(&self.phase)
    }

    fn matches(&self, filter: &GroupFilter) -> bool {
        let is_of = || filter.importances.iter().any(|importance| self.is_open_of(*importance));
        let is_open = || self.is_open() && (filter.importances.is_empty() || is_of());
        self.is_of_phase(filter) && (!filter.only_open || is_open())
    }
}

fn sum<'a>(alike: &'a [Alike], is_meant: impl Fn(&Alike) -> bool + 'a) -> u64 {
    alike.iter().filter(|one| is_meant(one)).map(|one| one.count).sum()
}

impl StoreReader {
    /// How many groups there are under the rest of `filter`, whatever it says of open letters and their importance. Those
    /// of all phases are counted by them.
    pub async fn count_groups(&self, filter: &GroupFilter) -> Result<GroupCounts, StoreError> {
        let alike = self.alike(filter).await?;
        let of_phase = |phase| sum(&alike, |one| one.phase == phase && (phase != Phase::Open || one.is_open()));
        let of_importance = |importance| sum(&alike, |one| one.is_of_phase(filter) && one.is_open_of(importance));
        Ok(GroupCounts {
            all: sum(&alike, |_| true),
            open: sum(&alike, |one| one.is_of_phase(filter) && one.is_open()),
            by_importance: std::array::from_fn(|n| of_importance(Importance::ALL[n])),
            by_phase: std::array::from_fn(|n| of_phase(Phase::ALL[n])),
            to_do: sum(&alike, Alike::is_to_do),
        })
    }

    /// How many groups `filter` lets through.
    pub(crate) async fn count_matching(&self, filter: &GroupFilter) -> Result<u64, StoreError> {
        Ok(sum(&self.alike(filter).await?, |one| one.matches(filter)))
    }

    /// How many groups that nobody has set aside have open letters, by the most important of these.
    pub async fn open_groups(&self) -> Result<[u64; Importance::ALL.len()], StoreError> {
        let alike = self.alike(&GroupFilter::default()).await?;
        let led_by = |n| sum(&alike, |one| one.is_to_do() && one.open_of.trailing_zeros() as usize == n);
        Ok(std::array::from_fn(led_by))
    }

    /// Those under the rest of `filter`. All that there are get counted once for a request: each page needs that for what
    /// stands around it.
    async fn alike(&self, filter: &GroupFilter) -> Result<Arc<[Alike]>, StoreError> {
        let rest = GroupFilter { only_open: false, phases: Vec::new(), importances: Vec::new(), ..filter.clone() };
        match &self.memo {
            Some(memo) if rest == GroupFilter::default() => {
                memo.all_alike.get_or_try_init(|| self.count_alike(&rest)).await.cloned()
            }
            _ => self.count_alike(&rest).await,
        }
    }

    async fn count_alike(&self, filter: &GroupFilter) -> Result<Arc<[Alike]>, StoreError> {
        let conditions = self.conditions(filter).await?;
        let rows: Vec<(String, i32, i64)> = on!(self.db.reader(), |pool| {
            let mut count = QueryBuilder::new("SELECT state, ");
            count.push(OPEN_OF).push(", COUNT(*) FROM groups");
            conditions.push(&mut count);
            count.push(" GROUP BY ").push(OPEN_OF).push(", state").build_query_as().fetch_all(pool).await?
        });
        let alike = |(phase, open_of, count): (String, i32, i64)| {
            let phase = parse("a state of a group", &phase)?;
            Ok(Alike { phase, open_of: open_of.unsigned_abs(), count: count.unsigned_abs() })
        };
        rows.into_iter().map(alike).collect()
    }
}

//! How the letters of a search are found.
//!
//! Where the index gives few letters, these are looked up and the rest is asked of them. Where it gives many, letters are
//! walked through by time, and each is asked: of many that match, the next is never far.

use std::{collections::HashMap, ops::RangeInclusive};

use sqlx::{Database, Encode, QueryBuilder, Type};
use uuid::Uuid;

use super::{
    condition::Builder,
    expression::{Dialect, Expression},
    fragment::Fragment,
};
use crate::{
    domain::{
        filter::LetterFilter,
        group::GroupId,
        search::{Condition, Search},
    },
    store::{
        StoreError, StoreReader,
        counts::facets::Matching,
        db::{
            Tx,
            id_list::{IdList, Unnest},
            on,
        },
    },
};

/// So many letters are few; of more it is not counted how many there are.
pub(crate) const FEW: u64 = 10_000;

/// How many letters the index gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// Twice [`FEW`] stand for all that are more.
    Counted(u64),
    Common,
}

/// So many letters can be asked one by one while somebody waits.
const ASKED: u64 = 50_000;

/// What joins the letters `l` of any number of rows `found`.
const JOINED: &str = " CROSS JOIN letters l WHERE l.id = found.id AND ";

/// How the letters of a search are found.
#[derive(Clone)]
pub(crate) struct Plan {
    /// A table with the column `id` of all that the index gives, where it is asked for something.
    found: Option<Fragment>,
    /// Whether it gives few.
    pub(crate) is_few: bool,
    /// Whether all of them can be counted while somebody waits.
    pub(super) can_be_counted: bool,
    /// How many it gives at least, of which nothing else is asked but their facets and groups.
    pub(super) given: u64,
    /// What is to be asked of these.
    beside: Fragment,
    /// What is to be asked of all others.
    whole: Fragment,
    pub(crate) asks_index: bool,
}

impl Plan {
    /// The same for letters which stand in these rows of the index. Of others it says what it likes.
    pub(crate) fn within(&self, rows: &RangeInclusive<i64>) -> Self {
        Self { whole: self.whole.within(rows), ..self.clone() }
    }

    /// Pushes ` AND …`, about letters `l`.
    pub(crate) fn push_whole<DB: Database>(&self, query: &mut QueryBuilder<DB>)
    where
        for<'q> String: Encode<'q, DB> + Type<DB>,
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
    {
        query.push(" AND ");
        self.whole.push(query);
    }

    /// Pushes ` FROM …` with letters `l` and the conditions that they are of the search, and in the facets and groups that
    /// were matched; further ones may follow. Where only few are read, no more than these are.
    pub(crate) fn push_letters<DB: Unnest>(&self, query: &mut QueryBuilder<DB>, matching: &Matching, only_few: bool)
    where
        for<'q> String: Encode<'q, DB> + Type<DB>,
        for<'q> i64: Encode<'q, DB> + Type<DB>,
        for<'q> Uuid: Encode<'q, DB> + Type<DB>,
        for<'q> IdList: Encode<'q, DB> + Type<DB>,
    {
        let Some(found) = &self.found else {
            matching.push_letters(query);
            return self.push_whole(query);
        };
        query.push(" FROM ");
        found.push(query);
        query.push(" AS found").push(if self.is_few || only_few { DB::LOOKED_UP } else { JOINED });
        matching.push_facets(query);
        query.push(" AND ");
        self.beside.push(query);
        matching.push_groups(query);
    }
}

impl StoreReader {
    /// How to find the letters of a filter that has a search; `None` for one without.
    pub(crate) async fn plan(&self, filter: &LetterFilter, matching: &Matching) -> Result<Option<Plan>, StoreError> {
        let Some(search) = &filter.search else { return Ok(None) };
        let dialect = Dialect::of(self.db.reader());
        let builder = Builder {
            dialect,
            facets: &matching.facets,
            payloads: self.facets_with_payloads(matching),
            roots: self.roots_in(search).await?,
        };
        let parts = Parts::of(search);
        // What the index has said of all parts of a letter holds for those that one may see into.
        let is_exact = builder.payloads.is_none();
        let found = parts.found(is_exact);
        let given = match &found {
            Some(Found::Index(expression)) => self.given(expression, dialect).await?,
            Some(Found::Ids(_)) => Given::Counted(0),
            None => Given::Common,
        };
        let is_few = matches!(given, Given::Counted(count) if count <= FEW);
        let is_said = |condition: &&Condition| is_exact && parts.is_of_index(condition);
        let beside: Vec<&Condition> = match &found {
            Some(Found::Index(_)) => parts.all.iter().copied().filter(|condition| !is_said(condition)).collect(),
            _ => parts.all.clone(),
        };
        Ok(Some(Plan {
            is_few,
            can_be_counted: is_few || matching.total() <= ASKED,
            beside: builder.all(&beside),
            whole: builder.condition(search.condition()),
            given: match given {
                Given::Counted(count) if beside.is_empty() => count,
                _ => 0,
            },
            asks_index: found.is_some(),
            found: found.map(|found| found.table(dialect, is_few)),
        }))
    }

    /// Begins what the letters of a plan are read in.
    pub(crate) async fn begin_for(&self, plan: &Plan) -> Result<Tx, StoreError> {
        if plan.is_few { self.db.by_index().await } else { self.db.snapshot().await }
    }

    /// What the groups that a search names have become part of.
    async fn roots_in(&self, search: &Search) -> Result<HashMap<GroupId, GroupId>, StoreError> {
        let mut roots = HashMap::new();
        for group in search.condition().groups() {
            if let Some(root) = self.merged_into(group).await? {
                roots.insert(group, root);
            }
        }
        Ok(roots)
    }

    fn facets_with_payloads(&self, matching: &Matching) -> Option<Vec<i64>> {
        if self.payloads.is_everything() {
            return None;
        }
        let sees = matching.facets.iter().filter(|(_, key, _)| self.payloads.includes(&key.broker, &key.queue));
        Some(sees.map(|(id, ..)| id.0).collect())
    }

    async fn given(&self, expression: &Expression, dialect: Dialect) -> Result<Given, StoreError> {
        let once = self.memo.as_ref().map(|memo| memo.given(&expression.text(dialect))).unwrap_or_default();
        once.get_or_try_init(async || self.ask_index(expression, dialect).await).await.copied()
    }

    async fn ask_index(&self, expression: &Expression, dialect: Dialect) -> Result<Given, StoreError> {
        const BEFORE: [&str; 2] = [
            "SELECT COUNT(*) FROM (SELECT 1 FROM search_words WHERE ",
            "SELECT COUNT(*) FROM (SELECT 1 FROM search_index x WHERE ",
        ];
        if self.is_common_in_index(&expression.in_index(dialect)).await? {
            return Ok(Given::Common);
        }
        let condition = expression.in_index_one_by_one(dialect);
        let count: i64 = on!(&mut self.db.by_index().await?, |tx| {
            let mut query = QueryBuilder::new(BEFORE[dialect as usize]);
            condition.push(&mut query);
            query.push(" LIMIT ").push(2 * FEW).push(") AS counted");
            query.build_query_scalar().persistent(false).fetch_one(&mut **tx).await?
        });
        Ok(Given::Counted(count.unsigned_abs()))
    }
}

/// What all of a search has to be.
struct Parts<'a> {
    all: Vec<&'a Condition>,
    /// What the index is asked for, and what it is asked to leave out.
    with: Vec<Expression>,
    without: Vec<Expression>,
}

/// What a search begins with.
enum Found<'a> {
    Ids(&'a Condition),
    Index(Expression),
}

impl<'a> Parts<'a> {
    fn of(search: &'a Search) -> Self {
        let all: Vec<&Condition> = match search.condition() {
            Condition::All(parts) => parts.iter().collect(),
            other => vec![other],
        };
        let denied = |condition: &&Condition| match condition {
            Condition::Not(part) => Expression::of(part),
            _ => None,
        };
        let with = all.iter().filter_map(|condition| Expression::of(condition)).collect();
        let without = all.iter().filter_map(denied).collect();
        Self { all, with, without }
    }

    /// What others may see is in the index, too: where that is not for all, nothing is left out by it.
    fn found(&self, is_exact: bool) -> Option<Found<'a>> {
        if let Some(ids) = self.all.iter().find(|condition| matches!(condition, Condition::Id(_))) {
            return Some(Found::Ids(ids));
        }
        let with = Expression::All(self.with.clone());
        match (self.with.is_empty(), is_exact && !self.without.is_empty()) {
            (true, _) => None,
            (false, false) => Some(Found::Index(with)),
            (false, true) => {
                Some(Found::Index(Expression::Without(Box::new(with), Box::new(Expression::Any(self.without.clone())))))
            }
        }
    }

    fn is_of_index(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Not(part) => Expression::of(part).is_some(),
            other => Expression::of(other).is_some(),
        }
    }
}

impl Found<'_> {
    /// Of many found one by one Postgres could not tell that they are many, and join them as if they were few.
    fn table(self, dialect: Dialect, is_few: bool) -> Fragment {
        const BEFORE: [&str; 2] = [
            "(SELECT x.letter_id AS id FROM search_words CROSS JOIN search_index x WHERE x.seq = search_words.rowid AND ",
            "(SELECT x.letter_id AS id FROM search_index x WHERE ",
        ];
        match self {
            Self::Ids(Condition::Id(ids)) => {
                let ids = ids.iter().map(|id| Fragment::of("o.id = ").id(id.as_uuid())).collect();
                Fragment::of("(SELECT o.id FROM letters o WHERE ").then(Fragment::joined(ids, " OR ", "FALSE")).sql(")")
            }
            Self::Ids(_) => Fragment::of("(SELECT o.id FROM letters o WHERE FALSE)"),
            Self::Index(expression) => {
                let condition =
                    if is_few { expression.in_index_one_by_one(dialect) } else { expression.in_index(dialect) };
                Fragment::of(BEFORE[dialect as usize]).then(condition).sql(")")
            }
        }
    }
}

//! The grouping rules in force, and what they do with groups that are there.

use std::{sync::Arc, time::Duration};

use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    audited_store::AuditedStore,
    decoding::reader::off_the_runtime,
    ids,
    worker::{Next, Worker},
};
use crate::{
    clock::Clock,
    domain::{
        actor::Actor,
        group::{GroupId, GroupKey},
        grouping_rule::{GroupingRule, LONGEST_NAME, LONGEST_PATTERN, LONGEST_PLACEHOLDER, MOST_RULES},
        merge::KnownGroup,
    },
    grouping::{self, Rewriter},
    store::{GroupingRuleAdded, StoreError, StoreReader},
};

/// Groups that are merged in one transaction, or shown of one merge.
const AT_ONCE: usize = 100;
/// Classes of a preview; the others are counted.
const MOST_SHOWN: usize = 50;
/// How soon groups follow where the process that was asked has died.
const EVERY: Duration = Duration::from_secs(2);
/// Until every process knows of a rule: till then one that does not may make groups as they were.
const KNOWN_AFTER: Duration = Duration::from_secs(15);

/// A rule to add.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewGroupingRule {
    pub name: String,
    pub pattern: String,
    pub placeholder: String,
}

#[derive(Debug, Error)]
pub enum GroupingRuleError {
    #[error("another rule is called so already")]
    NameTaken,
    #[error("there are {MOST_RULES} rules already; remove one first")]
    TooMany,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Groups that a rule would make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WouldMerge {
    pub key: GroupKey,
    /// The one with the most letters, which the others become part of, first.
    pub groups: Vec<KnownGroup>,
    /// Others that are not among these.
    pub left_out: usize,
}

/// What a rule would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    pub merges: Vec<WouldMerge>,
    /// Others that are not among these.
    pub left_out: usize,
    /// Groups whose text it changes.
    pub matched: usize,
}

#[derive(Debug, Default)]
struct InForce {
    rules: Vec<GroupingRule>,
    rewriter: Arc<Rewriter>,
}

/// Reads, tries and changes grouping rules; cheap to clone.
#[derive(Clone)]
pub struct GroupingRules {
    store: StoreReader,
    changes: AuditedStore,
    clock: Clock,
    in_force: watch::Sender<Arc<InForce>>,
}

impl NewGroupingRule {
    /// All that is wrong with it, by field.
    pub fn mistakes(&self) -> Vec<(&'static str, String)> {
        let of_one_line = |field, text: &str, longest: usize| {
            let length = text.chars().count();
            match () {
                () if text.trim().is_empty() => Some((field, "it is needed".to_owned())),
                () if length > longest => Some((field, format!("it has more than {longest} characters"))),
                () if text.chars().any(char::is_control) => {
                    Some((field, "it takes one line, without control characters".to_owned()))
                }
                () => None,
            }
        };
        let name = of_one_line("name", &self.name, LONGEST_NAME);
        let pattern = of_one_line("pattern", &self.pattern, LONGEST_PATTERN)
            .or_else(|| grouping::check_pattern(&self.pattern, &self.placeholder).err().map(|why| ("pattern", why)));
        let placeholder = of_one_line("placeholder", &self.placeholder, LONGEST_PLACEHOLDER);
        [name, pattern, placeholder].into_iter().flatten().collect()
    }
}

impl GroupingRules {
    /// Without rules until [`reload`](Self::reload).
    pub fn new(changes: AuditedStore, clock: Clock) -> Self {
        Self { store: changes.reader(), changes, clock, in_force: watch::Sender::default() }
    }

    pub fn all(&self) -> Vec<GroupingRule> {
        self.in_force.borrow().rules.clone()
    }

    pub fn rewriter(&self) -> Arc<Rewriter> {
        Arc::clone(&self.in_force.borrow().rewriter)
    }

    pub async fn reload(&self) -> Result<(), StoreError> {
        let rules = self.store.grouping_rules().await?;
        if self.in_force.borrow().rules == rules {
            return Ok(());
        }
        let in_force = off_the_runtime(move || InForce { rewriter: Arc::new(rewriter(&rules, None)), rules }).await;
        self.in_force.send_replace(Arc::new(in_force));
        Ok(())
    }

    /// What a rule would merge of what `seen` shows, after those in force.
    pub async fn preview(&self, new: &NewGroupingRule, seen: &StoreReader) -> Result<Preview, StoreError> {
        let (known, now) = (seen.known_groups().await?, self.rewriter());
        let then = rewriter(&self.all(), Some(new));
        Ok(off_the_runtime(move || preview(&known, &now, &then)).await)
    }

    /// Adds a rule that is well formed, and merges what it makes alike; where that is much, the worker goes on with it.
    pub async fn add(&self, new: &NewGroupingRule, by: &Actor) -> Result<GroupingRule, GroupingRuleError> {
        let NewGroupingRule { name, pattern, placeholder } = new.clone();
        let set_at = self.clock.now();
        let name = name.trim().to_owned();
        let rule = GroupingRule { id: ids::uuid(set_at), name, pattern, placeholder, by: by.clone(), set_at };
        match self.changes.add_grouping_rule(&rule).await? {
            GroupingRuleAdded::Yes => {}
            GroupingRuleAdded::NameTaken => return Err(GroupingRuleError::NameTaken),
            GroupingRuleAdded::TooMany => return Err(GroupingRuleError::TooMany),
        }
        self.apply(AT_ONCE).await?;
        Ok(rule)
    }

    /// Removes a rule, and splits what it alone made alike; where that is much, the worker goes on with it.
    pub async fn remove(&self, id: Uuid, by: &Actor) -> Result<Option<GroupingRule>, StoreError> {
        let removed = self.changes.remove_grouping_rule(id, by).await?;
        self.apply(AT_ONCE).await?;
        Ok(removed)
    }

    /// Has groups follow the rules: of those that are to be split, and of those that are to be one, `most` at most.
    async fn apply(&self, most: usize) -> Result<(), StoreError> {
        self.reload().await?;
        let (by, rewriter) = (Actor::named(Actor::GROUPING_RULES), self.rewriter());
        for group in grouping::to_split(&self.store.known_groups().await?, &rewriter).into_iter().take(most) {
            // Somebody may have split it, or merged what it is in, meanwhile; the next round sees what is left.
            _ = self.changes.split_again(group, None, &by).await?;
        }
        let known = self.store.known_groups().await?;
        for alike in grouping::to_merge(&known, &rewriter).into_iter().take(most) {
            let mut ids: Vec<GroupId> = alike.groups.iter().map(|group| group.id).collect();
            if alike.is_new {
                self.changes.make_group(alike.id, &alike.key).await?;
                ids.push(alike.id);
            }
            self.merge(&ids, &by).await?;
        }
        Ok(())
    }

    /// Each portion has the first, into which all are merged.
    async fn merge(&self, ids: &[GroupId], by: &Actor) -> Result<(), StoreError> {
        let Some((into, rest)) = ids.split_first() else { return Ok(()) };
        for portion in rest.chunks(AT_ONCE) {
            let all: Vec<GroupId> = std::iter::once(*into).chain(portion.iter().copied()).collect();
            // Somebody may have merged one of them meanwhile; the next round does the rest.
            if let Err(refusal) = self.changes.merge_groups(&all, by).await? {
                tracing::debug!(group = %into, %refusal, "groups that are alike are not merged yet");
            }
        }
        Ok(())
    }
}

fn rewriter(rules: &[GroupingRule], new: Option<&NewGroupingRule>) -> Rewriter {
    let new = new.map(|new| (&*new.pattern, &*new.placeholder));
    Rewriter::new(rules.iter().map(|rule| (&*rule.pattern, &*rule.placeholder)).chain(new))
}

fn preview(known: &[KnownGroup], now: &Rewriter, then: &Rewriter) -> Preview {
    let is_changed =
        |group: &&KnownGroup| group.into.is_none() && now.rewrite(&group.key.error) != then.rewrite(&group.key.error);
    let matched = known.iter().filter(is_changed).count();
    let mut all: Vec<WouldMerge> = grouping::to_merge(known, then)
        .into_iter()
        .filter(|alike| alike.groups.len() > 1)
        .map(|alike| WouldMerge {
            key: alike.key,
            left_out: alike.groups.len().saturating_sub(AT_ONCE),
            groups: alike.groups.into_iter().take(AT_ONCE).cloned().collect(),
        })
        .collect();
    all.sort_by_key(|merge| std::cmp::Reverse(merge.groups.len() + merge.left_out));
    let left_out = all.len().saturating_sub(MOST_SHOWN);
    all.truncate(MOST_SHOWN);
    Preview { merges: all, left_out, matched }
}

/// Has groups follow rules that were added or removed, also where who was asked has died, and where a process that did not
/// know of them yet has made some.
pub struct Regrouping(pub GroupingRules);

impl Worker for Regrouping {
    const NAME: &'static str = "grouping rules";
    type Error = StoreError;

    fn every(&self) -> Duration {
        EVERY
    }

    async fn round(&mut self, _stop: &CancellationToken) -> Result<Next, StoreError> {
        let Self(rules) = self;
        if rules.store.has_grouping_rules_to_apply().await? {
            rules.apply(usize::MAX).await?;
            rules.changes.grouping_rules_are_applied(KNOWN_AFTER).await?;
        }
        Ok(Next::Later)
    }
}

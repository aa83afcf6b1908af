//! What workers report of themselves.

use std::sync::{Arc, Mutex};

use super::lock;
use crate::{
    clock::Clock,
    domain::health::{Failing, WorkerFacts},
};

/// Where workers report how their work goes; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct WorkerBoard {
    clock: Clock,
    workers: Arc<Mutex<Vec<Arc<Mutex<WorkerFacts>>>>>,
}

/// What one worker reports to; by default nobody reads it.
#[derive(Debug, Default)]
pub struct WorkerReport {
    clock: Clock,
    facts: Arc<Mutex<WorkerFacts>>,
}

impl WorkerBoard {
    pub fn new(clock: Clock) -> Self {
        Self { clock, workers: Arc::default() }
    }

    /// A worker begins; several may have the same name. It is forgotten when its report is dropped.
    pub fn begins(&self, name: &'static str) -> WorkerReport {
        let facts = Arc::new(Mutex::new(WorkerFacts { name, failing: None }));
        let mut workers = lock(&self.workers);
        workers.retain(|worker| Arc::strong_count(worker) > 1);
        workers.push(Arc::clone(&facts));
        WorkerReport { clock: self.clock.clone(), facts }
    }

    pub(super) fn all(&self) -> Vec<WorkerFacts> {
        let workers = lock(&self.workers);
        workers.iter().filter(|worker| Arc::strong_count(worker) > 1).map(|worker| lock(worker).clone()).collect()
    }
}

impl WorkerReport {
    /// How a part of its work went.
    pub fn result<T>(&self, result: &Result<T, impl ToString>) {
        match result {
            Ok(_) => self.goes_well(),
            Err(error) => self.fails(error),
        }
    }

    pub fn goes_well(&self) {
        lock(&self.facts).failing = None;
    }

    pub fn fails(&self, why: &impl ToString) {
        let mut facts = lock(&self.facts);
        facts.failing = Some(Failing::again(facts.failing.take(), self.clock.now(), why.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_reports_for_itself() {
        let board = WorkerBoard::default();
        let (one, other) = (board.begins("delivery"), board.begins("delivery"));
        one.fails(&"refused");
        other.goes_well();
        let failing = || board.all().into_iter().filter_map(|worker| worker.failing).collect::<Vec<_>>();
        assert_eq!(failing().len(), 1);
        one.fails(&"again");
        assert_eq!((failing()[0].times, &*failing()[0].why), (2, "again"));
        drop(one);
        assert_eq!((failing().len(), board.all().len()), (0, 1));
    }
}

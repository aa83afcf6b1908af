//! Looking at many things on a thread, where one of them may never be done with.

use std::{sync::Arc, time::Duration};

use tokio::{sync::mpsc, task::spawn_blocking, time::timeout};

/// How long one may take. What is read of a letter is bounded, and takes a second where a machine is slow.
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// Looks at all `items` and returns the results in their order; `None` for one that took longer than `limit`, or panicked.
///
/// No thread can be stopped: one that is given up goes on, and the next begins behind it on another.
pub(super) async fn one_by_one<T, R>(
    items: Vec<T>,
    limit: Duration,
    look: impl Fn(&T) -> R + Send + Sync + 'static,
) -> Vec<Option<R>>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
{
    let (count, work) = (items.len(), Arc::new((items, look)));
    let mut looked = Vec::with_capacity(count);
    while looked.len() < count {
        let (tell, mut told) = mpsc::unbounded_channel();
        let (work, first) = (Arc::clone(&work), looked.len());
        spawn_blocking(move || {
            let (items, look) = &*work;
            // Nobody listens any more to a thread that was given up.
            _ = items.iter().skip(first).try_for_each(|item| tell.send(look(item)));
        });
        while let Ok(Some(seen)) = timeout(limit, told.recv()).await {
            looked.push(Some(seen));
        }
        if looked.len() < count {
            looked.push(None);
        }
    }
    looked
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, mpsc as line};

    #[tokio::test]
    async fn one_that_hangs_and_one_that_panics_hold_up_no_other() {
        let (go_on, hangs) = line::channel::<()>();
        let hangs = Mutex::new(hangs);
        let look = move |n: &u32| match n {
            2 | 6 => _ = hangs.lock().unwrap().recv(),
            3 => panic!("for the test"),
            _ => {}
        };
        let twice = move |n: &u32| {
            look(n);
            n * 2
        };
        let looked = one_by_one(vec![1, 2, 3, 4, 5, 6], Duration::from_secs(2), twice).await;
        assert_eq!(looked, [Some(2), None, None, Some(8), Some(10), None]);
        drop(go_on);
    }

    #[tokio::test]
    async fn of_nothing_there_is_nothing() {
        assert_eq!(one_by_one(Vec::<u32>::new(), LIMIT, |n| *n).await, []);
    }
}

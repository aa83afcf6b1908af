//! Acknowledging the deliveries of one batch, each as soon as it is safe.

use std::collections::BTreeSet;

use crate::rabbitmq::{Acknowledger, SessionError};

/// Deliveries that are not acknowledged yet, and how to do it. All before them are.
pub(crate) struct BatchAcks {
    acknowledger: Acknowledger,
    open: Tags,
}

impl BatchAcks {
    pub const fn new(acknowledger: Acknowledger, tags: Vec<u64>) -> Self {
        Self { acknowledger, open: Tags(tags) }
    }

    /// Acknowledges these.
    pub async fn acknowledge(&mut self, done: BTreeSet<u64>) -> Result<(), SessionError> {
        let (through, others) = self.open.take(&done);
        if let Some(tag) = through {
            self.acknowledger.ack_through(tag).await?;
        }
        for tag in others {
            self.acknowledger.ack(tag).await?;
        }
        Ok(())
    }

    /// Acknowledges all that are left.
    pub async fn acknowledge_all(self) -> Result<(), SessionError> {
        match self.open.0.last() {
            Some(tag) => self.acknowledger.ack_through(*tag).await,
            None => Ok(()),
        }
    }

    /// Fails when the channel is gone: what it brought is delivered again to somebody.
    pub fn check_open(&self) -> Result<(), SessionError> {
        self.acknowledger.check_open()
    }
}

/// Tags in ascending order.
struct Tags(Vec<u64>);

impl Tags {
    /// Takes out what is done: through which tag all are, for one acknowledgement, and the others.
    ///
    /// A tag that was acknowledged before must not be named again: RabbitMQ closes the channel over it.
    fn take(&mut self, done: &BTreeSet<u64>) -> (Option<u64>, Vec<u64>) {
        let together = self.0.iter().take_while(|tag| done.contains(tag)).count();
        let through = self.0.drain(..together).next_back();
        (through, self.0.extract_if(.., |tag| done.contains(tag)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(done: &[u64], through: Option<u64>, others: &[u64], left: &[u64]) {
        let mut tags = Tags(vec![5, 6, 7, 8, 9]);
        assert_eq!(tags.take(&done.iter().copied().collect()), (through, others.to_vec()), "{done:?}");
        assert_eq!(tags.0, left, "{done:?}");
    }

    #[test]
    fn what_comes_first_is_acknowledged_together() {
        check(&[], None, &[], &[5, 6, 7, 8, 9]);
        check(&[5, 6, 7, 8, 9], Some(9), &[], &[]);
        check(&[5, 6], Some(6), &[], &[7, 8, 9]);
        check(&[5, 6, 8], Some(6), &[8], &[7, 9]);
        check(&[6, 9], None, &[6, 9], &[5, 7, 8]);
        check(&[4, 10], None, &[], &[5, 6, 7, 8, 9]);
    }
}

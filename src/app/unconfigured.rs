//! Dead letters of brokers that the configuration has not, or no more: nothing of them can be sent.

use std::collections::BTreeMap;

use crate::{
    config::Config,
    domain::{letter::Status, number::plural},
    store::{StoreError, StoreReader},
};

/// A sentence for each such broker.
pub async fn unconfigured(store: &StoreReader, config: &Config) -> Result<Vec<String>, StoreError> {
    let mut letters: BTreeMap<String, u64> = BTreeMap::new();
    for facet in store.facets().await? {
        let may_be_sent = matches!(facet.status, Status::Open | Status::Scheduled);
        if may_be_sent && facet.count > 0 && !config.brokers.contains_key(&facet.broker) {
            *letters.entry(facet.broker).or_default() += facet.count;
        }
    }
    let sentence = |(broker, letters): (String, u64)| {
        let letters = plural(letters, "dead letter");
        format!(
            "the configuration has no broker {broker}: {letters} of it cannot be sent until it has [brokers.{broker}] again"
        )
    };
    Ok(letters.into_iter().map(sentence).collect())
}

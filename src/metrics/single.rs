//! One number without labels.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prometheus_client::{
    encoding::{EncodeMetric, MetricEncoder},
    metrics::MetricType,
};

/// A gauge that is left out while its value is not known. The library has this only for families, and writes the one
/// member of a family without labels as `name{}`.
#[derive(Clone, Debug, Default)]
pub(super) struct Single(Arc<Mutex<Option<i64>>>);

impl Single {
    pub fn set(&self, value: i64) {
        *self.value() = Some(value);
    }

    pub fn clear(&self) {
        *self.value() = None;
    }

    fn value(&self) -> MutexGuard<'_, Option<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EncodeMetric for Single {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let value = *self.value();
        value.map_or(Ok(()), |value| encoder.encode_gauge(&value))
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }

    fn is_empty(&self) -> bool {
        self.value().is_none()
    }
}

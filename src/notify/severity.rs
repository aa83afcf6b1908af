//! How monitoring calls what matters.

use crate::domain::letter::Importance;

/// The four severities of PagerDuty's common event format; Prometheus knows `critical`, `warning` and `info` by the same
/// names (<https://support.pagerduty.com/main/docs/pd-cef>).
pub(super) const fn severity(importance: Importance) -> &'static str {
    match importance {
        Importance::Critical => "critical",
        Importance::High => "error",
        Importance::Normal => "warning",
        Importance::Low => "info",
    }
}

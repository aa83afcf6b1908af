//! How long a delivery waits for its next attempt.

use std::time::Duration;

const FIRST: Duration = Duration::from_secs(2);
/// Nobody should learn of an incident later than this after their channel has come back.
const LONGEST: Duration = Duration::from_secs(5 * 60);

/// The delay after so many failed attempts. `jitter`, from 0 to 1, takes off up to a half, so that what failed at the
/// same moment does not all come back at the same moment.
pub fn delay(attempts: u32, jitter: f64) -> Duration {
    let doublings = attempts.saturating_sub(1);
    let delay = FIRST.saturating_mul(2_u32.saturating_pow(doublings)).min(LONGEST);
    let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
    delay.mul_f64(1.0 - jitter / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(attempts: u32, jitter: f64, expected_millis: u64) {
        assert_eq!(delay(attempts, jitter), Duration::from_millis(expected_millis), "{attempts} {jitter}");
    }

    #[test]
    fn delays_double_up_to_five_minutes() {
        check(0, 0.0, 2_000);
        check(1, 0.0, 2_000);
        check(2, 0.0, 4_000);
        check(8, 0.0, 256_000);
        check(9, 0.0, 300_000);
        check(u32::MAX, 0.0, 300_000);
    }

    #[test]
    fn jitter_takes_off_up_to_a_half() {
        check(1, 0.5, 1_500);
        check(1, 1.0, 1_000);
        check(1, 7.0, 1_000);
        check(1, -7.0, 2_000);
        check(1, f64::NAN, 2_000);
    }
}

//! Timestamps, durations and field masks, from their texts.

use jiff::{SignedDuration, civil::DateTime};

use crate::message::{
    encoded::Encoded,
    well_known::{EPOCH, MAX_DURATION, NANOS, TIMESTAMPS, snake_case},
};

/// RFC 3339, such as `2026-11-21T16:05:00.25Z`.
pub(super) fn timestamp(text: &str) -> Result<Vec<u8>, String> {
    let parts = instant(text).filter(|(seconds, _)| TIMESTAMPS.contains(seconds));
    let (seconds, nanos) =
        parts.ok_or("a timestamp looks like \"2026-11-21T16:05:00.25Z\", from the year 1 to 9999")?;
    Ok(seconds_and_nanos(seconds, nanos))
}

/// Seconds since 1970, and nanoseconds after that second.
fn instant(text: &str) -> Option<(i64, i64)> {
    const LEN: usize = "2026-11-21T16:05:00".len();
    let is_zone = |c: char| matches!(c, 'Z' | 'z' | '+' | '-');
    let zone_at = text.get(LEN..)?.find(is_zone)?.checked_add(LEN)?;
    let (local, zone) = text.split_at_checked(zone_at)?;
    let is_shaped = local.as_bytes().get(10).is_some_and(|byte| matches!(byte, b'T' | b't'));
    let time: DateTime = local.parse().ok().filter(|_| is_shaped)?;
    let nanos = time.duration_since(EPOCH).as_nanos().checked_sub(offset(zone)?.as_nanos())?;
    let per_second = i128::from(NANOS);
    Some((i64::try_from(nanos.div_euclid(per_second)).ok()?, i64::try_from(nanos.rem_euclid(per_second)).ok()?))
}

/// `Z` or `+02:00`
fn offset(zone: &str) -> Option<SignedDuration> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(SignedDuration::ZERO);
    }
    let (sign, digits) = zone.split_at_checked(1)?;
    let (hours, minutes) = digits.split_once(':')?;
    let two = |digits: &str, end: i64| {
        let is_plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|number: &i64| is_plain && *number < end)
    };
    let seconds = two(hours, 24)?.checked_mul(3_600)?.checked_add(two(minutes, 60)?.checked_mul(60)?)?;
    Some(SignedDuration::from_secs(if sign == "-" { -seconds } else { seconds }))
}

/// Seconds with up to nine decimal places, such as `-3.5s`.
pub(super) fn duration(text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("a duration looks like \"3.5s\", of no more than {MAX_DURATION} seconds");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let digits = digits.strip_suffix('s').ok_or_else(wrong)?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain(whole) || !is_plain(fraction) || fraction.len() > 9 {
        return Err(wrong());
    }
    let seconds: i64 = whole.parse().map_err(|_| wrong())?;
    let nanos: i64 = format!("{fraction:0<9}").parse().map_err(|_| wrong())?;
    if seconds > MAX_DURATION {
        return Err(wrong());
    }
    Ok(seconds_and_nanos(sign * seconds, sign * nanos))
}

/// Paths in camel case with commas between them.
pub(super) fn field_mask(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for path in text.split(',').filter(|_| !text.is_empty()) {
        let snake = snake_case(path).filter(|path| !path.is_empty());
        let snake = snake.ok_or_else(|| format!("{path:?} is no path in camel case, such as \"user.displayName\""))?;
        Encoded::Len(snake.into_bytes()).write(1, &mut bytes);
    }
    Ok(bytes)
}

fn seconds_and_nanos(seconds: i64, nanos: i64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, value) in [(1, seconds), (2, nanos)] {
        if value != 0 {
            Encoded::Varint(value.cast_unsigned()).write(number, &mut bytes);
        }
    }
    bytes
}

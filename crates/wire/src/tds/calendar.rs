//! Dates and times as text.
//!
//! Converts days since 0001-01-01 and fractions of a day to text, and back. Must never panic on a date that
//! does not exist.

use std::io::Write;

/// A date and time: days since 0001-01-01 in the Gregorian calendar, and units of 100 ns since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub days: i64,
    pub ticks: u64,
}

/// Units of a [`Moment`] in one second.
pub(super) const TICKS_PER_SECOND: u64 = 10_000_000;

/// Year, month and day from days since 0001-01-01, after Howard Hinnant's "chrono-compatible low-level
/// date algorithms".
pub(super) fn date_from_days(days: i64) -> (i64, u32, u32) {
    // Count from 0000-03-01, so that a leap day is the last day of its year.
    let days_from_march = days + 306;
    let era = days_from_march.div_euclid(146_097);
    let day_of_era = days_from_march.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_index + 2) / 5 + 1) as u32;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days since 0001-01-01; the reverse of [`date_from_days`].
fn days_from_date(year: i64, month: u32, day: u32) -> i64 {
    let year_from_march = year - i64::from(month <= 2);
    let era = year_from_march.div_euclid(400);
    let year_of_era = year_from_march.rem_euclid(400);
    let month_index = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let day_of_year = (153 * month_index + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 306
}

/// Parses `2026-11-23`, and optionally `T` or a space with `18:30`, `18:30:15` or `18:30:15.1234567`.
pub(super) fn parse(text: &str) -> Option<Moment> {
    let text = text.trim();
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let mut number = || parts.next()?.parse::<u32>().ok();
    let (year, month, day) = (i64::from(number()?), number()?, number()?);
    let days = days_from_date(year, month, day.min(31));
    if !(1..=9999).contains(&year)
        || !(1..=12).contains(&month)
        || date_from_days(days) != (year, month, day)
    {
        return None;
    }
    let ticks = time.map_or(Some(0), parse_time)?;
    Some(Moment { days, ticks })
}

/// Parses a time of day; returns units of 100 ns since midnight.
fn parse_time(text: &str) -> Option<u64> {
    let (time, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = time.splitn(3, ':').map(str::parse::<u64>);
    let (hour, minute) = (parts.next()?.ok()?, parts.next()?.ok()?);
    let second = parts.next().unwrap_or(Ok(0)).ok()?;
    if hour > 23 || minute > 59 || second > 59 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Digits after the seventh are below 100 ns: ignore them.
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(7);
    let fraction_ticks = digits.fold(0, |ticks, digit| ticks * 10 + u64::from(digit - b'0'));
    Some(((hour * 60 + minute) * 60 + second) * TICKS_PER_SECOND + fraction_ticks)
}

/// Appends the date of `days` since 0001-01-01, such as `2026-11-23`.
pub(super) fn put_date(days: i64, out: &mut Vec<u8>) {
    let (year, month, day) = date_from_days(days);
    // Writing into memory cannot fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02}");
}

/// Appends a time such as `18:30:15.123`. `units` are 10^-`scale` seconds since midnight.
pub(super) fn put_time(units: u64, scale: u8, out: &mut Vec<u8>) {
    let scale = scale.min(7);
    let per_second = 10_u64.pow(scale.into());
    let seconds = units / per_second;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let _ = write!(out, "{hour:02}:{minute:02}:{second:02}");
    if scale > 0 {
        let _ = write!(
            out,
            ".{:0width$}",
            units % per_second,
            width = usize::from(scale)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_round_trip() {
        assert_eq!(days_from_date(1, 1, 1), 0);
        assert_eq!(days_from_date(1900, 1, 1), 693_595);
        for days in (0..3_652_059).step_by(97).chain([3_652_058]) {
            let (year, month, day) = date_from_days(days);
            assert_eq!(days_from_date(year, month, day), days);
            let mut text = Vec::new();
            put_date(days, &mut text);
            let parsed = parse(std::str::from_utf8(&text).unwrap()).unwrap();
            assert_eq!(parsed, Moment { days, ticks: 0 });
        }
    }

    #[test]
    fn times_round_trip_and_invalid_texts_are_rejected() {
        let moment = parse("2026-11-23 18:30:15.1234567").unwrap();
        let mut text = Vec::new();
        put_date(moment.days, &mut text);
        text.push(b' ');
        put_time(moment.ticks, 7, &mut text);
        assert_eq!(text, b"2026-11-23 18:30:15.1234567");
        assert_eq!(parse("2026-11-23T18:30").unwrap().ticks, 666_000_000_000);
        for invalid in [
            "",
            "2026",
            "2026-02-29",
            "2026-13-01",
            "0000-01-01",
            "2026-1-99999",
            "10000-01-01",
            "2026-11-23 24:00",
            "2026-11-23 1:60",
            "2026-11-23 1:0:0.x",
            "2026-11-23 x",
        ] {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
        // Must not panic.
        put_time(u64::MAX, 9, &mut Vec::new());
    }
}

//! As-of dates, as exact as they were given.
//!
//! In: text or a TOML date. Out: an [`AsOf`] and its days since 1970. Must never: make a date more
//! exact than it is, or read a clock.

use std::fmt;

/// The first and the last year that a price may be of.
const YEARS: std::ops::RangeInclusive<u16> = 1970..=9999;

/// When a price was valid: a day, a month, or only a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AsOf {
    year: u16,
    month: Option<u8>,
    day: Option<u8>,
}

impl AsOf {
    /// A day; `None` where there is no such one from 1970 on.
    pub fn day(year: i64, month: u8, day: u8) -> Option<AsOf> {
        let year = u16::try_from(year).ok()?;
        let real = YEARS.contains(&year)
            && (1..=12).contains(&month)
            && (1..=days_of(year, month)).contains(&day);
        real.then_some(AsOf {
            year,
            month: Some(month),
            day: Some(day),
        })
    }

    /// Reads `2026-11-20`, `2026-11` or `2026`.
    pub fn parse(text: &str) -> Option<AsOf> {
        let mut parts = text.split('-');
        let year = number(parts.next()?, 4)?;
        let month = parts.next();
        let day = parts.next();
        if parts.next().is_some() {
            return None;
        }
        // The parts that are there make up a real day, with the first for those that are not.
        let part = |part: Option<&str>| match part {
            None => Some(1),
            Some(text) => u8::try_from(number(text, 2)?).ok(),
        };
        let whole = AsOf::day(i64::from(year), part(month)?, part(day)?)?;
        Some(AsOf {
            month: month.and(whole.month),
            day: day.and(whole.day),
            ..whole
        })
    }

    /// Its first day, days since 1970-01-01: a price of `2019` may be of that year's first day.
    pub fn first_day(&self) -> i64 {
        let month = self.month.unwrap_or(1);
        let day = self.day.unwrap_or(1);
        let years = i64::from(self.year);
        let before = (1..month).map(|month| i64::from(days_of(self.year, month)));
        // Leap days before this year, those before 1970 taken off.
        let leaps = |year: i64| year / 4 - year / 100 + year / 400;
        (years - 1970) * 365
            + (leaps(years - 1) - leaps(1969))
            + before.sum::<i64>()
            + i64::from(day)
            - 1
    }
}

/// What of a text in the form of a date is none of the calendar: its month, or its day; absent where
/// the form or the year is what is wrong.
pub(super) fn wrong_part(text: &str) -> Option<String> {
    let mut parts = text.split('-');
    let year = number(parts.next()?, 4).filter(|year| YEARS.contains(year))?;
    let month = number(parts.next()?, 2)?;
    if !(1..=12).contains(&month) {
        return Some(format!("the month must be from 01 to 12, is {month:02}"));
    }
    let day = number(parts.next()?, 2)?;
    let last = days_of(year, u8::try_from(month).ok()?);
    let real = (1..=u16::from(last)).contains(&day) || parts.next().is_some();
    (!real)
        .then(|| format!("the day must be from 01 to {last} in {year:04}-{month:02}, is {day:02}"))
}

impl fmt::Display for AsOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.year)?;
        for part in [self.month, self.day].into_iter().flatten() {
            write!(f, "-{part:02}")?;
        }
        Ok(())
    }
}

fn number(text: &str, digits: usize) -> Option<u16> {
    let all = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

fn days_of(year: u16, month: u8) -> u8 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_since_1970() {
        for (text, day) in [
            ("1970-01-01", 0),
            ("1970", 0),
            ("2000-02-29", 11_016),
            ("2000-03", 11_017),
            ("2019", 17_897),
            ("2026-11-21", 20_778),
        ] {
            let date = AsOf::parse(text).unwrap();
            assert_eq!(date.first_day(), day, "{text}");
            assert_eq!(date.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_date() {
        for text in [
            "",
            "19",
            "2019-13",
            "2019-02-29",
            "2019-1-1",
            "2019-01-01-01",
            "1969",
            "+019",
            "2019-",
            "March 2019",
        ] {
            assert_eq!(AsOf::parse(text), None, "{text}");
        }
        assert_eq!(AsOf::day(2019, 2, 29), None);
        assert_eq!(wrong_part("1969-13"), None, "the year is wrong");
        assert_eq!(wrong_part("2019-1-1"), None, "the form is wrong");
        assert_eq!(AsOf::day(-1, 1, 1), None);
    }
}

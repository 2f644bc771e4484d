//! As-of dates, with the precision in which they were given.
//!
//! Text or a TOML date becomes a [`PriceDate`], which converts to days since 1970. The precision of a date
//! never increases, and no clock is read.

use jiff::civil::{Date, date};
use std::fmt;

/// The day from which days are counted.
const EPOCH: Date = date(1970, 1, 1);

/// Valid years of a price.
const VALID_YEARS: std::ops::RangeInclusive<u16> = 1970..=9999;

/// When a price was valid: a day, a month, or only a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PriceDate {
    year: u16,
    month: Option<u8>,
    day: Option<u8>,
}

impl PriceDate {
    /// A date with its day; `None` if the day does not exist or is before 1970.
    pub fn from_year_month_day(year: i64, month: u8, day: u8) -> Option<PriceDate> {
        let year = u16::try_from(year)
            .ok()
            .filter(|year| VALID_YEARS.contains(year))?;
        civil_date(year, month, day)?;
        Some(PriceDate {
            year,
            month: Some(month),
            day: Some(day),
        })
    }

    /// Reads `2026-11-20`, `2026-11` or `2026`.
    pub fn parse(text: &str) -> Option<PriceDate> {
        let mut parts = text.split('-');
        let year = parse_digits(parts.next()?, 4)?;
        let month = parts.next();
        let day = parts.next();
        if parts.next().is_some() {
            return None;
        }
        // The given parts, with 1 for missing ones, must form a valid day.
        let part_or_1 = |part: Option<&str>| match part {
            None => Some(1),
            Some(text) => u8::try_from(parse_digits(text, 2)?).ok(),
        };
        let full_date =
            PriceDate::from_year_month_day(i64::from(year), part_or_1(month)?, part_or_1(day)?)?;
        Some(PriceDate {
            month: month.and(full_date.month),
            day: day.and(full_date.day),
            ..full_date
        })
    }

    /// The first day that the date may mean, in days since 1970-01-01: for `2019`, the first of January of
    /// that year.
    pub fn first_epoch_day(&self) -> i64 {
        let first = civil_date(self.year, self.month.unwrap_or(1), self.day.unwrap_or(1));
        let days = first.and_then(|first| EPOCH.until(first).ok());
        days.map_or(0, |days| days.get_days().into())
    }
}

/// The problem of a text with the format of a date whose month or day does not exist; `None` if the format or
/// the year is wrong, or the date exists.
pub(super) fn calendar_error(text: &str) -> Option<String> {
    let mut parts = text.split('-');
    let year = parse_digits(parts.next()?, 4).filter(|year| VALID_YEARS.contains(year))?;
    let month = parse_digits(parts.next()?, 2)?;
    if !(1..=12).contains(&month) {
        return Some(format!("the month must be from 01 to 12, is {month:02}"));
    }
    let day = parse_digits(parts.next()?, 2)?;
    let first_day = civil_date(year, u8::try_from(month).ok()?, 1)?;
    let last = first_day.days_in_month().unsigned_abs();
    if parts.next().is_some() || (1..=u16::from(last)).contains(&day) {
        return None;
    }
    Some(format!(
        "the day must be from 01 to {last} in {year:04}-{month:02}, is {day:02}"
    ))
}

impl fmt::Display for PriceDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.year)?;
        for part in [self.month, self.day].into_iter().flatten() {
            write!(f, "-{part:02}")?;
        }
        Ok(())
    }
}

fn parse_digits(text: &str, digits: usize) -> Option<u16> {
    let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

fn civil_date(year: u16, month: u8, day: u8) -> Option<Date> {
    let [month, day] = [month, day].map(|part| i8::try_from(part).ok());
    Date::new(i16::try_from(year).ok()?, month?, day?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_convert_to_days_since_1970() {
        for (text, day) in [
            ("1970-01-01", 0),
            ("1970", 0),
            ("2000-02-29", 11_016),
            ("2000-03", 11_017),
            ("2019", 17_897),
            ("2026-11-21", 20_778),
        ] {
            let date = PriceDate::parse(text).unwrap();
            assert_eq!(date.first_epoch_day(), day, "{text}");
            assert_eq!(date.to_string(), text);
        }
    }

    #[test]
    fn invalid_dates_are_rejected() {
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
            assert_eq!(PriceDate::parse(text), None, "{text}");
        }
        assert_eq!(PriceDate::from_year_month_day(2019, 2, 29), None);
        assert_eq!(calendar_error("1969-13"), None, "the year is wrong");
        assert_eq!(calendar_error("2019-1-1"), None, "the form is wrong");
        assert_eq!(PriceDate::from_year_month_day(-1, 1, 1), None);
    }
}

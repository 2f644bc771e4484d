//! The times in logs, as microseconds since 1970 of the clock that the log has. Zones are not read: only differences
//! count.

/// Reads `digits` digits at the start of a text.
fn number(text: &str, digits: usize) -> Option<(i64, &str)> {
    let (number, rest) = (text.get(..digits)?, text.get(digits..)?);
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((number.parse().ok().filter(|_| is_number)?, rest))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (Hinnant, days_from_civil).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// A time of day, `22:57:41.123456` with up to six digits or none; MariaDB leaves out the zero of an hour.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let (hours, rest) = number(text, 2).or_else(|| number(text.trim_start(), 1))?;
    let (minutes, rest) = number(rest.strip_prefix(':')?, 2)?;
    let (seconds, rest) = number(rest.strip_prefix(':')?, 2)?;
    let whole_us = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000;
    let Some(fraction) = rest.strip_prefix('.') else {
        return Some((whole_us, rest));
    };
    let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let digits = &fraction[..length.min(6)];
    let micros = digits.parse::<i64>().ok()? * 10_i64.pow(6 - digits.len() as u32);
    Some((whole_us + micros, &fraction[length..]))
}

fn date_and_time(text: &str, separator: char) -> Option<(i64, &str)> {
    let (year, rest) = number(text, 4)?;
    let (month, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = number(rest.strip_prefix('-')?, 2)?;
    let (time_us, rest) = time_of_day(rest.strip_prefix(separator)?)?;
    Some((days(year, month, day) * 86_400_000_000 + time_us, rest))
}

/// PostgreSQL's `2026-11-29 22:57:41.123 UTC`.
pub(super) fn postgres(text: &str) -> Option<i64> {
    date_and_time(text.trim_matches('"'), ' ').map(|(time_us, _)| time_us)
}

/// MySQL's `2026-11-29T22:57:41.123456Z`, or `261129 22:57:41` of MariaDB and MySQL before 5.7.
pub(super) fn mysql(text: &str) -> Option<(i64, &str)> {
    if let Some((time_us, rest)) = date_and_time(text, 'T') {
        // The zone is Z or +01:00.
        let rest = rest.trim_start_matches(|c: char| !c.is_whitespace());
        return Some((time_us, rest));
    }
    let (year, rest) = number(text, 2)?;
    let (month, rest) = number(rest, 2)?;
    let (day, rest) = number(rest, 2)?;
    let (time_us, rest) = time_of_day(rest.strip_prefix(' ')?)?;
    Some((
        days(2000 + year, month, day) * 86_400_000_000 + time_us,
        rest,
    ))
}

/// The first time in a log.
pub(super) fn first(text: &str) -> Option<i64> {
    text.lines().find_map(|line| {
        let json = line.split_once("\"timestamp\":\"").map(|(_, rest)| rest);
        let slow = line.strip_prefix("# Time: ");
        let text = json.or(slow).unwrap_or(line);
        postgres(text).or_else(|| mysql(text).map(|(time_us, _)| time_us))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_logs_are_read() {
        let expected = 1_795_993_061_000_000;
        assert_eq!(
            postgres("2026-11-29 22:57:41.123 UTC"),
            Some(expected + 123_000)
        );
        assert_eq!(
            mysql("2026-11-29T22:57:41.123456Z\t 8"),
            Some((expected + 123_456, "\t 8"))
        );
        assert_eq!(
            mysql("2026-11-29T22:57:41.5+01:00\t8"),
            Some((expected + 500_000, "\t8"))
        );
        assert_eq!(mysql("261129 22:57:41\t 8"), Some((expected, "\t 8")));
        assert_eq!(
            mysql("261129  9:57:41"),
            Some((expected - 13 * 3_600_000_000, ""))
        );
        assert_eq!(postgres("1970-01-01 00:00:00 GMT"), Some(0));
        assert_eq!(
            postgres("2000-03-01 00:00:00 GMT"),
            Some(951_868_800_000_000)
        );
        for text in [
            "",
            "2026-1-29 22:57:41",
            "ä026-11-29 22:57:41",
            "26112",
            "select 1",
        ] {
            assert_eq!((postgres(text), mysql(text)), (None, None), "{text}");
        }
        assert_eq!(first("x\n# Time: 261129 22:57:41\n"), Some(expected));
    }
}

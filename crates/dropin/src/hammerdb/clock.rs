//! The current time, and dates as text, in the system's time zone.
//!
//! Must never: be used for measurements.

use jiff::{Timestamp, Zoned, civil, tz::TimeZone};

/// HammerDB's date format: `Fri Nov 20 22:21:44 UTC 2026`.
const HAMMERDB_FORMAT: &str = "%a %b %d %H:%M:%S %Z %Y";

/// The current time in HammerDB's format.
pub fn now_as_text() -> String {
    Zoned::now().strftime(HAMMERDB_FORMAT).to_string()
}

/// The current time as jobs store it: `2026-11-20 22:30:42`.
pub fn job_timestamp() -> String {
    Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// UTC if `utc`, otherwise the machine's time zone.
fn time_zone(utc: bool) -> TimeZone {
    if utc { TimeZone::UTC } else { TimeZone::system() }
}

/// Formats a time, in seconds since 1970, with a strftime format; without one in HammerDB's format.
///
/// # Errors
/// The time is out of range, or the format invalid.
pub fn format_time(seconds: i64, format: Option<&str>, utc: bool) -> Result<String, String> {
    let time = Timestamp::from_second(seconds).map_err(|error| error.to_string())?;
    let time = time.to_zoned(time_zone(utc));
    jiff::fmt::strtime::format(format.unwrap_or(HAMMERDB_FORMAT), &time)
        .map_err(|error| error.to_string())
}

/// Parses a time to seconds since 1970: with a strptime format; or in RFC 3339, in HammerDB's format, as
/// `2026-11-20 22:30:42`, as `2026-11-20`, or `now`.
pub fn parse_time(text: &str, format: Option<&str>, utc: bool) -> Result<i64, String> {
    let invalid = |_| format!("unable to convert date-time string \"{text}\"");
    let seconds = |time: civil::DateTime, utc: bool| {
        let time = time_zone(utc).to_timestamp(time).map_err(invalid)?;
        Ok(time.as_second())
    };
    if let Some(format) = format {
        let time = jiff::fmt::strtime::parse(format, text).map_err(invalid)?;
        if let Ok(time) = time.to_timestamp() {
            return Ok(time.as_second());
        }
        let midnight = |_| time.to_date().map(|date| date.at(0, 0, 0, 0));
        return seconds(time.to_datetime().or_else(midnight).map_err(invalid)?, utc);
    }
    let text = text.trim();
    if text == "now" {
        return Ok(Timestamp::now().as_second());
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.as_second());
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    match fields.as_slice() {
        // With any zone name other than UTC and GMT, the time is read as local time.
        [_, month, day, time_of_day, zone_name, year] => {
            let without_zone = format!("{month} {day} {time_of_day} {year}");
            let time = civil::DateTime::strptime("%b %d %H:%M:%S %Y", without_zone);
            let time = time.map_err(invalid)?;
            seconds(time, utc || matches!(*zone_name, "UTC" | "GMT"))
        }
        _ => seconds(text.parse().map_err(invalid)?, utc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_and_parsed() {
        assert_eq!(
            format_time(1_795_213_304, Some("%s"), false).as_deref(),
            Ok("1795213304")
        );
        let default_text = format_time(1_795_213_304, None, true).expect("the default format");
        assert_eq!(default_text, "Fri Nov 20 22:21:44 UTC 2026");
        for text in [
            default_text.as_str(),
            "2026-11-20 22:21:44",
            "2026-11-20T22:21:44Z",
        ] {
            assert_eq!(parse_time(text, None, true), Ok(1_795_213_304), "{text}");
        }
        assert_eq!(
            parse_time("20/11/2026", Some("%d/%m/%Y"), true),
            Ok(1_795_132_800)
        );
        assert!(parse_time("soon", None, true).is_err());
        assert!(parse_time("x", Some("%Y"), true).is_err());
        assert!(format_time(i64::MAX, None, true).is_err());
        assert!(format_time(0, Some("%!"), true).is_err());
    }
}

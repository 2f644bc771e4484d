//! The present moment and how it is written.
//!
//! In: the system's clock and time zone. Out: texts. Must never: be used to measure.

use jiff::{Timestamp, Zoned, tz::TimeZone};

/// As HammerDB writes it: `Fri Nov 20 22:21:44 UTC 2026`.
const USUAL: &str = "%a %b %d %H:%M:%S %Z %Y";

/// Milliseconds since 1970, UTC.
pub fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// The present moment in HammerDB's usual form.
pub fn date() -> String {
    Zoned::now().strftime(USUAL).to_string()
}

/// The present moment as jobs have it: `2026-11-20 22:30:42`.
pub fn moment() -> String {
    Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A moment in a strftime form, or in the usual one.
///
/// # Errors
/// There is no such moment, or the form means nothing.
pub fn written(seconds: i64, format: Option<&str>) -> Result<String, String> {
    let moment = Timestamp::from_second(seconds).map_err(|error| error.to_string())?;
    let moment = moment.to_zoned(TimeZone::system());
    jiff::fmt::strtime::format(format.unwrap_or(USUAL), &moment).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_asked_or_refused() {
        assert_eq!(
            written(1_795_213_304, Some("%s")).as_deref(),
            Ok("1795213304")
        );
        let usual = written(1_795_213_304, None).expect("the usual form");
        assert_eq!(usual.split(' ').count(), 6, "{usual}");
        assert!(written(i64::MAX, None).is_err());
        assert!(written(0, Some("%!")).is_err());
    }
}

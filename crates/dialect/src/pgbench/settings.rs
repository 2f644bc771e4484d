//! Prony's settings for the dialect. They are environment variables, so that the options stay pgbench's.
//!
//! Must never: change a line that pgbench prints.

const PERCENTILES: &str = "PRONY_PGBENCH_PERCENTILES";
const LOAD_JOBS: &str = "PRONY_LOAD_JOBS";

#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvSettings {
    /// PRONY_PGBENCH_PERCENTILES, which `--percentiles` overrides.
    pub percentiles: Vec<f64>,
    /// PRONY_LOAD_JOBS: the number of connections that load for `-i`; `None` for Prony's default.
    pub load_jobs: Option<u32>,
}

impl EnvSettings {
    /// Reads the settings. An empty value counts as not set.
    ///
    /// # Errors
    /// Which value is invalid, and why.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let get = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut settings = Self::default();
        if let Some(value) = get(PERCENTILES) {
            settings.percentiles = parse_percentiles(PERCENTILES, &value)?;
        }
        if let Some(value) = get(LOAD_JOBS) {
            match value.trim().parse() {
                Ok(jobs @ 1..=1024) => settings.load_jobs = Some(jobs),
                _ => {
                    return Err(format!(
                        "{LOAD_JOBS}: {value:?} is not a number of connections from 1 to 1024"
                    ));
                }
            }
        }
        Ok(settings)
    }
}

/// Parses percentiles such as `50,95,99.9`: per cent, above 0 and up to 100. They are sorted and
/// deduplicated.
///
/// # Errors
///
/// A percentile is invalid. `name`: the option or variable, for the message.
pub fn parse_percentiles(name: &str, value: &str) -> Result<Vec<f64>, String> {
    let problem = "is not a list of percentiles such as 50,95,99.9";
    let invalid = || format!("{name}: {value:?} {problem}");
    let mut percentiles = Vec::new();
    for item in value.split(',') {
        let percentile: f64 = item.trim().parse().map_err(|_| invalid())?;
        if !(percentile > 0.0 && percentile <= 100.0) {
            return Err(invalid());
        }
        percentiles.push(percentile);
    }
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    Ok(percentiles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn percentiles_are_sorted_and_checked() {
        assert_eq!(
            parse_percentiles("x", "99, 50,99.9,50").unwrap(),
            [50.0, 99.0, 99.9]
        );
        for invalid in ["", "0", "101", "95;99", "nan", "-5"] {
            assert!(parse_percentiles("x", invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn settings_come_from_the_environment() {
        let env = |name: &str| (name == "PRONY_LOAD_JOBS").then(|| "4".to_owned());
        assert_eq!(EnvSettings::read(env).unwrap().load_jobs, Some(4));
        let error = EnvSettings::read(|_| Some("0".into())).unwrap_err();
        error.assert_starts_with("PRONY_PGBENCH_PERCENTILES: \"0\"");
    }
}

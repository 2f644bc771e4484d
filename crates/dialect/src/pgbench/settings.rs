//! Prony's settings for the dialect. They are environment variables, because the options are pgbench's.
//!
//! Must never: change a line that pgbench prints.

/// The settings from the environment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnvSettings {
    /// PRONY_PGBENCH_PERCENTILES, which `--percentiles` overrides.
    pub percentiles: Vec<f64>,
    /// PRONY_LOAD_JOBS: number of connections that load for `-i`; none for Prony's default.
    pub load_jobs: Option<u32>,
}

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {value:?} {problem}")]
pub struct BadSetting {
    /// The variable or option.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl EnvSettings {
    /// Reads the settings; an empty value means not set.
    ///
    /// # Errors
    ///
    /// The first invalid setting.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, BadSetting> {
        let get = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut settings = Self::default();
        let name = "PRONY_PGBENCH_PERCENTILES";
        if let Some(value) = get(name) {
            settings.percentiles = parse_percentiles(name, &value)?;
        }
        let name = "PRONY_LOAD_JOBS";
        if let Some(value) = get(name) {
            let jobs = value
                .trim()
                .parse()
                .ok()
                .filter(|jobs| (1..=1024).contains(jobs));
            settings.load_jobs = Some(jobs.ok_or_else(|| BadSetting {
                name: name.to_owned(),
                value,
                problem: "is not a number of connections from 1 to 1024",
            })?);
        }
        Ok(settings)
    }
}

/// Parses percentiles such as `50,95,99.9`: per cent, above 0 and up to 100. They are sorted and
/// deduplicated.
///
/// # Errors
///
/// One of them is invalid. `name`: the option or variable, for the message.
pub fn parse_percentiles(name: &str, value: &str) -> Result<Vec<f64>, BadSetting> {
    let bad = || BadSetting {
        name: name.to_owned(),
        value: value.to_owned(),
        problem: "is not a list of percentiles such as 50,95,99.9",
    };
    let mut found = Vec::new();
    for word in value.split(',') {
        let percentile: f64 = word.trim().parse().map_err(|_| bad())?;
        if !(percentile > 0.0 && percentile <= 100.0) {
            return Err(bad());
        }
        found.push(percentile);
    }
    found.sort_by(f64::total_cmp);
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_sorted_and_checked() {
        assert_eq!(
            parse_percentiles("x", "99, 50,99.9,50").unwrap(),
            [50.0, 99.0, 99.9]
        );
        for wrong in ["", "0", "101", "95;99", "nan", "-5"] {
            assert!(parse_percentiles("x", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn settings_come_from_the_environment() {
        let env = |name: &str| (name == "PRONY_LOAD_JOBS").then(|| "4".to_owned());
        assert_eq!(EnvSettings::read(env).unwrap().load_jobs, Some(4));
        let error = EnvSettings::read(|_| Some("0".into())).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("PRONY_PGBENCH_PERCENTILES: \"0\"")
        );
    }
}

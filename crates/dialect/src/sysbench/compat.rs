//! Which sysbench is spoken.
//!
//! In: the value of `PRONY_SYSBENCH_COMPAT`. Out: a [`Compat`], its name and banner. Must never: let a
//! run of one version pass for the other: their default distribution of random numbers differs.

/// The environment variable that picks the version.
pub const COMPAT_VARIABLE: &str = "PRONY_SYSBENCH_COMPAT";

/// A line of sysbench's versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compat {
    /// 1.0.20: what distributions ship.
    #[default]
    V1_0,
    /// 1.1.0, which was never released: newer options and defaults, another report.
    V1_1,
}

/// The variable asks for a version that there is not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{COMPAT_VARIABLE}: \"{0}\" is not a version of sysbench that is known; use 1.0 or 1.1")]
pub struct BadCompat(pub String);

impl Compat {
    /// Of the variable's value; none or nothing means 1.0.
    ///
    /// # Errors
    /// It names another version.
    pub fn read(value: Option<&str>) -> Result<Self, BadCompat> {
        let value = value.unwrap_or_default().trim();
        let names = |version: &str| {
            value == version
                || value
                    .strip_prefix(version)
                    .is_some_and(|rest| rest.starts_with('.'))
        };
        match value {
            "" => Ok(Compat::V1_0),
            _ if names("1.0") => Ok(Compat::V1_0),
            _ if names("1.1") => Ok(Compat::V1_1),
            other => Err(BadCompat(other.to_owned())),
        }
    }

    /// As in `--version`.
    pub fn version(self) -> &'static str {
        match self {
            Compat::V1_0 => "1.0.20",
            Compat::V1_1 => "1.1.0",
        }
    }

    /// The answer to `--version`.
    pub fn version_text(self) -> String {
        format!("sysbench {}\n", self.version())
    }

    /// The line that every command begins with, and the empty one after it.
    pub fn banner(self) -> String {
        let lua = match self {
            Compat::V1_0 => "system",
            Compat::V1_1 => "bundled",
        };
        let version = self.version();
        format!("sysbench {version} (using {lua} LuaJIT 2.1.0-beta3)\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_picks_the_version() {
        assert_eq!(Compat::read(None), Ok(Compat::V1_0));
        assert_eq!(Compat::read(Some(" ")), Ok(Compat::V1_0));
        assert_eq!(Compat::read(Some("1.0.18")), Ok(Compat::V1_0));
        assert_eq!(Compat::read(Some("1.1")), Ok(Compat::V1_1));
        for wrong in ["1", "0.5", "1.10", "2.0"] {
            let error = Compat::read(Some(wrong)).unwrap_err().to_string();
            assert!(error.contains("use 1.0 or 1.1"), "{error}");
        }
    }
}

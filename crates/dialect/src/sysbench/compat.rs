//! The version of sysbench to emulate.
//!
//! In: the value of `PRONY_SYSBENCH_COMPAT`. Out: a [`Compat`], its name and banner. Must never: mix up the
//! versions, because their default random distributions differ.

/// The environment variable that selects the version.
pub const COMPAT_VARIABLE: &str = "PRONY_SYSBENCH_COMPAT";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compat {
    /// 1.0.20, which distributions ship.
    #[default]
    V1_0,
    /// 1.1.0, which was never released: newer options and defaults, and a different report.
    V1_1,
}

impl Compat {
    /// Parses the variable's value. No value or an empty value means 1.0.
    ///
    /// # Errors
    /// The message about a value that is not a known version.
    pub fn read(value: Option<&str>) -> Result<Self, String> {
        let value = value.unwrap_or_default().trim();
        match value.split('.').collect::<Vec<_>>()[..] {
            [""] | ["1", "0", ..] => Ok(Compat::V1_0),
            ["1", "1", ..] => Ok(Compat::V1_1),
            _ => Err(format!(
                "{COMPAT_VARIABLE}: \"{value}\" is not a known version of sysbench; use 1.0 or 1.1"
            )),
        }
    }

    /// The version's number in `--version`.
    pub fn version(self) -> &'static str {
        match self {
            Compat::V1_0 => "1.0.20",
            Compat::V1_1 => "1.1.0",
        }
    }

    /// The output of `--version`.
    pub fn version_text(self) -> String {
        format!("sysbench {}\n", self.version())
    }

    /// The first line of the output, and the empty line after it.
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
    use prony_assertions::TextAssertions;

    #[test]
    fn the_variable_selects_the_version() {
        assert_eq!(Compat::read(None), Ok(Compat::V1_0));
        assert_eq!(Compat::read(Some(" ")), Ok(Compat::V1_0));
        assert_eq!(Compat::read(Some("1.0.18")), Ok(Compat::V1_0));
        assert_eq!(Compat::read(Some("1.1")), Ok(Compat::V1_1));
        for invalid in ["1", "0.5", "1.10", "2.0"] {
            let error = Compat::read(Some(invalid)).unwrap_err();
            error.assert_contains("use 1.0 or 1.1");
        }
    }
}

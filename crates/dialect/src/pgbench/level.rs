//! The version of pgbench to emulate.
//!
//! In: a setting (`PRONY_PGBENCH_COMPAT`) or the name by which Prony was called. Out: a [`Level`]. Must
//! never: depend on anything else: the same command line and environment print the same text for every user.

use std::fmt;

const DEFAULT_MAJOR: u16 = 18;

/// Major versions, and the newest minor version of each whose output was compared with Prony's.
const NEWEST_MINORS: [(u16, u16); 7] = [
    (13, 23),
    (14, 25),
    (15, 20),
    (16, 16),
    (17, 12),
    (18, 6),
    (19, 0),
];

/// A version of pgbench. Prony emulates its command line and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    major: u16,
    minor: u16,
    /// The version as printed, such as `15.18 (Debian 15.18-0+deb12u1)`.
    text: String,
    /// Whether the user specified a minor version.
    has_minor: bool,
}

impl Default for Level {
    fn default() -> Self {
        Self::of_major(DEFAULT_MAJOR).expect("the default major is in the table")
    }
}

impl Level {
    /// The level of a major from 13 to 19.
    pub fn of_major(major: u16) -> Option<Self> {
        let (_, minor) = NEWEST_MINORS
            .into_iter()
            .find(|(listed, _)| *listed == major)?;
        Some(Self {
            major,
            minor,
            text: format!("{major}.{minor}"),
            has_minor: false,
        })
    }

    /// Parses `15`, `15.18`, or a complete version such as `15.18 (Debian 15.18-0+deb12u1)`, which is then
    /// printed without change.
    ///
    /// # Errors
    ///
    /// The text does not begin with a number from 13 to 19.
    pub fn parse(text: &str) -> Result<Self, String> {
        let unknown_level = || {
            format!(
                "{text:?} is not a supported version of pgbench: PRONY_PGBENCH_COMPAT takes a major from 13 to 19, \
                 optionally with a minor (15 or 15.18)"
            )
        };
        let text = text.trim();
        let version = text.split([' ', '(']).next().unwrap_or_default();
        let (major, minor) = match version.split_once('.') {
            Some((major, minor)) => (major, Some(minor)),
            None => (version, None),
        };
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(major) || !minor.is_none_or(digits) {
            return Err(unknown_level());
        }
        let mut level = Self::of_major(major.parse().map_err(|_| unknown_level())?)
            .ok_or_else(unknown_level)?;
        if let Some(minor) = minor {
            level.minor = minor.parse().map_err(|_| unknown_level())?;
            level.has_minor = true;
            level.text = text.to_owned();
        }
        Ok(level)
    }

    /// The level of a program name such as `pgbench-15` or `/usr/local/bin/pgbench15`; `None` for plain
    /// `pgbench` and for names that are not pgbench's.
    pub fn of_name(argv0: &str) -> Option<Self> {
        let name = argv0.rsplit('/').next()?;
        let version = name.strip_prefix("pgbench")?;
        let version = version.strip_prefix('-').unwrap_or(version);
        Self::parse(version).ok()
    }

    /// The level of this invocation: the setting `PRONY_PGBENCH_COMPAT` if it is set and not empty, else the
    /// program's name, else 18.
    pub fn choose(setting: Option<&str>, argv0: &str) -> Result<Self, String> {
        match setting {
            Some(text) if !text.trim().is_empty() => Self::parse(text),
            _ => Ok(Self::of_name(argv0).unwrap_or_default()),
        }
    }

    /// The major, 13 to 19.
    pub fn major(&self) -> u16 {
        self.major
    }

    /// Whether this is `major` or later.
    pub fn at_least(&self, major: u16) -> bool {
        self.major >= major
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the user specified a minor version.
    pub(crate) fn has_minor(&self) -> bool {
        self.has_minor
    }

    /// Whether the message about an invalid `-c` value spells the option's name correctly. pgbench does since
    /// the minor versions of autumn 2026 (15.19 or 15.20, 18.5 or 18.6).
    pub(crate) fn spells_client_correctly(&self) -> bool {
        let last_misspelled = match self.major {
            15 => 18,
            16 => 14,
            17 => 10,
            18 => 4,
            _ => return self.major >= 19,
        };
        // Without a minor version, use the older wording: it contains the newer one, so that a search for
        // either succeeds.
        self.has_minor && self.minor > last_misspelled
    }

    /// Major and minor as one number, like PostgreSQL's `server_version_num`: 150018.
    pub fn version_num(&self) -> u32 {
        u32::from(self.major) * 10_000 + u32::from(self.minor)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "pgbench {}", self.text)
    }
}

/// The `server_version_num` of a version text such as `15.18 (Debian …)`, `19devel` or `18beta2`.
pub(crate) fn version_num(text: &str) -> Option<u32> {
    let number = |text: &str| -> Option<u32> {
        let end = text.bytes().position(|byte| !byte.is_ascii_digit());
        text[..end.unwrap_or(text.len())].parse().ok()
    };
    let major = number(text)?;
    let minor_text = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let minor = minor_text.strip_prefix('.').and_then(number).unwrap_or(0);
    Some(major * 10_000 + minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_parsed() {
        assert_eq!(Level::parse("13").unwrap().text(), "13.23");
        assert_eq!(Level::parse("15.18").unwrap().version_num(), 150_018);
        let debian = Level::parse("15.18 (Debian 15.18-0+deb12u1)").unwrap();
        assert_eq!(debian.text(), "15.18 (Debian 15.18-0+deb12u1)");
        assert_eq!(debian.version_num(), 150_018);
        for invalid in ["12", "20", "x", "", "15.x", "-15", "pgbench-15"] {
            assert!(Level::parse(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn the_setting_overrides_the_program_name() {
        let level = |setting, name| Level::choose(setting, name).unwrap().major();
        assert_eq!(level(None, "/usr/bin/pgbench"), 18);
        assert_eq!(level(None, "bin/pgbench-15"), 15);
        assert_eq!(level(None, "pgbench16"), 16);
        assert_eq!(level(Some("13"), "pgbench-15"), 13);
        assert_eq!(level(Some(""), "pgbench-15"), 15);
        assert_eq!(level(None, "prony"), 18);
        assert!(Level::choose(Some("9.6"), "pgbench").is_err());
    }

    #[test]
    fn server_versions_become_numbers() {
        assert_eq!(version_num("15.18 (Debian 15.18-0+deb12u1)"), Some(150_018));
        assert_eq!(version_num("19devel"), Some(190_000));
        assert_eq!(version_num("18beta2"), Some(180_000));
        assert_eq!(version_num("none"), None);
    }
}

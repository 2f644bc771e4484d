//! The connection options that are set, each with where it was set, for all protocols. Each protocol's `options.rs` has
//! their names.
//!
//! Must never: show the value of an option that may hold a password.

use crate::error::Error;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Stands for a value that must not be shown.
pub(crate) const MASK: &str = "***";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The URL or connection string.
    Url(&'static str),
    Other(Cow<'static, str>),
}

impl Origin {
    /// Not set by the user: a default, or implied by a different option.
    pub const DEFAULTS: Origin = Origin::Other(Cow::Borrowed("the defaults"));
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Origin::Url(name) => name,
            Origin::Other(name) => name,
        })
    }
}

#[derive(Default)]
pub(crate) struct OptionValues(BTreeMap<&'static str, (String, Origin)>);

impl OptionValues {
    pub fn set(&mut self, name: &'static str, value: impl Into<String>, origin: Origin) {
        self.0.insert(name, (value.into(), origin));
    }

    pub fn set_default(&mut self, name: &'static str, value: impl Into<String>, origin: Origin) {
        self.0.entry(name).or_insert((value.into(), origin));
    }

    /// Adds options, which override the existing ones.
    pub fn extend(&mut self, overriding: OptionValues) {
        self.0.extend(overriding.0);
    }

    /// The value, possibly empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|(value, _)| value.as_str())
    }

    pub fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    pub fn origin(&self, name: &str) -> Origin {
        let entry = self.0.get(name);
        entry.map_or(Origin::DEFAULTS, |(_, origin)| origin.clone())
    }

    /// A whole number, which may have spaces around it; `None` if the option is absent or empty.
    pub fn number<T: FromStr>(&self, name: &'static str) -> Result<Option<T>, Error> {
        let number = self.non_empty(name).map(|value| value.trim().parse());
        let error = |_| self.invalid_value(name, "write a whole number");
        number.transpose().map_err(error)
    }

    /// The error for a value that its option does not accept. The option must be one whose value may be shown.
    pub fn invalid_value(&self, option: &'static str, hint: impl Into<String>) -> Error {
        Error::Value {
            option,
            value: self.get(option).unwrap_or_default().to_owned(),
            origin: self.origin(option).to_string(),
            hint: hint.into(),
        }
    }

    /// The option whose value has a zero byte, which would end a string of a protocol early.
    pub fn with_zero_byte(&self) -> Option<&'static str> {
        let mut entries = self.0.iter();
        let (name, _) = entries.find(|(_, (value, _))| value.contains('\0'))?;
        Some(name)
    }
}

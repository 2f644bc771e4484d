//! Settings of a server that a plan requires, such as `synchronous_commit = off`.
//!
//! In: names and texts. Out: the same, by name in lower case. Must never: hold a value that may be a password: documents
//! show all of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of a server with the values that they shall have during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ServerSettings(BTreeMap<String, String>);

/// Parts of the names of settings whose values may hold a password.
const SECRET_PARTS: [&str; 4] = ["password", "passphrase", "conninfo", "secret"];

/// The name that a setting has in a plan, for one that a server shows: SQL Server's `max degree of parallelism` and
/// `max server memory (MB)` become `max_degree_of_parallelism` and `max_server_memory_mb`.
pub fn setting_name(shown: &str) -> String {
    let parts = shown.split(|c| !is_name_character(c));
    let parts = parts.filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.')
}

impl ServerSettings {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Requires a value, in place of an earlier one of the same setting.
    ///
    /// # Errors
    /// What is wrong with the name or the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let name = name.trim().to_ascii_lowercase();
        let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !begins_well || name.len() > 63 || !name.chars().all(is_name_character) {
            return Err(
                "is not the name of a setting: letters, digits, _ and ., at most 63".to_owned(),
            );
        }
        if SECRET_PARTS.iter().any(|part| name.contains(part)) {
            return Err("may hold a password, and results show the settings of a plan".to_owned());
        }
        if value.contains(['\0', '\n', '\r']) {
            return Err("must be one line of text".to_owned());
        }
        self.0.insert(name, value.to_owned());
        Ok(())
    }

    /// Adds settings, in place of earlier values of the same.
    pub fn extend(&mut self, others: &ServerSettings) {
        self.0.extend(others.0.clone());
    }

    /// The settings, in the order of their names, with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let settings = self.0.iter();
        settings.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_settings_and_no_value_is_a_password() {
        let mut settings = ServerSettings::default();
        settings.set("Synchronous_Commit", "on").unwrap();
        settings.set("synchronous_commit", "off").unwrap();
        settings.set("auto_explain.log_min_duration", "").unwrap();
        let names = [
            "",
            "1a",
            "a b",
            "a;b",
            "a=b",
            "ssl_passphrase_command",
            "primary_conninfo",
        ];
        for name in names {
            settings.set(name, "x").expect_err(name);
        }
        settings.set("work_mem", "a\0b").expect_err("a zero byte");
        settings.set("work_mem", "a\nb").expect_err("two lines");
        let all: Vec<_> = settings.iter().collect();
        let expected = [
            ("auto_explain.log_min_duration", ""),
            ("synchronous_commit", "off"),
        ];
        assert_eq!(all, expected);
    }
}

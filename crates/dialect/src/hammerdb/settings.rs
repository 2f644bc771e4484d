//! The settings that a user changed, stored between calls.
//!
//! In: changed values. Out: values, changed or default; plain data for a store. Must never: pass a password
//! to the store, to `Debug`, or to a printed dictionary.

use std::collections::BTreeMap;

use prony_wire::Secret;
use serde::{Deserialize, Serialize};

use super::dictionary::{self, GENERIC};

/// Printed in place of a password.
const HIDDEN: &str = "********";

/// All settings. Passwords are kept only during the session; stored documents do not contain them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The prefix of the selected database, such as `pg`.
    pub database: String,
    /// Changed values by `PREFIX:SECTION:KEY`.
    pub changed: BTreeMap<String, String>,
    #[serde(skip)]
    secrets: BTreeMap<String, Secret>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            database: "pg".to_owned(),
            changed: BTreeMap::new(),
            secrets: BTreeMap::new(),
        }
    }
}

fn full_key(prefix: &str, section: &str, key: &str) -> String {
    format!("{prefix}:{section}:{key}")
}

impl Settings {
    /// A value; `None` if the key does not exist.
    pub(super) fn value(&self, prefix: &str, section: &str, key: &str) -> Option<&str> {
        let (_, keys) = dictionary::sections(prefix)?
            .iter()
            .find(|(name, _)| *name == section)?;
        let default = keys.iter().find(|known| known.name == key)?.default;
        let full_key = full_key(prefix, section, key);
        let secret = self.secrets.get(&full_key).map(Secret::reveal);
        let changed = self.changed.get(&full_key).map(String::as_str);
        Some(secret.or(changed).unwrap_or(default))
    }

    /// The database's dictionary: sections, keys and values, with asterisks for passwords.
    pub fn masked_dictionary(&self) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
        let sections = dictionary::sections(&self.database).unwrap_or(&[]);
        let masked_sections = sections.iter().map(|(section, keys)| {
            let masked = |key: &dictionary::Key| {
                let value = self.value(&self.database, section, key.name);
                (key.name, mask_secret(key.name, value.unwrap_or("")))
            };
            (*section, keys.iter().map(masked).collect())
        });
        masked_sections.collect()
    }

    /// The database's name, such as `PostgreSQL`.
    pub fn database_name(&self) -> &'static str {
        dictionary::database_name(&self.database)
    }

    /// Sets a value; returns whether the key exists.
    pub(super) fn set(&mut self, prefix: &str, section: &str, key: &str, value: &str) -> bool {
        if self.value(prefix, section, key).is_none() {
            return false;
        }
        let full_key = full_key(prefix, section, key);
        if dictionary::is_secret(key) {
            self.secrets.insert(full_key, Secret::new(value));
        } else {
            self.changed.insert(full_key, value.to_owned());
        }
        true
    }

    /// A value that applies to all databases; empty if the key does not exist.
    pub(super) fn generic_value(&self, section: &str, key: &str) -> &str {
        self.value(GENERIC, section, key).unwrap_or("")
    }

    /// An option of `vuset`; 1 if its value is not a number.
    pub(super) fn vuser_option(&self, key: &str) -> u64 {
        let value = self.generic_value("virtual_user_options", key);
        value.parse().unwrap_or(1)
    }
}

/// The value of `key` for printing and storing: asterisks replace a password.
pub(super) fn mask_secret(key: &str, value: &str) -> String {
    if dictionary::is_secret(key) { HIDDEN.to_owned() } else { value.to_owned() }
}

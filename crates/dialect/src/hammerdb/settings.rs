//! What a user set, kept from call to call.
//!
//! In: changed values. Out: values, changed or as shipped; plain data for a store. Must never: give a
//! password to the store, to `Debug`, or to a printed dictionary.

use std::collections::BTreeMap;

use prony_wire::Secret;
use serde::{Deserialize, Serialize};

use super::dictionary::{self, GENERIC};

/// What stands where a password would.
const HIDDEN: &str = "********";

/// The settings. A stored document of them has no password: those live as long as the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// The database's prefix (`pg`).
    pub database: String,
    /// The changed values: by `PREFIX:SECTION:KEY`.
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

fn place(prefix: &str, section: &str, key: &str) -> String {
    format!("{prefix}:{section}:{key}")
}

impl Settings {
    /// A value; none if there is no such key.
    pub(super) fn value(&self, prefix: &str, section: &str, key: &str) -> Option<&str> {
        let (_, keys) = dictionary::sections(prefix)?
            .iter()
            .find(|(name, _)| *name == section)?;
        let (_, default) = keys.iter().find(|(name, _)| *name == key)?;
        let place = place(prefix, section, key);
        let secret = self.secrets.get(&place).map(Secret::reveal);
        let changed = self.changed.get(&place).map(String::as_str);
        Some(secret.or(changed).unwrap_or(default))
    }

    /// The dictionary of the database: sections, keys and values as they may be shown and stored.
    pub fn shown(&self) -> Vec<(&'static str, Vec<(&'static str, String)>)> {
        let sections = dictionary::sections(&self.database).unwrap_or(&[]);
        let all = sections.iter().map(|(section, keys)| {
            let value = |key: &str| self.value(&self.database, section, key).unwrap_or("");
            let keys = keys.iter().map(|(key, _)| (*key, shown(key, value(key))));
            (*section, keys.collect())
        });
        all.collect()
    }

    /// The database's name: `PostgreSQL`.
    pub fn database_name(&self) -> &'static str {
        dictionary::name(&self.database)
    }

    /// Sets a value; whether there is such a key.
    pub(super) fn set(&mut self, prefix: &str, section: &str, key: &str, value: &str) -> bool {
        if self.value(prefix, section, key).is_none() {
            return false;
        }
        let place = place(prefix, section, key);
        if dictionary::is_secret(key) {
            self.secrets.insert(place, Secret::new(value));
        } else {
            self.changed.insert(place, value.to_owned());
        }
        true
    }

    /// A value of the settings that belong to no database.
    pub(super) fn generic(&self, section: &str, key: &str) -> &str {
        self.value(GENERIC, section, key).unwrap_or("")
    }

    /// A number of the virtual users' options; as shipped if what is stored is none.
    pub(super) fn option(&self, key: &str) -> u64 {
        let value = self.generic("virtual_user_options", key);
        value.parse().unwrap_or(1)
    }
}

/// A value as it may be shown.
pub(super) fn shown(key: &str, value: &str) -> String {
    if dictionary::is_secret(key) {
        HIDDEN.to_owned()
    } else {
        value.to_owned()
    }
}

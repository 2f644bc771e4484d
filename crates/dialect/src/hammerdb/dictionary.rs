//! The dictionaries: every key with its default in HammerDB 4.6, in HammerDB's order.
//!
//! [`super::Settings`] contains the values that a user changed.

use crate::table;
use prony_document::Product;
use std::collections::BTreeMap;
use std::sync::LazyLock;

pub(super) type Section = (&'static str, Vec<Key>);

pub(super) struct Key {
    pub name: &'static str,
    pub default: &'static str,
    /// Whether `print` lists the key only with a value that is not the default: HammerDB 4.6 lacks it, and its output is
    /// the pattern.
    pub is_listed_if_changed: bool,
}

impl Key {
    fn from_row([name, default]: [&'static str; 2]) -> Key {
        let default_if_changed = default.strip_suffix("| if changed");
        Key {
            name,
            default: default_if_changed.unwrap_or(default).trim_end(),
            is_listed_if_changed: default_if_changed.is_some(),
        }
    }
}

/// A database of HammerDB.
pub(super) struct Database {
    pub name: &'static str,
    /// The prefix of its settings.
    pub prefix: &'static str,
    /// `None` if Prony's hammerdbcli does not support it.
    product: Option<Product>,
}

const fn database(name: &'static str, prefix: &'static str, product: Option<Product>) -> Database {
    Database {
        name,
        prefix,
        product,
    }
}

pub(super) const DATABASES: [Database; 6] = [
    database("Oracle", "ora", None),
    database("MSSQLServer", "mssqls", Some(Product::SQL_SERVER)),
    database("Db2", "db2", None),
    database("MySQL", "mysql", Some(Product::MYSQL)),
    database("PostgreSQL", "pg", Some(Product::POSTGRESQL)),
    database("MariaDB", "maria", Some(Product::MARIADB)),
];

/// The prefix of settings that apply to all databases.
pub(super) const GENERIC: &str = "generic";

/// The sections of each dictionary, by the prefix of its keys.
static DICTIONARIES: LazyLock<BTreeMap<&'static str, Vec<Section>>> = LazyLock::new(|| {
    let mut dictionaries = BTreeMap::<_, Vec<Section>>::new();
    for (group, row) in table::rows(include_str!("dictionary.txt")) {
        let (prefix, section) = group.split_once(' ').unwrap_or_default();
        let sections = dictionaries.entry(prefix).or_default();
        match sections.last_mut() {
            Some((name, keys)) if *name == section => keys.push(Key::from_row(row)),
            _ => sections.push((section, vec![Key::from_row(row)])),
        }
    }
    dictionaries
});

/// The sections of a database; `None` if `dictionary.txt` does not contain it (Oracle and Db2).
pub(super) fn sections(prefix: &str) -> Option<&'static [Section]> {
    DICTIONARIES.get(prefix).map(Vec::as_slice)
}

pub(super) fn database_prefix(product: Product) -> &'static str {
    let mut databases = DATABASES.iter();
    let found = databases.find(|database| database.product == Some(product));
    found.map_or(GENERIC, |database| database.prefix)
}

/// The product of the database with this name or prefix; `None` for those that Prony's hammerdbcli does not support.
pub(super) fn database_product(text: &str) -> Option<Product> {
    let mut databases = DATABASES.iter();
    let found = databases.find(|database| database.name == text || database.prefix == text)?;
    found.product
}

/// The name of the database with this prefix; `generic` if there is none.
pub(super) fn database_name(prefix: &str) -> &'static str {
    let found = DATABASES.iter().find(|database| database.prefix == prefix);
    found.map_or(GENERIC, |database| database.name)
}

/// The error for a database that Prony's hammerdbcli does not support.
pub(super) fn unsupported_message(prefix: &str) -> String {
    let supported: Vec<&str> = DATABASES
        .iter()
        .map(|database| database.prefix)
        .filter(|prefix| sections(prefix).is_some())
        .collect();
    format!(
        "Error: Prony's hammerdbcli does not support {}, choose one from {}",
        database_name(prefix),
        supported.join(" ")
    )
}

/// Whether a key's value must not be printed or stored.
pub(super) fn is_secret(key: &str) -> bool {
    key.contains("pass")
}

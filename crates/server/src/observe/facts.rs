//! A server's version and its settings.
//!
//! In: a control connection. Out: [`Facts`]. Must never: hand on a setting that may hold a secret.

use super::cell;
use crate::control::{Control, Error, Product};

/// What stands for a value that is not handed on.
const WITHHELD: &str = "(not stored)";

/// Names with one of these in them may hold a secret: a password in a connection string, or in a
/// command that the server runs.
const SENSITIVE: [&str; 9] = [
    "conninfo",
    "passw",
    "passphrase",
    "_command",
    "secret",
    "token",
    "license_key",
    "credential",
    "api_key",
];

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Version as a person reads it, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub version: String,
    /// All settings by name, as the server prints them: PostgreSQL's `SHOW` with their units.
    pub settings: Vec<(String, String)>,
}

impl Facts {
    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        settings
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Asks the server.
///
/// # Errors
/// If the connection is lost, or the server refuses.
pub fn observe(control: &mut Control) -> Result<Facts, Error> {
    let version = control.parameter("server_version").unwrap_or_default();
    let version = version.to_owned();
    let rows = match control.product() {
        // The view leaves out what this role may not see; current_setting would be refused for it.
        Product::Postgres => {
            let view = "SELECT name, current_setting(name, true) FROM pg_settings ORDER BY 1";
            match control.query(view) {
                // A view's rights can be taken away; those of the command cannot, and it says the same.
                Err(error) if !error.is_lost() => control.query("SHOW ALL"),
                answer => answer,
            }
        }
        Product::Mysql | Product::MariaDb => control.query("SHOW GLOBAL VARIABLES"),
    }?;
    let mut settings: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((cell(row, 0)?, cell(row, 1)?)))
        .map(|(name, value)| (name.to_owned(), open(name, value).to_owned()))
        .collect();
    // Servers sort by collations of their own.
    settings.sort();
    Ok(Facts { version, settings })
}

/// The value, unless it may be a secret.
fn open<'a>(name: &str, value: &'a str) -> &'a str {
    let name = name.to_ascii_lowercase();
    let sensitive = SENSITIVE.iter().any(|part| name.contains(part));
    // `password_encryption scram-sha-256` and `default_password_lifetime 0` are none.
    let harmless = ["", "on", "off", "ON", "OFF", "md5", "scram-sha-256", "LOW"];
    let number = value.parse::<f64>().is_ok();
    match sensitive && !harmless.contains(&value) && !number {
        true => WITHHELD,
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_withheld() {
        let conninfo = "host=a password=geheim";
        for (name, value) in [
            ("primary_conninfo", conninfo),
            ("archive_command", "scp %p user:geheim@h"),
            ("ssl_passphrase_command", "echo geheim"),
            ("report_password", "geheim"),
            ("Vault_Token", "geheim"),
        ] {
            assert_eq!(open(name, value), WITHHELD, "{name}");
        }
        for (name, value) in [
            ("password_encryption", "scram-sha-256"),
            ("default_password_lifetime", "0"),
            ("archive_command", ""),
            ("shared_buffers", "128MB"),
        ] {
            assert_eq!(open(name, value), value, "{name}");
        }
    }
}

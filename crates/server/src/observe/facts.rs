//! Reads a server's version and settings.
//!
//! Must never: return a setting that may contain a secret.

use super::{cell, sqlserver_facts};
use crate::control::{Control, Error};
use prony_wire::Engine;

/// Replacement for a value that may be a secret.
const WITHHELD: &str = "(not stored)";

/// A setting whose name contains one of these texts may contain a secret, such as a password in a
/// connection string or in a command that the server runs.
const SENSITIVE_NAME_PARTS: [&str; 9] = [
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

/// A server's version and settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// Version for display, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub version: String,
    /// All settings (name, value), sorted, as the server prints them: PostgreSQL's with units, as
    /// in `SHOW`.
    pub settings: Vec<(String, String)>,
}

impl ServerFacts {
    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let mut settings = self.settings.iter();
        settings
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Reads the server's version and settings.
///
/// # Errors
/// The connection is lost, or the server refuses.
pub fn read_server_facts(control: &mut Control) -> Result<ServerFacts, Error> {
    let version = control.parameter("server_version").unwrap_or_default();
    let version = version.to_owned();
    let rows = match control.engine() {
        // The view omits settings that this role may not see, for which current_setting would fail.
        Engine::PostgreSql => {
            let sql = "SELECT name, current_setting(name, true) FROM pg_settings ORDER BY 1";
            match control.query(sql) {
                // Access to the view can be revoked; SHOW ALL needs no privilege and returns the same.
                Err(error) if !error.is_lost() => control.query("SHOW ALL"),
                result => result,
            }
        }
        Engine::MySql | Engine::MariaDb => control.query("SHOW GLOBAL VARIABLES"),
        Engine::SqlServer => sqlserver_facts::read(control),
    }?;
    let version = match control.engine() {
        Engine::SqlServer => sqlserver_facts::version(&rows, &version),
        Engine::PostgreSql | Engine::MySql | Engine::MariaDb => version,
    };
    let mut settings: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((cell(row, 0)?, cell(row, 1)?)))
        .map(|(name, value)| (name.to_owned(), hide_secret(name, value).to_owned()))
        .collect();
    // The server's order depends on its collation.
    settings.sort();
    Ok(ServerFacts { version, settings })
}

/// The value, or its replacement if it may be a secret.
fn hide_secret<'a>(name: &str, value: &'a str) -> &'a str {
    let name = name.to_ascii_lowercase();
    let is_sensitive = SENSITIVE_NAME_PARTS.iter().any(|part| name.contains(part));
    // `password_encryption scram-sha-256` and `default_password_lifetime 0` are not secrets.
    let harmless = ["", "on", "off", "ON", "OFF", "md5", "scram-sha-256", "LOW"];
    let is_number = value.parse::<f64>().is_ok();
    match is_sensitive && !harmless.contains(&value) && !is_number {
        true => WITHHELD,
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_may_be_secrets_are_hidden() {
        let conninfo = "host=a password=geheim";
        for (name, value) in [
            ("primary_conninfo", conninfo),
            ("archive_command", "scp %p user:geheim@h"),
            ("ssl_passphrase_command", "echo geheim"),
            ("report_password", "geheim"),
            ("Vault_Token", "geheim"),
        ] {
            assert_eq!(hide_secret(name, value), WITHHELD, "{name}");
        }
        for (name, value) in [
            ("password_encryption", "scram-sha-256"),
            ("default_password_lifetime", "0"),
            ("archive_command", ""),
            ("shared_buffers", "128MB"),
        ] {
            assert_eq!(hide_secret(name, value), value, "{name}");
        }
    }
}

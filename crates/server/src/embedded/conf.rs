//! Options of a throw-away PostgreSQL, and its configuration files.
//!
//! Must never: change a setting that affects durability unless the options say so.

use super::Error;
use crate::control::StopSignal;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of a throw-away PostgreSQL. Durability settings are the server's defaults:
/// `fsync`, `synchronous_commit` and `full_page_writes` on, as in production.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    pub shared_buffers_mib: u32,
    pub max_connections: u32,
    /// Further settings (name, value); they override all others.
    pub settings: Vec<(String, String)>,
    /// Lines of pg_hba.conf to put before the default ones (`local all all trust`, `host all all
    /// 127.0.0.1/32 scram-sha-256`).
    pub hba_lines: Vec<String>,
    /// Files for the data directory (name, contents), mode 0600, such as `server.crt` and
    /// `server.key` for `ssl=on`.
    pub files: Vec<(String, Vec<u8>)>,
    /// TCP port on 127.0.0.1; `None`: any free port.
    pub port: Option<u16>,
    /// Folder for the private directory; `None`: `$TMPDIR`, else /var/tmp, else /tmp. /var/tmp
    /// comes first because /tmp is often in memory, where `fsync` costs nothing.
    pub parent_folder: Option<PathBuf>,
    /// How long to wait until the server is ready.
    pub start_timeout: Duration,
    pub stop: StopSignal,
}

impl Default for EmbeddedOptions {
    fn default() -> Self {
        EmbeddedOptions {
            shared_buffers_mib: 128,
            max_connections: 100,
            settings: Vec::new(),
            hba_lines: Vec::new(),
            files: Vec::new(),
            port: None,
            parent_folder: None,
            start_timeout: Duration::from_secs(60),
            stop: StopSignal::default(),
        }
    }
}

impl EmbeddedOptions {
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Lines to append to initdb's postgresql.conf. The port is not in this file but an argument of
    /// the server, because a retry after a port collision changes it.
    pub(super) fn postgresql_conf(&self, socket_dir: &Path) -> Result<String, Error> {
        let mut text = String::from("\n# Written by Prony for a throw-away server.\n");
        let fixed = [
            ("listen_addresses", "127.0.0.1".to_owned()),
            (
                "unix_socket_directories",
                socket_dir.to_string_lossy().into_owned(),
            ),
            ("max_connections", self.max_connections.to_string()),
            ("shared_buffers", format!("{}MB", self.shared_buffers_mib)),
            ("password_encryption", "scram-sha-256".to_owned()),
            ("log_destination", "stderr".to_owned()),
            ("logging_collector", "off".to_owned()),
            ("lc_messages", "C".to_owned()),
            ("cluster_name", "prony".to_owned()),
        ];
        let fixed = fixed.iter().map(|(name, value)| (*name, value.as_str()));
        let options = self.settings.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        for (name, value) in fixed.chain(options) {
            let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(is_allowed) {
                return Err(setting_error(
                    name,
                    "a name has only letters, digits, _ and .",
                ));
            }
            if value.contains(['\n', '\r', '\0']) {
                return Err(setting_error(name, "a value is one line"));
            }
            let value = value.replace('\\', "\\\\").replace('\'', "''");
            writeln!(text, "{name} = '{value}'").expect("a string can be written");
        }
        Ok(text)
    }

    /// The contents of pg_hba.conf. Only the server's user and root can enter the directory of the
    /// unix socket, so `trust` admits nobody else.
    pub(super) fn pg_hba_conf(&self) -> String {
        let mut text = String::from("# Written by Prony for a throw-away server.\n");
        for line in &self.hba_lines {
            text.push_str(line);
            text.push('\n');
        }
        for database in ["all", "replication"] {
            writeln!(text, "local {database} all trust").expect("a string can be written");
            writeln!(text, "host {database} all 127.0.0.1/32 scram-sha-256")
                .expect("a string can be written");
        }
        text
    }
}

fn setting_error(name: &str, reason: &'static str) -> Error {
    Error::Setting {
        name: name.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn values_are_quoted() {
        let text = EmbeddedOptions::default()
            .set("application_name", r"it's \ here")
            .postgresql_conf(Path::new("/x"))
            .unwrap();
        text.assert_contains(r"application_name = 'it''s \\ here'");
        text.assert_contains("unix_socket_directories = '/x'");
    }

    #[test]
    fn a_setting_cannot_inject_a_second_one() {
        for (name, value) in [("a b", "x"), ("", "x"), ("work_mem", "1\nfsync = off")] {
            let options = EmbeddedOptions::default().set(name, value);
            assert!(
                options.postgresql_conf(Path::new("/x")).is_err(),
                "{name:?}"
            );
        }
    }

    #[test]
    fn durability_settings_are_not_written_by_default() {
        let text = EmbeddedOptions::default()
            .postgresql_conf(Path::new("/x"))
            .unwrap();
        for name in ["fsync", "synchronous_commit", "full_page_writes", "wal_"] {
            text.assert_lacks(name);
        }
    }
}

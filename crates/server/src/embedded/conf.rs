//! What a throw-away server is asked to be, and its configuration files.
//!
//! In: [`Options`]. Out: the text of postgresql.conf and pg_hba.conf. Must never: change a setting
//! that decides durability unless the options say so.

use super::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a throw-away server is asked to be. Durability settings are the server's own defaults:
/// `fsync`, `synchronous_commit` and `full_page_writes` on, as in production.
#[derive(Clone, Debug)]
pub struct Options {
    /// `shared_buffers`, MiB.
    pub shared_buffers_mib: u32,
    /// `max_connections`.
    pub max_connections: u32,
    /// Further settings, name and value; they override all others.
    pub settings: Vec<(String, String)>,
    /// Lines of pg_hba.conf that stand before the usual ones (`local all all trust`,
    /// `host all all 127.0.0.1/32 scram-sha-256`).
    pub hba: Vec<String>,
    /// Files put into the data directory, mode 0600: name and contents, such as `server.crt` and
    /// `server.key` for `ssl=on`.
    pub files: Vec<(String, Vec<u8>)>,
    /// TCP port on 127.0.0.1; `None`: a free one.
    pub port: Option<u16>,
    /// Where the private directory is made; `None`: `$TMPDIR`, else /var/tmp, else /tmp. /var/tmp
    /// comes first because /tmp is often held in memory, where `fsync` costs nothing.
    pub parent: Option<PathBuf>,
    /// How long to wait until the server is ready.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            shared_buffers_mib: 128,
            max_connections: 100,
            settings: Vec::new(),
            hba: Vec::new(),
            files: Vec::new(),
            port: None,
            parent: None,
            patience: Duration::from_secs(60),
        }
    }
}

impl Options {
    /// Adds one setting.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// The lines that are added to the postgresql.conf of initdb. The port is on the command line,
    /// because a restart after a collision changes it.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub(super) fn postgresql_conf(&self, socket_dir: &Path) -> Result<String, Error> {
        let mut text = String::from("\n# Written by Prony for a throw-away server.\n");
        let own = [
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
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let asked = self.settings.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        for (name, value) in own.chain(asked) {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(setting(name, "a name is letters, digits, _ and ."));
            }
            if value.contains(['\n', '\r', '\0']) {
                return Err(setting(name, "a value is one line"));
            }
            let value = value.replace('\\', "\\\\").replace('\'', "''");
            writeln!(text, "{name} = '{value}'").expect("a string takes all text");
        }
        Ok(text)
    }

    /// All of pg_hba.conf. The unix socket lies in a directory that only the server's user (and
    /// root) can enter, so that `trust` trusts nobody else.
    pub(super) fn pg_hba_conf(&self) -> String {
        let mut text = String::from("# Written by Prony for a throw-away server.\n");
        for line in &self.hba {
            text.push_str(line);
            text.push('\n');
        }
        for database in ["all", "replication"] {
            writeln!(text, "local {database} all trust").expect("a string takes all text");
            writeln!(text, "host {database} all 127.0.0.1/32 scram-sha-256")
                .expect("a string takes all text");
        }
        text
    }
}

fn setting(name: &str, reason: &'static str) -> Error {
    Error::Setting {
        name: name.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted() {
        let text = Options::default()
            .set("application_name", r"it's \ here")
            .postgresql_conf(Path::new("/x"))
            .unwrap();
        assert!(
            text.contains(r"application_name = 'it''s \\ here'"),
            "{text}"
        );
        assert!(text.contains("unix_socket_directories = '/x'"), "{text}");
    }

    #[test]
    fn a_setting_cannot_smuggle_another() {
        for (name, value) in [("a b", "x"), ("", "x"), ("work_mem", "1\nfsync = off")] {
            let options = Options::default().set(name, value);
            assert!(
                options.postgresql_conf(Path::new("/x")).is_err(),
                "{name:?}"
            );
        }
    }

    #[test]
    fn no_durability_setting_by_default() {
        let text = Options::default().postgresql_conf(Path::new("/x")).unwrap();
        for name in ["fsync", "synchronous_commit", "full_page_writes", "wal_"] {
            assert!(!text.contains(name), "{name}");
        }
    }
}

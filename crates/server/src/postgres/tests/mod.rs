//! Tests of resolving a text and an environment to a target.
//!
//! Expected results were recorded from libpq (`PQconninfoParse`, `PQconninfo` and `PQpass` on a
//! connection that was started and dropped), except where a comment says that Prony differs.

mod parsing;
mod passwords;
mod precedence;
mod properties;
mod targets;
mod tls;

use super::Environment;
use crate::error::Error;
use crate::target::{PostgresOptions, ProtocolOptions, Target};
use prony_assertions::TestFolder;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

struct Folder(TestFolder);

impl Folder {
    fn new() -> Self {
        Folder(TestFolder::create())
    }

    /// Writes a file that only its owner may read.
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.write(name, bytes);
        std::fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    }

    /// An environment with this folder as home and the user "os".
    fn env(&self) -> Environment {
        let mut env = Environment::new("os", &self.0);
        env.socket_dirs = ["/var/run/postgresql", "/tmp"].map(PathBuf::from).into();
        env.system_dirs = vec![self.0.join("sys")];
        env
    }
}

/// Resolves with an empty home and no variables.
fn resolve(url: &str) -> Result<Target, Error> {
    super::resolve(url, &Folder::new().env())
}

/// The message of the error that resolving this text gives.
fn error_text(url: &str) -> String {
    resolve(url).unwrap_err().to_string()
}

fn data_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

fn postgres_options(target: &Target) -> &PostgresOptions {
    match &target.protocol {
        ProtocolOptions::PostgreSql(options) => options,
        ProtocolOptions::MySql(_) | ProtocolOptions::SqlServer(_) => {
            panic!("not PostgreSQL's protocol")
        }
    }
}

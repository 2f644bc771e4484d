//! The password file: lines of `host:port:database:user:password`.
//!
//! In: the file and a connection's host, port, database and user. Out: its password. Must never:
//! show a line of the file.

use super::environment::Environment;
use super::hosts::{HostKind, HostSpec};
use crate::option_values::OptionValues;
use prony_wire::Secret;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(crate) struct Passwords {
    pub path: PathBuf,
    text: String,
}

/// Opens `passfile`, PGPASSFILE or `~/.pgpass`.
///
/// As with libpq, a missing file is not an error, and a file that other users may read is ignored
/// with a warning in libpq's words.
pub(crate) fn open(
    options: &OptionValues,
    env: &Environment,
    warnings: &mut Vec<String>,
) -> Option<Passwords> {
    let path = match options.non_empty("passfile") {
        Some(path) => PathBuf::from(path),
        None => env.in_home(".pgpass")?,
    };
    let meta = std::fs::metadata(&path).ok()?;
    let name = path.display();
    if !meta.is_file() {
        warnings.push(format!("password file \"{name}\" is not a plain file"));
        return None;
    }
    if meta.permissions().mode() & 0o077 != 0 {
        warnings.push(format!(
            "password file \"{name}\" has group or world access; \
             permissions should be u=rw (0600) or less"
        ));
        return None;
    }
    match std::fs::read(&path) {
        Ok(bytes) => Some(Passwords {
            path,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }),
        Err(error) => {
            warnings.push(format!("password file \"{name}\" cannot be read: {error}"));
            None
        }
    }
}

impl Passwords {
    /// The password of the first line that matches.
    pub fn find(
        &self,
        spec: &HostSpec,
        database: &str,
        user: &str,
        env: &Environment,
    ) -> Option<Secret> {
        let port = spec.port.to_string();
        let host = if spec.host.is_empty() { &spec.hostaddr } else { &spec.host };
        // "localhost" in the file also matches the default socket folder, which depends on how
        // libpq was built: accept all known ones.
        let is_default_dir = |dir: &Path| env.socket_dirs.iter().any(|d| d == dir);
        let is_local =
            matches!(&spec.kind, HostKind::Unix(dir) if spec.is_default || is_default_dir(dir));
        self.text
            .lines()
            .find_map(|line| {
                if line.starts_with('#') {
                    return None;
                }
                let mut rest = after_field(line, host);
                if is_local {
                    rest = rest.or_else(|| after_field(line, "localhost"));
                }
                let mut rest = rest?;
                for token in [&port, database, user] {
                    rest = after_field(rest, token)?;
                }
                Some(unescape(rest))
            })
            // As with libpq, a matching line with an empty password ends the search: no password.
            .filter(|password| !password.is_empty())
            .map(Secret::new)
    }
}

/// The text after the first field of `line`, if that field is `*` or equals `token`.
fn after_field<'a>(line: &'a str, token: &str) -> Option<&'a str> {
    if let Some(remaining) = line.strip_prefix("*:") {
        return Some(remaining);
    }
    let mut expected = token.chars().peekable();
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        let c = match c {
            ':' if expected.peek().is_none() => return Some(&line[at + 1..]),
            '\\' => chars.next()?.1,
            // As with libpq, a colon needs no backslash if the token has one there too: ::1
            // matches.
            c => c,
        };
        if expected.next() != Some(c) {
            return None;
        }
    }
    None
}

/// The password field up to a colon, with escapes resolved.
fn unescape(field: &str) -> String {
    let mut password = String::new();
    let mut chars = field.trim_end_matches('\r').chars();
    while let Some(c) = chars.next() {
        match c {
            ':' => break,
            // As in libpq, a backslash at the very end is literal.
            '\\' => password.push(chars.next().unwrap_or('\\')),
            c => password.push(c),
        }
    }
    password
}

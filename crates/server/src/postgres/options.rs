//! The keywords that libpq takes, and their values with where each came from.
//!
//! In: keyword and value pairs. Out: one value a keyword, the first setter winning. Must never:
//! show a secret value.

use super::environment::Environment;
use crate::error::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// A connection option of libpq.
#[derive(Debug)]
pub(crate) struct Keyword {
    /// Its name in a connection string.
    pub name: &'static str,
    /// The variable that sets it.
    pub env: Option<&'static str>,
    /// Whether its value may be shown.
    pub secret: bool,
}

const fn key(name: &'static str, env: &'static str) -> Keyword {
    let env = if env.is_empty() { None } else { Some(env) };
    Keyword {
        name,
        env,
        secret: false,
    }
}

const fn secret(name: &'static str, env: &'static str) -> Keyword {
    Keyword {
        secret: true,
        ..key(name, env)
    }
}

/// Every keyword of libpq 18, "Parameter Key Words" and "Environment Variables".
static KEYWORDS: &[Keyword] = &[
    key("service", "PGSERVICE"),
    key("user", "PGUSER"),
    secret("password", "PGPASSWORD"),
    key("passfile", "PGPASSFILE"),
    key("channel_binding", "PGCHANNELBINDING"),
    key("connect_timeout", "PGCONNECT_TIMEOUT"),
    key("dbname", "PGDATABASE"),
    key("host", "PGHOST"),
    key("hostaddr", "PGHOSTADDR"),
    key("port", "PGPORT"),
    key("client_encoding", "PGCLIENTENCODING"),
    key("options", "PGOPTIONS"),
    key("application_name", "PGAPPNAME"),
    key("fallback_application_name", ""),
    key("keepalives", ""),
    key("keepalives_idle", ""),
    key("keepalives_interval", ""),
    key("keepalives_count", ""),
    key("tcp_user_timeout", ""),
    key("sslmode", "PGSSLMODE"),
    key("sslnegotiation", "PGSSLNEGOTIATION"),
    key("sslcompression", "PGSSLCOMPRESSION"),
    key("sslcert", "PGSSLCERT"),
    key("sslkey", "PGSSLKEY"),
    key("sslcertmode", "PGSSLCERTMODE"),
    secret("sslpassword", ""),
    key("sslrootcert", "PGSSLROOTCERT"),
    key("sslcrl", "PGSSLCRL"),
    key("sslcrldir", "PGSSLCRLDIR"),
    key("sslsni", "PGSSLSNI"),
    key("sslkeylogfile", ""),
    key("requirepeer", "PGREQUIREPEER"),
    key("require_auth", "PGREQUIREAUTH"),
    key("min_protocol_version", "PGMINPROTOCOLVERSION"),
    key("max_protocol_version", "PGMAXPROTOCOLVERSION"),
    key("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION"),
    key("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION"),
    key("gssencmode", "PGGSSENCMODE"),
    key("krbsrvname", "PGKRBSRVNAME"),
    key("gsslib", "PGGSSLIB"),
    key("gssdelegation", "PGGSSDELEGATION"),
    key("replication", ""),
    key("target_session_attrs", "PGTARGETSESSIONATTRS"),
    key("load_balance_hosts", "PGLOADBALANCEHOSTS"),
    secret("scram_client_key", ""),
    secret("scram_server_key", ""),
    key("oauth_issuer", ""),
    key("oauth_client_id", ""),
    secret("oauth_client_secret", ""),
    key("oauth_scope", ""),
];

/// The keyword of this name.
pub(crate) fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|k| k.name == name)
}

/// A keyword that is in the table.
///
/// # Panics
///
/// When it is not: a mistake in Prony.
pub(crate) fn known(name: &str) -> &'static Keyword {
    find(name).unwrap_or_else(|| unreachable!("{name} is in the table"))
}

/// `requiressl`, the predecessor of `sslmode`: 1 requires, anything else prefers.
pub(crate) fn obsolete(name: &str, value: &str) -> Option<(&'static Keyword, String)> {
    (name == "requiressl").then(|| {
        let mode = if value.starts_with('1') {
            "require"
        } else {
            "prefer"
        };
        (known("sslmode"), mode.to_owned())
    })
}

/// The hint for an unknown keyword: the one that the user may have meant.
pub(crate) fn suggestion(name: &str) -> String {
    let near = |k: &&Keyword| distance(k.name, name);
    match KEYWORDS.iter().min_by_key(near) {
        Some(best) if !name.is_empty() && near(&best) <= 1 + name.len() / 4 => {
            format!("did you mean \"{}\"?", best.name)
        }
        _ => "libpq's manual lists the options under \"Parameter Key Words\"".to_owned(),
    }
}

/// Levenshtein's distance, in bytes.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An argument of its own, beside the connection string.
    Argument,
    /// The URL or connection string.
    Url,
    /// A service file.
    Service(PathBuf),
    /// A variable.
    Variable(&'static str),
    /// Nobody: it follows from something else.
    Implied,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Argument => f.write_str("the command line"),
            Origin::Url => f.write_str("the connection string"),
            Origin::Service(path) => write!(f, "service file \"{}\"", path.display()),
            Origin::Variable(name) => write!(f, "the variable {name}"),
            Origin::Implied => f.write_str("the defaults"),
        }
    }
}

/// The options that have a value.
#[derive(Default)]
pub(crate) struct Options {
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl Options {
    /// Sets a value, replacing one that stands.
    pub fn set(&mut self, keyword: &'static Keyword, value: String, origin: Origin) {
        self.values.insert(keyword.name, (value, origin));
    }

    /// Sets a value unless one stands.
    pub fn set_default(&mut self, keyword: &'static Keyword, value: String, origin: Origin) {
        self.values.entry(keyword.name).or_insert((value, origin));
    }

    /// Fills from the environment what nothing has set.
    pub fn add_environment(&mut self, env: &Environment) {
        for keyword in KEYWORDS {
            let Some(name) = keyword.env else { continue };
            if let Some(value) = env.var(name) {
                self.set_default(keyword, value.to_owned(), Origin::Variable(name));
            }
        }
        if env
            .var("PGREQUIRESSL")
            .is_some_and(|value| value.starts_with('1'))
        {
            let origin = Origin::Variable("PGREQUIRESSL");
            self.set_default(known("sslmode"), "require".to_owned(), origin);
        }
        // libpq since 16: the system's roots vouch for any public site, so a name check must go
        // with them unless the user asked for something else (which is then refused).
        if self.get("sslrootcert") == Some("system") {
            self.set_default(known("sslmode"), "verify-full".to_owned(), Origin::Implied);
        }
    }

    /// Refuses what would end a string of the protocol early and so change its meaning.
    pub fn refuse_zero_bytes(&self) -> Result<(), Error> {
        match self
            .values
            .iter()
            .find(|(_, (value, _))| value.contains('\0'))
        {
            Some((name, (_, origin))) => Err(Error::conninfo(
                format!("the value of \"{name}\" (from {origin}) has a zero byte"),
                "remove it",
            )),
            None => Ok(()),
        }
    }

    /// The value, possibly empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(value, _)| value.as_str())
    }

    /// The value unless it is empty.
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Where the value came from.
    pub fn origin(&self, name: &str) -> Origin {
        self.values
            .get(name)
            .map_or(Origin::Implied, |(_, origin)| origin.clone())
    }
}

//! libpq's connection options, and the values that are set with their origin.
//!
//! Must never: show a secret value.

use super::environment::Environment;
use crate::error::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use strsim::osa_distance;

/// A connection option of libpq.
#[derive(Debug)]
pub(crate) struct Keyword {
    /// Its name in a connection string.
    pub name: &'static str,
    /// The environment variable that sets it.
    pub env: Option<&'static str>,
    /// Whether its value must not be shown.
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

/// The keyword with this name.
pub(crate) fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|k| k.name == name)
}

/// The keywords whose values must not be shown.
pub fn secret_keywords() -> impl Iterator<Item = &'static str> {
    let secret = KEYWORDS.iter().filter(|keyword| keyword.secret);
    secret.map(|keyword| keyword.name)
}

/// The first occurrence in a text of a keyword whose value is secret, also inside a longer word or
/// percent-encoded as in a URI's query.
pub fn find_secret_keyword(text: &[u8]) -> Option<Range<usize>> {
    let range_at = |start| {
        let ends = secret_keywords().filter_map(|name| end_of(text, start, name.as_bytes()));
        Some(start..ends.max()?)
    };
    (0..text.len()).find_map(range_at)
}

/// The end of this name in a text, if the name begins at `index`.
fn end_of(text: &[u8], mut index: usize, name: &[u8]) -> Option<usize> {
    for expected in name {
        let (byte, width) = match text.get(index..)? {
            [b'%', high, low, ..] => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok()?;
                (u8::from_str_radix(digits, 16).ok()?, 3)
            }
            [byte, ..] => (*byte, 1),
            [] => return None,
        };
        if !byte.eq_ignore_ascii_case(expected) {
            return None;
        }
        index += width;
    }
    Some(index)
}

/// The keyword with this name, which must be in the table.
///
/// # Panics
///
/// If the keyword is not in the table, which is a bug.
pub(crate) fn known(name: &str) -> &'static Keyword {
    find(name).unwrap_or_else(|| unreachable!("{name} is in the table"))
}

/// Translates `requiressl`, the predecessor of `sslmode`: 1 means `require`, anything else
/// `prefer`.
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

/// The hint for an unknown keyword: the most similar keyword, if any.
pub(crate) fn suggestion(name: &str) -> String {
    let distance = |k: &&Keyword| osa_distance(k.name, name);
    match KEYWORDS.iter().min_by_key(distance) {
        Some(best) if !name.is_empty() && distance(&best) <= 1 + name.len() / 4 => {
            format!("did you mean \"{}\"?", best.name)
        }
        _ => "libpq's manual lists the options under \"Parameter Key Words\"".to_owned(),
    }
}

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A separate argument besides the connection string; the text names it in messages.
    Argument(&'static str),
    /// The URL or connection string.
    Url,
    /// A service file.
    Service(PathBuf),
    /// An environment variable.
    Variable(&'static str),
    /// Not set by the user: a default, or implied by a different option.
    Implied,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Argument(name) => f.write_str(name),
            Origin::Url => f.write_str("the connection string"),
            Origin::Service(path) => write!(f, "service file \"{}\"", path.display()),
            Origin::Variable(name) => write!(f, "the variable {name}"),
            Origin::Implied => f.write_str("the defaults"),
        }
    }
}

/// The options that are set, with their values and origins.
#[derive(Default)]
pub(crate) struct Options {
    values: BTreeMap<&'static str, (String, Origin)>,
}

impl Options {
    /// Sets a value, replacing an earlier one.
    pub fn set(&mut self, keyword: &'static Keyword, value: String, origin: Origin) {
        self.values.insert(keyword.name, (value, origin));
    }

    /// Sets a value unless the option already has one.
    pub fn set_default(&mut self, keyword: &'static Keyword, value: String, origin: Origin) {
        self.values.entry(keyword.name).or_insert((value, origin));
    }

    /// Sets the options that have no value from environment variables.
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
        // As libpq since 16: the system's roots sign certificates of any public site, so they imply
        // a check of the host name. A different mode that the user sets is refused later.
        if self.get("sslrootcert") == Some("system") {
            self.set_default(known("sslmode"), "verify-full".to_owned(), Origin::Implied);
        }
    }

    /// Refuses zero bytes, which would end a string of the protocol early.
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

    /// The value, unless it is empty.
    pub fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Where the value was set.
    pub fn origin(&self, name: &str) -> Origin {
        self.values
            .get(name)
            .map_or(Origin::Implied, |(_, origin)| origin.clone())
    }
}

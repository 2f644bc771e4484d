//! libpq's connection options.
//!
//! Must never: show a secret value.

use super::environment::Environment;
use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use prony_plan::suggest;
use std::ops::Range;

#[derive(Debug)]
pub(crate) struct Keyword {
    pub name: &'static str,
    /// The environment variable that sets it.
    pub env_var: Option<&'static str>,
    /// Whether its value must not be shown.
    pub secret: bool,
}

const fn keyword(name: &'static str, env: &'static str) -> Keyword {
    let env = if env.is_empty() { None } else { Some(env) };
    Keyword {
        name,
        env_var: env,
        secret: false,
    }
}

const fn secret_keyword(name: &'static str, env: &'static str) -> Keyword {
    Keyword {
        secret: true,
        ..keyword(name, env)
    }
}

/// Every keyword of libpq 18, "Parameter Key Words" and "Environment Variables".
static KEYWORDS: &[Keyword] = &[
    keyword("service", "PGSERVICE"),
    keyword("user", "PGUSER"),
    secret_keyword("password", "PGPASSWORD"),
    keyword("passfile", "PGPASSFILE"),
    keyword("channel_binding", "PGCHANNELBINDING"),
    keyword("connect_timeout", "PGCONNECT_TIMEOUT"),
    keyword("dbname", "PGDATABASE"),
    keyword("host", "PGHOST"),
    keyword("hostaddr", "PGHOSTADDR"),
    keyword("port", "PGPORT"),
    keyword("client_encoding", "PGCLIENTENCODING"),
    keyword("options", "PGOPTIONS"),
    keyword("application_name", "PGAPPNAME"),
    keyword("fallback_application_name", ""),
    keyword("keepalives", ""),
    keyword("keepalives_idle", ""),
    keyword("keepalives_interval", ""),
    keyword("keepalives_count", ""),
    keyword("tcp_user_timeout", ""),
    keyword("sslmode", "PGSSLMODE"),
    keyword("sslnegotiation", "PGSSLNEGOTIATION"),
    keyword("sslcompression", "PGSSLCOMPRESSION"),
    keyword("sslcert", "PGSSLCERT"),
    keyword("sslkey", "PGSSLKEY"),
    keyword("sslcertmode", "PGSSLCERTMODE"),
    secret_keyword("sslpassword", ""),
    keyword("sslrootcert", "PGSSLROOTCERT"),
    keyword("sslcrl", "PGSSLCRL"),
    keyword("sslcrldir", "PGSSLCRLDIR"),
    keyword("sslsni", "PGSSLSNI"),
    keyword("sslkeylogfile", ""),
    keyword("requirepeer", "PGREQUIREPEER"),
    keyword("require_auth", "PGREQUIREAUTH"),
    keyword("min_protocol_version", "PGMINPROTOCOLVERSION"),
    keyword("max_protocol_version", "PGMAXPROTOCOLVERSION"),
    keyword("ssl_min_protocol_version", "PGSSLMINPROTOCOLVERSION"),
    keyword("ssl_max_protocol_version", "PGSSLMAXPROTOCOLVERSION"),
    keyword("gssencmode", "PGGSSENCMODE"),
    keyword("krbsrvname", "PGKRBSRVNAME"),
    keyword("gsslib", "PGGSSLIB"),
    keyword("gssdelegation", "PGGSSDELEGATION"),
    keyword("replication", ""),
    keyword("target_session_attrs", "PGTARGETSESSIONATTRS"),
    keyword("load_balance_hosts", "PGLOADBALANCEHOSTS"),
    secret_keyword("scram_client_key", ""),
    secret_keyword("scram_server_key", ""),
    keyword("oauth_issuer", ""),
    keyword("oauth_client_id", ""),
    secret_keyword("oauth_client_secret", ""),
    keyword("oauth_scope", ""),
];

pub(crate) fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|k| k.name == name)
}

/// The environment variables that set keywords.
pub(super) fn variables() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().filter_map(|keyword| keyword.env_var)
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
        let ends = secret_keywords().filter_map(|name| end_of_name(text, start, name.as_bytes()));
        Some(start..ends.max()?)
    };
    (0..text.len()).find_map(range_at)
}

/// The index after this name in a text, if the name begins at `index`.
fn end_of_name(text: &[u8], mut index: usize, name: &[u8]) -> Option<usize> {
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
pub(crate) fn expect_keyword(name: &str) -> &'static Keyword {
    find(name).unwrap_or_else(|| unreachable!("{name} is in the table"))
}

/// Translates `requiressl`, the predecessor of `sslmode`: 1 means `require`, anything else
/// `prefer`.
pub(crate) fn translate_obsolete(name: &str, value: &str) -> Option<(&'static Keyword, String)> {
    (name == "requiressl").then(|| {
        let mode = if value.starts_with('1') { "require" } else { "prefer" };
        (expect_keyword("sslmode"), mode.to_owned())
    })
}

/// The hint for an unknown keyword: the most similar keyword, if any.
pub(crate) fn suggestion(name: &str) -> String {
    let names: Vec<&str> = KEYWORDS.iter().map(|keyword| keyword.name).collect();
    match suggest::nearest(name, &names) {
        Some(similar) => format!("did you mean \"{similar}\"?"),
        None => "libpq's manual lists the options under \"Parameter Key Words\"".to_owned(),
    }
}

/// Sets the options that are not set, from the environment.
pub(super) fn add_environment(options: &mut OptionValues, env: &Environment) {
    for keyword in KEYWORDS {
        if let Some(variable) = keyword.env_var
            && let Some(value) = env.var(variable)
        {
            options.set_default(keyword.name, value, origin_of_variable(variable));
        }
    }
    let variable = "PGREQUIRESSL";
    if env
        .var(variable)
        .is_some_and(|value| value.starts_with('1'))
    {
        options.set_default("sslmode", "require", origin_of_variable(variable));
    }
    // As libpq since 16: the system's roots sign certificates of any public site, so they imply
    // a check of the host name. If the user sets a different mode, `tls::build` refuses it.
    if options.get("sslrootcert") == Some("system") {
        options.set_default("sslmode", "verify-full", Origin::DEFAULTS);
    }
}

/// Refuses zero bytes, which would end a string of the protocol early.
pub(super) fn refuse_zero_bytes(options: &OptionValues) -> Result<(), Error> {
    let Some(name) = options.with_zero_byte() else {
        return Ok(());
    };
    let origin = options.origin(name);
    Err(Error::conninfo(
        format!("the value of \"{name}\" (from {origin}) has a zero byte"),
        "remove it",
    ))
}

fn origin_of_variable(name: &str) -> Origin {
    Origin::Other(format!("the variable {name}").into())
}

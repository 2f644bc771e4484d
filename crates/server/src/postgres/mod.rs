//! A PostgreSQL connection URL and the customary environment, read as libpq 17 and 18 read them.
//!
//! In: a URL or conninfo string, an [`Environment`], the files they name, the name service. Out: a
//! [`Target`]. Must never: connect, or show a password.
//!
//! The order of precedence is libpq's: what is written in the URL, then the service file, then the
//! environment, then the defaults (<https://www.postgresql.org/docs/current/libpq-connect.html>).

mod conninfo;
mod environment;
mod hosts;
pub(crate) mod identity;
mod options;
mod passfile;
mod redact;
mod service;
pub(crate) mod tls;
pub(crate) mod uri;
mod values;
pub(crate) mod verify;

#[cfg(test)]
mod tests;

pub use environment::Environment;
pub use redact::redact;

use crate::error::Error;
use crate::target::{Protocol, Target};
use options::{Options, Origin};
use prony_wire::Secret;

/// What a program is called in `pg_stat_activity` unless the user says otherwise.
const APPLICATION_NAME: &str = "prony";

/// Reads `url` (a URI, a `keyword=value` string, a database name, or nothing) and the environment.
///
/// Names are resolved and certificate files read here, once, so that connecting touches neither.
///
/// # Errors
///
/// Says which option is wrong, where it was set, and what it takes.
pub fn resolve(url: &str, env: &Environment) -> Result<Target, Error> {
    resolve_over(&[], url, env)
}

/// As [`resolve`], with keywords of libpq and values that stand before the text and that it
/// overrides, as `PQconnectdbParams` has it with `expand_dbname`: empty values count as absent.
///
/// # Errors
///
/// As for [`resolve`].
pub fn resolve_over(
    before: &[(&str, &str)],
    url: &str,
    env: &Environment,
) -> Result<Target, Error> {
    let mut warnings = Vec::new();
    let options = gather(before, url, env)?;

    let user = match options.non_empty("user") {
        Some(user) => user.to_owned(),
        None => env.user.clone().ok_or_else(|| Error::Host {
            problem: "no user name: the operating system knows none for this process".into(),
            hint: "give one with user=... or PGUSER".into(),
        })?,
    };
    let database = options.non_empty("dbname").unwrap_or(&user).to_owned();

    let mut specs = hosts::specs(&options, env)?;
    let mode = values::ssl_mode(&options)?;
    values::check_unused(&options)?;
    let shuffle = values::load_balance(&options)?;
    let tls = tls::build(&options, env, mode, &specs, &mut warnings)?;
    let channel_binding = values::channel_binding(&options)?;
    let require_auth = values::require_auth(&options)?;
    let session = values::session_attrs(&options)?;
    let connect_timeout = values::connect_timeout(&options)?;
    let tcp = values::tcp_options(&options)?;
    let parameters = values::parameters(&options, env, APPLICATION_NAME);

    let password = options.non_empty("password").map(Secret::new);
    let passwords = match &password {
        Some(_) => None,
        None => passfile::open(&options, env, &mut warnings),
    };
    for spec in &mut specs {
        spec.password = match (&password, &passwords) {
            (Some(explicit), _) => Some(explicit.clone()),
            (None, Some(file)) => file.find(spec, &database, &user, env),
            (None, None) => None,
        };
    }
    let endpoints = hosts::resolve(specs, shuffle, &mut warnings)?;

    Ok(Target {
        endpoints,
        user,
        database,
        parameters,
        tls,
        channel_binding,
        require_auth,
        session,
        connect_timeout,
        tcp,
        protocol: Protocol::Postgres,
        others: Vec::new(),
        warnings,
    })
}

/// All options with libpq's precedence: URL, what stands before it, service file, environment,
/// defaults.
fn gather(before: &[(&str, &str)], url: &str, env: &Environment) -> Result<Options, Error> {
    let mut options = Options::default();
    for (name, value) in before.iter().filter(|(_, value)| !value.is_empty()) {
        let keyword = options::find(name).ok_or_else(|| Error::UnknownOption {
            name: (*name).to_owned(),
            origin: Origin::Argument.to_string(),
            hint: options::suggestion(name),
        })?;
        options.set(keyword, (*value).to_owned(), Origin::Argument);
    }
    for (keyword, value) in parse(url)? {
        options.set(keyword, value, Origin::Url);
    }
    service::apply(&mut options, env)?;
    options.add_environment(env);
    options.refuse_zero_bytes()?;
    Ok(options)
}

/// The options that the text itself gives, in order; a later one overrides an earlier one.
fn parse(url: &str) -> Result<Vec<(&'static options::Keyword, String)>, Error> {
    if let Some(rest) = uri::strip_scheme(url) {
        return uri::parse(rest);
    }
    if url.trim_matches(conninfo::is_blank).is_empty() {
        return Ok(Vec::new());
    }
    uri::refuse_foreign_scheme(url)?;
    if url.contains('=') {
        return conninfo::parse(url);
    }
    Ok(vec![(options::known("dbname"), url.to_owned())])
}

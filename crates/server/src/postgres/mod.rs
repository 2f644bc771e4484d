//! Resolves a PostgreSQL connection URL and environment as libpq 17 and 18 do.
//!
//! In: a URL or conninfo string, an [`Environment`], the files they name, DNS. Out: a [`Target`].
//! Must never: connect, or show a password.
//!
//! The order of precedence is libpq's: the URL, the service file, the environment, the defaults
//! (<https://www.postgresql.org/docs/current/libpq-connect.html>).

mod conninfo;
mod environment;
mod hosts;
pub(crate) mod identity;
mod libpq_message;
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
pub use libpq_message::libpq_message;
pub use options::{find_secret_keyword, secret_keywords};
pub use redact::redact;

use crate::control::WaitOptions;
use crate::error::Error;
use crate::target::{PostgresOptions, ProtocolOptions, Target};
use options::{Options, Origin};
use prony_wire::Secret;

/// Default `application_name`, shown in `pg_stat_activity`.
const APPLICATION_NAME: &str = "prony";

/// Resolves `url` (a URI, a `keyword=value` string, a database name, or an empty text) and the
/// environment.
///
/// Host names are resolved and certificate files read here, once, not for each connection.
///
/// # Errors
///
/// Says which option is wrong, where it was set, and which values it accepts.
pub fn resolve(url: &str, env: &Environment) -> Result<Target, Error> {
    resolve_over(&[], "", url, env)
}

/// As [`resolve`], with further options that the text overrides, like the parameters before
/// `dbname` in `PQconnectdbParams` with `expand_dbname`. Empty values count as absent. `origin`
/// names these options in messages.
///
/// # Errors
///
/// As for [`resolve`].
pub fn resolve_over(
    further: &[(&str, &str)],
    origin: &'static str,
    url: &str,
    env: &Environment,
) -> Result<Target, Error> {
    let mut warnings = Vec::new();
    let options = collect_options(further, origin, url, env)?;

    let user = match options.non_empty("user") {
        Some(user) => user.to_owned(),
        None => env.user.clone().ok_or_else(|| Error::Host {
            problem: "no user name: the operating system has none for this process".into(),
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
        tls,
        connect_timeout,
        wait_options: WaitOptions::default(),
        tcp,
        protocol: ProtocolOptions::PostgreSql(PostgresOptions {
            parameters,
            channel_binding,
            session,
            require_auth,
            direct_tls: tls::is_direct(&options)?,
        }),
        additional_targets: Vec::new(),
        warnings,
    })
}

/// Collects all options in libpq's order of precedence: URL, further options, service file,
/// environment, defaults.
fn collect_options(
    further: &[(&str, &str)],
    origin: &'static str,
    url: &str,
    env: &Environment,
) -> Result<Options, Error> {
    let mut options = Options::default();
    for (name, value) in further.iter().filter(|(_, value)| !value.is_empty()) {
        let keyword = options::find(name).ok_or_else(|| Error::UnknownOption {
            name: (*name).to_owned(),
            origin: origin.to_owned(),
            hint: options::suggestion(name),
        })?;
        options.set(keyword, (*value).to_owned(), Origin::Argument(origin));
    }
    for (keyword, value) in parse(url)? {
        options.set(keyword, value, Origin::Url);
    }
    service::apply(&mut options, env)?;
    options.add_environment(env);
    options.refuse_zero_bytes()?;
    Ok(options)
}

/// The options in the text, in order; later options override earlier ones.
fn parse(url: &str) -> Result<Vec<(&'static options::Keyword, String)>, Error> {
    if let Some(rest) = uri::strip_scheme(url) {
        return uri::parse(rest);
    }
    if url.trim_matches(conninfo::is_whitespace).is_empty() {
        return Ok(Vec::new());
    }
    uri::refuse_foreign_scheme(url)?;
    if url.contains('=') {
        return conninfo::parse(url);
    }
    Ok(vec![(options::known("dbname"), url.to_owned())])
}

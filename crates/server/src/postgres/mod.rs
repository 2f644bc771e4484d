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
use crate::option_values::{OptionValues, Origin};
use crate::target::{PostgresOptions, ProtocolOptions, Target, limited};
use prony_wire::Secret;

/// Default `application_name`, shown in `pg_stat_activity`.
const APPLICATION_NAME: &str = "prony";

/// Resolves `url` (a URI, a `keyword=value` string, a database name, or an empty text) and the
/// environment.
///
/// Host names are resolved and certificate files read here, once, not for each connection.
pub fn resolve(url: &str, env: &Environment) -> Result<Target, Error> {
    resolve_postgres_options(&[], "", url, env)
}

/// As [`resolve`], with additional options, which the options in `url` override, like the parameters before
/// `dbname` in `PQconnectdbParams` with `expand_dbname`. Empty values count as absent. `origin` says in
/// messages where `options` were set.
pub fn resolve_postgres_options(
    options: &[(&str, &str)],
    origin: &'static str,
    url: &str,
    env: &Environment,
) -> Result<Target, Error> {
    let mut warnings = Vec::new();
    let options = collect_options(options, origin, url, env)?;

    let user = match options.non_empty("user") {
        Some(user) => user.to_owned(),
        None => env.user.clone().ok_or_else(|| Error::NoUserName {
            hint: "give one with user=... or PGUSER".into(),
        })?,
    };
    let database = options.non_empty("dbname").unwrap_or(&user).to_owned();

    let mut specs = hosts::host_specs(&options, env)?;
    let mode = values::ssl_mode(&options)?;
    values::refuse_unsupported(&options)?;
    let spread = values::spread(&options)?;
    let tls = tls::build(&options, env, mode, &specs, &mut warnings)?;
    let channel_binding = values::channel_binding(&options)?;
    let require_auth = values::require_auth(&options)?;
    let session_attrs = values::session_attrs(&options)?;
    let connect_timeout = values::connect_timeout(&options)?;
    let tcp = values::tcp_options(&options)?;
    let parameters = values::startup_parameters(&options, env, APPLICATION_NAME);

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
    let endpoints = limited(hosts::resolve(specs, &mut warnings)?)?;
    let has_password = endpoints.iter().any(|endpoint| endpoint.password.is_some());

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
            session_attrs,
            require_auth,
            direct_tls: tls::requires_direct_tls(&options)?,
            password_file: passwords.map(|file| file.path).filter(|_| has_password),
        }),
        spread,
        additional_targets: Vec::new(),
        read_target: None,
        has_own_statements: false,
        warnings,
    })
}

/// Collects all options in libpq's order of precedence: the URL, `additional`, the service file, the
/// environment, the defaults.
fn collect_options(
    additional: &[(&str, &str)],
    origin: &'static str,
    url: &str,
    env: &Environment,
) -> Result<OptionValues, Error> {
    // What is set later overrides: so the URL comes after `additional`. The sources after them only fill gaps.
    let mut options = OptionValues::default();
    for (name, value) in additional.iter().filter(|(_, value)| !value.is_empty()) {
        let keyword = options::find(name).ok_or_else(|| Error::UnknownOption {
            name: (*name).to_owned(),
            origin: origin.to_owned(),
            hint: options::suggestion(name),
        })?;
        options.set(keyword.name, *value, Origin::Other(origin.into()));
    }
    for (keyword, value) in parse(url)? {
        options.set(keyword.name, value, Origin::Url("the connection string"));
    }
    service::apply(&mut options, env)?;
    options::add_environment(&mut options, env);
    options::refuse_zero_bytes(&options)?;
    Ok(options)
}

/// The options in a connection string, in order; later options override earlier ones.
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
    Ok(vec![(options::expect_keyword("dbname"), url.to_owned())])
}

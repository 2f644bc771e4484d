//! Connection URLs of all engines.
//!
//! A URL with a scheme other than `mysql` or `mariadb` is parsed as by libpq.

use crate::error::Error;
use crate::postgres::{self, Environment};
use crate::{Target, mysql};

/// Resolves a URL, with the environment that the engine's own clients read: `mysql://` and
/// `mariadb://` URLs as MySQL's client, all others as libpq.
///
/// Host names are resolved and certificate files read here, once, not for each connection.
///
/// # Errors
/// Says which option is wrong, where it was set, and which values it accepts.
pub fn resolve(url: &str, env: &Environment) -> Result<Target, Error> {
    match mysql::strip_scheme(url) {
        Some(rest) => mysql::resolve(rest, env),
        None => postgres::resolve(url, env),
    }
}

/// The URL with every password replaced by `***`.
///
/// If the text cannot be parsed, or an unescaped `/` or `@` may have moved part of a password
/// elsewhere, only the scheme is shown.
pub fn redact(url: &str) -> String {
    mysql::redact(url).unwrap_or_else(|| postgres::redact(url))
}

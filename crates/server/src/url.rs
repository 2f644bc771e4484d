//! A connection URL of any product.
//!
//! In: a URL, an [`Environment`]. Out: a [`Target`], or the URL as it may be shown. Must never: guess
//! the product of what does not say so; libpq's other forms are PostgreSQL's.

use crate::error::Error;
use crate::postgres::{self, Environment};
use crate::{Target, mysql};

/// Reads a URL and the customary environment of the product that its scheme names: `mysql://` and
/// `mariadb://`; all else is PostgreSQL's, as libpq reads it.
///
/// Names are resolved and certificate files read here, once, so that connecting touches neither.
///
/// # Errors
/// Says which option is wrong, where it was set, and what it takes.
pub fn resolve(url: &str, env: &Environment) -> Result<Target, Error> {
    match mysql::strip_scheme(url) {
        Some(rest) => mysql::resolve(rest, env),
        None => postgres::resolve(url, env),
    }
}

/// The URL with every password replaced by `***`.
///
/// Of a text that cannot be read, or in which a password may have spilled into another part (an
/// unescaped `/` or `@`), only the scheme is shown.
pub fn redact(url: &str) -> String {
    mysql::redact(url).unwrap_or_else(|| postgres::redact(url))
}

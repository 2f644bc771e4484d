//! Resolves a MySQL connection URL and environment as MySQL's client does.
//!
//! In: `mysql://user:password@host:port/database?option=value` (or `mariadb://`), an
//! [`Environment`], the option files, DNS. Out: a [`Target`]. Must never: connect, or show a
//! password.
//!
//! The order of precedence is the client's: the URL, the login file, the option files (later files
//! override earlier ones), the environment, the defaults. `localhost` means the unix socket, unless
//! the URL has a port or `protocol=tcp`. Source: MySQL documentation, "Using Option Files",
//! "Environment Variables", "Command Options for Connecting to the Server".

mod hosts;
mod login_file;
mod option_file;
mod options;
mod tls;
mod url;
mod user_lock;

#[cfg(test)]
mod tests;

pub(crate) use url::{redact, spread, strip_scheme};
pub use user_lock::{UserLock, take_user_lock};

use crate::control::WaitOptions;
use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use crate::postgres::Environment;
use crate::target::{MysqlOptions, ProtocolOptions, Target, TcpOptions, limited};
use prony_plan::Spread;
use prony_wire::Secret;
use std::path::Path;
use std::time::Duration;

/// Default program name in the connection attributes.
const PROGRAM_NAME: &str = "prony";

/// Resolves a URL without its scheme, with the option files and the environment.
pub(crate) fn resolve(rest: &str, env: &Environment) -> Result<Target, Error> {
    build_target(env, |options| url::read(rest, options))
}

/// Resolves plain options instead of a URL: `host`, `port`, `socket`, `user`, `password`,
/// `database`, `protocol`, `ssl-mode` and the other options of a URL's query. Values are not
/// percent-encoded; empty values count as absent, and port 0 means the default port. Other options
/// come from the option files and the environment, as for a URL. `origin` names in messages where
/// the options were set.
pub fn resolve_mysql_options(
    settings: &[(&str, &str)],
    origin: &'static str,
    env: &Environment,
) -> Result<Target, Error> {
    build_target(env, |options| {
        for (name, value) in settings.iter().filter(|(_, value)| !value.is_empty()) {
            if !options::set(options, name, Some(value), Origin::Other(origin.into())) {
                return Err(Error::UnknownOption {
                    name: (*name).to_owned(),
                    origin: origin.to_owned(),
                    hint: options::suggestion(name),
                });
            }
        }
        Ok(Vec::new())
    })
}

/// Builds the target from the options of all sources. `set_explicit` sets those of the URL or of the
/// caller, and returns the hosts of the URL.
fn build_target(
    env: &Environment,
    set_explicit: impl FnOnce(&mut OptionValues) -> Result<Vec<url::Host>, Error>,
) -> Result<Target, Error> {
    let mut warnings = Vec::new();
    let mut options = OptionValues::default();
    options::add_environment(&mut options, env);
    option_file::read_all(&mut options, env, &mut warnings)?;
    let mut explicit = OptionValues::default();
    let hosts = set_explicit(&mut explicit)?;
    login_file::read(
        &mut options,
        env,
        explicit.non_empty("login-path"),
        &mut warnings,
    )?;
    options.extend(explicit);

    let user = match options.non_empty("user") {
        Some(user) => user.to_owned(),
        None => env.user.clone().ok_or_else(|| Error::NoUserName {
            hint: "give one in the URL, or with user= in an option file".into(),
        })?,
    };
    let password = options.non_empty("password").map(Secret::new);
    let endpoints = limited(hosts::resolve(
        &hosts,
        &options,
        env,
        password,
        &mut warnings,
    )?)?;
    let tls = tls::build(&options)?;
    let timeout_s: Option<u32> = options.number("connect-timeout")?;
    // 0 is no limit.
    let seconds = |name| -> Result<Option<u32>, Error> {
        Ok(options.number(name)?.filter(|seconds| *seconds > 0))
    };
    let key_path = options.non_empty("server-public-key-path").map(Path::new);
    Ok(Target {
        endpoints,
        user,
        database: options.get("database").unwrap_or_default().to_owned(),
        tls,
        connect_timeout: timeout_s.map(|seconds| match seconds {
            0 => Duration::MAX,
            seconds => Duration::from_secs(u64::from(seconds)),
        }),
        wait_options: WaitOptions::default(),
        tcp: TcpOptions {
            user_timeout_ms: seconds("write-timeout")?.map(|limit| limit.saturating_mul(1000)),
            reply_timeout: seconds("read-timeout")?.map(|limit| Duration::from_secs(limit.into())),
            ..TcpOptions::default()
        },
        protocol: ProtocolOptions::MySql(MysqlOptions {
            attributes: connection_attributes(),
            allow_cleartext: options::is_on(&options, "enable-cleartext-plugin")?,
            get_server_public_key: options::is_on(&options, "get-server-public-key")?,
            server_public_key: key_path.map(tls::read_public_key).transpose()?,
            local_infile: options::is_on(&options, "local-infile")?,
            found_rows: options::is_on(&options, "found-rows")?,
            ..MysqlOptions::default()
        }),
        spread: Spread::First,
        additional_targets: Vec::new(),
        read_target: None,
        has_own_statements: false,
        warnings,
    })
}

/// Connection attributes, which the server lists in `performance_schema`.
fn connection_attributes() -> Vec<(String, String)> {
    [
        ("_client_name", PROGRAM_NAME),
        ("program_name", PROGRAM_NAME),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", std::env::consts::OS),
        ("_platform", std::env::consts::ARCH),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .collect()
}

//! A MySQL connection URL and the customary environment, read as MySQL's own client reads them.
//!
//! In: `mysql://user:password@host:port/database?option=value` (or `mariadb://`), an
//! [`Environment`], the option files, the name service. Out: a [`Target`]. Must never: connect, or
//! show a password.
//!
//! The order of precedence is the client's: what is written in the URL, then the login file, then the
//! option files, of which the later ones win, then the environment, then the defaults. `localhost` means the unix
//! socket, unless the URL gives it a port or `protocol=tcp`.
//! Source: MySQL documentation, "Using Option Files", "Environment Variables", "Command Options for
//! Connecting to the Server".

mod hosts;
mod login_file;
mod option_file;
mod options;
mod tls;
mod url;

#[cfg(test)]
mod tests;

pub(crate) use url::{redact, strip_scheme};

use crate::error::Error;
use crate::postgres::Environment;
use crate::target::{
    ChannelBinding, MysqlOptions, Protocol, RequireAuth, SessionAttrs, Target, TcpOptions,
};
use options::{Options, Origin};
use prony_wire::Secret;
use std::path::Path;
use std::time::Duration;

/// What a program is called in the server's table of connection attributes.
const PROGRAM_NAME: &str = "prony";

/// Reads a URL without its scheme, the option files and the environment.
///
/// # Errors
/// Says which option is wrong, where it was set, and what it takes.
pub(crate) fn resolve(rest: &str, env: &Environment) -> Result<Target, Error> {
    gather(env, |options| url::read(rest, options))
}

/// A MySQL or MariaDB server from plain options, which stand in the place of a URL: `host`, `port`,
/// `socket`, `user`, `password`, `database`, `protocol`, `ssl-mode` and the others that a URL takes
/// behind its question mark. Their values are plain text; empty ones count as absent, and port 0 is
/// the usual one. What they leave open comes from the customary environment, as for a URL.
///
/// # Errors
/// Says which option is wrong, where it was set, and what it takes.
pub fn resolve_mysql(given: &[(&str, &str)], env: &Environment) -> Result<Target, Error> {
    gather(env, |options| {
        for (name, value) in given.iter().filter(|(_, value)| !value.is_empty()) {
            if !options.set(name, Some(value), Origin::Given) {
                return Err(Error::UnknownOption {
                    name: (*name).to_owned(),
                    origin: Origin::Given.to_string(),
                    hint: format!("Prony knows {}", options::names()),
                });
            }
        }
        Ok(Vec::new())
    })
}

/// Puts together what all sources say. `ask` sets what was asked for itself, and gives the hosts that
/// are more than options can say.
fn gather(
    env: &Environment,
    ask: impl FnOnce(&mut Options) -> Result<Vec<url::Host>, Error>,
) -> Result<Target, Error> {
    let mut warnings = Vec::new();
    let mut options = Options::default();
    options.add_environment(env);
    option_file::read_all(&mut options, env, &mut warnings)?;
    let mut asked = Options::default();
    let hosts = ask(&mut asked)?;
    login_file::read(
        &mut options,
        env,
        asked.non_empty("login-path"),
        &mut warnings,
    )?;
    options.extend(asked);

    let user = match options.non_empty("user") {
        Some(user) => user.to_owned(),
        None => env.user.clone().ok_or_else(|| Error::Host {
            problem: "no user name: the operating system knows none for this process".into(),
            hint: "give one in the URL, or with user= in an option file".into(),
        })?,
    };
    let password = options.non_empty("password").map(Secret::new);
    let endpoints = hosts::resolve(&hosts, &options, env, password, &mut warnings)?;
    let tls = tls::build(&options)?;
    let seconds: u32 = options.number("connect-timeout")?.unwrap_or(0);
    let key_path = options.non_empty("server-public-key-path").map(Path::new);
    Ok(Target {
        endpoints,
        user,
        database: options.get("database").unwrap_or_default().to_owned(),
        parameters: attributes(),
        tls,
        channel_binding: ChannelBinding::Disable,
        require_auth: RequireAuth::Any,
        session: SessionAttrs::Any,
        connect_timeout: (seconds > 0).then(|| Duration::from_secs(u64::from(seconds))),
        tcp: TcpOptions::default(),
        protocol: Protocol::Mysql(MysqlOptions {
            cleartext: options.flag("enable-cleartext-plugin")?,
            get_server_public_key: options.flag("get-server-public-key")?,
            server_public_key: key_path.map(tls::public_key).transpose()?,
            local_infile: options.flag("local-infile")?,
            found_rows: options.flag("found-rows")?,
        }),
        others: Vec::new(),
        warnings,
    })
}

/// What the server shows of this client.
fn attributes() -> Vec<(String, String)> {
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

/// Where an option was set, and what to write instead.
fn bad_value(options: &Options, option: &'static str, hint: &str) -> Error {
    let secret = options::is_secret(option);
    Error::Value {
        option,
        value: match options.get(option) {
            Some(value) if !secret => value.to_owned(),
            _ => "***".to_owned(),
        },
        origin: options
            .origin(option)
            .unwrap_or(&Origin::Default)
            .to_string(),
        hint: hint.to_owned(),
    }
}

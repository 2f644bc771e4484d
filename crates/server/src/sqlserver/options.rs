//! The options of SQL Server's clients.
//!
//! Must never: show a password.

use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use crate::postgres::Environment;
use std::borrow::Cow;

/// An option's name in messages, and the other names that a client has for it. Letter case, spaces,
/// underscores and hyphens do not matter. Sources: Microsoft's documentation of SqlConnection, of the ODBC
/// and JDBC drivers; the README of go-mssqldb.
const OPTIONS: [(&str, &[&str]); 21] = [
    (
        "server",
        &[
            "datasource",
            "addr",
            "address",
            "networkaddress",
            "servername",
        ],
    ),
    ("port", &["portnumber"]),
    ("instance", &["instancename"]),
    ("user", &["userid", "uid", "username"]),
    ("password", &["pwd"]),
    ("database", &["initialcatalog", "databasename"]),
    ("encrypt", &[]),
    ("TrustServerCertificate", &[]),
    ("HostNameInCertificate", &[]),
    ("ServerCertificate", &[]),
    ("certificate", &[]),
    ("app name", &["applicationname", "app"]),
    ("workstation id", &["wsid", "workstationid"]),
    ("ApplicationIntent", &[]),
    ("MultiSubnetFailover", &[]),
    ("packet size", &[]),
    (
        "connect timeout",
        &[
            "connectiontimeout",
            "timeout",
            "logintimeout",
            "dialtimeout",
        ],
    ),
    // Milliseconds, as in JDBC.
    ("socketTimeout", &[]),
    ("authentication", &["fedauth", "authenticationscheme"]),
    ("integrated security", &["trustedconnection"]),
    ("dsn", &[]),
];

/// Options of the clients that Prony ignores, because they concern connection pools, cursors and logs.
const IGNORED_OPTIONS: [&str; 27] = [
    "ansinpw",
    "autotranslate",
    "commandtimeout",
    "connectionlifetime",
    "connectretrycount",
    "connectretryinterval",
    "description",
    "driver",
    "enlist",
    "failoverpartner",
    "keepalive",
    "language",
    "loadbalancetimeout",
    "log",
    "marsconnection",
    "maxpoolsize",
    "minpoolsize",
    "multipleactiveresultsets",
    "persistsecurityinfo",
    "pooling",
    "provider",
    "quotedid",
    "responsebuffering",
    "selectmethod",
    "sendstringparametersasunicode",
    "transparentnetworkipresolution",
    "typesystemversion",
];

pub(crate) const SQLCMD_VARIABLES: [(&str, &str); 6] = [
    ("SQLCMDSERVER", "server"),
    ("SQLCMDUSER", "user"),
    ("SQLCMDPASSWORD", "password"),
    ("SQLCMDDBNAME", "database"),
    ("SQLCMDLOGINTIMEOUT", "connect timeout"),
    ("SQLCMDPACKETSIZE", "packet size"),
];

/// Removes the differences between names that clients ignore: case, spaces, plus signs, underscores and
/// hyphens.
fn normalize(name: &str) -> String {
    let significant = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-' | '+'));
    significant.map(|c| c.to_ascii_lowercase()).collect()
}

pub(super) fn find_option(name: &str) -> Option<&'static str> {
    let name = normalize(name);
    let is_known = |(option, synonyms): &&(&'static str, &[&str])| {
        normalize(option) == name || synonyms.contains(&name.as_str())
    };
    OPTIONS.iter().find(is_known).map(|(option, _)| *option)
}

/// Whether an option with this name may have a value that must not be shown. Decided by the words in the name, so that
/// options that Prony does not know are found too.
pub(super) fn is_secret(name: &str) -> bool {
    let name = normalize(name);
    let parts = ["password", "pwd", "token", "secret", "key", "passphrase"];
    parts.iter().any(|part| name.contains(part))
}

/// Sets an option of a connection string, replacing an earlier value.
///
/// # Errors
/// If no client has an option with this name. `location` says where the option is.
pub(super) fn set(
    options: &mut OptionValues,
    name: &str,
    value: &str,
    location: &str,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    if let Some(option) = find_option(name) {
        set_known(options, option, value, location.to_owned());
        return Ok(());
    }
    let normalized = normalize(name);
    if IGNORED_OPTIONS.contains(&normalized.as_str()) {
        warnings.push(format!(
            "the connection option \"{normalized}\" has no effect"
        ));
        return Ok(());
    }
    // Name the option only if it cannot be part of a password that contains a separator.
    let is_plain = normalized.len() <= 30 && normalized.chars().all(|c| c.is_ascii_alphabetic());
    if is_plain && options.get("password").is_none() {
        return Err(Error::UnknownOption {
            name: name.to_owned(),
            origin: location.to_owned(),
            hint: format!("the options are {}", option_names()),
        });
    }
    Err(Error::conninfo(
        format!("invalid {location}"),
        "in a URL write %26 for \"&\" and %3D for \"=\" in a password; in other connection strings enclose it \
         in quotes, or in braces for ODBC and JDBC",
    ))
}

/// Sets an option by the name that it has here. `location`: where it is set, for messages.
pub(super) fn set_known(
    options: &mut OptionValues,
    option: &'static str,
    value: &str,
    location: impl Into<Cow<'static, str>>,
) {
    options.set(option, value, Origin::Other(location.into()));
}

/// Sets options that are not set from sqlcmd's variables.
pub(super) fn add_environment(options: &mut OptionValues, env: &Environment) {
    for (variable, option) in SQLCMD_VARIABLES {
        if let Some(value) = env.var(variable).filter(|value| !value.is_empty()) {
            options.set_default(option, value, Origin::Other(variable.into()));
        }
    }
}

pub(super) fn is_on(options: &OptionValues, option: &'static str) -> Result<bool, Error> {
    let value = options.non_empty(option).map(str::to_ascii_lowercase);
    match value.as_deref() {
        None | Some("false" | "no" | "0" | "off") => Ok(false),
        Some("true" | "yes" | "1" | "on") => Ok(true),
        Some(_) => Err(options.invalid_value(option, "write true or false")),
    }
}

fn option_names() -> String {
    OPTIONS.map(|(name, _)| name).join(", ")
}

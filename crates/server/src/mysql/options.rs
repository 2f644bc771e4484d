//! The options of MySQL's clients.
//!
//! Must never: show a password.

use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use crate::postgres::Environment;
use prony_plan::suggest;

/// All options, with their names in MySQL's and MariaDB's clients, and whether each is a flag, which may be
/// given without a value.
const OPTIONS: [(&str, bool); 26] = [
    ("user", false),
    ("password", false),
    ("host", false),
    ("port", false),
    ("socket", false),
    ("database", false),
    ("protocol", false),
    ("connect-timeout", false),
    ("read-timeout", false),
    ("write-timeout", false),
    ("ssl", true),
    ("ssl-mode", false),
    ("ssl-ca", false),
    ("ssl-capath", false),
    ("ssl-cert", false),
    ("ssl-key", false),
    ("ssl-verify-server-cert", true),
    ("tls-version", false),
    ("enable-cleartext-plugin", true),
    ("get-server-public-key", true),
    ("server-public-key-path", false),
    ("local-infile", true),
    ("found-rows", true),
    ("default-auth", false),
    ("plugin-dir", false),
    ("login-path", false),
];

/// Whether an option's value must not be shown.
pub(super) fn is_secret(name: &str) -> bool {
    name == "password"
}

/// Sets an option, replacing an earlier value. Returns `false` for an unknown name.
///
/// `value` is `None` if the option was given without a value. The prefixes `loose-`, `skip-`, `disable-` and `enable-`,
/// and underscores in names, work as in option files.
pub(super) fn set(
    options: &mut OptionValues,
    name: &str,
    value: Option<&str>,
    origin: Origin,
) -> bool {
    let name = name.replace('_', "-");
    let name = name.strip_prefix("loose-").unwrap_or(&name);
    let find = |name: &str| OPTIONS.iter().find(|(known, _)| *known == name);
    let negated = ["skip-", "disable-"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    let enabled = || name.strip_prefix("enable-").and_then(find);
    let (known, value) = match (find(name).or_else(enabled), negated.and_then(find)) {
        (Some((known, true)), _) => (*known, value.unwrap_or("1")),
        // If `password` has no value, MySQL's client prompts for it; Prony uses an empty value.
        (Some((known, false)), _) => (*known, value.unwrap_or("")),
        (None, Some((known, true))) => (*known, "0"),
        _ => return false,
    };
    options.set(known, value, origin);
    true
}

pub(super) fn add_environment(options: &mut OptionValues, env: &Environment) {
    for (variable, option) in [
        ("MYSQL_PWD", "password"),
        ("MYSQL_HOST", "host"),
        ("MYSQL_TCP_PORT", "port"),
        ("MYSQL_UNIX_PORT", "socket"),
    ] {
        if let Some(value) = env.var(variable) {
            options.set(option, value, Origin::Other(variable.into()));
        }
    }
    // MySQL's client library looks at the first character only.
    let variable = "LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN";
    let value = env.var(variable).unwrap_or_default();
    if value.starts_with(['1', 'Y', 'y']) {
        options.set(
            "enable-cleartext-plugin",
            "1",
            Origin::Other(variable.into()),
        );
    }
}

/// Whether a flag is on; an absent flag is off.
pub(super) fn is_on(options: &OptionValues, name: &'static str) -> Result<bool, Error> {
    match options.get(name).map(str::to_ascii_lowercase).as_deref() {
        None | Some("" | "0" | "off" | "false" | "no") => Ok(false),
        Some("1" | "on" | "true" | "yes") => Ok(true),
        Some(_) => Err(options.invalid_value(name, "write 1 or 0")),
    }
}

/// The hint for an unknown option: the most similar one, or all of them.
pub(super) fn suggestion(name: &str) -> String {
    let names = OPTIONS.map(|(name, _)| name);
    match suggest::nearest(name, &names) {
        Some(similar) => format!("did you mean \"{similar}\"?"),
        None => {
            "the options are those of MySQL's client, such as user, socket and ssl-mode".to_owned()
        }
    }
}

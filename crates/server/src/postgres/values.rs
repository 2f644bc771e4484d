//! Parses option values into the fields of a target.
//!
//! Must never: silently ignore a value that changes the meaning of a connection.

use super::environment::Environment;
use crate::error::Error;
use crate::option_values::OptionValues;
use crate::target::{AuthMethod, ChannelBinding, RequireAuth, SessionAttrs, SslMode, TcpOptions};
use prony_plan::Spread;
use std::time::Duration;

/// The choice that the option's value names, or `default` if it is not set.
pub(crate) fn parse_choice<T: Copy>(
    options: &OptionValues,
    option: &'static str,
    default: T,
    choices: &[(&str, T)],
) -> Result<T, Error> {
    let Some(value) = options.get(option) else {
        return Ok(default);
    };
    choices
        .iter()
        .find(|(name, _)| *name == value)
        .map(|(_, choice)| *choice)
        .ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            options.invalid_value(option, format!("use one of {}", names.join(", ")))
        })
}

/// `sslmode`.
pub(crate) fn ssl_mode(options: &OptionValues) -> Result<SslMode, Error> {
    let modes = [
        ("disable", SslMode::Disable),
        ("allow", SslMode::Allow),
        ("prefer", SslMode::Prefer),
        ("require", SslMode::Require),
        ("verify-ca", SslMode::VerifyCa),
        ("verify-full", SslMode::VerifyFull),
    ];
    parse_choice(options, "sslmode", SslMode::Prefer, &modes)
}

pub(crate) fn channel_binding(options: &OptionValues) -> Result<ChannelBinding, Error> {
    let choices = [
        ("disable", ChannelBinding::Disable),
        ("prefer", ChannelBinding::Prefer),
        ("require", ChannelBinding::Require),
    ];
    parse_choice(options, "channel_binding", ChannelBinding::Prefer, &choices)
}

/// `target_session_attrs`.
pub(crate) fn session_attrs(options: &OptionValues) -> Result<SessionAttrs, Error> {
    let choices = [
        ("any", SessionAttrs::Any),
        ("read-write", SessionAttrs::ReadWrite),
        ("read-only", SessionAttrs::ReadOnly),
        ("primary", SessionAttrs::Primary),
        ("standby", SessionAttrs::Standby),
        ("prefer-standby", SessionAttrs::PreferStandby),
    ];
    parse_choice(options, "target_session_attrs", SessionAttrs::Any, &choices)
}

/// `load_balance_hosts`: with which host a connection begins.
pub(crate) fn spread(options: &OptionValues) -> Result<Spread, Error> {
    parse_choice(
        options,
        "load_balance_hosts",
        Spread::First,
        &[("disable", Spread::First), ("random", Spread::Random)],
    )
}

/// An integer, which may have spaces around it, as in libpq.
fn integer(options: &OptionValues, option: &'static str) -> Result<Option<i32>, Error> {
    let Some(value) = options.get(option) else {
        return Ok(None);
    };
    match value.trim().parse::<i32>() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(options.invalid_value(option, "give a whole number")),
    }
}

/// `connect_timeout`: zero and negative values mean no limit; one second counts as two.
pub(crate) fn connect_timeout(options: &OptionValues) -> Result<Option<Duration>, Error> {
    let seconds = integer(options, "connect_timeout")?;
    Ok(seconds.map(|seconds| match u64::try_from(seconds) {
        Ok(0) | Err(_) => Duration::MAX,
        Ok(seconds) => Duration::from_secs(seconds.max(2)),
    }))
}

/// The `keepalives` options and `tcp_user_timeout`.
pub(crate) fn tcp_options(options: &OptionValues) -> Result<TcpOptions, Error> {
    let positive = |option| -> Result<Option<u32>, Error> {
        let number = integer(options, option)?;
        Ok(number
            .and_then(|n| u32::try_from(n).ok())
            .filter(|n| *n > 0))
    };
    Ok(TcpOptions {
        keepalive: integer(options, "keepalives")?.unwrap_or(1) != 0,
        keepalive_idle_s: positive("keepalives_idle")?,
        keepalive_interval_s: positive("keepalives_interval")?,
        keepalive_count: positive("keepalives_count")?,
        user_timeout_ms: positive("tcp_user_timeout")?,
        // libpq has no such option.
        reply_timeout: None,
    })
}

/// `require_auth`: methods separated by commas, either all with a `!` or none.
pub(crate) fn require_auth(options: &OptionValues) -> Result<RequireAuth, Error> {
    let Some(list) = options.non_empty("require_auth") else {
        return Ok(RequireAuth::Any);
    };
    let fail = |problem: String| Error::RequireAuth {
        problem,
        origin: options.origin("require_auth").to_string(),
    };
    let mut methods = Vec::new();
    let negated = list.starts_with('!');
    for item in list.split(',') {
        let name = match (item.strip_prefix('!'), negated) {
            (Some(name), true) => name,
            (None, false) => item,
            (Some(_), false) => {
                return Err(fail(format!(
                    "negative require_auth method \"{item}\" cannot be mixed with non-negative methods"
                )));
            }
            (None, true) => {
                return Err(fail(format!(
                    "require_auth method \"{item}\" cannot be mixed with negative methods"
                )));
            }
        };
        let (_, method) = AuthMethod::NAMES
            .into_iter()
            .find(|(known, _)| *known == name)
            .ok_or_else(|| fail(format!("invalid require_auth value: \"{name}\"")))?;
        if methods.contains(&method) {
            return Err(fail(format!(
                "require_auth method \"{item}\" is specified more than once"
            )));
        }
        methods.push(method);
    }
    Ok(if negated { RequireAuth::NoneOf(methods) } else { RequireAuth::OneOf(methods) })
}

/// Refuses options that require a feature that Prony does not support, and invalid values of options that it
/// otherwise ignores.
///
/// # Errors
///
/// GSS encryption, a check of the peer, SCRAM keys or protocol 3.2 are required.
pub(crate) fn refuse_unsupported(options: &OptionValues) -> Result<(), Error> {
    // Whether the mode requires GSS.
    let gss_modes = [("disable", false), ("prefer", false), ("require", true)];
    if parse_choice(options, "gssencmode", false, &gss_modes)? {
        return Err(Error::Unsupported {
            feature: format!(
                "GSS encryption (gssencmode=require, {})",
                options.origin("gssencmode")
            ),
            hint: "use gssencmode=prefer or disable, and sslmode=require for TLS".into(),
        });
    }
    let certificate_modes = [("disable", ()), ("allow", ()), ("require", ())];
    parse_choice(options, "sslcertmode", (), &certificate_modes)?;
    // Whether the version is newer than 3.0.
    let versions = [("3.0", false), ("3.2", true), ("latest", true)];
    parse_choice(options, "max_protocol_version", false, &versions)?;
    if parse_choice(options, "min_protocol_version", false, &versions)? {
        return Err(Error::Unsupported {
            feature: format!("protocol 3.2 ({})", options.origin("min_protocol_version")),
            hint: "Prony uses protocol 3.0, which every server supports: remove \
                   min_protocol_version"
                .into(),
        });
    }
    if options.non_empty("requirepeer").is_some() {
        return Err(Error::Unsupported {
            feature: format!("requirepeer ({})", options.origin("requirepeer")),
            hint: "use a socket folder that only the server's user can write to".into(),
        });
    }
    for option in ["scram_client_key", "scram_server_key"] {
        if options.non_empty(option).is_some() {
            return Err(Error::Unsupported {
                feature: format!("{option} ({})", options.origin(option)),
                hint: "give a password instead".into(),
            });
        }
    }
    Ok(())
}

/// Parameters of the startup message other than user and database, in libpq's order.
pub(crate) fn startup_parameters(
    options: &OptionValues,
    env: &Environment,
    application_name: &str,
) -> Vec<(String, String)> {
    let mut list = Vec::new();
    let mut push = |name: &str, value: &str| {
        if !value.is_empty() {
            list.push((name.to_owned(), value.to_owned()));
        }
    };
    push("replication", options.get("replication").unwrap_or(""));
    push("options", options.get("options").unwrap_or(""));
    let fallback = || options.get("fallback_application_name");
    let name = options
        .get("application_name")
        .or_else(fallback)
        .unwrap_or(application_name);
    push("application_name", name);
    // "auto" means the encoding of the locale; Prony's own text is UTF-8 in every locale.
    push(
        "client_encoding",
        match options.get("client_encoding") {
            Some("auto") => "UTF8",
            other => other.unwrap_or(""),
        },
    );
    for (variable, name) in [
        ("PGDATESTYLE", "datestyle"),
        ("PGTZ", "timezone"),
        ("PGGEQO", "geqo"),
    ] {
        match env.var(variable) {
            Some(value) if !value.eq_ignore_ascii_case("default") => push(name, value),
            _ => {}
        }
    }
    list
}

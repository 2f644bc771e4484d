//! Resolves SQL Server's connection strings and environment as its clients do.
//!
//! In: `sqlserver://user:password@host:port/instance?database=d` as in Go, or a connection string of JDBC,
//! ADO.NET or ODBC; an [`Environment`]; DNS and SQL Browser. Out: a [`Target`]. Must never: log in, or show a
//! password.
//!
//! The connection string takes precedence over sqlcmd's variables. As in Microsoft's clients of today, TLS is
//! required and the certificate verified by default.

mod browser;
mod hosts;
mod options;
mod text;
mod tls;

#[cfg(test)]
mod tests;

pub(crate) use options::SQLCMD_VARIABLES;
pub(crate) use text::{ConnectionText, recognize, redact};

use crate::control::WaitOptions;
use crate::error::Error;
use crate::option_values::{OptionValues, Origin};
use crate::postgres::Environment;
use crate::target::{ProtocolOptions, SqlServerOptions, Target, TcpOptions};
use prony_plan::Spread;
use prony_wire::Secret;
use rustls::pki_types::ServerName;
use std::sync::Arc;
use std::time::Duration;
use tls::Encrypt;

const DEFAULT_PROGRAM_NAME: &str = "prony";
/// Packet size in bytes that ADO.NET and JDBC request.
const DEFAULT_PACKET_SIZE: u16 = 8000;
/// Packet sizes that the protocol allows, in bytes.
const VALID_PACKET_SIZES: std::ops::RangeInclusive<u16> = 512..=32_767;

pub(crate) fn resolve(text: ConnectionText<'_>, env: &Environment) -> Result<Target, Error> {
    let mut warnings = Vec::new();
    let mut options = OptionValues::default();
    text::parse(text, &mut options, &mut warnings)?;
    build_target(options, warnings, env)
}

/// Resolves options by their names in Microsoft's clients, with the environment. Empty values are like options
/// that are not set. `origin` names in messages where the options were set.
pub fn resolve_sql_server_options(
    settings: &[(&str, &str)],
    origin: &'static str,
    env: &Environment,
) -> Result<Target, Error> {
    let mut warnings = Vec::new();
    let mut options = OptionValues::default();
    for (name, value) in settings {
        match options::find_option(name) {
            Some(option) => options.set(option, *value, Origin::Other(origin.into())),
            None => options::set(&mut options, name, value, origin, &mut warnings)?,
        }
    }
    build_target(options, warnings, env)
}

/// Builds the target from the options of a connection string, and the environment.
fn build_target(
    mut options: OptionValues,
    mut warnings: Vec<String>,
    env: &Environment,
) -> Result<Target, Error> {
    options::add_environment(&mut options, env);
    refuse_other_logins(&options)?;
    let user = options.non_empty("user").ok_or_else(|| Error::Host {
        problem: "no user name for SQL Server".into(),
        hint: "give a SQL Server login in the URL: sqlserver://user@host?database=name".into(),
    })?;
    let password = options.non_empty("password").map(Secret::new);
    let server = hosts::read_server_name(&options)?;
    let encrypt = Encrypt::from_options(&options)?;
    let tls = tls::build_tls(&options, encrypt, &mut warnings)?;
    let packet_size = options
        .number::<u16>("packet size")?
        .unwrap_or(DEFAULT_PACKET_SIZE);
    if !VALID_PACKET_SIZES.contains(&packet_size) {
        return Err(options.invalid_value("packet size", "write 512 to 32767"));
    }
    let connect_timeout_s: Option<u32> = options.number("connect timeout")?;
    let reply_timeout_ms = options.number("socketTimeout")?.filter(|ms| *ms > 0);
    let protocol = SqlServerOptions {
        program_name: options
            .non_empty("app name")
            .unwrap_or(DEFAULT_PROGRAM_NAME)
            .to_owned(),
        client_host: options
            .non_empty("workstation id")
            .map_or_else(host_name, str::to_owned),
        packet_size,
        read_only: read_application_intent(&options)?,
        strict: encrypt == Encrypt::Strict,
        certificate_name: read_certificate_name(&options)?,
        address_race: options::is_on(&options, "MultiSubnetFailover")?.then(Arc::default),
        session_settings: Vec::new(),
    };
    let endpoints = hosts::resolve(&server, password.as_ref())?;
    Ok(Target {
        endpoints,
        user: user.to_owned(),
        database: options.non_empty("database").unwrap_or_default().to_owned(),
        tls,
        connect_timeout: connect_timeout_s.map(|seconds| match seconds {
            0 => Duration::MAX,
            seconds => Duration::from_secs(u64::from(seconds)),
        }),
        wait_options: WaitOptions::default(),
        tcp: TcpOptions {
            reply_timeout: reply_timeout_ms.map(Duration::from_millis),
            ..TcpOptions::default()
        },
        protocol: ProtocolOptions::SqlServer(protocol),
        spread: Spread::First,
        additional_targets: Vec::new(),
        read_target: None,
        has_own_statements: false,
        warnings,
    })
}

/// Refuses logins other than with SQL Server's own accounts, and data sources of ODBC's files.
fn refuse_other_logins(options: &OptionValues) -> Result<(), Error> {
    let unsupported = |feature: &str| Error::Unsupported {
        feature: feature.to_owned(),
        hint: "use a SQL Server login with a password".into(),
    };
    let integrated = options.non_empty("integrated security");
    let is_sspi = integrated.is_some_and(|value| value.eq_ignore_ascii_case("sspi"));
    if is_sspi || options::is_on(options, "integrated security")? {
        return Err(unsupported("a login with a Windows account"));
    }
    let authentication = options.non_empty("authentication");
    let is_sql = |name: &str| {
        let name: String = name.chars().filter(char::is_ascii_alphabetic).collect();
        ["sqlpassword", "notspecified"].contains(&name.to_ascii_lowercase().as_str())
    };
    if authentication.is_some_and(|name| !is_sql(name)) {
        return Err(unsupported(
            "a login with a Microsoft Entra or Windows account",
        ));
    }
    match options.non_empty("dsn") {
        Some(_) => Err(Error::Unsupported {
            feature: "a data source name of ODBC".into(),
            hint: "name the server: Server=host,port;Database=name;UID=user".into(),
        }),
        None => Ok(()),
    }
}

/// Whether `ApplicationIntent` requests a read-only connection.
fn read_application_intent(options: &OptionValues) -> Result<bool, Error> {
    match options
        .non_empty("ApplicationIntent")
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        None | Some("readwrite") => Ok(false),
        Some("readonly") => Ok(true),
        Some(_) => Err(options.invalid_value("ApplicationIntent", "write ReadWrite or ReadOnly")),
    }
}

/// The name that the certificate must have, from `HostNameInCertificate`.
fn read_certificate_name(options: &OptionValues) -> Result<Option<ServerName<'static>>, Error> {
    let Some(name) = options.non_empty("HostNameInCertificate") else {
        return Ok(None);
    };
    let parsed = ServerName::try_from(name.to_owned());
    let error = || options.invalid_value("HostNameInCertificate", "write the name of a host");
    parsed.map(Some).map_err(|_| error())
}

/// The name of this machine, which the server lists.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.unwrap_or_default().trim().to_owned()
}

//! How an agent reaches the server that the coordinator reaches by a URL, and with whose passwords.
//!
//! In: the coordinator's URL, target and environment. Out: a [`ServerLogin`] for one agent, and there a [`Target`]. Must
//! never: send a password over a carrier that others can read, or this machine's password without encryption to a server
//! that such a carrier named.

use crate::coordinator::Agent;
use crate::error::Error;
use crate::link::Link;
use crate::message::{AgentFailure, FailureKind, ServerLogin, failure};
use crate::tool::ToolServer;
use prony_plan::ErrorParts;
use prony_server::control::StopSignal;
use prony_server::{
    AuthMethod, Endpoint, Environment, ProtocolOptions, RequireAuth, SslMode, Target, resolve,
    secrets,
};
use prony_wire::Secret;
use std::sync::Arc;

/// How an agent reaches the server that the coordinator reaches by the options of a replaced tool.
pub(crate) fn server_login_of_tool(
    server: &ToolServer,
    target: &Target,
    agent: &Agent,
) -> Result<ServerLogin, Error> {
    Ok(ServerLogin {
        of_tool: Some(server.clone()),
        ..server_login(&server.database, target, agent)?
    })
}

/// How an agent reaches the server that the coordinator reaches by this URL.
///
/// # Errors
/// The URL has a password, and others can read the carrier.
pub(crate) fn server_login(
    url: &str,
    target: &Target,
    agent: &Agent,
) -> Result<ServerLogin, Error> {
    if !agent.is_private && !secrets::password_ranges(url.as_bytes()).is_empty() {
        return Err(Error::Unsupported {
            problem: "the server's password is not sent over NATS",
            hint: "remove it from the URL: each agent uses PGPASSWORD, MYSQL_PWD or SQLCMDPASSWORD, or the password \
                   file, of its own machine",
        });
    }
    let environment = Environment::from_process();
    let passwords = target.endpoints.iter().filter_map(|endpoint| {
        let password = endpoint.password.as_ref()?.reveal().to_owned();
        Some((endpoint.host.clone(), endpoint.port, password))
    });
    let variables = environment.vars().iter();
    let variables = variables.filter(|(name, _)| agent.is_private || !is_secret(name));
    Ok(ServerLogin {
        url: url.to_owned(),
        of_tool: None,
        variables: variables
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        passwords: passwords.filter(|_| agent.is_private).collect(),
        has_no_passwords: !agent.is_private,
        user: target.user.clone(),
        database: target.database.clone(),
        system_user: environment.user,
    })
}

pub(crate) fn hosts_of(target: &Target) -> Vec<String> {
    let targets = std::iter::once(target).chain(target.read_target.as_deref());
    let hosts = targets.flat_map(|target| {
        let hosts = target.hosts().into_iter();
        hosts.map(|host| &target.endpoints[host.start])
    });
    hosts
        .map(|first| match &*first.host {
            // Only an address was given.
            "" => first.to_string(),
            host => format!("{host}:{}", first.port),
        })
        .collect()
}

/// The server of the plan, as the coordinator's environment names it. Host names are resolved here.
pub(crate) fn resolve_target(link: &Link, login: &ServerLogin) -> Result<Target, AgentFailure> {
    let own = Environment::from_process();
    let mut variables = login.variables.clone();
    let mut secrets = own.vars().clone();
    secrets.retain(|name, _| login.has_no_passwords && is_secret(name));
    variables.extend(secrets.clone());
    let mut environment = own.with_only(variables);
    environment.user.clone_from(&login.system_user);
    let resolved = match &login.of_tool {
        None => resolve(&login.url, &environment),
        Some(server) => server.resolve(&environment, secrets),
    };
    let mut target = resolved.map_err(|error| failure(FailureKind::Connect, &error))?;
    if (&target.user, &target.database) != (&login.user, &login.database) {
        let problem = "the role or the database is another one there: a file names it";
        let parts = ErrorParts::new(problem).with_hint("name both in the URL");
        return Err(AgentFailure::new(FailureKind::Usage, parts));
    }
    for endpoint in &mut target.endpoints {
        let is_same =
            |(host, port, _): &&(_, u16, _)| (host, *port) == (&endpoint.host, endpoint.port);
        let password = login.passwords.iter().find(is_same);
        let password = password.map(|(.., password)| Secret::new(password.clone()));
        // What the user gave there goes before what this machine would find.
        endpoint.password = password.or(endpoint.password.take());
    }
    if login.has_no_passwords {
        refuse_clear_passwords(&mut target)?;
    }
    target.has_own_statements = login.of_tool.is_none();
    target.wait_options.stop = StopSignal::watching(Arc::clone(&link.stop));
    Ok(target)
}

/// Whoever may publish at the NATS server names the server that gets this machine's password: it must not get the text
/// without encryption.
fn refuse_clear_passwords(target: &mut Target) -> Result<(), AgentFailure> {
    if target.tls.mode >= SslMode::Require || !target.endpoints.iter().any(Endpoint::is_remote) {
        return Ok(());
    }
    match &mut target.protocol {
        ProtocolOptions::PostgreSql(options) => match &mut options.require_auth {
            RequireAuth::OneOf(methods) => methods.retain(|method| *method != AuthMethod::Password),
            RequireAuth::NoneOf(methods) => methods.push(AuthMethod::Password),
            any @ RequireAuth::Any => *any = RequireAuth::NoneOf(vec![AuthMethod::Password]),
        },
        // The password encrypted for a key that the same server sends.
        ProtocolOptions::MySql(options) => options.get_server_public_key = false,
        ProtocolOptions::SqlServer(_) => {
            let problem =
                "an agent that was called over NATS sends SQL Server no password without TLS";
            let parts = ErrorParts::new(problem).with_hint("set encrypt=true in the URL");
            return Err(AgentFailure::new(FailureKind::Usage, parts));
        }
    }
    Ok(())
}

/// Whether a variable holds a password, or the path of a file of passwords.
fn is_secret(variable: &str) -> bool {
    matches!(
        variable,
        "PGPASSWORD" | "PGPASSFILE" | "MYSQL_PWD" | "MYSQL_TEST_LOGIN_FILE" | "SQLCMDPASSWORD"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn over_nats_no_password_is_sent_in_the_clear() {
        let allows = |url: &str| {
            let mut target = resolve(url, &Environment::without_home("u")).expect("a server");
            if refuse_clear_passwords(&mut target).is_err() {
                return false;
            }
            match target.protocol {
                ProtocolOptions::PostgreSql(options) => {
                    options.require_auth.allows(AuthMethod::Password)
                }
                ProtocolOptions::MySql(options) => options.get_server_public_key,
                ProtocolOptions::SqlServer(_) => true,
            }
        };
        for refused in [
            "postgres://u@192.0.2.1/d?sslmode=prefer",
            "postgres://u@192.0.2.1/d?sslmode=disable&require_auth=!md5",
            "postgres://u@192.0.2.1/d?sslmode=disable&require_auth=password,md5",
            "mysql://u@192.0.2.1/d?ssl-mode=DISABLED&get-server-public-key=1",
            "sqlserver://u@192.0.2.1?encrypt=false",
        ] {
            assert!(!allows(refused), "{refused}");
        }
        for allowed in [
            "postgres://u@192.0.2.1/d?sslmode=require",
            "sqlserver://u@192.0.2.1?encrypt=true",
            "postgres://u@127.0.0.1/d",
        ] {
            assert!(allows(allowed), "{allowed}");
        }
    }
}

//! Whether the server accepts the connections of the load: limits of the server, the role, the database and the
//! account.
//!
//! In: the facts and the load. Out: one finding, about the limit that leaves the fewest connections.

use super::server::{is_plain_name, mysql_account};
use super::{DatabaseFacts, Examined, IntendedLoad, Remedied, bad, ok, unknown};
use crate::formatting::{count, thousands};
use prony_store::{ConnectionLimit, LimitOwner, SqlDialect};

/// Connections that a run needs besides those of its clients: control, observation, the server's own count.
pub const SPARE_CONNECTIONS: u64 = 3;

pub(super) fn finding(server: &DatabaseFacts, load: IntendedLoad) -> Examined {
    let needed = u64::from(load.clients) + SPARE_CONNECTIONS;
    let clients = count(u64::from(load.clients), "client");
    let narrower_limits = server.narrower_limits.iter();
    let narrowest = narrower_limits.min_by_key(|limit| free(limit));
    let free_of_server = server
        .max_connections
        .map_or(u64::MAX, |max| free_connections(server, max));
    match narrowest {
        Some(limit) if free(limit) < needed && free(limit) <= free_of_server => {
            of_narrower_limit(server, limit, &clients, needed)
        }
        _ => of_server(server, &clients, needed),
    }
}

/// How many clients the limits of the server, the role, the database and the account allow; `None` if none is known.
pub fn clients_that_fit(server: &DatabaseFacts) -> Option<u64> {
    let of_server = server
        .max_connections
        .map(|max| free_connections(server, max));
    let narrower = server.narrower_limits.iter().map(free);
    let free = narrower.chain(of_server).min()?;
    Some(free.saturating_sub(SPARE_CONNECTIONS))
}

fn free(limit: &ConnectionLimit) -> u64 {
    limit.limit.saturating_sub(limit.in_use)
}

fn free_connections(server: &DatabaseFacts, max: u64) -> u64 {
    max.saturating_sub(server.reserved_connections)
        .saturating_sub(u64::from(server.connections.unwrap_or(0)))
}

fn of_narrower_limit(
    server: &DatabaseFacts,
    limit: &ConnectionLimit,
    clients: &str,
    needed: u64,
) -> Examined {
    let user = &server.user;
    let owner = match &limit.owner {
        LimitOwner::Role => format!("the role {user}"),
        LimitOwner::Database(name) => format!("the database {name}"),
        LimitOwner::Account => format!("the account {user}"),
        LimitOwner::EachAccount => "each account".to_owned(),
    };
    let value = format!(
        "{} of {} free for {owner}",
        thousands(free(limit)),
        thousands(limit.limit)
    );
    let reason = format!(
        "{clients} need {}: some of them would be refused.",
        thousands(needed)
    );
    let finding = bad(value, reason);
    let command = match &limit.owner {
        LimitOwner::Role => is_plain_name(user)
            .then(|| format!("psql -c 'ALTER ROLE \"{user}\" CONNECTION LIMIT -1'")),
        LimitOwner::Database(name) => is_plain_name(name)
            .then(|| format!("psql -c 'ALTER DATABASE \"{name}\" CONNECTION LIMIT -1'")),
        LimitOwner::Account => mysql_account(server).map(|account| {
            format!("mysql -e \"ALTER USER {account} WITH MAX_USER_CONNECTIONS 0\"")
        }),
        LimitOwner::EachAccount => {
            Some("mysql -e 'SET GLOBAL max_user_connections = 0'".to_owned())
        }
    };
    match command {
        Some(command) => finding
            .mended_by(command)
            .advised("Run it as an administrator of the server."),
        None => finding.advised("Raise this limit, as an administrator of the server."),
    }
}

fn of_server(server: &DatabaseFacts, clients: &str, needed: u64) -> Examined {
    let max = server
        .max_connections
        .ok_or("The server does not report its limit.")?;
    let usable = max.saturating_sub(server.reserved_connections);
    if server.connections.is_none() && usable >= needed {
        let reason = format!(
            "The limit is {}, but this user may not read how many connections are in use.",
            thousands(max)
        );
        return unknown(reason);
    }
    let free = free_connections(server, max);
    let value = format!(
        "{} of {} free for this user",
        thousands(free),
        thousands(max)
    );
    if free >= needed {
        return ok(value, format!("{clients} need {}.", thousands(needed)));
    }
    let new_max = max + needed - free;
    let reason = format!(
        "{clients} need {}: some of them would be refused.",
        thousands(needed)
    );
    let finding = bad(value, reason);
    match server.dialect() {
        Some(SqlDialect::PostgreSql) | None => finding
            .mended_by(format!(
                "psql -c 'ALTER SYSTEM SET max_connections = {new_max}'"
            ))
            .advised("Then restart the server."),
        Some(SqlDialect::MySql) => finding
            .mended_by(format!("mysql -e 'SET GLOBAL max_connections = {new_max}'"))
            .advised("Write it into the server's option file as well."),
        Some(SqlDialect::TransactSql) => finding
            .mended_by(
                "sqlcmd -Q \"EXEC sp_configure 'show advanced options', 1; RECONFIGURE; EXEC sp_configure 'user \
                 connections', 0; RECONFIGURE\"",
            )
            .advised("Then restart the server."),
    }
}

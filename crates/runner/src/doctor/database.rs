//! What the doctor reads of the server, and how fast the way to it is.
//!
//! In: a control connection. Out: facts. Must never: fail because this user may not read something.

use prony_judge::doctor::DatabaseFacts;
use prony_server::control::Error;
use prony_server::observe::machine::{Colocation, read_this_machine};
use prony_server::observe::{
    AccountLimits, CounterReader, measure_round_trips, read_account_limits, read_server_state,
};
use prony_server::{Control, ServerFacts, Target, read_server_facts};
use prony_store::SqlDialect;

/// Connections that SQL Server allows without a limit of its own (documentation of `user connections`).
const SQL_SERVER_MAX_CONNECTIONS: u64 = 32_767;

pub(super) fn read(
    control: &mut Control,
    target: &Target,
    colocation: &Colocation,
) -> Result<DatabaseFacts, Error> {
    let round_trips_ns = measure_round_trips(control)?;
    let facts = read_server_facts(control)?;
    let (server_state, mut missing) = read_server_state(control, &facts)?;
    let mut reader = CounterReader::new(control)?.of_service(facts.service);
    let counters = reader.read(control)?;
    missing.extend(reader.take_missing());
    // Topics with the reasons; without those that the service does not have, which no grant would show.
    let mut not_observed: Vec<(String, String)> = Vec::new();
    for value in missing.into_iter().filter(|missing| !missing.absent) {
        let topic = value.what.text().to_owned();
        if not_observed.iter().all(|(known, _)| *known != topic) {
            let reason = value.why.trim_end_matches('.').to_owned();
            not_observed.push((topic, reason));
        }
    }
    let mut account_limits = read_account_limits(control)?;
    let limits_not_read = account_limits.not_read.take();
    if let Some(reason) = limits_not_read {
        not_observed.push(("the account's limits of connections".to_owned(), reason));
    }
    let (user, account_host) = account_of(&account_limits, &target.user);
    let product = facts.product(control.product());
    let is_local = colocation.same_machine == Some(true);
    Ok(DatabaseFacts {
        product: Some(product),
        service: facts.service,
        is_debug_build: is_debug_build(&facts),
        tls: control.tls().map(str::to_owned),
        is_remote: control.endpoint().is_remote() && !is_local,
        same_machine: colocation.same_machine,
        same_machine_because: colocation.reason.to_owned(),
        round_trips_ns,
        max_connections: max_connections(product.dialect, &facts),
        reserved_connections: reserved_connections(product.dialect, &facts),
        connections: counters.connections,
        narrower_limits: account_limits.limits,
        user,
        account_host,
        not_observed,
        database_bytes: server_state.database_bytes,
        cache_bytes: server_state.cache_bytes,
        memory_bytes: is_local.then(|| read_this_machine().memory_bytes).flatten(),
        version: facts.version,
        storage: None,
    })
}

/// The user and the host of the account that the server chose; the user of the log-in if the server has no such accounts.
fn account_of(limits: &AccountLimits, login_user: &str) -> (String, Option<String>) {
    let account = limits.account.as_deref();
    match account.and_then(|account| account.rsplit_once('@')) {
        Some((user, host)) => (user.to_owned(), Some(host.to_owned())),
        None => (login_user.to_owned(), None),
    }
}

/// The number that a setting has; `None` if there is no such setting, or it is no number.
fn setting(facts: &ServerFacts, name: &str) -> Option<u64> {
    facts.setting(name)?.trim().parse().ok()
}

/// The largest number of connections; `None` if the server does not say.
fn max_connections(dialect: SqlDialect, facts: &ServerFacts) -> Option<u64> {
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => setting(facts, "max_connections"),
        SqlDialect::TransactSql => Some(match setting(facts, "user connections")? {
            0 => SQL_SERVER_MAX_CONNECTIONS,
            limit => limit,
        }),
    }
}

/// Connections that an ordinary user may not use.
fn reserved_connections(dialect: SqlDialect, facts: &ServerFacts) -> u64 {
    let names: &[&str] = match dialect {
        SqlDialect::PostgreSql => &["superuser_reserved_connections", "reserved_connections"],
        // MySQL and MariaDB accept one more connection than the limit, for an administrator.
        SqlDialect::MySql | SqlDialect::TransactSql => &[],
    };
    names.iter().filter_map(|name| setting(facts, name)).sum()
}

fn is_debug_build(facts: &ServerFacts) -> bool {
    facts.setting("debug_assertions") == Some("on")
        || facts.version.to_ascii_lowercase().contains("-debug")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(version: &str, settings: &[(&str, &str)]) -> ServerFacts {
        let pairs = settings.iter();
        ServerFacts {
            version: version.to_owned(),
            settings: pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            ..ServerFacts::default()
        }
    }

    #[test]
    fn limits_of_connections_are_read_for_each_engine() {
        let postgres = settings(
            "17.2",
            &[
                ("max_connections", "100"),
                ("superuser_reserved_connections", "3"),
                ("reserved_connections", "2"),
            ],
        );
        assert_eq!(
            max_connections(SqlDialect::PostgreSql, &postgres),
            Some(100)
        );
        assert_eq!(reserved_connections(SqlDialect::PostgreSql, &postgres), 5);
        let maria = settings("11.4.2-MariaDB", &[("max_connections", "151")]);
        assert_eq!(max_connections(SqlDialect::MySql, &maria), Some(151));
        let sql_server = |limit| settings("16.0", &[("user connections", limit)]);
        assert_eq!(
            max_connections(SqlDialect::TransactSql, &sql_server("0")),
            Some(32_767)
        );
        assert_eq!(
            max_connections(SqlDialect::TransactSql, &sql_server("50")),
            Some(50)
        );
        assert_eq!(
            max_connections(SqlDialect::MySql, &settings("8.4", &[])),
            None
        );
    }

    #[test]
    fn debug_builds_are_recognized() {
        assert!(is_debug_build(&settings(
            "17.2",
            &[("debug_assertions", "on")]
        )));
        assert!(is_debug_build(&settings("8.0.36-debug", &[])));
        assert!(!is_debug_build(&settings("17.2 (Debian)", &[])));
    }
}

//! Whether the server's counters confirm the client's, and whether the server was restarted or replaced.
//!
//! In: a Run. Out: `server-commits`, `restart`, `settings-changed`, `observer`, `unobserved`. Must never: treat the
//! server's counters as exact: they lag by up to a second, and they include commits of the client's own
//! connections, the observer and the server's housekeeping.

use crate::all_kinds;
use crate::checks::{Finding, invalid, invalid_or_caveat, new_finding, note};
use crate::compare::rule_table::reported_server_settings;
use crate::errors::severity_unless_outage_expected;
use crate::formatting::{count, percent, thousands, time};
use crate::observations::observed;
use crate::service::is_absent;
use crate::thresholds::{
    COMMITS_GAP_MAX_SHARE, COMMITS_LAG_MAX_S, COMMITS_MIN_COUNT, COMMITS_OF_SERVER_MAX,
    COMMITS_PER_CLIENT_MAX, FOREIGN_INVALID_SHARE, SAME_START_MAX_GAP_S, severity_of_counted_share,
};
use crate::workload::description;
use prony_store::{EventKind, Figures, ObservedTopic, Run, RunState, Severity, Spread, SqlDialect};

/// Commits from before the load to after it, by the counts of the server and of the client.
struct CommitCounts {
    server: u64,
    client: u64,
    /// Queries of the observer, which commit too.
    queries: u64,
}

/// The counts; `None` if they cannot be compared.
fn commit_counts(run: &Run) -> Option<CommitCounts> {
    let observed = run.observed.as_ref()?;
    let (before, after) = run.states()?;
    let server = after.commits?.checked_sub(before.commits?)?;
    let committed = |figures: &Figures| {
        let all = figures.all_kinds();
        all.map_or(0, |all| all.committed)
    };
    let client = committed(&run.measured) + run.warmup.as_ref().map_or(0, committed);
    let queries = observed.cost.as_ref().map_or(0, |cost| cost.queries);
    // A server that counts fewer commits than the observer made queries has no working counters.
    if client < COMMITS_MIN_COUNT || server < queries || !counts_all_commits(run) {
        return None;
    }
    // One of several servers counts only its own commits.
    if run.endpoints.len() > 1
        && (run.drive.spread != Some(Spread::First) || run.drive.read_share_percent.is_some())
    {
        return None;
    }
    // After a failover another server counts.
    let has_moved = run.ledger.as_ref().is_some_and(|account| {
        account.server_before.get("server") != account.server_after.get("server")
    });
    if has_moved {
        return None;
    }
    // The sessions of a pooler report their commits late.
    if run.state != RunState::Complete || was_restarted(run) || run.server.pooler.is_some() {
        return None;
    }
    Some(CommitCounts {
        server,
        client,
        queries,
    })
}

/// The share of the server's commits that other clients made; `None` if they made too few to be told from the run's own.
fn foreign_share(run: &Run, counts: &CommitCounts) -> Option<f64> {
    let (server, client) = (counts.server as f64, counts.client as f64);
    let allowed = COMMITS_OF_SERVER_MAX
        + u64::from(run.drive.clients) * COMMITS_PER_CLIENT_MAX
        + 2 * counts.queries
        + run.measured.unfinished;
    let maximum = client * (1.0 + COMMITS_GAP_MAX_SHARE) + allowed as f64;
    let counts_are_exact = run.server.dialect() == Some(SqlDialect::PostgreSql)
        && description(run).is_some_and(|description| description.commits_once)
        && !run.drive.connect_per_transaction;
    (counts_are_exact && server > maximum).then(|| (server - client) / server)
}

/// Whether other clients committed in the same database.
pub(crate) fn others_committed(run: &Run) -> bool {
    commit_counts(run).is_some_and(|counts| foreign_share(run, &counts).is_some())
}

pub(crate) fn check_server_commits(run: &Run) -> Option<Finding> {
    let counts = commit_counts(run)?;
    let lag = all_kinds(run)?.tps * COMMITS_LAG_MAX_S;
    let minimum = counts.client as f64 * (1.0 - COMMITS_GAP_MAX_SHARE) - lag;
    let counts_text = format!(
        "The server counted {} commits from before the load to after it, the client {}",
        thousands(counts.server),
        thousands(counts.client)
    );
    // A script may have transactions without a statement, and other tools count rows as transactions. The sessions of a
    // search stay open after a step, and PostgreSQL's sessions report what touched no table when they end.
    let commits_each = description(run).is_none_or(|description| {
        let has_tables = !description.table_names.is_empty();
        (description.commits_once && (has_tables || run.search().is_none()))
            || (has_tables && observed(run).is_some())
    });
    if commits_each && (counts.server as f64) < minimum {
        return invalid(
            format!(
                "{counts_text}: the server is missing commits that were confirmed to the client."
            ),
            "Check whether the load went to a different server or database than the observed one (a proxy, \
             several hosts in the URL); if not, do not use these figures.",
        );
    }
    let foreign_share = foreign_share(run, &counts)?;
    new_finding(
        invalid_or_caveat(foreign_share > FOREIGN_INVALID_SHARE),
        format!(
            "{counts_text}: other clients used this database during the run, and committed {} of the transactions.",
            percent(foreign_share)
        ),
        "Run on a database that nobody else uses; otherwise the figures show only the remaining capacity.",
    )
}

/// Whether the server counts each successful transaction as a commit. MySQL and MariaDB count neither replies
/// from the query cache nor transactions on tables without transactions.
fn counts_all_commits(run: &Run) -> bool {
    match run.server.dialect() {
        Some(SqlDialect::PostgreSql) => return true,
        // It counts the transactions that begin.
        Some(SqlDialect::TransactSql) => return false,
        Some(SqlDialect::MySql) | None => {}
    }
    let cache = run.server.settings.get("query_cache_type");
    let has_query_cache = cache.is_some_and(|value| !matches!(value.as_str(), Some("OFF" | "0")));
    let has_unlogged_tables = run
        .state_before()
        .is_none_or(|state| state.tables.iter().any(|table| table.unlogged));
    !has_query_cache && !has_unlogged_tables
}

/// Settings that the plan sets must last; of others, only those that matter to figures are named.
pub(crate) fn check_settings_changed(run: &Run) -> Option<Finding> {
    let observed = observed(run)?;
    let is_planned = |name: &str| {
        let planned = run.plan["settings"].as_object();
        planned.is_some_and(|all| all.keys().any(|planned| planned.eq_ignore_ascii_case(name)))
    };
    let is_relevant = |name: &str| {
        is_planned(name) || reported_server_settings().any(|relevant| relevant == name)
    };
    let text_of = |value: &serde_json::Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let mut texts = Vec::new();
    let mut has_planned = false;
    for (name, after) in &observed.settings_changed {
        if is_relevant(name) {
            let before = run.server.settings.get(name).map(text_of);
            let before = before.unwrap_or_default();
            texts.push(format!("{name} from {before} to {}", text_of(after)));
            has_planned |= is_planned(name);
        }
    }
    if texts.is_empty() {
        return None;
    }
    new_finding(
        invalid_or_caveat(has_planned),
        format!(
            "Somebody changed settings of the server during the run: {}.",
            texts.join(", ")
        ),
        "Repeat the run while nobody else changes the server.",
    )
}

/// Whether the server was restarted during the run, or replaced by another. Its start time alone does not say so,
/// because some engines report a wrong one: connections were lost too, or the counters reset.
fn was_restarted(run: &Run) -> bool {
    let Some((before, after)) = run.states() else {
        return false;
    };
    if is_absent(run, ObservedTopic::ServerStart) {
        return false;
    }
    let starts = before.started_unix_s.zip(after.started_unix_s);
    let commits = before.commits.zip(after.commits);
    let mut events = run.events.iter();
    let lost_connections = events.any(|event| event.kind == EventKind::Outage)
        || observed(run).is_some_and(|observed| {
            let topics = [ObservedTopic::WhileDisconnected, ObservedTopic::DuringLoad];
            let mut missing = observed.missing.iter();
            missing.any(|missing| topics.contains(&missing.what))
        });
    starts.is_some_and(|(before, after)| (after - before).abs() > SAME_START_MAX_GAP_S)
        && (lost_connections || commits.is_some_and(|(before, after)| after < before))
}

pub(crate) fn check_restart(run: &Run) -> Option<Finding> {
    let observed = observed(run)?;
    let events = observed.events.iter();
    let mut texts: Vec<String> = events
        .filter(|event| event.kind == EventKind::Restart || event.kind == EventKind::Failover)
        .map(|event| format!("at {:.0} s {}", event.at_s, event.detail))
        .collect();
    if texts.is_empty() && was_restarted(run) {
        texts.push("the server's start time changed during the run".to_owned());
    }
    let roles = run
        .states()
        .and_then(|(before, after)| before.is_replica.zip(after.is_replica));
    if texts.is_empty() && roles.is_some_and(|(before, after)| before != after) {
        texts.push("the server's role changed during the run".to_owned());
    }
    if texts.is_empty() {
        return None;
    }
    new_finding(
        severity_unless_outage_expected(run, Severity::Invalid),
        format!("The server changed during the run: {}.", texts.join("; ")),
        "Check its log. Its caches were empty and its counters were reset: run again for figures, or \
         see in the series how long it took to recover.",
    )
}

pub(crate) fn check_observer(run: &Run) -> Option<Finding> {
    let observed = observed(run)?;
    let cost = observed.cost.as_ref()?;
    let load_s = run.window.warmup_s + run.measured.length_s;
    let cpu_s = cost.client_cpu_s.unwrap_or(0.0) + cost.server_cpu_s.unwrap_or(0.0);
    let cpus = f64::from(observed.machine.cpus.unwrap_or(1));
    let share = cpu_s / (cpus * load_s.max(f64::MIN_POSITIVE));
    new_finding(
        // Never invalid, because the share is an upper bound of the effect: CPU time that was idle anyway
        // costs the load nothing.
        severity_of_counted_share(share, load_s)?.min(Severity::Caveat),
        format!(
            "Observing the server took {} of CPU time, {} of its machine, for {} (the longest round \
             {}).",
            time(cpu_s * 1e9),
            percent(share),
            count(cost.queries, "query").replace("querys", "queries"),
            time(cost.longest_round_s * 1e9),
        ),
        "Run without it (--no-observe) if a difference as small as that matters.",
    )
}

pub(crate) fn check_unobserved(run: &Run) -> Option<Finding> {
    let observed = run.observed.as_ref()?;
    let finding = match &observed.off {
        Some(reason) => format!("The server was not observed during the run: {reason}."),
        None => {
            let missing = observed.missing.iter().filter(|missing| !missing.absent);
            let topics: Vec<&str> = missing.map(|missing| missing.what.text()).collect();
            if topics.is_empty() {
                return None;
            }
            format!("Not observed: {}.", topics.join("; "))
        }
    };
    note(
        finding,
        "Checks that need it were skipped. The document says why each is missing (observed.missing), \
         and usually which privilege to grant.",
    )
}

#[cfg(test)]
mod tests;

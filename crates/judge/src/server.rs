//! Whether the server did what the client says, stayed the same one, and what held it back.
//!
//! In: a Run. Out: `server-commits`, `restart`, `limiter`, `observer`, `unobserved`. Must never: take
//! the server's counters for exact: they lag by up to a second, and the client's own connections,
//! the observer and the server's housekeeping commit too.

use crate::thresholds::{
    COMMITS_GAP, COMMITS_LAG_S, COMMITS_OVERHEAD, COMMITS_PER_CLIENT, LEAST_COMMITS, LIMITER_BUSY,
    LIMITER_DISK, LIMITER_WAITS, OBSERVER_CPU, SAME_START_S,
};
use crate::watch::{machine, observed, rows};
use crate::words::{count, percent, thousands, time};
use crate::{all, found};
use prony_store::{Check, Figures, Run, Severity, State};
use std::collections::BTreeMap;

/// Workloads of which a transaction is one commit in PostgreSQL, and nothing else commits.
const ONE_EACH: [&str; 3] = ["tpcb", "simple-update", "select-only"];

pub(crate) fn commits(run: &Run) -> Option<Check> {
    let seen = observed(run)?;
    let (before, after) = (seen.before.as_ref()?, seen.after.as_ref()?);
    let server = after.commits?.checked_sub(before.commits?)?;
    let of = |figures: &Figures| {
        let all = figures.kinds.iter().find(|kind| kind.kind == "all");
        all.map_or(0, |all| all.committed)
    };
    let client = of(&run.measured) + run.warmup.as_ref().map_or(0, of);
    let queries = seen.cost.as_ref().map_or(0, |cost| cost.queries);
    // A server that does not even count what looks at it, counts nothing.
    if client < LEAST_COMMITS || server < queries || !counts_all(run) {
        return None;
    }
    if run.state != State::Complete || restarted(run) {
        return None;
    }
    let lag = all(run)?.tps * COMMITS_LAG_S;
    let least = client as f64 * (1.0 - COMMITS_GAP) - lag;
    let both = format!(
        "The server counted {} commits from before the load to after it, the client {}",
        thousands(server),
        thousands(client)
    );
    if (server as f64) < least {
        return found(
            "server-commits",
            Severity::Invalid,
            format!("{both}: not all that the client calls committed is so on this server."),
            "See whether the load went to another server or database than the one observed (a proxy, \
             several hosts in the URL); otherwise do not use these figures.",
        );
    }
    let clients = u64::from(run.drive.clients);
    let allowed =
        COMMITS_OVERHEAD + clients * COMMITS_PER_CLIENT + 2 * queries + run.measured.unfinished;
    let most = client as f64 * (1.0 + COMMITS_GAP) + allowed as f64;
    let exact = run.server.engine == "postgresql"
        && ONE_EACH.contains(&run.workload.name.as_str())
        && !run.drive.connect_per_transaction;
    if !exact || server as f64 <= most {
        return None;
    }
    found(
        "server-commits",
        Severity::Caveat,
        format!("{both}: others used this database during the run."),
        "Run on a database that nobody else uses, or the figures show what was left over.",
    )
}

/// Whether each transaction that ends well is among the server's commits. On MySQL and MariaDB what comes
/// from the query cache, or goes to tables without transactions, is not.
fn counts_all(run: &Run) -> bool {
    if run.server.engine == "postgresql" {
        return true;
    }
    let cache = run.server.settings.get("query_cache_type");
    let cached = cache.is_some_and(|value| !matches!(value.as_str(), Some("OFF" | "0")));
    let before = observed(run).and_then(|seen| seen.before.as_ref());
    let plain = before.is_none_or(|state| state.tables.iter().any(|table| table.unlogged));
    !cached && !plain
}

/// Whether the server was another one after the run than before, or in another role.
fn restarted(run: &Run) -> bool {
    let Some((before, after)) = states(run) else {
        return false;
    };
    let starts = before.started_unix_s.zip(after.started_unix_s);
    starts.is_some_and(|(was, is)| (is - was).abs() > SAME_START_S)
}

fn states(run: &Run) -> Option<(&prony_store::ServerState, &prony_store::ServerState)> {
    let seen = observed(run)?;
    seen.before.as_ref().zip(seen.after.as_ref())
}

pub(crate) fn restart(run: &Run) -> Option<Check> {
    let seen = observed(run)?;
    let mut told: Vec<String> = seen
        .events
        .iter()
        .filter(|event| event.what == "restart" || event.what == "failover")
        .map(|event| format!("at {:.0} s {}", event.at_s, event.detail))
        .collect();
    if told.is_empty() && restarted(run) {
        told.push("after the run the server had another time of its start than before".to_owned());
    }
    let roles = states(run).and_then(|(was, is)| was.is_replica.zip(is.is_replica));
    if told.is_empty() && roles.is_some_and(|(was, is)| was != is) {
        told.push("after the run the server had another role than before".to_owned());
    }
    if told.is_empty() {
        return None;
    }
    found(
        "restart",
        Severity::Invalid,
        format!("The server did not stay the same: {}.", told.join("; ")),
        "See its log. Its caches were empty and its counters began anew: run again for figures, or \
         read the series for how long it took to come back.",
    )
}

/// What most probably held the throughput back: Gregg's "why not double?".
pub(crate) fn limiter(run: &Run) -> Option<Check> {
    observed(run)?;
    let busy = machine(run, |of| of.busy).filter(|busy| *busy > LIMITER_BUSY);
    let disk = machine(run, |of| of.disk_busy).filter(|busy| *busy > LIMITER_DISK);
    let (waits, waited) = most_waits(run)?;
    let waits = Some((waits, waited)).filter(|(_, waited)| *waited > LIMITER_WAITS);
    let mut told = Vec::new();
    if let Some(busy) = busy {
        told.push(format!(
            "the CPUs of the server's machine were {} busy",
            percent(busy)
        ));
    }
    if let Some(disk) = disk {
        told.push(format!(
            "its busiest disk had I/O under way for {} of the time",
            percent(disk)
        ));
    }
    if let Some((event, waited)) = waits {
        told.push(format!(
            "{} of the sessions at work waited for {event}",
            percent(waited)
        ));
    }
    if told.is_empty() {
        return None;
    }
    found(
        "limiter",
        Severity::Note,
        format!("Why not more: {}.", told.join("; ")),
        "More of the same (CPUs, faster commits to disk, fewer conflicts) is what would raise the \
         throughput; another figure of this server would not.",
    )
}

/// What sessions at work waited for most often, and their share; computing is no wait, and neither is
/// waiting for the client.
fn most_waits(run: &Run) -> Option<(String, f64)> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in rows(run) {
        for (event, sessions) in &row.waits {
            *sums.entry(event).or_default() += u64::from(*sessions);
        }
    }
    let all: u64 = sums.values().sum();
    sums.retain(|event, _| *event != "CPU" && !event.starts_with("Client/"));
    let most = sums.into_iter().max_by_key(|(_, sessions)| *sessions);
    let (event, sessions) = most.unwrap_or(("", 0));
    Some((event.to_owned(), sessions as f64 / all.max(1) as f64))
}

pub(crate) fn observer(run: &Run) -> Option<Check> {
    let seen = observed(run)?;
    let cost = seen.cost.as_ref()?;
    let load_s = run.window.warmup_s + run.measured.seconds;
    let cpu_s = cost.client_cpu_s.unwrap_or(0.0) + cost.server_cpu_s.unwrap_or(0.0);
    let cpus = f64::from(seen.machine.cpus.unwrap_or(1));
    let share = cpu_s / (cpus * load_s.max(f64::MIN_POSITIVE));
    if share <= OBSERVER_CPU {
        return None;
    }
    found(
        "observer",
        Severity::Caveat,
        format!(
            "Looking at the server took {} of CPU time, {} of its machine, for {} (the longest round \
             {}).",
            time(cpu_s * 1e9),
            percent(share),
            count(cost.queries, "query").replace("querys", "queries"),
            time(cost.longest_round_s * 1e9),
        ),
        "Run without it (--no-observe) where a difference as small as that matters.",
    )
}

pub(crate) fn unobserved(run: &Run) -> Option<Check> {
    let seen = run.observed.as_ref()?;
    let finding = match &seen.off {
        Some(why) => format!("Nobody looked at the server during the run: {why}."),
        None if seen.missing.is_empty() => return None,
        None => {
            let what: Vec<&str> = seen.missing.iter().map(|one| one.what.as_str()).collect();
            format!("Of the server was not seen: {}.", what.join("; "))
        }
    };
    found(
        "unobserved",
        Severity::Note,
        finding,
        "The checks that need it were left out. The document says of each why it is missing \
         (observed.missing), and mostly what to grant.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, observed_mut, watched};
    use prony_store::{Event, Missing};

    fn with_commits(server: u64) -> Run {
        let mut run = watched();
        let seen = observed_mut(&mut run);
        seen.after.as_mut().unwrap().commits = Some(1_000 + server);
        run
    }

    #[test]
    fn what_the_client_calls_committed_is_so_on_the_server() {
        let severity = |run: &Run| commits(run).map(|check| check.severity);
        // 9,760,000 by the client, 16,000 a second.
        assert_eq!(severity(&with_commits(9_760_000)), None);
        assert_eq!(severity(&with_commits(9_650_000)), None, "1 % and the lag");
        let check = commits(&with_commits(9_600_000)).unwrap();
        assert_eq!(check.severity, Severity::Invalid);
        assert!(check.finding.contains("counted 9,600,000"), "{check:?}");
        assert_eq!(severity(&with_commits(9_860_000)), None);
        assert_eq!(severity(&with_commits(9_900_000)), Some(Severity::Caveat));
        let mut other = with_commits(99_000_000);
        other.workload.name = "script".to_owned();
        assert_eq!(severity(&other), None, "a script may commit more than once");
        assert_eq!(severity(&with_commits(100)), None, "it counts nothing");
        let mut cached = with_commits(9_600_000);
        cached.server.engine = "mariadb".to_owned();
        assert_eq!(severity(&cached), Some(Severity::Invalid));
        let settings = &mut cached.server.settings;
        settings.insert("query_cache_type".to_owned(), "ON".into());
        assert_eq!(
            severity(&cached),
            None,
            "what comes from the cache is no commit"
        );
        let mut plain = with_commits(9_600_000);
        plain.server.engine = "mysql".to_owned();
        observed_mut(&mut plain).before.as_mut().unwrap().tables[0].unlogged = true;
        assert_eq!(severity(&plain), None, "MyISAM has none");
        let mut partial = with_commits(9_600_000);
        partial.state = State::Partial;
        assert_eq!(severity(&partial), None);
        assert_eq!(severity(&healthy()), None, "nobody looked");
    }

    #[test]
    fn a_server_that_did_not_stay_the_same() {
        let severity = |run: &Run| restart(run).map(|check| check.severity);
        assert_eq!(severity(&watched()), None);
        let mut run = watched();
        observed_mut(&mut run).events.push(Event {
            at_s: 42.0,
            what: "failover".to_owned(),
            detail: "the server was the primary and is a replica".to_owned(),
            ..Event::default()
        });
        let check = restart(&run).unwrap();
        assert_eq!(check.severity, Severity::Invalid);
        assert!(
            check.finding.contains("at 42 s the server was the primary"),
            "{check:?}"
        );
        let mut run = watched();
        let after = observed_mut(&mut run).after.as_mut().unwrap();
        after.started_unix_s = Some(1_795_000_500.0);
        assert_eq!(severity(&run), Some(Severity::Invalid));
        assert_eq!(commits(&run), None, "its counters began anew");
        let mut run = watched();
        observed_mut(&mut run).after.as_mut().unwrap().is_replica = Some(true);
        assert_eq!(severity(&run), Some(Severity::Invalid));
    }

    #[test]
    fn why_not_more() {
        assert_eq!(limiter(&watched()), None);
        let mut run = watched();
        for row in &mut observed_mut(&mut run).series {
            row.waits = [("CPU".to_owned(), 10), ("Lock/tuple".to_owned(), 30)].into();
            row.machine.get_or_insert_default().busy = Some(0.95);
            row.machine.get_or_insert_default().disk_busy = Some(0.99);
        }
        let check = limiter(&run).unwrap();
        assert_eq!(check.severity, Severity::Note);
        assert!(
            check.finding.contains("95 % busy; its busiest disk"),
            "{check:?}"
        );
        assert!(
            check
                .finding
                .contains("75 % of the sessions at work waited for Lock/tuple")
        );
        for row in &mut observed_mut(&mut run).series {
            row.waits = [("CPU".to_owned(), 1), ("Client/ClientRead".to_owned(), 30)].into();
            row.machine = None;
        }
        assert_eq!(limiter(&run), None, "the client is not the server's limit");
    }

    #[test]
    fn what_looking_costs() {
        let mut run = watched();
        assert_eq!(observer(&run), None);
        // 16 CPUs for 610 s.
        observed_mut(&mut run).cost.as_mut().unwrap().server_cpu_s = Some(150.0);
        let check = observer(&run).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check
                .finding
                .contains("1.5 % of its machine, for 3,660 queries"),
            "{check:?}"
        );
    }

    #[test]
    fn what_was_not_seen() {
        assert_eq!(unobserved(&healthy()), None, "a document of an older Prony");
        let mut run = watched();
        assert_eq!(unobserved(&run), None);
        observed_mut(&mut run).missing.push(Missing {
            what: "checkpoints".to_owned(),
            why: "permission denied".to_owned(),
        });
        let check = unobserved(&run).unwrap();
        assert_eq!(check.severity, Severity::Note);
        assert!(
            check.finding.ends_with("not seen: checkpoints."),
            "{check:?}"
        );
        observed_mut(&mut run).off = Some("--no-observe was given".to_owned());
        assert!(unobserved(&run).unwrap().finding.contains("--no-observe"));
        assert_eq!(limiter(&run), None);
    }
}

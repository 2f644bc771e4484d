//! Whether other clients loaded the server during the run.
//!
//! In: a Run. Out: `foreign-load`, and what others did in the slower seconds of a run. Must never: count a session that is
//! idle, sleeps or waits for its client as load, nor the server's own work (vacuums, replication, backups).

use crate::checks::{Finding, caveat, invalid_or_caveat, new_finding};
use crate::formatting::{joined, percent, thousands};
use crate::machine;
use crate::observations::{observed, rows, sum};
use crate::thresholds::{
    FOREIGN_COMMITS_MIN_PER_S, FOREIGN_INVALID_SAMPLES, FOREIGN_INVALID_SHARE, FOREIGN_MAX_SHARE,
    FOREIGN_MIN_SAMPLES, FOREIGN_MIN_SESSIONS, FOREIGN_SESSIONS_MIN_OWN, NEIGHBOURS_MAX_SHARE,
};
use prony_store::{OtherClients, Run, ServerSecond, SessionGroup};
use std::collections::{BTreeMap, BTreeSet};

/// The load of one group of sessions.
#[derive(Default)]
struct GroupLoad {
    /// Busy sessions, summed over the readings.
    busy: f64,
    /// Readings in which a session of the group was busy.
    readings: u32,
}

pub(crate) fn check_foreign_load(run: &Run) -> Option<Finding> {
    if observed(run).is_none() {
        return check_around_load(run);
    }
    let mut groups: BTreeMap<String, GroupLoad> = BTreeMap::new();
    let (mut all_busy, mut readings) = (0.0, 0.0);
    // Where the run's own sessions are not recognized, the others may be its own.
    let is_own = |group: &SessionGroup| group.own && group.recent > 0;
    for row in rows(run).filter(|row| row.sessions.iter().any(is_own)) {
        readings += 1.0;
        all_busy += row
            .sessions
            .iter()
            .map(|group| f64::from(group.busy))
            .sum::<f64>();
        let others = row
            .sessions
            .iter()
            .filter(|group| !is_of_pool(run, row, group));
        for (name, busy) in others.filter_map(|group| foreign_busy(run, group)) {
            let load = groups.entry(name).or_default();
            load.busy += busy;
            load.readings += 1;
        }
    }
    groups.retain(|_, load| {
        load.readings >= FOREIGN_MIN_SAMPLES && load.busy / readings >= FOREIGN_MIN_SESSIONS
    });
    let foreign_busy: f64 = groups.values().map(|load| load.busy).sum();
    let most_readings = groups.values().map(|load| load.readings).max();
    let session_share = if all_busy > 0.0 { foreign_busy / all_busy } else { 0.0 };
    let commit_share = foreign_commit_share(run).unwrap_or(0.0);
    let share = session_share.max(commit_share);
    if share <= FOREIGN_MAX_SHARE {
        return None;
    }
    let is_certain = commit_share == share
        || most_readings.is_some_and(|readings| readings >= FOREIGN_INVALID_SAMPLES);
    let severity = invalid_or_caveat(share > FOREIGN_INVALID_SHARE && is_certain);
    let mut sentences = Vec::new();
    if !groups.is_empty() {
        let groups = groups.iter();
        let names = groups.map(|(name, load)| format!("{name}: {:.1}", load.busy / readings));
        sentences.push(format!(
            "Of the sessions that were busy in the server, {} were not this run's ({}).",
            percent(session_share),
            joined(names, "; ")
        ));
    }
    if commit_share > FOREIGN_MAX_SHARE {
        sentences.push(format!(
            "{} of the server's commits were in other databases.",
            percent(commit_share)
        ));
    }
    new_finding(
        severity,
        format!("{} {CONSEQUENCE}", sentences.join(" ")),
        ADVICE,
    )
}

const CONSEQUENCE: &str = "The figures show only the capacity that was left, and the server's CPU time is not this run's alone.";
const ADVICE: &str = "End these clients and run again, or use a server that nobody else loads.";

/// As [`check_foreign_load`], of a run whose server was read only before and after the load, when no client of the run was
/// connected. Two readings do not tell how much others did in between, so it is never invalid.
fn check_around_load(run: &Run) -> Option<Finding> {
    let observed = run.observed.as_ref()?;
    let (before, after) = (observed.before.as_ref()?, observed.after.as_ref()?);
    let (others_before, others_after) = (before.others.as_ref()?, after.others.as_ref()?);
    let names = |others: &OtherClients| -> BTreeSet<String> {
        others.sessions.iter().map(group_name).collect()
    };
    let busy_in_both = &names(others_before) & &names(others_after);
    let mut sentences = Vec::new();
    if !busy_in_both.is_empty() {
        sentences.push(format!(
            "Sessions that are not this run's were busy in the server before and after it ({}).",
            joined(&busy_in_both, "; ")
        ));
    }
    let difference = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
    let other = difference(others_before.commits, others_after.commits).unwrap_or(0);
    let own = difference(before.commits, after.commits).unwrap_or(0);
    let share = other as f64 / (own + other).max(1) as f64;
    let load_s = run.window.warmup_s + run.measured.length_s;
    if share > FOREIGN_MAX_SHARE && other as f64 > FOREIGN_COMMITS_MIN_PER_S * load_s {
        sentences.push(format!(
            "{} of the server's commits were in other databases.",
            percent(share)
        ));
    }
    if sentences.is_empty() {
        return None;
    }
    caveat(format!("{} {CONSEQUENCE}", sentences.join(" ")), ADVICE)
}

/// The database, user and program of a group.
fn group_name(group: &SessionGroup) -> String {
    let mut name = format!("database {}, user {}", group.database, group.user);
    if !group.application.is_empty() {
        name += &format!(", program {}", group.application);
    }
    name
}

/// What others did in the slower seconds of the window and hardly in the other ones, as sentences that follow a finding:
/// sessions, commits, or CPU time of other processes. Empty if nothing is known to coincide. `is_slow` gets seconds from the
/// start of the window.
pub(crate) fn describe_rival(run: &Run, is_slow: impl Fn(f64) -> bool) -> String {
    let begin_s = run.window.warmup_s;
    let (slow, fast): (Vec<&ServerSecond>, Vec<&ServerSecond>) =
        rows(run).partition(|row| is_slow(row.at_s + row.length_s / 2.0 - begin_s));
    // The mean in the slower seconds and in the others, if they differ by more than a minimum.
    let compare = |minimum: f64, value: &dyn Fn(&ServerSecond) -> Option<f64>| {
        let mean = |rows: &[&ServerSecond]| {
            let values: Vec<f64> = rows.iter().filter_map(|row| value(row)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let (slow, fast) = (mean(&slow)?, mean(&fast)?);
        (slow - fast > minimum && slow > 2.0 * fast).then_some((slow, fast))
    };
    let mut sentences = String::new();
    let busy = |row: &ServerSecond| {
        let foreign = row
            .sessions
            .iter()
            .filter_map(|group| foreign_busy(run, group));
        foreign.fold(0.0, |sum, (_, busy)| sum + busy)
    };
    if let Some((slow_busy, fast_busy)) = compare(FOREIGN_MIN_SESSIONS, &|row| Some(busy(row))) {
        let groups = slow.iter().flat_map(|row| &row.sessions);
        let groups = groups.filter_map(|group| foreign_busy(run, group));
        let most = groups.max_by(|(_, a), (_, b)| a.total_cmp(b));
        let name = most.map_or(String::new(), |(name, _)| format!(" ({name})"));
        sentences += &format!(
            " In these seconds {slow_busy:.1} sessions of others{name} were busy in the server, in the other seconds \
             {fast_busy:.1}."
        );
    }
    let commits = |row: &ServerSecond| Some(row.other_commits? as f64 / row.length_s);
    if let Some((slow, fast)) = compare(FOREIGN_COMMITS_MIN_PER_S, &commits) {
        sentences += &format!(
            " In these seconds {} transactions per second committed in other databases, in the other seconds {}.",
            thousands(slow as u64),
            thousands(fast as u64)
        );
    }
    let cpu = |row: &ServerSecond| machine::other_cpu_share(run, row);
    if let Some((slow, fast)) = compare(NEIGHBOURS_MAX_SHARE, &cpu) {
        sentences += &format!(
            " In these seconds other processes used {} of the CPUs of the server's machine, in the other seconds {}.",
            percent(slow),
            percent(fast)
        );
    }
    sentences
}

/// Whether these may be sessions of the pool through which the run's clients work: some poolers take the name of the program
/// from a session between two transactions.
fn is_of_pool(run: &Run, row: &ServerSecond, group: &SessionGroup) -> bool {
    let is_like = |own: &SessionGroup| {
        own.own && (&own.database, &own.user) == (&group.database, &group.user)
    };
    run.server.pooler.is_some() && !group.own && row.sessions.iter().any(is_like)
}

/// The name of a group and how many of its busy sessions are not the run's; `None` if there are none. If there are more
/// sessions like the run's than it has clients, another run uses the same database; busy sessions are then divided
/// in proportion.
fn foreign_busy(run: &Run, group: &SessionGroup) -> Option<(String, f64)> {
    let (mut name, mut busy) = (group_name(group), f64::from(group.busy));
    if group.own {
        let min_sessions = run.drive.clients.saturating_add(FOREIGN_SESSIONS_MIN_OWN);
        // With a connection for each transaction, connections that close overlap with new ones.
        if run.drive.connect_per_transaction || group.recent < min_sessions {
            return None;
        }
        let excess = group.recent.saturating_sub(run.drive.clients);
        busy *= f64::from(excess) / f64::from(group.recent);
        name += ", as this run";
    }
    (busy > 0.0).then_some((name, busy))
}

/// The share of the server's commits that were in other databases; `None` if unknown, or if they are few, or came in a
/// burst, as those do that sessions of a pooler report late.
fn foreign_commit_share(run: &Run) -> Option<f64> {
    let commits =
        |count: fn(&ServerSecond) -> Option<u64>| sum(run, count).map(|count| count as f64);
    let own = commits(|row| row.commits)?;
    let other = commits(|row| row.other_commits)?;
    let is_frequent = |row: &&ServerSecond| {
        let minimum = FOREIGN_COMMITS_MIN_PER_S * row.length_s;
        row.other_commits
            .is_some_and(|other| other as f64 > minimum)
    };
    (2 * rows(run).filter(is_frequent).count() > rows(run).count()).then(|| other / (own + other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{observed_mut, observed_run};
    use prony_assertions::TextAssertions;
    use prony_store::Severity;

    fn group(database: &str, application: &str, recent: u32, busy: u32) -> SessionGroup {
        SessionGroup {
            database: database.to_owned(),
            user: "u".to_owned(),
            application: application.to_owned(),
            own: database == "bench",
            recent,
            busy,
        }
    }

    /// The healthy run with these groups in each of the first `readings` of the window.
    fn with_sessions(readings: usize, groups: &[SessionGroup]) -> Run {
        let mut run = observed_run();
        let series = &mut observed_mut(&mut run).series;
        for (at, row) in series.iter_mut().skip(10).enumerate() {
            let is_own = |group: &&SessionGroup| group.own || at < readings;
            row.sessions = groups.iter().filter(is_own).cloned().collect();
        }
        run
    }

    #[test]
    fn busy_sessions_of_others_are_named_and_judged_by_their_share() {
        let own = group("bench", "prony", 64, 36);
        let severity = |readings, groups: &[SessionGroup]| {
            let check = check_foreign_load(&with_sessions(readings, groups));
            check.map(|check| check.severity)
        };
        assert_eq!(severity(600, std::slice::from_ref(&own)), None);
        // The server's own count of transactions is read by one more connection.
        let one_more = group("bench", "prony", 65, 36);
        assert_eq!(severity(600, &[one_more]), None);
        let busy = [own.clone(), group("shop", "app", 9, 9)];
        assert_eq!(severity(600, &busy), Some(Severity::Invalid));
        assert_eq!(severity(30, &busy), None, "a statement now and then");
        let few = [own.clone(), group("shop", "app", 1, 1)];
        assert_eq!(severity(600, &few), Some(Severity::Caveat));
        let check = check_foreign_load(&with_sessions(600, &busy)).unwrap();
        let expected = "20 % were not this run's (database shop, user u, program app: 9.0)";
        check.finding.assert_contains(expected);
        // A second run in the same database.
        let two = group("bench", "prony", 129, 72);
        let mut run = with_sessions(600, &[two]);
        run.workload.description = Some(prony_store::Description::default());
        let check = check_foreign_load(&run).unwrap();
        check.finding.assert_contains("50 %");
        check.finding.assert_contains("as this run");
    }

    /// Odyssey resets the name of the program of a session between two transactions.
    #[test]
    fn sessions_of_a_pool_are_the_run_s_whatever_program_they_name() {
        let unnamed = SessionGroup {
            own: false,
            ..group("bench", "", 4, 4)
        };
        let shop = group("shop", "app", 9, 9);
        let mut run = with_sessions(600, &[group("bench", "prony", 2, 2), unnamed, shop]);
        let text = |run: &Run| check_foreign_load(run).map(|check| check.finding);
        text(&run)
            .unwrap()
            .assert_contains("database bench, user u: 4.0");
        run.server.pooler = Some(prony_store::FoundPooler::default());
        let through_pooler = text(&run).unwrap();
        through_pooler
            .assert_lacks("database bench")
            .assert_contains("database shop");
    }

    #[test]
    fn readings_before_and_after_a_run_name_who_is_busy_in_both() {
        let finding = |before: Vec<SessionGroup>, after: Vec<SessionGroup>, commits: u64| {
            let mut run = observed_run();
            let observed = observed_mut(&mut run);
            observed.off = Some("as another tool".to_owned());
            observed.series.clear();
            let states = [&mut observed.before, &mut observed.after];
            for (state, (sessions, commits)) in
                states.into_iter().zip([(before, 7), (after, 7 + commits)])
            {
                let commits = Some(commits);
                state.as_mut().unwrap().others = Some(OtherClients { commits, sessions });
            }
            check_foreign_load(&run).map(|check| (check.severity, check.finding))
        };
        let rival = || vec![group("shop", "app", 4, 4)];
        assert_eq!(finding(rival(), vec![], 9), None);
        assert_eq!(finding(vec![], vec![], 1_000), None, "monitoring");
        let (severity, text) = finding(rival(), rival(), 9).unwrap();
        assert_eq!(severity, Severity::Caveat);
        text.assert_contains("(database shop, user u, program app)");
        let (_, text) = finding(vec![], vec![], 9_000_000).unwrap();
        text.assert_contains("of the server's commits");
    }

    #[test]
    fn commits_in_other_databases_count_as_load() {
        let mut run = observed_run();
        let set = |run: &mut Run, commits| {
            for row in &mut observed_mut(run).series {
                row.other_commits = Some(commits);
            }
        };
        set(&mut run, 10);
        assert_eq!(check_foreign_load(&run), None, "monitoring");
        set(&mut run, 4_000);
        let check = check_foreign_load(&run).unwrap();
        assert_eq!(check.severity, Severity::Invalid);
        let finding = &check.finding;
        finding.assert_contains("20 % of the server's commits");
    }
}

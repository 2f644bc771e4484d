//! All checks and the other findings, as data: when each is reported, and what it limits.
//!
//! In: a [`Run`]. Out: its findings, and the tables of the reference documentation. Must never: report what is not in one
//! of these tables, but for the remarks of workloads, which have ids of their own.
//!
//! Where a rule has several severities, the severity follows from the known effect on the figure
//! ([`severity_of_effect`](crate::thresholds::severity_of_effect)) unless the rule says otherwise.

use crate::{
    burst, client, client_setup, consistency, data, declared, endpoints, errors, foreign_load,
    growth, housekeeping, ledger, length, limiter, limits, littles_law, machine, machines, marks,
    memory, pooler, rate, server, service, shares, short_stalls, stall, stamps, steady, tables,
    workload,
};
use prony_store::{Check, FindingKind, Run, Severity};
use std::collections::BTreeSet;

/// When a finding is reported, and how severe it is then.
#[derive(Debug)]
pub struct Rule {
    pub severities: &'static [Severity],
    pub applies_when: &'static str,
}

pub struct CheckSpec {
    pub id: &'static str,
    /// What a figure with this finding is limited to, such as `client and server on one machine`. A caveat of a check
    /// without it casts doubt on the measurement: a figure with a limited scope is right for what it covers.
    pub scope: Option<&'static str>,
    pub rules: &'static [Rule],
    run: fn(&Run) -> Option<Finding>,
}

/// What a check found: a sentence with figures, and advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub severity: Severity,
    pub finding: String,
    pub advice: String,
}

/// Findings that are not made by a check of a run.
pub struct OtherFindings {
    pub ids: &'static [&'static str],
    pub rules: &'static [Rule],
}

macro_rules! rules {
    ($([$($severity:ident),+] $applies_when:literal)+) => {
        &[$(Rule { severities: &[$(Severity::$severity),+], applies_when: $applies_when }),+]
    };
}

macro_rules! checks {
    ($($id:literal $(($scope:literal))?: $run:path { $($rules:tt)+ })+) => {
        &[$(CheckSpec {
            id: $id,
            scope: [$(Some($scope),)? None][0],
            rules: rules! { $($rules)+ },
            run: $run,
        }),+]
    };
}

macro_rules! other_findings {
    ($($($id:literal),+ { $($rules:tt)+ })+) => {
        &[$(OtherFindings { ids: &[$($id),+], rules: rules! { $($rules)+ } }),+]
    };
}

/// All checks, in the order in which findings of one severity and kind are reported.
pub static CHECKS: &[CheckSpec] = checks! {
    "nothing-committed": errors::check_nothing_committed {
        [Invalid] "no committed transaction, or nothing measured"
    }
    "machines": machines::check_machines {
        [Invalid] "one of several machines that drove the clients was lost: the rest is another load"
        [Caveat] "a machine may have begun more than 5 ms, or more than 1 % of the window, apart from the common start"
        [Note] "the clients of a machine committed less than half as much as those of the others, or its mean server time was more than twice theirs, or its busiest thread had much more or less to do"
    }
    "restart": server::check_restart {
        [Invalid] "the server was restarted or changed its role"
        [Note] "it was, if the plan expects an outage"
    }
    "marks": marks::check_marks {
        [Invalid] "a command of the plan (`--at`) failed, did not run or did not end"
    }
    "settings-changed": server::check_settings_changed {
        [Invalid] "a setting that the plan sets had another value after the run"
        [Caveat] "another setting that comparisons look at"
    }
    "tables-replaced": tables::check_tables_replaced {
        [Invalid] "a table of the run was replaced, emptied or dropped during it (another oid, file or time of creation), or lost half of its size or more"
        [Caveat] "one of which it is not known whether the run uses it"
    }
    "lost-commits": growth::check_lost_commits {
        [Invalid] "of what each commit adds, such as rows of a history, the server has less after the run than commits were acknowledged; or more than can have been committed, after connections were lost or the server changed. The server is waited for, up to 30 s after the end"
        [Caveat] "more than can have been committed, but no connection was lost: others wrote; or connections were lost, and what commits add was not counted, or others wrote too"
        [Note] "what commits add was not counted: the tables are too large, or the server refused"
    }
    "ledger": ledger::check_ledger {
        [Invalid] "an acknowledged commit is not on the server after the run, or an entry is there twice or without having been committed (`--ledger`)"
        [Caveat] "the table could not be read after the run; or transactions committed without an entry"
        [Note] "every commit is accounted for"
    }
    "consistency": consistency::check_consistency {
        [Invalid] "a consistency condition of the data does not hold after the run (`--check-after`)"
        [Caveat] "the check could not be completed"
    }
    "server-commits": server::check_server_commits {
        [Invalid] "the server counts fewer commits than the client, by more than 1 % plus those of one second"
        [Invalid, Caveat] "the server counts over 10 % (1 %) more commits than the client, in addition to those of connections and observer; only if each transaction is one commit"
    }
    "littles-law": littles_law::check {
        [Invalid] "clients and busy time differ by more than 2 %"
        [Caveat] "they do, but by no more than 10 %, and transactions across an edge of the window explain it: those in flight at its end, or the longest ones, one for each client; or by no more than 3 %, and threads waited for a CPU for that share of the time or more"
        [Note] "not checked: connections lost, or transactions longer than 1 % of the window"
    }
    "errors": errors::check_errors {
        [Invalid] "more than 1 % of the transactions failed"
        [Caveat] "any failed; with an expected outage, also more if they failed by lost connections"
    }
    "rate": rate::check_rate {
        [Invalid] "less than 95 % of the requested rate; a caveat if the plan expects an outage"
        [Caveat] "less than 99 % of the requested rate"
    }
    "never-started": rate::check_never_started {
        [Caveat] "more than 1 % of the due starts"
        [Note] "any"
    }
    "partial-run" ("an incomplete run"): length::check_partial_run {
        [Caveat] "the run is not complete"
    }
    "short-run" ("less than 10 s"): length::check_short_run {
        [Caveat] "measured for less than 10 s"
    }
    "not-judged": length::check_not_judged {
        [Note] "checks for which the window was too short: less than 20 s for steadiness, fewer than 100 transactions with a split"
    }
    "few-transactions": length::check_few_transactions {
        [Caveat] "fewer than 20 transactions committed, or, in a run by time, they take longer than half of the window on average"
    }
    "outage": errors::check_outage {
        [Invalid] "connections lost and not restored, for the last 1 % of the window or more"
        [Invalid] "clients without a connection for more than 5 % of the window, averaged over all clients"
        [Caveat] "any connection lost in the window"
        [Note] "any, if the plan expects an outage (`expect_outage`) and it ends within the run"
    }
    "endpoints": endpoints::check_endpoints {
        [Caveat] "of the servers over which the connections are spread, one had no connection when the load began"
        [Note] "connections to one of them were lost, and went on at others"
    }
    "users-ended": errors::check_users_ended {
        [Caveat] "any user ended early"
    }
    "unsteady": steady::check_unsteady {
        [Invalid] "ten equal parts of the window differ by more than 30 % of their mean"
        [Caveat] "by more than 11 %; by more than 30 % if the plan expects an outage"
    }
    "warm-up": steady::check_warm_up {
        [Invalid, Caveat, Note] "the first seconds are more than 5 % slower, which chance does not explain; by the effect on the result. Steadiness (`unsteady`, `warm-up`, `drift`, `burst`, `latency-drift`) is judged for windows of 20 s or more"
    }
    "drift": steady::check_drift {
        [Invalid, Caveat, Note] "throughput changed over the window, by a slope or a step that chance does not explain; severity by the size of the change"
    }
    "burst": burst::check_burst {
        [Invalid, Caveat] "throughput fell at once by 25 % or more to a level that lasted to the end of the window, or moved between two levels more than once, which neither chance nor work of the server nor other clients explain; severity by the effect on the result"
    }
    "latency-drift": steady::latency::check {
        [Invalid, Caveat, Note] "the median or the 99th percentile of each second changed over the window; severity by the size of the change. In a closed loop the 99th percentile causes at most a caveat, because the result of a closed loop is its throughput"
    }
    "stall": stall::check {
        [Invalid] "more than one stalled second, and more than 5 % of the window"
        [Caveat] "a whole second without any transaction when the others have ten or more on average, or with less than a tenth of the typical second's 20 or more; longer than two transactions of the slowest kind take"
        [Note] "any, if the plan expects an outage"
    }
    "short-stall": short_stalls::check_short_stall {
        [Invalid, Caveat, Note] "no transaction of any client ended for 0.1 s or longer, while one waited: longer than 20 mean gaps between ends (in an open loop, between starts of the schedule), two of the usual transactions, and with fewer than four clients two of the rarest, unless the stalls come regularly. By their share of the window; a caveat if they come regularly, invalid only for more than 1.5 s in all"
    }
    "client-stall": short_stalls::check_client_stall {
        [Caveat, Note] "a client waited for 1 s or longer, or regularly for 0.1 s or longer, ten times as long as the longest transaction of most seconds, while others went on; by the share of the window"
    }
    "durability" ("commits that a crash may lose"): data::check_durability {
        [Caveat] "class D0, D1 or D2"
    }
    "no-standby": data::check_standby {
        [Caveat] "`synchronous_commit` is `remote_write` or `remote_apply`, but no synchronous standby is connected: commits wait for none"
    }
    "client-limit": client::check_client_limit {
        [Invalid] "the busiest thread used more than 97 % of a CPU; unless client and server share a machine, the time for which it waited for a CPU counts as used"
        [Caveat] "more than 90 %, counted in the same way"
    }
    "throttled": client::check_throttled {
        [Invalid, Caveat, Note] "a CPU limit stopped the client; severity by the share of the time, as for `steal`"
    }
    "run-queue": client::check_run_queue {
        [Caveat] "worker threads waited for a CPU for more than 5 % of their time, unless client and server share a machine"
    }
    "client-wait": client::check_client_wait {
        [Caveat] "replies waited in the kernel for more than 10 % of the service time, unless client and server share a machine"
    }
    "loop-delay": client::check_loop_delay {
        [Caveat] "for a run without timestamps: the longest iteration of the loop in the median second exceeds half of the 99th percentile"
    }
    "client-machine": client::check_client_machine {
        [Caveat] "the client's machine, if it is not the server's, above 70 % busy"
    }
    "debug-build": client::check_debug_build {
        [Caveat] "Prony built without optimisation"
    }
    "cpu-frequency": client_setup::check_cpu_frequency {
        [Caveat] "the client's CPUs run at their lowest frequency (`powersave` of a driver for which that is fixed), or may not reach 90 % of their highest"
        [Note] "any other governor than `performance`"
    }
    "network": client_setup::check_network {
        [Caveat] "the busiest network link of the client's machine, if it is not the server's, used for more than 70 % of its speed in one direction"
    }
    "stamps": stamps::check_stamps {
        [Caveat] "more than 0.1 % of the timestamps impossible or doubtful; with more than 5 % impossible, the split is not reported"
    }
    "round-trip" ("a long way to the server"): machine::check_round_trip {
        [Caveat] "an empty statement takes more than half of the mean service time, over a network"
        [Note] "its 99th percentile above ten times the median and 1 ms"
    }
    "one-host" ("client and server on one machine"): machine::check_one_host {
        [Caveat] "client and server share a machine whose CPUs are more than 90 % busy, more than 10 % with the client; or waits as in `run-queue` or `client-wait`"
        [Note] "client and server share a machine: unix socket, loopback address, server process found there, or a server that Prony started"
    }
    "steal": machine::check_steal {
        [Invalid, Caveat, Note] "by the share of the machine's CPU time that the hypervisor withheld; at most a caveat if it was counted for less than 5 s"
    }
    "server-steal": machine::check_server_steal {
        [Invalid, Caveat, Note] "the same for the server's machine"
    }
    "neighbours": machine::check_neighbours {
        [Invalid] "processes other than server and client used more than half of the server's machine, counted for 5 s or more"
        [Caveat] "more than 15 % of it"
    }
    "foreign-load": foreign_load::check_foreign_load {
        [Invalid] "sessions of other clients were more than 10 % of the busy sessions, in three readings or more; or more than 10 % of the commits were in other databases"
        [Caveat] "more than 2 %, and a quarter of a session on average; under the names of replaced tools, busy sessions before and after the run, or more than 2 % of the commits"
    }
    "swap": memory::check_swap {
        [Caveat] "more than 1 MB per second swapped on the server's or the client's machine"
    }
    "checkpoint" ("no checkpoint"): housekeeping::check_checkpoint {
        [Caveat] "none complete within the window, for a load that writes 16 MiB of WAL or redo log or more"
    }
    "maintenance" ("maintenance in the window"): housekeeping::check_maintenance {
        [Caveat] "a backup, an index build, a rebuild; vacuums and analyses for more than 10 % of the window"
        [Note] "any vacuum or analysis"
    }
    "data-scale" ("data of another size than its scale"): data::check_data_scale {
        [Caveat] "the number of rows differs from that of the scale by more than 10 %; for InnoDB, whose estimates are rough, by more than 60 %"
    }
    "data-size" ("data of unknown size"): data::check_data_size {
        [Note] "neither did the server tell the size of the database, nor does the workload define that of its tables"
    }
    "data-grown" ("data that earlier runs have grown"): data::check_data_grown {
        [Caveat] "earlier runs have added more than 10 %"
    }
    "dead-rows" ("tables with many dead rows"): data::check_dead_rows {
        [Caveat] "more than 20 % of a table, and at least 10,000 rows"
    }
    "declared": declared::check_declared {
        [Caveat] "an observation contradicts what was declared of the server: fewer CPUs or over 15 % less memory in its machine, more replicas connected, synchronous replication without high availability, or another service"
    }
    "contention" ("more clients than the scale supports"): workload::check_contention {
        [Caveat] "more clients than the workload's units of scale support, as the workload defines it: tpcb with fewer branches than clients, tpcc with fewer warehouses than clients, or than a tenth of the clients if clients have think time"
    }
    "shares": shares::check {
        [Caveat] "a share is further from its intended value than chance explains; a share that is fixed in each transaction is off by more than 0.2 % of all queries"
        [Note] "a share that is fixed in each transaction is off by less"
        [Note] "a share is below the minimum of the specification, by no more than chance explains"
    }
    "response-limits" ("response times above the specification's limits"): limits::check {
        [Caveat] "a 90th percentile above the workload's limit for its kind"
    }
    "percentiles" ("few samples"): length::check_percentiles {
        [Caveat] "fewer than 200 response times"
        [Note] "fewer than 1,000"
    }
    "observer": server::check_observer {
        [Caveat, Note] "observing took more than 3 % (note: 1 %) of the machine's CPU time, which is an upper bound of its effect"
    }
    "limiter": limiter::check_limits {
        [Note] "server's CPUs above 90 % busy, a disk above 90 %, half of the active sessions in one wait, or in waits for locks or for storage (20 or more were sampled), or commits of a Galera cluster stopped by flow control for more than 5 % of the time"
    }
    "untuned": memory::check_untuned {
        [Note] "the server's cache is less than 5 % of a memory of 4 GB or more, and smaller than the data"
    }
    "hot-rows": service::check_hot_rows {
        [Note] "a workload with hot rows on a service that does badly on them, such as tpcb on Aurora DSQL"
    }
    "duration" ("a short window"): length::check_duration {
        [Note] "unless `checkpoint` applies: a load that writes, for less than 10 minutes; a paced tpcc, for less than two hours"
    }
    "client-headroom": client::check_client_headroom {
        [Note] "more than 50 %, where the wait for a CPU counts unless threads ran under SCHED_BATCH on a shared machine: no room for twice the load"
    }
    "statistics" ("tables without statistics"): data::check_statistics {
        [Note] "a table of 1,000 rows or more never analyzed"
    }
    "clock-steps": stamps::check_clock_steps {
        [Note] "the offset between the clocks moved by more than a microsecond"
    }
    "no-split": stamps::check_no_split {
        [Note] "no kernel timestamps"
    }
    "pooler" ("a server behind a pooler"): pooler::check_pooler {
        [Note] "the clients reached the server through a pooler or proxy, which one and by which sign"
    }
    "absent": service::check_absent {
        [Note] "the service does not have something that is observed on the product as which it answers; the finding names the checks that need it"
    }
    "unobserved" ("a server that was not fully observed"): server::check_unobserved {
        [Note] "something of the server was not observed that it has"
    }
};

/// Findings of a run that no check makes: the contradiction of a document, found when it is read, and the remarks of
/// workloads.
pub static OTHERS_OF_RUNS: &[OtherFindings] = other_findings! {
    "contradiction" {
        [Invalid] "figures of a document contradict one another, are impossible, or yield other findings than the document has; found whenever a document is read"
    }
    "population" {
        [Caveat] "tpcc with a profile that expects other rows. Other remarks of workloads have ids of their own too"
    }
};

/// Caveats of comparisons, in addition to the differences of [`compare`](crate::compare).
pub static CAVEATS_OF_COMPARISONS: &[OtherFindings] = other_findings! {
    "repeats" {
        [Caveat] "fewer than 3 runs on a side"
    }
    "run-to-run" {
        [Caveat] "a side's runs differ by more than 5 % of their mean (coefficient of variation of the primary figure)"
    }
    "order" {
        [Caveat] "an experiment ran its variants one after the other, not interleaved"
    }
    "incomplete" {
        [Caveat] "runs that the experiment planned are missing"
    }
};

pub static REMARKS_ON_PRICES: &[OtherFindings] = other_findings! {
    "old-prices" {
        [Caveat] "prices may be older than 90 days"
    }
    "example-prices" {
        [Caveat] "the sheet is an example that comes with Prony"
    }
    "durability-unknown" {
        [Caveat] "the runs do not record what a commit survives, or whether there are unlogged tables"
    }
    "run-caveats" {
        [Caveat] "a run has caveats, or ended early"
    }
    "repeats-differ" {
        [Caveat] "repeats behind one price differ in something that matters, such as the server's CPUs"
    }
    "repeats-missing" {
        [Caveat] "an experiment planned more repeats than are behind a price"
    }
    "replicas-unknown" {
        [Note] "the runs do not record how many replicas there were"
    }
    "same-run" {
        [Caveat] "one run prices two configurations"
    }
    "repeats-apart" {
        [Caveat] "repeats of one variant were given for different configurations"
    }
    "repeats-taken" {
        [Note] "one run was given, and selects all repeats of its variant"
    }
    "load-not-always-held" {
        [Caveat] "the median run sustains the requested load, but not every run did"
    }
    "one-run" {
        [Note] "a single run"
    }
    "published-ratio" {
        [Note] "throughput for the money was published for the scenario that the runs reproduce"
    }
};

/// Checks of other tools' output.
pub static CHECKS_OF_OTHER_TOOLS: &[OtherFindings] = other_findings! {
    "truncated" {
        [Invalid] "the output has no throughput"
        [Caveat] "anything else missing that a complete output has"
    }
    "littles-law" {
        [Invalid] "throughput x mean latency is more than 2 % above or 10 % below the number of clients, and 0.05 s plus the longest transaction do not explain it"
        [Caveat] "more than 2 % below the number of clients"
        [Note] "not checked: failed transactions, whose times no figure includes"
    }
    "sums", "rates", "shares-printed", "order" {
        [Invalid] "figures that must agree differ by more than 1 % (durations: 5 %)"
        [Caveat] "by more than rounding explains (durations: 0.5 % or 0.05 s; requested durations: 2 % plus 1 s)"
    }
    "mix" {
        [Invalid] "reads or writes differ by more than 1 % from those that the transactions make"
        [Caveat] "by more than errors, transactions in progress at the end and a tolerance of 0.2 % explain; any write too many"
    }
    "nopm-share" {
        [Invalid] "NOPM / TPM more than 10 % above 10 / 23"
        [Caveat] "more than 5 % off"
    }
    "unpaced" {
        [Note] "more than 12.86 NOPM per warehouse without keying and think times"
    }
    "server-count" {
        [Note] "TPM was reported, in which the server counts rollbacks as well as commits"
    }
    "trouble" {
        [Caveat] "problems that the tool itself reported"
    }
};

impl CheckSpec {
    /// The check's finding in a run; `None` if there is nothing to report.
    pub(crate) fn check(&self, run: &Run) -> Option<Check> {
        let found = (self.run)(run)?;
        let mut rules = self.rules.iter();
        debug_assert!(
            rules.any(|rule| rule.severities.contains(&found.severity)),
            "no rule of {} has this severity: {found:?}",
            self.id
        );
        new_check(self.id, found.severity, found.finding, found.advice)
    }
}

/// The check with this id; `None` for other findings.
pub(crate) fn find_check(id: &str) -> Option<&'static CheckSpec> {
    CHECKS.iter().find(|check| check.id == id)
}

pub(crate) fn new_finding(
    severity: Severity,
    finding: impl Into<String>,
    advice: impl Into<String>,
) -> Option<Finding> {
    Some(Finding {
        severity,
        finding: finding.into(),
        advice: advice.into(),
    })
}

pub(crate) fn invalid(finding: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
    new_finding(Severity::Invalid, finding, advice)
}

pub(crate) fn caveat(finding: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
    new_finding(Severity::Caveat, finding, advice)
}

pub(crate) fn note(finding: impl Into<String>, advice: impl Into<String>) -> Option<Finding> {
    new_finding(Severity::Note, finding, advice)
}

pub(crate) fn invalid_or_caveat(is_invalid: bool) -> Severity {
    if is_invalid { Severity::Invalid } else { Severity::Caveat }
}

pub(crate) fn caveat_or_note(is_caveat: bool) -> Severity {
    if is_caveat { Severity::Caveat } else { Severity::Note }
}

/// A finding as a document has it. Its id is in one of the tables.
pub(crate) fn new_check(
    id: &str,
    severity: Severity,
    finding: impl Into<String>,
    advice: impl Into<String>,
) -> Option<Check> {
    debug_assert!(is_listed(id), "no table has {id}");
    new_remark(id, severity, finding, advice)
}

fn is_listed(id: &str) -> bool {
    let tables = [
        OTHERS_OF_RUNS,
        CAVEATS_OF_COMPARISONS,
        REMARKS_ON_PRICES,
        CHECKS_OF_OTHER_TOOLS,
    ];
    let mut others = tables.into_iter().flatten();
    find_check(id).is_some() || others.any(|others| others.ids.contains(&id))
}

/// As [`new_check`], for an id that a workload defines itself, so that no table lists it.
pub(crate) fn new_remark(
    id: &str,
    severity: Severity,
    finding: impl Into<String>,
    advice: impl Into<String>,
) -> Option<Check> {
    Some(Check {
        id: id.to_owned(),
        severity,
        kind: kind(id, severity),
        finding: finding.into(),
        advice: advice.into(),
    })
}

/// The kind of a finding with this id; `None` for a note that limits nothing.
pub(crate) fn kind(id: &str, severity: Severity) -> Option<FindingKind> {
    match (scope(id), severity) {
        (_, Severity::Invalid) => Some(FindingKind::Doubt),
        (Some(_), _) => Some(FindingKind::Scope),
        (None, Severity::Caveat) => Some(FindingKind::Doubt),
        (None, Severity::Note) => None,
    }
}

/// What a figure with a finding of this check is limited to.
fn scope(id: &str) -> Option<&'static str> {
    find_check(id)?.scope
}

/// Ids of the findings of these runs that have this severity, each once.
pub(crate) fn ids_of<'a>(
    runs: impl IntoIterator<Item = &'a Run>,
    severity: Severity,
) -> BTreeSet<&'a str> {
    let checks = runs.into_iter().flat_map(|run| run.checks_of(severity));
    checks.map(|check| check.id.as_str()).collect()
}

/// What the figures are limited to, in the order of the findings; empty if nothing limits them. `partial-run`
/// is left out, because the verdict on a partial run says that the run is partial.
pub fn scopes(checks: &[Check]) -> Vec<&'static str> {
    let limiting = checks
        .iter()
        .filter(|check| check.kind == Some(FindingKind::Scope) && check.id != "partial-run");
    limiting.filter_map(|check| scope(&check.id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::observed_run;

    #[test]
    fn a_short_run_on_one_machine_has_no_doubt_and_a_scope() {
        let mut run = observed_run();
        run.measured.length_s = 15.0;
        run.measured.kinds[0].committed = 240_000;
        run.measured.kinds[0].busy_s = 960.0;
        let after = run.observed.as_mut().unwrap().after.as_mut().unwrap();
        after.commits = Some(402_000);
        run.server.embedded = true;
        // 70 % of the 30 seconds that two threads have.
        run.machine_mut().health.run_queue_s = Some(21.0);
        run.machine_mut().health.busiest_thread_share = Some(0.13);
        let checks = crate::judge(&run);
        assert_eq!(
            checks.iter().filter(|check| check.is_doubt()).count(),
            0,
            "{checks:?}"
        );
        assert_eq!(
            scopes(&checks),
            ["client and server on one machine", "no checkpoint"]
        );
    }

    #[test]
    fn doubt_is_listed_before_scope() {
        let mut run = observed_run();
        run.server.embedded = true;
        run.machine_mut().health.run_queue_s = Some(804.0);
        run.machine_mut().health.steal_share = Some(0.05);
        let kinds: Vec<Option<FindingKind>> =
            crate::judge(&run).iter().map(|check| check.kind).collect();
        assert_eq!(
            kinds,
            [Some(FindingKind::Doubt), Some(FindingKind::Scope), None]
        );
    }

    #[test]
    fn findings_without_a_kind_are_doubts_if_they_are_caveats() {
        let check = |severity| Check {
            id: "one-host".to_owned(),
            severity,
            kind: None,
            finding: String::new(),
            advice: String::new(),
        };
        assert!(check(Severity::Caveat).is_doubt());
        assert!(!check(Severity::Note).is_doubt());
        assert_eq!(scopes(&[check(Severity::Caveat)]), [""; 0]);
    }
}

//! What a Run is worth.
//!
//! In: one finished [`Run`]. Out: its [`Check`]s: what stands against its figures, in words with
//! figures and units, the worst first, each with what to do about it. What is in order is not
//! mentioned. Must never: change a figure, or see the loop that made it.
//!
//! Each check is a function from a Run to what it found; `CHECKS` lists them all, and
//! [`thresholds`] says where each begins.

pub mod audit;
mod client;
pub mod compare;
mod data;
mod errors;
pub mod experiment;
mod housekeeping;
mod length;
mod limits;
mod littles_law;
mod machine;
pub mod price;
mod rate;
pub mod reproduced;
#[cfg(test)]
mod sample;
mod server;
mod shares;
mod stall;
mod stamps;
pub mod statistics;
mod steady;
pub mod thresholds;
pub mod watch;
mod words;
mod workload;

use prony_store::{Check, KindFigures, Run, Severity, State};

/// One check: what it found, or nothing.
type Checker = fn(&Run) -> Option<Check>;

/// All checks. Among those of one severity this order stays.
const CHECKS: [Checker; 48] = [
    errors::nothing_committed,
    server::restart,
    server::commits,
    littles_law::check,
    errors::errors,
    rate::achieved,
    rate::never_started,
    length::partial,
    length::short,
    errors::outage,
    errors::users_ended,
    steady::unsteady,
    steady::warm_up,
    steady::drift,
    stall::check,
    data::durability,
    client::limit,
    client::throttled,
    client::run_queue,
    client::wait,
    client::loop_delay,
    client::machine,
    client::debug_build,
    stamps::bad_stamps,
    machine::round_trip,
    machine::one_host,
    machine::steal,
    machine::server_steal,
    machine::neighbours,
    housekeeping::checkpoint,
    housekeeping::maintenance,
    data::scale,
    data::grown,
    data::dead_rows,
    workload::branch_contention,
    workload::warehouse_contention,
    workload::population,
    shares::check,
    limits::check,
    length::percentiles,
    server::observer,
    server::limiter,
    length::duration,
    client::headroom,
    data::statistics,
    stamps::clock_steps,
    stamps::no_split,
    server::unobserved,
];

/// Judges one run: what stands against its figures, the worst first; empty where nothing does.
pub fn judge(run: &Run) -> Vec<Check> {
    let mut found: Vec<Check> = CHECKS.iter().filter_map(|check| check(run)).collect();
    found.sort_by_key(|check| std::cmp::Reverse(check.severity));
    found
}

/// Judges a run that nobody has judged yet: its Prony was killed, and the store made its document of
/// the journal. Whoever reads a stored run asks for this before anything is said of it. One that was
/// judged keeps what was found then: a run that ended early always has `partial-run`. One that still
/// goes on is not judged, nor is another tool's, whose checks are others.
pub fn judge_unjudged(run: &mut Run) {
    if run.state == State::Partial && run.checks.is_empty() && run.imported.is_none() {
        run.checks = judge(run);
    }
}

/// The worst severity among the checks; `None` where nothing was found.
pub fn worst(checks: &[Check]) -> Option<Severity> {
    checks.iter().map(|check| check.severity).max()
}

fn found(
    id: &str,
    severity: Severity,
    finding: impl Into<String>,
    advice: impl Into<String>,
) -> Option<Check> {
    Some(Check {
        id: id.to_owned(),
        severity,
        finding: finding.into(),
        advice: advice.into(),
    })
}

/// The figures of all kinds together; absent in a run that measured nothing.
fn all(run: &Run) -> Option<&KindFigures> {
    run.measured.kinds.iter().find(|kind| kind.kind == "all")
}

/// Whether no part of the load was measured: the run ended in its warm-up, or before any load.
pub(crate) fn nothing_measured(run: &Run) -> bool {
    run.measured.seconds <= 0.0 && all(run).is_none_or(|all| ended(all) == 0)
}

/// Transactions that ended: committed, rolled back by intent, or failed.
fn ended(kind: &KindFigures) -> u64 {
    kind.committed + kind.rolled_back + kind.failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{healthy, watched};

    #[test]
    fn a_healthy_run_has_nothing_against_it() {
        assert_eq!(judge(&healthy()), []);
        assert_eq!(judge(&watched()), []);
        assert_eq!(worst(&[]), None);
    }

    #[test]
    fn a_run_that_nobody_judged_is_judged_when_it_is_read() {
        let mut cut = healthy();
        judge_unjudged(&mut cut);
        assert_eq!(cut.checks, [], "a healthy one has none");
        // As a journal tells of it: nothing of the end is known.
        cut.state = State::Partial;
        cut.ended_because = Some("interrupted".to_owned());
        cut.measured.unfinished = 0;
        cut.server.address = "unix:/run/x/.s.PGSQL.5432".to_owned();
        let ids = |run: &Run| -> Vec<String> {
            let each = run.checks.iter().map(|check| check.id.clone());
            each.collect()
        };
        judge_unjudged(&mut cut);
        assert_eq!(ids(&cut), ["partial-run", "one-host"]);
        let judged = cut.clone();
        cut.client.steal = Some(0.5);
        judge_unjudged(&mut cut);
        assert_eq!(ids(&cut), ids(&judged), "what was found stays");
        cut.checks.clear();
        cut.state = State::Running;
        judge_unjudged(&mut cut);
        assert_eq!(cut.checks, [], "it still goes on");
    }

    #[test]
    fn a_run_of_which_only_the_beginning_is_known_has_no_figure() {
        let mut run = healthy();
        run.state = State::Partial;
        run.measured = prony_store::Figures::default();
        run.series.clear();
        run.client = Default::default();
        run.timing = Default::default();
        let checks = judge(&run);
        let ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
        assert_eq!(ids, ["nothing-committed", "partial-run"]);
        for check in &checks {
            assert!(check.finding.contains("Nothing was measured"), "{check:?}");
        }
        // The store writes the kinds of the workload with zeros.
        let zeros = KindFigures {
            kind: "all".to_owned(),
            ..KindFigures::default()
        };
        run.measured.kinds = vec![zeros.clone(), zeros];
        run.drive.pace = "rate".to_owned();
        run.drive.rate_tps = Some(100.0);
        assert_eq!(judge(&run), checks);
    }

    #[test]
    fn the_worst_comes_first() {
        let mut run = healthy();
        run.server.address = "unix:/run/x/.s.PGSQL.5432".to_owned();
        run.client.steal = Some(0.02);
        run.measured.kinds[0].busy_s *= 0.9;
        let checks = judge(&run);
        let ids: Vec<&str> = checks.iter().map(|check| check.id.as_str()).collect();
        assert_eq!(ids, ["littles-law", "steal", "one-host"]);
        assert_eq!(worst(&checks), Some(Severity::Invalid));
    }

    /// The sources of a folder and of those in it, without their tests.
    fn sources(folder: &std::path::Path, texts: &mut Vec<String>) {
        for path in std::fs::read_dir(folder).unwrap().flatten() {
            let path = path.path();
            if path.is_dir() {
                sources(&path, texts);
            } else if !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(path).unwrap();
                texts.push(text.split("#[cfg(test)]").next().unwrap().to_owned());
            }
        }
    }

    /// The documented tables name all that the sources can find, and nothing that they cannot.
    #[test]
    fn every_check_stands_in_the_table_of_thresholds() {
        let table = include_str!("thresholds.rs").lines();
        let rows = table.filter_map(|line| line.strip_prefix("//! | `")?.split('`').next());
        let rows: std::collections::BTreeSet<&str> = rows.collect();
        assert!(rows.len() > 40, "{rows:?}");
        let mut texts = Vec::new();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
        sources(folder.as_ref(), &mut texts);
        for text in &texts {
            for after in text.split("found(").skip(1) {
                let named = after.trim_start().strip_prefix('"');
                let id = named.and_then(|named| named.split('"').next());
                assert!(
                    id.is_none_or(|id| rows.contains(id)),
                    "{id:?} is in no table"
                );
            }
        }
        for id in rows {
            let named = texts.iter().any(|text| text.contains(&format!("\"{id}\"")));
            assert!(named, "nothing finds {id}");
        }
    }

    /// So do those whose names stand in tables of the sources.
    #[test]
    fn remarks_and_findings_stand_there_too() {
        let table = include_str!("thresholds.rs");
        let rest = table.split("//! Of prices:").nth(1).unwrap();
        let rows = rest.lines().filter_map(|line| line.strip_prefix("//! | "));
        let firsts: Vec<&str> = rows.filter_map(|row| row.split(" | ").next()).collect();
        let sources = [
            include_str!("price/remarks.rs"),
            include_str!("audit/mod.rs"),
            include_str!("audit/mix.rs"),
            include_str!("audit/relations.rs"),
        ];
        let quoted = |text: &str| {
            text.trim_start()
                .strip_prefix('"')?
                .split('"')
                .next()
                .map(str::to_owned)
        };
        let mut ids: Vec<String> = Vec::new();
        for source in sources {
            ids.extend(source.split("found(").skip(1).filter_map(quoted));
            // Tables: the id, then what it is of or how grave it is.
            let lines: Vec<&str> = source.lines().map(str::trim).collect();
            ids.extend(lines.windows(2).filter_map(|pair| {
                let next = ["Caveat,", "Note,"].contains(&pair[1])
                    || pair[1].starts_with("&[RelationKind");
                next.then(|| quoted(pair[0])).flatten()
            }));
        }
        ids.retain(|id| id != "nothing-committed");
        assert!(ids.len() >= 15, "{ids:?}");
        for id in &ids {
            let marked = format!("`{id}`");
            assert!(
                firsts.iter().any(|first| first.contains(&marked)),
                "{id} is not in the table"
            );
        }
    }

    #[test]
    fn a_run_that_measured_nothing_is_judged_too() {
        let mut run = healthy();
        run.measured = prony_store::Figures::default();
        run.client = prony_store::Client::default();
        run.timing = prony_store::Timing::default();
        let checks = judge(&run);
        assert_eq!(checks[0].id, "nothing-committed");
        for check in checks {
            let text = check.finding + &check.advice;
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}

//! The time profile of a run.
//!
//! In: the times of all virtual users. Out: `hdbxtprofile.log`, the job's timings. Must never: give
//! a time of a call that was not made.

use super::super::clock;
use super::super::job::Job;
use super::super::lines::open_log;
use super::Means;
use super::ear::{Heard, Times};
use prony_dialect::hammerdb::text::Kind;
use prony_dialect::hammerdb::{ProcTiming, RunLine, TimeProfile, UserTiming};
use prony_measure::{Counter, Distribution};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Writes the profile to a file, after those that are there.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &str, means: &Means<'_>, heard: Heard, job: &mut Job) -> Result<(), String> {
    means.lines.told(1, RunLine::CalculatingTimings);
    let users = heard.users.iter().filter_map(user).collect();
    let profile = TimeProfile {
        database: means.request.login.product.name().to_owned(),
        date: clock::date(),
        users,
        summary: procs(&heard.all),
    };
    job.timing = document(&profile);
    let lines = Arc::clone(means.lines);
    lines.told(
        1,
        RunLine::WritingTimings {
            path: path.to_owned(),
        },
    );
    open_log(path, &profile.text())
        .map(drop)
        .map_err(|error| format!("the time profile {path} cannot be written: {error}"))
}

/// The timings of a virtual user that made a call.
fn user(times: &Times) -> Option<UserTiming> {
    let (first_ns, last_ns) = times.span_ns?;
    Some(UserTiming {
        vuser: times.vuser,
        elapsed_ns: last_ns.saturating_sub(first_ns),
        procs: procs(&times.kinds),
    })
}

/// In the workload's order of kinds.
fn procs<C: Counter>(kinds: &[Distribution<C>]) -> Vec<ProcTiming> {
    let named = Kind::ALL.iter().zip(kinds);
    named
        .filter_map(|(kind, times)| ProcTiming::of(kind.routine, times))
        .collect()
}

fn document(profile: &TimeProfile) -> Map<String, Value> {
    let procs = |procs: &[ProcTiming]| -> Map<String, Value> {
        let ms = |ns: u64| ns as f64 / 1e6;
        let one = |proc: &ProcTiming| {
            let figures = json!({
                "calls": proc.calls,
                "min_ms": ms(proc.min_ns),
                "max_ms": ms(proc.max_ns),
                "total_ms": ms(proc.total_ns),
                "p99_ms": ms(proc.p99_ns),
                "p95_ms": ms(proc.p95_ns),
                "p50_ms": ms(proc.p50_ns),
            });
            (proc.name.clone(), figures)
        };
        procs.iter().map(one).collect()
    };
    let users = profile.users.iter();
    let mut all: Map<String, Value> = users
        .map(|user| (user.vuser.to_string(), Value::Object(procs(&user.procs))))
        .collect();
    let summary = Value::Object(procs(&profile.summary));
    all.insert("summary".to_owned(), summary);
    all
}

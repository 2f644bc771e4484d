//! The time profile of a run.
//!
//! In: the times of all virtual users. Out: `hdbxtprofile.log`, the job's timings. Must never: report a time
//! of a routine that was not called.

use super::super::clock;
use super::super::job::{Job, RoutineTiming, VuserTiming};
use super::super::lines::open_log;
use super::RunContext;
use super::sink::{CallTimes, UserTimes};
use prony_dialect::hammerdb::text::TransactionKind;
use prony_dialect::hammerdb::{ProcTiming, TimeProfile, TimingSection, UserTiming};
use prony_measure::{Counter, Distribution};

/// Appends the profile to a file.
pub fn write(
    path: &str,
    context: &RunContext<'_>,
    times: CallTimes,
    job: &mut Job,
) -> Result<(), String> {
    context.lines.say("Calculating timings...");
    let users = times.users.iter().filter_map(user_timing).collect();
    let profile = TimeProfile {
        database: context.request.login.database_name().to_owned(),
        date: clock::now_as_text(),
        users,
        summary: proc_timings(&times.all_users),
    };
    job.timings = job_timings(&profile);
    let line = format!("Writing timing data to {path}");
    context.lines.say(line);
    open_log(path, &profile.text())
        .map(drop)
        .map_err(|error| format!("cannot write the time profile {path}: {error}"))
}

/// The timings of a virtual user; none if it made no call.
fn user_timing(times: &UserTimes) -> Option<UserTiming> {
    let (first_ns, last_ns) = times.span_ns?;
    Some(UserTiming {
        vuser: times.vuser,
        elapsed_ns: last_ns.saturating_sub(first_ns),
        procs: proc_timings(&times.times_by_kind),
    })
}

/// The timings of each routine that was called, in the workload's order of kinds.
fn proc_timings<C: Counter>(times_by_kind: &[Distribution<C>]) -> Vec<ProcTiming> {
    let named = TransactionKind::ALL.iter().zip(times_by_kind);
    named
        .filter_map(|(kind, times)| ProcTiming::of(kind.routine, times))
        .collect()
}

/// The timings as jobs store them, the summary first.
fn job_timings(profile: &TimeProfile) -> Vec<VuserTiming> {
    let sections = std::iter::once(profile.summary_section()).chain(profile.user_sections());
    let timing = |section: TimingSection<'_>| VuserTiming {
        vuser: section.vuser,
        routines: (section.procs.iter())
            .map(|proc| (proc.name.clone(), routine_timing(&section, proc)))
            .collect(),
    };
    sections.map(timing).collect()
}

fn routine_timing(section: &TimingSection<'_>, proc: &ProcTiming) -> RoutineTiming {
    let ms = |ns: f64| round_to_thousandths(ns / 1e6);
    let whole_ms = |ns: u64| ms(ns as f64);
    RoutineTiming {
        elapsed_ms: ms(section.elapsed_ns),
        calls: proc.calls.to_string(),
        min_ms: whole_ms(proc.min_ns),
        avg_ms: ms(proc.avg_ns()),
        max_ms: whole_ms(proc.max_ns),
        total_ms: whole_ms(proc.total_ns),
        p99_ms: whole_ms(proc.p99_ns),
        p95_ms: whole_ms(proc.p95_ns),
        p50_ms: whole_ms(proc.p50_ns),
        sd: round_to_thousandths(proc.deviation_ns / 1e3),
        ratio_pct: round_to_thousandths(section.ratio_pct(proc)),
    }
}

/// Formats a number with at most three decimals, as Tcl does: `6.9`, `24372.43`.
fn round_to_thousandths(value: f64) -> String {
    format!("{:?}", (value * 1e3).round() / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_timings_match_the_profile() {
        assert_eq!(
            [0.0, 62_108.0, 24_372.430_1, 0.234_56].map(round_to_thousandths),
            ["0.0", "62108.0", "24372.43", "0.235"]
        );
        let proc = |name: &str, calls: u64, total_ns: u64| ProcTiming {
            name: name.to_owned(),
            calls,
            min_ns: 1_000_000,
            max_ns: 3_000_000,
            total_ns,
            deviation_ns: 500_500.0,
            ..ProcTiming::default()
        };
        let procs = vec![proc("NEWORD", 2, 4_000_000), proc("PAYMENT", 3, 5_000_000)];
        let user = |vuser: u32, elapsed_ns: u64| UserTiming {
            vuser,
            elapsed_ns,
            procs: procs.clone(),
        };
        let profile = TimeProfile {
            users: vec![user(2, 10_000_000), user(3, 30_000_000)],
            summary: vec![proc("NEWORD", 4, 8_000_000), proc("PAYMENT", 6, 10_000_000)],
            ..TimeProfile::default()
        };
        let timings = job_timings(&profile);
        let users: Vec<_> = timings.iter().map(|timing| timing.vuser).collect();
        assert_eq!(users, [None, Some(2), Some(3)]);
        // The routine with the largest total time comes first.
        let (name, all) = &timings[0].routines[0];
        assert_eq!(
            [name, &all.elapsed_ms, &all.avg_ms, &all.ratio_pct, &all.sd],
            ["PAYMENT", "20.0", "1.667", "25.0", "500.5"]
        );
        assert_eq!(timings[1].routines[1].1.ratio_pct, "40.0");
    }
}

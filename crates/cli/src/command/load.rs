//! `prony load`.
//!
//! In: a workload, a scale and a server. Out: loaded tables, progress on stderr, what was done on
//! stdout. Must never: leave unsaid what a broken load has left behind.

use super::tables::tables;
use super::{output, server, sizing};
use crate::args::LoadArgs;
use crate::exit::{Exit, Failure};
use crate::run::host::processors;
use crate::signals::Signals;
use prony_plan::{Asked, flag};
use prony_report::{Amount, Loading, Style, data, units};
use prony_server::Target;
use prony_workload::{Error, LoadReport, LoadRequest, Phase, Progress, Step, Workload};
use std::io::{Stderr, stderr};
use std::sync::Mutex;

/// Loads and prints what stands in the database now.
pub fn load(args: &LoadArgs) -> Result<Exit, Failure> {
    let done = loaded(args)?;
    let tables = tables(&done.report.tables);
    output::show(|out, style| {
        writeln!(out, "{}", summary(done.workload, &done.report))?;
        data::tables(out, style, &tables)
    })?;
    Ok(Exit::Fine)
}

/// A load that came to its end.
pub struct Done {
    /// Whose tables.
    pub workload: &'static dyn Workload,
    /// What was done.
    pub report: LoadReport,
    /// They are listened to from here on.
    pub signals: Signals,
}

/// Loads what these flags ask for.
pub fn loaded(args: &LoadArgs) -> Result<Done, Failure> {
    let mut asked = Asked::default();
    asked.url = flag("--url", args.server.url.clone());
    asked.workload = flag("WORKLOAD", Some(args.workload.clone()));
    asked.scale = flag("--scale", args.scale);
    let profile = args.profile.clone().map(Into::into);
    asked.add_option_value("--profile", "profile", profile);
    let partitions = args.partitions.map(Into::into);
    asked.add_option_value("--partitions", "partitions", partitions);
    crate::args::add_options(&mut asked, &args.options);
    let mut plan = super::plan::checked(asked.clone(), "the command line")?;
    let workload = server::workload(&plan.workload.name)?;
    // Where there are no tables to load the values of options are nobody's business.
    if workload.loaded_by(&plan.workload).is_some() {
        plan = super::plan::runnable(asked.clone(), "the command line")?;
    }
    let target = server::target(args.server.url.as_deref())?;
    // A server that cannot be reached is no failed load: nothing was begun.
    let mut control = server::connect(&target)?;
    if let Some(sizing) = sizing::choose(&mut control, &args.cached, &plan.workload, None)? {
        output::tell(&sizing.words());
        asked.scale = flag("--cached", Some(sizing.scale));
        plan = super::plan::runnable(asked, "the command line")?;
    }
    drop(control);
    let signals = Signals::listen()?;
    let request = LoadRequest {
        target: &target,
        plan: &plan.workload,
        jobs: args.jobs,
        seed: args.seed,
    };
    let report = with_progress(workload, &request, &signals)
        .map_err(|error| server::workload_failure(&error, Some(&signals)))?;
    Ok(Done {
        workload,
        report,
        signals,
    })
}

/// Loads a workload with its progress on stderr.
fn with_progress(
    workload: &dyn Workload,
    request: &LoadRequest<'_>,
    signals: &Signals,
) -> Result<LoadReport, Error> {
    let view = View(Mutex::new(Loading::new(stderr(), Style::of(&stderr()))));
    let stop = signals.flag();
    let loaded = workload.load(request, &view, &stop);
    if let Ok(mut view) = view.0.lock() {
        // Where stderr is closed there is nobody to tell.
        let _ = view.finish("");
    }
    loaded
}

/// Loads a throw-away server, on one connection a CPU, at most four.
pub fn into_embedded(
    workload: &dyn Workload,
    plan: &prony_plan::WorkloadPlan,
    target: &Target,
    signals: &Signals,
) -> Result<(), Failure> {
    let request = LoadRequest {
        target,
        plan,
        jobs: processors().min(4) as u32,
        seed: 0,
    };
    let report = with_progress(workload, &request, signals)
        .map_err(|error| server::workload_failure(&thrown_away(error), Some(signals)))?;
    output::tell(&summary(workload, &report));
    Ok(())
}

/// What a broken load left behind on a throw-away server goes with it.
fn thrown_away(mut error: Error) -> Error {
    if let Error::Stopped { remains } | Error::LoadFailed { remains, .. } = &mut error {
        "nothing: the throw-away server is removed".clone_into(remains);
    }
    error
}

/// What a load did, in a few lines.
pub fn summary(workload: &dyn Workload, report: &LoadReport) -> String {
    let phases: Vec<String> = report
        .phases
        .iter()
        .map(|(phase, seconds)| format!("{} {}", phase.name(), units::seconds(*seconds)))
        .collect();
    let rate = report.rows_per_s().map_or(String::new(), |rate| {
        format!(", {} rows/s while sending", units::rate(rate))
    });
    let of = match (workload.name(), workload.data()) {
        (name, data) if name == data => name.to_owned(),
        (name, data) => format!("{name} (the tables of {data})"),
    };
    format!(
        "Loaded {of}, scale {}: {} in {}{rate}\n  {}\n  {}",
        report.scale,
        units::counted(report.rows, "row", "rows"),
        units::seconds(report.seconds),
        phases.join(", "),
        report.method,
    )
}

/// Hands the steps of a load to its view.
struct View(Mutex<Loading<Stderr>>);

impl Progress for View {
    fn step(&self, step: &Step) {
        let words = match step.phase {
            Phase::Create => "creating tables",
            Phase::Rows => "rows",
            Phase::Statistics => "collecting statistics",
            Phase::Keys => "building primary keys",
        };
        // Only rows are counted; of the other phases the time is known.
        let counted = step.phase == Phase::Rows;
        let amount = Amount {
            step: words.to_owned(),
            done: step.rows_done,
            total: if counted { step.rows_total } else { 0 },
            at_s: step.elapsed.as_secs_f64(),
        };
        if let Ok(mut view) = self.0.lock() {
            let _ = view.show(&amount);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_loaded_has_the_name_that_was_asked_for() {
        let report = LoadReport {
            scale: 1,
            jobs: 1,
            rows: 9,
            bytes_sent: 0,
            phases: Vec::new(),
            seconds: 1.0,
            tables: Vec::new(),
            method: String::new(),
        };
        for (name, begin) in [
            ("tpcb", "Loaded tpcb, scale 1: 9 rows"),
            (
                "select-only",
                "Loaded select-only (the tables of tpcb), scale 1: 9 rows",
            ),
        ] {
            let text = summary(server::workload(name).expect("it is known"), &report);
            assert!(text.starts_with(begin), "{text}");
        }
    }
}

//! `prony load`.
//!
//! Loads the tables of a workload, with progress on stderr and a summary on stdout. A failed load always
//! reports what it left behind.

use super::{load_size, output, server, sizing};
use crate::args::LoadArgs;
use crate::exit::{Exit, Failure};
use crate::run::fleet;
use prony_fleet::FleetLoad;
use prony_plan::{cpu_count, value_from_flag};
use prony_report::{LoadProgressView, LoadStepProgress, Size, Style, data, units};
use prony_runner::Signals;
use prony_server::Target;
use prony_workload::remedy::Remedy;
use prony_workload::{
    Error, LoadDivision, LoadPhase, LoadReport, LoadRequest, Progress, ProgressUpdate, Workload,
};
use std::io::{Stderr, stderr};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Loads the tables of a workload, and prints their sizes.
pub fn load(args: &LoadArgs) -> Result<Exit, Failure> {
    let finished = run_load(args)?;
    output::show(|out, style| {
        writeln!(out, "{}", load_summary(finished.workload, &finished.report))?;
        data::write_table_sizes(out, style, &finished.report.tables)
    })?;
    Ok(Exit::Success)
}

pub struct FinishedLoad {
    pub workload: &'static dyn Workload,
    pub report: LoadReport,
    /// The signals, handled since the start of the load.
    pub signals: Signals,
}

pub fn run_load(args: &LoadArgs) -> Result<FinishedLoad, Failure> {
    let mut plan_input = fleet::with_agents_of_environment(args.input());
    // The plan is checked without its agents: its rules for agents apply to runs, not to loads.
    let agents = plan_input.agents.take();
    let agents = agents.map(|agents| agents.value).unwrap_or_default();
    let mut plan = super::plan::check_plan(plan_input.clone(), "the command line")?;
    let workload = server::find_workload(&plan.workload.name)?;
    // If the workload loads no tables, the load is refused below without a check of the option values.
    if workload.workload_to_load(&plan.workload).is_some() {
        plan = super::plan::check_runnable(plan_input.clone(), "the command line")?;
    }
    let url = plan_input.url.as_ref().map(|url| url.value.clone());
    let url = url.as_deref();
    let target = server::target_with_timeout(url, &args.timeout)?;
    server::require_protocol(&target, workload)?;
    let signals = Signals::listen()?;
    // A server that cannot be reached is not a failed load, because nothing was started.
    let mut control = server::connect(&target)?;
    server::require_engine(&control, workload)?;
    if let Some(sizing) = sizing::choose_scale(&mut control, &args.cached, &plan.workload, None)? {
        output::notice(&sizing.description());
        plan_input.scale = value_from_flag("--cached", Some(sizing.scale));
        plan = super::plan::check_runnable(plan_input, "the command line")?;
    }
    // A workload without tables of its own is refused below.
    if workload.workload_to_load(&plan.workload).is_some() {
        load_size::announce(&mut control, workload, &plan.workload, args.yes, &signals)?;
    }
    drop(control);
    let mut fleet = fleet::start_if_any(&agents, plan.install_agents, &signals)?;
    let jobs = args.jobs.max(agents.len() as u32);
    let sender = fleet
        .as_mut()
        .map(|fleet| FleetLoad::new(fleet, &plan, &target, jobs, args.seed))
        .transpose()
        .map_err(|error| fleet::failure(&error, &signals))?;
    let division = sender.as_ref().map_or(LoadDivision::Undivided, |sender| {
        LoadDivision::Others(sender)
    });
    let report = with_progress(&signals, |progress, stop| {
        workload.load(&LoadRequest {
            target: &target,
            plan: &plan.workload,
            jobs,
            seed: args.seed,
            division,
            progress,
            stop,
        })
    })
    .map_err(|error| server::load_or_clean_failure(&error, url, Some(&signals)))?;
    Ok(FinishedLoad {
        workload,
        report,
        signals,
    })
}

fn with_progress(
    signals: &Signals,
    load: impl FnOnce(&dyn Progress, &AtomicBool) -> Result<LoadReport, Error>,
) -> Result<LoadReport, Error> {
    let view = LoadProgressView::new(stderr(), Style::of(&stderr()));
    let view = ProgressView(Mutex::new(view.with_size_from(|| Size::of(&stderr()))));
    let stop = signals.flag();
    let result = refresh_during(&view, || load(&view, &stop));
    if let Ok(mut view) = view.0.lock() {
        // If stderr is closed, there is no view to end.
        let _ = view.finish("");
    }
    result
}

/// Calls `load`, and refreshes the view every second meanwhile: a load that waits for the server reports no
/// progress.
fn refresh_during<T>(view: &ProgressView, load: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let (stop_sender, stop_receiver) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while stop_receiver.recv_timeout(REFRESH_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if let Ok(mut view) = view.0.lock() {
                    let _ = view.tick(started.elapsed().as_secs_f64());
                }
            }
        });
        let result = load();
        drop(stop_sender);
        result
    })
}

/// Loads a throw-away server over one connection for each CPU, at most four.
pub fn load_embedded(
    workload: &dyn Workload,
    plan: &prony_plan::WorkloadPlan,
    target: &Target,
    signals: &Signals,
) -> Result<(), Failure> {
    let report = with_progress(signals, |progress, stop| {
        workload.load(&LoadRequest {
            target,
            plan,
            jobs: cpu_count().min(4) as u32,
            seed: 0,
            division: LoadDivision::Undivided,
            progress,
            stop,
        })
    })
    .map_err(|error| {
        server::workload_failure(&with_nothing_left_behind(error), None, Some(signals))
    })?;
    output::notice(&load_summary(workload, &report));
    Ok(())
}

/// Changes the error of a failed load to say that it left nothing behind, because the throw-away server is
/// removed.
fn with_nothing_left_behind(mut error: Error) -> Error {
    let left_behind_text = "nothing (the throw-away server is removed)";
    match &mut error {
        Error::Stopped {
            left_behind,
            remedy,
        } => {
            left_behind_text.clone_into(left_behind);
            *remedy = None;
        }
        Error::LoadFailed {
            left_behind,
            remedy,
            ..
        } => {
            left_behind_text.clone_into(left_behind);
            **remedy = match remedy.as_ref() {
                Remedy::AdviceThen(advice, _) => advice.clone().into(),
                _ => "start again".into(),
            };
        }
        _ => {}
    }
    error
}

pub fn load_summary(workload: &dyn Workload, report: &LoadReport) -> String {
    let phases: Vec<String> = report
        .phases
        .iter()
        .map(|(phase, seconds)| format!("{} {}", phase.name(), units::seconds(*seconds)))
        .collect();
    let rate = report.rows_per_s().map_or(String::new(), |rate| {
        format!(", {} rows/s while sending", units::rate(rate))
    });
    let loaded_data = match (workload.name(), workload.dataset()) {
        (name, data) if name == data => name.to_owned(),
        (name, data) => format!("{name} (the tables of {data})"),
    };
    format!(
        "Loaded {loaded_data}, scale {}: {} in {}{rate}\n  {}\n  {}",
        report.scale,
        units::count_with_noun(report.rows, "row", "rows"),
        units::seconds(report.seconds),
        phases.join(", "),
        report.method,
    )
}

struct ProgressView(Mutex<LoadProgressView<Stderr>>);

impl Progress for ProgressView {
    fn update(&self, step: &ProgressUpdate) {
        let phase = match step.phase {
            LoadPhase::Create => "creating tables",
            LoadPhase::Rows => "rows",
            LoadPhase::Statistics => "collecting statistics",
            LoadPhase::Keys => "building primary keys",
        };
        // Only rows are counted; other phases only have a time.
        let is_counted = step.phase == LoadPhase::Rows;
        let progress = LoadStepProgress {
            step: phase.to_owned(),
            done: step.rows_done,
            total: if is_counted { step.rows_total } else { 0 },
            at_s: step.elapsed.as_secs_f64(),
        };
        if let Ok(mut view) = self.0.lock() {
            let _ = view.show(&progress);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn the_summary_names_the_requested_workload() {
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
        for (name, prefix) in [
            ("tpcb", "Loaded tpcb, scale 1: 9 rows"),
            (
                "select-only",
                "Loaded select-only (the tables of tpcb), scale 1: 9 rows",
            ),
        ] {
            let text = load_summary(server::find_workload(name).expect("it is known"), &report);
            text.assert_starts_with(prefix);
        }
    }
}

//! `prony reproduce SUITE`: the scenarios of a suite, one after another.
//!
//! Each row is run as `prony reproduce` runs it alone, and is part of one experiment, whose variants are the rows. A
//! suite that was stopped is continued: what has run is in the store, and nothing else is remembered.

use super::commands::ScenarioSettings;
use super::estimate::{self, PlannedRow};
use super::{PlannedRun, check_scale, run_request};
use crate::args::ReproduceArgs;
use crate::command::compare::complete_runs;
use crate::command::{output, stored};
use crate::exit::{Exit, Failure};
use crate::experiment::{ExperimentDriver, Schedule};
use crate::run::RunRequest;
use prony_judge::reproduced::suite_summary;
use prony_plan::format_duration;
use prony_plan::scenario::{Scenario, Suite};
use prony_report::{Style, experiment, suite as view, units};
use prony_runner::Signals;
use prony_store::{
    Experiment, ExperimentKind, Run, RunFilter, RunOrder, RunState, RunStore, RunSummary,
    SuiteRequest,
};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::stderr;

pub fn refuse_suite_flags(args: &ReproduceArgs) -> Result<(), Failure> {
    let suite = &args.suite;
    let flags = [
        ("--only", !suite.only.is_empty()),
        ("--repeats", suite.repeats.is_some()),
        ("--start-over", suite.start_over),
        ("--estimate", suite.estimate),
        ("--sheet", suite.sheet.is_some()),
        ("--configuration", suite.configuration.is_some()),
    ];
    match flags.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::usage(
            format!("{flag} is for suites, and {} is none", args.id),
            "`prony scenarios` lists the suites",
        )),
    }
}

/// A row of the suite, with its number in the document from 0.
type NumberedRow = (usize, &'static Scenario);

/// Runs the rows that have not run yet, and shows the table of all.
pub fn reproduce_suite(
    args: &ReproduceArgs,
    suite: &'static Suite,
    arguments: &[OsString],
) -> Result<Exit, Failure> {
    let rows = selected_rows(args, suite)?;
    if args.output.no_store {
        let message = "--no-store: the table of a suite is made of stored runs";
        return Err(Failure::usage(message, "set PRONY_HOME to another folder"));
    }
    for (_, scenario) in &rows {
        check_scale(args, scenario)?;
        // A script is written, and its run checked, when the row starts.
        if scenario.script.is_none() {
            run_request(args, scenario, &settings_of(args, scenario), arguments)?;
        }
    }
    let store = stored::open_store()?;
    let mut progress = SuiteProgress::find(&store, args, suite)?;
    let planned = progress.planned_rows(&rows);
    let done = rows.len() - planned.len();
    let estimate = estimate::estimate(args, suite, &planned, done, &progress.runs)?;
    if args.suite.estimate {
        output::show_or_json(args.json, &estimate, |out, style| {
            view::write_estimate(out, style, &estimate)
        })?;
        return Ok(Exit::Success);
    }
    // Nothing is lost if stderr is closed.
    let _ = view::write_estimate(&mut stderr(), &Style::of(&stderr()), &estimate);
    let signals = Signals::listen()?;
    let mut driver = ExperimentDriver::new(&signals, None);
    driver.runs.clone_from(&progress.runs);
    if done > 0 {
        output::notice(&format!(
            "Continues {}; --start-over runs all rows again.",
            driver.experiment_id()
        ));
    }
    let open = rows.iter().flat_map(|row| progress.open_runs(*row));
    let mut schedule = SuiteSchedule {
        args,
        arguments,
        suite,
        request: progress.request.clone(),
        run_count: progress.run_count(),
        open: open.collect(),
        current: None,
        prepared: None,
        loaded: None,
    };
    let result = driver.drive(&mut schedule);
    let id = driver.experiment_id();
    progress.runs = driver.runs;
    progress.runs.retain(|run| run.state == RunState::Complete);
    if !args.json
        && let Some(summary) = suite_summary(&progress.runs)
    {
        output::show(|out, style| view::write_summary(out, style, &summary))?;
        output::notice(&format!(
            "\nAs a page: prony report {id} --output suite.html"
        ));
    }
    if !progress.planned_rows(&rows).is_empty() {
        output::notice("The same command continues the suite.");
    }
    result
}

/// The settings of a row before its size is chosen: a mistake in the flags is reported before the first row.
fn settings_of(args: &ReproduceArgs, scenario: &Scenario) -> ScenarioSettings {
    let settings = ScenarioSettings::published(scenario);
    match args.duration {
        Some(duration) => settings.with_duration(duration),
        None => settings,
    }
}

/// The rows that `--only` selects.
fn selected_rows(args: &ReproduceArgs, suite: &Suite) -> Result<Vec<NumberedRow>, Failure> {
    let only = &args.suite.only;
    let is_selected =
        |id: &str| only.is_empty() || only.iter().any(|text| id.contains(text.as_str()));
    let mut rows: Vec<NumberedRow> = suite.scenarios().enumerate().collect();
    rows.retain(|(_, scenario)| is_selected(&scenario.id));
    if rows.is_empty() {
        let message = format!(
            "--only: no row of {} contains {}",
            suite.id,
            only.join(" or ")
        );
        let hint = format!("`prony scenarios {}` lists its rows", suite.id);
        return Err(Failure::usage(message, hint));
    }
    Ok(rows)
}

/// What is requested for all rows, if it differs from what is published. Runs with different requests are not rows of
/// one table.
fn request_text(args: &ReproduceArgs) -> String {
    let input = &args.flags.input;
    let clients = input.clients.as_ref().map(|clients| clients.value);
    let warmup = input.warmup.as_ref().map(|warmup| warmup.value);
    // 0.0033333333333333335 % is 1/30,000.
    let percent = |share: f64| match format!("{}", share * 100.0) {
        text if text.len() <= 6 => text + " %",
        _ => format!("1/{}", units::count((1.0 / share).round() as u64)),
    };
    let parts = [
        args.shrink
            .filter(|share| *share < 1.0)
            .map(|share| format!("{} of the data", percent(share))),
        args.scale.map(|scale| format!("scale {scale}")),
        args.cached
            .cached
            .map(|share| format!("{} of the data cached", percent(share))),
        clients.map(|clients| units::count_with_noun(clients, "client", "clients")),
        warmup.map(|time| format!("{} of warm-up", format_duration(time))),
        args.duration
            .map(|time| format!("windows of {}", format_duration(time))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.as_slice() {
        [] => "as published".to_owned(),
        parts => parts.join(", "),
    }
}

struct SuiteProgress {
    suite: &'static Suite,
    /// What the documents of its runs say of the suite.
    request: SuiteRequest,
    repeats: u32,
    runs: Vec<Run>,
}

/// A run of a row that is not complete.
#[derive(Clone, Copy)]
struct OpenRun {
    scenario: &'static Scenario,
    repeat: u32,
    /// From 1, in the order of the document.
    position: u32,
}

impl SuiteProgress {
    /// The newest suite of this request that is not complete; otherwise one without runs.
    fn find(
        store: &RunStore,
        args: &ReproduceArgs,
        suite: &'static Suite,
    ) -> Result<SuiteProgress, Failure> {
        let mut progress = SuiteProgress {
            suite,
            request: SuiteRequest {
                id: suite.id.clone(),
                request: request_text(args),
            },
            repeats: args.suite.repeats.unwrap_or(1),
            runs: Vec::new(),
        };
        if args.suite.start_over {
            return Ok(progress);
        }
        let is_own = |run: &&RunSummary| {
            let experiment = run.experiment.as_ref();
            run.state != RunState::Running
                && experiment.is_some_and(|experiment| {
                    experiment.kind == ExperimentKind::Suite(progress.request.clone())
                        && experiment.variants == suite.rows
                        && experiment.runs == progress.run_count()
                })
        };
        // The newest first.
        let listing = store.list(&RunFilter::default())?;
        if let Some(newest) = listing.runs.iter().find(is_own) {
            let runs = complete_runs(store, &newest.id)?;
            if (runs.len() as u32) < progress.run_count() {
                progress.runs = runs.into_iter().map(Run::without_seconds).collect();
            }
        }
        Ok(progress)
    }

    fn run_count(&self) -> u32 {
        u32::try_from(self.suite.rows.len())
            .unwrap_or(u32::MAX)
            .saturating_mul(self.repeats)
    }

    /// The runs of a row that are not done.
    fn open_runs(&self, (row, scenario): NumberedRow) -> impl Iterator<Item = OpenRun> + '_ {
        let before = u32::try_from(row)
            .unwrap_or(u32::MAX)
            .saturating_mul(self.repeats);
        let done = self.runs.iter().filter_map(|run| run.experiment.as_ref());
        let done: Vec<u32> = done.map(|experiment| experiment.position).collect();
        let runs = (1..=self.repeats).map(move |repeat| OpenRun {
            scenario,
            repeat,
            position: before + repeat,
        });
        runs.filter(move |run| !done.contains(&run.position))
    }

    /// The selected rows that are not done, with their remaining runs.
    fn planned_rows(&self, rows: &[NumberedRow]) -> Vec<PlannedRow> {
        let mut previous = None;
        let mut planned = Vec::new();
        for (row, scenario) in rows {
            let runs = self.open_runs((*row, scenario)).count() as u32;
            if runs == 0 {
                continue;
            }
            let data = data_key(scenario);
            let loads = if !self.suite.keep_data {
                runs
            } else if previous == Some(data) {
                0
            } else {
                1
            };
            previous = Some(data);
            planned.push(PlannedRow {
                scenario,
                runs,
                loads,
            });
        }
        planned
    }
}

/// Which data a row needs, by its workload and scale: two rows with the same key can use the same tables.
type DataKey = (&'static str, Option<u64>);

fn data_key(scenario: &'static Scenario) -> DataKey {
    (scenario.data_workload(), scenario.scale)
}

/// The rows that have not run.
struct SuiteSchedule<'a> {
    args: &'a ReproduceArgs,
    arguments: &'a [OsString],
    suite: &'static Suite,
    request: SuiteRequest,
    run_count: u32,
    open: VecDeque<OpenRun>,
    /// The run that was decided last.
    current: Option<OpenRun>,
    /// What was prepared for that run; `None` until it is.
    prepared: Option<PlannedRun>,
    /// The data that the last run left.
    loaded: Option<DataKey>,
}

impl Schedule for SuiteSchedule<'_> {
    fn next_run(&mut self, _: &[Run]) -> Option<Experiment> {
        let run = self.open.pop_front()?;
        self.current = Some(run);
        self.prepared = None;
        Some(Experiment {
            kind: ExperimentKind::Suite(self.request.clone()),
            variant: run.scenario.id.clone(),
            repeat: run.repeat,
            position: run.position,
            runs: self.run_count,
            order: RunOrder::Sequential,
            variants: self.suite.rows.clone(),
            ..Experiment::default()
        })
    }

    fn header(&self, position: &Experiment) -> String {
        format!("\n{}", experiment::run_header(position, None))
    }

    fn prepare(
        &mut self,
        _: &Experiment,
        driver: &ExperimentDriver<'_>,
    ) -> Result<RunRequest, Failure> {
        let run = self.current.expect("a run was decided");
        let keeps_data = self.suite.keep_data && self.loaded == Some(data_key(run.scenario));
        let must_load = !self.args.no_load && !keeps_data;
        let mut planned = PlannedRun::new(self.args, run.scenario, must_load, self.arguments)?;
        planned.prepare_server(self.args, driver.signals)?;
        let request = planned.request.clone();
        self.prepared = Some(planned);
        Ok(request)
    }

    fn clean_up(&mut self) -> Result<(), Failure> {
        if let Some(planned) = &self.prepared {
            planned.clean_up(self.args)?;
            let is_kept = !self.args.cleanup;
            self.loaded = is_kept.then(|| data_key(planned.scenario));
        }
        Ok(())
    }
}

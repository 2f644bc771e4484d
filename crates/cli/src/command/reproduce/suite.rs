//! `prony reproduce SUITE`: the scenarios of a suite, one after another.
//!
//! Each row is run as `prony reproduce` runs it alone, and is part of one experiment, whose variants are the rows. A
//! suite that was stopped is continued: what has run is in the store, and nothing else is remembered.

use super::commands::ScenarioSettings;
use super::estimate::{self, PlannedRow};
use super::{PlannedRun, check_scale, run_request};
use crate::args::ReproduceArgs;
use crate::command::{output, stored};
use crate::exit::{Exit, Failure};
use crate::run::{self, ExperimentPart};
use prony_judge::reproduced::suite_summary;
use prony_plan::format_duration;
use prony_plan::scenario::{Scenario, Suite};
use prony_report::{Style, experiment, json, suite as view, units};
use prony_runner::Signals;
use prony_store::scenario::SuiteRow;
use prony_store::{Experiment, Run, RunFilter, RunOrder, RunState, RunStore};
use std::ffi::OsString;
use std::io::stderr;

/// Refuses flags of suites for a single scenario.
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
        Some((flag, _)) => Err(Failure::new(
            Exit::Usage,
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
        return Err(Failure::new(
            Exit::Usage,
            message,
            "set PRONY_HOME to another folder",
        ));
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
        output::show(|out, style| match args.json {
            true => json::write_pretty(out, &estimate),
            false => view::write_estimate(out, style, &estimate),
        })?;
        return Ok(Exit::Success);
    }
    // Nothing is lost if stderr is closed.
    let _ = view::write_estimate(&mut stderr(), &Style::of(&stderr()), &estimate);
    if done > 0 {
        output::notice(&format!(
            "Continues {}; --start-over runs all rows again.",
            progress.experiment_id
        ));
    }
    let signals = Signals::listen()?;
    let result = progress.run_rows(args, &rows, arguments, &signals);
    if !args.json
        && let Some(summary) = suite_summary(&progress.runs)
    {
        output::show(|out, style| view::write_summary(out, style, &summary))?;
        output::notice(&format!(
            "\nAs a page: prony report {} --output suite.html",
            progress.experiment_id
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
        return Err(Failure::new(Exit::Usage, message, hint));
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

/// The runs of a suite so far.
struct SuiteProgress {
    suite: &'static Suite,
    /// What the documents of its runs say of the suite.
    part: SuiteRow,
    repeats: u32,
    /// Id of the first run; empty before it.
    experiment_id: String,
    /// The complete runs.
    runs: Vec<Run>,
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
            part: SuiteRow {
                id: suite.id.clone(),
                request: request_text(args),
            },
            repeats: args.suite.repeats.unwrap_or(1),
            experiment_id: String::new(),
            runs: Vec::new(),
        };
        if args.suite.start_over {
            return Ok(progress);
        }
        let mut summaries = store.list(&RunFilter::default())?.runs;
        summaries.retain(|run| run.state != RunState::Running);
        summaries.retain(|run| {
            let experiment = run.experiment.as_ref();
            experiment.is_some_and(|part| {
                part.variants == suite.rows && part.runs == progress.run_count()
            })
        });
        // The newest first.
        for summary in &summaries {
            let run = store.load(&summary.id)?;
            let part = run
                .scenario
                .as_ref()
                .and_then(|scenario| scenario.suite.as_ref());
            let Some(experiment) = run.experiment.filter(|_| part == Some(&progress.part)) else {
                continue;
            };
            let is_of_suite = |other: &&prony_store::RunSummary| {
                let other = other.experiment.as_ref();
                other.is_some_and(|other| other.id == experiment.id)
            };
            for summary in summaries.iter().filter(is_of_suite) {
                progress.add(store.load(&summary.id)?);
            }
            progress.experiment_id = experiment.id;
            break;
        }
        let is_complete = progress.runs.len() as u32 >= progress.run_count();
        if is_complete {
            progress.runs.clear();
            progress.experiment_id.clear();
        }
        Ok(progress)
    }

    fn run_count(&self) -> u32 {
        u32::try_from(self.suite.rows.len())
            .unwrap_or(u32::MAX)
            .saturating_mul(self.repeats)
    }

    /// Position of a repeat of a row, from 1.
    fn position(&self, row: usize, repeat: u32) -> u32 {
        u32::try_from(row)
            .unwrap_or(u32::MAX)
            .saturating_mul(self.repeats)
            + repeat
    }

    /// Adds a complete run, unless its position has one; the seconds are not needed here.
    fn add(&mut self, run: Run) {
        let position = |run: &Run| run.experiment.as_ref().map(|part| part.position);
        let is_new = self
            .runs
            .iter()
            .all(|other| position(other) != position(&run));
        if run.state == RunState::Complete && is_new {
            self.runs.push(run.without_seconds());
        }
    }

    fn is_done(&self, position: u32) -> bool {
        let mut parts = self.runs.iter().filter_map(|run| run.experiment.as_ref());
        parts.any(|part| part.position == position)
    }

    /// The selected rows that are not done, with their remaining runs.
    fn planned_rows(&self, rows: &[NumberedRow]) -> Vec<PlannedRow> {
        let mut previous = None;
        let mut planned = Vec::new();
        for (row, scenario) in rows {
            let is_open = |repeat: &u32| !self.is_done(self.position(*row, *repeat));
            let runs = (1..=self.repeats).filter(is_open).count() as u32;
            if runs == 0 {
                continue;
            }
            let data = self.data_key(scenario);
            let loads = match self.suite.keep_data {
                true if previous == Some(data) => 0,
                true => 1,
                false => runs,
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

    /// Which data a row needs: two rows with the same key can use the same tables.
    fn data_key(&self, scenario: &'static Scenario) -> (&'static str, Option<u64>) {
        (scenario.data_workload(), scenario.scale)
    }

    /// Runs the rows; what has ended stays stored.
    fn run_rows(
        &mut self,
        args: &ReproduceArgs,
        rows: &[NumberedRow],
        arguments: &[OsString],
        signals: &Signals,
    ) -> Result<Exit, Failure> {
        let mut worst = Exit::Success;
        let mut loaded = None;
        for (row, scenario) in rows {
            for repeat in 1..=self.repeats {
                let position = self.position(*row, repeat);
                if self.is_done(position) {
                    continue;
                }
                if let Some(signal) = signals.received() {
                    return Ok(signal.into());
                }
                let data = self.data_key(scenario);
                let keeps_data = self.suite.keep_data && loaded == Some(data);
                let must_load = !args.no_load && !keeps_data;
                let part = self.experiment_part(&scenario.id, repeat, position);
                output::notice(&format!("\n{}", experiment::run_header(&part, None)));
                let mut planned = PlannedRun::new(args, scenario, must_load, arguments)?;
                planned.prepare_server(args, signals)?;
                let exit = self.run_one(args, &mut planned, part, signals)?;
                planned.clean_up(args)?;
                loaded = (!args.cleanup).then_some(data);
                worst = worst.worse(exit);
            }
        }
        Ok(worst)
    }

    fn run_one(
        &mut self,
        args: &ReproduceArgs,
        planned: &mut PlannedRun,
        experiment: Experiment,
        signals: &Signals,
    ) -> Result<Exit, Failure> {
        if let Some(scenario) = &mut planned.request.purpose.scenario {
            scenario.suite = Some(self.part.clone());
        }
        let part = ExperimentPart {
            experiment,
            seed: None,
            signals,
            metrics: None,
        };
        let result = run::execute(&planned.request, &planned.observe, Some(&part))?;
        output::show(|out, style| match (args.json, args.output.full) {
            (true, _) => json::write_line(out, result.run()),
            (false, true) => result.write_full(out, style),
            (false, false) => experiment::write_run(out, style, result.run()),
        })?;
        let (run, exit) = result.into_stored_run()?;
        if self.experiment_id.is_empty() {
            self.experiment_id.clone_from(&run.id);
        }
        self.add(run);
        Ok(exit)
    }

    fn experiment_part(&self, row: &str, repeat: u32, position: u32) -> Experiment {
        Experiment {
            id: self.experiment_id.clone(),
            variant: row.to_owned(),
            repeat,
            position,
            runs: self.run_count(),
            order: RunOrder::Sequential,
            variants: self.suite.rows.clone(),
            ..Experiment::default()
        }
    }
}

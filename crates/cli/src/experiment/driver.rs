//! Executes the runs of an experiment one after another: variants, the points of a sweep, the steps of a search, the
//! rows of a suite.
//!
//! In: a schedule, which says what runs next. Out: the stored runs. Must never: start a run after a signal, or before the
//! last one is stored.

use crate::command::output;
use crate::exit::{Exit, Failure};
use crate::run::{self, ExperimentPart, MetricsServer, ResultFormat, RunRequest, RunResult};
use prony_drive::KeptConnections;
use prony_judge::experiment::{LastingProblem, lasting_problem};
use prony_judge::noise::{condense_readings, is_invalid_by_others_only};
use prony_plan::splitmix64;
use prony_report::{experiment, json, terminal};
use prony_runner::Signals;
use prony_store::{Experiment, ExperimentKind, Run};

pub trait Schedule {
    /// The position of the next run after those that have ended, without the id of the experiment; `None` after the last
    /// one. It only decides, and waits for nothing.
    fn next_run(&mut self, ended: &[Run]) -> Option<Experiment>;

    /// The line before a run.
    fn header(&self, position: &Experiment) -> String {
        experiment::run_header(position, None)
    }

    /// Does what must precede a run, and returns its request.
    fn prepare(
        &mut self,
        position: &Experiment,
        driver: &ExperimentDriver<'_>,
    ) -> Result<RunRequest, Failure>;

    /// Takes note of a run that has ended, if what comes next depends on it, and shows it. The run still has its seconds.
    fn record(&mut self, format: ResultFormat, result: &RunResult) -> Result<(), Failure> {
        show_run(format, result)
    }

    /// Puts back what was prepared for a run that is stored.
    fn clean_up(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

pub fn show_run(format: ResultFormat, result: &RunResult) -> Result<(), Failure> {
    output::show(|out, style| match format {
        ResultFormat::Json => json::write_line(out, result.run()),
        ResultFormat::Full => result.write_full(out, style),
        ResultFormat::Junit | ResultFormat::Github => Ok(()),
        ResultFormat::FirstScreen => experiment::write_run(out, style, result.run()),
        ResultFormat::Drill => terminal::write_drill(out, style, result.run(), result.stored()),
    })?;
    Ok(())
}

pub struct ExperimentDriver<'a> {
    pub signals: &'a Signals,
    /// Where the figures of all runs are served: one listener answers during pauses too, and keeps the port.
    pub metrics: Option<&'a MetricsServer>,
    /// Whether it goes on although a problem that lasts has made every run invalid.
    pub keep_going: bool,
    /// The clients' connections, if they stay open between the runs, which then differ in their pace only.
    pub kept_connections: Option<KeptConnections>,
    /// The runs that have ended, without their seconds; those of an experiment that is continued come first.
    pub runs: Vec<Run>,
}

impl<'a> ExperimentDriver<'a> {
    pub fn new(signals: &'a Signals, metrics: Option<&'a MetricsServer>) -> ExperimentDriver<'a> {
        ExperimentDriver {
            signals,
            metrics,
            keep_going: false,
            kept_connections: None,
            runs: Vec::new(),
        }
    }

    /// Id of the experiment, which is that of its first run; empty before it.
    pub fn experiment_id(&self) -> String {
        let first = self.runs.first().and_then(|run| run.experiment.as_ref());
        first.map_or_else(String::new, |first| first.id.clone())
    }

    /// Executes the runs of the schedule; returns the worst of their exit codes, or that of a signal.
    ///
    /// # Errors
    /// If a run cannot be prepared, executed or stored. Those before it stay in `runs`.
    pub fn drive(&mut self, schedule: &mut impl Schedule) -> Result<Exit, Failure> {
        let mut worst = Exit::Success;
        while let Some(mut position) = schedule.next_run(&self.runs) {
            if let Some(problem) = lasting_problem(&self.runs).filter(|_| !self.keep_going) {
                output::notice(&end_notice(problem, self.runs.len(), position.runs));
                break;
            }
            if let Some(signal) = self.signals.received() {
                return Ok(signal.into());
            }
            output::notice(&schedule.header(&position));
            let request = schedule.prepare(&position, self)?;
            if let Some(signal) = self.signals.received() {
                return Ok(signal.into());
            }
            position.id = self.experiment_id();
            let result = self.execute(&request, position)?;
            schedule.record(request.format, &result)?;
            let (run, exit) = result.into_stored_run()?;
            self.add(run);
            schedule.clean_up()?;
            worst = worst.worse(exit);
        }
        Ok(worst)
    }

    /// Executes a run at a position of the experiment, without adding it.
    pub fn execute(
        &self,
        request: &RunRequest,
        experiment: Experiment,
    ) -> Result<RunResult, Failure> {
        let plan_seed = request.plan.drive.seed;
        let part = ExperimentPart {
            seed: plan_seed.map(|seed| repeat_seed(seed, experiment.repeat)),
            experiment,
            signals: self.signals,
            metrics: self.metrics,
            kept_connections: self.kept_connections.as_ref(),
        };
        run::execute(request, Some(&part))
    }

    fn add(&mut self, mut run: Run) {
        let are_variants = run.experiment_kind() == Some(&ExperimentKind::Variants);
        // Of the server, only its sessions, its CPU time and the noise are needed here, and at a point of a sweep what
        // limits it.
        if are_variants {
            condense_readings(&mut run);
        }
        self.runs.push(run.without_seconds());
        let is_several = |run: &Run| {
            let experiment = run.experiment.as_ref();
            experiment.is_some_and(|experiment| experiment.variants.len() > 1)
        };
        if let [first, second] = &self.runs[..]
            && are_variants
            && is_several(first)
            && [first, second].into_iter().all(is_invalid_by_others_only)
        {
            output::notice(NOISE_NOTICE);
        }
    }
}

/// What an experiment can still decide on machines that others use.
const NOISE_NOTICE: &str = "prony: both runs are invalid because others use the machines. Their figures must not be used, but pairs of runs and CPU \
     time per transaction can still be compared: the experiment goes on.";

/// Why an experiment ends before its last run, and what to do.
fn end_notice(problem: LastingProblem<'_>, ended: usize, planned: u32) -> String {
    let LastingProblem { check, variant } = problem;
    let of_variant = variant.map_or(String::new(), |name| format!(" of variant {name}"));
    format!(
        "prony: the experiment ends after {ended} of {planned} runs: each{of_variant} is invalid by {}, and the others would be too. \
         {} {} Then start the experiment again, or go on all the same with --keep-going.",
        check.id, check.finding, check.advice,
    )
}

/// The seed of a repeat, of 32 bits as random seeds have. Repeats need different seeds: with the same random
/// numbers they would differ less than runs of the system do. The first repeat has the plan's seed, and the
/// same repeat of another variant has the same seed.
fn repeat_seed(seed: u64, repeat: u32) -> u64 {
    match repeat {
        0 | 1 => seed,
        _ => splitmix64(&mut seed.wrapping_add(u64::from(repeat) << 32)) >> 32,
    }
}

#[cfg(test)]
mod tests {
    use super::repeat_seed;

    #[test]
    fn each_repeat_has_its_own_seed() {
        let seeds: std::collections::BTreeSet<u64> =
            (1..=50).map(|repeat| repeat_seed(7, repeat)).collect();
        assert_eq!(seeds.len(), 50);
        assert_eq!(repeat_seed(7, 1), 7);
        assert_eq!(repeat_seed(7, 2), repeat_seed(7, 2));
        assert_ne!(repeat_seed(7, 2), repeat_seed(8, 2));
        assert!(seeds.iter().all(|seed| *seed <= u64::from(u32::MAX)));
    }
}

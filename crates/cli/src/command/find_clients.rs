//! `prony find --over clients`: the clients with the highest throughput of a closed loop, while it meets what is required.
//!
//! Each step is a run with another number of clients; together they are a sweep, whose curve has the knee and the universal
//! scalability law. `judge` decides which number follows.

use super::find::{MIN_STEP, request_of_step, step_input, step_length};
use super::run::observe_options;
use super::{output, plan};
use crate::args::FindArgs;
use crate::exit::{Exit, Failure};
use crate::experiment::{ExperimentDriver, Schedule};
use crate::run::{self, ObserveOptions, ResultFormat, RunRequest, RunResult};
use prony_judge::capacity::{ClientsStep, best_clients, judge_step, next_clients};
use prony_judge::sweep::Sweep;
use prony_plan::{PlanInput, RunOrder, value_from_flag};
use prony_report::{capacity as view, experiment};
use prony_runner::Signals;
use prony_store::{AnswerVerdict, Experiment, ExperimentKind, Requirement, Run, RunState, Setting};
use std::ffi::OsString;

struct ClientsFinder<'a> {
    args: &'a FindArgs,
    arguments: &'a [OsString],
    input: &'a PlanInput,
    subject: &'a str,
    requirements: &'a [Requirement],
    steps: Vec<ClientsStep>,
}

/// Executes the search.
///
/// # Errors
/// A step cannot be executed or stored; the steps so far are printed first.
pub fn find(
    args: &FindArgs,
    arguments: &[OsString],
    input: &PlanInput,
    subject: &str,
    requirements: Vec<Requirement>,
) -> Result<Exit, Failure> {
    for (is_given, option) in [
        (args.from.is_some(), "--from"),
        (args.resume.is_some(), "--resume"),
        (args.format.is_some(), "--format"),
        (input.rate_tps.is_some(), "--rate"),
    ] {
        if is_given {
            let message = "a search over clients is a closed loop that begins with one client";
            let hint = format!("leave {option} out");
            return Err(Failure::new(Exit::Usage, message, hint).at(option));
        }
    }
    let checked = plan::check_runnable(input.clone(), subject)?;
    let metrics = run::listen_for_prometheus(&observe_options(input, &checked))?;
    let signals = Signals::listen()?;
    let mut driver = ExperimentDriver::new(&signals, metrics.as_ref());
    // Numbers of clients beyond what a machine can do say where its limit is.
    driver.keep_going = true;
    let mut finder = ClientsFinder {
        args,
        arguments,
        input,
        subject,
        requirements: &requirements,
        steps: Vec::new(),
    };
    let ended = driver.drive(&mut finder);
    if finder.steps.is_empty() {
        return ended;
    }
    let best = best_clients(&finder.steps);
    let sweep = Sweep::of(&driver.runs);
    output::show(|out, style| {
        if args.json {
            return view::write_clients_json(
                out,
                &requirements,
                best,
                &finder.steps,
                sweep.as_ref(),
            );
        }
        view::write_clients(out, style, &requirements, best)?;
        sweep.as_ref().map_or(Ok(()), |sweep| {
            writeln!(out)?;
            experiment::write_curves(out, style, sweep)
        })
    })?;
    if next_clients(&finder.steps, usize::MAX).is_some() {
        output::notice(
            "prony: the search has not ended: another number of clients may be better. --max-steps allows more steps.",
        );
        return Ok(signals
            .received()
            .map_or(ended?.worse(Exit::Undecided), Into::into));
    }
    let is_decided = finder
        .steps
        .iter()
        .any(|step| step.verdict == AnswerVerdict::Fail);
    let exit = ended?;
    Ok(match (signals.received(), best) {
        (Some(signal), _) => signal.into(),
        (None, None) if is_decided => Exit::RequirementFailed,
        (None, None) => Exit::Undecided,
        (None, Some(_)) => exit,
    })
}

impl Schedule for ClientsFinder<'_> {
    fn next_run(&mut self, ended: &[Run]) -> Option<Experiment> {
        let is_complete = |run: &Run| run.state == RunState::Complete;
        if !ended.last().is_none_or(is_complete) {
            return None;
        }
        let clients = next_clients(&self.steps, self.args.max_steps as usize)?;
        Some(Experiment {
            kind: ExperimentKind::Sweep,
            variant: format!("clients-{clients}"),
            repeat: 1,
            position: u32::try_from(ended.len() + 1).unwrap_or(u32::MAX),
            runs: self.args.max_steps,
            order: RunOrder::Sequential,
            point: vec![Setting::new("clients", clients.to_string())],
            ..Experiment::default()
        })
    }

    fn prepare(
        &mut self,
        position: &Experiment,
        _: &ExperimentDriver<'_>,
    ) -> Result<(RunRequest, ObserveOptions), Failure> {
        let clients = position
            .point
            .first()
            .and_then(|point| point.value.parse().ok());
        let length = match self.steps.last().map(|step| step.tps) {
            Some(tps) if tps > 0.0 => step_length(self.args.step, self.requirements, tps),
            _ => self.args.step.unwrap_or(MIN_STEP),
        };
        let input = PlanInput {
            clients: value_from_flag("find", clients),
            ..step_input(self.input, None, length)
        };
        request_of_step(self.args, self.arguments, input, self.subject, true)
    }

    fn show(&mut self, _: ResultFormat, result: &RunResult) -> Result<(), Failure> {
        let run = result.run();
        let step = judge_step(run, self.requirements);
        let step = ClientsStep {
            clients: run.drive.clients,
            tps: step.achieved.unwrap_or_default(),
            verdict: step.verdict,
        };
        output::notice(&view::clients_line(&step));
        self.steps.push(step);
        Ok(())
    }
}

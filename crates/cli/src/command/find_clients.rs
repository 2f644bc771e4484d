//! `prony find --over clients`: the clients with the highest throughput of a closed loop, while it meets what is required.
//!
//! Each step is a run with another number of clients; together they are a sweep, whose curve has the knee and the universal
//! scalability law. `judge` decides which number follows.

use super::find::{
    MIN_STEP, StepRuns, exit_of_verdict, show_answer, step_input, step_length, value_of,
};
use super::output;
use crate::exit::{Exit, Failure};
use crate::experiment::{ExperimentDriver, Schedule};
use crate::run::{self, ResultFormat, RunRequest, RunResult};
use prony_judge::capacity::{ClientsResult, ClientsSearch, ClientsStep, judge_step, max_clients};
use prony_plan::{PlanInput, value_from_flag};
use prony_report::capacity as view;
use prony_runner::Signals;
use prony_store::{Experiment, RateSearch, Requirement, Run};
use std::time::Duration;

struct ClientsFinder<'a> {
    runs: StepRuns<'a>,
    search: ClientsSearch,
    steps: Vec<ClientsStep>,
}

fn step_of(run: &Run, requirements: &[Requirement]) -> ClientsStep {
    ClientsStep::new(run.drive.clients, judge_step(run, requirements))
}

pub fn find(runs: StepRuns<'_>) -> Result<Exit, Failure> {
    let args = runs.args;
    for (is_given, option) in [
        (args.from.is_some(), "--from"),
        (runs.input.rate_tps.is_some(), "--rate"),
    ] {
        if is_given {
            let message = "a search over clients is a closed loop that begins with one client";
            let hint = format!("leave {option} out");
            return Err(Failure::usage(message, hint).at(option));
        }
    }
    let metrics = run::listen_for_prometheus(&runs.request(runs.input.clone(), true)?.observe)?;
    let signals = Signals::listen()?;
    let mut driver = ExperimentDriver::new(&signals, metrics.as_ref());
    // Numbers of clients beyond what a machine can do say where its limit is.
    driver.keep_going = true;
    let mut finder = ClientsFinder {
        runs,
        search: ClientsSearch {
            precision: args.precision,
            max_steps: args.max_steps as usize,
            max_clients: None,
        },
        steps: Vec::new(),
    };
    if let Some(name) = &args.resume {
        let input = step_input(&finder.runs.input, None, MIN_STEP);
        let requirements = finder.runs.requirements.clone();
        let add = |run: &Run| finder.steps.push(step_of(run, &requirements));
        driver.runs = finder.runs.resume(name, input, add)?;
    }
    let ended = driver.drive(&mut finder);
    if finder.steps.is_empty() {
        return ended;
    }
    let requirements = &finder.runs.requirements;
    let found = ClientsResult::new(&finder.search, requirements, finder.steps, &driver.runs);
    let answer = view::SearchAnswer::of_clients(&found);
    show_answer(args, &answer, &found, |out, style| {
        view::write_clients(out, style, &found)
    })?;
    ended?;
    let exit = exit_of_verdict(found.verdict(), found.invalid_by().is_empty());
    Ok(signals.received().map_or(exit, Into::into))
}

impl Schedule for ClientsFinder<'_> {
    fn next_run(&mut self, ended: &[Run]) -> Option<Experiment> {
        self.search.max_clients = ended.first().and_then(max_clients);
        let clients = self.search.next_clients(&self.steps)?;
        let search = RateSearch {
            is_estimate: false,
            precision: self.search.precision,
            max_steps: self.runs.args.max_steps,
        };
        self.runs.position(ended, clients.to_string(), search)
    }

    fn prepare(
        &mut self,
        position: &Experiment,
        driver: &ExperimentDriver<'_>,
    ) -> Result<RunRequest, Failure> {
        let clients = value_of(position);
        let given: Option<Duration> = self.runs.args.step;
        let length = match self.steps.last().map(|step| step.tps) {
            Some(tps) if tps > 0.0 => step_length(given, &self.runs.requirements, tps),
            _ => given.unwrap_or(MIN_STEP),
        };
        let input = PlanInput {
            clients: value_from_flag("find", clients),
            ..step_input(&self.runs.input, None, length)
        };
        self.runs.prepare(input, driver)
    }

    fn record(&mut self, _: ResultFormat, result: &RunResult) -> Result<(), Failure> {
        let step = step_of(result.run(), &self.runs.requirements);
        output::notice(&view::clients_line(&step));
        self.steps.push(step);
        Ok(())
    }
}

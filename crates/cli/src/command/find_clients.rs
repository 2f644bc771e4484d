//! `prony find --over clients`: the clients with the highest throughput of a closed loop, while it meets what is required.
//!
//! Each step is a run with another number of clients; together they are a sweep, whose curve has the knee and the universal
//! scalability law. `judge` decides which number follows.

use super::find::{
    MIN_STEP, exit_of_verdict, probe_length, request_of_step, step_input, step_length,
};
use super::run::observe_options;
use super::{find_resume, output, plan};
use crate::args::FindArgs;
use crate::exit::{Exit, Failure};
use crate::experiment::{ExperimentDriver, Schedule};
use crate::run::{self, ObserveOptions, ResultFormat, RunRequest, RunResult};
use prony_judge::capacity::{
    ClientsResult, ClientsSearch, ClientsStep, OVER_CLIENTS, judge_step, max_clients,
};
use prony_plan::{PlanInput, RunOrder, value_from_flag};
use prony_report::{capacity as view, json};
use prony_runner::Signals;
use prony_store::{Experiment, ExperimentKind, RateSearch, Requirement, Run, RunState, Setting};
use std::ffi::OsString;
use std::time::Duration;

struct ClientsFinder<'a> {
    args: &'a FindArgs,
    arguments: &'a [OsString],
    input: &'a PlanInput,
    subject: &'a str,
    requirements: &'a [Requirement],
    search: ClientsSearch,
    steps: Vec<ClientsStep>,
    /// The earlier runs, until they were compared with the server and the data of today.
    unchecked: Vec<Run>,
}

pub fn find(
    args: &FindArgs,
    arguments: &[OsString],
    input: &PlanInput,
    subject: &str,
    requirements: Vec<Requirement>,
) -> Result<Exit, Failure> {
    for (is_given, option) in [
        (args.from.is_some(), "--from"),
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
        search: ClientsSearch {
            precision: args.precision,
            max_steps: args.max_steps as usize,
            max_clients: None,
        },
        steps: Vec::new(),
        unchecked: Vec::new(),
    };
    if let Some(name) = &args.resume {
        driver.runs = finder.resume(name)?;
    }
    let ended = driver.drive(&mut finder);
    if finder.steps.is_empty() {
        return ended;
    }
    let found = ClientsResult::new(&finder.search, &requirements, finder.steps, &driver.runs);
    output::show(|out, style| match args.format {
        Some(ResultFormat::Junit) => view::write_clients_junit(out, &found),
        Some(_) => view::write_clients_github(out, &found),
        None if args.json => json::write_pretty(out, &found),
        None => view::write_clients(out, style, &found),
    })?;
    ended?;
    let exit = exit_of_verdict(found.verdict(), found.invalid_by().is_empty());
    Ok(signals.received().map_or(exit, Into::into))
}

impl Schedule for ClientsFinder<'_> {
    fn next_run(&mut self, ended: &[Run]) -> Option<Experiment> {
        let is_complete = |run: &Run| run.state == RunState::Complete;
        if !ended.last().is_none_or(is_complete) {
            return None;
        }
        self.search.max_clients = ended.first().and_then(max_clients);
        let clients = self.search.next_clients(&self.steps)?;
        Some(Experiment {
            kind: ExperimentKind::Search(RateSearch {
                is_estimate: false,
                precision: self.search.precision,
                max_steps: self.args.max_steps,
            }),
            variant: format!("clients-{clients}"),
            repeat: 1,
            position: u32::try_from(ended.len() + 1).unwrap_or(u32::MAX),
            runs: self.args.max_steps,
            order: RunOrder::Sequential,
            point: vec![Setting::new(OVER_CLIENTS, clients.to_string())],
            ..Experiment::default()
        })
    }

    fn prepare(
        &mut self,
        position: &Experiment,
        driver: &ExperimentDriver<'_>,
    ) -> Result<(RunRequest, ObserveOptions), Failure> {
        let clients = position
            .point
            .first()
            .and_then(|point| point.value.parse().ok());
        let unchecked = std::mem::take(&mut self.unchecked);
        if !unchecked.is_empty() {
            output::notice(find_resume::PROBE_NOTICE);
            let (request, observe) = self.request(clients, probe_length(self.args), false)?;
            let probe = driver.execute(&request, &observe, Experiment::default())?;
            let is_embedded = self.input.embedded.is_some();
            find_resume::check_same(&unchecked, probe.run(), is_embedded, OVER_CLIENTS)?;
        }
        let length = match self.steps.last().map(|step| step.tps) {
            Some(tps) if tps > 0.0 => step_length(self.args.step, self.requirements, tps),
            _ => self.args.step.unwrap_or(MIN_STEP),
        };
        self.request(clients, length, true)
    }

    fn show(&mut self, _: ResultFormat, result: &RunResult) -> Result<(), Failure> {
        let step = self.step(result.run());
        output::notice(&view::clients_line(&step));
        self.steps.push(step);
        Ok(())
    }
}

impl ClientsFinder<'_> {
    fn step(&self, run: &Run) -> ClientsStep {
        ClientsStep::new(run.drive.clients, judge_step(run, self.requirements))
    }

    /// Takes the steps of an earlier search; returns its runs.
    fn resume(&mut self, name: &str) -> Result<Vec<Run>, Failure> {
        let input = step_input(self.input, None, MIN_STEP);
        let plan = plan::check_runnable(input, self.subject)?;
        let runs = find_resume::earlier_runs(name, &plan, OVER_CLIENTS)?;
        self.steps = runs.iter().map(|run| self.step(run)).collect();
        let runs: Vec<Run> = runs.into_iter().map(Run::without_seconds).collect();
        self.unchecked.clone_from(&runs);
        Ok(runs)
    }

    fn request(
        &self,
        clients: Option<u64>,
        length: Duration,
        must_store: bool,
    ) -> Result<(RunRequest, ObserveOptions), Failure> {
        let input = PlanInput {
            clients: value_from_flag("find", clients),
            ..step_input(self.input, None, length)
        };
        request_of_step(self.args, self.arguments, input, self.subject, must_store)
    }
}

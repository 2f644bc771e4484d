//! `prony run` and `prony drill`.
//!
//! Executes a workload or a plan file, with flags, as one run or as an experiment. A plan with a mistake is never
//! run.

use super::{output, plan, server, sizing};
use crate::args::{ReplayArgs, RunArgs};
use crate::exit::{Exit, Failure};
use crate::experiment::{self, ExperimentRequest};
use crate::run::fleet::with_agents_of_environment;
use crate::run::{
    ObserveOptions, ResultFormat, RunRequest, answers, execute, run_and_print, run_and_print_run,
};
use prony_judge::requirements::Baseline;
use prony_plan::{
    Experiment, InputLocation, InputValue, MAX_CLIENTS, Pace, Plan, PlanInput, QueryMode,
    REPLAY_WORKLOAD, ServerPlan, value_from_flag,
};
use prony_runner::{Purpose, ServerObserverOptions, WithOrigin};
use prony_server::secrets;
use prony_store::scenario::CachedShare;
use prony_workload::replay::load_of;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

/// Executes `prony run`.
pub fn run(args: &RunArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    run_as(args, args.input(), ResultFormat::FirstScreen, arguments)
}

/// Executes `prony replay`.
pub fn replay(args: &ReplayArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    run(&args.as_run(), arguments)
}

/// Executes `prony drill`: the same with a ledger, where outages are expected, and with another view of the result.
pub fn drill(args: &RunArgs, arguments: &[OsString]) -> Result<Exit, Failure> {
    let switched_on = || value_from_flag("prony drill", Some(true));
    let input = PlanInput {
        ledger: switched_on(),
        expect_outage: switched_on(),
        ..args.input()
    };
    run_as(args, input, ResultFormat::Drill, arguments)
}

fn run_as(
    args: &RunArgs,
    flags: PlanInput,
    view: ResultFormat,
    arguments: &[OsString],
) -> Result<Exit, Failure> {
    let (input, subject) = plan_input(&args.workload_or_plan, args.is_plan(), flags)?;
    if view == ResultFormat::Drill && input.at.is_none() {
        output::notice(
            "prony: this drill does nothing to the server: give --at TIME COMMAND, or send SIGUSR1 when you do it",
        );
    }
    if input.is_experiment() {
        let experiment = plan::check_runnable_experiment(input.clone(), subject)?;
        // A single run is not treated as an experiment.
        if experiment.run_count() > 1 {
            check_primary(args, experiment.variants.len())?;
            check_copy_is_kept(&experiment)?;
            let request = experiment_request(args, &input, experiment, view, arguments)?;
            return experiment::run_and_print(&request);
        }
    }
    check_primary(args, 1)?;
    let plan = plan::check_runnable(input.clone(), subject)?;
    let baselines = baselines_of(&plan)?;
    let request = run_request(args, &input, plan, baselines, view, arguments)?;
    if !args.prove_client {
        return run_and_print(&request);
    }
    if request.plan.agents.len() < 2 {
        let hint = "name at least two with --agent: half of them drive the same load again";
        return Err(Failure::usage(
            "--prove-client needs several machines",
            hint,
        ));
    }
    if request.plan.drive.pace != Pace::Closed {
        let hint = "remove the rate: half of the machines would keep it too";
        return Err(Failure::usage(
            "--prove-client needs a load without a rate",
            hint,
        ));
    }
    prove_client(&request)
}

/// Refuses a figure to test where there is nothing to compare.
fn check_primary(args: &RunArgs, variant_count: usize) -> Result<(), Failure> {
    if args.primary.is_none() || variant_count > 1 {
        return Ok(());
    }
    let message = "there is nothing to compare by the figure of --primary";
    let hint = "vary a setting with --vary, name another server with --versus, or run a plan with variants";
    Err(Failure::usage(message, hint))
}

/// Refuses several runs that replay writes, unless a command restores the copy before each: each would find what the one
/// before it wrote.
fn check_copy_is_kept(experiment: &Experiment) -> Result<(), Failure> {
    let changes_copy = |plan: &Plan| {
        let options = &plan.workload.options;
        let text = |name: &str| options.get(name).and_then(|value| value.as_str());
        plan.workload.name == REPLAY_WORKLOAD
            && text("writes") == Some("on")
            && text("file")
                .and_then(load_of)
                .is_some_and(|recording| recording.may_write())
    };
    let mut variants = experiment.variants.iter();
    if experiment.between.is_none() && variants.any(|variant| changes_copy(&variant.plan)) {
        return Err(Failure::usage(
            "each repeat would change the copy again",
            "run a plan whose experiment.between is the command that restores it, or one run at a time",
        ));
    }
    Ok(())
}

/// Drives the same load once more from half of the machines, and says whether the figure was the same.
fn prove_client(request: &RunRequest) -> Result<Exit, Failure> {
    let (whole, exit) = run_and_print_run(request)?;
    if exit != Exit::Success {
        return Ok(exit);
    }
    let mut half_request = request.clone();
    let machines = request.plan.agents.len();
    half_request.plan.agents.truncate(machines / 2);
    half_request.label = None;
    output::notice(&format!(
        "prony: the same load from {} of {machines} machines (--prove-client)",
        machines / 2
    ));
    let (half, half_exit) = execute(&half_request, None)?.into_stored_run()?;
    if half_exit != Exit::Success {
        output::notice(
            "prony: the load from half of the machines did not succeed, so that it proves nothing",
        );
        return Ok(half_exit);
    }
    let proof = prony_judge::client_proof(&whole, &half);
    output::notice(&format!("prony: {}", proof.sentence));
    Ok(Exit::invalid_if(proof.was_client_limited))
}

/// The input, and the name of its main source for messages.
pub fn plan_input(
    name: &str,
    is_plan: bool,
    flags: PlanInput,
) -> Result<(PlanInput, &str), Failure> {
    let (input, name) = if is_plan {
        let file = plan::read_plan(Path::new(name))?;
        (file.overlay(flags), name)
    } else {
        (flags, "the command line")
    };
    Ok((with_recorded_load(with_agents_of_environment(input)), name))
}

/// The number of clients and the protocol of the recording, for a replay that does not name them.
fn with_recorded_load(mut input: PlanInput) -> PlanInput {
    let file = input.options.get("file");
    let file = file.filter(|_| input.replays_sessions());
    // A file that cannot be read is reported with the other problems of the plan.
    let Some(recording) = file.and_then(|file| load_of(file.value.as_str()?)) else {
        return input;
    };
    let sessions = input.options.get("sessions");
    let copies = sessions
        .and_then(|sessions| u32::try_from(sessions.value.as_integer()?).ok())
        .unwrap_or(1);
    let clients = u64::from(recording.concurrent_sessions(copies)) * u64::from(copies);
    if input.clients.is_none() {
        input.clients = value_from_flag("the recording", Some(clients.min(MAX_CLIENTS.into())));
    }
    if input.protocol.is_none() && recording.has_unnamed_statements() {
        input.protocol = value_from_flag("the recording", Some(QueryMode::Extended));
    }
    input
}

fn experiment_request(
    args: &RunArgs,
    input: &PlanInput,
    experiment: Experiment,
    view: ResultFormat,
    arguments: &[OsString],
) -> Result<ExperimentRequest, Failure> {
    let variants = input.variants().into_iter().zip(&experiment.variants);
    // Variants mostly require the same, and the points of a sweep are many: documents are read once.
    let mut known: Vec<(&Plan, Arc<[Baseline]>)> = Vec::new();
    let requests = variants.map(|((_, input), variant)| {
        let plan = &variant.plan;
        let same = known.iter().find(|(other, _)| {
            other.require == plan.require && other.workload.name == plan.workload.name
        });
        let baselines = match same {
            Some((_, baselines)) => Arc::clone(baselines),
            None => {
                let loaded = baselines_of(plan)?;
                known.push((plan, Arc::clone(&loaded)));
                loaded
            }
        };
        run_request(args, &input, plan.clone(), baselines, view, arguments)
    });
    Ok(ExperimentRequest {
        requests: requests.collect::<Result<_, Failure>>()?,
        experiment,
        primary: args.primary.clone(),
    })
}

/// The stored runs with which the requirements of a plan compare.
fn baselines_of(plan: &Plan) -> Result<Arc<[Baseline]>, Failure> {
    answers::load_baselines(&plan.workload.name, &plan.require.0).map(Arc::from)
}

fn run_request(
    args: &RunArgs,
    input: &PlanInput,
    plan: Plan,
    baselines: Arc<[Baseline]>,
    view: ResultFormat,
    arguments: &[OsString],
) -> Result<RunRequest, Failure> {
    let by_flags = match ResultFormat::from_flags(args.json, args.output.full) {
        ResultFormat::FirstScreen => view,
        by_flags => by_flags,
    };
    let format = args.format.unwrap_or(by_flags);
    answers::check_format(format, &plan.require.0)?;
    Ok(RunRequest {
        check_after: args.check_after,
        doctor: args.doctor,
        purpose: Purpose {
            cached: expected_cached(args, &plan)?,
            baselines,
            ..Purpose::default()
        },
        may_download: args.download,
        format,
        label: args.label.clone(),
        restart: input.restart.clone().map(|command| command.value),
        must_store: !args.output.no_store,
        progress_interval: args.output.progress,
        ..RunRequest::new(input, plan, arguments)
    })
}

/// The share of `--expect-cached`, with the memory that it refers to.
fn expected_cached(args: &RunArgs, plan: &Plan) -> Result<Option<CachedShare>, Failure> {
    let Some(share) = args.expect_cached else {
        return Ok(None);
    };
    let ServerPlan::Url(url) = &plan.server else {
        let message =
            "--expect-cached needs a running server, and the embedded one is not started yet";
        return Err(Failure::usage(message, "name a server with --url"));
    };
    let mut control = server::connect(&server::resolve_target(Some(url))?)?;
    let exporter_url = plan.observe.server_metrics.as_deref();
    sizing::cached_share(&mut control, share, args.expect_cached_of, exporter_url).map(Some)
}

/// How to observe the server, and where to publish the figures.
pub fn observe_options(input: &PlanInput, plan: &Plan) -> ObserveOptions {
    // Each value of the plan has a location, because it comes from a flag or a file.
    fn origin<T>(value: &InputValue<T>) -> String {
        let location = value.as_ref().map(|value| value.location.to_string());
        location.unwrap_or_default()
    }
    let observe = &plan.observe;
    let off_reason = (!observe.server).then(|| match &input.observe {
        Some(value) if !matches!(value.location, InputLocation::Flag(_)) => {
            format!("the plan disables it ({})", value.location)
        }
        _ => "--no-observe was given".to_owned(),
    });
    ObserveOptions {
        server: ServerObserverOptions {
            off_reason,
            exporter: observe.server_metrics.clone().map(|value| WithOrigin {
                value,
                origin: origin(&input.server_metrics),
            }),
        },
        metrics_address: observe.metrics_listen.clone().map(|value| WithOrigin {
            value,
            origin: origin(&input.metrics_listen),
        }),
    }
}

/// The request for the Run document: each value with its location, and the command line as typed, without
/// passwords.
pub fn request_document(input: &PlanInput, plan: &Plan, arguments: &[OsString]) -> Value {
    let server = server::shown_name(plan);
    let mut typed_arguments: Vec<String> = arguments
        .iter()
        .map(|argument| secrets::redact_argument(&argument.to_string_lossy()))
        .collect();
    hide_commands(&mut typed_arguments);
    json!({ "command": typed_arguments, "given": input.to_json(&server) })
}

/// What stands for a command that may contain a password.
const A_COMMAND: &str = "a command";

/// Replaces the commands of `--at TIME COMMAND` and of agents, which may contain a password, as in the plan.
fn hide_commands(arguments: &mut [String]) {
    for index in 0..arguments.len() {
        let argument = arguments[index].as_str();
        let distance_to_command = match argument {
            "--at" => Some(2),
            "--agent" => Some(1),
            _ if argument.starts_with("--at=") => Some(1),
            _ => None,
        };
        if let Some(distance) = distance_to_command {
            if let Some(command) = arguments.get_mut(index + distance) {
                A_COMMAND.clone_into(command);
            }
            continue;
        }
        // Flag and command in one argument, or the key of a setting.
        for name in ["--agent=", "fleet.agents="] {
            if let Some(start) = arguments[index].find(name) {
                arguments[index].replace_range(start + name.len().., A_COMMAND);
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_marks_are_not_stored() {
        let line = "prony run tpcb --at 5s kill-secret --seed 1 --at=6s other-secret --at 7s";
        let mut arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        hide_commands(&mut arguments);
        let hidden = "prony run tpcb --at 5s a command --seed 1 --at=6s a command --at 7s";
        assert_eq!(arguments.join(" "), hidden);
    }

    #[test]
    fn commands_of_agents_are_not_stored() {
        let line =
            "prony run tpcb --agent my-secret --agent=other-secret -o fleet.agents=x --seed 1";
        let mut arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        hide_commands(&mut arguments);
        let hidden =
            "prony run tpcb --agent a command --agent=a command -o fleet.agents=a command --seed 1";
        assert_eq!(arguments.join(" "), hidden);
    }
}

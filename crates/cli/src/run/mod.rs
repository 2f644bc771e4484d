//! One run, from the plan to the stored and printed result.
//!
//! Calls the runner and prints its result; never changes figures.

mod live_observer;
mod metrics;
pub mod run_server;
mod warnings;

use crate::command::{load, output, server};
use crate::exit::{Exit, Failure};
use live_observer::LiveObserver;
pub use metrics::MetricsServer;
use prony_drive::ConnectError;
use prony_plan::{Choice, ListenAddress, Plan, ServerPlan};
use prony_report::terminal::{self, DocumentLocation};
use prony_report::{LiveView, RunOutline, Size, Style, json};
use prony_runner::Signals;
use prony_runner::{
    Error, FinishedRun, Prepared, Purpose, RunJob, RunServer, ServerObserverOptions, StorePolicy,
    WithOrigin, random_seed,
};
use prony_server::control::Cause;
use prony_store::{Run, RunState, Severity, StoreError};
use prony_workload::Workload;
use std::io::{Stderr, stderr};
use std::path::PathBuf;
use std::time::Duration;

/// A run to execute, and what to do with its result.
pub struct RunRequest {
    /// The request as it was made, for the document; without passwords.
    pub request_json: serde_json::Value,
    /// The checked plan.
    pub plan: Plan,
    /// Consent to download PostgreSQL's programs for a throw-away server.
    pub download: bool,
    /// Print the document instead of the report.
    pub json: bool,
    /// Store the run.
    pub store: bool,
    /// Time between lines of progress; zero for none.
    pub progress: Duration,
    /// The purpose of the run.
    pub purpose: Purpose,
}

/// How to observe the server during the run, and where to publish the figures.
#[derive(Clone, Debug, Default)]
pub struct ObserveOptions {
    /// How to observe the server.
    pub server: ServerObserverOptions,
    /// Where to serve the figures to Prometheus during the run.
    pub listen: Option<WithOrigin<ListenAddress>>,
}

/// A run that is part of an experiment.
pub struct ExperimentPart<'a> {
    /// Its position in the experiment, whose id is that of its first run.
    pub experiment: prony_store::Experiment,
    /// The seed of this repeat; `None` if the plan has none.
    pub seed: Option<u64>,
    /// The signals that end the whole experiment.
    pub signals: &'a Signals,
    /// Where the figures of all its runs are served, if anywhere.
    pub metrics: Option<&'a MetricsServer>,
}

/// A run that has ended.
pub struct RunResult {
    run: Run,
    /// The path of its document, or why it is not stored; `None` if storing was not requested.
    stored: Option<Result<PathBuf, StoreError>>,
    exit: Exit,
}

impl RunResult {
    /// The Run document.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The document and the exit code.
    ///
    /// # Errors
    /// If the document could not be stored.
    pub fn stored(self) -> Result<(Run, Exit), Failure> {
        if let Some(Err(error)) = self.stored {
            let hint = match &error {
                StoreError::StoredElsewhere { .. } => {
                    "make room; then `prony runs` moves it into the store"
                }
                _ => {
                    "make room before the next run: the result above is complete, but the stored one is not"
                }
            };
            return Err(Failure::new(Exit::Unexpected, error.to_string(), hint));
        }
        Ok((self.run, self.exit))
    }
}

/// Executes a run and prints its result.
pub fn run_and_print(request: &RunRequest, observe: &ObserveOptions) -> Result<Exit, Failure> {
    let result = execute(request, observe, None)?;
    let path = match &result.stored {
        Some(Ok(path) | Err(StoreError::StoredElsewhere { path, .. })) => {
            Some(path.display().to_string())
        }
        _ => None,
    };
    output::show(|out, style| {
        if request.json {
            json::write(out, &result.run)
        } else {
            let stored = path.as_deref().map(|place| DocumentLocation::JustStored {
                place,
                id: &result.run.id,
            });
            terminal::write(out, style, &result.run, stored)
        }
    })?;
    result.stored().map(|(_, exit)| exit)
}

/// Executes a run, alone or as part of an experiment, judges and stores it, and prints nothing. In an experiment, all
/// runs share one listener for Prometheus.
pub fn execute(
    request: &RunRequest,
    observe: &ObserveOptions,
    part: Option<&ExperimentPart<'_>>,
) -> Result<RunResult, Failure> {
    let plan = &request.plan;
    let workload = server::workload(&plan.workload.name)?;
    // Fails early if the address cannot be used.
    let own_metrics = match part {
        Some(_) => None,
        None => listen(observe)?,
    };
    let metrics = part.map_or(own_metrics.as_ref(), |part| part.metrics);
    let signals = part.map(|part| part.signals.clone());
    let listen_for_signals = || signals.map_or_else(Signals::listen, Ok);
    let (run_server, signals) = match plan.server {
        ServerPlan::Embedded => {
            // From here on there is a server to stop on Ctrl-C.
            let signals = listen_for_signals()?;
            (run_server::find_or_start(plan, request.download)?, signals)
        }
        // Name resolution cannot be interrupted: until it is over, Ctrl-C ends the process directly.
        ServerPlan::Url(_) => (
            run_server::find_or_start(plan, request.download)?,
            listen_for_signals()?,
        ),
    };
    if let (true, Some(name)) = (run_server.is_embedded(), workload.loaded_by(&plan.workload)) {
        let loader = server::workload(name)?;
        load::load_embedded(loader, &plan.workload, &run_server.target, &signals)?;
    }
    let prepared = prepare(workload, plan, &run_server, observe)?;
    let purpose = Purpose {
        experiment: part.map(|part| part.experiment.clone()),
        ..request.purpose.clone()
    };
    let goal = goal(workload, &prepared, plan);
    let mut observer = LiveObserver::new(live_view(request, goal), metrics, plan.drive.grace);
    let finished = prony_runner::run(
        RunJob {
            request: request.request_json.clone(),
            purpose,
            plan,
            workload,
            loaded: &prepared.loaded,
            server: &run_server,
            facts: &prepared.facts,
            connection: &prepared.connection,
            observation: Some(prepared.observation),
            count_on_server: true,
            seed: part
                .map_or(plan.drive.seed, |part| part.seed)
                .unwrap_or_else(random_seed),
            store_policy: match request.store {
                true => StorePolicy::Required,
                false => StorePolicy::No,
            },
            store_folder: None,
            interrupt: &signals,
            tap: None,
            on_connect_refused: None,
        },
        &mut observer,
    );
    observer.end();
    match finished {
        Ok(finished) => Ok(run_result(&signals, finished)),
        Err(error) => Err(failure(&error, &signals)),
    }
}

/// Starts to serve the figures if an address was given, and reports where.
///
/// # Errors
/// If the address does not belong to this machine, or is in use.
pub fn listen(observe: &ObserveOptions) -> Result<Option<MetricsServer>, Failure> {
    let Some(address) = &observe.listen else {
        return Ok(None);
    };
    let metrics = MetricsServer::listen(&address.value, &address.origin)?;
    let at = metrics.address();
    output::notice(&format!("prony: metrics at http://{at}/metrics"));
    if !at.ip().is_loopback() {
        output::notice(&format!(
            "prony: warning: anyone who can reach {at} can read the metrics: there is no password and no encryption"
        ));
    }
    Ok(Some(metrics))
}

fn live_view(request: &RunRequest, goal: RunOutline) -> LiveView<Stderr> {
    let (style, interval_s) = (Style::of(&stderr()), request.progress.as_secs_f64());
    LiveView::new(stderr(), style, goal, interval_s).sized_by(|| Size::of(&stderr()))
}

/// Checks that the data is loaded and reads the facts of the server. Closes the connection again: the server may
/// allow only as many as the clients need.
fn prepare(
    workload: &dyn Workload,
    plan: &Plan,
    run_server: &RunServer,
    observe: &ObserveOptions,
) -> Result<Prepared, Failure> {
    let mut control = server::connect(&run_server.target)?;
    let prepared = prony_runner::prepare(&mut control, workload, &plan.workload, &observe.server);
    prepared.map_err(|error| preparation_failure(&error))
}

/// The failure of a run that could not be prepared.
fn preparation_failure(error: &Error) -> Failure {
    match error {
        Error::Workload(error) => server::workload_failure(error, None),
        Error::ExporterUrl { .. } => Failure::of(Exit::Usage, error),
        other => Failure::of(Exit::Connect, other),
    }
}

/// The exit code of a run that has ended.
fn run_result(signals: &Signals, finished: FinishedRun) -> RunResult {
    let FinishedRun {
        run,
        stored,
        driven,
    } = finished;
    let exit = match (run.state, signals.received()) {
        (RunState::Complete, _) => match prony_judge::worst(&run.checks) {
            Some(Severity::Invalid) => Exit::Invalid,
            _ => Exit::Success,
        },
        (_, Some(signal)) if driven.interrupted => signal.into(),
        _ => Exit::Partial,
    };
    RunResult { run, stored, exit }
}

/// The failure of a run that did not start, or was not stored.
fn failure(error: &Error, signals: &Signals) -> Failure {
    match error {
        Error::NotStarted(error) => start_failure(error, signals),
        Error::NotStored(error) => {
            let hint = "--no-store runs without storing the result";
            Failure::new(Exit::Unexpected, error.to_string(), hint)
        }
        other => preparation_failure(other),
    }
}

fn start_failure(error: &prony_drive::Error, signals: &Signals) -> Failure {
    use prony_drive::Error;
    let exit = match error {
        Error::Interrupted => signals.received().map_or(Exit::Interrupted, Exit::from),
        Error::Connect { .. } | Error::Unready(_) => Exit::Connect,
        Error::Files { .. } | Error::Threads { .. } | Error::Ring(_) => Exit::Usage,
    };
    let mut failure = Failure::of(exit, error);
    if let Error::Connect { source, .. } = error
        && is_out_of_connections(source)
    {
        failure.problems[0].hint =
            "use fewer clients, or raise the server's max_connections".to_owned();
    }
    failure
}

/// Whether the server has no connection left.
fn is_out_of_connections(error: &ConnectError) -> bool {
    let ConnectError::Refused { failures, .. } = error else {
        return false;
    };
    failures.iter().any(|failure| match &failure.cause {
        Cause::Login(error) => error
            .server()
            .is_some_and(|error| error.is_out_of_connections()),
        _ => false,
    })
}

fn goal(workload: &dyn Workload, prepared: &Prepared, plan: &Plan) -> RunOutline {
    let drive = &plan.drive;
    let measured_s = match drive.stop {
        prony_plan::Stop::After(time) | prony_plan::Stop::Starts(time) => Some(time.as_secs_f64()),
        prony_plan::Stop::Transactions(_) | prony_plan::Stop::Shared { .. } => None,
    };
    // Threads without clients are not started.
    let threads = drive.threads.min(drive.clients);
    let plural = if threads == 1 { "" } else { "s" };
    RunOutline {
        title: format!(
            "{}, scale {}: {} clients on {threads} thread{plural}, {} protocol",
            workload.name(),
            prepared.loaded.scale,
            drive.clients,
            drive.protocol.name(),
        ),
        warmup_s: drive.warmup.as_secs_f64(),
        measured_s,
        clients: drive.clients,
        connect_per_transaction: drive.connect_per_transaction,
    }
}

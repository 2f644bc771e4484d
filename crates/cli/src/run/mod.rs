//! One run, from the plan to the stored and printed result.
//!
//! Calls the runner and prints its result; never changes figures.

pub mod answers;
mod early_command;
pub mod fleet;
mod left_settings;
mod live_observer;
pub mod metrics;
mod preparation;
pub mod run_server;
mod server_settings;
mod warnings;

use crate::command::run::{observe_options, request_document};
use crate::command::{load, output, server, stored};
use crate::exit::{Exit, Failure};
use early_command::early_command_warning;
use live_observer::LiveObserver;
pub use metrics::MetricsServer;
use preparation::{preparation_failure, prepare};
use prony_drive::{ConnectError, KeptConnections};
use prony_plan::{
    DrivePlan, ErrorParts, ListenAddress, Plan, PlanInput, REPLAY_WORKLOAD, ServerPlan, UserError,
    format_duration,
};
use prony_report::terminal::{self, DocumentLocation, StoredRun};
use prony_report::units::count_of;
use prony_report::{LiveView, RunOutline, Size, Style, answer, json};
use prony_runner::Signals;
use prony_runner::{
    Error, FinishedRun, Purpose, RunJob, RunPreparation, RunServer, ServerObserverOptions,
    StorePolicy, WithOrigin, function_changed_by_ledger, random_seed,
};
use prony_server::ProtocolOptions;
use prony_server::control::FailureCause;
use prony_store::{Annotation, Answer, Run, RunState, Severity, StoreError};
use prony_workload::Workload;
use std::ffi::OsString;
use std::io::{self, Stderr, Write, stderr};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultFormat {
    /// The figure, the verdict, the times and one advice.
    FirstScreen,
    /// What a drill did and what came of it.
    Drill,
    /// All figures, checks and settings.
    Full,
    /// The document.
    Json,
    /// What is required and whether it is met, as JUnit XML.
    Junit,
    /// The same as annotations of GitHub's workflows.
    Github,
}

impl ResultFormat {
    pub fn from_flags(json: bool, full: bool) -> ResultFormat {
        match (json, full) {
            (true, _) => ResultFormat::Json,
            (false, true) => ResultFormat::Full,
            (false, false) => ResultFormat::FirstScreen,
        }
    }
}

/// A run to execute, and what to do with its result.
#[derive(Clone)]
pub struct RunRequest {
    /// The request as it was made, for the document; without passwords.
    pub request_json: serde_json::Value,
    pub plan: Plan,
    pub observe: ObserveOptions,
    /// Whether PostgreSQL's programs may be downloaded for a throw-away server.
    pub may_download: bool,
    pub format: ResultFormat,
    pub must_store: bool,
    /// Time between lines of progress; zero for none.
    pub progress_interval: Duration,
    /// Whether the consistency of the data is checked after the load.
    pub check_after: bool,
    /// Whether the machine and the server are examined before the load.
    pub doctor: bool,
    pub label: Option<String>,
    /// The user's command that restarts the server, where a setting of the plan needs that.
    pub restart: Option<String>,
    /// What the run is part of or is compared with: an experiment, a scenario, a share of cached data.
    pub purpose: Purpose,
}

impl RunRequest {
    /// A run of this plan that is stored, prints its first screen and does no more than the plan says. `input`: what the plan
    /// was checked from; `arguments`: the command line.
    pub fn new(input: &PlanInput, plan: Plan, arguments: &[OsString]) -> RunRequest {
        RunRequest {
            request_json: request_document(input, &plan, arguments),
            observe: observe_options(input, &plan),
            plan,
            may_download: false,
            format: ResultFormat::FirstScreen,
            must_store: true,
            progress_interval: Duration::from_secs(1),
            check_after: false,
            doctor: false,
            label: None,
            restart: None,
            purpose: Purpose::default(),
        }
    }
}

/// How to observe the server during the run, and where to publish the figures.
#[derive(Clone, Debug, Default)]
pub struct ObserveOptions {
    pub server: ServerObserverOptions,
    /// Where to serve the figures to Prometheus during the run.
    pub metrics_address: Option<WithOrigin<ListenAddress>>,
}

pub struct ExperimentPart<'a> {
    /// Its position in the experiment, whose id is that of its first run.
    pub experiment: prony_store::Experiment,
    /// The seed of this repeat; `None` if the plan has none.
    pub seed: Option<u64>,
    pub signals: &'a Signals,
    /// Where the figures of all its runs are served, if anywhere.
    pub metrics: Option<&'a MetricsServer>,
    /// The clients' connections, if they stay open between its runs.
    pub kept_connections: Option<&'a KeptConnections>,
}

pub struct RunResult {
    run: Run,
    /// The path of its document, or why it is not stored; `None` if storing was not requested.
    storage_result: Option<Result<PathBuf, StoreError>>,
    exit: Exit,
}

impl RunResult {
    /// The path of its document; `None` if it is not stored.
    fn stored_path(&self) -> Option<String> {
        match &self.storage_result {
            Some(Ok(path)) => Some(path.display().to_string()),
            _ => None,
        }
    }

    /// Writes all figures, checks and settings.
    pub fn write_full(&self, out: &mut dyn Write, style: &Style) -> io::Result<()> {
        let path = self.stored_path();
        let stored = path.as_deref().map(|place| DocumentLocation::JustStored {
            place,
            id: &self.run.id,
        });
        terminal::write_full(out, style, &self.run, stored)
    }

    pub fn stored(&self) -> Option<StoredRun<'_>> {
        static NO_ANNOTATION: LazyLock<Annotation> = LazyLock::new(Annotation::default);
        self.stored_path().map(|_| StoredRun {
            show_argument: &self.run.id,
            annotation: &NO_ANNOTATION,
        })
    }

    pub fn run(&self) -> &Run {
        &self.run
    }

    pub fn into_stored_run(self) -> Result<(Run, Exit), Failure> {
        if let Some(Err(error)) = self.storage_result {
            let ErrorParts { problem, hint, .. } = error.parts();
            let mut text = "the result above is complete, but the stored one is not".to_owned();
            if let Some(hint) = hint {
                text += &format!("; before the next run, {hint}");
            }
            return Err(Failure::new(Exit::Unexpected, problem, text));
        }
        Ok((self.run, self.exit))
    }
}

pub fn run_and_print(request: &RunRequest) -> Result<Exit, Failure> {
    Ok(run_and_print_run(request)?.1)
}

/// Executes a run and prints its result; returns its document too.
pub fn run_and_print_run(request: &RunRequest) -> Result<(Run, Exit), Failure> {
    let result = execute(request, None)?;
    let answer = result.run.answer.clone();
    let answers: Vec<(String, Answer)> = answer
        .map(|answer| (result.run.id.clone(), answer))
        .into_iter()
        .collect();
    output::show(|out, style| match request.format {
        ResultFormat::Junit | ResultFormat::Github => Ok(()),
        ResultFormat::Json => json::write_pretty(out, &result.run),
        ResultFormat::Full => result.write_full(out, style),
        ResultFormat::FirstScreen | ResultFormat::Drill => {
            let annotation = &Annotation {
                label: request.label.clone(),
                ..Annotation::default()
            };
            let stored = result.stored_path().map(|_| StoredRun {
                show_argument: "last",
                annotation,
            });
            match request.format {
                ResultFormat::Drill => terminal::write_drill(out, style, &result.run, stored),
                _ => terminal::write_first_screen(out, style, &result.run, stored),
            }
        }
    })?;
    match request.format {
        ResultFormat::Junit => {
            output::show(|out, _| answer::write_junit_of_run(out, &result.run))?;
        }
        ResultFormat::Github => answers::print(request.format, &answers)?,
        _ => {}
    }
    let (run, exit) = result.into_stored_run()?;
    let answers = answers.iter().map(|(_, answer)| answer);
    Ok((run, answers::exit_with(exit, answers)))
}

/// Executes a run, alone or as part of an experiment, judges and stores it, and prints nothing. In an experiment, all
/// runs share one listener for Prometheus.
pub fn execute(
    request: &RunRequest,
    part: Option<&ExperimentPart<'_>>,
) -> Result<RunResult, Failure> {
    let plan = &request.plan;
    let workload = server::find_workload(&plan.workload.name)?;
    // Listen first, so that an address that cannot be used is reported before anything is started.
    let own_metrics = match part {
        Some(_) => None,
        None => listen_for_prometheus(&request.observe)?,
    };
    let metrics = part.map_or(own_metrics.as_ref(), |part| part.metrics);
    let (mut run_server, signals) = find_server(request, part)?;
    let fleet = fleet::start_if_any(&plan.agents, plan.install_agents, &signals)?;
    set_up_for(workload, plan, &mut run_server, &signals)?;
    // Dropped at the end, which puts the server back.
    let restart = request.restart.as_deref();
    let _changed = server_settings::set(plan, &mut run_server, restart, &signals)?;
    let (prepared, doctor_report) = prepare(workload, request, &run_server)?;
    let purpose = Purpose {
        experiment: part.map(|part| part.experiment.clone()),
        ..request.purpose.clone()
    };
    if part.is_none_or(|part| part.experiment.position == 1) {
        announce_warmup(request);
    }
    warn_of_ledger_functions(plan, &run_server, &prepared);
    let view = live_view(request, run_outline(workload, &prepared, plan));
    let mut observer = LiveObserver::new(view, metrics, plan.drive.grace);
    let finished = prony_runner::run(
        RunJob {
            request: request.request_json.clone(),
            purpose,
            plan,
            workload,
            ready_workload: &prepared.ready_workload,
            server: &run_server,
            facts: &prepared.facts,
            connection: &prepared.connection,
            observation: Some(prepared.observation),
            growth: Some(prepared.growth),
            read_server_txn_count: true,
            // A replay goes on without the statements that the copy refuses, and counts them.
            ends_if_refused: !plan.expect_outage && plan.workload.name != REPLAY_WORKLOAD,
            check_after: request.check_after,
            doctor: doctor_report,
            seed: part
                .map_or(plan.drive.seed, |part| part.seed)
                .unwrap_or_else(random_seed),
            store_policy: if request.must_store {
                StorePolicy::Required
            } else {
                StorePolicy::DoNotStore
            },
            store_folder: None,
            interrupt: &signals,
            new_sample_listener: None,
            fleet,
            fleet_tool: None,
            on_connect_refused: None,
            kept_connections: part.and_then(|part| part.kept_connections),
        },
        &mut observer,
    );
    observer.remove_view();
    match finished {
        Ok(finished) => {
            let result = run_result(&signals, finished);
            if let (Some(label), Some(_)) = (&request.label, result.stored_path()) {
                let annotation = Annotation {
                    label: Some(label.clone()),
                    ..Annotation::default()
                };
                stored::open_store()?.annotate(&result.run.id, &annotation)?;
            }
            Ok(result)
        }
        Err(error) => Err(run_failure(&error, plan, &signals)),
    }
}

/// Says that functions of MySQL in the user's statements may have values of the ledger's.
fn warn_of_ledger_functions(plan: &Plan, run_server: &RunServer, prepared: &RunPreparation) {
    let is_mysql = matches!(run_server.target.protocol, ProtocolOptions::MySql(_));
    if !plan.ledger || !is_mysql {
        return;
    }
    let statements = prepared.ready_workload.program.statement_table();
    if let Some(function) = function_changed_by_ledger(&statements) {
        output::notice(&format!(
            "prony: with a ledger, {function}() is yours only within a block: after its COMMIT, and after a statement outside a \
             block, it is that of the ledger's statements"
        ));
    }
}

/// Loads the tables of the workload into a throw-away server. The user's own statements get the sessions that the server
/// gives.
fn set_up_for(
    workload: &dyn Workload,
    plan: &Plan,
    run_server: &mut RunServer,
    signals: &Signals,
) -> Result<(), Failure> {
    if workload.has_users_statements() {
        run_server.keep_session_settings();
    }
    let loader = workload.workload_to_load(&plan.workload);
    if let Some(name) = loader.filter(|_| run_server.is_embedded()) {
        let loader = server::find_workload(name)?;
        load::load_embedded(loader, &plan.workload, &run_server.target, signals)?;
    }
    Ok(())
}

/// Says that the load begins with a warm-up which nobody asked for, and that a command may come too soon after the warm-up.
/// In an experiment, that is said before the first run.
fn announce_warmup(request: &RunRequest) {
    let drive = &request.plan.drive;
    let warmup = drive.warmup;
    // The sessions of a replay connect in it.
    let is_replay = request.plan.workload.name == REPLAY_WORKLOAD;
    if !is_replay && !warmup.is_zero() && request.request_json["given"]["run.warmup"].is_null() {
        output::notice(&format!(
            "prony: {} of warm-up before the window (--warmup sets another, 0s none)",
            describe_warmup(drive)
        ));
    }
    if let Some(warning) = early_command_warning(&request.plan) {
        output::notice(&format!("prony: {warning}"));
    }
}

/// The length of a warm-up, or its bounds if it ends when the load is steady.
pub fn describe_warmup(drive: &DrivePlan) -> String {
    let least = format_duration(drive.warmup);
    match drive.warmup_max {
        Some(most) => format!("{least} to {}", format_duration(most)),
        None => least,
    }
}

/// The server of a run, and the signals that end the run: those of its experiment, or its own.
fn find_server(
    request: &RunRequest,
    part: Option<&ExperimentPart<'_>>,
) -> Result<(RunServer, Signals), Failure> {
    let find = || run_server::find_or_start(&request.plan, request.may_download);
    let signals = || part.map_or_else(Signals::listen, |part| Ok(part.signals.clone()));
    match request.plan.server {
        ServerPlan::Embedded => {
            // Handle signals before the server starts, because Ctrl-C must stop it.
            let signals = signals()?;
            Ok((find()?, signals))
        }
        // Handle signals only after name resolution, which cannot be interrupted: until then, Ctrl-C ends the
        // process directly.
        ServerPlan::Url(_) => Ok((find()?, signals()?)),
    }
}

/// Starts to serve the figures if an address was given, and reports where.
pub fn listen_for_prometheus(observe: &ObserveOptions) -> Result<Option<MetricsServer>, Failure> {
    let Some(requested) = &observe.metrics_address else {
        return Ok(None);
    };
    let metrics = MetricsServer::listen(&requested.value, &requested.origin)?;
    let address = metrics.address();
    output::notice(&format!("prony: metrics at http://{address}/metrics"));
    if !address.ip().is_loopback() {
        output::notice(&format!(
            "prony: warning: anyone who can reach {address} can read the metrics: there is no password and no \
             encryption"
        ));
    }
    Ok(Some(metrics))
}

fn live_view(request: &RunRequest, outline: RunOutline) -> LiveView<Stderr> {
    let (style, interval_s) = (
        Style::of(&stderr()),
        request.progress_interval.as_secs_f64(),
    );
    LiveView::new(stderr(), style, outline, interval_s).with_size_from(|| Size::of(&stderr()))
}

/// The result of a run that has ended, with its exit code.
fn run_result(signals: &Signals, finished: FinishedRun) -> RunResult {
    let FinishedRun {
        run,
        store_result,
        drive_result,
    } = finished;
    let exit = match (run.state, signals.received()) {
        (RunState::Complete, _) => {
            Exit::invalid_if(prony_judge::worst(&run.checks) == Some(Severity::Invalid))
        }
        (_, Some(signal)) if drive_result.interrupted => signal.into(),
        _ => Exit::Partial,
    };
    RunResult {
        run,
        storage_result: store_result,
        exit,
    }
}

/// The failure of a run that could not be prepared, started or stored.
fn run_failure(error: &Error, plan: &Plan, signals: &Signals) -> Failure {
    match error {
        Error::NotStarted(error) => start_failure(error, signals),
        Error::Fleet(error) => fleet::failure(error, signals),
        Error::Refused(error) => Failure::of(Exit::Data, error),
        Error::NotStored(error) => {
            let mut parts = error.parts();
            let hint = parts
                .hint
                .into_iter()
                .chain(["--no-store runs without storing".to_owned()]);
            parts.hint = Some(hint.collect::<Vec<_>>().join("; "));
            Failure::of_parts(Exit::Unexpected, parts)
        }
        other => preparation_failure(other, server::url_of(plan)),
    }
}

fn start_failure(error: &prony_drive::Error, signals: &Signals) -> Failure {
    use prony_drive::Error;
    let exit = match error {
        Error::Interrupted => signals.received().map_or(Exit::Interrupted, Exit::from),
        Error::Connect { .. } | Error::UserNotReady(_) => Exit::Connect,
        Error::FileLimit { .. } | Error::ThreadStart { .. } | Error::RingUnavailable(_) => {
            Exit::Usage
        }
    };
    let mut failure = Failure::of(exit, error);
    if let Error::Connect { source, .. } = error
        && let Some(hint) = connection_limit_hint(source)
    {
        failure.problems[0].hint = Some(hint.to_owned());
    }
    failure
}

/// Which limit of connections to raise, if the server has none left.
fn connection_limit_hint(error: &ConnectError) -> Option<&'static str> {
    let ConnectError::Refused { failures, .. } = error else {
        return None;
    };
    failures.iter().find_map(|failure| match &failure.cause {
        FailureCause::Login(error) if error.server_error()?.is_out_of_connections() => {
            failure.hint()
        }
        _ => None,
    })
}

/// What the live view shows of the plan.
fn run_outline(workload: &dyn Workload, prepared: &RunPreparation, plan: &Plan) -> RunOutline {
    let drive = &plan.drive;
    let measured_s = match drive.stop {
        prony_plan::Stop::After(time) | prony_plan::Stop::NoStartsAfter(time) => {
            Some(time.as_secs_f64())
        }
        prony_plan::Stop::Transactions(_)
        | prony_plan::Stop::SharedTransactions { .. }
        | prony_plan::Stop::WorkDone => None,
    };
    RunOutline {
        title: format!(
            "{}, scale {}: {} on {}, {} protocol",
            workload.name(),
            prepared.ready_workload.scale,
            count_of(drive.clients.into(), "client"),
            count_of(drive.workers().into(), "thread"),
            drive.protocol.name(),
        ),
        warmup_s: drive.warmup_max.unwrap_or(drive.warmup).as_secs_f64(),
        measured_s,
        clients: drive.clients,
        connect_per_transaction: drive.connect_per_transaction,
    }
}

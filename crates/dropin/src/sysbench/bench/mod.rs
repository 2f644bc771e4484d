//! Runs any program as sysbench does.
//!
//! In: a program, a plan for the drive. Out: sysbench's lines, a stored run, an exit status. Must never:
//! depend on a workload, or print a report of a run that an error ended.

mod fairness;
mod observer;

use super::call::{CommandError, SysbenchCall, eprint};
use super::connection;
use crate::tool_run::{ConnectedServer, StartWarning, ToolRun, refused_connections};
use fairness::EventCounts;
use observer::SysbenchObserver;
use prony_dialect::sysbench::{
    ALL_THREADS_ENDED, Command, Compat, Driver, EVENT_LIMIT_REACHED, EXIT_STATUS_FORCED_SHUTDOWN,
    EXIT_STATUS_LATE_START, FORCED_SHUTDOWN, GeneralOptions, LogLevel, NOT_CONNECTED, ProgramCost,
    Progress, QUEUE_FULL, Report, TIME_LIMIT_REACHED, checkpoint_text, debug_line, drive_plan,
    failing_function, fatal_line, function_failed, progress_text, repetitions_line, report_text,
    thread_not_created, threads_failed, threads_not_ready,
};
use prony_drive::{DriveResult, OnConnectRefused, RunEventKind};
use prony_measure::QueryCounts;
use prony_plan::{DrivePlan, Plan, WorkloadPlan, cpu_count};
use prony_runner::{Error, Recording, Signals};
use prony_session::Program;
use prony_workload::{ReadyWorkload, Workload};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The inputs of a run of sysbench.
pub struct Bench<'a> {
    /// The general options.
    pub settings: &'a GeneralOptions,
    /// The kind of server.
    pub driver: Driver,
    pub server: ConnectedServer,
    /// The program of each thread of sysbench.
    pub program: Arc<dyn Program>,
    /// The workload, for the store.
    pub workload: &'a dyn Workload,
    /// The workload's options, for the store.
    pub plan: WorkloadPlan,
    /// The number of tables, for the store.
    pub scale: u32,
    /// How much CPU time the program needs.
    pub cost: ProgramCost,
    /// Whether to give each thread of sysbench an OS thread of its own, because a script may block.
    pub thread_per_user: bool,
    /// The texts of the reports.
    pub texts: &'a dyn ReportTexts,
    /// Called when a connection of a script is refused.
    pub on_connect_refused: Option<OnConnectRefused<'a>>,
}

/// The texts of reports, which a script may replace.
pub trait ReportTexts {
    /// Whether the test uses a database; otherwise lines count only events.
    fn uses_database(&self) -> bool {
        true
    }

    /// Receives the recording of the run, to store a partial run if the process ends during the run.
    fn set_recording(&self, _recording: &Recording) {}

    /// Called when all threads have started.
    fn threads_started(&self) {}

    /// Returns the counts of queries made outside of threads since the last call; reports include them.
    fn take_outside_queries(&self) -> QueryCounts {
        QueryCounts::default()
    }

    /// A line of `--report-interval`.
    fn progress(&self, figures: &Progress) -> String {
        progress_text(figures)
    }

    /// The report of `--report-checkpoints`.
    fn checkpoint(&self, at_s: u64, figures: &Report<'_>, compat: Compat) -> String {
        checkpoint_text(at_s, figures, compat)
    }

    /// The report at the end.
    fn report(&self, figures: &Report<'_>, compat: Compat) -> String {
        report_text(figures, compat)
    }
}

/// sysbench's own texts.
pub struct DefaultTexts;

impl ReportTexts for DefaultTexts {}

/// Runs the program. `error_printed` returns whether an error has ended the run and its FATAL lines are
/// printed.
///
/// # Errors
/// The exit status of a run that did not complete; the error is already printed.
pub fn run(
    call: &SysbenchCall,
    bench: &Bench<'_>,
    signals: &Signals,
    error_printed: &dyn Fn() -> bool,
) -> Result<(), CommandError> {
    let settings = bench.settings;
    let drive = drive_plan(settings, cpu_count(), bench.cost);
    let mut drive = drive.map_err(|lines| call.fail(&lines))?;
    if bench.thread_per_user {
        drive.threads = drive.clients;
    }
    let event_counts = Arc::new(EventCounts::new(settings.threads));
    let new_listener = |_| event_counts.new_listener();
    let seed = drive.seed.unwrap_or_else(time_seed);
    let plan = Plan::for_replaced_tool(bench.plan.clone(), drive);
    let ready_workload = ReadyWorkload::new(bench.program.clone(), bench.scale);
    let mut observer = SysbenchObserver::new(
        call,
        bench,
        &plan.drive,
        event_counts.clone(),
        error_printed,
    );
    let run = ToolRun {
        request: serde_json::json!({ "arguments": call.redacted_arguments }),
        plan: &plan,
        workload: bench.workload,
        ready_workload: &ready_workload,
        server: &bench.server,
        seed,
        store_folder: None,
        start_warning: StartWarning::FullDisk,
        warn: &|text| eprint(&format!("prony: {text}\n")),
        signals,
        new_sample_listener: Some(&new_listener),
        on_connect_refused: bench.on_connect_refused,
    };
    match run.execute(&mut observer) {
        Ok(finished) => {
            run.warn_unless_stored(&finished);
            signals.end_by_signal();
            observer.result
        }
        Err(error) => {
            signals.end_by_signal();
            Err(print_start_failure(call, bench, &error, error_printed()))
        }
    }
}

/// Prints why the threads did not start, unless that is already printed.
fn print_start_failure(
    call: &SysbenchCall,
    bench: &Bench<'_>,
    error: &Error,
    error_printed: bool,
) -> CommandError {
    if error_printed {
        return CommandError(1);
    }
    if let Some((failures, _)) = refused_connections(error)
        && connection::has_timed_out(failures)
    {
        return print_late_start(call, bench.settings);
    }
    call.fail(&start_failure_lines(bench, error))
}

/// Prints the lines after the load and the report, or the error that ended the run. Returns the result of the
/// run.
fn print_end(
    call: &SysbenchCall,
    bench: &Bench<'_>,
    plan: &DrivePlan,
    drive_result: &DriveResult,
    observer: &mut SysbenchObserver<'_>,
    error_printed: bool,
) -> Result<(), CommandError> {
    if error_printed {
        return Err(CommandError(1));
    }
    let mut events = drive_result.events.iter();
    if events.any(|event| event.kind == RunEventKind::QueueFull) {
        return Err(call.fail_with_text(QUEUE_FULL));
    }
    let function = failing_function(Command::Run, true);
    check_drive_result(call, drive_result, |reason| {
        function_failed(function, reason)
    })?;
    let measured = &drive_result.collected.measured;
    let unfinished = measured.excluded.unfinished;
    let is_forced = bench.settings.forced_shutdown_s.is_some() && unfinished > 0;
    if is_forced {
        call.log(LogLevel::Fatal, &fatal_line(FORCED_SHUTDOWN));
    } else {
        let time_is_up = match plan.stop {
            prony_plan::Stop::SharedTransactions { transactions, .. } => {
                observer.events() < transactions && bench.settings.time_s.is_some()
            }
            _ => true,
        };
        let line = if time_is_up {
            TIME_LIMIT_REACHED
        } else {
            EVENT_LIMIT_REACHED
        };
        call.log(LogLevel::Info, line);
        if bench.settings.threads > 1 {
            let other_threads = u64::from(bench.settings.threads) - 1;
            call.log(LogLevel::Info, &repetitions_line(other_threads));
        }
        call.log(LogLevel::Info, ALL_THREADS_ENDED);
    }
    observer.print_final_report(measured.seconds(), is_forced.then_some(unfinished));
    if is_forced {
        Err(CommandError(EXIT_STATUS_FORCED_SHUTDOWN))
    } else {
        Ok(())
    }
}

/// Prints the error that ended the threads, if there is one. A signal ends them without a line; the measured figures are
/// stored. `failure_lines`: the lines about a thread that failed.
pub fn check_drive_result(
    call: &SysbenchCall,
    drive_result: &DriveResult,
    failure_lines: impl FnOnce(&str) -> String,
) -> Result<(), CommandError> {
    if let Some(failure) = &drive_result.failure {
        return Err(call.fail_with_text(failure));
    }
    let mut events = drive_result.events.iter();
    if let Some(event) = events.find(|event| event.kind == RunEventKind::UserFailed) {
        return Err(call.fail(&failure_lines(&event.detail)));
    }
    if drive_result.interrupted {
        return Err(CommandError(1));
    }
    Ok(())
}

/// Prints the lines of `--verbosity=5` about threads before they connect.
fn log_thread_starts(call: &SysbenchCall, settings: &GeneralOptions) {
    for thread in 0..settings.threads {
        let text = format!("Worker thread (#{thread}) started");
        call.log(LogLevel::Debug, &debug_line(&text));
    }
    for (is_enabled, name) in [
        (settings.rate_tps.is_some(), "Event generating"),
        (settings.report_interval_s.is_some(), "Reporting"),
        (!settings.checkpoints_s.is_empty(), "Checkpoints report"),
    ] {
        if is_enabled {
            call.log(
                LogLevel::Debug,
                &debug_line(&format!("{name} thread started")),
            );
        }
    }
}

/// Prints that threads did not connect in time; returns the exit status for this.
pub fn print_late_start(call: &SysbenchCall, settings: &GeneralOptions) -> CommandError {
    let text = threads_not_ready(settings.thread_init_timeout_s);
    call.log(LogLevel::Fatal, &fatal_line(&text));
    CommandError(EXIT_STATUS_LATE_START)
}

/// The lines of the log if the threads did not start.
fn start_failure_lines(bench: &Bench<'_>, error: &Error) -> String {
    let lines = match (error, refused_connections(error)) {
        (_, Some((failures, _))) => {
            connection::connect_failure_lines(&bench.settings.database, bench.driver, failures)
        }
        // sysbench prints only this line, because none of its threads has started.
        (
            Error::NotStarted(prony_drive::Error::ThreadStart {
                started, source, ..
            }),
            _,
        ) => return fatal_line(&thread_not_created(*started, source)),
        (other, _) => fatal_line(&other.to_string()),
    };
    let function = failing_function(Command::Run, false);
    lines + &function_failed(function, NOT_CONNECTED) + &threads_failed(bench.settings.compat)
}

fn time_seed() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    elapsed.map_or(0, |elapsed| elapsed.as_nanos() as u64 & 0xffff_ffff)
}

//! Runs any program as sysbench does.
//!
//! In: a program, a plan for the drive. Out: sysbench's lines, a stored run, an exit status. Must never:
//! depend on a workload, or print a report of a run that an error ended.

mod fairness;
mod observer;

use super::call::{CommandError, SysbenchCall, eprint};
use super::connection;
use crate::agents;
use crate::process::env_var;
use crate::tool_run::{ConnectedServer, StartWarning, ToolFleet, ToolRun, refused_connections};
pub use fairness::EventCounts;
use observer::SysbenchObserver;
use prony_dialect::sysbench::{
    Command, Compat, Driver, EXIT_STATUS_LATE_START, GeneralOptions, LogLevel, NOT_CONNECTED,
    ProgramCost, Progress, Report, checkpoint_text, drive_plan, fatal_line, progress_text,
    report_text, thread_not_created, threads_not_ready,
};
use prony_drive::{DriveResult, OnConnectRefused, RunEventKind};
use prony_measure::QueryCounts;
use prony_plan::{Plan, WorkloadPlan, cpu_count};
use prony_runner::{Error, Recording, Signals, random_seed};
use prony_session::Program;
use prony_store::Run;
use prony_workload::{ReadyWorkload, Workload};
use std::sync::Arc;

/// The environment variable that lets a run keep a ledger of its commits.
const LEDGER_VARIABLE: &str = "PRONY_LEDGER";

/// The inputs of a run of sysbench.
pub struct Bench<'a> {
    pub call: &'a SysbenchCall,
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
    pub texts: &'a dyn ReportTexts,
    /// Called when a connection of a script is refused.
    pub on_connect_refused: Option<OnConnectRefused<'a>>,
    /// The signals that end the run.
    pub signals: &'a Signals,
    /// Whether an error has ended the run and its FATAL lines are printed.
    pub error_printed: &'a dyn Fn() -> bool,
    /// Where the threads' events are counted.
    pub event_counts: Arc<EventCounts>,
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

impl Bench<'_> {
    /// Runs the program, from this machine or from those of a fleet.
    ///
    /// # Errors
    /// The exit status of a run that did not complete; the error is already printed.
    pub fn run(&self, fleet: Option<ToolFleet<'_>>) -> Result<(), CommandError> {
        let (call, settings) = (self.call, self.settings);
        let machines = fleet.as_ref().map(|tool| &tool.fleet);
        let (processors, threads_min) = agents::cpus_and_threads(machines, cpu_count());
        let drive = drive_plan(settings, processors, self.cost);
        let mut drive = drive.map_err(|lines| call.fail(&lines))?;
        drive.threads = drive.threads.max(threads_min);
        if self.thread_per_user {
            drive.threads = drive.clients;
        }
        let event_counts = Arc::clone(&self.event_counts);
        let new_listener = |_| event_counts.new_listener();
        let seed = drive.seed.unwrap_or_else(random_seed);
        let mut plan = Plan::for_replaced_tool(self.plan.clone(), drive);
        plan.ledger = env_var(LEDGER_VARIABLE).is_some_and(|value| !matches!(&*value, "" | "0"));
        let ready_workload = ReadyWorkload::new(self.program.clone(), self.scale);
        let mut observer = SysbenchObserver::new(self, &plan.drive, event_counts.clone());
        let run = ToolRun {
            request: serde_json::json!({ "arguments": call.redacted_arguments }),
            plan: &plan,
            workload: self.workload,
            ready_workload: &ready_workload,
            server: &self.server,
            seed,
            store_folder: None,
            start_warning: StartWarning::FullDisk,
            warn: &|text| eprint(&format!("prony: {text}\n")),
            signals: self.signals,
            new_sample_listener: Some(&new_listener),
            on_connect_refused: self.on_connect_refused,
        };
        let finished = run.execute(fleet, &mut observer);
        if let Ok(finished) = &finished {
            run.warn_unless_stored(finished);
        }
        self.signals.end_by_signal();
        match finished {
            Ok(finished) => observer.result.and(check_ledger(&finished.run)),
            Err(error) => Err(self.print_start_failure(&error)),
        }
    }

    /// Prints why the threads did not start, unless that is already printed.
    fn print_start_failure(&self, error: &Error) -> CommandError {
        if (self.error_printed)() {
            return CommandError(1);
        }
        let (call, settings) = (self.call, self.settings);
        let lines = match error {
            // sysbench prints only this line, because none of its threads has started.
            Error::NotStarted(prony_drive::Error::ThreadStart {
                started, source, ..
            }) => return call.fail_with_text(&thread_not_created(*started, source)),
            _ => match refused_connections(error) {
                Some((failures, _)) if connection::has_timed_out(failures) => {
                    return print_late_start(call, settings);
                }
                Some((failures, _)) => {
                    connection::connect_failure_lines(&settings.database, self.driver, failures)
                }
                None => fatal_line(&error.to_string()),
            },
        };
        call.fail_to_start(Command::Run, lines, NOT_CONNECTED)
    }
}

/// Prints what became of each commit of a run that kept a ledger; an error if one is lost or a fault is found.
fn check_ledger(run: &Run) -> Result<(), CommandError> {
    let (Some(account), Some(check)) = (&run.ledger, run.check("ledger")) else {
        return Ok(());
    };
    eprint(&format!("prony: ledger: {}\n", check.finding));
    if account.acknowledged + account.ambiguous == 0 {
        eprint(
            "prony: hint: a script writes the number of its transaction with con:ledger(), before COMMIT\n",
        );
    }
    if account.has_faults() { Err(CommandError(1)) } else { Ok(()) }
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

/// Prints that threads did not connect in time; returns the exit status for this.
pub fn print_late_start(call: &SysbenchCall, settings: &GeneralOptions) -> CommandError {
    let text = threads_not_ready(settings.thread_init_timeout_s);
    call.log(LogLevel::Fatal, &fatal_line(&text));
    CommandError(EXIT_STATUS_LATE_START)
}

//! Observes a run: prints progress lines, and the report at the end.
//!
//! In: the runner's events. Out: lines on stderr, the report on stdout, the exit status. Must never: print a
//! line before its interval is complete.

use super::super::agents::AgentCommands;
use super::super::call::PgbenchCall;
use super::logs::Logs;
use super::script_messages::ScriptMessages;
use crate::output::{eprint, print};
use prony_dialect::pgbench::{
    MeasuredRun, ProgressTime, RunOptions, TableFacts, progress_line, report_text, run_counts,
    run_report,
};
use prony_drive::clock::Clock;
use prony_drive::{DriveResult, LoadStart, RunEventKind, clients_of_thread};
use prony_measure::{IntervalRow, RecorderLayout, RunSchedule, Totals};
use prony_runner::{RunObserver, RunSecond, Signals, TerminationSignal};
use prony_workload::script::ScriptProgram;
use std::io::{Write, stderr};

/// pgbench's exit status if a client was aborted.
const EXIT_ABORTED: u8 = 2;

/// Observes one run.
pub struct PgbenchObserver<'a> {
    pub call: &'a PgbenchCall,
    /// The command line's options.
    pub options: &'a RunOptions,
    /// The signals that end the run.
    pub signals: &'a Signals,
    /// Prints the clients' messages.
    pub script_messages: &'a ScriptMessages,
    /// The files of `-l`.
    pub logs: &'a Logs,
    pub program: &'a ScriptProgram,
    /// pgbench's side of the agents, if they drive the clients.
    pub agent_commands: Option<&'a AgentCommands>,
    pub tables: TableFacts,
    /// Sums since the last progress line; `None` before the start.
    pub sums: Option<(RecorderLayout, Totals)>,
    pub exit_status: u8,
}

impl PgbenchObserver<'_> {
    /// Adds a second to the sums. Prints a progress line and starts new sums if an interval of `-P` is
    /// complete.
    fn add_second(&mut self, row: &IntervalRow, schedule: &RunSchedule, interval_s: u32) {
        let Some((layout, sums)) = &mut self.sums else {
            return;
        };
        sums.add(row);
        let end_ns = row.interval.span.end_ns;
        let interval_ns = u64::from(interval_s) * 1_000_000_000;
        let elapsed_ns = end_ns.saturating_sub(schedule.start_ns);
        if !elapsed_ns.is_multiple_of(interval_ns) {
            return;
        }
        let time = if self.options.progress_timestamp {
            let unix_ns = i128::from(end_ns) + i128::from(Clock::System.timestamp_offset_ns());
            ProgressTime::Unix(unix_ns as f64 / 1e9)
        } else {
            ProgressTime::Elapsed(elapsed_ns as f64 / 1e9)
        };
        let counts = run_counts(self.options, sums);
        let (level, seconds) = (&self.call.level, sums.seconds());
        let line = progress_line(level, self.options, time, &counts, seconds);
        *sums = Totals::new(end_ns, *layout);
        let _ = stderr().lock().write_all(line.as_bytes());
    }

    /// Prints the report, or the reason why there is none, and returns the exit status.
    fn report(&self, drive_result: &DriveResult) -> u8 {
        let (call, options) = (self.call, self.options);
        let messages = &call.messages;
        let mut status = 0;
        if let (Some(client), true) = (self.script_messages.first_aborted(), options.exit_on_abort)
        {
            // pgbench prints no report after an abort.
            let thread = thread_of(options, client);
            let text = format!("Run was aborted due to an error in thread {thread}");
            eprint(&messages.error(&text));
            status = EXIT_ABORTED;
        } else if self.agent_commands.is_none() || drive_result.failure.is_none() {
            // Without an agent that was lost, figures would look like those of all.
            let commands = match self.agent_commands {
                Some(commands) => commands.sums(),
                None => self.program.command_stats(),
            };
            let measured = MeasuredRun {
                totals: &drive_result.collected.measured,
                connect_s: drive_result.start.connect_s,
                commands: &commands,
            };
            let figures = run_report(options, self.tables, self.program.scripts(), &measured);
            print(&report_text(&call.level, &figures));
            let mut events = drive_result.events.iter();
            let has_aborted_client = events.any(|event| event.kind == RunEventKind::UserFailed);
            if has_aborted_client || drive_result.interrupted {
                let text = "Run was aborted; the above results are incomplete.";
                eprint(&messages.fatal(text));
                let signal = self.signals.received();
                status = signal.map_or(EXIT_ABORTED, TerminationSignal::exit_status);
            }
        }
        if let Some(failure) = &drive_result.failure {
            eprint(&messages.error(failure));
            status = 1;
        }
        self.logs.print_errors();
        status
    }
}

/// The thread that drives a client.
fn thread_of(options: &RunOptions, client: u32) -> u32 {
    let RunOptions {
        clients, threads, ..
    } = *options;
    (0..threads)
        .find(|thread| clients_of_thread(*thread, clients, threads).contains(&client))
        .unwrap_or_default()
}

impl RunObserver for PgbenchObserver<'_> {
    fn started(&mut self, start: &LoadStart) {
        let sums = Totals::new(start.schedule.start_ns, start.layout);
        self.sums = Some((start.layout, sums));
    }

    fn second_ended(&mut self, second: &RunSecond<'_>) {
        if let Some(interval_s) = self.options.progress_s {
            self.add_second(second.row, second.schedule, interval_s);
        }
    }

    fn ended(&mut self, drive_result: &DriveResult) -> Option<f64> {
        self.exit_status = self.report(drive_result);
        None
    }
}

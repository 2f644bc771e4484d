//! A run in sysbench's way, of any program.
//!
//! In: a program and what decides how it is driven. Out: sysbench's lines, a stored run, an exit
//! status. Must never: know a workload, or give a report of a run that an error ended.

mod fairness;
mod kept;
mod store;
mod watch;

use super::call::{Call, Ended, tell};
use super::connection;
use crate::run::document::Reached;
use crate::run::keep::Keeper;
use crate::signals::Signals;
use fairness::Shares;
pub use kept::Kept;
use prony_dialect::sysbench::{
    Command, Compat, Counters, DONE, Driver, EVENTS_DONE, EXIT_FORCED, EXIT_LATE, FORCED_SHUTDOWN,
    Level, NOT_CONNECTED, Progress, QUEUE_FULL, Report, Settings, THREADS_FAILED, TIME_DONE,
    checkpoint, debug, drive_plan, failing_function, fatal, function_failed, progress, repeated,
    report, threads_late,
};
use prony_drive::{ConnectError, Driven, Error, Hear, Incident, Job};
use prony_plan::{DrivePlan, WorkloadPlan};
use prony_server::{Facts, Target};
use prony_session::Program;
use prony_workload::Workload;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use watch::Watch;

/// What is run.
pub struct Bench<'a> {
    /// The general options.
    pub settings: &'a Settings,
    /// The sort of server.
    pub driver: Driver,
    /// The server, or several.
    pub target: Target,
    /// What a thread of sysbench does.
    pub program: Arc<dyn Program>,
    /// What it is called in the store.
    pub workload: &'a dyn Workload,
    /// Its options, for the store.
    pub plan: WorkloadPlan,
    /// Tables, for the store.
    pub scale: u32,
    /// What the server says of itself.
    pub facts: Facts,
    /// How it was reached.
    pub reached: Reached,
    /// Processors that its users may keep busy.
    pub processors: usize,
    /// How figures are told.
    pub texts: &'a dyn Texts,
    /// Hears why a connection is refused that a script asked for.
    pub refused: Option<Hear<'a>>,
}

/// How figures are told: a script may have words of its own.
pub trait Texts {
    /// Whether a database is spoken to: else lines tell of events alone.
    fn sql(&self) -> bool {
        true
    }

    /// The run is kept here, for whoever may have to end the process in the middle of it.
    fn keeps(&self, _kept: &Kept) {}

    /// All threads have begun.
    fn begun(&self) {}

    /// What was asked outside of threads since this was last asked: it stands in the report's counts.
    fn outside(&self) -> Counters {
        Counters::default()
    }

    /// A line of `--report-interval`.
    fn progress(&self, figures: &Progress) -> String {
        progress(figures)
    }

    /// The report of `--report-checkpoints`.
    fn checkpoint(&self, at_s: u64, figures: &Report<'_>, compat: Compat) -> String {
        checkpoint(at_s, figures, compat)
    }

    /// The report at the end.
    fn report(&self, figures: &Report<'_>, compat: Compat) -> String {
        report(figures, compat)
    }
}

/// sysbench's own words.
pub struct Customary;

impl Texts for Customary {}

/// Runs it. `told`: whether an error has ended it and its FATAL lines are printed.
///
/// # Errors
/// The exit status of a run that did not come to its end; all has been said.
pub fn run(
    call: &Call,
    bench: &Bench<'_>,
    signals: &Signals,
    told: &dyn Fn() -> bool,
) -> Result<(), Ended> {
    let settings = bench.settings;
    let plan = drive_plan(settings, bench.processors).map_err(|lines| call.fails(&lines))?;
    let seed = plan.seed.unwrap_or_else(time_seed);
    let shares = Arc::new(Shares::new(settings.threads));
    let (run, writer) = store::begin(call, bench, &plan, seed);
    let kept = Kept::new(Keeper::new(writer, run));
    bench.texts.keeps(&kept);
    let mut watch = Watch::new(call, bench, shares.clone(), kept);
    started(call, settings);
    let interrupt = signals.flag();
    let tap = |_| shares.tap();
    let driven = prony_drive::run(
        &Job {
            program: &*bench.program,
            target: &bench.target,
            tcp_target: None,
            plan: &plan,
            seed,
            interrupt: &interrupt,
            tap: Some(&tap),
            refused: bench.refused,
        },
        &mut watch,
    );
    let driven = match driven {
        Ok(driven) => driven,
        Err(error) => {
            let (_, writer) = watch.end();
            if let Some(writer) = writer {
                writer.discard();
            }
            signals.pass_on();
            if told() {
                return Err(Ended::Status(1));
            }
            if let Error::Connect {
                source: ConnectError::Refused { failures, .. },
                ..
            } = &error
                && connection::is_late(failures)
            {
                return Err(late(call, settings));
            }
            return Err(call.fails(&not_begun(bench, &error)));
        }
    };
    let ended = tell_end(call, bench, &plan, &driven, &mut watch, told());
    let (run, writer) = watch.end();
    let shares = bench.program.shares();
    store::finish(&plan, &driven, &shares, run, writer, signals.asked());
    signals.pass_on();
    ended
}

/// The last lines, and how it ends.
fn tell_end(
    call: &Call,
    bench: &Bench<'_>,
    plan: &DrivePlan,
    driven: &Driven,
    watch: &mut Watch<'_>,
    told: bool,
) -> Result<(), Ended> {
    if told {
        return Err(Ended::Status(1));
    }
    let mut events = driven.events.iter();
    if events.any(|event| event.what == Incident::QueueFull) {
        return Err(call.fails_with(QUEUE_FULL));
    }
    if let Some(failure) = &driven.failure {
        return Err(call.fails_with(failure));
    }
    let mut events = driven.events.iter();
    if let Some(event) = events.find(|event| event.what == Incident::UserFailed) {
        let function = failing_function(Command::Run, true);
        return Err(call.fails(&function_failed(function, None, &event.detail)));
    }
    if driven.interrupted {
        // sysbench dies of the signal; what was measured is stored.
        return Err(Ended::Status(1));
    }
    let measured = &driven.collected.measured;
    let unfinished = measured.leftover.unfinished;
    let forced = bench.settings.forced_shutdown_s.is_some() && unfinished > 0;
    if forced {
        call.log(Level::Fatal, &fatal(FORCED_SHUTDOWN));
    } else {
        let by_time = match plan.stop {
            prony_plan::Stop::Shared { transactions, .. } => {
                watch.events() < transactions && bench.settings.time_s.is_some()
            }
            _ => true,
        };
        let line = if by_time { TIME_DONE } else { EVENTS_DONE };
        call.log(Level::Info, line);
        if bench.settings.threads > 1 {
            let more = u64::from(bench.settings.threads) - 1;
            call.log(Level::Info, &repeated(more));
        }
        call.log(Level::Info, DONE);
    }
    watch.report(measured.seconds(), forced.then_some(unfinished));
    match forced {
        true => Err(Ended::Status(EXIT_FORCED)),
        false => Ok(()),
    }
}

/// What `--verbosity=5` tells of threads before they connect.
fn started(call: &Call, settings: &Settings) {
    for thread in 0..settings.threads {
        let text = format!("Worker thread (#{thread}) started");
        call.log(Level::Debug, &debug(&text));
    }
    for (is_there, name) in [
        (settings.rate_tps.is_some(), "Event generating"),
        (settings.report_interval_s.is_some(), "Reporting"),
        (!settings.checkpoints_s.is_empty(), "Checkpoints report"),
    ] {
        if is_there {
            call.log(Level::Debug, &debug(&format!("{name} thread started")));
        }
    }
}

/// Threads that were not connected in time.
pub fn late(call: &Call, settings: &Settings) -> Ended {
    let text = threads_late(settings.thread_init_timeout_s);
    call.log(Level::Fatal, &fatal(&text));
    Ended::Status(EXIT_LATE)
}

/// The lines of the log where the threads did not begin.
fn not_begun(bench: &Bench<'_>, error: &Error) -> String {
    let lines = match error {
        Error::Connect {
            source: ConnectError::Refused { failures, .. },
            ..
        } => connection::unreachable(&bench.settings.database, bench.driver, failures),
        other => fatal(&other.to_string()),
    };
    let function = failing_function(Command::Run, false);
    lines + &function_failed(function, None, NOT_CONNECTED) + &fatal(THREADS_FAILED)
}

/// The seed of who names none: from the time, as sysbench says.
fn time_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64 & 0xffff_ffff)
}

/// What the store has to complain of.
fn complain(text: &str) {
    tell(&format!("prony: {text}\n"));
}

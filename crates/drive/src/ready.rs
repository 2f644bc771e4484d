//! Starts the threads of a run, waits until their users are ready, and drives the load to its end.
//!
//! In: a job, a slice of its clients, an engine. Out: [`ReadySlice`], which starts the load at a given time
//! and returns the result. Must never: start the load of one thread before the others, or leave a thread
//! running.

use crate::clock::Clock;
use crate::coordinate::Coordinator;
use crate::error::Error;
use crate::io::sim;
use crate::io_engine::{AnyIo, EngineChoice, EngineKind};
use crate::job::{DriveJob, DriveResult, LoadStart, Observer};
use crate::messages::CollectorChannel;
use crate::scheduling::{Cpus, Scheduling};
use crate::slice::{RunSlice, WorkerShare};
use crate::thread::WorkerThread;
use prony_document::Network;
use prony_measure::{RecorderLayout, RunSchedule};
use prony_plan::{DrivePlan, Stop};
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

/// Time between the start signal and the common start, in which the signal reaches all threads. 2 ms were too
/// few on a busy machine.
const START_DELAY_NS: u64 = 5_000_000;

/// A slice of a run whose connections are up and whose users are ready.
pub struct ReadySlice<'a> {
    coordinator: Coordinator<'a>,
    choice: EngineChoice,
    network: Network,
    tls: Option<String>,
    connect_s: f64,
    layout: RecorderLayout,
    /// When all users were ready, on the workers' clock.
    ready_ns: u64,
}

impl ReadySlice<'_> {
    /// Calls [`Observer::ready`], starts the load as soon as all threads have the start time, and drives it
    /// to its end.
    pub fn start(self, observer: &mut dyn Observer) -> DriveResult {
        observer.ready();
        let now_ns = match self.choice.kind {
            // The simulated clock belongs to the worker: it cannot be read here.
            EngineKind::Sim => self.ready_ns,
            EngineKind::Ring | EngineKind::Epoll => Clock::System.now_ns(),
        };
        self.drive(now_ns + START_DELAY_NS, observer)
    }

    /// Calls [`Observer::ready`], starts the load at this time of the run's clock (`CLOCK_MONOTONIC`), and
    /// drives it to its end. If the time is in the past, the first scheduled starts are late.
    pub fn start_at(self, start_ns: u64, observer: &mut dyn Observer) -> DriveResult {
        observer.ready();
        self.drive(start_ns, observer)
    }

    fn drive(self, start_ns: u64, observer: &mut dyn Observer) -> DriveResult {
        let start = LoadStart {
            engine: self.choice.kind,
            engine_reason: self.choice.reason,
            network: self.network,
            tls: self.tls,
            connect_s: self.connect_s,
            schedule: run_schedule(self.coordinator.job.plan, start_ns),
            layout: self.layout,
        };
        self.coordinator.start_load(&start);
        observer.started(&start);
        self.coordinator.collect(start, observer)
    }
}

/// Starts the threads of a slice, waits until all are ready, and calls `drive_slice`. Returns once all
/// threads have ended.
pub(crate) fn with_ready_slice<S: sim::SimServer, R>(
    job: &DriveJob,
    slice: &RunSlice,
    choice: EngineChoice,
    create: impl Fn(EngineKind, usize) -> io::Result<AnyIo<S>> + Sync,
    drive_slice: impl FnOnce(ReadySlice<'_>) -> R,
) -> Result<R, Error> {
    let routes = job.routes();
    let interrupt = AtomicBool::new(false);
    let network = job.network();
    let has_timestamps = network != Network::Unix || choice.kind == EngineKind::Sim;
    let budget = slice.start_budget(job.plan);
    // Threads may be pinned to one CPU later, so the CPUs are counted here.
    let scheduling = Scheduling::new(job, slice, Cpus::of_this_thread());
    let (sender, messages) = channel();
    std::thread::scope(|scope| {
        let mut coordinator = Coordinator {
            job,
            interrupt: &interrupt,
            messages,
            commands: Vec::new(),
            clients: slice.clients.len() as u32,
        };
        for (index, worker) in (0..).zip(slice.workers.clone()) {
            let (command_sender, commands) = channel();
            let thread = WorkerThread {
                job,
                routes: &routes,
                interrupt: &interrupt,
                share: WorkerShare::new(slice, index, budget.clone()),
                scheduling,
                channel: CollectorChannel::new(index as usize, sender.clone(), commands),
            };
            let (choice, create) = (&choice, &create);
            let builder = std::thread::Builder::new().name(format!("worker {}", worker + 1));
            // The threads already started end when the other ends of their channels are dropped.
            builder
                .spawn_scoped(scope, move || thread.run(choice, create))
                .map_err(|source| Error::ThreadStart {
                    started: coordinator.commands.len() as u32,
                    requested: slice.threads(),
                    source,
                })?;
            coordinator.commands.push(command_sender);
        }
        drop(sender);
        let choice = if coordinator.wait_for_engines()? {
            choice.clone()
        } else {
            EngineChoice::epoll_fallback()
        };
        coordinator.use_engine(choice.kind);
        let connect_start_ns = Clock::System.now_ns();
        let (tls, ready_ns) = coordinator.wait_for_connections()?;
        // On the simulated clock, a load without a prologue begins at 0.
        let ready_ns = u64::from(job.program.has_prologue()) * ready_ns;
        Ok(drive_slice(ReadySlice {
            coordinator,
            choice,
            network,
            tls,
            connect_s: Clock::System.now_ns().saturating_sub(connect_start_ns) as f64 / 1e9,
            layout: job.recorder_layout(has_timestamps),
            ready_ns,
        }))
    })
}

fn run_schedule(plan: &DrivePlan, start_ns: u64) -> RunSchedule {
    let window_ns = match plan.stop {
        Stop::After(window) => Some(window.as_nanos() as u64),
        // The window ends with the last transaction, not at a given time.
        Stop::Transactions(_) | Stop::NoStartsAfter(_) | Stop::SharedTransactions { .. } => None,
    };
    RunSchedule::seconds(start_ns, plan.warmup.as_nanos() as u64, window_ns)
}

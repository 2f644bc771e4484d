//! Runs a job, or a slice of its clients: starts the threads, waits until their users are ready, and drives the load to
//! its end.
//!
//! In: a job. Out: [`ReadySlice`], which starts the load at a given time and returns the result. Must never: start the
//! load of one thread before the others, leave a thread running, or process samples: the workers record them, and the
//! collector merges them.

use crate::affinity;
use crate::clock::Clock;
use crate::coordinate::Coordinator;
use crate::error::Error;
use crate::io::epoll::Epoll;
use crate::io::ring::Ring;
use crate::io::sim;
use crate::io_engine::{self, EngineChoice, EngineKind};
use crate::job::{DriveJob, DriveResult, LoadStart, Observer};
use crate::messages::{CollectorChannel, Readiness};
use crate::scheduling::{Cpus, Scheduling};
use crate::slice::{RunSlice, WorkerShare};
use crate::thread::{AnyIo, WorkerThread};
use prony_document::Network;
use prony_measure::{RecorderLayout, RunSchedule};
use prony_plan::{DrivePlan, Stop};
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::channel;

/// Open files of the process besides those of connections and threads, with a margin: 8 to 10 were measured
/// with a store and an embedded server, plus an occasional file in /proc.
const PROCESS_FILES: u64 = 16;
/// Open files of a thread: its ring or epoll, its schedstat, and one that it opens briefly.
const THREAD_FILES: u64 = 3;
/// Time between the start signal and the common start, in which the signal reaches all threads. 2 ms were too
/// few on a busy machine.
const START_DELAY_NS: u64 = 5_000_000;

/// Runs a job.
///
/// # Errors
/// If it cannot start. A run that fails later returns what it has measured.
pub fn run(job: &DriveJob, observer: &mut dyn Observer) -> Result<DriveResult, Error> {
    connect(job, &RunSlice::whole(job.plan), |ready| {
        ready.start(observer)
    })
}

/// Opens all connections of a slice of a job, lets its users get ready, then calls `drive_slice`, which
/// starts the load. Dropping the [`ReadySlice`] closes the connections.
pub fn connect<R>(
    job: &DriveJob,
    slice: &RunSlice,
    drive_slice: impl FnOnce(ReadySlice<'_>) -> R,
) -> Result<R, Error> {
    ensure_file_limit(job, slice)?;
    if job.program.opens_connections() {
        // The program does not declare how many it will open.
        affinity::raise_file_limit();
    }
    let choice = io_engine::choose(job.plan.io)?;
    // Each worker creates its own engine on its thread.
    let create = |kind, connections| {
        Ok(match kind {
            EngineKind::Ring => Box::new(Ring::new(connections)?) as Box<dyn AnyIo>,
            EngineKind::Epoll => Box::new(Epoll::new(connections)?),
            EngineKind::Sim => unreachable!("only `run_simulated` chooses it"),
        })
    };
    with_ready_slice(job, slice, choice, create, drive_slice)
}

/// Ensures that a slice may open enough files, before any client connects.
fn ensure_file_limit(job: &DriveJob, slice: &RunSlice) -> Result<(), Error> {
    let requested = slice.clients.len() as u32 * job.connections_per_client();
    let threads = slice.threads();
    let needed = u64::from(requested) + THREAD_FILES * u64::from(threads) + PROCESS_FILES;
    affinity::ensure_file_limit(needed).map_err(|limit| Error::FileLimit {
        requested,
        threads,
        needed,
        limit,
    })
}

/// Runs a job on a simulated network, on the calling thread and one worker; for tests.
pub fn run_simulated<S: sim::SimServer + Send>(
    job: &DriveJob,
    machine: sim::Machine,
    server: S,
    observer: &mut dyn Observer,
) -> Result<DriveResult, Error> {
    let server = Mutex::new(Some(server));
    let create = |_: EngineKind, clients| {
        let server = server.lock().expect("one thread").take();
        let server = server.expect("one worker");
        Ok(Box::new(sim::Sim::new(clients, machine, server)) as Box<dyn AnyIo + '_>)
    };
    let slice = RunSlice::whole(job.plan);
    let choice = EngineChoice::requested(EngineKind::Sim);
    with_ready_slice(job, &slice, choice, create, |ready| ready.start(observer))
}

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

    /// The state of the slice if its load starts at this time of the run's clock.
    pub fn load_start(&self, start_ns: u64) -> LoadStart {
        LoadStart {
            engine: self.choice.kind,
            engine_reason: self.choice.reason.clone(),
            network: self.network,
            tls: self.tls.clone(),
            connect_s: self.connect_s,
            schedule: run_schedule(self.coordinator.job.plan, start_ns),
            layout: self.layout,
        }
    }

    fn drive(self, start_ns: u64, observer: &mut dyn Observer) -> DriveResult {
        let start = self.load_start(start_ns);
        self.coordinator.start_load(&start);
        observer.started(&start);
        self.coordinator.collect(start, observer)
    }
}

/// Starts the threads of a slice, waits until all are ready, and calls `drive_slice`. Returns once all
/// threads have ended.
fn with_ready_slice<'io, R>(
    job: &DriveJob,
    slice: &RunSlice,
    choice: EngineChoice,
    create: impl Fn(EngineKind, usize) -> io::Result<Box<dyn AnyIo + 'io>> + Sync,
    drive_slice: impl FnOnce(ReadySlice<'_>) -> R,
) -> Result<R, Error> {
    let routes = job.routes();
    let interrupt = AtomicBool::new(false);
    let window_start_ns = AtomicU64::new(0);
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
            window_start_ns: &window_start_ns,
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
                channel: CollectorChannel::new(
                    index as usize,
                    sender.clone(),
                    commands,
                    &window_start_ns,
                ),
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
        let Readiness { tls, ready_ns } = coordinator.wait_for_connections()?;
        Ok(drive_slice(ReadySlice {
            coordinator,
            choice,
            network,
            tls,
            connect_s: Clock::System.now_ns().saturating_sub(connect_start_ns) as f64 / 1e9,
            layout: job.recorder_layout(has_timestamps),
            // On the simulated clock, a load without a prologue begins at 0.
            ready_ns: if job.program.has_prologue() { ready_ns } else { 0 },
        }))
    })
}

/// The phases of a load of this plan that starts at this time, with the longest warm-up.
pub fn run_schedule(plan: &DrivePlan, start_ns: u64) -> RunSchedule {
    let window_ns = match plan.stop {
        Stop::After(window) => Some(window.as_nanos() as u64),
        // The window ends with the last transaction, not at a given time.
        Stop::Transactions(_)
        | Stop::NoStartsAfter(_)
        | Stop::SharedTransactions { .. }
        | Stop::WorkDone => None,
    };
    let warmup = plan.warmup_max.unwrap_or(plan.warmup);
    RunSchedule::seconds(start_ns, warmup.as_nanos() as u64, window_ns)
}

//! Starts the threads of a run, waits until their users are ready, and drives the load to its end.
//!
//! In: a job, a slice of its clients, an engine. Out: [`ReadySlice`], which starts the load at a given time
//! and returns the result. Must never: start the load of one thread before the others, or leave a thread
//! running.

use crate::clock::Clock;
use crate::coordinate::{Coordinator, WorkerMessage};
use crate::error::Error;
use crate::io::sim;
use crate::io_engine::{AnyIo, EngineChoice};
use crate::link::Routes;
use crate::run::{DriveJob, DriveResult, LoadStart, Observer, network, recorder_layout};
use crate::run_event::panic_text;
use crate::scheduling::{Cpus, Scheduling};
use crate::slice::RunSlice;
use crate::thread::{StartSignal, WorkerShare, WorkerThread, run_worker};
use prony_document::Network;
use prony_measure::{RecorderLayout, RunSchedule};
use prony_plan::{DrivePlan, Stop};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Time between the start signal and the common start, in which the signal reaches all threads. 2 ms were too
/// few on a busy machine.
const START_DELAY_NS: u64 = 5_000_000;

/// A slice of a run whose connections are up and whose users are ready.
pub struct ReadySlice<'a> {
    coordinator: Coordinator<'a>,
    start_senders: Vec<Sender<StartSignal>>,
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
        let now_ns = match self.choice.name {
            // The simulated clock belongs to the worker: it cannot be read here.
            "sim" => self.ready_ns,
            _ => Clock::System.now_ns(),
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
            engine: self.choice.name,
            engine_reason: self.choice.reason,
            network: self.network,
            tls: self.tls,
            connect_s: self.connect_s,
            schedule: run_schedule(self.coordinator.job.plan, start_ns),
            layout: self.layout,
        };
        let spare_senders = self.start_senders.into_iter().map(|start_sender| {
            let (spare_sender, spare_intervals) = channel();
            let _ = start_sender.send(StartSignal {
                schedule: start.schedule,
                layout: start.layout,
                spare_intervals,
            });
            spare_sender
        });
        let spare_senders: Vec<_> = spare_senders.collect();
        observer.started(&start);
        self.coordinator.collect(start, &spare_senders, observer)
    }
}

/// Starts the threads of a slice, waits until all are ready, and calls `drive_slice`. Returns once all
/// threads have ended.
pub(crate) fn with_ready_slice<S: sim::SimServer, R>(
    job: &DriveJob,
    slice: &RunSlice,
    routes: &[Routes],
    choice: EngineChoice,
    create: impl Fn(&str, usize) -> io::Result<AnyIo<S>> + Sync,
    drive_slice: impl FnOnce(ReadySlice<'_>) -> R,
) -> Result<R, Error> {
    let worker_interrupt = AtomicBool::new(false);
    let (network, has_timestamps) = network(job);
    let layout = recorder_layout(job, has_timestamps || choice.name == "sim");
    let budget = slice.start_budget(job.plan);
    // Threads may be pinned to one CPU later, so the CPUs are counted here.
    let scheduling = Scheduling::new(job, slice, Cpus::of_this_thread());
    let (sender, messages) = channel();
    std::thread::scope(|scope| {
        let (mut engine_senders, mut start_senders) = (Vec::new(), Vec::new());
        for (index, worker) in (0..).zip(slice.workers.clone()) {
            let share = WorkerShare::new(slice, index, budget.clone());
            let (engine_sender, engine_receiver) = channel();
            engine_senders.push(engine_sender);
            let (start, start_receiver) = channel();
            start_senders.push(start);
            let (sender, create, choice) = (sender.clone(), &create, &choice);
            let worker_interrupt = &worker_interrupt;
            let body = move || {
                let worker = WorkerThread {
                    job,
                    routes,
                    worker_interrupt,
                    sender: &sender,
                    start_receiver: &start_receiver,
                    scheduling,
                };
                let result = worker.run(share, choice, create, &engine_receiver);
                let _ = sender.send(WorkerMessage::Ended(index as usize, result));
            };
            let builder = std::thread::Builder::new().name(format!("worker {}", worker + 1));
            // The threads already started end when the other ends of their channels are dropped.
            builder
                .spawn_scoped(scope, body)
                .map_err(|source| Error::ThreadStart {
                    started: engine_senders.len() as u32 - 1,
                    requested: slice.threads(),
                    source,
                })?;
        }
        drop(sender);
        let coordinator = Coordinator {
            job,
            worker_interrupt: &worker_interrupt,
            messages,
            threads: engine_senders.len(),
            clients: slice.clients.len() as u32,
        };
        let choice = if coordinator.wait_for_engines()? {
            choice.clone()
        } else {
            EngineChoice::epoll_fallback()
        };
        for engine_sender in engine_senders {
            let _ = engine_sender.send(choice.name);
        }
        let connect_start_ns = Clock::System.now_ns();
        let (tls, ready_ns) = coordinator.wait_for_connections()?;
        // On the simulated clock, a load without a prologue begins at 0.
        let ready_ns = u64::from(job.program.has_prologue()) * ready_ns;
        Ok(drive_slice(ReadySlice {
            coordinator,
            start_senders,
            choice,
            network,
            tls,
            connect_s: Clock::System.now_ns().saturating_sub(connect_start_ns) as f64 / 1e9,
            layout,
            ready_ns,
        }))
    })
}

impl WorkerThread<'_> {
    fn run<S: sim::SimServer>(
        &self,
        share: WorkerShare,
        choice: &EngineChoice,
        create: &(impl Fn(&str, usize) -> io::Result<AnyIo<S>> + Sync),
        engine_receiver: &Receiver<&'static str>,
    ) -> io::Result<()> {
        let body = || {
            let create = |name: &str| create(name, share.clients.len());
            let report_created =
                |created| drop(self.sender.send(WorkerMessage::EngineCreated(created)));
            match choice.create_engine(create, report_created, engine_receiver)? {
                Some(AnyIo::Ring(io)) => run_worker(*io, share, self),
                Some(AnyIo::Epoll(io)) => run_worker(*io, share, self),
                Some(AnyIo::Sim(io)) => run_worker(*io, share, self),
                None => Ok(()),
            }
        };
        // A panic in one worker must not lose the figures of the others.
        catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
            let message = panic_text(&*panic);
            Err(io::Error::other(format!("a worker panicked: {message}")))
        })
    }
}

fn run_schedule(plan: &DrivePlan, start_ns: u64) -> RunSchedule {
    let window_ns = match plan.stop {
        Stop::After(window) => Some(window.as_nanos() as u64),
        // The window ends with the last transaction, not at a given time.
        Stop::Transactions(_) | Stop::NoStartsAfter(_) | Stop::SharedTransactions { .. } => None,
    };
    RunSchedule::seconds(start_ns, plan.warmup.as_nanos() as u64, window_ns)
}

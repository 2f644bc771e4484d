//! One run: threads, their common start, and what they hand in.
//!
//! In: a [`Job`]. Out: [`Driven`], and rows for an [`Observer`] while it goes on. Must never: touch
//! a sample; the workers record them, the collector merges.

use crate::affinity;
use crate::clock::Clock;
use crate::connections::ConnectError;
use crate::coordinate::{Coordinator, Message};
use crate::engine::{self, Choice, Engine};
use crate::happening::{Happening, panic_text};
use crate::io::sim;
use crate::link::Routes;
use crate::thread::{Go, Share, work};
use prony_measure::{Collected, Row, Sample, Schedule, Shape};
use prony_plan::{DrivePlan, Pace, Stop};
use prony_server::control::Failure;
use prony_server::{Address, Target};
use prony_session::{Budget, Program};
use std::io as std_io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;

/// From the last connection to the common start: time for all threads to be told.
const START_AFTER_NS: u64 = 2_000_000;
/// Files that the process has open beside the connections and the threads, and a few to spare:
/// measured 8 to 10 with a store and a server of its own, and now and then one of /proc.
const PROCESS_FILES: u64 = 16;
/// Files of a thread: its ring or epoll, its schedstat, and one that it opens for a moment.
const THREAD_FILES: u64 = 3;

/// What is to be run.
pub struct Job<'a> {
    /// The workload.
    pub program: &'a dyn Program,
    /// The server.
    pub target: &'a Target,
    /// The same server over TCP, for the plan's `tcp_sample` of the clients.
    pub tcp_target: Option<&'a Target>,
    /// How.
    pub plan: &'a DrivePlan,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Set by anyone: the run is to end at once, with what it has.
    pub interrupt: &'a AtomicBool,
    /// Makes the tap of a worker, which then sees each of its samples.
    pub tap: Option<&'a (dyn Fn(usize) -> Box<dyn Tap> + Sync)>,
    /// Hears why a connection is refused that a user asked for, before that user does.
    pub refused: Option<Hear<'a>>,
}

/// Hears why a connection was refused, for each way that was tried.
pub type Hear<'a> = &'a (dyn Fn(&[Failure]) + Sync);

/// Sees a worker's samples as they come, on the worker's thread.
pub trait Tap {
    /// The load starts now, on the run's clock (`CLOCK_MONOTONIC`).
    fn started(&mut self, start_ns: u64);
    /// A transaction of this client of the run ended. To be quick: the loop waits.
    fn sample(&mut self, client: u32, sample: &Sample);
    /// The worker is done.
    fn ended(&mut self, now_ns: u64);
}

/// Watches a run from the collecting thread.
pub trait Observer {
    /// All connections are up; the load starts.
    fn started(&mut self, start: &Start);
    /// A second is complete.
    fn row(&mut self, row: &Row, schedule: &Schedule);
}

/// What is known when the load starts.
#[derive(Clone, Debug)]
pub struct Start {
    /// The engine: `ring`, `epoll` or `sim`.
    pub engine: &'static str,
    /// Why that one.
    pub engine_reason: String,
    /// `unix`, `tcp`, or `unix + N tcp`.
    pub network: String,
    /// Version and cipher of TLS.
    pub tls: Option<String>,
    /// Connecting all clients took this long, seconds.
    pub connect_s: f64,
    /// The parts of the run in time.
    pub schedule: Schedule,
    /// What is recorded.
    pub shape: Shape,
}

/// What a run gave.
#[derive(Debug)]
pub struct Driven {
    /// How it started.
    pub start: Start,
    /// All figures.
    pub collected: Collected,
    /// What happened, in order of time.
    pub events: Vec<Happening>,
    /// It was interrupted.
    pub interrupted: bool,
    /// It ended early by a failure of this side, in words.
    pub failure: Option<String>,
}

/// Why a run could not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process may not open so many files.
    #[error(
        "{wanted} clients on {threads} thread{} need {needed} open files, and this process may open \
         {limit}; {}", if *threads == 1 { "" } else { "s" }, fewer(*needed - u64::from(*wanted), *limit)
    )]
    Files {
        /// Clients asked for.
        wanted: u32,
        /// Threads for them.
        threads: u32,
        /// Files needed, those of the clients and all others.
        needed: u64,
        /// The hard limit.
        limit: u64,
    },
    /// io_uring was asked for and cannot be used.
    #[error("--io ring: {0}; use --io epoll or --io auto")]
    Ring(String),
    /// The connections could not be opened.
    #[error("{connected} of {wanted} connections were opened, then: {source}")]
    Connect {
        /// Clients asked for.
        wanted: u32,
        /// Connections that were up by then, of all workers.
        connected: u32,
        /// Why.
        source: ConnectError,
    },
    /// A user ended before the load started.
    #[error("a user could not get ready: {0}")]
    Unready(String),
    /// Interrupted before the load started.
    #[error("interrupted before the load started")]
    Interrupted,
}

/// Runs a job.
///
/// # Errors
/// When it cannot start. A run that fails later gives what it has.
pub fn run(job: &Job, observer: &mut dyn Observer) -> Result<Driven, Error> {
    allow_files(job.plan)?;
    if job.program.opens_connections() {
        // How many it will open is not known.
        affinity::allow_most_files();
    }
    let choice = engine::choose(job.plan.io)?;
    run_with(job, &routes(job), choice, observer, engine::make)
}

/// Makes sure of enough open files before any client connects.
fn allow_files(plan: &DrivePlan) -> Result<(), Error> {
    let threads = threads(plan);
    let needed = u64::from(plan.clients) + THREAD_FILES * u64::from(threads) + PROCESS_FILES;
    affinity::allow_files(needed).map_err(|limit| Error::Files {
        wanted: plan.clients,
        threads,
        needed,
        limit,
    })
}

/// What helps where files are too few, by how many are needed beside those of the clients.
fn fewer(others: u64, limit: u64) -> String {
    let raise = "raise the hard limit (ulimit -Hn as root, LimitNOFILE= of a service)";
    match limit.saturating_sub(others) {
        0 => raise.to_owned(),
        1 => format!("use 1 client, or {raise}"),
        most => format!("use at most {most} clients, or {raise}"),
    }
}

/// No thread without a client.
fn threads(plan: &DrivePlan) -> u32 {
    plan.threads.min(plan.clients).max(1)
}

/// Runs a job on a simulated network, on the calling thread and one worker; for tests.
///
/// # Errors
/// As [`run`].
pub fn run_simulated<S: sim::Script + Send>(
    job: &Job,
    machine: sim::Machine,
    script: S,
    observer: &mut dyn Observer,
) -> Result<Driven, Error> {
    let script = std::sync::Mutex::new(Some(script));
    run_with(job, &routes(job), Choice::sim(), observer, |_, clients| {
        let script = script
            .lock()
            .expect("one thread")
            .take()
            .expect("one worker");
        Ok(Engine::Sim(Box::new(sim::Sim::new(
            clients, machine, script,
        ))))
    })
}

fn routes(job: &Job) -> Vec<Routes> {
    let targets = std::iter::once(job.target).chain(&job.target.others);
    targets.chain(job.tcp_target).map(Routes::new).collect()
}

/// The servers of a run.
pub(crate) fn servers(job: &Job) -> usize {
    1 + job.target.others.len()
}

/// Which of the routes a client takes: several servers take turns.
pub(crate) fn route_of(job: &Job, client: u32) -> usize {
    let servers = servers(job);
    if client < tcp_sample(job) {
        return servers;
    }
    client as usize % servers
}

/// How many of the clients are asked for over TCP beside the others.
pub(crate) fn tcp_sample(job: &Job) -> u32 {
    job.tcp_target.map_or(0, |_| job.plan.tcp_sample)
}

fn network(job: &Job) -> (String, bool) {
    let targets = std::iter::once(job.target).chain(&job.target.others);
    let unix = targets
        .flat_map(|target| &target.endpoints)
        .all(|endpoint| matches!(endpoint.address, Address::Unix(_)));
    match (unix, tcp_sample(job)) {
        (false, _) => ("tcp".to_owned(), true),
        (true, 0) => ("unix".to_owned(), false),
        (true, n) => (format!("unix + {n} tcp"), true),
    }
}

/// What is recorded. `parts`: stamps tell the parts of a response time.
fn shape(job: &Job, parts: bool) -> Shape {
    Shape {
        kinds: job.program.kinds().len(),
        open_loop: job.plan.pace != Pace::Closed,
        parts,
        connect: job.plan.connect_per_transaction,
        limit_ns: limit_ns(job.plan).unwrap_or(u64::MAX),
    }
}

fn run_with<S: sim::Script>(
    job: &Job,
    routes: &[Routes],
    choice: Choice,
    observer: &mut dyn Observer,
    make: impl Fn(&str, usize) -> std_io::Result<Engine<S>> + Sync,
) -> Result<Driven, Error> {
    let halt = AtomicBool::new(false);
    let threads = threads(job.plan);
    let (network, parts) = network(job);
    let shape = shape(job, parts || choice.name == "sim");
    let budget = match job.plan.stop {
        Stop::Shared { transactions, .. } => Some(Arc::new(Budget::new(transactions))),
        _ => None,
    };
    let (tell, hear) = channel();
    std::thread::scope(|scope| {
        let (mut settlers, mut starters) = (Vec::new(), Vec::new());
        for worker in 0..threads {
            let share = Share {
                worker: worker as usize,
                workers: threads,
                clients: clients_of(worker, job.plan.clients, threads),
                budget: budget.clone(),
            };
            let (settle, settled) = channel();
            settlers.push(settle);
            let (start, wait) = channel();
            starters.push(start);
            let (tell, halt, make, choice) = (tell.clone(), &halt, &make, &choice);
            let body = move || {
                let worker = share.worker;
                let body = || {
                    let make = |name: &str| make(name, share.clients.len());
                    let tried = |fits| drop(tell.send(Message::Made(fits)));
                    match choice.settled(make, tried, &settled)? {
                        Some(Engine::Ring(io)) => work(*io, share, job, routes, halt, &tell, &wait),
                        Some(Engine::Epoll(io)) => {
                            work(*io, share, job, routes, halt, &tell, &wait)
                        }
                        Some(Engine::Sim(io)) => work(*io, share, job, routes, halt, &tell, &wait),
                        None => Ok(()),
                    }
                };
                // A mistake of ours must not cost what the others measured.
                let ended = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
                    let said = panic_text(&*panic);
                    Err(std_io::Error::other(format!("a worker panicked: {said}")))
                });
                let _ = tell.send(Message::Ended(worker, ended));
            };
            std::thread::Builder::new()
                .name(format!("worker {}", starters.len()))
                .spawn_scoped(scope, body)
                .expect("the system gives a thread");
        }
        drop(tell);
        let coordinator = Coordinator {
            job,
            halt: &halt,
            hear,
            threads: threads as usize,
        };
        let choice = match coordinator.made()? {
            true => choice.clone(),
            false => choice.instead(),
        };
        for settle in settlers {
            let _ = settle.send(choice.name);
        }
        let begun = Clock::System.now_ns();
        let (tls, ready_ns) = coordinator.connected()?;
        let now_ns = match choice.name {
            // Its clock is its worker's own.
            "sim" if job.program.has_prologue() => ready_ns,
            "sim" => 0,
            _ => Clock::System.now_ns(),
        };
        let start = Start {
            engine: choice.name,
            engine_reason: choice.reason,
            network,
            tls,
            connect_s: Clock::System.now_ns().saturating_sub(begun) as f64 / 1e9,
            schedule: schedule(job.plan, now_ns),
            shape,
        };
        for starter in starters {
            let _ = starter.send(Go {
                schedule: start.schedule,
                shape,
            });
        }
        observer.started(&start);
        Ok(coordinator.collect(start, observer))
    })
}

/// The plan's latency limit, nanoseconds.
pub(crate) fn limit_ns(plan: &DrivePlan) -> Option<u64> {
    plan.latency_limit.map(|limit| limit.as_nanos() as u64)
}

fn schedule(plan: &DrivePlan, now_ns: u64) -> Schedule {
    let window_ns = match plan.stop {
        Stop::After(window) => Some(window.as_nanos() as u64),
        // What started is measured to its end.
        Stop::Transactions(_) | Stop::Starts(_) | Stop::Shared { .. } => None,
    };
    Schedule::seconds(
        now_ns + START_AFTER_NS,
        plan.warmup.as_nanos() as u64,
        window_ns,
    )
}

/// The clients of a thread: they are dealt in blocks, as evenly as they go.
pub fn clients_of(thread: u32, clients: u32, threads: u32) -> Range<u32> {
    let first = |thread: u32| thread * (clients / threads) + thread.min(clients % threads);
    first(thread)..first(thread + 1)
}

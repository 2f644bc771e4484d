//! Runs a job: its threads, their common start, and the results that they deliver.
//!
//! In: a [`DriveJob`]. Out: [`DriveResult`], and rows for an [`Observer`] during the run. Must never: process
//! samples; the workers record them, and the collector merges them.

use crate::affinity;
use crate::error::Error;
use crate::io::sim;
use crate::io_engine::{self, AnyIo, EngineChoice};
use crate::link::Routes;
use crate::ready::{ReadySlice, with_ready_slice};
use crate::run_event::RunEvent;
use crate::slice::RunSlice;
use prony_document::Network;
use prony_measure::{
    CollectedFigures, IntervalRow, RecorderLayout, RoundTripTimes, RunSchedule, Sample,
};
use prony_plan::{DrivePlan, Pace};
use prony_server::control::ConnectFailure;
use prony_server::{Address, Target};
use prony_session::Program;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Open files of the process besides those of connections and threads, with a margin: 8 to 10 were measured
/// with a store and an embedded server, plus an occasional file in /proc.
const PROCESS_FILES: u64 = 16;
/// Open files of a thread: its ring or epoll, its schedstat, and one that it opens briefly.
const THREAD_FILES: u64 = 3;

/// A run to execute.
pub struct DriveJob<'a> {
    /// The workload.
    pub program: &'a dyn Program,
    /// The server.
    pub target: &'a Target,
    /// The same server over TCP, for the first `tcp_sample` clients of the plan.
    pub tcp_target: Option<&'a Target>,
    /// Clients, threads, pace and end of the run.
    pub plan: &'a DrivePlan,
    /// Seed of all random numbers.
    pub seed: u64,
    /// When another thread or a signal sets this, the run ends at once, with what it has measured.
    pub interrupt: &'a AtomicBool,
    /// Creates the listener that receives the samples of a worker, given by its index.
    pub new_sample_listener: Option<&'a (dyn Fn(usize) -> Box<dyn SampleListener> + Sync)>,
    /// Called with the reasons when a connection that a user requested is refused, before the user is
    /// resumed.
    pub on_connect_refused: Option<OnConnectRefused<'a>>,
}

/// Called with the reasons why a connection was refused, one for each route that was tried.
pub type OnConnectRefused<'a> = &'a (dyn Fn(&[ConnectFailure]) + Sync);

/// Receives a worker's samples as they occur, on the worker's thread.
pub trait SampleListener {
    /// The load starts now, on the run's clock (`CLOCK_MONOTONIC`).
    fn started(&mut self, start_ns: u64);
    /// A transaction of this client of the run ended. Must be quick: the loop waits.
    fn sample(&mut self, client: u32, sample: &Sample);
    /// The worker has ended.
    fn ended(&mut self, now_ns: u64);
}

/// Watches a run from the collecting thread.
pub trait Observer {
    /// All users are ready. They start after this call, so that the observer's output precedes that of users.
    fn ready(&mut self) {}
    /// The load starts at the time in `start`. Users may have started already.
    fn started(&mut self, start: &LoadStart);
    /// A second is complete.
    fn interval_ended(&mut self, row: &IntervalRow, schedule: &RunSchedule);
    /// The window of a timed run ended a while ago, and some of its transactions have not ended; called once.
    fn draining(&mut self) {}
    /// The reason why the run must end at once, or `None` if it may continue; called after each row.
    fn reason_to_end(&mut self) -> Option<String> {
        None
    }
}

/// The state of a run when its load starts.
#[derive(Clone, Debug)]
pub struct LoadStart {
    /// The engine: `ring`, `epoll` or `sim`.
    pub engine: &'static str,
    /// Why this engine was chosen.
    pub engine_reason: String,
    /// How the clients reach the server.
    pub network: Network,
    /// Version and cipher of TLS.
    pub tls: Option<String>,
    /// Time to connect all clients, seconds.
    pub connect_s: f64,
    /// When warm-up, window and intervals begin and end.
    pub schedule: RunSchedule,
    /// Which figures are recorded.
    pub layout: RecorderLayout,
}

/// The result of a run.
#[derive(Debug)]
pub struct DriveResult {
    /// The state when the load started.
    pub start: LoadStart,
    /// All figures.
    pub collected: CollectedFigures,
    /// Events, in order of time.
    pub events: Vec<RunEvent>,
    /// The times of the window's round trips, by index in the program's statement table; present if the plan
    /// asks for the latency of each statement.
    pub round_trips: Option<RoundTripTimes<u64>>,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// A failure of the client side that ended the run early, as text.
    pub failure: Option<String>,
}

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
///
/// # Errors
/// If the slice cannot start.
pub fn connect<R>(
    job: &DriveJob,
    slice: &RunSlice,
    drive_slice: impl FnOnce(ReadySlice<'_>) -> R,
) -> Result<R, Error> {
    ensure_file_limit(slice)?;
    if job.program.opens_connections() {
        // The program does not declare how many it will open.
        affinity::raise_file_limit();
    }
    let choice = io_engine::choose(job.plan.io)?;
    with_ready_slice(
        job,
        slice,
        &routes(job),
        choice,
        io_engine::create,
        drive_slice,
    )
}

/// Ensures that a slice may open enough files, before any client connects.
fn ensure_file_limit(slice: &RunSlice) -> Result<(), Error> {
    let (requested, threads) = (slice.clients.len() as u32, slice.threads());
    let needed = u64::from(requested) + THREAD_FILES * u64::from(threads) + PROCESS_FILES;
    affinity::ensure_file_limit(needed).map_err(|limit| Error::FileLimit {
        requested,
        threads,
        needed,
        limit,
    })
}

/// Runs a job on a simulated network, on the calling thread and one worker; for tests.
///
/// # Errors
/// As [`run`].
pub fn run_simulated<S: sim::SimServer + Send>(
    job: &DriveJob,
    machine: sim::Machine,
    server: S,
    observer: &mut dyn Observer,
) -> Result<DriveResult, Error> {
    let server = std::sync::Mutex::new(Some(server));
    let slice = RunSlice::whole(job.plan);
    let create = |_: &str, clients| {
        let server = server
            .lock()
            .expect("one thread")
            .take()
            .expect("one worker");
        Ok(AnyIo::Sim(Box::new(sim::Sim::new(
            clients, machine, server,
        ))))
    };
    with_ready_slice(
        job,
        &slice,
        &routes(job),
        EngineChoice::sim(),
        create,
        |ready| ready.start(observer),
    )
}

fn routes(job: &DriveJob) -> Vec<Routes> {
    let targets = std::iter::once(job.target).chain(&job.target.additional_targets);
    targets.chain(job.tcp_target).map(Routes::new).collect()
}

/// Number of servers of a run.
pub(crate) fn server_count(job: &DriveJob) -> usize {
    1 + job.target.additional_targets.len()
}

/// Index of the route that a client takes; clients are spread evenly over several servers.
pub(crate) fn route_index(job: &DriveJob, client: u32) -> usize {
    let server_count = server_count(job);
    if client < tcp_sample_clients(job) {
        return server_count;
    }
    client as usize % server_count
}

/// Number of clients that use TCP while the others use the unix socket; 0 if all take the same route.
pub(crate) fn tcp_sample_clients(job: &DriveJob) -> u32 {
    job.tcp_target.map_or(0, |_| job.plan.tcp_sample)
}

/// How the clients reach the server, and whether any of their connections has timestamps.
pub(crate) fn network(job: &DriveJob) -> (Network, bool) {
    let targets = std::iter::once(job.target).chain(&job.target.additional_targets);
    let all_unix = targets
        .flat_map(|target| &target.endpoints)
        .all(|endpoint| matches!(endpoint.address, Address::Unix(_)));
    match (all_unix, tcp_sample_clients(job)) {
        (false, _) => (Network::Tcp, true),
        (true, 0) => (Network::Unix, false),
        (true, clients) => (Network::UnixWithTcpSample { clients }, true),
    }
}

/// Which figures the recorders of a run record. `has_parts`: whether timestamps split the service time into
/// parts.
pub(crate) fn recorder_layout(job: &DriveJob, has_parts: bool) -> RecorderLayout {
    RecorderLayout {
        kinds: job.program.kinds().len(),
        open_loop: job.plan.pace != Pace::Closed,
        has_parts,
        has_connect_time: job.plan.connect_per_transaction,
        latency_limit_ns: latency_limit_ns(job.plan).unwrap_or(u64::MAX),
    }
}

/// The plan's latency limit, nanoseconds.
pub(crate) fn latency_limit_ns(plan: &DrivePlan) -> Option<u64> {
    plan.latency_limit.map(|limit| limit.as_nanos() as u64)
}

/// The clients of a thread: contiguous blocks, as even as possible.
pub fn clients_of_thread(thread: u32, clients: u32, threads: u32) -> Range<u32> {
    let first_client = |thread: u32| thread * (clients / threads) + thread.min(clients % threads);
    first_client(thread)..first_client(thread + 1)
}

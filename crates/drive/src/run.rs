//! Runs a job: chooses the I/O engine, opens the connections of a slice, and starts the load.
//!
//! Must never: process samples; the workers record them, and the collector merges them.

use crate::affinity;
use crate::error::Error;
use crate::io::sim;
use crate::io_engine::{self, AnyIo, EngineChoice, EngineKind};
use crate::job::{DriveJob, DriveResult, Observer};
use crate::ready::{ReadySlice, with_ready_slice};
use crate::slice::RunSlice;
use std::sync::Mutex;

/// Open files of the process besides those of connections and threads, with a margin: 8 to 10 were measured
/// with a store and an embedded server, plus an occasional file in /proc.
const PROCESS_FILES: u64 = 16;
/// Open files of a thread: its ring or epoll, its schedstat, and one that it opens briefly.
const THREAD_FILES: u64 = 3;

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
    with_ready_slice(job, slice, choice, io_engine::create, drive_slice)
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
    let server = Mutex::new(Some(server));
    let create = |_: EngineKind, clients| {
        let server = server.lock().expect("one thread").take();
        let server = server.expect("one worker");
        let sim = sim::Sim::new(clients, machine, server);
        Ok(AnyIo::Sim(Box::new(sim)))
    };
    let slice = RunSlice::whole(job.plan);
    let choice = EngineChoice::requested(EngineKind::Sim);
    with_ready_slice(job, &slice, choice, create, |ready| ready.start(observer))
}

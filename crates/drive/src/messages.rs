//! The messages between a run's workers and its collecting thread: one channel to each worker, and one from all of
//! them. Never a message per transaction.

use crate::error::ConnectError;
use crate::hosts::HostTotals;
use crate::io_engine::EngineKind;
use crate::run_event::RunEvent;
use prony_measure::{Interval, RecorderLayout, RoundTripTimes, RunSchedule};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};

pub(crate) enum WorkerMessage {
    /// A worker has tried to create its I/O engine; false if it needs a different engine.
    EngineCreated(bool),
    /// All connections of a worker are up, and all its users ready.
    Ready(Readiness),
    /// The connections of a worker could not be opened, or a user did not get ready.
    Refused(ConnectError),
    /// A worker has begun the load, at this time of the run's clock.
    Started(u64),
    /// A finished interval of the worker with this index.
    Interval(usize, Box<Interval>),
    Event(RunEvent),
    /// The times of a worker's round trips by statement, at its end, if the run measures them.
    RoundTrips(RoundTripTimes<u32>),
    /// What happened at each host, at a worker's end, if there are several.
    Hosts(Vec<HostTotals<u32>>),
    /// The worker with this index has ended.
    Ended(usize, io::Result<()>),
}

/// The state in which workers wait for the start of the load.
#[derive(Default)]
pub(crate) struct Readiness {
    /// TLS version and cipher; `None` without TLS.
    pub tls: Option<String>,
    /// When the last user was ready, on the run's clock.
    pub ready_ns: u64,
}

/// A message from the collecting thread to a worker. Each worker gets one `UseEngine`, then one `Start`.
pub(crate) enum Command {
    /// Drive the sockets with this engine, as all other workers do.
    UseEngine(EngineKind),
    Start(RunSchedule, RecorderLayout),
    /// Reuse an interval that was read and cleared.
    Reuse(Box<Interval>),
}

/// A worker's ends of the channels to and from the collecting thread.
pub(crate) struct CollectorChannel<'a> {
    worker: usize,
    sender: Sender<WorkerMessage>,
    commands: Receiver<Command>,
    window_start_ns: &'a AtomicU64,
}

impl<'a> CollectorChannel<'a> {
    pub fn new(
        worker: usize,
        sender: Sender<WorkerMessage>,
        commands: Receiver<Command>,
        window_start_ns: &'a AtomicU64,
    ) -> CollectorChannel<'a> {
        CollectorChannel {
            worker,
            sender,
            commands,
            window_start_ns,
        }
    }

    /// Sends a message. Nobody receives it if the run could not start.
    pub fn send(&self, message: WorkerMessage) {
        let _ = self.sender.send(message);
    }

    pub fn send_interval(&self, interval: Box<Interval>) {
        self.send(WorkerMessage::Interval(self.worker, interval));
    }

    pub fn send_end(&self, result: io::Result<()>) {
        self.send(WorkerMessage::Ended(self.worker, result));
    }

    /// Waits for the engine that all workers use; `None` if there will be no run.
    pub fn await_engine(&self) -> Option<EngineKind> {
        match self.commands.recv() {
            Ok(Command::UseEngine(kind)) => Some(kind),
            _ => None,
        }
    }

    /// Waits for the start of the load; `None` if there will be none.
    pub fn await_start(&self) -> Option<(RunSchedule, RecorderLayout)> {
        match self.commands.recv() {
            Ok(Command::Start(schedule, layout)) => Some((schedule, layout)),
            _ => None,
        }
    }

    /// When the window begins after a warm-up that had no fixed length; `None` if that is not decided.
    pub fn window_start_ns(&self) -> Option<u64> {
        match self.window_start_ns.load(Ordering::Relaxed) {
            0 => None,
            at_ns => Some(at_ns),
        }
    }

    /// Takes an interval that was read and cleared, if there is one, to reuse its memory.
    pub fn take_spare_interval(&self) -> Option<Box<Interval>> {
        match self.commands.try_recv() {
            Ok(Command::Reuse(interval)) => Some(interval),
            _ => None,
        }
    }
}

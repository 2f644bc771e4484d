//! The collecting thread's side of a run.
//!
//! In: messages of the workers. Out: merged rows for the observer, totals. Must never: make a worker
//! wait.

use crate::clock::Clock;
use crate::error::{ConnectError, Error};
use crate::run::{DriveJob, DriveResult, LoadStart, Observer};
use crate::run_event::{RunEvent, RunEventKind};
use prony_measure::{Collector, Interval};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How often the collecting thread checks whether the run is interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Transactions that take longer than this to end after the window are reported to the observer.
const DRAIN_REPORT_DELAY_NS: u64 = 1_000_000_000;

/// A message from a worker to the collecting thread.
pub(crate) enum WorkerMessage {
    /// A worker has created its engine, or cannot create any; false: it needs another engine.
    EngineCreated(bool),
    /// Users are ready for the start at this time of the run's clock; the TLS description, if any.
    Connected(Option<String>, u64),
    Refused(ConnectError),
    Interval(usize, Box<Interval>),
    Event(RunEvent),
    Ended(usize, io::Result<()>),
}

/// The collecting thread's side of a run.
pub(crate) struct Coordinator<'a> {
    pub job: &'a DriveJob<'a>,
    pub halt: &'a AtomicBool,
    pub messages: Receiver<WorkerMessage>,
    pub threads: usize,
    /// Number of their clients.
    pub clients: u32,
}

impl Coordinator<'_> {
    /// The next message; halts the threads if the run is interrupted. `None`: all have ended.
    fn receive(&self) -> Option<WorkerMessage> {
        self.receive_or_idle(|| ())
    }

    /// Like [`Coordinator::receive`]; calls `idle` after each poll interval without a message.
    fn receive_or_idle(&self, mut idle: impl FnMut()) -> Option<WorkerMessage> {
        loop {
            if self.job.interrupt.load(Ordering::Relaxed) {
                self.halt.store(true, Ordering::Relaxed);
            }
            match self.messages.recv_timeout(POLL_INTERVAL) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Timeout) => idle(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Waits until all threads have tried to create their engines. False: one needs another engine.
    pub fn wait_for_engines(&self) -> Result<bool, Error> {
        let (mut tried, mut all) = (0, true);
        while tried < self.threads {
            match self.receive() {
                Some(WorkerMessage::EngineCreated(created)) => {
                    tried += 1;
                    all &= created;
                }
                // A thread that has panicked sends no other message.
                Some(WorkerMessage::Ended(_, Err(error))) => {
                    return Err(self.connect_error(0, ConnectError::Engine(error)));
                }
                Some(_) => {}
                None => break,
            }
        }
        Ok(all)
    }

    fn connect_error(&self, connected: u32, source: ConnectError) -> Error {
        Error::Connect {
            wanted: self.clients,
            connected,
            source,
        }
    }

    /// Waits until all connections are up and all users ready. Returns the TLS description, if any,
    /// and when that was.
    pub fn wait_for_connections(&self) -> Result<(Option<String>, u64), Error> {
        let (mut ready, mut tls, mut refused) = (0, None, None);
        let (mut connected, mut ready_ns) = (0, 0);
        while ready < self.threads {
            match self.receive() {
                Some(WorkerMessage::Connected(used, at_ns)) => {
                    ready_ns = ready_ns.max(at_ns);
                    ready += 1;
                    tls = tls.or(used);
                }
                Some(WorkerMessage::Refused(error)) => {
                    if let ConnectError::Refused { connected: up, .. } = &error {
                        connected += up;
                    }
                    // The first refusal is the most useful one; it halts the others.
                    self.halt.store(true, Ordering::Relaxed);
                    refused = refused.or(Some(error));
                }
                Some(WorkerMessage::Ended(_, Err(error))) => {
                    self.halt.store(true, Ordering::Relaxed);
                    refused = refused.or(Some(ConnectError::Engine(error)));
                }
                Some(_) => {}
                None => break,
            }
            if refused.is_some() {
                break;
            }
        }
        match refused {
            Some(ConnectError::Interrupted) => Err(Error::Interrupted),
            Some(ConnectError::Unready(reason)) => Err(Error::Unready(reason)),
            Some(source) => Err(self.connect_error(connected, source)),
            None if ready < self.threads => Err(Error::Interrupted),
            None => Ok((tls, ready_ns)),
        }
    }

    /// Collects the results of the threads until all have ended. Intervals that were read go back to
    /// each thread by its `give_back`, so that no thread allocates for later seconds.
    pub fn collect(
        &self,
        start: LoadStart,
        give_back: &[Sender<Box<Interval>>],
        observer: &mut dyn Observer,
    ) -> DriveResult {
        let mut collector = Collector::new(start.schedule, start.shape, self.threads);
        let mut events = Vec::new();
        let mut failure = None;
        let mut drains_from_ns = drains_from_ns(&start);
        loop {
            let message = self.receive_or_idle(|| {
                if Clock::System.now_ns() >= drains_from_ns {
                    drains_from_ns = u64::MAX;
                    observer.draining();
                }
            });
            let Some(message) = message else { break };
            match message {
                WorkerMessage::Interval(worker, interval) => {
                    // The worker may have ended by now.
                    let _ = give_back[worker].send(collector.add(worker, interval));
                }
                WorkerMessage::Event(event) => {
                    if event.kind == RunEventKind::QueueFull {
                        self.halt.store(true, Ordering::Relaxed);
                        failure = Some(event.detail.clone());
                    }
                    events.push(event);
                }
                WorkerMessage::Ended(worker, ended) => {
                    collector.end(worker);
                    if let Err(error) = ended {
                        self.halt.store(true, Ordering::Relaxed);
                        failure = Some(format!("the run could not continue: {error}"));
                    }
                }
                WorkerMessage::EngineCreated(_)
                | WorkerMessage::Connected(..)
                | WorkerMessage::Refused(_) => {}
            }
            while let Some(row) = collector.next_row() {
                observer.row(&row, &start.schedule);
                collector.recycle(row);
                if failure.is_none()
                    && let Some(reason) = observer.failure()
                {
                    self.halt.store(true, Ordering::Relaxed);
                    failure = Some(reason);
                }
            }
        }
        let collected = collector.finish();
        for row in &collected.rows {
            observer.row(row, &start.schedule);
        }
        events.sort_by_key(|event| event.from_ns);
        DriveResult {
            start,
            collected,
            events,
            interrupted: self.job.interrupt.load(Ordering::Relaxed),
            failure,
        }
    }
}

/// From when transactions still in flight are reported to the observer.
fn drains_from_ns(start: &LoadStart) -> u64 {
    match start.engine {
        // The simulated engine has its own clock.
        "sim" => u64::MAX,
        _ => start
            .schedule
            .window_end_ns()
            .saturating_add(DRAIN_REPORT_DELAY_NS),
    }
}

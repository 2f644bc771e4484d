//! The collecting thread's side of a run: it waits for the workers and merges their intervals.
//!
//! In: messages of the workers. Out: merged rows for the observer, and the totals. Must never: make a worker
//! wait.

use crate::clock::Clock;
use crate::error::{ConnectError, Error};
use crate::hosts::HostTotals;
use crate::io_engine::EngineKind;
use crate::job::{DriveJob, DriveResult, LoadStart, Observer};
use crate::messages::{Command, WorkerMessage};
use crate::run_event::RunEventKind;
use prony_measure::{Collector, RoundTripTimes};
use prony_plan::Stop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How often the collecting thread checks whether the run is interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// If transactions are still in flight this long after the window, nanoseconds, the observer is told.
const DRAIN_REPORT_DELAY_NS: u64 = 1_000_000_000;

/// Exchanges messages with a run's workers on the collecting thread.
pub(crate) struct Coordinator<'a> {
    pub job: &'a DriveJob<'a>,
    /// When this is set, all workers end at once.
    pub interrupt: &'a AtomicBool,
    pub messages: Receiver<WorkerMessage>,
    /// A sender to each worker. A message to a worker that has ended is lost: it needs none.
    pub commands: Vec<Sender<Command>>,
    /// Number of clients of all threads.
    pub clients: u32,
}

impl Coordinator<'_> {
    /// Returns the next message, or `None` once all threads have ended. Interrupts the workers if the run is
    /// interrupted.
    fn receive(&self) -> Option<WorkerMessage> {
        self.receive_or_idle(|| ())
    }

    /// Like [`Coordinator::receive`]; calls `idle` after each poll interval without a message.
    fn receive_or_idle(&self, mut idle: impl FnMut()) -> Option<WorkerMessage> {
        loop {
            if self.job.interrupt.load(Ordering::Relaxed) {
                self.interrupt.store(true, Ordering::Relaxed);
            }
            match self.messages.recv_timeout(POLL_INTERVAL) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Timeout) => idle(),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Waits until all threads have tried to create their I/O engines. Returns false if one of them needs a
    /// different engine.
    pub fn wait_for_engines(&self) -> Result<bool, Error> {
        let (mut tried, mut all_created) = (0, true);
        while tried < self.commands.len() {
            match self.receive() {
                Some(WorkerMessage::EngineCreated(created)) => {
                    tried += 1;
                    all_created &= created;
                }
                // A thread that panics while it creates its engine sends no other message.
                Some(WorkerMessage::Ended(_, Err(error))) => {
                    return Err(self.start_error(ConnectError::Engine(error)));
                }
                Some(_) => {}
                None => break,
            }
        }
        Ok(all_created)
    }

    /// Tells all threads which engine to use.
    pub fn use_engine(&self, kind: EngineKind) {
        for worker in &self.commands {
            let _ = worker.send(Command::UseEngine(kind));
        }
    }

    /// Starts the load on all threads.
    pub fn start_load(&self, start: &LoadStart) {
        for worker in &self.commands {
            let _ = worker.send(Command::Start(start.schedule, start.layout));
        }
    }

    /// Why the load cannot start. Ends the other workers.
    fn start_error(&self, error: ConnectError) -> Error {
        self.interrupt.store(true, Ordering::Relaxed);
        match error {
            ConnectError::Interrupted => Error::Interrupted,
            ConnectError::UserNotReady(reason) => Error::UserNotReady(reason),
            source @ (ConnectError::Refused { .. } | ConnectError::Engine(_)) => Error::Connect {
                requested: self.clients,
                source,
            },
        }
    }

    /// Waits until all connections are up and all users ready. Returns the TLS version and cipher, if
    /// connections use TLS, and the time when the last user was ready. The first error ends the wait.
    pub fn wait_for_connections(&self) -> Result<(Option<String>, u64), Error> {
        let (mut ready_threads, mut tls, mut ready_ns) = (0, None, 0);
        while ready_threads < self.commands.len() {
            match self.receive() {
                Some(WorkerMessage::Connected(description, at_ns)) => {
                    ready_ns = ready_ns.max(at_ns);
                    ready_threads += 1;
                    tls = tls.or(description);
                }
                Some(WorkerMessage::Refused(error)) => return Err(self.start_error(error)),
                Some(WorkerMessage::Ended(_, Err(error))) => {
                    return Err(self.start_error(ConnectError::Engine(error)));
                }
                Some(_) => {}
                None => return Err(Error::Interrupted),
            }
        }
        Ok((tls, ready_ns))
    }

    /// Collects the results of the threads until all have ended. Sends the intervals that it has read back to
    /// their threads, so that threads need not allocate memory for later seconds.
    pub fn collect(&self, start: LoadStart, observer: &mut dyn Observer) -> DriveResult {
        let mut collector = Collector::new(start.schedule, start.layout, self.commands.len());
        let mut events = Vec::new();
        let (mut failure, mut round_trips) = (None, None);
        let mut last_start_ns = start.schedule.start_ns;
        let mut hosts: Vec<HostTotals<u64>> = Vec::new();
        let mut drain_report_ns = drain_report_ns(&start, self.job.plan.stop);
        loop {
            let message = self.receive_or_idle(|| {
                if Clock::System.now_ns() >= drain_report_ns {
                    drain_report_ns = u64::MAX;
                    observer.draining();
                }
            });
            let Some(message) = message else { break };
            match message {
                WorkerMessage::Started(at_ns) => last_start_ns = last_start_ns.max(at_ns),
                WorkerMessage::Interval(worker, interval) => {
                    let spare = collector.add(worker, interval);
                    let _ = self.commands[worker].send(Command::Reuse(spare));
                }
                WorkerMessage::Event(event) => {
                    if event.kind == RunEventKind::QueueFull {
                        self.interrupt.store(true, Ordering::Relaxed);
                        failure = Some(event.detail.clone());
                    }
                    events.push(event);
                }
                WorkerMessage::RoundTrips(times) => {
                    let totals: &mut RoundTripTimes<u64> = round_trips.get_or_insert_default();
                    totals.add(&times);
                }
                WorkerMessage::Hosts(totals) => {
                    hosts.resize_with(totals.len(), HostTotals::default);
                    for (host, totals) in hosts.iter_mut().zip(&totals) {
                        host.add(totals);
                    }
                }
                WorkerMessage::Ended(worker, result) => {
                    collector.end_worker(worker);
                    if let Err(error) = result {
                        self.interrupt.store(true, Ordering::Relaxed);
                        failure = Some(format!("the run could not continue: {error}"));
                    }
                }
                WorkerMessage::EngineCreated(_)
                | WorkerMessage::Connected(..)
                | WorkerMessage::Refused(_) => {}
            }
            while let Some(row) = collector.next_row() {
                observer.interval_ended(&row, &start.schedule);
                collector.recycle(row);
                if failure.is_none()
                    && let Some(reason) = observer.reason_to_end()
                {
                    self.interrupt.store(true, Ordering::Relaxed);
                    failure = Some(reason);
                }
            }
        }
        let collected = collector.finish();
        for row in &collected.rows {
            observer.interval_ended(row, &start.schedule);
        }
        events.sort_by_key(|event| event.from_ns);
        DriveResult {
            start_delay_ns: last_start_ns - start.schedule.start_ns,
            start,
            collected,
            events,
            round_trips,
            hosts,
            interrupted: self.job.interrupt.load(Ordering::Relaxed),
            failure,
        }
    }
}

/// When the observer of a load is told that transactions are still in flight, on the run's clock.
pub fn drain_report_ns(start: &LoadStart, stop: Stop) -> u64 {
    let end_ns = match stop {
        // The simulated engine has its own clock.
        _ if start.engine == EngineKind::Sim => u64::MAX,
        // The window has no fixed end.
        Stop::NoStartsAfter(time) | Stop::SharedTransactions { within: time, .. } => {
            let time_ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            start.schedule.window_start_ns().saturating_add(time_ns)
        }
        Stop::After(_) | Stop::Transactions(_) => start.schedule.window_end_ns(),
    };
    end_ns.saturating_add(DRAIN_REPORT_DELAY_NS)
}

//! The collecting thread's side of a run: it waits for the workers and merges their intervals.
//!
//! In: messages of the workers. Out: merged rows for the observer, and the totals. Must never: make a worker
//! wait.

use crate::clock::Clock;
use crate::error::{ConnectError, Error};
use crate::hosts::HostTotals;
use crate::io_engine::EngineKind;
use crate::job::{DriveJob, DriveResult, LoadStart, Observer};
use crate::messages::{Command, Readiness, WorkerMessage};
use crate::run_event::RunEventKind;
use prony_measure::{Collector, RoundTripTimes, RunSchedule, Span};
use prony_plan::Stop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How often the collecting thread checks whether the run is interrupted.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The end of a warm-up of no fixed length is decided at least this long before.
const DECISION_MARGIN_NS: u64 = 300_000_000;

/// If transactions are still in flight this long after the window, nanoseconds, the observer is told.
const DRAIN_REPORT_DELAY_NS: u64 = 1_000_000_000;

/// Exchanges messages with a run's workers on the collecting thread.
pub(crate) struct Coordinator<'a> {
    pub job: &'a DriveJob<'a>,
    /// When this is set, all workers end at once.
    pub interrupt: &'a AtomicBool,
    /// When the window begins, once a warm-up of no fixed length ends; 0 before. The workers read it as they
    /// open an interval.
    pub window_start_ns: &'a AtomicU64,
    pub messages: Receiver<WorkerMessage>,
    /// A sender to each worker. A message to a worker that has ended is lost: it needs none.
    pub commands: Vec<Sender<Command>>,
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
                self.end_workers();
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
        let mut tried = 0;
        let mut all_created = true;
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

    pub fn use_engine(&self, kind: EngineKind) {
        for worker in &self.commands {
            let _ = worker.send(Command::UseEngine(kind));
        }
    }

    pub fn start_load(&self, start: &LoadStart) {
        for worker in &self.commands {
            let _ = worker.send(Command::Start(start.schedule, start.layout));
        }
    }

    /// Makes all workers end at once.
    fn end_workers(&self) {
        self.interrupt.store(true, Ordering::Relaxed);
    }

    /// Ends the other workers, because the load cannot start; returns why.
    fn start_error(&self, error: ConnectError) -> Error {
        self.end_workers();
        match error {
            ConnectError::Interrupted => Error::Interrupted,
            ConnectError::UserNotReady(reason) => Error::UserNotReady(reason),
            source @ (ConnectError::Refused { .. } | ConnectError::Engine(_)) => Error::Connect {
                requested: self.clients,
                source,
            },
        }
    }

    /// Waits until all connections are up and all users ready. The first error ends the wait.
    pub fn wait_for_connections(&self) -> Result<Readiness, Error> {
        let mut all = Readiness::default();
        let mut ready_threads = 0;
        while ready_threads < self.commands.len() {
            match self.receive() {
                Some(WorkerMessage::Ready(of_worker)) => {
                    all.ready_ns = all.ready_ns.max(of_worker.ready_ns);
                    all.tls = all.tls.or(of_worker.tls);
                    ready_threads += 1;
                }
                Some(WorkerMessage::Refused(error)) => return Err(self.start_error(error)),
                Some(WorkerMessage::Ended(_, Err(error))) => {
                    return Err(self.start_error(ConnectError::Engine(error)));
                }
                Some(_) => {}
                None => return Err(Error::Interrupted),
            }
        }
        Ok(all)
    }

    /// How long the warm-up is in all, nanoseconds, if its end can be decided after the interval `span`; `None` if it
    /// goes on. The decision is made an interval before, so that all workers know it in time.
    fn warmup_ns(&self, start: &LoadStart, span: Span, observer: &mut dyn Observer) -> Option<u64> {
        let schedule = &start.schedule;
        let next_end_ns = (span.end_ns + schedule.interval_ns).saturating_sub(schedule.start_ns);
        let min_ns = self.job.plan.warmup.as_nanos() as u64;
        if next_end_ns >= schedule.warmup_ns {
            return Some(schedule.warmup_ns);
        }
        let now_ns = match start.engine {
            // The simulated clock belongs to the worker.
            EngineKind::Sim => span.end_ns,
            EngineKind::Ring | EngineKind::Epoll => Clock::System.now_ns(),
        };
        if next_end_ns >= min_ns && observer.is_steady() {
            Some(warmup_until(schedule, now_ns, min_ns))
        } else {
            None
        }
    }

    /// Tells the workers and the observer when the warm-up ends; returns when to report that the load drains.
    fn end_warmup(
        &self,
        start: &mut LoadStart,
        warmup_ns: u64,
        observer: &mut dyn Observer,
    ) -> u64 {
        start.schedule.warmup_ns = warmup_ns;
        let window_start_ns = start.schedule.window_start_ns();
        self.window_start_ns
            .store(window_start_ns, Ordering::Relaxed);
        observer.warmup_ends(&start.schedule);
        drain_report_ns(start, self.job.plan.stop)
    }

    /// Collects the results of the threads until all have ended. Sends the intervals that it has read back to
    /// their threads, so that threads need not allocate memory for later seconds.
    pub fn collect(&self, mut start: LoadStart, observer: &mut dyn Observer) -> DriveResult {
        let mut collector = Collector::new(start.schedule, start.layout, self.commands.len());
        let mut events = Vec::new();
        let mut failure = None;
        let mut round_trips: Option<RoundTripTimes<u64>> = None;
        let mut last_start_ns = start.schedule.start_ns;
        let mut hosts: Vec<HostTotals<u64>> = Vec::new();
        let mut drain_report_ns = drain_report_ns(&start, self.job.plan.stop);
        let mut warmup_is_open = self.job.plan.warmup_max.is_some();
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
                        self.end_workers();
                        failure = Some(event.detail.clone());
                    }
                    events.push(event);
                }
                WorkerMessage::RoundTrips(times) => {
                    round_trips.get_or_insert_default().add(&times);
                }
                WorkerMessage::Hosts(totals) => add_host_totals(&mut hosts, &totals),
                WorkerMessage::Ended(worker, result) => {
                    collector.end_worker(worker);
                    if let Err(error) = result {
                        self.end_workers();
                        failure = Some(format!("the run could not continue: {error}"));
                    }
                }
                WorkerMessage::EngineCreated(_)
                | WorkerMessage::Ready(_)
                | WorkerMessage::Refused(_) => {}
            }
            while let Some(row) = collector.next_row() {
                observer.interval_ended(&row, &start.schedule);
                let span = row.interval.span;
                collector.recycle(row);
                if warmup_is_open && let Some(warmup_ns) = self.warmup_ns(&start, span, observer) {
                    warmup_is_open = false;
                    collector.set_warmup(warmup_ns);
                    drain_report_ns = self.end_warmup(&mut start, warmup_ns, observer);
                }
                if failure.is_none()
                    && let Some(reason) = observer.reason_to_end()
                {
                    self.end_workers();
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

/// Adds the totals of a worker to those of the workers before it; both have the same hosts.
fn add_host_totals(sums: &mut Vec<HostTotals<u64>>, totals: &[HostTotals<u32>]) {
    sums.resize_with(totals.len(), HostTotals::default);
    for (sum, of_worker) in sums.iter_mut().zip(totals) {
        sum.add(of_worker);
    }
}

/// The length of a warm-up that ends with the first interval whose end is at least `DECISION_MARGIN_NS` from now, and not
/// before `min_ns`.
fn warmup_until(schedule: &RunSchedule, now_ns: u64, min_ns: u64) -> u64 {
    let earliest_ns = now_ns.saturating_sub(schedule.start_ns) + DECISION_MARGIN_NS;
    let whole_ns = earliest_ns.div_ceil(schedule.interval_ns) * schedule.interval_ns;
    whole_ns.clamp(min_ns, schedule.warmup_ns)
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
        Stop::After(_) | Stop::Transactions(_) | Stop::WorkDone => start.schedule.window_end_ns(),
    };
    end_ns.saturating_add(DRAIN_REPORT_DELAY_NS)
}

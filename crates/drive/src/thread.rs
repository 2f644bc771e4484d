//! The body of a worker thread: connect, wait for the common start, drive, close.
//!
//! In: a share of the clients. Out: messages to the collecting thread. Must never: outlive the run.

use crate::affinity;
use crate::assignment::{Assignment, Timing};
use crate::coordinate::WorkerMessage;
use crate::io::Io;
use crate::link::Routes;
use crate::pace;
use crate::reply_wait::WaitPolicy;
use crate::run::{DriveJob, latency_limit_ns, route_index, server_count};
use crate::run_event::{Reports, RunEvent};
use crate::scheduling::{BatchPolicy, Scheduling};
use crate::slice::RunSlice;
use crate::worker::Worker;
use prony_measure::{Interval, Recorder, RecorderLayout, RunSchedule};
use prony_plan::{DrivePlan, Pace, Stop};
use prony_session::{Conn, StartBudget, StartRules, UserId, WorkerContext};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// The collecting thread's message that starts the load.
pub(crate) struct StartSignal {
    pub schedule: RunSchedule,
    /// What the worker's recorder records.
    pub layout: RecorderLayout,
    /// Delivers intervals that the collecting thread has read and cleared.
    pub spare_intervals: Receiver<Box<Interval>>,
}

/// The part of the run that one worker drives.
pub(crate) struct WorkerShare {
    /// Index of the thread in this process.
    pub index: usize,
    /// Number of the thread in the whole run.
    pub worker: u32,
    /// Number of threads in the whole run.
    pub workers: u32,
    /// The clients of the thread.
    pub clients: Range<u32>,
    /// Number of transactions that may still start, shared by all workers; `None` if it is unlimited.
    pub budget: Option<Arc<StartBudget>>,
}

impl WorkerShare {
    /// The share of the slice's thread `index`, from 0.
    pub fn new(slice: &RunSlice, index: u32, budget: Option<Arc<StartBudget>>) -> WorkerShare {
        WorkerShare {
            index: index as usize,
            worker: slice.workers.start + index,
            workers: slice.all_workers,
            clients: slice.clients_of_thread(index),
            budget,
        }
    }
}

/// Hands a worker's reports over to the collecting thread.
struct CollectorReports<'a> {
    worker: usize,
    sender: &'a Sender<WorkerMessage>,
    /// Intervals that the collecting thread has read and cleared.
    spare_intervals: Receiver<Box<Interval>>,
    /// Whether the worker's thread is pinned to one CPU.
    is_pinned: bool,
}

impl Reports for CollectorReports<'_> {
    fn deliver_interval(&mut self, mut interval: Box<Interval>) {
        interval.health.pinned_workers = self.is_pinned.into();
        let _ = self
            .sender
            .send(WorkerMessage::Interval(self.worker, interval));
    }

    fn take_spare(&mut self) -> Option<Box<Interval>> {
        self.spare_intervals.try_recv().ok()
    }

    fn deliver_event(&mut self, event: RunEvent) {
        let _ = self.sender.send(WorkerMessage::Event(event));
    }
}

/// What a worker's thread needs besides its share of the clients.
pub(crate) struct WorkerThread<'a> {
    pub job: &'a DriveJob<'a>,
    pub routes: &'a [Routes],
    pub worker_interrupt: &'a AtomicBool,
    pub sender: &'a Sender<WorkerMessage>,
    pub start_receiver: &'a Receiver<StartSignal>,
    pub scheduling: Scheduling,
}

/// The body of a worker thread.
pub(crate) fn run_worker<I: Io>(
    engine: I,
    share: WorkerShare,
    thread: &WorkerThread<'_>,
) -> io::Result<()> {
    let WorkerThread {
        job,
        routes,
        worker_interrupt,
        sender,
        start_receiver,
        scheduling,
    } = *thread;
    affinity::use_precise_timers();
    let is_pinned = scheduling.pins_workers && affinity::pin_thread(share.index);
    let protocol_mode = job.plan.protocol;
    let clients = share.clients.clone();
    let assignment = Assignment {
        program: job.program,
        users: clients
            .clone()
            .map(|client| UserId {
                client,
                clients: job.plan.clients,
                worker: share.worker,
                workers: share.workers,
                seed: job.seed,
            })
            .collect(),
        routes,
        server_count: server_count(job),
        route_indexes: clients.map(|client| route_index(job, client)).collect(),
        new_conn: &|| Conn::new(job.target.exchange(protocol_mode, job.plan.describe)),
        interrupt: worker_interrupt,
        sample_listener: job
            .new_sample_listener
            .map(|new_listener| new_listener(share.index)),
        on_connect_refused: job.on_connect_refused,
    };
    let statement_table = job
        .plan
        .statement_latency
        .then(|| job.program.statement_table());
    let context = WorkerContext::new(start_rules(job.plan))
        .with_budget(share.budget.clone())
        .with_statement_latency(statement_table);
    let mut worker = Worker::new(engine, assignment, context);
    if let Err(error) = worker.connect().and_then(|()| worker.run_prologue()) {
        let _ = sender.send(WorkerMessage::Refused(error));
        worker.close();
        return Ok(());
    }
    let _ = sender.send(WorkerMessage::Connected(
        worker.tls(),
        worker.clock().now_ns(),
    ));
    let Ok(signal) = start_receiver.recv() else {
        worker.close();
        return Ok(());
    };
    let mut timing = load_timing(&signal, &share, job);
    if scheduling.uses_batch {
        timing.batch_policy = BatchPolicy::request();
    }
    let reports = CollectorReports {
        worker: share.index,
        sender,
        spare_intervals: signal.spare_intervals,
        is_pinned,
    };
    let result = worker.drive(timing, Box::new(reports));
    if let Some(times) = worker.context.take_round_trip_times() {
        let _ = sender.send(WorkerMessage::RoundTrips(times));
    }
    worker.close();
    result
}

/// The rules by which the users of a worker start transactions.
fn start_rules(plan: &DrivePlan) -> StartRules {
    StartRules {
        is_paced: plan.pace != Pace::Closed,
        connect_per_transaction: plan.connect_per_transaction,
        max_transactions: match plan.stop {
            Stop::Transactions(count) => count,
            Stop::After(_) | Stop::NoStartsAfter(_) | Stop::SharedTransactions { .. } => 0,
        },
        latency_limit_ns: latency_limit_ns(plan),
        includes_connect_time: plan.connect_time_counts,
        reopens_lost_connections: plan.reconnect,
    }
}

fn load_timing(signal: &StartSignal, share: &WorkerShare, job: &DriveJob) -> Timing {
    let start_ns = signal.schedule.start_ns;
    let (schedule, queue_max) = match job.plan.pace {
        Pace::Closed => (None, None),
        Pace::Rate {
            rate_tps,
            arrival,
            queue_max,
        } => {
            let fraction = share.clients.len() as f64 / f64::from(job.plan.clients);
            let phase = f64::from(share.clients.start) / f64::from(job.plan.clients);
            let seed = job.seed ^ (u64::from(share.worker) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let rate_tps = rate_tps * fraction;
            let schedule = pace::StartSchedule::new(start_ns, rate_tps, arrival, phase, seed);
            // Each worker gets the same fraction of the queue as of the starts.
            let queue_max = queue_max.map(|total| (total as f64 * fraction).ceil() as u64);
            (Some(schedule), queue_max)
        }
    };
    let window_start_ns = signal.schedule.window_start_ns();
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let grace_ns = nanoseconds(job.plan.grace);
    let (end_ns, grace_ns) = match job.plan.stop {
        Stop::After(_) => (Some(signal.schedule.window_end_ns()), grace_ns),
        Stop::NoStartsAfter(time) | Stop::SharedTransactions { within: time, .. } => (
            Some(window_start_ns.saturating_add(nanoseconds(time))),
            grace_ns,
        ),
        Stop::Transactions(_) => (None, u64::MAX),
    };
    Timing {
        start_ns,
        end_ns,
        count_from_ns: window_start_ns,
        grace_ns,
        schedule,
        queue_max,
        wait_policy: WaitPolicy::new(
            job.plan.wait,
            job.plan.pace == Pace::Closed,
            share.clients.len(),
        ),
        batch_policy: BatchPolicy::default(),
        recorder: Recorder::new(signal.schedule, signal.layout),
    }
}

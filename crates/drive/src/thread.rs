//! The body of a worker thread: connect, wait for the common start, drive, close.
//!
//! In: a share of the clients. Out: messages. Must never: outlive the run.

use crate::affinity;
use crate::coordinate::Message;
use crate::courtesy::Courtesy;
use crate::happening::{Happening, Reports};
use crate::io::Io;
use crate::link::Routes;
use crate::pace;
use crate::run::{Job, limit_ns, route_of, servers};
use crate::worker::{Assignment, Timing, Worker};
use prony_measure::{Interval, Recorder, Schedule, Shape};
use prony_plan::{Pace, Stop};
use prony_session::{Budget, Conn, Desk, Rules, UserId};
use prony_wire::QueryMode;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

/// What the collecting thread tells the others: start.
#[derive(Clone, Copy)]
pub(crate) struct Go {
    pub schedule: Schedule,
    pub shape: Shape,
}

/// One worker's share of the clients.
pub(crate) struct Share {
    pub worker: usize,
    pub workers: u32,
    pub clients: Range<u32>,
    /// Starts that all workers share.
    pub budget: Option<Arc<Budget>>,
}

/// Hands a worker's reports over to the collecting thread.
struct Told<'a> {
    worker: usize,
    tell: &'a Sender<Message>,
    courtesy: Courtesy,
}

impl Reports for Told<'_> {
    fn interval(&mut self, mut interval: Box<Interval>) {
        self.courtesy.review(&mut interval.health);
        let _ = self.tell.send(Message::Interval(self.worker, interval));
    }

    fn event(&mut self, event: Happening) {
        let _ = self.tell.send(Message::Event(event));
    }
}

/// The body of a worker thread.
pub(crate) fn work<I: Io>(
    engine: I,
    share: Share,
    job: &Job,
    routes: &[Routes],
    halt: &AtomicBool,
    tell: &Sender<Message>,
    wait: &Receiver<Go>,
) -> io::Result<()> {
    affinity::sharp_timers();
    if job.plan.pin {
        affinity::pin(share.worker);
    }
    let mode = match job.plan.protocol {
        prony_plan::QueryMode::Simple => QueryMode::Simple,
        prony_plan::QueryMode::Extended => QueryMode::Extended,
        prony_plan::QueryMode::Prepared => QueryMode::Prepared,
    };
    let clients = share.clients.clone();
    let assignment = Assignment {
        program: job.program,
        users: clients
            .clone()
            .map(|client| UserId {
                client,
                clients: job.plan.clients,
                worker: share.worker as u32,
                workers: share.workers,
                seed: job.seed,
            })
            .collect(),
        routes,
        servers: servers(job),
        route_of: clients.map(|client| route_of(job, client)).collect(),
        conn: &|| Conn::new(job.target.exchange(mode, job.plan.describe)),
        interrupt: halt,
        tap: job.tap.map(|make| make(share.worker)),
        refused: job.refused,
    };
    let desk = Desk::new(Rules {
        paced: job.plan.pace != Pace::Closed,
        connect_per_transaction: job.plan.connect_per_transaction,
        transactions: match job.plan.stop {
            Stop::Transactions(count) => count,
            Stop::After(_) | Stop::Starts(_) | Stop::Shared { .. } => 0,
        },
        latency_limit_ns: limit_ns(job.plan),
        connect_counts: job.plan.connect_counts,
        reconnect: job.plan.reconnect,
    })
    .sharing(share.budget.clone());
    let mut worker = Worker::new(engine, assignment, desk);
    if let Err(error) = worker.connect().and_then(|()| worker.prologue()) {
        let _ = tell.send(Message::Refused(error));
        worker.close();
        return Ok(());
    }
    let _ = tell.send(Message::Connected(worker.tls(), worker.clock().now_ns()));
    let Ok(go) = wait.recv() else {
        worker.close();
        return Ok(());
    };
    let mut told = Told {
        worker: share.worker,
        tell,
        courtesy: Courtesy::new(job, share.clients.len()),
    };
    let ended = worker.drive(timing(&go, &share, job), &mut told);
    worker.close();
    ended
}

fn timing(go: &Go, share: &Share, job: &Job) -> Timing {
    let start_ns = go.schedule.start_ns;
    let (schedule, queue_max) = match job.plan.pace {
        Pace::Closed => (None, None),
        Pace::Rate {
            rate_tps,
            arrival,
            queue_max,
        } => {
            let part = share.clients.len() as f64 / f64::from(job.plan.clients);
            let phase = f64::from(share.clients.start) / f64::from(job.plan.clients);
            let seed = job.seed ^ (share.worker as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let rate_tps = rate_tps * part;
            let schedule = pace::Schedule::new(start_ns, rate_tps, arrival, phase, seed);
            // Each worker has its share of the queue as of the starts.
            let queue_max = queue_max.map(|all| (all as f64 * part).ceil() as u64);
            (Some(schedule), queue_max)
        }
    };
    let window_start_ns = go.schedule.window_start_ns();
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let grace_ns = nanoseconds(job.plan.grace);
    let (end_ns, grace_ns) = match job.plan.stop {
        Stop::After(_) => (Some(go.schedule.window_end_ns()), grace_ns),
        Stop::Starts(time) | Stop::Shared { within: time, .. } => (
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
        recorder: Recorder::new(go.schedule, go.shape),
    }
}

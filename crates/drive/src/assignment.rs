//! The work of one worker, and its timing.
//!
//! In: some of a run's users, the run's schedule. Out: plain data, and the scheduled starts that
//! are due. Must never: read a clock.

use crate::io::Slot;
use crate::link::Routes;
use crate::pace;
use crate::reply_wait::WaitPolicy;
use crate::run::{OnConnectRefused, SampleListener};
use crate::scheduling::BatchPolicy;
use prony_measure::{Recorder, RecorderLayout, RunSchedule};
use prony_plan::ReplyWait;
use prony_session::{Conn, Program, UserId};
use std::sync::atomic::AtomicBool;

/// The work of one worker.
pub struct Assignment<'a> {
    /// The workload.
    pub program: &'a dyn Program,
    /// The users. Each has its own connection, and may request additional ones.
    pub users: Vec<UserId>,
    /// The routes to the servers.
    pub routes: &'a [Routes],
    /// The first `server_count` entries of `routes` are the servers, one each. Further entries serve only
    /// the users that `route_indexes` sends there.
    pub server_count: usize,
    /// Which of `routes` the connection of each slot uses, by its index.
    pub route_indexes: Vec<usize>,
    /// Creates the record of a connection.
    pub new_conn: &'a dyn Fn() -> Conn,
    /// When set, the run ends at once.
    pub interrupt: &'a AtomicBool,
    /// Receives each sample of the worker.
    pub sample_listener: Option<Box<dyn SampleListener>>,
    /// Called with the reasons when a connection that a user requested is refused.
    pub on_connect_refused: Option<OnConnectRefused<'a>>,
}

impl<'a> Assignment<'a> {
    /// The routes to the server of this slot's connection.
    pub(crate) fn routes_of(&self, slot: Slot) -> &'a Routes {
        &self.routes[self.route_indexes[slot as usize]]
    }

    /// Adds the route of a user's `number`th additional connection, which gets the next slot.
    /// Additional connections use the servers round robin, and never the routes of the TCP sample.
    pub(crate) fn add_route(&mut self, user_slot: Slot, number: usize) {
        let index = self.route_indexes[user_slot as usize] + number;
        self.route_indexes.push(index % self.server_count);
    }
}

/// When the load and its transactions start and end, and the recorder of their samples. Set once all
/// connections are up.
pub struct Timing {
    /// Start of the load.
    pub start_ns: u64,
    /// When transactions stop starting, if the run ends by time.
    pub end_ns: Option<u64>,
    /// Transactions that end from this time on count towards each user's maximum number of transactions.
    pub count_from_ns: u64,
    /// Time for transactions in flight at `end_ns` to end.
    pub grace_ns: u64,
    /// Scheduled starts, in an open loop.
    pub schedule: Option<pace::StartSchedule>,
    /// The run ends when more due starts than this wait for a free client.
    pub queue_max: Option<u64>,
    /// How the worker waits for replies.
    pub wait_policy: WaitPolicy,
    /// How the kernel schedules the worker's thread.
    pub batch_policy: BatchPolicy,
    /// Records the samples.
    pub recorder: Recorder,
}

impl Timing {
    /// The timing before the load: no start is due, the load has no end, and no figure of the run includes
    /// what is recorded.
    pub(crate) fn before_load(kinds: usize, now_ns: u64) -> Timing {
        // A single interval without an end: closing an interval would clear the users' counts.
        let schedule = RunSchedule {
            start_ns: 0,
            warmup_ns: 0,
            window_ns: None,
            interval_ns: u64::MAX,
        };
        Timing {
            start_ns: now_ns,
            end_ns: None,
            count_from_ns: u64::MAX,
            grace_ns: u64::MAX,
            schedule: None,
            queue_max: None,
            wait_policy: WaitPolicy::new(ReplyWait::Sleep, false, 0),
            batch_policy: BatchPolicy::default(),
            recorder: Recorder::new(schedule, RecorderLayout::closed_loop(kinds)),
        }
    }

    /// Takes a scheduled start that is due. Returns `None` after the end of the window: later starts are
    /// counted as never started.
    pub(crate) fn take_due_start(&mut self, now_ns: u64) -> Option<u64> {
        let schedule = self.schedule.as_mut()?;
        let is_over = self.end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        (!is_over && schedule.next_ns() <= now_ns).then(|| schedule.take_next())
    }
}

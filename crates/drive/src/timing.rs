//! When the load and its transactions start and end, and who records them.

use crate::job::DriveJob;
use crate::pace::StartSchedule;
use crate::reply_wait::WaitPolicy;
use crate::scheduling::BatchPolicy;
use crate::slice::WorkerShare;
use prony_measure::{Recorder, RecorderLayout, RunSchedule};
use prony_plan::{Pace, ReplyWait, Stop};
use std::time::Duration;

/// The times of a worker's load, its policies, and the recorder of its samples. Plain data of [`crate::users`].
pub(crate) struct Timing {
    pub start_ns: u64,
    /// When transactions stop starting, if the run ends by time.
    pub end_ns: Option<u64>,
    /// Transactions that end from this time on count towards each user's maximum number of transactions.
    pub count_from_ns: u64,
    /// Time for transactions in flight at `end_ns` to end.
    pub grace_ns: u64,
    /// Scheduled starts, in an open loop.
    pub schedule: Option<StartSchedule>,
    /// The run ends when more due starts than this wait for a free client.
    pub queue_max: Option<u64>,
    pub wait_policy: WaitPolicy,
    /// How the kernel schedules the worker's thread.
    pub batch_policy: BatchPolicy,
    /// Whether the worker's thread is pinned to one CPU.
    pub is_pinned: bool,
    pub recorder: Recorder,
}

impl Timing {
    /// The timing before the load: no start is due, the load has no end, and no figure of the run includes
    /// what is recorded.
    pub fn before_load(kinds: usize, now_ns: u64) -> Timing {
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
            is_pinned: false,
            recorder: Recorder::new(schedule, RecorderLayout::closed_loop(kinds)),
        }
    }

    /// The timing of a worker's load with this schedule, under the default scheduling policy.
    pub fn of_load(
        job: &DriveJob,
        share: &WorkerShare,
        schedule: RunSchedule,
        layout: RecorderLayout,
    ) -> Timing {
        let start_ns = schedule.start_ns;
        let (starts, queue_max) = match job.plan.pace {
            Pace::Closed | Pace::Timetable => (None, None),
            Pace::Rate {
                rate_tps,
                arrival,
                queue_max,
            } => {
                let fraction = share.clients.len() as f64 / f64::from(job.plan.clients);
                let phase = f64::from(share.clients.start) / f64::from(job.plan.clients);
                // Each worker draws other numbers: a multiple of the golden ratio spreads the seeds.
                let seed =
                    job.seed ^ (u64::from(share.worker) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let own_rate_tps = rate_tps * fraction;
                let starts = StartSchedule::new(start_ns, own_rate_tps, arrival, phase, seed);
                // Each worker gets the same fraction of the queue as of the starts.
                let queue_max = queue_max.map(|total| (total as f64 * fraction).ceil() as u64);
                (Some(starts), queue_max)
            }
        };
        let window_start_ns = schedule.window_start_ns();
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let end_ns = match job.plan.stop {
            Stop::After(_) => Some(schedule.window_end_ns()),
            Stop::NoStartsAfter(time) | Stop::SharedTransactions { within: time, .. } => {
                Some(window_start_ns.saturating_add(nanoseconds(time)))
            }
            Stop::Transactions(_) | Stop::WorkDone => None,
        };
        let grace_ns = match end_ns {
            Some(_) => nanoseconds(job.plan.grace),
            None => u64::MAX,
        };
        Timing {
            start_ns,
            end_ns,
            count_from_ns: window_start_ns,
            grace_ns,
            schedule: starts,
            queue_max,
            wait_policy: WaitPolicy::new(
                job.plan.wait,
                job.plan.pace == Pace::Closed,
                share.clients.len(),
            ),
            batch_policy: BatchPolicy::default(),
            is_pinned: false,
            recorder: Recorder::new(schedule, layout),
        }
    }

    /// Begins the window of a timed load at this time, which has not come: an end of an interval.
    pub fn set_window_start(&mut self, window_start_ns: u64) {
        self.recorder
            .set_warmup(window_start_ns.saturating_sub(self.start_ns));
        self.count_from_ns = window_start_ns;
        self.end_ns = Some(self.recorder.schedule().window_end_ns());
    }

    /// Takes a scheduled start that is due. Returns `None` after the end of the window: later starts are
    /// counted as never started.
    pub fn take_due_start(&mut self, now_ns: u64) -> Option<u64> {
        let schedule = self.schedule.as_mut()?;
        let is_over = self.end_ns.is_some_and(|end_ns| now_ns >= end_ns);
        if is_over || schedule.next_ns() > now_ns {
            return None;
        }
        Some(schedule.take_next())
    }
}

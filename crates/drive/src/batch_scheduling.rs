//! Decides whether a worker runs under `SCHED_BATCH`, to let server processes on the same machine run first.
//!
//! In: a job; the worker's health, second by second. Out: the scheduling policy of the calling thread,
//! which is also recorded in the health. Must never: delay a worker that has a CPU to itself, or a scheduled
//! start.
//!
//! In a closed loop on the server's own machine, each reply wakes the worker, which takes the CPU from
//! the very process that was about to write the next reply. Under `SCHED_BATCH` (sched(7)) a thread
//! that wakes does not preempt a running one: it runs when a CPU is free or the running thread's time slice
//! ends, and then finds several replies. Measured on 2 cores with MariaDB and 16 clients: two thirds of the
//! CPU per query, 10 % more queries; with PostgreSQL, whose replies arrive together anyway, no gain
//! and no loss. If few clients share a worker, `SCHED_BATCH` costs more than it saves; if other programs
//! compete for the CPUs, the worker waits for those as well.

use prony_measure::{BatchPolicyCounts, Health};
use prony_plan::Pace;
use prony_server::{Address, Target};

use crate::run::DriveJob;

/// Minimum number of clients per worker: with fewer, too few replies are in flight to arrive together.
const CLIENTS_MIN: usize = 16;
/// Longest mean wait of the worker for a CPU per iteration, nanoseconds. MariaDB's threads make it wait 3 to
/// 13 µs. A worker that waits longer gains nothing: replies arrive together anyway, or other programs compete
/// for the CPUs.
const RUN_QUEUE_WAIT_MAX_NS: u64 = 50_000;

/// The scheduling policy of one worker's thread.
#[derive(Debug)]
pub struct BatchScheduling {
    counts: BatchPolicyCounts,
}

impl BatchScheduling {
    /// Sets the policy of the calling thread, which drives `clients` clients of the job.
    pub fn new(job: &DriveJob, clients: usize) -> Self {
        let mut counts = BatchPolicyCounts::default();
        match should_use_batch(job, clients).then(|| set_policy(libc::SCHED_BATCH)) {
            Some(true) => counts.active = 1,
            Some(false) => counts.refused = 1,
            None => {}
        }
        BatchScheduling { counts }
    }

    /// Returns to the default policy if the worker waited too long for a CPU in the second that `health`
    /// describes. Records the policy in `health`. Call it on the worker's thread.
    pub fn update_policy(&mut self, health: &mut Health) {
        if self.counts.active == 1 && waits_too_long(health) {
            set_policy(libc::SCHED_OTHER);
            (self.counts.active, self.counts.reverted) = (0, 1);
        }
        health.batch = self.counts;
    }
}

/// Whether a worker with `clients` clients of the job shares its CPUs with the server, and has enough clients
/// to gain from `SCHED_BATCH`.
fn should_use_batch(job: &DriveJob, clients: usize) -> bool {
    job.plan.pace == Pace::Closed && clients >= CLIENTS_MIN && is_on_this_host(job.target)
}

fn waits_too_long(health: &Health) -> bool {
    let waited_ns = health.run_queue_ns.unwrap_or(0);
    waited_ns / health.iterations.max(1) > RUN_QUEUE_WAIT_MAX_NS
}

/// Whether all servers run on this machine, judged by their addresses.
fn is_on_this_host(target: &Target) -> bool {
    let is_local = |address: &Address| match address {
        Address::Unix(_) => true,
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
    };
    let targets = std::iter::once(target).chain(&target.additional_targets);
    targets
        .flat_map(|target| &target.endpoints)
        .all(|endpoint| is_local(&endpoint.address))
}

/// Requests a policy for the calling thread. Returns false if the system refuses it, as in some
/// containers.
fn set_policy(policy: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live sched_param; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn current_policy() -> libc::c_int {
        // SAFETY: no pointers are involved.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_worker_that_waits_too_long_for_a_cpu_returns_to_the_default_policy() {
        assert!(set_policy(libc::SCHED_BATCH));
        let active = BatchPolicyCounts {
            active: 1,
            ..BatchPolicyCounts::default()
        };
        let mut scheduling = BatchScheduling { counts: active };
        assert_eq!(current_policy(), libc::SCHED_BATCH);
        let mut update_policy = |run_queue_ns, iterations| {
            let mut health = Health {
                run_queue_ns,
                iterations,
                ..Health::default()
            };
            scheduling.update_policy(&mut health);
            health.batch
        };
        // The worker waits for most of the second, but only some microseconds per iteration.
        assert_eq!(update_policy(Some(900_000_000), 60_000), active);
        assert_eq!(update_policy(None, 60_000), active);
        assert_eq!(update_policy(Some(0), 0), active);
        assert_eq!(current_policy(), libc::SCHED_BATCH);
        let reverted = update_policy(Some(900_000_000), 9_000);
        assert_eq!(
            (reverted.active, reverted.reverted),
            (0, 1),
            "the change is recorded"
        );
        assert_eq!(current_policy(), libc::SCHED_OTHER);
        // The change is permanent: a run whose policy changes every second cannot be compared.
        assert_eq!(update_policy(Some(0), 60_000), reverted);
        assert_eq!(current_policy(), libc::SCHED_OTHER);
    }
}

//! Decides whether a worker yields to the server's processes on its own machine before it runs.
//!
//! In: a job; the worker's health, second by second. Out: the scheduling policy of the calling thread,
//! also recorded in that health. Must never: delay a worker that has a CPU to itself, or a scheduled
//! start.
//!
//! In a closed loop on the server's own machine, each reply wakes the worker, which takes the CPU from
//! the very process that was about to write the next reply. Under `SCHED_BATCH` (sched(7)) a thread
//! that wakes does not preempt another: it runs when a CPU is free, or when the other's time slice is
//! over, and finds a few more replies. Measured on 2 cores with MariaDB and 16 clients: two thirds of the
//! CPU per query, 10 % more queries; with PostgreSQL, whose replies arrive together anyway, no gain
//! and no loss. If few clients share a worker, it costs more than it saves; if other programs compete
//! for the CPUs, the worker waits for those as well.

use prony_measure::{BatchPolicyCounts, Health};
use prony_plan::Pace;
use prony_server::{Address, Target};

use crate::run::DriveJob;

/// With fewer clients a worker, too few replies are in flight to arrive together.
const CLIENTS_MIN: usize = 16;
/// Longest mean wait of the worker for a CPU per turn, nanoseconds. MariaDB's threads make it wait 3 to
/// 13 µs. If it waits longer, replies arrive together anyway, or other programs compete.
const WAIT_MAX_NS: u64 = 50_000;

/// The policy of one worker's thread.
#[derive(Debug)]
pub struct BatchScheduling {
    policy: BatchPolicyCounts,
}

impl BatchScheduling {
    /// Sets the policy of the calling thread, which drives `clients` of the job.
    pub fn new(job: &DriveJob, clients: usize) -> Self {
        let mut policy = BatchPolicyCounts::default();
        match should_use_batch(job, clients).then(|| set_policy(libc::SCHED_BATCH)) {
            Some(true) => policy.under = 1,
            Some(false) => policy.refused = 1,
            None => {}
        }
        BatchScheduling { policy }
    }

    /// Reviews the policy after the worker's last second, and records in `health` which one it uses.
    /// Call it on the worker's thread.
    pub fn review(&mut self, health: &mut Health) {
        if self.policy.under == 1 && waits_too_long(health) {
            set_policy(libc::SCHED_OTHER);
            (self.policy.under, self.policy.left) = (0, 1);
        }
        health.batch = self.policy;
    }
}

/// Whether a worker with `clients` clients of the job shares its CPUs with a server that it keeps
/// busy.
fn should_use_batch(job: &DriveJob, clients: usize) -> bool {
    job.plan.pace == Pace::Closed && clients >= CLIENTS_MIN && is_on_this_host(job.target)
}

fn waits_too_long(health: &Health) -> bool {
    let waited_ns = health.run_queue_ns.unwrap_or(0);
    waited_ns / health.turns.max(1) > WAIT_MAX_NS
}

/// Whether all servers run on this machine, judged by their addresses.
fn is_on_this_host(target: &Target) -> bool {
    let here = |address: &Address| match address {
        Address::Unix(_) => true,
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
    };
    let all = std::iter::once(target).chain(&target.others);
    all.flat_map(|target| &target.endpoints)
        .all(|endpoint| here(&endpoint.address))
}

/// Requests a policy for the calling thread. False: refused, as in some containers.
fn set_policy(policy: libc::c_int) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live sched_param; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> libc::c_int {
        // SAFETY: no pointers are involved.
        unsafe { libc::sched_getscheduler(0) }
    }

    #[test]
    fn a_worker_that_waits_for_other_programs_returns_to_the_default_policy() {
        assert!(set_policy(libc::SCHED_BATCH));
        let under = BatchPolicyCounts {
            under: 1,
            ..BatchPolicyCounts::default()
        };
        let mut scheduling = BatchScheduling { policy: under };
        assert_eq!(policy(), libc::SCHED_BATCH);
        let mut review = |run_queue_ns, turns| {
            let mut health = Health {
                run_queue_ns,
                turns,
                ..Health::default()
            };
            scheduling.review(&mut health);
            health.batch
        };
        // Most of a second goes to the server's processes, but only a few microseconds a turn.
        assert_eq!(review(Some(900_000_000), 60_000), under);
        assert_eq!(review(None, 60_000), under);
        assert_eq!(review(Some(0), 0), under);
        assert_eq!(policy(), libc::SCHED_BATCH);
        let back = review(Some(900_000_000), 9_000);
        assert_eq!((back.under, back.left), (0, 1), "the change is recorded");
        assert_eq!(policy(), libc::SCHED_OTHER);
        // Permanently: a run whose client changes from second to second cannot be compared.
        assert_eq!(review(Some(0), 60_000), back);
        assert_eq!(policy(), libc::SCHED_OTHER);
    }
}

//! Whether a worker lets the server's processes on its own machine finish before it runs.
//!
//! In: a job; the worker's health, second by second. Out: the scheduling policy of the calling thread, and
//! in that health which it is.
//! Must never: delay a worker that has a CPU to itself, or a start that is due by a rate.
//!
//! In a closed loop on the server's own machine each reply wakes the worker, which takes the CPU from
//! the very process that was about to write the next reply. Under `SCHED_BATCH` (sched(7)) a thread that
//! wakes takes no CPU from another: it runs when one is free, or the other's turn is over, and finds a few
//! replies more. Measured on 2 cores with MariaDB, 16 clients: two thirds of the CPU a query, a tenth
//! more queries; with PostgreSQL, whose replies gather by themselves, no gain and no loss. Where few clients
//! share a worker it costs more than it saves, and where other programs compete for the CPUs it makes
//! the worker wait for those as well.

use prony_measure::{Batch, Health};
use prony_plan::Pace;
use prony_server::{Address, Target};

use crate::run::Job;

/// Fewer clients than this a worker have too few replies under way to gather any.
const CLIENTS_MIN: usize = 16;
/// The worker waits so long at most for a CPU in a turn, on average, nanoseconds. MariaDB's threads make
/// it wait 3 to 13 µs. Where it is more, replies gather anyway, or other programs compete.
const WAIT_MAX_NS: u64 = 50_000;

/// The policy of one worker's thread.
#[derive(Debug)]
pub struct Courtesy {
    policy: Batch,
}

impl Courtesy {
    /// Sets the policy of the calling thread, which drives `clients` of the job.
    pub fn new(job: &Job, clients: usize) -> Self {
        let mut policy = Batch::default();
        match fits(job, clients).then(|| set(libc::SCHED_BATCH)) {
            Some(true) => policy.under = 1,
            Some(false) => policy.refused = 1,
            None => {}
        }
        Courtesy { policy }
    }

    /// Takes the worker's last second into account, and notes in it how the worker goes on; to be called
    /// on its thread.
    pub fn review(&mut self, health: &mut Health) {
        if self.policy.under == 1 && waits_too_long(health) {
            set(libc::SCHED_OTHER);
            (self.policy.under, self.policy.left) = (0, 1);
        }
        health.batch = self.policy;
    }
}

/// Whether a worker with so many clients of the job shares its CPUs with a server that it keeps busy.
fn fits(job: &Job, clients: usize) -> bool {
    job.plan.pace == Pace::Closed && clients >= CLIENTS_MIN && is_on_this_host(job.target)
}

fn waits_too_long(health: &Health) -> bool {
    let waited_ns = health.run_queue_ns.unwrap_or(0);
    waited_ns / health.turns.max(1) > WAIT_MAX_NS
}

/// Whether all servers share this machine's CPUs, as far as their addresses tell.
fn is_on_this_host(target: &Target) -> bool {
    let here = |address: &Address| match address {
        Address::Unix(_) => true,
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
    };
    let all = std::iter::once(target).chain(&target.others);
    all.flat_map(|target| &target.endpoints)
        .all(|endpoint| here(&endpoint.address))
}

/// Asks for a policy of the calling thread. False: refused, as some containers do.
fn set(policy: libc::c_int) -> bool {
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
    fn a_worker_that_waits_for_other_programs_goes_back() {
        assert!(set(libc::SCHED_BATCH));
        let under = Batch {
            under: 1,
            ..Batch::default()
        };
        let mut courtesy = Courtesy { policy: under };
        assert_eq!(policy(), libc::SCHED_BATCH);
        let mut review = |run_queue_ns, turns| {
            let mut health = Health {
                run_queue_ns,
                turns,
                ..Health::default()
            };
            courtesy.review(&mut health);
            health.batch
        };
        // Most of a second for the server's processes, but few microseconds a turn.
        assert_eq!(review(Some(900_000_000), 60_000), under);
        assert_eq!(review(None, 60_000), under);
        assert_eq!(review(Some(0), 0), under);
        assert_eq!(policy(), libc::SCHED_BATCH);
        let back = review(Some(900_000_000), 9_000);
        assert_eq!((back.under, back.left), (0, 1), "it is said");
        assert_eq!(policy(), libc::SCHED_OTHER);
        // For good: a load that changes its client from second to second compares with nothing.
        assert_eq!(review(Some(0), 60_000), back);
        assert_eq!(policy(), libc::SCHED_OTHER);
    }
}

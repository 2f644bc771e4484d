//! Whether a worker lets the server's processes on its own machine finish before it runs.
//!
//! In: a job; the worker's health, second by second. Out: the scheduling policy of the calling thread.
//! Must never: delay a worker that has a CPU to itself, or a start that is due by a rate.
//!
//! In a closed loop on the server's own machine each reply wakes the worker, which takes the CPU from
//! the very process that was about to write the next reply. Under `SCHED_BATCH` (sched(7)) a thread that
//! wakes takes no CPU from another: it runs when one is free, or the other's turn is over, and finds a few
//! replies more. Measured on 2 cores with MariaDB, 16 clients: two thirds of the CPU a query, a tenth
//! more queries; with PostgreSQL, whose replies gather by themselves, no gain and no loss. Where few clients
//! share a worker it costs more than it saves, and where other programs compete for the CPUs it makes
//! the worker wait for those as well.

use prony_measure::Health;
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
    yields: bool,
}

impl Courtesy {
    /// Sets the policy of the calling thread, which drives `clients` of the job.
    pub fn new(job: &Job, clients: usize) -> Self {
        Courtesy {
            yields: fits(job, clients) && set(libc::SCHED_BATCH),
        }
    }

    /// Takes the worker's last second into account; to be called on its thread.
    pub fn review(&mut self, health: &Health) {
        if self.yields && waits_too_long(health) {
            set(libc::SCHED_OTHER);
            self.yields = false;
        }
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
        let mut courtesy = Courtesy {
            yields: set(libc::SCHED_BATCH),
        };
        assert_eq!(policy(), libc::SCHED_BATCH);
        let second = |run_queue_ns, turns| Health {
            run_queue_ns,
            turns,
            ..Health::default()
        };
        // Most of a second for the server's processes, but few microseconds a turn.
        courtesy.review(&second(Some(900_000_000), 60_000));
        courtesy.review(&second(None, 60_000));
        courtesy.review(&second(Some(0), 0));
        assert_eq!(policy(), libc::SCHED_BATCH);
        courtesy.review(&second(Some(900_000_000), 9_000));
        assert_eq!(policy(), libc::SCHED_OTHER);
        // For good: a load that changes its client from second to second compares with nothing.
        courtesy.review(&second(Some(0), 60_000));
        assert_eq!(policy(), libc::SCHED_OTHER);
    }
}

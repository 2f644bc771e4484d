//! Decides whether a worker runs under `SCHED_BATCH`, to let server processes on the same machine run first.
//!
//! In: a job. Out: the scheduling policy of the calling thread, and whether the system accepted it. Must never:
//! delay a scheduled start.
//!
//! In a closed loop on the server's own machine, each reply wakes the worker, which takes the CPU from
//! the very process that was about to write the next reply, or interrupts the other CPU to get it. Under
//! `SCHED_BATCH` (sched(7)) a thread that wakes does not preempt a running one: it runs when a CPU is free or the
//! running thread's time slice ends, and then finds several replies. It still gets its fair share of the CPUs beside
//! other programs. Measured on 2 CPUs with one worker: with MariaDB and 8 clients, 1.2 to 1.6 times the transactions
//! at 0.4 times the CPU per transaction; with PostgreSQL and 2 clients, 1.5 times the transactions, with 64 as many
//! at 0.93 times the CPU; beside two programs that use both CPUs, as many transactions, within the noise.

use crate::run::DriveJob;
use prony_measure::BatchPolicyCounts;
use prony_plan::Pace;
use prony_server::{Address, Target};
use std::num::NonZero;
use std::thread::available_parallelism;

/// Sets the policy of the calling thread, one of the job's `workers`. Returns the outcome.
pub fn set_worker_policy(job: &DriveJob, workers: u32) -> BatchPolicyCounts {
    let mut counts = BatchPolicyCounts::default();
    let cpus = available_parallelism().map_or(1, NonZero::get);
    if !shares_cpus(job.plan.clients, workers, cpus)
        || job.plan.pace != Pace::Closed
        || !is_on_this_host(job.target)
    {
        return counts;
    }
    match request_batch_policy() {
        true => counts.active = 1,
        false => counts.refused = 1,
    }
    counts
}

/// Whether clients wait for the same CPU. If each has a worker and a CPU of its own, the scheduler puts a client and
/// its server process on one CPU, where only one of the two can run anyway.
fn shares_cpus(clients: u32, workers: u32, cpus: usize) -> bool {
    clients as usize > cpus.min(workers as usize)
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

/// Requests `SCHED_BATCH` for the calling thread. Returns false if the system refuses it, as in some containers.
fn request_batch_policy() -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live sched_param; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_share_cpus_unless_each_has_a_worker_and_a_cpu_of_its_own() {
        let sharing = [(2, 1, 2), (3, 3, 2), (16, 16, 2), (8, 2, 4), (2, 2, 1)];
        assert!(
            sharing
                .iter()
                .all(|&(clients, workers, cpus)| shares_cpus(clients, workers, cpus))
        );
        let alone = [(1, 1, 1), (1, 1, 8), (2, 2, 2), (2, 2, 64), (64, 64, 64)];
        assert!(
            !alone
                .iter()
                .any(|&(clients, workers, cpus)| shares_cpus(clients, workers, cpus))
        );
    }

    #[test]
    fn the_policy_of_the_thread_changes() {
        assert!(request_batch_policy());
        // SAFETY: no pointers are involved; 0 is the calling thread.
        assert_eq!(
            unsafe { libc::sched_getscheduler(0) },
            libc::SCHED_BATCH,
            "the kernel has the policy"
        );
    }
}

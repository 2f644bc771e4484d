//! Decides how the kernel schedules the workers beside a server on the same machine: under `SCHED_BATCH`, which lets the
//! server's processes run first, and each worker on a CPU of its own.
//!
//! In: a job and the clients, workers and CPUs of this process. Out: a [`Scheduling`], the same for all workers of a
//! slice; the policy of the calling thread, and whether the system accepted it. Must never: delay a scheduled start.
//!
//! In a closed loop on the server's own machine, each reply wakes the worker, which takes the CPU from
//! the very process that was about to write the next reply, or interrupts the other CPU to get it. Under
//! `SCHED_BATCH` (sched(7)) a thread that wakes does not preempt a running one: it runs when a CPU is free or the
//! running thread's time slice ends, and then finds several replies. It still gets its fair share of the CPUs beside
//! other programs. Measured on 2 CPUs with one worker: with MariaDB and 8 clients, 1.2 to 1.6 times the transactions
//! at 0.4 times the CPU per transaction; with PostgreSQL and 2 clients, 1.5 times the transactions, with 64 as many
//! at 0.93 times the CPU; beside two programs that use both CPUs, as many transactions, within the noise.
//! A thread that sleeps under it starts late beside other programs, so a worker leaves the policy when a user first
//! sleeps.
//!
//! A server process that a worker wakes runs best on the worker's CPU. The kernel brings it there if workers stay where
//! they are, but moves workers as soon as two wait for one CPU. Measured on 2 CPUs, two pinned workers against two free
//! ones: with PostgreSQL and 4, 8, 16 and 64 clients 1.1 to 1.5, 1.2 to 1.3, 1.1 and 1.0 times the transactions at 0.5 to
//! 0.9, 0.7, 0.7 and 0.9 times the client's CPU; with MariaDB 1.1 to 1.25, 1.4, 1.1 and 1.0 times the transactions; beside
//! one and two programs that use both CPUs, 1.0 to 1.15 times with 8 and 64 clients, but 0.7 times with 4.

use crate::affinity::allowed_cpu_count;
use crate::job::DriveJob;
use crate::slice::RunSlice;
use prony_measure::BatchScheduling;
use prony_plan::{DrivePlan, Pace, cpu_count};
use prony_server::Address;

/// How the kernel schedules the workers of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// Whether workers run under `SCHED_BATCH`.
    pub uses_batch: bool,
    /// Whether each worker is pinned to a CPU of its own.
    pub pins_workers: bool,
}

/// The numbers of CPUs that a thread may use.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    /// By its affinity; 0 if the kernel does not report it.
    pub allowed: usize,
    /// By its affinity and the quota of its control group.
    pub usable: usize,
}

impl Cpus {
    /// Those of the calling thread, which must not be pinned.
    pub fn of_this_thread() -> Cpus {
        Cpus {
            allowed: allowed_cpu_count(),
            usable: cpu_count(),
        }
    }
}

impl Scheduling {
    pub fn new(job: &DriveJob, slice: &RunSlice, cpus: Cpus) -> Scheduling {
        let (clients, workers) = (slice.clients.len(), slice.threads() as usize);
        Scheduling::choose(job.plan, is_on_this_host(job), clients, workers, cpus)
    }

    fn choose(
        plan: &DrivePlan,
        is_server_here: bool,
        clients: usize,
        workers: usize,
        cpus: Cpus,
    ) -> Scheduling {
        let is_beside_server = is_server_here && plan.pace == Pace::Closed;
        Scheduling {
            uses_batch: is_beside_server && share_workers_or_cpus(clients, workers, cpus.usable),
            pins_workers: plan
                .pin
                .unwrap_or(is_beside_server && fill_cpus(workers, cpus)),
        }
    }
}

/// Whether there are more clients than workers, or than CPUs. If each client has a worker and a CPU of its own, the
/// scheduler puts it and its server process on one CPU, where only one of the two can run anyway.
fn share_workers_or_cpus(clients: usize, workers: usize, cpus: usize) -> bool {
    clients > cpus.min(workers)
}

/// Whether there are several workers, and one for each CPU. With fewer, the scheduler knows better which CPUs are busy
/// or share a core; with more, or with a quota below the number of CPUs, some CPU would have more work than others.
fn fill_cpus(workers: usize, cpus: Cpus) -> bool {
    workers > 1 && workers == cpus.allowed && workers == cpus.usable
}

/// The policy of a worker's thread. The methods must be called on that thread.
#[derive(Debug, Default)]
pub struct BatchPolicy {
    counts: BatchScheduling,
}

impl BatchPolicy {
    /// Requests `SCHED_BATCH`. The system may refuse it, as in some containers.
    pub fn request() -> BatchPolicy {
        let is_accepted = set_policy(libc::SCHED_BATCH);
        BatchPolicy {
            counts: BatchScheduling {
                active: u32::from(is_accepted),
                refused: u32::from(!is_accepted),
                ..BatchScheduling::default()
            },
        }
    }

    /// Returns to the default policy for the rest of the load, because a user sleeps: under `SCHED_BATCH` it would
    /// wake late beside other programs.
    pub fn leave(&mut self) {
        if self.counts.active > 0 && set_policy(libc::SCHED_OTHER) {
            self.counts.active = 0;
            self.counts.reverted = 1;
        }
    }

    /// This worker among the counts of all workers.
    pub fn counts(&self) -> BatchScheduling {
        self.counts
    }
}

/// Whether the system accepted the policy for the calling thread.
fn set_policy(policy: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live sched_param; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) == 0 }
}

/// Whether all servers run on this machine, judged by their addresses.
fn is_on_this_host(job: &DriveJob) -> bool {
    job.addresses().all(|address| match address {
        Address::Unix(_) => true,
        Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_plan::Arrival;

    #[test]
    fn clients_share_unless_each_has_a_worker_and_a_cpu_of_its_own() {
        for (clients, workers, cpus) in [(2, 1, 2), (3, 3, 2), (16, 16, 2), (8, 2, 4), (2, 2, 1)] {
            assert!(
                share_workers_or_cpus(clients, workers, cpus),
                "{clients} {workers} {cpus}"
            );
        }
        for (clients, workers, cpus) in [(1, 1, 1), (1, 1, 8), (2, 2, 2), (2, 2, 64), (64, 64, 64)]
        {
            assert!(
                !share_workers_or_cpus(clients, workers, cpus),
                "{clients} {workers} {cpus}"
            );
        }
    }

    #[test]
    fn workers_are_pinned_if_they_fill_the_cpus() {
        let fill = |workers, allowed, usable| fill_cpus(workers, Cpus { allowed, usable });
        assert!(fill(2, 2, 2) && fill(64, 64, 64));
        for (workers, allowed, usable) in [
            (1, 1, 1),
            (1, 2, 2),
            (2, 4, 4),
            (4, 2, 2),
            (2, 0, 2),
            (2, 8, 2),
            (8, 8, 2),
        ] {
            assert!(
                !fill(workers, allowed, usable),
                "{workers} {allowed} {usable}"
            );
        }
    }

    #[test]
    fn only_a_closed_loop_beside_the_server_changes_the_scheduling_unless_the_plan_says_so() {
        let cpus = Cpus {
            allowed: 2,
            usable: 2,
        };
        let rate = Pace::Rate {
            rate_tps: 100.0,
            arrival: Arrival::Poisson,
            queue_max: None,
        };
        for (is_server_here, pace, pin, uses_batch, pins_workers) in [
            (true, Pace::Closed, None, true, true),
            (true, Pace::Closed, Some(false), true, false),
            (false, Pace::Closed, None, false, false),
            (true, rate, None, false, false),
            (false, rate, Some(true), false, true),
        ] {
            let plan = DrivePlan {
                pace,
                pin,
                ..DrivePlan::default()
            };
            let expected = Scheduling {
                uses_batch,
                pins_workers,
            };
            assert_eq!(
                Scheduling::choose(&plan, is_server_here, 8, 2, cpus),
                expected,
                "{plan:?}"
            );
        }
    }

    #[test]
    fn a_request_sets_the_policy_of_the_calling_thread_until_it_leaves() {
        // SAFETY: no pointers are involved; 0 is the calling thread.
        let is_batch = || u32::from(unsafe { libc::sched_getscheduler(0) } == libc::SCHED_BATCH);
        let thread = std::thread::spawn(move || {
            let mut policy = BatchPolicy::request();
            let requested = policy.counts();
            assert_eq!(
                (requested.active, requested.refused),
                (is_batch(), 1 - is_batch())
            );
            policy.leave();
            let left = policy.counts();
            assert_eq!((left.active, left.reverted), (0, requested.active));
            assert_eq!((is_batch(), left.refused), (0, requested.refused));
        });
        thread.join().expect("no panic");
    }
}

//! The part of a run that one process drives, and the share of each of its workers.
//!
//! In: a plan, and which of its workers are in the slice. Out: the clients of each thread, and the slice's
//! share of a shared number of starts. Must never: change the random numbers that a client or a thread draws
//! in the run.

use prony_plan::{DrivePlan, Stop};
use prony_session::StartBudget;
use std::ops::Range;
use std::sync::Arc;

/// Some of the clients of a plan, and the threads that drive them in this process. Other processes
/// drive the other clients, with the same plan and seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSlice {
    /// The clients, numbered as in the whole run.
    pub clients: Range<u32>,
    /// The threads, numbered as in the whole run, because a thread's number and its clients determine its
    /// random starts.
    pub workers: Range<u32>,
    /// Number of threads of the whole run.
    pub all_workers: u32,
}

impl RunSlice {
    /// All clients of a plan, without idle threads.
    pub fn whole(plan: &DrivePlan) -> RunSlice {
        let threads = plan.workers().max(1);
        RunSlice {
            clients: 0..plan.clients,
            workers: 0..threads,
            all_workers: threads,
        }
    }

    /// The slice that some of the run's threads drive.
    pub fn of_workers(plan: &DrivePlan, workers: Range<u32>) -> RunSlice {
        let run = RunSlice::whole(plan);
        let first_client = |worker| clients_of_thread(worker, plan.clients, run.all_workers).start;
        RunSlice {
            clients: first_client(workers.start)..first_client(workers.end),
            workers,
            ..run
        }
    }

    pub fn threads(&self) -> u32 {
        self.workers.len() as u32
    }

    /// The clients of the slice's thread `index`, from 0.
    pub(crate) fn clients_of_thread(&self, index: u32) -> Range<u32> {
        let local = clients_of_thread(index, self.clients.len() as u32, self.threads());
        local.start + self.clients.start..local.end + self.clients.start
    }

    /// The number of starts for this slice, in proportion to its clients; `None` unless all clients of the
    /// plan share a number of starts.
    pub(crate) fn start_budget(&self, plan: &DrivePlan) -> Option<Arc<StartBudget>> {
        let Stop::SharedTransactions { transactions, .. } = plan.stop else {
            return None;
        };
        let clients = u128::from(plan.clients.max(1));
        let up_to = |client: u32| (u128::from(transactions) * u128::from(client) / clients) as u64;
        let share = up_to(self.clients.end) - up_to(self.clients.start);
        Some(Arc::new(StartBudget::new(share)))
    }
}

/// The part of a slice that one worker drives.
pub(crate) struct WorkerShare {
    /// Index of the thread in this process.
    pub index: usize,
    /// Number of the thread in the whole run.
    pub worker: u32,
    /// Number of threads in the whole run.
    pub workers: u32,
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

/// The clients of a thread: contiguous blocks, as even as possible.
pub fn clients_of_thread(thread: u32, clients: u32, threads: u32) -> Range<u32> {
    let first_client = |thread: u32| thread * (clients / threads) + thread.min(clients % threads);
    first_client(thread)..first_client(thread + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_the_same_clients_in_a_slice_as_in_the_whole_run() {
        for (clients, threads) in [(10, 4), (3, 8), (7, 7), (64, 5)] {
            let threads = threads.min(clients);
            for cut in 1..threads {
                let clients_of_worker = |worker| clients_of_thread(worker, clients, threads);
                for workers in [0..cut, cut..threads] {
                    let slice = RunSlice {
                        clients: clients_of_worker(workers.start).start
                            ..clients_of_worker(workers.end).start,
                        workers: workers.clone(),
                        all_workers: threads,
                    };
                    for (index, worker) in workers.enumerate() {
                        assert_eq!(
                            slice.clients_of_thread(index as u32),
                            clients_of_worker(worker)
                        );
                    }
                }
            }
        }
    }
}

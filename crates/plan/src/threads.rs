//! The number of threads that drive a few clients.
//!
//! In: the number of clients and of this machine's CPUs. Out: the number of threads. Must never: depend on the server.

/// Up to this many clients get a thread each, if there are as many CPUs.
const FEW_CLIENTS_MAX: u32 = 8;

/// The number of threads for up to [`FEW_CLIENTS_MAX`] clients; `None` for more.
///
/// A thread with few clients rarely finds several replies at once: it sleeps after each, and the server pays for waking
/// it. Threads of their own stay near the server processes that they wake. Measured on 2 CPUs that client and server
/// shared, one-row reads, two threads against one: with PostgreSQL and 2, 4 and 8 clients 2.1, 1.75 and 1.3 times the
/// transactions at 0.56, 0.55 and 0.74 times the client's CPU; with MariaDB 2.2, 1.5 and 1.1 times at 0.6, 0.6 and 1.1
/// times; with 16 clients 1.25 times on PostgreSQL, 0.9 times on MariaDB.
pub fn threads_for_few_clients(clients: u32, cpus: usize) -> Option<u32> {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX).max(1);
    (clients <= FEW_CLIENTS_MAX).then(|| clients.clamp(1, cpus))
}

/// The default number of threads for this many clients, on this machine.
pub(crate) fn default_threads(clients: u32) -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    threads_for_few_clients(clients, cpus).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_clients_get_a_thread_each_up_to_the_number_of_cpus() {
        let threads = |clients, cpus| threads_for_few_clients(clients, cpus);
        assert_eq!(
            [1, 2, 5, 8].map(|clients| threads(clients, 4)),
            [1, 2, 4, 4].map(Some)
        );
        assert_eq!(threads(8, 64), Some(8));
        assert_eq!([threads(8, 1), threads(8, 0)], [Some(1); 2]);
        assert_eq!([threads(9, 1), threads(64, 64)], [None; 2]);
    }
}

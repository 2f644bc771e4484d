//! The default number of threads: it depends on the clients and on this process's CPUs, never on the server.

/// The number of CPUs that this process may use, by its affinity and the quota of its control group; at least 1.
pub fn cpu_count() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Largest default number of threads: as many drive a million short transactions per second.
const DEFAULT_MAX: u32 = 8;

/// The default number of threads: one per CPU, at most [`DEFAULT_MAX`] and one per client; at least one.
///
/// A single thread with few clients rarely finds several replies at once: it sleeps after each, and the server pays for
/// waking it. Threads of their own stay near the server processes that they wake. Measured on 2 CPUs that client and
/// server shared, one-row reads, two threads against one: with PostgreSQL and 2, 4 and 8 clients 2.1, 1.75 and 1.3 times
/// the transactions at 0.56, 0.55 and 0.74 times the client's CPU; with MariaDB 2.2, 1.5 and 1.1 times at 0.6, 0.6 and
/// 1.1 times. With 16 to 256 clients 0.9 to 1.15 times the transactions at 1.0 to 1.25 times the client's CPU.
pub fn default_threads(clients: u32, cpus: usize) -> u32 {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    clients.min(cpus).clamp(1, DEFAULT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_threads_as_cpus_or_clients_up_to_a_maximum() {
        let threads = |clients, cpus| default_threads(clients, cpus);
        assert_eq!(
            [1, 2, 5, 64].map(|clients| threads(clients, 4)),
            [1, 2, 4, 4]
        );
        assert_eq!([threads(8, 64), threads(1_000, 64)], [8; 2]);
        assert_eq!([threads(8, 0), threads(0, 8)], [1; 2]);
    }
}

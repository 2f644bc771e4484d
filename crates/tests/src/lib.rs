//! Throw-away servers for tests: MariaDB, one PostgreSQL and one MariaDB for all tests of a test binary, and servers
//! that answer from memory.
//!
//! Must never: be a dependency of the product, touch a server or a folder that it did not create, or leave a server
//! behind.

pub mod canned;
mod daemon;
mod database;
mod galera;
mod haproxy;
mod lossy_disk;
mod mariadb;
mod patroni;
mod pgbouncer;
mod postgres;
mod processes;

pub use database::{TestControl, TestDatabase};
pub use galera::Galera;
pub use haproxy::{HaProxy, ProxiedServer};
pub use lossy_disk::LossyDisk;
pub use mariadb::{MariaDb, MariaDbOptions, shared_mariadb};
pub use patroni::Patroni;
pub use pgbouncer::PgBouncer;
pub use postgres::shared_postgres;
pub use processes::{FrozenServer, children, signal};

use std::process::Child;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Restores the signals for the processes that the tests start: a shell's background job inherits that
/// SIGINT is ignored, what nohup starts that SIGHUP is, and the program respects both.
pub fn restore_signals() {
    for signal in [libc::SIGINT, libc::SIGHUP] {
        // SAFETY: SIG_DFL runs no code of ours, and no code here relies on a different handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// A process that is killed at the end of its test.
pub struct KillOnDrop(pub Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The server of a whole process, which is started on first use. `stop` runs when the process exits, because Rust
/// drops no static.
fn shared<T>(
    cell: &'static OnceLock<T>,
    start: impl FnOnce() -> T,
    stop: extern "C" fn(),
) -> &'static T {
    static STARTING: Mutex<()> = Mutex::new(());
    let _guard = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = cell.get() {
        return server;
    }
    let server = start();
    // SAFETY: the handler is a plain function; it takes no lock that a running test could hold forever, and uses no
    // thread-local value.
    unsafe {
        libc::atexit(stop);
    }
    cell.get_or_init(|| server)
}

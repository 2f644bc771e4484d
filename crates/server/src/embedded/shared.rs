//! One server for all tests of one test binary.
//!
//! In: nothing. Out: a running server. Must never: be used by the product itself.

use super::{Error, Options, Server, download, find};
use std::sync::{Mutex, OnceLock, PoisonError};

static SHARED: OnceLock<Server> = OnceLock::new();

/// One server for the whole process, for tests: started on first use, stopped when the process
/// exits, also by `process::exit`; a process that is killed takes it along (Linux).
///
/// Default options, but `max_connections` 300 and small memory. Tests share it, so each makes
/// a database of its own, and one that stops or reconfigures a server starts its own.
///
/// A Rust static is never dropped, so the end is an `atexit` handler.
///
/// # Panics
/// With what to install, if there is no PostgreSQL. With PRONY_TEST_DOWNLOAD=1 it is downloaded.
pub fn shared() -> &'static Server {
    static STARTING: Mutex<()> = Mutex::new(());
    let _guard = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = SHARED.get() {
        return server;
    }
    let server = start().unwrap_or_else(|problem| panic!("tests need a PostgreSQL: {problem}"));
    // SAFETY: the handler is a plain function; it takes no lock that a running test could hold
    // for ever, and uses no thread-local value.
    unsafe {
        libc::atexit(stop_at_exit);
    }
    SHARED.get_or_init(|| server)
}

fn start() -> Result<Server, Error> {
    let installation = match find() {
        Err(Error::NotFound { .. }) if std::env::var_os("PRONY_TEST_DOWNLOAD").is_some() => {
            download(&mut |_| {})?
        }
        found => found?,
    };
    let options = Options {
        max_connections: 300,
        shared_buffers_mib: 64,
        ..Options::default()
    };
    Server::start(&installation, &options)
}

extern "C" fn stop_at_exit() {
    if let Some(server) = SHARED.get() {
        server.discard();
    }
}

//! One PostgreSQL for all tests of a test binary.

use prony_server::control::StopSignal;
use prony_server::embedded::{EmbeddedOptions, EmbeddedPostgres, Error, download, find};
use std::sync::OnceLock;

static SHARED_SERVER: OnceLock<EmbeddedPostgres> = OnceLock::new();

/// One server for the whole process, for tests. It is started on first use and stopped when the
/// process exits, also on `process::exit`, and on Linux also when the process is killed.
///
/// The server has default options except `max_connections` 300 and less memory. Tests share it, so each
/// creates its own database, and a test that stops or reconfigures a server starts its own server.
///
/// # Panics
/// If there is no PostgreSQL; the message says what to install. With PRONY_TEST_DOWNLOAD=1 PostgreSQL is
/// downloaded instead.
pub fn shared_postgres() -> &'static EmbeddedPostgres {
    let start =
        || start_shared().unwrap_or_else(|problem| panic!("tests need a PostgreSQL: {problem}"));
    crate::shared(&SHARED_SERVER, start, stop_at_exit)
}

fn start_shared() -> Result<EmbeddedPostgres, Error> {
    let installation = match find() {
        Err(Error::NotFound { .. }) if std::env::var_os("PRONY_TEST_DOWNLOAD").is_some() => {
            download(&StopSignal::default(), &mut |_| {})?
        }
        result => result?,
    };
    let options = EmbeddedOptions {
        max_connections: 300,
        shared_buffers_mib: 64,
        ..EmbeddedOptions::default()
    };
    EmbeddedPostgres::start(&installation, &options)
}

extern "C" fn stop_at_exit() {
    if let Some(server) = SHARED_SERVER.get() {
        server.discard();
    }
}

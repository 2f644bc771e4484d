//! A throw-away PgBouncer before a server of a test.
//!
//! Must never: be needed by a test; where the program is not installed, the test says that it is skipped.

use crate::daemon::{Daemon, free_ports};
use prony_server::embedded::EmbeddedPostgres;
use std::path::Path;
use std::process::Command;

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// A pooler with transaction pooling and four sessions of the server, which accepts everybody. It ends when dropped.
pub struct PgBouncer(Daemon);

impl PgBouncer {
    /// Starts one before a database of a server; `None` if none is installed.
    ///
    /// # Panics
    /// If it is installed and does not start.
    pub fn start(server: &EmbeddedPostgres, database: &str) -> Option<PgBouncer> {
        if !Path::new(PROGRAM).exists() {
            return None;
        }
        let mut daemon = Daemon::new();
        let [port] = free_ports();
        let settings = format!(
            "[databases]\n{database} = host=127.0.0.1 port={} dbname={database} user=postgres password={}\n\
             [pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\nserver_login_retry = 1\ndefault_pool_size = 4\nmax_client_conn = 200\n\
             ignore_startup_parameters = extra_float_digits\n",
            server.port(),
            server.password().reveal()
        );
        let file = daemon.write("pgbouncer.ini", &settings);
        let mut command = daemon.command(PROGRAM);
        command.arg("-q").arg(file);
        daemon.start(command, port, libc::SIGKILL);
        Some(PgBouncer(daemon))
    }

    pub fn port(&self) -> u16 {
        self.0.port()
    }

    /// Its version, such as `(1, 18)`.
    pub fn version() -> Option<(u32, u32)> {
        let output = Command::new(PROGRAM).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let version = text.split_whitespace().nth(1)?;
        let mut numbers = version.split('.').map(|part| part.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }
}

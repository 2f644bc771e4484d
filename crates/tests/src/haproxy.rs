//! A throw-away HAProxy before servers of a test.
//!
//! Must never: be needed by a test; where the program is not installed, the test says that it is skipped.

use crate::daemon::{Daemon, free_ports};
use std::path::Path;

const PROGRAM: &str = "/usr/sbin/haproxy";

/// A proxy that forwards connections to the first server that is well, and closes those to one that is not.
#[derive(Debug)]
pub struct HaProxy(Daemon);

#[derive(Clone, Copy, Debug)]
pub struct ProxiedServer {
    pub port: u16,
    /// Where Patroni says by HTTP whether it is the primary; without it, whoever accepts a connection is well.
    pub patroni_port: Option<u16>,
}

impl HaProxy {
    /// Starts one; `None` if none is installed.
    ///
    /// # Panics
    /// If it is installed and does not start.
    pub fn start(servers: &[ProxiedServer]) -> Option<HaProxy> {
        if !Path::new(PROGRAM).exists() {
            return None;
        }
        let mut daemon = Daemon::new();
        let [port] = free_ports();
        let mut lines = format!(
            "global\n  maxconn 500\ndefaults\n  mode tcp\n  timeout connect 2s\n  timeout client 10m\n  timeout server 10m\n\
             listen servers\n  bind 127.0.0.1:{port}\n  \
             default-server inter 200ms fall 2 rise 1 on-marked-down shutdown-sessions\n"
        );
        if servers.iter().any(|server| server.patroni_port.is_some()) {
            lines += "  option httpchk GET /primary\n";
        }
        for (number, server) in servers.iter().enumerate() {
            let check = match server.patroni_port {
                Some(port) => format!("check port {port}"),
                None if number > 0 => "check backup".to_owned(),
                None => "check".to_owned(),
            };
            let address = format!("127.0.0.1:{}", server.port);
            lines += &format!("  server server{number} {address} {check}\n");
        }
        let file = daemon.write("haproxy.cfg", &lines);
        let mut command = daemon.command(PROGRAM);
        command.args(["-db", "-f"]).arg(file);
        daemon.start(command, port, libc::SIGKILL);
        Some(HaProxy(daemon))
    }

    pub fn port(&self) -> u16 {
        self.0.port()
    }
}

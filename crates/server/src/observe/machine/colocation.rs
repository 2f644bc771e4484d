//! Determines whether a server runs on this machine, and as which process.
//!
//! Must never: rely on a loopback address, because a tunnel or a container may have one too. Only
//! finding the server's process proves it.

use super::ServerProcesses;
use crate::control::Control;
use crate::observe::cell;
use crate::target::Address;
use prony_wire::Engine;
use std::fs::{read_dir, read_to_string};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Whether client and server share a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colocation {
    /// `None`: not known.
    pub shared: Option<bool>,
    /// How this is known, as a sentence.
    pub because: &'static str,
    /// The server's processes, if they were found on this machine.
    pub processes: Option<ServerProcesses>,
    /// The process, and in MySQL and MariaDB the thread, that serves this connection.
    pub serving: Option<(u32, Option<u32>)>,
}

impl Colocation {
    fn new(shared: Option<bool>, because: &'static str) -> Colocation {
        Colocation {
            shared,
            because,
            processes: None,
            serving: None,
        }
    }
}

/// Determines whether the server runs on this machine. Never fails: the result may be "not known".
pub fn find_colocation(control: &mut Control) -> Colocation {
    let is_local = match &control.endpoint().address {
        Address::Unix(_) => true,
        Address::Tcp(address) => is_own_address(*address),
    };
    if !is_local {
        return Colocation::new(
            Some(false),
            "the server's address is not one of this machine's",
        );
    }
    let unix = matches!(control.endpoint().address, Address::Unix(_));
    let process = match control.engine() {
        Engine::PostgreSql => postgres(control.backend_pid()),
        Engine::MySql => mysql(control, unix, MYSQL_THREAD_ID),
        Engine::MariaDb => mysql(control, unix, MARIADB_THREAD_ID),
    };
    match (process, unix) {
        (Some((root, serving)), _) => Colocation {
            processes: Some(ServerProcesses { root }),
            serving,
            ..Colocation::new(Some(true), "the server's process was found on this machine")
        },
        (None, true) => Colocation::new(Some(true), "the server was reached over a unix socket"),
        (None, false) => Colocation::new(
            None,
            "the address is one of this machine's, but the server's process was not found: it may be behind a tunnel or in a container",
        ),
    }
}

/// Whether an address is one of this machine's: then it is also the source address of the route to
/// it.
fn is_own_address(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    if ip.is_loopback() {
        return true;
    }
    let any: SocketAddr = match ip.is_ipv4() {
        true => ([0, 0, 0, 0], 0).into(),
        false => ([0_u16; 8], 0).into(),
    };
    // Connecting a datagram socket sends nothing; it only selects the route.
    let local = UdpSocket::bind(any).and_then(|socket| {
        socket.connect((ip, address.port()))?;
        socket.local_addr()
    });
    local.is_ok_and(|local| local.ip() == ip)
}

/// A server's root process, and the process and thread that serve the connection.
type ServerProcess = (u32, Option<(u32, Option<u32>)>);

/// Finds PostgreSQL by the process id of the backend, which may be an id inside a container.
fn postgres(backend: u32) -> Option<ServerProcess> {
    let on_host = Some(backend).filter(|pid| is_named(*pid, &["postgres", "postmaster"]));
    let pid = match on_host {
        Some(pid) => pid,
        None => in_container(backend)?,
    };
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = field(&status, "PPid")?.parse().ok()?;
    is_named(parent, &["postgres", "postmaster"]).then_some((parent, Some((pid, None))))
}

/// The PostgreSQL process that has this id inside a container.
fn in_container(backend: u32) -> Option<u32> {
    let wanted = backend.to_string();
    let entries = read_dir("/proc").ok()?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut matching = pids.filter(|pid| {
        let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let is_postgres = field(&status, "Name").is_some_and(|name| name.starts_with("postgres"));
        let container_pid = field(&status, "NSpid").and_then(|all| all.rsplit('\t').next());
        is_postgres && container_pid == Some(wanted.as_str())
    });
    // If two containers have such a process, it is not known which of the two it is.
    let pid = matching.next()?;
    matching.next().is_none().then_some(pid)
}

/// The operating system's id of the thread that serves the connection.
const MYSQL_THREAD_ID: &str =
    "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
/// The same on MariaDB.
const MARIADB_THREAD_ID: &str =
    "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";

/// Finds MySQL or MariaDB by the process that listens on its socket, or by its pid file. The thread
/// that serves the connection proves it, because a tunnel may lead to a server with the same paths
/// on a different machine.
fn mysql(control: &mut Control, unix: bool, thread: &str) -> Option<ServerProcess> {
    let paths = control
        .query("SELECT @@pid_file, @@socket, @@datadir")
        .ok()?;
    let row = paths.first()?;
    let (pid_file, socket) = (cell(row, 0)?, cell(row, 1)?);
    // A relative path is relative to the data directory.
    let pid_file = Path::new(cell(row, 2)?).join(pid_file);
    let from_pid_file = || read_to_string(pid_file).ok()?.trim().parse().ok();
    let is_server = |pid: &u32| is_named(*pid, &["mysqld", "mariadbd"]);
    let root = listener(socket)
        .filter(is_server)
        .or_else(from_pid_file)
        .filter(is_server)?;
    let thread: Option<u32> = control
        .query_value(thread)
        .ok()
        .flatten()
        .and_then(|number| number.parse().ok());
    let is_proven = match thread {
        Some(thread) => Path::new(&format!("/proc/{root}/task/{thread}")).exists(),
        None => unix,
    };
    is_proven.then_some((root, thread.map(|thread| (root, Some(thread)))))
}

/// The process that listens on a unix socket.
fn listener(path: &str) -> Option<u32> {
    let stream = UnixStream::connect(path).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

fn is_named(pid: u32, names: &[&str]) -> bool {
    let name = read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    names.contains(&name.trim())
}

/// The value of a `Name:\tvalue` line.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let value = status.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key == name).then_some(value)
    });
    value.map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_recognized() {
        assert!(is_own_address(([127, 3, 2, 1], 5432).into()));
        assert!(is_own_address("[::1]:5432".parse().unwrap()));
        // An address reserved for documentation (RFC 5737).
        assert!(!is_own_address(([192, 0, 2, 7], 5432).into()));
    }

    #[test]
    fn a_process_that_is_not_a_server_is_ignored() {
        assert_eq!(postgres(std::process::id()), None);
        assert_eq!(
            field("Name:\tx\nNSpid:\t700\t12\n", "NSpid"),
            Some("700\t12")
        );
    }
}

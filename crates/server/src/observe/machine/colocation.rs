//! Determines whether a server runs on this machine, and as which process.
//!
//! Must never: rely on a loopback address, because a tunnel or a container may have one too. Over
//! TCP, the server counts as local only if its process was found on this machine.

use super::proc::field;
use super::{ServerProcesses, ServingTask};
use crate::control::{Control, Error, TextRow};
use crate::observe::{cell, first_line};
use crate::target::Address;
use prony_document::SqlDialect;
use std::fs::{read_dir, read_to_string};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Whether client and server run on the same machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Colocation {
    /// Whether the server runs on this machine; `None`: not known.
    pub same_machine: Option<bool>,
    /// How this is known, as a sentence.
    pub reason: String,
    /// The server's processes, if they were found on this machine.
    pub processes: Option<ServerProcesses>,
    pub serving: Option<ServingTask>,
}

impl Colocation {
    /// Nothing is known, for this reason.
    pub fn unknown(reason: &str) -> Colocation {
        Colocation::new(None, reason)
    }

    fn new(same_machine: Option<bool>, reason: &str) -> Colocation {
        Colocation {
            same_machine,
            reason: reason.to_owned(),
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
    let over_unix_socket = matches!(control.endpoint().address, Address::Unix(_));
    let product = control.product();
    let process = match (product.dialect, product.thread_id_query) {
        (SqlDialect::PostgreSql, _) => Ok(find_postgres(control.backend_pid())),
        (SqlDialect::MySql, Some(query)) => find_mysql(control, over_unix_socket, query),
        (SqlDialect::MySql | SqlDialect::TransactSql, _) => Ok(None),
    };
    match (process, over_unix_socket) {
        (Ok(Some(found)), _) => Colocation {
            processes: Some(ServerProcesses {
                root_pid: found.root_pid,
            }),
            serving: found.serving,
            ..Colocation::new(Some(true), "the server's process was found on this machine")
        },
        (_, true) => Colocation::new(Some(true), "the server was reached over a unix socket"),
        (Err(error), false) => Colocation::unknown(&format!(
            "the address is one of this machine's, but the server does not say which process it is: {}",
            first_line(&error)
        )),
        (Ok(None), false) => Colocation::new(
            None,
            "the address is one of this machine's, but the server's process was not found: it may be behind a tunnel or in a container",
        ),
    }
}

/// Whether an address is one of this machine's. If so, the kernel also uses it as the source address of
/// packets to it.
fn is_own_address(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    if ip.is_loopback() {
        return true;
    }
    let unspecified: SocketAddr =
        if ip.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
    // Connecting a datagram socket sends nothing; it only selects the route.
    let source = UdpSocket::bind(unspecified).and_then(|socket| {
        socket.connect((ip, address.port()))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == ip)
}

/// A server's processes on this machine.
#[derive(Debug, PartialEq)]
struct FoundServer {
    root_pid: u32,
    /// `None` if the server does not say it.
    serving: Option<ServingTask>,
}

/// Finds PostgreSQL by the process id of the backend. If the server runs in a container, the id is that
/// inside the container.
fn find_postgres(backend_pid: u32) -> Option<FoundServer> {
    let host_pid = Some(backend_pid).filter(|pid| is_named(*pid, &["postgres", "postmaster"]));
    let pid = match host_pid {
        Some(pid) => pid,
        None => host_pid_of_container_pid(backend_pid)?,
    };
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = field(&status, "PPid")?.parse().ok()?;
    is_named(parent, &["postgres", "postmaster"]).then_some(FoundServer {
        root_pid: parent,
        serving: Some(ServingTask {
            process: pid,
            thread: None,
        }),
    })
}

/// The PostgreSQL process that has this id inside a container; returns its id on the host.
fn host_pid_of_container_pid(container_pid: u32) -> Option<u32> {
    let container_pid = container_pid.to_string();
    let entries = read_dir("/proc").ok()?.flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut matching = pids.filter(|pid| {
        let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let is_postgres = field(&status, "Name").is_some_and(|name| name.starts_with("postgres"));
        let innermost_pid = field(&status, "NSpid").and_then(|pids| pids.rsplit('\t').next());
        is_postgres && innermost_pid == Some(container_pid.as_str())
    });
    // Processes of two containers may have the same id; then it is not known which of them is meant.
    let pid = matching.next()?;
    matching.next().is_none().then_some(pid)
}

/// Finds MySQL or MariaDB by the process that listens on its socket, or by its pid file. The process
/// counts only if the thread that serves the connection is one of its threads, because a tunnel may lead
/// to a server with the same paths on a different machine.
fn find_mysql(
    control: &mut Control,
    over_unix_socket: bool,
    thread_id_query: &str,
) -> Result<Option<FoundServer>, Error> {
    let paths = control.query("SELECT @@pid_file, @@socket, @@datadir")?;
    let Some(root_pid) = paths.first().and_then(server_process) else {
        return Ok(None);
    };
    let thread = match control.query_value(thread_id_query) {
        Err(_) if over_unix_socket => None,
        number => number?.and_then(|number| number.parse().ok()),
    };
    let is_proven = match thread {
        Some(thread) => Path::new(&format!("/proc/{root_pid}/task/{thread}")).exists(),
        None => over_unix_socket,
    };
    let serving = thread.map(|thread| ServingTask {
        process: root_pid,
        thread: Some(thread),
    });
    Ok(is_proven.then_some(FoundServer { root_pid, serving }))
}

/// The server's process by a row of the path of its pid file, of its socket, and of its data.
fn server_process(row: &TextRow) -> Option<u32> {
    let (pid_file, socket) = (cell(row, 0)?, cell(row, 1)?);
    // A relative path is relative to the data directory.
    let pid_file = Path::new(cell(row, 2)?).join(pid_file);
    let from_pid_file = || read_to_string(pid_file).ok()?.trim().parse().ok();
    let is_server = |pid: &u32| is_named(*pid, &["mysqld", "mariadbd"]);
    listening_process(socket)
        .filter(is_server)
        .or_else(from_pid_file)
        .filter(is_server)
}

fn listening_process(path: &str) -> Option<u32> {
    let stream = UnixStream::connect(path).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

fn is_named(pid: u32, names: &[&str]) -> bool {
    let name = read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    names.contains(&name.trim())
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
        assert_eq!(find_postgres(std::process::id()), None);
        assert_eq!(
            field("Name:\tx\nNSpid:\t700\t12\n", "NSpid"),
            Some("700\t12")
        );
    }
}

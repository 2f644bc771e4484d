//! Whether a server runs on this machine, and as which process.
//!
//! In: a control connection. Out: a [`Neighbour`]. Must never: believe a loopback address: a tunnel or a
//! container has one too. What proves it is the process itself.

use super::Processes;
use crate::control::{Control, Product};
use crate::observe::cell;
use crate::target::Address;
use std::fs::{read_dir, read_to_string};
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Whether client and server share a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// `None`: not known.
    pub shared: Option<bool>,
    /// How that is known, in words.
    pub because: &'static str,
    /// The server's processes, where they are on this machine and known.
    pub processes: Option<Processes>,
    /// The process, and the thread of it, that serves this connection.
    pub serving: Option<(u32, Option<u32>)>,
}

impl Neighbour {
    fn new(shared: Option<bool>, because: &'static str) -> Neighbour {
        Neighbour {
            shared,
            because,
            processes: None,
            serving: None,
        }
    }
}

/// Finds out. Loses nothing if the server does not tell.
pub fn neighbour(control: &mut Control) -> Neighbour {
    let near = match &control.endpoint().address {
        Address::Unix(_) => true,
        Address::Tcp(address) => is_here(*address),
    };
    if !near {
        return Neighbour::new(Some(false), "the server's address is none of this machine");
    }
    let unix = matches!(control.endpoint().address, Address::Unix(_));
    let found = match control.product() {
        Product::Postgres => postgres(control.backend_pid()),
        Product::Mysql | Product::MariaDb => mysql(control, unix),
    };
    match (found, unix) {
        (Some((root, serving)), _) => Neighbour {
            processes: Some(Processes { root }),
            serving,
            ..Neighbour::new(Some(true), "the server's process was found on this machine")
        },
        (None, true) => Neighbour::new(Some(true), "the server was reached over a unix socket"),
        (None, false) => Neighbour::new(
            None,
            "the address is of this machine, but the server's process was not found on it: it may be \
             at the other end of a tunnel, or in a container",
        ),
    }
}

/// Whether an address is one of this machine: then the way to it begins at the address itself.
fn is_here(address: SocketAddr) -> bool {
    let ip = address.ip().to_canonical();
    if ip.is_loopback() {
        return true;
    }
    let any: SocketAddr = match ip.is_ipv4() {
        true => ([0, 0, 0, 0], 0).into(),
        false => ([0_u16; 8], 0).into(),
    };
    // Connecting a datagram socket sends nothing; it only chooses the way.
    let local = UdpSocket::bind(any).and_then(|socket| {
        socket.connect((ip, address.port()))?;
        socket.local_addr()
    });
    local.is_ok_and(|local| local.ip() == ip)
}

/// A server process, and what serves the connection.
type Found = (u32, Option<(u32, Option<u32>)>);

/// By the number of the process that serves the connection, as it sees it itself.
fn postgres(backend: u32) -> Option<Found> {
    let here = Some(backend).filter(|pid| is_named(*pid, &["postgres", "postmaster"]));
    let pid = match here {
        Some(pid) => pid,
        None => in_container(backend)?,
    };
    let status = read_to_string(format!("/proc/{pid}/status")).ok()?;
    let parent = field(&status, "PPid")?.parse().ok()?;
    is_named(parent, &["postgres", "postmaster"]).then_some((parent, Some((pid, None))))
}

/// A process of PostgreSQL that has this number in a container of its own.
fn in_container(number: u32) -> Option<u32> {
    let wanted = number.to_string();
    let numbers = read_dir("/proc").ok()?.flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut matching = pids.filter(|pid| {
        let status = read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let named = field(&status, "Name").is_some_and(|name| name.starts_with("postgres"));
        let inside = field(&status, "NSpid").and_then(|all| all.rsplit('\t').next());
        named && inside == Some(wanted.as_str())
    });
    // Two containers may both have one of this number: then it is neither, for sure.
    let found = matching.next()?;
    matching.next().is_none().then_some(found)
}

/// By who listens on its socket, or the file with its number; proven by the thread that serves the
/// connection, as a tunnel may lead to a server with the same paths elsewhere.
fn mysql(control: &mut Control, unix: bool) -> Option<Found> {
    let places = control
        .query("SELECT @@pid_file, @@socket, @@datadir")
        .ok()?;
    let row = places.first()?;
    let (pid_file, socket) = (cell(row, 0)?, cell(row, 1)?);
    // A relative one is in the data folder.
    let pid_file = Path::new(cell(row, 2)?).join(pid_file);
    let by_file = || read_to_string(pid_file).ok()?.trim().parse().ok();
    let named = |pid: &u32| is_named(*pid, &["mysqld", "mariadbd"]);
    let root = listener(socket)
        .filter(named)
        .or_else(by_file)
        .filter(named)?;
    let thread = thread(control);
    let proven = match thread {
        Some(thread) => Path::new(&format!("/proc/{root}/task/{thread}")).exists(),
        None => unix,
    };
    proven.then_some((root, thread.map(|thread| (root, Some(thread)))))
}

/// The operating system's number of the thread that serves the connection.
fn thread(control: &mut Control) -> Option<u32> {
    let sql = match control.product() {
        Product::MariaDb => {
            "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
        }
        _ => {
            "SELECT THREAD_OS_ID FROM performance_schema.threads \
             WHERE PROCESSLIST_ID = CONNECTION_ID()"
        }
    };
    control.query_value(sql).ok()??.parse().ok()
}

/// Who listens on a unix socket.
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
    fn addresses_of_this_machine() {
        assert!(is_here(([127, 3, 2, 1], 5432).into()));
        assert!(is_here("[::1]:5432".parse().unwrap()));
        // Of the range for documentation (RFC 5737): nobody has it.
        assert!(!is_here(([192, 0, 2, 7], 5432).into()));
    }

    #[test]
    fn a_process_that_is_no_server_is_none() {
        assert_eq!(postgres(std::process::id()), None);
        assert_eq!(
            field("Name:\tx\nNSpid:\t700\t12\n", "NSpid"),
            Some("700\t12")
        );
    }
}

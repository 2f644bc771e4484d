//! Examines this machine and a server before a load (`prony doctor`).
//!
//! In: the kernel's files, a control connection. Out: a [`DoctorReport`], which `judge` decides. Must never: change
//! a setting of the server or the machine, or fail because the system does not report something.

mod database;
pub(crate) mod files;
mod measured;
mod network;
mod process;
mod storage;

use crate::error::Error;
use files::SystemFiles;
use prony_judge::doctor::{DatabaseFacts, MachineFacts, examine as judge_facts};
use prony_server::observe::machine::{Colocation, find_colocation};
use prony_server::{Address, Control, Target};
use prony_store::DoctorReport;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

pub use prony_judge::doctor::IntendedLoad as DoctorLoad;

#[derive(Clone, Copy, Debug)]
pub struct DoctorOptions {
    pub load: DoctorLoad,
    /// How long to watch the machine for CPU time that others take; zero: not at all.
    pub watch: Duration,
    /// Whether to probe the storage of the server, which writes and drops a table.
    pub probe_storage: bool,
}

/// The way from this machine to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ServerRoute {
    /// No server was named.
    Unknown,
    /// Within this machine.
    Local,
    /// To an address of this machine on which the server's process was not found: perhaps through a tunnel.
    OwnAddress,
    /// Over a network.
    Remote(SocketAddr),
}

impl ServerRoute {
    fn new(control: &Control, colocation: &Colocation) -> ServerRoute {
        match (&control.endpoint().address, colocation.same_machine) {
            (Address::Unix(_), _) | (_, Some(true)) => ServerRoute::Local,
            (Address::Tcp(_), None) => ServerRoute::OwnAddress,
            (Address::Tcp(address), Some(false)) => ServerRoute::Remote(*address),
        }
    }
}

/// Examines this machine, and the server of a connection to this target; `None`: only the machine.
///
/// # Errors
/// The server does not answer, or refuses a query that every user may send.
pub fn examine(
    server: Option<(&mut Control, &Target)>,
    options: DoctorOptions,
) -> Result<DoctorReport, Error> {
    let Some((control, target)) = server else {
        let machine = examine_machine(ServerRoute::Unknown, options.watch);
        return Ok(judge_facts(&machine, None, options.load));
    };
    let colocation = find_colocation(control);
    let machine = examine_machine(ServerRoute::new(control, &colocation), options.watch);
    let mut database = database::read(control, target, &colocation).map_err(Error::Server)?;
    if options.probe_storage {
        database.storage = Some(storage::probe(target));
    }
    Ok(judge_facts(&machine, Some(&database), options.load))
}

fn examine_machine(route: ServerRoute, watch: Duration) -> MachineFacts {
    let mut facts = read_machine(Path::new("/"), route);
    measured::measure(&mut facts, watch);
    facts
}

/// What a server says of itself, without a judgement.
///
/// # Errors
/// As those of [`examine`].
pub fn read_database(control: &mut Control, target: &Target) -> Result<DatabaseFacts, Error> {
    let colocation = find_colocation(control);
    database::read(control, target, &colocation).map_err(Error::Server)
}

/// What the files below `root` say of the machine.
fn read_machine(root: &Path, route: ServerRoute) -> MachineFacts {
    let files = SystemFiles::new(root);
    let mut facts = MachineFacts::default();
    process::read(&files, &mut facts);
    network::read(&files, route, &mut facts);
    facts
}

#[cfg(test)]
mod tests;

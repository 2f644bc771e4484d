//! Decides whether a machine and a server are fit for a load, before the load (`prony doctor`).
//!
//! In: [`MachineFacts`], [`DatabaseFacts`], the [`IntendedLoad`]. Out: a [`DoctorReport`]: one finding for each
//! property, with the command that mends it. Must never: read the system, or take an unknown value for a good one.
//!
//! These findings change no verdict: the checks of a run judge what happened during the run. The thresholds are
//! here and not in [`thresholds`](crate::thresholds), because no figure is judged by them.

mod connections;
mod cpu;
mod facts;
mod limits;
mod network;
mod server;
mod storage;
mod system;

pub use connections::{SPARE_CONNECTIONS, clients_that_fit};
pub use facts::{
    CgroupLimits, DatabaseFacts, IdleUsage, IntendedLoad, MachineFacts, NetworkInterface,
    ReadProbe, StorageProbe, TcpSettings,
};

use prony_store::{DoctorFinding, DoctorReport, DoctorState, DoctorSubject};

/// Ids of the findings whose value is a measurement, which differs slightly each time.
pub(crate) const MEASURED: [&str; 12] = [
    "commit-latency",
    "data-size",
    "ephemeral-ports",
    "max-connections",
    "memory",
    "other-load",
    "random-read",
    "round-trip",
    "sequential-read",
    "steal",
    "swap",
    "timer",
];

/// Beginnings of commands that can cut a connection or need a restart of the server.
const RISKY_COMMANDS: [&str; 4] = [
    "ip link set",
    "psql -c 'ALTER SYSTEM",
    "sqlcmd -Q \"EXEC sp_configure",
    "swapoff",
];

/// Whether a command of a finding can do harm on a machine in use, or takes effect only after a restart of the server:
/// a script must not run it unless someone decides so.
pub fn is_risky(command: &str) -> bool {
    let mut risky_commands = RISKY_COMMANDS.iter();
    risky_commands.any(|start| command.starts_with(start))
}

/// Examines a machine, and a server if there is one.
pub fn examine(
    machine: &MachineFacts,
    database: Option<&DatabaseFacts>,
    load: IntendedLoad,
) -> DoctorReport {
    let mut findings = limits::findings(machine, load);
    findings.extend(cpu::findings(machine, load));
    findings.extend(network::findings(machine, load));
    findings.extend(system::findings(machine));
    if let Some(database) = database {
        let mut of_server = server::findings(database, load);
        of_server.extend(storage::findings(database));
        findings.extend(of_server.into_iter().map(|finding| DoctorFinding {
            subject: DoctorSubject::Server,
            ..finding
        }));
    }
    DoctorReport {
        clients: load.clients,
        threads: load.threads,
        findings,
    }
}

/// A finding, or why the property is not known.
type Examined = Result<DoctorFinding, String>;

/// The findings with these ids; a property that is not known has the state `Unknown`.
fn named<const N: usize>(findings: [(&str, Examined); N]) -> Vec<DoctorFinding> {
    let named = findings.map(|(id, examined)| DoctorFinding {
        id: id.to_owned(),
        ..examined.unwrap_or_else(|reason| finding(DoctorState::Unknown, "", reason))
    });
    named.into()
}

fn finding(
    state: DoctorState,
    value: impl Into<String>,
    reason: impl Into<String>,
) -> DoctorFinding {
    DoctorFinding {
        state,
        value: value.into(),
        reason: reason.into(),
        ..DoctorFinding::default()
    }
}

/// A property that is good enough.
fn ok(value: impl Into<String>, reason: impl Into<String>) -> Examined {
    Ok(finding(DoctorState::Ok, value, reason))
}

/// A property that may affect figures.
fn caution(value: impl Into<String>, reason: impl Into<String>) -> Examined {
    Ok(finding(DoctorState::Caution, value, reason))
}

/// A property that prevents the load, or makes its figures wrong.
fn bad(value: impl Into<String>, reason: impl Into<String>) -> Examined {
    Ok(finding(DoctorState::Bad, value, reason))
}

/// A property that the system does not report.
fn unknown(reason: impl Into<String>) -> Examined {
    Err(reason.into())
}

trait Remedied {
    /// With shell commands that mend it.
    fn mended_by(self, command: impl Into<String>) -> Self;
    /// With a sentence on what to do.
    fn advised(self, advice: impl Into<String>) -> Self;
}

impl Remedied for Examined {
    fn mended_by(self, command: impl Into<String>) -> Self {
        let command = Some(command.into());
        self.map(|finding| DoctorFinding { command, ..finding })
    }

    fn advised(self, advice: impl Into<String>) -> Self {
        let advice = Some(advice.into());
        self.map(|finding| DoctorFinding { advice, ..finding })
    }
}

#[cfg(test)]
mod tests;

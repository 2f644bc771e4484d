//! How the machine affected the run.
//!
//! In: a Run. Out: `steal`, `server-steal`, `neighbours`, `one-host`, `round-trip`. Must never: resolve a
//! name or query the system: the Run contains all observations.

use crate::checks::{Finding, caveat, invalid_or_caveat, new_finding, note};
use crate::client::{excessive_client_wait, run_queue_share};
use crate::formatting::{count, percent, time};
use crate::thresholds::{
    NEIGHBOURS_INVALID_SHARE, NEIGHBOURS_MAX_SHARE, ONE_HOST_BUSY_MAX_SHARE,
    ONE_HOST_CLIENT_MAX_SHARE, ROUND_TRIP_MAX_SHARE, ROUND_TRIP_P99_MAX_NS,
    ROUND_TRIP_P99_MAX_RATIO, RUN_QUEUE_MAX_SHARE, limited_by_counted_time,
    severity_of_counted_share,
};
use crate::{all_kinds, observations};
use prony_store::{DeclaredFact, Run, ServerAddress, ServerMachine, ServerSecond, Severity};
use std::net::{IpAddr, SocketAddr};

pub(crate) fn check_steal(run: &Run) -> Option<Finding> {
    let steal = run.client_health().steal_share?;
    new_finding(
        severity_of_counted_share(steal, run.measured.length_s)?,
        format!(
            "The hypervisor withheld {} of the client machine's CPU time for other guests.",
            percent(steal)
        ),
        "Run on dedicated CPUs, or repeat the run at several times of the day and compare.",
    )
}

/// CPU time stolen on the machine of the server, if it is not the client's.
pub(crate) fn check_server_steal(run: &Run) -> Option<Finding> {
    let steal = observations::server_machine_mean(run, |machine| machine.steal_share)?;
    if shared_machine_evidence(run).is_some() {
        return None;
    }
    new_finding(
        severity_of_counted_share(steal, observations::observed_s(run))?,
        format!(
            "The hypervisor withheld {} of the server machine's CPU time for other guests.",
            percent(steal)
        ),
        "Run the server on dedicated CPUs, or repeat the run at several times of the day.",
    )
}

/// Checks whether client and server share a machine. Busy CPUs, threads that wait for a CPU and replies that
/// wait for a thread then have one cause, so that this check reports all of them.
pub(crate) fn check_one_host(run: &Run) -> Option<Finding> {
    let evidence = shared_machine_evidence(run)?;
    let mut sentences = vec![format!(
        "The load went to {evidence}: client and server shared this machine, so the client's CPU time was \
         taken from the server and no network was between them."
    )];
    if let (Some(busy), Some(client)) = (server_machine_busy_share(run), client_cpu_share(run))
        && busy > ONE_HOST_BUSY_MAX_SHARE
        && client > ONE_HOST_CLIENT_MAX_SHARE
    {
        sentences.push(format!(
            "Its CPUs were {} busy, and the client took {} of them.",
            percent(busy),
            percent(client)
        ));
    }
    if let Some(waited) = run_queue_share(run).filter(|waited| *waited > RUN_QUEUE_MAX_SHARE) {
        sentences.push(format!(
            "The client's threads waited for a CPU for {} of the time{}.",
            percent(waited),
            batch_policy_remark(run)
        ));
    }
    let excessive_client_wait = excessive_client_wait(run);
    if let Some((wait_ns, service_ns)) = excessive_client_wait {
        sentences.push(format!(
            "Of a mean service time of {}, {} ({}) passed until the client noticed a reply that had arrived.",
            time(service_ns),
            time(wait_ns),
            percent(wait_ns / service_ns)
        ));
    }
    let severity = match sentences.len() {
        1 => Severity::Note,
        _ => Severity::Caveat,
    };
    let advice = match excessive_client_wait {
        Some(_) => {
            "Use the server time as the server's latency. To measure the server alone, run the client on \
             another machine."
        }
        None => "To measure the server alone, run the client on another machine.",
    };
    new_finding(severity, sentences.join(" "), advice)
}

/// The remark that some waits are intended if threads ran under `SCHED_BATCH`, which lets the server's processes run
/// first; empty if none did.
fn batch_policy_remark(run: &Run) -> String {
    match run.client_health().batch.map_or(0, |batch| batch.active) {
        0 => String::new(),
        workers => format!(
            ", partly by design: {} ran under SCHED_BATCH, which lets the server's processes run first",
            count(workers.into(), "worker")
        ),
    }
}

/// The evidence that client and server shared a machine; `None` if they did not, or if it is unknown.
pub(crate) fn shared_machine_evidence(run: &Run) -> Option<&'static str> {
    let observed = run.observed.as_ref();
    let was_found_here = observed.and_then(|observed| observed.machine.shared) == Some(true);
    if run.server.embedded {
        Some("a server that Prony started")
    } else if matches!(run.server.address, Some(ServerAddress::Unix(_))) {
        Some("a unix socket")
    } else if was_found_here {
        Some("a server whose process was found on this machine")
    } else if is_loopback(run.server.address.as_ref()) {
        Some("a loopback address")
    } else {
        None
    }
}

/// The observed or declared value of the server's machine; otherwise that of the client, if both are on one machine.
fn of_server_machine<T>(
    run: &Run,
    observed: fn(&ServerMachine) -> Option<T>,
    declared: Option<T>,
    of_client: T,
) -> Option<T> {
    let machine = run.observed.as_ref().map(|observed| &observed.machine);
    let is_shared = shared_machine_evidence(run).is_some();
    machine
        .and_then(observed)
        .or(declared)
        .or(is_shared.then_some(of_client))
}

/// How many CPUs the server's machine has; `None` if it is not known.
pub(crate) fn server_cpus(run: &Run) -> Option<u32> {
    let declared = run.server.declared.count(DeclaredFact::Cpus);
    of_server_machine(
        run,
        |machine| machine.cpus,
        declared,
        run.machine().host.cpus,
    )
}

pub(crate) fn server_memory_bytes(run: &Run) -> Option<u64> {
    let declared = run.server.declared.bytes(DeclaredFact::Memory);
    let of_client = run.machine().host.memory_bytes;
    of_server_machine(run, |machine| machine.memory_bytes, declared, of_client)
}

pub(crate) fn server_machine_busy_share(run: &Run) -> Option<f64> {
    observations::server_machine_mean(run, |machine| machine.busy_share)
}

/// CPU time of the client, as a share of the CPUs of the shared machine.
fn client_cpu_share(run: &Run) -> Option<f64> {
    let cpus = run.observed.as_ref()?.machine.cpus?;
    let used_s = run.client_health().cpu_user_s? + run.client_health().cpu_system_s?;
    let all_s = f64::from(cpus) * run.measured.length_s;
    (all_s > 0.0).then(|| used_s / all_s)
}

/// CPU time of the client, as a share of the CPUs of the server's machine: 0 if the client is on another one.
fn client_share_at_server(run: &Run) -> Option<f64> {
    if shared_machine_evidence(run).is_some() { client_cpu_share(run) } else { Some(0.0) }
}

/// CPU time of the server in one row, as a share of the CPUs of its machine.
fn server_cpu_share(run: &Run, row: &ServerSecond) -> Option<f64> {
    let cpus = f64::from(run.observed.as_ref()?.machine.cpus?);
    Some(observations::server_cpus(row)? / cpus)
}

/// CPU time that neither the server nor the client used in one row, as a share of the CPUs of the server's machine.
pub(crate) fn other_cpu_share(run: &Run, row: &ServerSecond) -> Option<f64> {
    let busy = row.machine.as_ref()?.busy_share?;
    Some((busy - server_cpu_share(run, row)? - client_share_at_server(run)?).max(0.0))
}

/// How the CPUs of the server's machine were used over the window, as shares of all of them.
pub(crate) struct CpuShares {
    /// By processes that are neither the server's nor the client's. This includes network interrupts, and is therefore
    /// never quite zero.
    pub others: f64,
    pub server: f64,
    pub client: f64,
}

/// How the CPUs were used; `None` if the CPU time of the machine, of the server or of a client on it was not observed.
pub(crate) fn cpu_shares(run: &Run) -> Option<CpuShares> {
    let server = observations::mean(run, |row| server_cpu_share(run, row))?;
    let client = client_share_at_server(run)?;
    Some(CpuShares {
        others: server_machine_busy_share(run)? - server - client,
        server,
        client,
    })
}

/// Share of the CPU time that the hypervisor withheld, of the client's machine or of the server's, whichever is more.
pub(crate) fn stolen_share(run: &Run) -> Option<f64> {
    let server = observations::server_machine_mean(run, |machine| machine.steal_share);
    let client = run.machine().health.steal_share;
    server.into_iter().chain(client).reduce(f64::max)
}

/// Checks for CPU time that neither the server nor the client used.
pub(crate) fn check_neighbours(run: &Run) -> Option<Finding> {
    let shares = cpu_shares(run).filter(|shares| shares.others > NEIGHBOURS_MAX_SHARE)?;
    let severity = invalid_or_caveat(shares.others > NEIGHBOURS_INVALID_SHARE);
    new_finding(
        limited_by_counted_time(severity, observations::observed_s(run)),
        format!(
            "Other processes used {} of the CPUs of the server's machine, the server, with all its sessions, {} and the client {}: \
             neither had the machine to itself.",
            percent(shares.others),
            percent(shares.server),
            percent(shares.client),
        ),
        "Stop other programs there, and run again.",
    )
}

/// Checks the round trip over a network. On a shared machine the round trip shows only the server's work on
/// an empty statement, and is not checked.
pub(crate) fn check_round_trip(run: &Run) -> Option<Finding> {
    let round_trip = observations::observed(run)?.round_trip.as_ref()?;
    let mean_ns = all_kinds(run)?.service.mean_ns;
    if shared_machine_evidence(run).is_some() || mean_ns <= 0.0 {
        return None;
    }
    let measurement = format!(
        "Before the load, the round trip of an empty statement took {} (median of {})",
        time(round_trip.p50_ns as f64),
        round_trip.samples
    );
    let share = round_trip.p50_ns as f64 / mean_ns;
    if share > ROUND_TRIP_MAX_SHARE {
        return caveat(
            format!(
                "{measurement}, {} of the mean service time: the figures show the network more than \
                 the server.",
                percent(share)
            ),
            "Run the client closer to the server (same zone, same rack), or use more clients \
             until the server is the limit. Compare only with runs over the same network path.",
        );
    }
    let p99_ns = round_trip.p99_ns;
    let uneven_p99_ns = p99_ns.filter(|p99_ns| is_uneven(round_trip.p50_ns, *p99_ns))?;
    note(
        format!(
            "{measurement}, and {} at the 99th percentile: the network latency is uneven, and the upper \
             percentiles include that.",
            time(uneven_p99_ns as f64)
        ),
        "Check what else uses the network, or the machines at its ends.",
    )
}

/// Whether the round trips of an empty statement differ much, from their median and 99th percentile.
pub(crate) fn is_uneven(p50_ns: u64, p99_ns: u64) -> bool {
    p99_ns > ROUND_TRIP_P99_MAX_NS && p99_ns as f64 > ROUND_TRIP_P99_MAX_RATIO * p50_ns as f64
}

fn is_loopback(address: Option<&ServerAddress>) -> bool {
    let Some(ServerAddress::Tcp(address)) = address else {
        return false;
    };
    if let Ok(socket) = address.parse::<SocketAddr>() {
        return socket.ip().to_canonical().is_loopback();
    }
    // An address without brackets, or a name: the part before the last colon.
    let host = match address.rsplit_once(':') {
        Some((host, _)) => host,
        None => address,
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests;

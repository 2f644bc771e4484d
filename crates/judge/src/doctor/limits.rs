//! The limits of the process: open files, ports, locked memory, the control group, memory.
//!
//! In: the facts and the load. Out: findings. Must never: call a limit sufficient that the load exceeds.

use super::{Examined, IntendedLoad, MachineFacts, Remedied, bad, caution, named, ok, unknown};
use crate::formatting::{bytes, count, thousands, three_digits};
use prony_plan::shell_word;
use prony_store::DoctorFinding;

/// Open files besides those of connections: 3 per thread and 16 of the process, as the load loop requires.
const FILES_PER_THREAD: u64 = 3;
const PROCESS_FILES: u64 = 16;
/// Ports per client below which clients that reconnect may run out of ports: each closed connection keeps its port for a
/// minute.
const PORTS_PER_CLIENT: u64 = 4;
/// First port of the range that is advised: servers rarely listen on higher ports.
const WIDE_RANGE_FIRST_PORT: u16 = 10_240;
/// Locked memory of the rings per connection and per thread, bytes: entries of the queues and of the registered
/// files, rounded up.
const RING_BYTES_PER_CONNECTION: u64 = 1024;
const RING_BYTES_PER_THREAD: u64 = 128 * 1024;
/// Memory of a run, bytes: of the process, and per client with its buffers and histograms.
const PROCESS_BYTES: u64 = 256 << 20;
const CLIENT_BYTES: u64 = 64 << 10;

pub(super) fn findings(machine: &MachineFacts, load: IntendedLoad) -> Vec<DoctorFinding> {
    named([
        ("open-files", open_files(machine, load)),
        ("ephemeral-ports", ephemeral_ports(machine, load)),
        ("locked-memory", locked_memory(machine, load)),
        ("cgroup-cpu", cgroup_cpu(machine, load)),
        ("memory", memory(machine, load)),
    ])
}

fn clients_text(load: IntendedLoad) -> String {
    count(u64::from(load.clients), "client")
}

fn open_files(machine: &MachineFacts, load: IntendedLoad) -> Examined {
    let limit = machine
        .open_files
        .ok_or("The limit on open files could not be read.")?;
    let needed = load.connections() + FILES_PER_THREAD * u64::from(load.threads) + PROCESS_FILES;
    let value = match limit {
        u64::MAX => "unlimited".to_owned(),
        limit => format!("up to {}", thousands(limit)),
    };
    let clients = clients_text(load);
    if limit >= needed {
        let reason = format!(
            "{clients} need {}; Prony raises the soft limit itself.",
            thousands(needed)
        );
        return ok(value, reason);
    }
    let new_limit = needed.next_power_of_two().max(65_536);
    let lines = format!(
        "printf '* hard nofile {new_limit}\\nroot hard nofile {new_limit}\\n' > /etc/security/limits.d/90-prony.conf"
    );
    let command = match machine.open_files_max {
        Some(max) if max < new_limit => format!("sysctl -w fs.nr_open={new_limit}\n{lines}"),
        _ => lines,
    };
    let reason = format!(
        "{clients} need {}: the run would not start.",
        thousands(needed)
    );
    bad(value, reason).mended_by(command).advised(
        "Log in again afterwards; for a service set LimitNOFILE, for a container --ulimit nofile.",
    )
}

/// The command for a wider range of ports; `None` if it is as wide as it may be.
fn wider_port_range(first: u16, last: u16) -> Option<String> {
    let new_first = first.min(WIDE_RANGE_FIRST_PORT);
    if new_first == first && last == u16::MAX {
        return None;
    }
    let last = u16::MAX;
    Some(format!(
        "sysctl -w net.ipv4.ip_local_port_range='{new_first} {last}'"
    ))
}

fn ephemeral_ports(machine: &MachineFacts, load: IntendedLoad) -> Examined {
    let (first, last) = machine
        .port_range
        .ok_or("The range of ports could not be read.")?;
    let reserved = u64::from(machine.reserved_ports);
    let ports = (u64::from(last) + 1)
        .saturating_sub(u64::from(first))
        .saturating_sub(reserved);
    let waiting = match machine.connections_in_time_wait {
        Some(waiting @ 1..) => format!("; {} in TIME_WAIT", thousands(waiting.into())),
        _ => String::new(),
    };
    let value = format!("{} ({first} to {last}){waiting}", thousands(ports));
    let clients = clients_text(load);
    let command = wider_port_range(first, last);
    if ports < u64::from(load.clients) {
        let reason =
            format!("{clients} need a port each towards one address: connections would fail.");
        let finding = bad(value, reason);
        return match command {
            Some(command) => finding
                .mended_by(command)
                .advised("If there are still too few, use several addresses of the server."),
            None => finding.advised("Use several addresses of the server."),
        };
    }
    if ports < PORTS_PER_CLIENT * u64::from(load.clients) {
        let reason = format!(
            "Enough for {clients}, but not if they reconnect often: a closed connection keeps its port for a \
             minute."
        );
        let finding = caution(value, reason);
        return match command {
            Some(command) => finding.mended_by(command),
            None => finding.advised("Use several addresses of the server."),
        };
    }
    let reason = format!("Enough for {clients} with a connection each.");
    ok(value, reason)
}

fn locked_memory(machine: &MachineFacts, load: IntendedLoad) -> Examined {
    if machine.may_lock_memory {
        return ok("unlimited", "This user has the privilege CAP_IPC_LOCK.");
    }
    let needed = RING_BYTES_PER_CONNECTION * load.connections()
        + RING_BYTES_PER_THREAD * u64::from(load.threads);
    match machine.locked_memory_bytes {
        None => unknown("The limit could not be read."),
        Some(u64::MAX) => ok(
            "unlimited",
            "The rings of io_uring need some on recent kernels.",
        ),
        Some(limit) if limit >= needed => ok(
            bytes(limit),
            format!(
                "The rings of io_uring need about {} at most.",
                bytes(needed)
            ),
        ),
        Some(limit) => {
            let new_limit_kib = (needed / 1024).next_power_of_two().max(65_536);
            caution(bytes(limit),
                format!(
                    "The rings of io_uring may need {} on recent kernels; otherwise Prony uses epoll, which takes \
                     more CPU time.",
                    bytes(needed)
                ),
            )
            .mended_by(format!(
                "printf '* hard memlock {new_limit_kib}\\n* soft memlock {new_limit_kib}\\n' > \
                 /etc/security/limits.d/91-prony.conf"
            ))
            .advised("Log in again afterwards; for a service set LimitMEMLOCK.")
        }
    }
}

fn cgroup_cpu(machine: &MachineFacts, load: IntendedLoad) -> Examined {
    let cgroup = &machine.cgroup;
    if !cgroup.is_known {
        return unknown("The limits of the control group could not be read.");
    }
    let Some(cpus) = cgroup.cpus else {
        return ok("unlimited", "No control group limits the CPU time.");
    };
    let value = format!("{} CPUs", three_digits(cpus));
    let unlimited = if cgroup.cpu_file.ends_with("cfs_quota_us") { "-1" } else { "max" };
    let command = format!("echo {unlimited} > {}", shell_word(&cgroup.cpu_file));
    let advice = "In a container, start it without a CPU limit and pin it instead (--cpuset-cpus).";
    let finding = if cpus < f64::from(load.threads) {
        bad(
            value,
            "The threads of the load may need more: the kernel would stop them for the rest of each period of \
             usually 100 ms, which shows as latency.",
        )
    } else if cpus < machine.cpus.len() as f64 {
        caution(
            value,
            "If the group reaches its limit, the kernel stops it for the rest of each period of usually 100 ms, \
             which shows as latency.",
        )
    } else {
        return ok(
            value,
            "The limit is no lower than the CPUs that it may use.",
        );
    };
    finding.mended_by(command).advised(advice)
}

fn memory(machine: &MachineFacts, load: IntendedLoad) -> Examined {
    let cgroup = &machine.cgroup;
    let in_group = cgroup
        .memory_bytes
        .map(|limit| limit.saturating_sub(cgroup.memory_used_bytes));
    let known = [machine.memory_available_bytes, in_group]
        .into_iter()
        .flatten();
    let available = known
        .min()
        .ok_or("The available memory could not be read.")?;
    let needed = PROCESS_BYTES + CLIENT_BYTES * u64::from(load.clients);
    let is_limited = in_group == Some(available);
    let place = if is_limited { " in the control group" } else { "" };
    let value = format!("{} available{place}", bytes(available));
    if available >= needed {
        let reason = format!("{} need less than {}.", clients_text(load), bytes(needed));
        return ok(value, reason);
    }
    let reason = format!(
        "{} may need {}: the client could be swapped out or killed.",
        clients_text(load),
        bytes(needed)
    );
    let finding = bad(value, reason).advised("Stop other programs, or use a larger machine.");
    if is_limited && !cgroup.memory_file.is_empty() {
        let file = shell_word(&cgroup.memory_file);
        let unlimited = if file.contains("limit_in_bytes") { "-1" } else { "max" };
        finding.mended_by(format!("echo {unlimited} > {file}"))
    } else {
        finding
    }
}

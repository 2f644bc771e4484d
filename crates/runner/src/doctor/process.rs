//! Limits, control group, CPUs and memory.
//!
//! In: the kernel's files. Out: facts. Must never: take a missing limit for no limit, except in control groups
//! that are known to have none.

use super::files::{SystemFiles, parse_number_list};
use prony_judge::doctor::{CgroupLimits, MachineFacts};
use prony_server::observe::machine::{meminfo_bytes, proc_field};
use std::collections::BTreeSet;

/// The bit of `CAP_IPC_LOCK` in a set of capabilities (capability.h).
const CAP_IPC_LOCK: u32 = 14;
/// Limits of memory from here on mean no limit in control groups of version 1: the kernel reports the largest number that is a
/// multiple of the page size.
const UNLIMITED_BYTES: u64 = 1 << 60;

/// Columns of `/proc/self/limits`.
const SOFT: usize = 0;
const HARD: usize = 1;

pub(super) fn read(files: &SystemFiles, facts: &mut MachineFacts) {
    let limits = files.text("proc/self/limits").unwrap_or_default();
    facts.open_files = limit(&limits, "Max open files", HARD);
    facts.locked_memory_bytes = limit(&limits, "Max locked memory", SOFT);
    facts.open_files_max = files.number("proc/sys/fs/nr_open");
    let status = files.text("proc/self/status").unwrap_or_default();
    let capabilities =
        proc_field(&status, "CapEff").and_then(|set| u64::from_str_radix(set, 16).ok());
    let has_ipc_lock = capabilities.is_some_and(|set| set >> CAP_IPC_LOCK & 1 == 1);
    facts.may_lock_memory = has_ipc_lock && !is_in_user_namespace(files);
    facts.cpus = proc_field(&status, "Cpus_allowed_list").map_or(Vec::new(), parse_number_list);
    facts.kernel = files.text("proc/sys/kernel/osrelease");
    facts.io_uring_disabled = files.number("proc/sys/kernel/io_uring_disabled");
    facts.timer_slack_ns = files.number("proc/self/timerslack_ns");
    read_cpus(files, facts);
    facts.cgroup = read_cgroup(files);
    let memory = files.text("proc/meminfo").unwrap_or_default();
    facts.memory_available_bytes = meminfo_bytes(&memory, "MemAvailable");
    facts.swap_bytes = meminfo_bytes(&memory, "SwapTotal")
        .zip(meminfo_bytes(&memory, "SwapFree"))
        .map(|(total, free)| (total, total.saturating_sub(free)));
}

/// Whether this process is in a user namespace of its own, where its capabilities do not lift limits of the machine: the
/// namespace does not map all users of the machine to themselves (user_namespaces(7)).
fn is_in_user_namespace(files: &SystemFiles) -> bool {
    let map = files.text("proc/self/uid_map");
    map.is_some_and(|map| !map.split_ascii_whitespace().eq(["0", "0", "4294967295"]))
}

/// A limit of `/proc/self/limits`; `u64::MAX` if it is unlimited.
fn limit(limits: &str, name: &str, column: usize) -> Option<u64> {
    let mut lines = limits.lines();
    let values = lines.find_map(|line| line.strip_prefix(name))?;
    match values.split_ascii_whitespace().nth(column)? {
        "unlimited" => Some(u64::MAX),
        value => value.parse().ok(),
    }
}

fn read_cpus(files: &SystemFiles, facts: &mut MachineFacts) {
    const CPUS: &str = "sys/devices/system/cpu";
    facts.cpu_frequency = crate::cpu_frequency::read_from(&files.path(CPUS));
    // CPUs of one core have the same list of siblings.
    let siblings = facts
        .cpus
        .iter()
        .map(|cpu| files.text(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list")));
    let cores: Option<BTreeSet<String>> = siblings.collect();
    facts.cores = cores.map(|cores| cores.len() as u32);
    const NODES: &str = "sys/devices/system/node";
    let names = files.names(NODES).into_iter();
    let numbers = names.filter_map(|name| name.strip_prefix("node")?.parse::<u32>().ok());
    let nodes = numbers.filter_map(|number| {
        let cpus = files.text(&format!("{NODES}/node{number}/cpulist"))?;
        Some((number, parse_number_list(&cpus)))
    });
    facts.numa_nodes = nodes.collect();
    facts.numa_nodes.sort_unstable();
    const CLOCK: &str = "sys/devices/system/clocksource/clocksource0";
    facts.clock_source = files.text(&format!("{CLOCK}/current_clocksource"));
    let available = files.text(&format!("{CLOCK}/available_clocksource"));
    let available = available.unwrap_or_default();
    facts.available_clock_sources = available.split(' ').map(str::to_owned).collect();
}

/// The strictest limits of this process's control group and of those above it.
fn read_cgroup(files: &SystemFiles) -> CgroupLimits {
    let groups = files.text("proc/self/cgroup").unwrap_or_default();
    let unified = groups.lines().find_map(|line| line.strip_prefix("0::"));
    match unified {
        Some(path) if files.text("sys/fs/cgroup/cgroup.controllers").is_some() => {
            read_unified_cgroup(files, path)
        }
        _ => read_version_1_cgroup(files, &groups),
    }
}

/// Version 2: one hierarchy (Documentation/admin-guide/cgroup-v2.rst).
fn read_unified_cgroup(files: &SystemFiles, path: &str) -> CgroupLimits {
    let mut path = path.trim_matches('/');
    // The path of a group outside a container's namespace does not exist, or starts with `..`.
    let is_visible = path.split('/').all(|name| name != "..");
    let mut limits = CgroupLimits {
        is_known: is_visible && files.path("sys/fs/cgroup").join(path).is_dir(),
        ..CgroupLimits::default()
    };
    loop {
        let folder = match path {
            "" => "sys/fs/cgroup".to_owned(),
            path => format!("sys/fs/cgroup/{path}"),
        };
        let cpu_max = files.text(&format!("{folder}/cpu.max")).unwrap_or_default();
        if let Some((quota, period)) = cpu_max.split_once(' ')
            && let (Ok(quota), Ok(period)) = (quota.parse::<f64>(), period.parse::<f64>())
        {
            limit_cpus(&mut limits, quota / period, format!("/{folder}/cpu.max"));
        }
        let used = memory_used(files, &folder, "memory.current", "inactive_file");
        if let Some(bytes) = files.number(&format!("{folder}/memory.max")) {
            limit_memory(&mut limits, bytes, used, format!("/{folder}/memory.max"));
        }
        if path.is_empty() {
            return limits;
        }
        path = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
}

/// Version 1: a hierarchy for each controller; in a container its root is the container's group.
fn read_version_1_cgroup(files: &SystemFiles, groups: &str) -> CgroupLimits {
    let mut limits = CgroupLimits::default();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        for controller in controllers.split(',') {
            let mut path = path.trim_end_matches('/');
            loop {
                let folder = format!("sys/fs/cgroup/{controller}{path}");
                read_version_1_controller(files, controller, &folder, &mut limits);
                let Some((parent, _)) = path.rsplit_once('/') else {
                    break;
                };
                path = parent;
            }
        }
    }
    limits
}

fn read_version_1_controller(
    files: &SystemFiles,
    controller: &str,
    folder: &str,
    limits: &mut CgroupLimits,
) {
    let number = |name: &str| files.number::<f64>(&format!("{folder}/{name}"));
    match controller {
        "cpu" => {
            let times = number("cpu.cfs_quota_us").zip(number("cpu.cfs_period_us"));
            limits.is_known |= times.is_some();
            // A quota of -1 is no limit.
            if let Some((quota, period)) = times.filter(|(quota, _)| *quota > 0.0) {
                limit_cpus(
                    limits,
                    quota / period,
                    format!("/{folder}/cpu.cfs_quota_us"),
                );
            }
        }
        "memory" => {
            let bytes: Option<u64> = files.number(&format!("{folder}/memory.limit_in_bytes"));
            let used = memory_used(
                files,
                folder,
                "memory.usage_in_bytes",
                "total_inactive_file",
            );
            if let Some(bytes) = bytes.filter(|bytes| *bytes < UNLIMITED_BYTES) {
                limit_memory(
                    limits,
                    bytes,
                    used,
                    format!("/{folder}/memory.limit_in_bytes"),
                );
            }
        }
        _ => {}
    }
}

/// Memory that a group uses without inactive pages of files, which the kernel drops if the group needs memory.
fn memory_used(
    files: &SystemFiles,
    folder: &str,
    usage_file: &str,
    inactive_field: &str,
) -> Option<u64> {
    let used: u64 = files.number(&format!("{folder}/{usage_file}"))?;
    let statistics = files.text(&format!("{folder}/memory.stat"));
    let inactive = statistics.and_then(|text| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(inactive_field)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()
    });
    Some(used.saturating_sub(inactive.unwrap_or(0)))
}

/// Records a limit of the CPU time if it is stricter than the known one.
fn limit_cpus(limits: &mut CgroupLimits, cpus: f64, file: String) {
    if cpus.is_finite() && limits.cpus.is_none_or(|known| cpus < known) {
        limits.cpus = Some(cpus);
        limits.cpu_file = file;
    }
}

/// Records a limit of the memory if it leaves less than the known one.
fn limit_memory(limits: &mut CgroupLimits, bytes: u64, used: Option<u64>, file: String) {
    let used = used.unwrap_or(0);
    let known_left = limits
        .memory_bytes
        .map(|known| known.saturating_sub(limits.memory_used_bytes));
    if known_left.is_none_or(|left| bytes.saturating_sub(used) < left) {
        limits.memory_bytes = Some(bytes);
        limits.memory_used_bytes = used;
        limits.memory_file = file;
    }
}

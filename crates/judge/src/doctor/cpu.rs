//! Kernel, io_uring and CPUs: frequency, SMT, NUMA, time that others take, timers and clocks.
//!
//! In: the facts and the load. Out: findings. Must never: report a virtual machine's missing files as a fault.

use super::network::{devices, judged_interfaces};
use super::{Examined, IntendedLoad, MachineFacts, Remedied, bad, caution, named, ok, unknown};
use crate::client_setup::slow_cpus;
use crate::formatting::{count, percent, time};
use crate::thresholds::{NEIGHBOURS_INVALID_SHARE, NEIGHBOURS_MAX_SHARE, severity_of_effect};
use prony_store::{DoctorFinding, Severity};

/// First kernel with all features of io_uring that the load loop uses.
const IO_URING_KERNEL: (u32, u32) = (6, 1);
/// Median lateness of timers above which a scheduled start is noticeably late, nanoseconds: an empty statement
/// over a network takes about as long.
const TIMER_LATENESS_CAUTION_NS: u64 = 300_000;
/// Lateness of a kernel without high-resolution timers, which wakes a thread at its ticks, nanoseconds.
const TIMER_LATENESS_BAD_NS: u64 = 900_000;
/// Clock sources that a process reads without a system call (arch/x86/entry/vdso, arch/arm64, arch/riscv).
const FAST_CLOCK_SOURCES: [&str; 6] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "riscv_clocksource",
    "timebase",
];

pub(super) fn findings(machine: &MachineFacts, load: IntendedLoad) -> Vec<DoctorFinding> {
    named([
        ("kernel", kernel(machine)),
        ("io-uring", io_uring(machine)),
        ("cpu-frequency", cpu_frequency(machine)),
        ("smt", smt(machine, load)),
        ("numa", numa(machine)),
        ("steal", steal(machine)),
        ("other-load", other_load(machine)),
        ("timer", timer(machine)),
        ("clock-source", clock_source(machine)),
    ])
}

/// Major and minor number of a kernel's release, such as `6.1.0-13-amd64`.
fn release_numbers(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn kernel(machine: &MachineFacts) -> Examined {
    let release = machine
        .kernel
        .as_ref()
        .ok_or("The release could not be read.")?;
    let value = format!("Linux {release}");
    match release_numbers(release) {
        Some(numbers) if numbers >= IO_URING_KERNEL => {
            ok(value, "It has all features that Prony uses.")
        }
        Some(_) => caution(
            value,
            "Before 6.1, Prony uses epoll, which takes more CPU time than io_uring.",
        )
        .advised("Use a distribution with kernel 6.1 or newer, such as Debian 12."),
        None => unknown(format!("The release {release} has no version number.")),
    }
}

fn io_uring(machine: &MachineFacts) -> Examined {
    let Some(problem) = &machine.io_uring_problem else {
        return ok("usable", "Prony uses it with all features it needs.");
    };
    let finding = caution(
        "not usable",
        format!("{problem}; Prony uses epoll, which takes more CPU time."),
    );
    match machine.io_uring_disabled {
        Some(1..) => finding.mended_by("sysctl -w kernel.io_uring_disabled=0"),
        _ => finding.advised(
            "In a container, allow io_uring's system calls in the seccomp profile; otherwise use kernel 6.1 or \
             newer.",
        ),
    }
}

fn cpu_frequency(machine: &MachineFacts) -> Examined {
    const SET_GOVERNOR: &str = "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo \
                                performance > \"$f\"; done";
    const REMOVE_LIMIT: &str = "for d in /sys/devices/system/cpu/cpu*/cpufreq; do cat \"$d/cpuinfo_max_freq\" > \
                                \"$d/scaling_max_freq\"; done";
    let frequency = machine.cpu_frequency.as_ref();
    let frequency = frequency
        .ok_or("The kernel does not report it, as on most virtual machines: the host decides.")?;
    let limit = match (frequency.limit_mhz, frequency.max_mhz) {
        (Some(limit), Some(max)) => format!(", {limit} of {max} MHz"),
        _ => String::new(),
    };
    let value = format!("{} ({}){limit}", frequency.governor, frequency.driver);
    if let Some(slow) = slow_cpus(frequency) {
        let reason = format!("The CPUs {slow}: the client would overstate latency.");
        return bad(value, reason).mended_by(format!("{SET_GOVERNOR}\n{REMOVE_LIMIT}"));
    }
    if frequency.governor != "performance" {
        let reason =
            "The frequency follows the load: a client that is not busy reacts more slowly.";
        return caution(value, reason).mended_by(SET_GOVERNOR);
    }
    ok(value, "The CPUs may run at their highest frequency.")
}

fn smt(machine: &MachineFacts, load: IntendedLoad) -> Examined {
    let cpus = machine.cpus.len() as u64;
    let known_cores = machine.cores.filter(|_| cpus > 0);
    let cores = known_cores.ok_or("The kernel does not report which CPUs share a core.")?;
    let cores = u64::from(cores);
    let value = format!("{} on {}", count(cpus, "CPU"), count(cores, "core"));
    if cores >= cpus {
        return ok(value, "No two of these CPUs share a core.");
    }
    if u64::from(load.threads) > cores {
        return caution(
            value,
            format!(
                "{} share cores, so each is slower while its neighbour is busy.",
                count(u64::from(load.threads), "thread")
            ),
        )
        .advised(format!(
            "Use at most --threads {cores}, or a machine with more cores."
        ));
    }
    ok(
        value,
        "There is a core for each thread of the load, if other programs leave it.",
    )
}

fn numa(machine: &MachineFacts) -> Examined {
    if machine.numa_nodes.is_empty() {
        return unknown("The kernel does not report NUMA nodes.");
    }
    if machine.cpus.is_empty() {
        return unknown("The kernel does not report which CPUs this process may use.");
    }
    let nodes = machine.numa_nodes.iter();
    let usable: Vec<u32> = nodes
        .filter(|(_, cpus)| cpus.iter().any(|cpu| machine.cpus.contains(cpu)))
        .map(|(number, _)| *number)
        .collect();
    let value = count(usable.len().max(1) as u64, "node");
    if usable.len() <= 1 {
        return ok(value, "All CPUs that this process may use are on one node.");
    }
    let interfaces = judged_interfaces(machine).into_iter();
    let devices = interfaces.flat_map(|interface| devices(machine, interface));
    let near_network = devices
        .filter_map(|device| device.numa_node)
        .find(|node| usable.contains(node));
    let node = near_network.unwrap_or(usable[0]);
    caution(value,
        "Threads may run on a node other than that of their memory or of the network interface, which is slower \
         and differs from run to run.",
    )
    .advised(format!(
        "Start Prony on one node: numactl --cpunodebind={node} --membind={node} prony run ..."
    ))
}

fn steal(machine: &MachineFacts) -> Examined {
    let usage = machine
        .usage
        .ok_or("The machine was not watched (--watch 0s).")?;
    let share = usage.steal_share.ok_or("The kernel does not report it.")?;
    let value = format!("{} of {:.0} s", percent(share), usage.seconds);
    let reason = "The hypervisor gave CPU time of this machine to other guests.";
    let advice = "Use a machine with dedicated CPUs, or measure at another time of the day.";
    match severity_of_effect(share) {
        None => ok(value, "The hypervisor took no noticeable CPU time."),
        Some(Severity::Invalid) => bad(value, reason).advised(advice),
        Some(_) => caution(value, reason).advised(advice),
    }
}

/// The load of other programs. If the server is on this machine, it is one of them.
fn other_load(machine: &MachineFacts) -> Examined {
    let usage = machine
        .usage
        .ok_or("The machine was not watched (--watch 0s).")?;
    let share = usage.busy_share.ok_or("The kernel does not report it.")?;
    let value = format!("CPUs {} busy for {:.0} s", percent(share), usage.seconds);
    let reason = "Other programs use the CPUs before any load is driven.";
    let advice = "Stop other programs (top shows them), or use a machine of its own.";
    if share > NEIGHBOURS_INVALID_SHARE {
        bad(value, reason).advised(advice)
    } else if share > NEIGHBOURS_MAX_SHARE {
        caution(value, reason).advised(advice)
    } else {
        ok(value, "The machine is nearly idle.")
    }
}

fn timer(machine: &MachineFacts) -> Examined {
    let lateness_ns = machine.timer_lateness_ns;
    let lateness_ns = lateness_ns.ok_or("The precision of timers was not measured.")?;
    let slack = match machine.timer_slack_ns {
        Some(ns) => format!("; slack of other threads {}", time(ns as f64)),
        None => String::new(),
    };
    let value = format!("late by {} (median){slack}", time(lateness_ns as f64));
    let advice = "Use a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS, no highres=off), and an idle \
                  machine; --wait spin avoids sleeping.";
    let reason = "Scheduled starts (--rate) would be late by as much.";
    match lateness_ns {
        TIMER_LATENESS_BAD_NS.. => bad(value, reason).advised(advice),
        TIMER_LATENESS_CAUTION_NS.. => caution(value, reason).advised(advice),
        _ => ok(value, "Prony sets a slack of 1 ns for its own threads."),
    }
}

fn clock_source(machine: &MachineFacts) -> Examined {
    let clock_source = machine.clock_source.as_ref();
    let source = clock_source.ok_or("The kernel does not report it.")?;
    if FAST_CLOCK_SOURCES.contains(&source.as_str()) {
        return ok(source, "The clock is read without a system call.");
    }
    let finding = caution(
        source,
        "Each reading of the clock is a system call, and Prony reads it for each reply.",
    );
    let available = &machine.available_clock_sources;
    let mut fast_clock_sources = FAST_CLOCK_SOURCES.iter();
    let fast = fast_clock_sources.find(|fast| available.iter().any(|source| source == *fast));
    match fast {
        Some(fast) => finding.mended_by(format!(
            "echo {fast} > /sys/devices/system/clocksource/clocksource0/current_clocksource"
        )),
        None => finding.advised("The host offers no other clock: use another type of machine."),
    }
}

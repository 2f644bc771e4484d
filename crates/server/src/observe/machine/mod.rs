//! Resource usage of a machine: CPUs, memory, disks, network links, and the processes of a database server.
//!
//! In: `/proc` of this machine, or the URL of a node_exporter. Out: a [`MachineReading`]. Must never:
//! return zero for a value that could not be read, or attribute this machine's usage to a server
//! that is not proven to run on it.

mod colocation;
mod cpu_time;
mod exporter;
mod links;
mod proc;
mod space;

pub use colocation::{Colocation, find_colocation};
pub use cpu_time::{ServerProcesses, ServingTask, thread_cpu_s};
pub use exporter::Exporter;
pub use links::Link;
pub use proc::{
    describe as describe_this_machine, field as proc_field, meminfo_bytes,
    read as read_this_machine, throttled_s,
};
pub use space::{FreeSpace, find_free_space};

use prony_document::MachineSecond;

/// A machine's counters at one moment, counted since its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineReading {
    pub cpus: Vec<Cpu>,
    pub memory_bytes: Option<u64>,
    /// Memory available to programs, bytes.
    pub memory_available_bytes: Option<u64>,
    /// Swapped in and out since the machine's start, bytes.
    pub swapped_bytes: Option<u64>,
    pub disks: Vec<Disk>,
    /// Each network link's counters; only of this machine, not of a node_exporter.
    pub links: Vec<Link>,
    /// Description of the machine. Only a node_exporter fills it in; [`describe_this_machine`] describes
    /// this machine.
    pub description: MachineDescription,
}

/// The properties of a machine that do not change during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineDescription {
    pub cpu: Option<String>,
    pub kernel: Option<String>,
    pub storage: Option<String>,
}

/// The kind of a disk, by its name and whether it rotates.
fn disk_kind(name: &str, rotates: bool) -> &'static str {
    match name {
        name if name.starts_with("nvme") => "NVMe",
        // For a virtual disk, a hypervisor may report either value of `rotates`.
        name if name.starts_with("vd") || name.starts_with("xvd") => "virtual disk",
        _ if rotates => "hard disk",
        _ => "SSD",
    }
}

/// The distinct kinds of disks, in one text; `None` without disks.
fn join_kinds(kinds: impl Iterator<Item = &'static str>) -> Option<String> {
    let kinds: std::collections::BTreeSet<&str> = kinds.collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    (!kinds.is_empty()).then(|| kinds.join(" and "))
}

/// Times of one CPU, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Busy: user, nice, system and interrupts.
    pub busy_s: f64,
    /// Idle while I/O was in progress.
    pub io_wait_s: f64,
    /// Taken by the hypervisor.
    pub steal_s: f64,
    /// Idle, without I/O.
    pub idle_s: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Disk {
    pub name: String,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Time with I/O in progress, seconds.
    pub busy_s: f64,
}

impl Cpu {
    fn since(self, before: Cpu) -> Cpu {
        // Idle time and I/O wait may decrease slightly (proc(5)): count a decrease as zero.
        Cpu {
            busy_s: (self.busy_s - before.busy_s).max(0.0),
            io_wait_s: (self.io_wait_s - before.io_wait_s).max(0.0),
            steal_s: (self.steal_s - before.steal_s).max(0.0),
            idle_s: (self.idle_s - before.idle_s).max(0.0),
        }
    }

    fn total_s(self) -> f64 {
        self.busy_s + self.io_wait_s + self.steal_s + self.idle_s
    }
}

impl MachineReading {
    /// Usage since an earlier reading, `seconds` before this one; without the CPU time of the server's processes, and
    /// without throttling.
    pub fn usage_since(&self, before: &MachineReading, seconds: f64) -> MachineSecond {
        let mut usage = MachineSecond {
            memory_available_bytes: self.memory_available_bytes,
            ..MachineSecond::default()
        };
        if self.cpus.len() == before.cpus.len() {
            let pairs = self.cpus.iter().zip(&before.cpus);
            let cpus: Vec<Cpu> = pairs.map(|(now, before)| now.since(*before)).collect();
            let total_s: f64 = cpus.iter().map(|cpu| cpu.total_s()).sum();
            let share = |time_s: fn(&Cpu) -> f64| {
                (total_s > 0.0).then(|| cpus.iter().map(time_s).sum::<f64>() / total_s)
            };
            usage.busy_share = share(|cpu| cpu.busy_s);
            usage.io_wait_share = share(|cpu| cpu.io_wait_s);
            usage.steal_share = share(|cpu| cpu.steal_s);
            let active = cpus.iter().filter(|cpu| cpu.total_s() > 0.0);
            usage.busiest_cpu_share = active
                .map(|cpu| cpu.busy_s / cpu.total_s())
                .reduce(f64::max);
        }
        let swapped = self.swapped_bytes.zip(before.swapped_bytes);
        usage.swap_bytes = swapped.and_then(|(now, before)| now.checked_sub(before));
        usage.network_bytes = links::bytes_since(&self.links, &before.links);
        usage.link_busy_share = links::busiest_share(&self.links, &before.links, seconds);
        let pairs = self.disks.iter().filter_map(|now| {
            let mut earlier = before.disks.iter();
            Some((now, earlier.find(|disk| disk.name == now.name)?))
        });
        let pairs: Vec<(&Disk, &Disk)> = pairs.collect();
        if !pairs.is_empty() && seconds > 0.0 {
            let sum = |bytes: fn(&Disk) -> u64| {
                let increases = pairs
                    .iter()
                    .map(|(now, before)| bytes(now).saturating_sub(bytes(before)));
                Some(increases.sum())
            };
            usage.disk_read_bytes = sum(|disk| disk.read_bytes);
            usage.disk_write_bytes = sum(|disk| disk.write_bytes);
            let busy = pairs
                .iter()
                .map(|(now, before)| (now.busy_s - before.busy_s) / seconds);
            usage.disk_busy_share = busy.reduce(f64::max).map(|share| share.clamp(0.0, 1.0));
        }
        usage
    }
}

/// Whether a block device is a physical disk: not a partition, loop device or RAM disk, and not a
/// device on top of other devices, whose I/O would be counted twice.
fn is_disk(name: &str) -> bool {
    let not_physical = ["loop", "ram", "zram", "dm-", "md", "sr", "fd"];
    if not_physical.iter().any(|start| name.starts_with(start)) {
        return false;
    }
    let digit = |c: char| c.is_ascii_digit();
    match name {
        // nvme0n1p2 and mmcblk0p1 are partitions; nvme0n1 and mmcblk0 are disks.
        name if name.starts_with("nvme") || name.starts_with("mmcblk") => {
            let part = name.rsplit_once('p').map(|(_, number)| number);
            !part.is_some_and(|number| !number.is_empty() && number.chars().all(digit))
        }
        name => !name.ends_with(digit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_physical_disks_are_counted() {
        for (name, expected) in [
            ("sda", true),
            ("sda1", false),
            ("vdb", true),
            ("xvda2", false),
            ("nvme0n1", true),
            ("nvme0n1p1", false),
            ("mmcblk0", true),
            ("mmcblk0p2", false),
            ("dm-0", false),
            ("loop3", false),
        ] {
            assert_eq!(is_disk(name), expected, "{name}");
        }
    }

    #[test]
    fn usage_between_two_readings() {
        let cpu = |busy_s, io_wait_s, steal_s, idle_s| Cpu {
            busy_s,
            io_wait_s,
            steal_s,
            idle_s,
        };
        let disk = |read_bytes, busy_s| Disk {
            name: "sda".to_owned(),
            read_bytes,
            write_bytes: 5,
            busy_s,
        };
        let before = MachineReading {
            cpus: vec![cpu(100.0, 1.0, 0.0, 50.0), cpu(10.0, 0.0, 0.0, 90.0)],
            disks: vec![disk(1000, 3.0)],
            ..MachineReading::default()
        };
        let now = MachineReading {
            cpus: vec![cpu(101.0, 1.0, 0.0, 50.0), cpu(10.4, 0.2, 0.1, 90.3)],
            disks: vec![disk(4000, 3.25)],
            ..MachineReading::default()
        };
        let usage = now.usage_since(&before, 1.0);
        let is_near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(is_near(usage.busy_share, 0.7), "{usage:?}");
        assert!(is_near(usage.busiest_cpu_share, 1.0), "{usage:?}");
        assert!(
            is_near(usage.io_wait_share, 0.1) && is_near(usage.steal_share, 0.05),
            "{usage:?}"
        );
        assert_eq!(
            (usage.disk_read_bytes, usage.disk_write_bytes),
            (Some(3000), Some(0))
        );
        assert!(is_near(usage.disk_busy_share, 0.25), "{usage:?}");
        let unknown = MachineReading::default().usage_since(&MachineReading::default(), 1.0);
        assert_eq!(unknown, MachineSecond::default(), "absent, not zero");
    }
}

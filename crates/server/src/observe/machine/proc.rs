//! Reads this machine from the kernel's files.
//!
//! In: `/proc`, `/sys/fs/cgroup`, `/sys/class/net`. Out: a [`MachineReading`]. Must never: fail because a file does not
//! exist.

use super::{Cpu, Disk, MachineDescription, MachineReading, disk_kind, is_disk, join_kinds, links};
use std::fs::read_to_string;

/// Ticks per second in CPU times in `/proc`: USER_HZ, which is 100 on every Linux.
pub(super) const TICKS_PER_SECOND: f64 = 100.0;
/// Sector size in `/proc/diskstats`, regardless of the disk's own sector size.
const SECTOR_BYTES: u64 = 512;

pub fn read() -> MachineReading {
    let text = |path: &str| read_to_string(path).unwrap_or_default();
    let memory = text("/proc/meminfo");
    MachineReading {
        cpus: parse_cpus(&text("/proc/stat")),
        memory_bytes: meminfo_bytes(&memory, "MemTotal"),
        memory_available_bytes: meminfo_bytes(&memory, "MemAvailable"),
        swapped_bytes: swapped_bytes(&text("/proc/vmstat")),
        disks: parse_disks(&text("/proc/diskstats")),
        links: links::read(),
        description: MachineDescription::default(),
    }
}

pub fn describe() -> MachineDescription {
    let read_trimmed = |path: &str| {
        let text = read_to_string(path).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let cpuinfo = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let kernel = |name: &str| read_trimmed(&format!("/proc/sys/kernel/{name}"));
    let disks = read_to_string("/proc/diskstats").unwrap_or_default();
    let kinds = parse_disks(&disks).into_iter().filter_map(|disk| {
        let rotates = read_trimmed(&format!("/sys/block/{}/queue/rotational", disk.name))?;
        Some(disk_kind(&disk.name, rotates == "1"))
    });
    MachineDescription {
        cpu: field(&cpuinfo, "model name").map(str::to_owned),
        kernel: kernel("ostype")
            .zip(kernel("osrelease"))
            .map(|(name, release)| format!("{name} {release}")),
        storage: join_kinds(kinds),
    }
}

/// Bytes swapped in and out since the start of the machine (proc(5): pages).
fn swapped_bytes(vmstat: &str) -> Option<u64> {
    let pages = |name: &str| {
        let lines = vmstat.lines();
        let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        values.next()?.trim().parse::<u64>().ok()
    };
    let pages = pages("pswpin")?.checked_add(pages("pswpout")?)?;
    pages.checked_mul(page_bytes()?)
}

/// Size of a page of memory; `None` if the system does not report it.
fn page_bytes() -> Option<u64> {
    // SAFETY: sysconf takes no pointers.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).ok().filter(|size| *size > 0)
}

/// Time for which the CPU limit has throttled this process's control group since the group was
/// created, in seconds.
pub fn throttled_s() -> Option<f64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    // cgroup version 2 has one line; in a container's namespace its path is the root.
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let stat = read_to_string(format!("/sys/fs/cgroup{path}/cpu.stat")).ok()?;
    parse_throttled_s(&stat)
}

fn parse_throttled_s(stat: &str) -> Option<f64> {
    let line = stat
        .lines()
        .find_map(|line| line.strip_prefix("throttled_usec "))?;
    Some(line.trim().parse::<u64>().ok()? as f64 / 1e6)
}

/// Parses one line per CPU: user, nice, system, idle, iowait, irq, softirq, steal; user includes
/// guests.
fn parse_cpus(stat: &str) -> Vec<Cpu> {
    let lines = stat.lines().filter_map(|line| {
        let (number, times) = line.strip_prefix("cpu")?.split_once(' ')?;
        number.parse::<u32>().ok()?;
        let times = times
            .split_ascii_whitespace()
            .map(|ticks| ticks.parse::<u64>().ok());
        let ticks = times.take(8).collect::<Option<Vec<u64>>>()?;
        let seconds = |index: usize| {
            ticks
                .get(index)
                .map_or(0.0, |t| *t as f64 / TICKS_PER_SECOND)
        };
        Some(Cpu {
            busy_s: seconds(0) + seconds(1) + seconds(2) + seconds(5) + seconds(6),
            io_wait_s: seconds(4),
            steal_s: seconds(7),
            idle_s: seconds(3),
        })
    });
    lines.collect()
}

/// The value of the first line `name: value` of a file such as `/proc/self/status`.
pub fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(key, _)| key.trim() == name)?;
    Some(value.trim())
}

/// The value of a line of `/proc/meminfo`, in bytes.
pub fn meminfo_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let value = field(meminfo, name)?.strip_suffix(" kB")?;
    let kib = value.trim().parse::<u64>().ok()?;
    kib.checked_mul(1024)
}

/// Parses lines of major, minor, name, reads, merged, sectors read, ms, writes, merged, sectors
/// written, ms, in progress, ms with I/O in progress (Documentation/admin-guide/iostats.rst).
fn parse_disks(diskstats: &str) -> Vec<Disk> {
    let lines = diskstats.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let name = fields.get(2).filter(|name| is_disk(name))?;
        Some(Disk {
            name: (*name).to_owned(),
            read_bytes: number(5)?.saturating_mul(SECTOR_BYTES),
            write_bytes: number(9)?.saturating_mul(SECTOR_BYTES),
            busy_s: number(12)? as f64 / 1e3,
        })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn proc_files_are_parsed() {
        let stat = "cpu  300 0 0 0 0 0 0 0 0 0\ncpu0 100 10 50 700 30 5 5 20 40 0\nintr 5\n";
        let cpus = parse_cpus(stat);
        assert_eq!(cpus.len(), 1, "without the line for all CPUs");
        assert!((cpus[0].busy_s - 1.7).abs() < 1e-9, "{cpus:?}");
        let times = (cpus[0].io_wait_s, cpus[0].steal_s, cpus[0].idle_s);
        assert_eq!(times, (0.3, 0.2, 7.0));
        let memory = "MemTotal:       16000 kB\nMemAvailable:    9000 kB\n";
        assert_eq!(meminfo_bytes(memory, "MemAvailable"), Some(9_216_000));
        assert_eq!(meminfo_bytes(memory, "Dirty"), None);
        let page = page_bytes().unwrap();
        assert_eq!(swapped_bytes("pswpin 3\npswpout 4\n"), Some(7 * page));
        assert_eq!(swapped_bytes("pgpgin 3\n"), None);
        let stats = " 8 0 sda 10 0 200 7 20 0 400 9 0 1500 16\n 8 1 sda1 1 0 2 0 0 0 0 0 0 0 0\n";
        let disks = parse_disks(stats);
        assert_eq!(disks.len(), 1);
        assert_eq!(
            (disks[0].read_bytes, disks[0].write_bytes),
            (102_400, 204_800)
        );
        assert_eq!(disks[0].busy_s, 1.5);
        assert_eq!(
            parse_throttled_s("nr_throttled 3\nthrottled_usec 2500000\n"),
            Some(2.5)
        );
        assert_eq!(parse_throttled_s("usage_usec 5\n"), None);
    }

    #[test]
    fn this_machine_can_be_read() {
        let reading = read();
        assert!(!reading.cpus.is_empty());
        assert!(reading.memory_available_bytes < reading.memory_bytes);
        let kernel = describe().kernel.expect("the kernel names itself");
        kernel.assert_starts_with("Linux ");
    }
}

//! How this machine sets the frequency of its CPUs.
//!
//! In: `/sys/devices/system/cpu`. Out: driver, governor and limits. Must never: fail a run; most virtual machines
//! have none of these files.

use crate::doctor::files::SystemFiles;
use prony_store::CpuFrequency;
use std::collections::BTreeSet;
use std::fs::read_dir;
use std::path::Path;

/// The frequency settings of this machine; `None` if the kernel does not report any.
pub(crate) fn read() -> Option<CpuFrequency> {
    read_from(Path::new("/sys/devices/system/cpu"))
}

/// Reads `cpu*/cpufreq` in this folder (Documentation/admin-guide/pm/cpufreq.rst; frequencies in kHz). The limits
/// are those of the CPU that has the lowest limit relative to its maximum.
pub(crate) fn read_from(folder: &Path) -> Option<CpuFrequency> {
    let mut governors = BTreeSet::new();
    let mut drivers = BTreeSet::new();
    // Limit and maximum of one CPU, kHz.
    let mut limits: Option<(u64, u64)> = None;
    for cpu in read_dir(folder).ok()?.flatten() {
        let files = SystemFiles::new(&cpu.path().join("cpufreq"));
        let khz = |name: &str| files.number::<u64>(name).filter(|khz| *khz > 0);
        governors.extend(files.text("scaling_governor"));
        drivers.extend(files.text("scaling_driver"));
        if let (Some(limit), Some(max)) = (khz("scaling_max_freq"), khz("cpuinfo_max_freq")) {
            // limit / max < lowest / its_max, without a division.
            let is_lowest = limits.is_none_or(|(lowest, its_max)| {
                u128::from(limit) * u128::from(its_max) < u128::from(lowest) * u128::from(max)
            });
            if is_lowest {
                limits = Some((limit, max));
            }
        }
    }
    if governors.is_empty() {
        return None;
    }
    let join = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(" and ");
    Some(CpuFrequency {
        driver: join(drivers),
        governor: join(governors),
        limit_mhz: limits.map(|(limit, _)| limit / 1000),
        max_mhz: limits.map(|(_, max)| max / 1000),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TestFolder;

    fn write_cpu(folder: &Path, name: &str, governor: &str, limit_khz: u64) {
        let cpufreq = folder.join(name).join("cpufreq");
        std::fs::create_dir_all(&cpufreq).unwrap();
        let files = [
            ("scaling_driver", "acpi-cpufreq".to_owned()),
            ("scaling_governor", governor.to_owned()),
            ("scaling_max_freq", limit_khz.to_string()),
            ("cpuinfo_max_freq", "3000000".to_owned()),
        ];
        for (file, text) in files {
            std::fs::write(cpufreq.join(file), text + "\n").unwrap();
        }
    }

    #[test]
    fn the_governor_and_the_strictest_limit_are_read() {
        let folder = TestFolder::create();
        write_cpu(&folder, "cpu0", "performance", 3_000_000);
        write_cpu(&folder, "cpu1", "powersave", 1_200_000);
        std::fs::create_dir_all(folder.join("cpuidle")).unwrap();
        let frequency = read_from(&folder);
        assert_eq!(
            frequency,
            Some(CpuFrequency {
                driver: "acpi-cpufreq".to_owned(),
                governor: "performance and powersave".to_owned(),
                limit_mhz: Some(1200),
                max_mhz: Some(3000),
            })
        );
        assert_eq!(read_from(&folder.join("absent")), None);
    }
}

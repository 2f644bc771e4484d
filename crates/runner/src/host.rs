//! The build of Prony and the client machine, for the Run document.
//!
//! Values that the kernel does not report are empty. Must never: fail a run.

use prony_plan::cpu_count;
use prony_store::{Build, BuildProfile, Host};
use std::fs::read_to_string;

pub fn this_build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        profile: if cfg!(debug_assertions) {
            BuildProfile::Debug
        } else {
            BuildProfile::Release
        },
        commit: option_env!("PRONY_COMMIT").map(str::to_owned),
    }
}

pub fn this_machine() -> Host {
    let kernel = |name: &str| read_trimmed(&format!("/proc/sys/kernel/{name}"));
    Host {
        name: kernel("hostname"),
        kernel: format!("{} {}", kernel("ostype"), kernel("osrelease")),
        cpu: read_proc_field("/proc/cpuinfo", "model name"),
        cpus: cpu_count() as u32,
        memory_bytes: read_proc_field("/proc/meminfo", "MemTotal")
            .trim_end_matches(" kB")
            .parse::<u64>()
            .map_or(0, |kib| kib * 1024),
        cpu_frequency: crate::cpu_frequency::read(),
    }
}

fn read_trimmed(path: &str) -> String {
    read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The value of the first line `name : value` of a file; empty if there is none.
fn read_proc_field(path: &str, name: &str) -> String {
    let text = read_to_string(path).unwrap_or_default();
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    value.unwrap_or_default()
}

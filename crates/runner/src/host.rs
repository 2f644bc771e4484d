//! The build of Prony and the client machine, for the Run document.
//!
//! Values that the kernel does not report are empty. Must never: fail a run.

use prony_plan::cpu_count;
use prony_server::observe::machine::{meminfo_bytes, proc_field};
use prony_store::{Build, BuildProfile, Host};
use std::fs::read_to_string;

pub fn this_build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        profile: if cfg!(debug_assertions) { BuildProfile::Debug } else { BuildProfile::Release },
        commit: option_env!("PRONY_COMMIT").map(str::to_owned),
    }
}

pub fn this_machine() -> Host {
    let kernel = |name: &str| text(&format!("/proc/sys/kernel/{name}")).trim().to_owned();
    Host {
        name: kernel("hostname"),
        kernel: format!("{} {}", kernel("ostype"), kernel("osrelease")),
        cpu: proc_field(&text("/proc/cpuinfo"), "model name")
            .unwrap_or_default()
            .to_owned(),
        cpus: cpu_count() as u32,
        memory_bytes: meminfo_bytes(&text("/proc/meminfo"), "MemTotal").unwrap_or(0),
        cpu_frequency: crate::cpu_frequency::read(),
    }
}

/// The text of a file; empty if it cannot be read.
fn text(path: &str) -> String {
    read_to_string(path).unwrap_or_default()
}

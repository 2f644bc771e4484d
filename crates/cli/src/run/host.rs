//! Which Prony, on which machine.
//!
//! In: the kernel's files. Out: facts for the document; empty where the kernel does not tell. Must
//! never: fail a run.

use prony_store::{Build, Host};
use std::fs::read_to_string;

/// Which Prony.
pub fn build() -> Build {
    Build {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        profile: if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        }
        .to_owned(),
    }
}

/// Processors of this machine that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Which machine.
pub fn host() -> Host {
    let kernel = |name: &str| line(&format!("/proc/sys/kernel/{name}"));
    Host {
        name: kernel("hostname"),
        kernel: format!("{} {}", kernel("ostype"), kernel("osrelease")),
        cpu: field("/proc/cpuinfo", "model name"),
        cpus: processors() as u32,
        memory_bytes: field("/proc/meminfo", "MemTotal")
            .trim_end_matches(" kB")
            .parse::<u64>()
            .map_or(0, |kib| kib * 1024),
    }
}

fn line(path: &str) -> String {
    read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The value of the first `name : value` line.
fn field(path: &str, name: &str) -> String {
    let text = read_to_string(path).unwrap_or_default();
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    value.unwrap_or_default()
}

//! Swap and the synchronisation of the clock.
//!
//! In: the facts. Out: findings. Must never: advise to disable swap that holds more than the memory has room for.

use super::{Examined, MachineFacts, Remedied, bad, caution, named, ok, unknown};
use crate::formatting::bytes;
use crate::thresholds::SWAP_MAX_BYTES_PER_S;
use prony_store::DoctorFinding;

/// Swapped memory that does not matter, bytes: parts of programs that never run.
const SWAPPED_MAX_BYTES: u64 = 64 << 20;

pub(super) fn findings(machine: &MachineFacts) -> Vec<DoctorFinding> {
    named([
        ("swap", swap(machine)),
        ("time-sync", time_synchronisation(machine)),
    ])
}

fn swap(machine: &MachineFacts) -> Examined {
    let (total, used) = machine.swap_bytes.ok_or("The kernel does not report it.")?;
    if total == 0 {
        return ok("none", "No memory can be swapped out.");
    }
    let value = format!("{} of {} in use", bytes(used), bytes(total));
    let has_room = machine
        .memory_available_bytes
        .is_some_and(|available| available / 2 > used);
    let command = if has_room { "swapoff -a" } else { "sysctl -w vm.swappiness=1" };
    let is_swapping = machine.usage.is_some_and(|usage| {
        let swapped = usage.swapped_bytes.unwrap_or(0) as f64;
        usage.seconds > 0.0 && swapped / usage.seconds > SWAP_MAX_BYTES_PER_S
    });
    if is_swapping {
        let reason = "The machine swaps now: its memory is too small for what runs on it.";
        return bad(value, reason)
            .mended_by(command)
            .advised("Stop other programs, or use a machine with more memory.");
    }
    if used > SWAPPED_MAX_BYTES {
        let reason =
            "Parts of programs were swapped out; a client that needs them waits for a disk.";
        return caution(value, reason).mended_by(command);
    }
    ok(value, "Nothing that matters is swapped out.")
}

fn time_synchronisation(machine: &MachineFacts) -> Examined {
    match machine.clock_is_synchronised {
        Some(true) => ok("synchronised", "Times of runs can be compared with the server's log."),
        Some(false) => caution("not synchronised",
            "Times of runs cannot be compared with the server's log, and the clock may step during a run.",
        )
        .mended_by("timedatectl set-ntp true")
        .advised("Without systemd, install chrony; in a container, synchronise the clock of the host."),
        None => unknown("The kernel does not report it."),
    }
}

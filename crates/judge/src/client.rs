//! Whether the client itself was the limit.
//!
//! In: a Run. Out: `client-limit`, `client-headroom`, `client-machine`, `throttled`, `run-queue`,
//! `client-wait`, `loop-delay`, `debug-build`. Must never: count idle polling as load: shares are of CPU
//! time, not of elapsed time.
//!
//! Whether this client could have driven twice the load follows from the CPU time of its busiest thread
//! under this very load, not from a calibration against a server that does nothing. A calibration would use
//! other statements, other replies and other batches, and would take time and CPU from each run. The estimate
//! is conservative, because the CPU time per transaction falls when more of them arrive at once.

use crate::checks::{Finding, caveat, new_finding, note};
use crate::formatting::{percent, time};
use crate::machine::shared_machine_evidence;
use crate::thresholds::{
    BUSY_THREAD_CAVEAT_SHARE, BUSY_THREAD_INVALID_SHARE, BUSY_THREAD_NOTE_SHARE,
    CLIENT_MACHINE_BUSY_MAX_SHARE, CLIENT_WAIT_MAX_SHARE, LOOP_DELAY_MAX_SHARE,
    RUN_QUEUE_MAX_SHARE, SPLIT_MIN_SAMPLES, severity_of_counted_share,
};
use crate::{all_kinds, observations};
use prony_store::{BuildProfile, Run, SecondPhase, Severity};

/// The CPU time that the client needed: the share of a CPU that its busiest thread used, and the share of the
/// time for which its threads waited for a CPU.
pub(crate) struct CpuDemand {
    busy_share: f64,
    queued_share: f64,
}

impl CpuDemand {
    fn new(run: &Run) -> Option<CpuDemand> {
        let busy_share = run.client_health().busiest_thread_share?;
        let queued_share = run_queue_share(run).unwrap_or(0.0);
        Some(CpuDemand {
            busy_share,
            queued_share,
        })
    }

    /// The share of the time for which the thread ran or waited for a CPU.
    fn total_share(&self) -> f64 {
        (self.busy_share + self.queued_share).min(1.0)
    }

    /// `used 16 % of a CPU and waited for one for 67 % of the time, 83 % together`.
    pub(crate) fn describe(&self) -> String {
        let used = format!("used {} of a CPU", percent(self.busy_share));
        if self.queued_share > RUN_QUEUE_MAX_SHARE {
            format!(
                "{used} and waited for one for {} of the time, {} together",
                percent(self.queued_share),
                percent(self.total_share())
            )
        } else {
            used
        }
    }
}

/// The demand of a client whose busiest thread was the limit, or close to it; `None` if it was not, or is not known. The
/// time for which threads waited for a CPU counts as used, unless client and server share a machine: then the CPUs are
/// the limit, which `one-host` reports, and a thread that has waited reads all replies that arrived meanwhile at little
/// cost.
pub(crate) fn cpu_limit(run: &Run) -> Option<(Severity, CpuDemand)> {
    let demand = CpuDemand::new(run)?;
    let shares_machine = shared_machine_evidence(run).is_some();
    let used_share = if shares_machine { demand.busy_share } else { demand.total_share() };
    let severity = if used_share > BUSY_THREAD_INVALID_SHARE {
        Severity::Invalid
    } else if used_share > BUSY_THREAD_CAVEAT_SHARE {
        Severity::Caveat
    } else {
        return None;
    };
    Some((severity, demand))
}

pub(crate) fn check_client_limit(run: &Run) -> Option<Finding> {
    let (severity, demand) = cpu_limit(run)?;
    let demand = demand.describe();
    let finding = match severity {
        Severity::Invalid => format!(
            "The client was the limit: its busiest thread {demand}. The server may be capable of more, and its \
             latency is overstated."
        ),
        _ => format!("The client was close to its limit: its busiest thread {demand}."),
    };
    new_finding(severity, finding, more_threads_advice(run))
}

/// Reports a client that is below its limit, but could not drive twice the load.
pub(crate) fn check_client_headroom(run: &Run) -> Option<Finding> {
    let demand = CpuDemand::new(run)?;
    // Under SCHED_BATCH, threads wait for a CPU by design: those waits say nothing about what the client could do.
    let runs_as_batch = run
        .client_health()
        .batch
        .is_some_and(|batch| batch.active > 0);
    let used_share = if runs_as_batch && shared_machine_evidence(run).is_some() {
        demand.busy_share
    } else {
        demand.total_share()
    };
    if used_share <= BUSY_THREAD_NOTE_SHARE || cpu_limit(run).is_some() {
        return None;
    }
    note(
        format!(
            "This client could not have driven twice the load: its busiest thread {}, which leaves room for \
             about {:.1} times this load.",
            demand.describe(),
            1.0 / used_share
        ),
        more_threads_advice(run),
    )
}

/// Checks the client's machine as a whole, if it is not the server's.
pub(crate) fn check_client_machine(run: &Run) -> Option<Finding> {
    let busy = observations::client_machine_mean(run, |machine| machine.busy_share)
        .filter(|busy| *busy > CLIENT_MACHINE_BUSY_MAX_SHARE)?;
    caveat(
        format!(
            "The CPUs of the client's machine were {} busy: replies may have waited for one.",
            percent(busy)
        ),
        "Run nothing else on the client's machine, or use one with more CPUs.",
    )
}

/// The share of the time for which a container's CPU limit stopped all of its threads, if it matters.
pub(crate) fn throttling(run: &Run) -> Option<(Severity, f64)> {
    let throttled_share = observations::mean(run, |row| {
        let throttled_s = row.client.as_ref()?.throttled_s?;
        (row.length_s > 0.0).then(|| throttled_s / row.length_s)
    })?;
    let severity = severity_of_counted_share(throttled_share, observations::observed_s(run))?;
    Some((severity, throttled_share))
}

pub(crate) fn check_throttled(run: &Run) -> Option<Finding> {
    let (severity, throttled_share) = throttling(run)?;
    new_finding(
        severity,
        format!(
            "The CPU limit of this client's control group stopped it for {} of the time: replies \
             waited, and latency is overstated.",
            percent(throttled_share)
        ),
        "Give the client's container more CPU (cpu.max, docker --cpus, Kubernetes limits).",
    )
}

/// For runs without timestamps, checks how long loop iterations took, because replies may have waited that
/// long.
pub(crate) fn check_loop_delay(run: &Run) -> Option<Finding> {
    let figures = all_kinds(run)?;
    let p99_ns = figures.response.p99_ns.filter(|ns| *ns > 0)? as f64;
    if figures.parts.is_some() {
        return None;
    }
    let series = run.series.iter();
    let measured = series.filter(|second| second.phase == SecondPhase::Measured);
    let mut longest_ns: Vec<u64> = measured.map(|second| second.loop_delay_max_ns).collect();
    longest_ns.sort_unstable();
    let median_longest_ns = *longest_ns.get(longest_ns.len() / 2)? as f64;
    if median_longest_ns <= LOOP_DELAY_MAX_SHARE * p99_ns {
        return None;
    }
    caveat(
        format!(
            "In half of the seconds a reply could wait in this client for {} or more, and the 99th \
             percentile is {}: the upper percentiles are partly due to the client.",
            time(median_longest_ns),
            time(p99_ns)
        ),
        more_threads_advice(run),
    )
}

/// Advice to use more threads, up to the number of clients and CPUs.
fn more_threads_advice(run: &Run) -> String {
    let drive = &run.drive;
    if drive.threads >= drive.clients {
        return "Each client already has its own thread: use more clients and threads, or a \
                faster client machine."
            .to_owned();
    }
    if run.client_cpus() > 0 && drive.threads >= run.client_cpus() {
        return format!(
            "Use a client machine with more than its {} CPUs, or fewer clients.",
            run.client_cpus()
        );
    }
    format!(
        "Use more threads, so that each has fewer clients: --threads {} instead of {}, if CPUs are \
         free.",
        drive.threads.saturating_mul(2).min(drive.clients),
        drive.threads,
    )
}

/// The share of their time for which the worker threads were ready to run but had no CPU; `None` if it is not known.
pub(crate) fn run_queue_share(run: &Run) -> Option<f64> {
    let workers = run.drive.threads.min(run.drive.clients);
    let thread_s = f64::from(workers) * run.measured.length_s;
    let waited_s = run.client_health().run_queue_s?;
    (thread_s > 0.0).then(|| (waited_s / thread_s).min(1.0))
}

/// Checks for how long threads waited for a CPU. If client and server share a machine, `one-host` reports
/// this.
pub(crate) fn check_run_queue(run: &Run) -> Option<Finding> {
    let waited = run_queue_share(run)?;
    if waited <= RUN_QUEUE_MAX_SHARE || shared_machine_evidence(run).is_some() {
        return None;
    }
    caveat(
        format!(
            "The client's threads were ready to run but had no CPU for {} of the time: something \
             else used the CPUs, and replies waited.",
            percent(waited)
        ),
        "Run the client on a machine of its own, or on CPUs that the server and other programs do \
         not use (taskset); or use fewer threads.",
    )
}

/// Mean client wait and mean service time, nanoseconds; `None` if the client wait is a small share. Uses only
/// transactions with timestamps, whose service time is split into send wait, server time and client wait. The
/// share is therefore also right if only some connections have timestamps, and late starts do not dilute it.
pub(crate) fn excessive_client_wait(run: &Run) -> Option<(f64, f64)> {
    let split = all_kinds(run)?.parts.as_ref()?;
    if split.client_wait.samples < SPLIT_MIN_SAMPLES {
        return None;
    }
    let wait_ns = split.client_wait.mean_ns;
    let service_ns = split.send_wait.mean_ns + split.server.mean_ns + wait_ns;
    (service_ns > 0.0 && wait_ns / service_ns > CLIENT_WAIT_MAX_SHARE)
        .then_some((wait_ns, service_ns))
}

/// Checks for how long replies waited in the client. If client and server share a machine, `one-host` reports
/// this.
pub(crate) fn check_client_wait(run: &Run) -> Option<Finding> {
    let (wait_ns, service_ns) = excessive_client_wait(run)?;
    let figures = all_kinds(run)?;
    let split = figures.parts.as_ref()?;
    if shared_machine_evidence(run).is_some() {
        return None;
    }
    caveat(
        format!(
            "Of a mean service time of {}{}, {} ({}) passed between the arrival of the reply and the \
             moment the client noticed it; the server's part was {}.",
            time(service_ns),
            if figures.connect.is_some() { " after connecting" } else { "" },
            time(wait_ns),
            percent(wait_ns / service_ns),
            time(split.server.mean_ns),
        ),
        format!(
            "Use the server time as the server's latency. {}",
            more_threads_advice(run)
        ),
    )
}

pub(crate) fn check_debug_build(run: &Run) -> Option<Finding> {
    if run.build.profile != BuildProfile::Debug {
        return None;
    }
    caveat(
        "This Prony was built without optimisation: its client uses several times as much CPU.",
        "Build it with `cargo build --release`.",
    )
}

#[cfg(test)]
mod tests;

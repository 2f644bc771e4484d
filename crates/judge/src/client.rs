//! Whether the client itself was the limit.
//!
//! In: a Run. Out: `client-limit`, `run-queue`, `client-wait`, `debug-build`. Must never: call a
//! client idle because it polls: the shares are of CPU time.

use crate::thresholds::{
    BUSY_THREAD_LIMIT, BUSY_THREAD_NEAR, CLIENT_WAIT, RUN_QUEUE, SPLIT_SAMPLES,
};
use crate::words::{percent, time};
use crate::{all, found};
use prony_store::{Check, Run, Severity};

pub(crate) fn limit(run: &Run) -> Option<Check> {
    let busy = run.client.busiest_thread?;
    let finding = match busy {
        busy if busy > BUSY_THREAD_LIMIT => format!(
            "The client was the limit: its busiest thread used {} of a CPU. The server may \
             deliver more than these figures say, and its latency is overstated.",
            percent(busy)
        ),
        busy if busy > BUSY_THREAD_NEAR => format!(
            "The client was close to its limit: its busiest thread used {} of a CPU.",
            percent(busy)
        ),
        _ => return None,
    };
    found("client-limit", Severity::Caveat, finding, more_threads(run))
}

/// More threads, as far as there are clients and CPUs for them.
fn more_threads(run: &Run) -> String {
    let drive = &run.drive;
    if drive.threads >= drive.clients {
        return "Each client has a thread of its own already: use more clients and threads, or a \
                faster machine for the client."
            .to_owned();
    }
    if run.host.cpus > 0 && drive.threads >= run.host.cpus {
        return format!(
            "Use a client machine with more than its {} CPUs, or fewer clients.",
            run.host.cpus
        );
    }
    format!(
        "Use more threads and so fewer clients a thread: --threads {} instead of {}, as far as \
         CPUs are free.",
        drive.threads.saturating_mul(2).min(drive.clients),
        drive.threads,
    )
}

pub(crate) fn run_queue(run: &Run) -> Option<Check> {
    let thread_s = f64::from(run.drive.threads) * run.measured.seconds;
    if thread_s <= 0.0 {
        return None;
    }
    let waited = run.client.run_queue_s? / thread_s;
    if waited <= RUN_QUEUE {
        return None;
    }
    found(
        "run-queue",
        Severity::Caveat,
        format!(
            "The client's threads were ready to run and had no CPU for {} of the time: something \
             else used the CPUs, and replies waited.",
            percent(waited)
        ),
        "Run the client on a machine of its own, or on CPUs that the server and other programs do \
         not use (taskset); or use fewer threads.",
    )
}

/// Over the transactions with a split, whose parts add up to their service time: so a sample of TCP
/// connections is compared with itself, and the lag of an open loop does not hide the share.
pub(crate) fn wait(run: &Run) -> Option<Check> {
    let figures = all(run)?;
    let split = figures.split.as_ref()?;
    if split.client_wait.samples < SPLIT_SAMPLES {
        return None;
    }
    let wait_ns = split.client_wait.mean_ns;
    let total_ns = split.send_wait.mean_ns + split.server.mean_ns + wait_ns;
    if total_ns <= 0.0 || wait_ns / total_ns <= CLIENT_WAIT {
        return None;
    }
    found(
        "client-wait",
        Severity::Caveat,
        format!(
            "Of a mean service time of {}{}, {} ({}) passed between the reply's arrival and the \
             client's noticing it; the server's part was {}.",
            time(total_ns),
            if figures.connect.is_some() {
                " after connecting"
            } else {
                ""
            },
            time(wait_ns),
            percent(wait_ns / total_ns),
            time(split.server.mean_ns),
        ),
        format!(
            "Take the server time as the server's latency. {}",
            more_threads(run)
        ),
    )
}

pub(crate) fn debug_build(run: &Run) -> Option<Check> {
    if run.build.profile != "debug" {
        return None;
    }
    found(
        "debug-build",
        Severity::Caveat,
        "This Prony was built without optimisation: its client costs several times the CPU.",
        "Build it with `cargo build --release`.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::healthy;

    #[test]
    fn a_busy_thread() {
        let finding = |busy: Option<f64>| {
            let mut run = healthy();
            run.client.busiest_thread = busy;
            limit(&run).map(|check| check.finding)
        };
        assert_eq!(finding(None), None, "unknown is no finding");
        let finding = |busy| finding(Some(busy));
        assert_eq!(finding(0.90), None);
        assert!(finding(0.95).unwrap().contains("close to its limit"));
        assert!(finding(0.98).unwrap().contains("used 98 % of a CPU"));
        assert!(
            finding(0.98)
                .unwrap()
                .starts_with("The client was the limit")
        );
    }

    #[test]
    fn the_advice_fits_the_machine() {
        let mut run = healthy();
        assert!(more_threads(&run).contains("--threads 4 instead of 2"));
        run.host.cpus = 2;
        assert!(more_threads(&run).contains("more than its 2 CPUs"));
        run.drive.threads = 64;
        assert!(more_threads(&run).contains("more clients and threads"));
        run.drive.threads = 48;
        run.host.cpus = 96;
        assert!(more_threads(&run).contains("--threads 64 instead of 48"));
    }

    #[test]
    fn threads_without_a_cpu() {
        let mut run = healthy();
        // 2 threads for 60 s.
        run.client.run_queue_s = Some(6.0);
        assert_eq!(run_queue(&run), None);
        run.client.run_queue_s = Some(12.0);
        let check = run_queue(&run).unwrap();
        assert!(check.finding.contains("10 % of the time"), "{check:?}");
        run.client.run_queue_s = None;
        assert_eq!(run_queue(&run), None, "unknown is no finding");
    }

    #[test]
    fn replies_that_wait() {
        let with = |wait_ns, samples| {
            let mut run = healthy();
            let split = run.measured.kinds[0].split.as_mut().unwrap();
            split.client_wait.mean_ns = wait_ns;
            split.client_wait.samples = samples;
            wait(&run)
        };
        // The other parts are 3.8 ms.
        assert_eq!(with(4.2e5, 1000), None);
        assert_eq!(with(4.3e5, 99), None);
        let check = with(3.8e6, 1000).unwrap();
        assert_eq!(check.severity, Severity::Caveat);
        assert!(
            check.finding.contains("7.60 ms, 3.80 ms (50 %)"),
            "{check:?}"
        );
        assert!(check.advice.contains("--threads 4"), "{check:?}");
        assert!(with(4.3e5, 100).is_some());
        let mut unsplit = healthy();
        unsplit.measured.kinds[0].split = None;
        assert_eq!(wait(&unsplit), None);
    }

    #[test]
    fn a_build_for_debugging() {
        let mut run = healthy();
        assert_eq!(debug_build(&run), None);
        run.build.profile = "debug".to_owned();
        assert!(debug_build(&run).is_some());
    }
}

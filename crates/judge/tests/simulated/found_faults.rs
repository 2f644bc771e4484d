//! What the documentation promises, and these tests hold it to.

/// What the checks promise, on simulated runs of 60 to 600 s: of 100 healthy runs at most two are
/// doubted, and of 100 runs with one of these faults at least 95 are found by one of the checks.
pub static FOUND_FAULTS: &[(&str, &[&str])] = &[
    ("throughput falls by 15 %", &["drift", "warm-up"]),
    ("throughput falls by 15 % in a step", &["drift", "warm-up"]),
    ("throughput falls by 60 % in a step", &["burst"]),
    (
        "throughput a third lower in the first fifth",
        &["warm-up", "drift"],
    ),
    (
        "throughput in waves of 30 %",
        &["unsteady", "drift", "warm-up"],
    ),
    ("response times rise by 20 %", &["latency-drift"]),
    ("response times rise 200 times", &["latency-drift"]),
    ("response times rise by 25 % in a step", &["latency-drift"]),
    ("the 99th percentile rises by 60 %", &["latency-drift"]),
    ("stalls of 0.25 s every 5 s", &["short-stall"]),
    (
        "one client stopped for 5 % of the window",
        &["client-stall"],
    ),
    ("stalls of 2 s in 6 % of the seconds", &["stall"]),
    ("times missing for 4 % of the clients", &["littles-law"]),
    (
        "times counted twice for 4 % of the clients",
        &["littles-law"],
    ),
    (
        "4 % of the clients start late, threads without a CPU",
        &["littles-law"],
    ),
    ("2 % of the transactions fail", &["errors"]),
    ("8 % of the rate missing", &["rate"]),
    ("a thread 98 % busy", &["client-limit"]),
    (
        "a thread 30 % busy and 70 % waiting for a CPU",
        &["client-limit"],
    ),
    ("threads waiting for a CPU for 8 %", &["run-queue"]),
    ("replies waiting for 15 % of the time", &["client-wait"]),
    ("4 % of the client's CPUs stolen", &["steal"]),
    ("4 % of the server's CPUs stolen", &["server-steal"]),
    ("others use 25 % of the server's CPUs", &["neighbours"]),
    ("the client stopped by a CPU limit for 5 %", &["throttled"]),
    ("the client's network link 85 % used", &["network"]),
    (
        "the server is missing 3 % of the commits",
        &["server-commits"],
    ),
    ("a restart of the server", &["restart"]),
    ("connections lost for 6 % of the window", &["outage"]),
    ("1 % of the timestamps unusable", &["stamps"]),
    ("observing takes 4 % of the machine", &["observer"]),
];

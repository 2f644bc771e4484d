//! The numbers behind the [`checks`](crate::checks), each with the reason for its value.
//!
//! Checks use these constants instead of repeating their values.

use prony_store::Severity;

/// Declares the constants, and lists them for the test that the rules have a new version if one changes.
macro_rules! thresholds {
    ($($(#[doc = $why:literal])+ pub const $name:ident: $kind:ty = $value:expr;)+) => {
        $($(#[doc = $why])+ pub const $name: $kind = $value;)+

        #[cfg(test)]
        pub(crate) static ALL: &[(&str, &str)] = &[$((stringify!($name), stringify!($value))),+];
    };
}

thresholds! {
    /// Effect above which a figure must not be used, as a share of the figure. Users of HammerDB
    /// report differences of 20 % between trials of one configuration (HammerDB issue 285); half of that is a
    /// difference that people pay for.
    pub const EFFECT_INVALID_SHARE: f64 = 0.10;
    /// Effect above which a figure has a caveat: about the scatter of repeats on an idle machine, and the
    /// smallest difference that a comparison of five repeats usually finds.
    pub const EFFECT_CAVEAT_SHARE: f64 = 0.03;
    /// Effect above which a figure has a note: repeats usually differ by more than this.
    pub const EFFECT_NOTE_SHARE: f64 = 0.01;
    /// Highest frequency that the settings of the client's CPUs allow, share of the highest that they have.
    pub const CPU_FREQUENCY_MIN_LIMIT_SHARE: f64 = 0.90;
    /// Longest time between the starts of machines that drive a load together, nanoseconds.
    pub const START_SKEW_MAX_NS: u64 = 5_000_000;
    /// Longest time between these starts as a share of the window: the figure is off by no more than this.
    pub const START_SKEW_MAX_SHARE: f64 = 0.01;
    /// Ratio of a machine's figure to that of the others above which the machine is named: a slow machine, or another
    /// zone.
    pub const MACHINES_MAX_RATIO: f64 = 2.0;
    /// Difference of the busiest thread's share of a CPU between machines that is named: the clients are not divided by what
    /// the machines can do.
    pub const MACHINES_MAX_CPU_DIFFERENCE: f64 = 0.4;
    /// Loss of throughput with half of the machines, share, above which the client was a limit.
    pub const CLIENT_PROOF_MAX_LOSS: f64 = 0.05;
    /// Use of a network link, share of its speed: above it, packets wait in queues when they come in bursts.
    pub const NETWORK_MAX_SHARE: f64 = 0.70;
    /// Shortest observed time in which a counted share of the CPUs may invalidate a run, seconds. The kernel counts
    /// CPU time in ticks of 10 ms and CPU limits in periods of 100 ms, and a few of them, or one burst of another
    /// program, are a large share of a shorter time.
    pub const COUNTED_SHARE_INVALID_MIN_S: f64 = 5.0;
    /// Largest gap between the number of clients and the number that the busy time accounts for, share of the
    /// clients.
    pub const LITTLE_GAP_MAX_SHARE: f64 = 0.02;
    /// Largest gap that the client's waits for a CPU excuse, however long they were, share of the clients. Users
    /// that wait for a CPU start late, so the throughput is too low by the same share, and a larger effect must
    /// not be a mere caveat ([`EFFECT_CAVEAT_SHARE`]).
    pub const LITTLE_EXCUSED_GAP_MAX_SHARE: f64 = 0.03;
    /// Longest mean transaction for which Little's law can be checked, share of the window. Transactions at the
    /// edges of the window cancel only on average, and account for at most this share.
    pub const LITTLE_MEAN_TXN_MAX_SHARE: f64 = 0.01;
    /// Shortest window of an incomplete run for which Little's law is checked, seconds.
    pub const LITTLE_PARTIAL_RUN_MIN_S: f64 = 1.0;
    /// Share of failed transactions, of all that ended, above which a result is invalid.
    pub const ERRORS_INVALID_SHARE: f64 = 0.01;
    /// Standard deviations by which a count of random draws may deviate from its mean. Of some hundred thousand
    /// runs with ten shares each, one deviates by more.
    pub const SHARE_CHANCE_SIGMAS: f64 = 5.0;
    /// Largest deviation without a caveat of a share that is fixed in each transaction, share of the whole. On
    /// PostgreSQL, an UPDATE that waited for a row changes none if another transaction replaced that row.
    pub const FIXED_SHARE_MAX_DEVIATION: f64 = 0.002;
    /// An outage that lasts to the end of the window makes the result invalid if it is longer than this share of
    /// the window.
    pub const OUTAGE_AT_END_INVALID_SHARE: f64 = 0.01;
    /// Smallest share of the requested rate that counts as a result at that rate.
    pub const RATE_INVALID_BELOW_SHARE: f64 = 0.95;
    /// Smallest share of the requested rate without a caveat.
    pub const RATE_CAVEAT_BELOW_SHARE: f64 = 0.99;
    /// Standard deviations of a Poisson count by which chance may miss the requested rate.
    pub const RATE_CHANCE_SIGMAS: f64 = 3.0;
    /// Share of the due transactions that may fail to start before there is a caveat.
    pub const NEVER_STARTED_CAVEAT_SHARE: f64 = 0.01;
    /// Shortest measured window without a caveat, seconds: in a shorter one a single checkpoint, vacuum or page
    /// cache write-back decides the figure.
    pub const SHORT_RUN_CAVEAT_BELOW_S: f64 = 10.0;
    /// Fewest committed transactions that tell a rate: a median needs as many.
    pub const FEW_TRANSACTIONS_MIN: u64 = 20;
    /// Longest mean transaction of a run by time, share of the window: with a longer one, most clients complete one or none,
    /// and the rate depends on when the window ended.
    pub const FEW_TRANSACTIONS_MAX_MEAN_SHARE: f64 = 0.5;
    /// Share of the clients' time in the window that may pass without a connection. Above it, the load is not the
    /// requested one.
    pub const OUTAGE_INVALID_SHARE: f64 = 0.05;
    /// A second with fewer transactions than this share of the typical second's is a stall. The typical number is
    /// chosen so that half of all transactions end in seconds with at least this number.
    pub const STALL_RATE_MAX_SHARE: f64 = 0.1;
    /// Minimum of transactions in the typical second for which a second with only a few counts as a stall.
    pub const STALL_TYPICAL_MIN_TXNS: f64 = 20.0;
    /// Minimum mean of transactions, over the seconds in which any ended, for which an empty second is a stall:
    /// with ten independent arrivals per second, one second in 20,000 is empty.
    pub const STALL_MEAN_MIN_TXNS: f64 = 10.0;
    /// A stall lasts longer than this many transactions of the slowest kind, one after the other. Clients that
    /// started together run in step, and complete nothing for as long as one transaction takes.
    pub const STALL_MIN_TXN_DURATIONS: f64 = 2.0;
    /// Share of stalled seconds in the window above which the result is invalid: the throughput then shows how
    /// long the server stood still rather than what it can do.
    pub const STALL_INVALID_SHARE: f64 = 0.05;
    /// A stall makes a result invalid only if it is longer than this, seconds: the series has a resolution of
    /// one second.
    pub const STALL_INVALID_MIN_S: f64 = 1.5;
    /// Shortest stall of all clients that is judged, seconds. Processes that share a CPU wait up to half as long for it.
    pub const SHORT_STALL_MIN_S: f64 = 0.1;
    /// A stall of all clients is longer than this many mean gaps between ends: of a billion gaps between independent ends,
    /// two are as long.
    pub const SHORT_STALL_MEAN_GAPS: f64 = 20.0;
    /// A gap is a stall if a transaction waited for this share of it.
    pub const SHORT_STALL_WAITED_SHARE: f64 = 0.8;
    /// With fewer clients, one slow transaction may be a gap.
    pub const SHORT_STALL_FEW_CLIENTS: f64 = 4.0;
    /// At the end of a run by count, seconds below this share of the typical rate are not judged: some clients have
    /// finished.
    pub const SHORT_STALL_IDLE_SHARE: f64 = 0.8;
    /// Shortest stall of a single client, seconds, unless stalls come regularly.
    pub const CLIENT_STALL_MIN_S: f64 = 1.0;
    /// A single client's stall is longer than this many of the longest transactions of the median second.
    pub const CLIENT_STALL_MAXIMA_RATIO: f64 = 10.0;
    /// Fewest stalls that may come regularly.
    pub const REGULAR_MIN_STALLS: usize = 3;
    /// Largest deviation of a spacing between regular stalls from the median one, share of the latter.
    pub const REGULAR_MAX_DEVIATION: f64 = 0.1;
    /// Smallest share of the spacings that are the median one, or a multiple of it.
    pub const REGULAR_MIN_SHARE: f64 = 0.8;
    /// Clients of a closed loop that are in a transaction for less than this share of the time mostly think.
    pub const THINKING_CLIENTS_BUSY_MAX_SHARE: f64 = 0.5;
    /// Share of one CPU above which the busiest thread may limit the run.
    pub const BUSY_THREAD_CAVEAT_SHARE: f64 = 0.90;
    /// Share of one CPU above which the busiest thread limits the run, so that the figure is the client's and not
    /// the server's; tick-based accounting misses the last few per cent.
    pub const BUSY_THREAD_INVALID_SHARE: f64 = 0.97;
    /// Largest share of their time for which worker threads may be runnable without a CPU.
    pub const RUN_QUEUE_MAX_SHARE: f64 = 0.05;
    /// Largest share of the service time that may pass from a reply's arrival until the client notices it.
    pub const CLIENT_WAIT_MAX_SHARE: f64 = 0.10;
    /// Fewest transactions with a split for which the split is judged.
    pub const SPLIT_MIN_SAMPLES: u64 = 100;
    /// Largest share of the timestamps that may be impossible or doubtful.
    pub const BAD_TIMESTAMPS_MAX_SHARE: f64 = 0.001;
    /// Fewest whole seconds for which steadiness is judged.
    pub const STEADY_MIN_SECONDS: usize = 20;
    /// Equal parts into which the window is divided to judge steadiness.
    pub const STEADY_BIN_COUNT: usize = 10;
    /// Share by which the first seconds must be slower than the rest to count as a warm-up.
    pub const WARM_UP_MIN_GAP_SHARE: f64 = 0.05;
    /// Number of standard errors by which the first seconds must be slower than the rest to count as a warm-up. The cut is
    /// the best of many, and throughput wanders on virtual machines (`tests/simulated`).
    pub const WARM_UP_MIN_STD_ERRORS: f64 = 5.0;
    /// Number of standard errors by which a series must change to count as changed. Of simulated runs that only wander,
    /// with a correlation of seconds of up to 0.9 and the best of all cuts, at most 3 of 100 exceed it (`tests/simulated`).
    pub const CHANGE_MIN_STD_ERRORS: f64 = 5.5;
    /// Changes of a percentile are judged if at least this share of the seconds has it.
    pub const LATENCY_SECONDS_MIN_SHARE: f64 = 0.9;
    /// Coefficient of variation of the window's parts above which a result is invalid.
    pub const UNSTEADY_INVALID_CV: f64 = 0.30;
    /// Coefficient of variation of the window's parts above which there is a caveat: of simulated runs that only wander by
    /// 8 %, at most 2 of 100 exceed it (`tests/simulated`).
    pub const UNSTEADY_CAVEAT_CV: f64 = 0.11;
    /// Share of one CPU up to which the busiest thread leaves room for twice the load.
    pub const BUSY_THREAD_NOTE_SHARE: f64 = 0.50;
    /// Largest busy share of the client machine's CPUs.
    pub const CLIENT_MACHINE_BUSY_MAX_SHARE: f64 = 0.70;
    /// Largest duration of the longest loop iteration in the median second, share of the 99th percentile.
    pub const LOOP_DELAY_MAX_SHARE: f64 = 0.5;
    /// Largest share of the server machine's CPUs that processes other than server and client may use.
    pub const NEIGHBOURS_MAX_SHARE: f64 = 0.15;
    /// Share of other processes above which the result is invalid: they used more of the machine than was left
    /// for the server.
    pub const NEIGHBOURS_INVALID_SHARE: f64 = 0.5;
    /// Largest share of the server's busy sessions, or of its commits, that may be other clients'.
    pub const FOREIGN_MAX_SHARE: f64 = 0.02;
    /// Share of other clients above which the result is invalid.
    pub const FOREIGN_INVALID_SHARE: f64 = 0.1;
    /// Fewest busy sessions, on average, from which other clients count: a program that monitors is busy for a few
    /// milliseconds a second.
    pub const FOREIGN_MIN_SESSIONS: f64 = 0.25;
    /// Fewest readings in which other clients were busy for them to count.
    pub const FOREIGN_MIN_SAMPLES: u32 = 2;
    /// Fewest readings in which other clients were busy for them to make the result invalid.
    pub const FOREIGN_INVALID_SAMPLES: u32 = 3;
    /// Fewest commits per second in other databases that count.
    pub const FOREIGN_COMMITS_MIN_PER_S: f64 = 50.0;
    /// Sessions like the run's count as another's if there are at least this many more of them than clients: one may be
    /// Prony's own, for the server's count of transactions, and MySQL does not tell a shell of the same user from a client.
    pub const FOREIGN_SESSIONS_MIN_OWN: u32 = 2;
    /// Swapped bytes per second above which the machine's memory was too small; a machine that only swaps out
    /// idle pages stays below.
    pub const SWAP_MAX_BYTES_PER_S: f64 = 1e6;
    /// The server looks untuned if its cache is less than this share of its machine's memory. PostgreSQL's manual
    /// suggests 25 % (section 20.4.1); its default of 128 MB is 3 % of 4 GB.
    pub const UNTUNED_CACHE_MAX_SHARE: f64 = 0.05;
    /// On a machine with at least this much memory, the server is expected to be tuned, bytes.
    pub const UNTUNED_MIN_MEMORY_BYTES: u64 = 4_000_000_000;
    /// Largest round trip, share of the mean service time.
    pub const ROUND_TRIP_MAX_SHARE: f64 = 0.5;
    /// Largest 99th percentile of the round trip, as a multiple of its median.
    pub const ROUND_TRIP_P99_MAX_RATIO: f64 = 10.0;
    /// 99th percentile of the round trip below which its scatter does not matter, nanoseconds.
    pub const ROUND_TRIP_P99_MAX_NS: u64 = 1_000_000;
    /// Busy share of the CPUs above which a client and a server on one machine take CPU from each other.
    pub const ONE_HOST_BUSY_MAX_SHARE: f64 = 0.90;
    /// Largest share of the shared machine's CPUs that the client may take when they are that busy.
    pub const ONE_HOST_CLIENT_MAX_SHARE: f64 = 0.10;
    /// Bytes of WAL or redo log in the window at which a load counts as writing: one segment of PostgreSQL's
    /// WAL.
    pub const WRITING_MIN_BYTES: u64 = 16 << 20;
    /// Longest time from an event until it is observed, seconds.
    pub const EVENT_LAG_MAX_S: f64 = 1.0;
    /// Largest share of the window in which vacuums and analyses may run without a caveat.
    pub const MAINTENANCE_MAX_SHARE: f64 = 0.10;
    /// Largest difference between the server's and the client's counts of commits, share of the client's.
    pub const COMMITS_GAP_MAX_SHARE: f64 = 0.01;
    /// Longest lag of the server's statistics, seconds.
    pub const COMMITS_LAG_MAX_S: f64 = 1.0;
    /// Most commits that the server itself and its observers add to its count.
    pub const COMMITS_OF_SERVER_MAX: u64 = 300;
    /// Most commits that a client adds when it connects and prepares its statements.
    pub const COMMITS_PER_CLIENT_MAX: u64 = 60;
    /// Fewest commits for which the counts are compared.
    pub const COMMITS_MIN_COUNT: u64 = 1_000;
    /// Largest difference between two computations of one start time, seconds.
    pub const SAME_START_MAX_GAP_S: f64 = 3.0;
    /// Busy share of the server machine's CPUs above which they are the limit.
    pub const LIMITER_CPU_MIN_BUSY_SHARE: f64 = 0.90;
    /// Busy share of the busiest disk above which it may be the limit.
    pub const LIMITER_DISK_MIN_BUSY_SHARE: f64 = 0.90;
    /// Share of the time above which Galera's flow control is a limit.
    pub const LIMITER_FLOW_CONTROL_MIN_SHARE: f64 = 0.05;
    /// Fewest active sessions, over all samples, for which a share of them is reported: with fewer, one session
    /// moves it by 5 %.
    pub const LIMITER_MIN_SESSIONS: u64 = 20;
    /// Share of the active sessions above which waits for one event are reported as a limit.
    pub const LIMITER_WAIT_MIN_SHARE: f64 = 0.5;
    /// Level of the test for changes of level within a run.
    pub const BURST_ALPHA: f64 = 0.02;
    /// Most equal parts of a window whose levels are compared: as many as the test takes without delay.
    pub const BURST_MAX_PARTS: usize = 40;
    /// Smallest fall between two levels that is named as a limit, share of the upper one: credits and limits of machines
    /// and storage differ from the burst by more.
    pub const BURST_MIN_FALL_SHARE: f64 = 0.25;
    /// Share of the fall that happens from one part to the next but one.
    pub const BURST_SHARP_MIN_SHARE: f64 = 0.75;
    /// Largest difference between the two halves of a level, share of the fall: a level is flat.
    pub const BURST_FLAT_MAX_SHARE: f64 = 0.15;
    /// Largest distance between the quartiles of a level, share of the fall: in a wave it is 0.38.
    pub const BURST_SPREAD_MAX_SHARE: f64 = 0.25;
    /// Share of the lower level for which work of the server lasts that explains it.
    pub const BURST_EVENT_MIN_SHARE: f64 = 0.6;
    /// How much more memory may be declared than the machine has, share of that: kernels and firmware keep some, and sellers
    /// count in GB or GiB.
    pub const DECLARED_MEMORY_MAX_DEVIATION: f64 = 0.15;
    /// Largest difference between the number of rows and that of the scale, share.
    pub const DATA_SCALE_MAX_DEVIATION: f64 = 0.10;
    /// The same for InnoDB, which estimates the number of rows from a few pages.
    pub const DATA_SCALE_INNODB_MAX_DEVIATION: f64 = 0.60;
    /// Largest number of rows that earlier runs may have added, share of those loaded.
    pub const DATA_GROWN_MAX_SHARE: f64 = 0.10;
    /// Largest share of a table's rows that may be dead: autovacuum's default threshold.
    pub const DEAD_ROWS_MAX_SHARE: f64 = 0.20;
    /// Fewest dead rows in a table for a caveat.
    pub const DEAD_ROWS_MIN_COUNT: u64 = 10_000;
    /// Fewest rows of a table that needs statistics.
    pub const STATISTICS_MIN_ROWS: u64 = 1_000;
    /// Number of samples with which ten lie above the 99th percentile.
    pub const P99_MIN_SAMPLES: u64 = 1_000;
    /// Number of samples with which ten lie above the 95th percentile.
    pub const P95_MIN_SAMPLES: u64 = 200;
    /// Shortest window of a load that writes without a note, seconds.
    pub const DURATION_NOTE_BELOW_S: f64 = 600.0;
    /// Fewest runs on a side of a comparison without a caveat.
    pub const REPEATS_MIN_RUNS: usize = 3;
    /// Largest coefficient of variation of the runs on a side without a caveat.
    pub const REPEATS_MAX_CV: f64 = 0.05;
    /// Largest difference that runs disturbed by others must be able to show, a share; otherwise their comparison says
    /// nothing.
    pub const DISTURBED_MAX_DETECTABLE: f64 = 0.5;
    /// Largest difference between the shares of the CPUs that others used beside two sides, if their runs did not take
    /// turns: a server's CPU time for a transaction rose by a fifth from 85 % to 95 %.
    pub const DISTURBED_MAX_UNEQUAL_SHARE: f64 = 0.03;
    /// Resolution of a percentile, share of it: histograms store three digits.
    pub const PERCENTILE_STEP_SHARE: f64 = 0.001;
    /// Age above which a price is marked as old, days.
    pub const PRICE_MAX_AGE_DAYS: i64 = 90;
    /// Largest share of the clients' time that may be missing in the latencies before they are invalid; a smaller
    /// share may be due to the way in which the client reads its clock.
    pub const AUDIT_LITTLE_INVALID_SHARE: f64 = 0.10;
    /// Share above which a difference between figures that must agree makes them invalid.
    pub const AUDIT_INVALID_SHARE: f64 = 0.01;
    /// The same for two figures of one duration.
    pub const AUDIT_TIME_INVALID_SHARE: f64 = 0.05;
    /// Rounding error of transactions per second, which are printed with at least two decimals.
    pub const AUDIT_TPS_ROUNDING_ERROR: f64 = 0.005;
    /// Tolerance between two figures for one duration, share.
    pub const AUDIT_TIME_TOLERANCE_SHARE: f64 = 0.005;
    /// Additional tolerance, seconds: threads start and end one after the other.
    pub const AUDIT_TIME_TOLERANCE_S: f64 = 0.05;
    /// Tolerance between the requested and the actual duration, share.
    pub const AUDIT_REQUESTED_TIME_TOLERANCE_SHARE: f64 = 0.02;
    /// Additional tolerance, seconds: the last transactions end later.
    pub const AUDIT_REQUESTED_TIME_TOLERANCE_S: f64 = 1.0;
    /// Largest relative deviation of NOPM / TPM from its expected value without a caveat.
    pub const NOPM_SHARE_MAX_DEVIATION: f64 = 0.05;
    /// Relative deviation of NOPM / TPM above its expected value from which it is invalid: other commits only
    /// lower it, and the lag of the server's statistics raises it by less.
    pub const NOPM_SHARE_INVALID_DEVIATION: f64 = 0.10;
    /// Maximum new orders per minute and warehouse with keying and thinking (TPC-C 5.11, 4.2.2).
    pub const PACED_NOPM_MAX_PER_WAREHOUSE: f64 = 12.86;
    /// Smallest table whose shrinking is reported, bytes: a smaller one may shrink by a vacuum alone.
    pub const TABLE_LARGE_MIN_BYTES: u64 = 1_000_000;
    /// A table counts as emptied if it takes less than this share of its size before the run: a run that deletes
    /// nothing never shrinks a table that far.
    pub const TABLE_SHRUNK_MAX_SHARE: f64 = 0.5;
    /// The throughput is back at this share of what it was before.
    pub const OUTAGE_RECOVERED_SHARE: f64 = 0.95;
    /// It must be back for this many seconds.
    pub const OUTAGE_RECOVERED_SECONDS: usize = 10;
    /// The seconds before an outage with which those after it are compared.
    pub const OUTAGE_SECONDS_BEFORE: usize = 30;
    /// The fewest such seconds that are compared.
    pub const OUTAGE_SECONDS_BEFORE_MIN: usize = 5;
    /// A shorter time without a commit is no outage.
    pub const OUTAGE_MIN_S: f64 = 0.1;
    /// An outage lasts at least this many mean times between two commits: of the pauses between independent starts, one in
    /// 500 million is as long.
    pub const OUTAGE_MIN_MEAN_TIMES: f64 = 20.0;
    /// Share of the clients that a pooler keeps waiting above which its connections are the limit.
    pub const POOLED_WAITING_MIN_SHARE: f64 = 0.2;
    /// At the end of a run by count, seconds below this share of the median are idle: some clients have finished.
    pub const END_IDLE_SHARE: f64 = 0.8;
    /// Tables with fewer rows than this per unit of scale are not checked, because the server's statistics of
    /// small tables are coarse.
    pub const ROWS_PER_SCALE_MIN: u64 = 10_000;
}

/// The severity of a known effect on the figure, as a share of it in either direction; `None` if it does not
/// matter.
pub fn severity_of_effect(effect: f64) -> Option<Severity> {
    let size = effect.abs();
    if size > EFFECT_INVALID_SHARE {
        Some(Severity::Invalid)
    } else if size > EFFECT_CAVEAT_SHARE {
        Some(Severity::Caveat)
    } else if size > EFFECT_NOTE_SHARE {
        Some(Severity::Note)
    } else {
        None
    }
}

/// The severity of time that the kernel counted against the run, such as stolen time: that of the effect, but at
/// most a caveat if it was counted for less than [`COUNTED_SHARE_INVALID_MIN_S`]. All checks of such shares use
/// it.
pub fn severity_of_counted_share(share: f64, counted_s: f64) -> Option<Severity> {
    severity_of_effect(share).map(|severity| limited_by_counted_time(severity, counted_s))
}

/// This severity, but at most a caveat if the finding rests on CPU time that was counted for less than
/// [`COUNTED_SHARE_INVALID_MIN_S`].
pub fn limited_by_counted_time(severity: Severity, counted_s: f64) -> Severity {
    if counted_s < COUNTED_SHARE_INVALID_MIN_S {
        severity.min(Severity::Caveat)
    } else {
        severity
    }
}

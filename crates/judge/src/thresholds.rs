//! The thresholds of all checks.
//!
//! Checks take their limits from here, and never repeat them.
//!
//! "invalid, caveat, note" is the ladder ([`severity_of_effect`]): a known effect on the figure of more than
//! 10 %, more than 3 %, more than 1 %. Other checks have their own limits because their effect on the figure
//! is not known, or because any such event spoils it; the constants say which.
//!
//! | check | severity | applies when |
//! | --- | --- | --- |
//! | `nothing-committed` | invalid | no committed transaction, or nothing measured |
//! | `littles-law` | invalid | clients and busy time differ by more than 2 % |
//! | | caveat | they do, but by no more than 10 %, and one stall at an edge of the window explains it; or by no more than 3 %, and threads waited for a CPU for that share of the time or more |
//! | | note | not checked: connections lost, or transactions longer than 1 % of the window |
//! | `errors` | invalid | more than 1 % of the transactions failed |
//! | | caveat | any failed; with an expected outage, also more if they failed by lost connections |
//! | `rate` | invalid | less than 95 % of the requested rate; a caveat if the plan expects an outage |
//! | | caveat | less than 99 % of the requested rate |
//! | `never-started` | caveat | more than 1 % of the due starts |
//! | | note | any |
//! | `partial-run` | caveat | the run is not complete |
//! | `short-run` | caveat | measured for less than 10 s |
//! | `not-judged` | note | checks for which the window was too short: less than 20 s for steadiness, fewer than 100 transactions with a split |
//! | `outage` | invalid | connections lost and not restored, for the last 1 % of the window or more |
//! | | invalid | clients without a connection for more than 5 % of the window, averaged over all clients |
//! | | caveat | any connection lost in the window |
//! | | note | any, if the plan expects an outage (`expect_outage`) and it ends within the run |
//! | `users-ended` | caveat | any user ended early |
//! | `warm-up` | invalid, caveat, note | the first seconds differ by more than 5 %; by the effect on the result (the ladder below; only if 20 s or more were measured, as for the next three) |
//! | `drift` | invalid, caveat, note | throughput changed over the window, by a slope or a step that chance does not explain; by its size |
//! | `latency-drift` | invalid, caveat, note | the median or the 99th percentile of each second did; by its size. In a closed loop at most a caveat for the 99th percentile: its figure is the throughput |
//! | `unsteady` | invalid | ten equal parts of the window differ by more than 30 % of their mean |
//! | | caveat | by more than 10 %; by more than 30 % if the plan expects an outage |
//! | `stall` | invalid | stalled seconds for more than 5 % of the window, and more than one of them |
//! | | caveat | a whole second without any transaction when the others have ten or more on average, or with less than a tenth of the typical second's 20 or more; longer than two transactions of the slowest kind take |
//! | | note | any, if the plan expects an outage |
//! | `client-limit` | invalid | busiest thread above 97 % of a CPU, including the time for which it waited for one, except on the server's machine |
//! | | caveat | above 90 % |
//! | `client-headroom` | note | above 50 %, including that time on any machine: no room for twice the load |
//! | `client-machine` | caveat | the client's machine, if it is not the server's, above 70 % busy |
//! | `throttled` | invalid, caveat, note | stopped by a CPU limit; by the share of the time |
//! | `run-queue` | caveat | worker threads waited for a CPU for more than 5 % of their time, not on the server's machine |
//! | `client-wait` | caveat | replies waited in the kernel for more than 10 % of the service time, not on the server's machine |
//! | `loop-delay` | caveat | without stamps: the longest iteration of the loop in the median second exceeds half of the 99th percentile |
//! | `debug-build` | caveat | Prony built without optimisation |
//! | `stamps` | caveat | more than 0.1 % of the stamps impossible or doubtful |
//! | `clock-steps` | note | any |
//! | `steal` | invalid, caveat, note | by the share of the machine; at most a caveat in a window below 5 s |
//! | `server-steal` | invalid, caveat, note | by the share of the server's machine |
//! | `neighbours` | invalid | processes other than server and client used more than half of the server's machine, observed for 5 s or more |
//! | | caveat | more than 15 % of it |
//! | `swap` | caveat | more than 1 MB a second swapped on the server's or the client's machine |
//! | `untuned` | note | the server's cache is less than 5 % of a memory of 4 GB or more, and smaller than the data |
//! | `round-trip` | caveat | an empty statement takes more than half of the mean service time, over a network |
//! | | note | its 99th percentile above ten times the median and 1 ms |
//! | `checkpoint` | caveat | none complete within the window, for a load that writes 16 MiB of WAL or redo log or more |
//! | `maintenance` | caveat | a backup, an index build, a rebuild; vacuums and analyses for more than 10 % of the window |
//! | | note | any vacuum or analysis |
//! | `server-commits` | invalid | the server counts more than 1 %, and a second's worth, fewer commits than the client |
//! | | caveat | the server counts more than 1 % more, beyond what connections and observer need (if a transaction is one commit) |
//! | `restart` | invalid | the server was restarted or changed its role; a note if the plan expects an outage |
//! | `tables-replaced` | invalid | a table of the run was replaced, emptied or dropped during it (another oid, file or time of creation), or lost half of its size or more |
//! | `durability` | caveat | class D0, D1 or D2 |
//! | `data-scale` | caveat | rows differ from those of the scale by more than 10 %; for InnoDB, whose estimates are rough, by 60 % |
//! | `data-grown` | caveat | earlier runs have added more than 10 % |
//! | `dead-rows` | caveat | more than 20 % of a table, 10,000 at least |
//! | `statistics` | note | a table of 1,000 rows or more never analyzed |
//! | `percentiles` | caveat | fewer than 200 response times |
//! | | note | fewer than 1,000 |
//! | `duration` | note | unless `checkpoint` applies: a load that writes, for less than 10 minutes; a paced tpcc, for less than two hours |
//! | `limiter` | note | server's CPUs above 90 % busy, a disk above 90 %, or half of the active sessions in one wait (20 or more were sampled) |
//! | `observer` | caveat, note | the share of the machine's CPU time that observing took is above 3 % or 1 %; an upper bound of its effect |
//! | `unobserved` | note | something of the server was not observed |
//! | `contention` | caveat | more clients than the workload's units of scale support, as the workload defines it: tpcb with fewer branches than clients, tpcc with fewer warehouses than clients, or than a tenth of the clients if they think |
//! | the remark's own id | caveat | a remark of the workload on its data, such as `population`: tpcc with a profile that expects other rows |
//! | `shares` | caveat | a share is further from its intended value than chance explains; or, for a share that each transaction keeps, by more than 0.2 % of all queries |
//! | | note | off by less, for a share that each transaction keeps |
//! | | note | within chance, but below the minimum that the specification allows |
//! | `response-limits` | caveat | a 90th percentile above the workload's limit for its kind |
//! | `one-host` | caveat | one machine, above 90 % busy, with more than 10 % for the client; or waits as in `run-queue` or `client-wait` |
//! | | note | one machine: unix socket, loopback, the server's process found, or a server that Prony started |
//! | `no-split` | note | no kernel stamps |
//!
//! Caveats are of two kinds ([`scope`](crate::scope)): doubt (the measurement may be wrong) and scope (what the
//! figure does not cover).
//!
//! What the checks promise, on simulated runs of 60 to 600 s (`tests/simulated`): of 100 healthy runs at most two
//! are doubted, and of 100 runs with one of these faults at least 95 are found.
//!
//! | fault | found by |
//! | --- | --- |
//! | throughput falls by 15 % | drift, warm-up |
//! | throughput falls by 15 % in a step | drift, warm-up |
//! | throughput a third lower in the first fifth | warm-up, drift |
//! | throughput in waves of 30 % | unsteady, drift, warm-up |
//! | response times rise by 20 % | latency-drift |
//! | response times rise 200 times | latency-drift |
//! | response times rise by 25 % in a step | latency-drift |
//! | the 99th percentile rises by 60 % | latency-drift |
//! | stalls of 2 s in 6 % of the seconds | stall |
//! | times missing for 4 % of the clients | littles-law |
//! | times counted twice for 4 % of the clients | littles-law |
//! | 4 % of the clients start late, threads without a CPU | littles-law |
//! | 2 % of the transactions fail | errors |
//! | 8 % of the rate missing | rate |
//! | a thread 98 % busy | client-limit |
//! | a thread 30 % busy and 70 % waiting for a CPU | client-limit |
//! | threads waiting for a CPU for 8 % | run-queue |
//! | replies waiting for 15 % of the time | client-wait |
//! | 4 % of the client's CPUs stolen | steal |
//! | 4 % of the server's CPUs stolen | server-steal |
//! | others use 25 % of the server's CPUs | neighbours |
//! | the client stopped by a CPU limit for 5 % | throttled |
//! | the server is missing 3 % of the commits | server-commits |
//! | a restart of the server | restart |
//! | connections lost for 6 % of the window | outage |
//! | 1 % of the stamps unusable | stamps |
//! | observing takes 4 % of the machine | observer |
//!
//! For comparisons, in addition to the differences of `compare`:
//!
//! | caveat | severity | applies when |
//! | --- | --- | --- |
//! | `repeats` | caveat | fewer than 3 runs on a side |
//! | `run-to-run` | caveat | a side's runs differ by more than 5 % of their mean (coefficient of variation of the leading figure) |
//! | `order` | caveat | an experiment ran its variants one after the other, not interleaved |
//! | `incomplete` | caveat | runs that the experiment planned are missing |
//!
//! For prices:
//!
//! | remark | severity | applies when |
//! | --- | --- | --- |
//! | `old-prices` | caveat | prices may be older than 90 days |
//! | `example-prices` | caveat | the sheet is an example that comes with Prony |
//! | `durability-unknown` | caveat | the runs do not record what a commit survives, or whether there are unlogged tables |
//! | `run-caveats` | caveat | a run has caveats, or ended early |
//! | `repeats-differ` | caveat | repeats behind one price differ in something that matters, such as the server's CPUs |
//! | `repeats-missing` | caveat | an experiment planned more repeats than are behind a price |
//! | `replicas-unknown` | note | the runs do not record how many replicas there were |
//! | `same-run` | caveat | one run prices two configurations |
//! | `repeats-apart` | caveat | repeats of one variant were given for different configurations |
//! | `repeats-taken` | note | one run was given, and all repeats of its variant are priced |
//! | `load-not-always-held` | caveat | the median holds the requested load, but a run behind it did not |
//! | `one-run` | note | a single run |
//!
//! For other tools' output:
//!
//! | check | severity | applies when |
//! | --- | --- | --- |
//! | `truncated` | invalid | the output has no throughput |
//! | | caveat | anything else missing that a complete output has |
//! | `littles-law` | invalid | throughput x mean latency is more than 2 % above or 10 % below the clients, and by more than 0.05 s and the longest transaction explain |
//! | | caveat | it is lower by more than 2 % |
//! | | note | not checked: failed transactions, whose times no figure includes |
//! | `sums`, `rates`, `shares-printed`, `order` | invalid | figures that must agree differ by more than 1 % (times: 5 %) |
//! | | caveat | by more than rounding explains (times: 0.5 % and 0.05 s; a requested length: 2 % and 1 s) |
//! | `mix` | invalid | reads or writes differ by more than 1 % from those that the transactions make |
//! | | caveat | by more than errors, the transactions in progress at the end and 0.2 % explain; any excess write |
//! | `nopm-share` | invalid | NOPM / TPM more than 10 % above 10 / 23 |
//! | | caveat | more than 5 % off |
//! | `unpaced` | note | more than 12.86 NOPM a warehouse without keying and thinking |
//! | `server-count` | note | TPM: the server counts rollbacks with the commits |
//! | `trouble` | caveat | problems that the tool itself reported |

use prony_store::Severity;

/// The ladder: effect on the figure above which it must not be used, share of the figure. Users of HammerDB
/// report 20 % between trials of one configuration (its issue 285); differences that people pay for begin at
/// half of that.
pub const EFFECT_INVALID: f64 = 0.10;
/// Effect on the figure above which it has a caveat: about the scatter of repeats on an idle machine, and the
/// smallest difference that a comparison of five repeats usually finds.
pub const EFFECT_CAVEAT: f64 = 0.03;
/// Effect on the figure above which it has a note. Below it, repeats differ by more.
pub const EFFECT_NOTE: f64 = 0.01;

/// The severity of a known effect on the figure, as a share of it in either direction; `None` if it does not
/// matter.
pub fn severity_of_effect(effect: f64) -> Option<Severity> {
    match effect.abs() {
        effect if effect > EFFECT_INVALID => Some(Severity::Invalid),
        effect if effect > EFFECT_CAVEAT => Some(Severity::Caveat),
        effect if effect > EFFECT_NOTE => Some(Severity::Note),
        _ => None,
    }
}

/// Length of a window from which stolen time may invalidate a run, seconds: the kernel counts it in ticks of 10 ms,
/// of which a few would be a tenth of a shorter window.
pub const STEAL_SECONDS: f64 = 5.0;

/// Largest gap between the clients and those that the busy time accounts for, share of the clients.
pub const LITTLE_GAP: f64 = 0.02;
/// Largest gap that waits for a CPU excuse, however long they were, share of the clients. Users then started
/// that much late, so the throughput is too low by as much: more is not a caveat ([`EFFECT_CAVEAT`]).
pub const LITTLE_EXCUSE: f64 = 0.03;
/// Longest mean transaction for which the law can be checked, share of the window. The transactions at the
/// edges of the window cancel only on average, and account for at most this share.
pub const LITTLE_MAX_MEAN: f64 = 0.01;
/// Shortest window of an incomplete run for which the law is checked, seconds.
pub const LITTLE_MIN_PARTIAL_S: f64 = 1.0;
/// Share of failed transactions, of all that ended, above which a result is invalid.
pub const ERRORS_INVALID: f64 = 0.01;
/// Standard deviations by which chance may move a count of draws off its mean: one in some hundred thousand
/// runs of ten shares is off by more.
pub const SHARE_SIGMAS: f64 = 5.0;
/// Tolerance without a caveat for a share that each transaction keeps, share of the whole. On PostgreSQL an
/// UPDATE that waited for a row finds none if another transaction replaced it.
pub const SHARE_EXACT_CAVEAT: f64 = 0.002;
/// Share of the window above which an outage at its end makes the result invalid.
pub const OUTAGE_OPEN_INVALID: f64 = 0.01;
/// Smallest share of the requested rate that counts as a result at that rate.
pub const RATE_INVALID: f64 = 0.95;
/// Smallest share of the requested rate without a caveat.
pub const RATE_CAVEAT: f64 = 0.99;
/// Standard deviations of a Poisson count by which chance may miss the requested rate.
pub const RATE_CHANCE_SIGMAS: f64 = 3.0;
/// Share of the due transactions that may fail to start before there is a caveat.
pub const NEVER_STARTED_CAVEAT: f64 = 0.01;
/// Shortest measured window without a caveat, seconds: in a shorter one a single checkpoint, vacuum or page
/// cache write-back decides the figure.
pub const SHORT_CAVEAT_S: f64 = 10.0;
/// Share of the clients' time in the window that may pass without a connection. Above it, the load is not the
/// requested one.
pub const OUTAGE_INVALID: f64 = 0.05;
/// Share of the typical second's transactions below which a second is a stall. Half of all transactions end
/// in seconds with the typical number or more.
pub const STALL_SHARE: f64 = 0.1;
/// Minimum of transactions in the typical second for which a second with only a few counts as a stall.
pub const STALL_MIN_USUAL: f64 = 20.0;
/// Minimum mean of transactions, over the seconds in which any ended, for which an empty second is a stall:
/// with ten independent arrivals per second, one second in 20,000 is empty.
pub const STALL_MIN_MEAN: f64 = 10.0;
/// A stall lasts longer than this many transactions of the slowest kind take. Clients that started together
/// run in step, and complete nothing for as long as one transaction takes.
pub const STALL_TRANSACTIONS: f64 = 2.0;
/// Share of stalled seconds in the window above which the throughput shows when the server stood still
/// rather than what it can do.
pub const STALL_INVALID: f64 = 0.05;
/// A stall makes a result invalid only if it is longer than this, seconds: the series has a resolution of
/// one second.
pub const STALL_INVALID_MIN_S: f64 = 1.5;
/// Share of the time in a transaction below which the clients of a closed loop mostly think.
pub const THINKING_CLIENTS: f64 = 0.5;
/// Share of one CPU above which the busiest thread may hold the run back.
pub const BUSY_THREAD_NEAR: f64 = 0.90;
/// Share of one CPU above which the busiest thread limits the run, so that the figure is the client's and not
/// the server's; tick-based accounting misses the last few per cent.
pub const BUSY_THREAD_LIMIT: f64 = 0.97;
/// Time that worker threads were runnable without a CPU, share of their time.
pub const RUN_QUEUE: f64 = 0.05;
/// Time from a reply's arrival until the client noticed it, share of the service time.
pub const CLIENT_WAIT: f64 = 0.10;
/// Fewest transactions with a split for which the split is judged.
pub const SPLIT_SAMPLES: u64 = 100;
/// Impossible and doubtful stamps, share of all stamps.
pub const BAD_STAMPS: f64 = 0.001;
/// Fewest whole seconds for which steadiness is judged.
pub const STEADY_SECONDS: usize = 20;
/// Equal parts into which the window is divided to judge steadiness.
pub const STEADY_BINS: usize = 10;
/// Share by which the first seconds must differ from the rest to count as a warm-up.
pub const WARM_UP_GAP: f64 = 0.05;
/// Standard errors by which a series must change to have changed. None of 1,000 simulated healthy runs has a
/// caveat by it, with autocorrelated seconds and the best of all cuts (`tests/simulated`).
pub const CHANGE_T: f64 = 6.0;
/// Share of the seconds that must have a percentile for its changes to be judged.
pub const LATENCY_SECONDS: f64 = 0.9;
/// Coefficient of variation of the parts above which a result is invalid.
pub const UNSTEADY_INVALID: f64 = 0.30;
/// Coefficient of variation of the parts above which there is a caveat.
pub const UNSTEADY_CAVEAT: f64 = 0.10;
/// Share of one CPU up to which the busiest thread leaves room for twice the load.
pub const BUSY_THREAD_HEADROOM: f64 = 0.50;
/// Busy CPUs of the client's machine, share of all.
pub const CLIENT_MACHINE: f64 = 0.70;
/// The longest loop iteration of the median second, share of the 99th percentile.
pub const LOOP_DELAY: f64 = 0.5;
/// CPUs of the server's machine that neither server nor client used, share of all.
pub const NEIGHBOURS: f64 = 0.15;
/// Share above which the figure is not the server's: other processes used more of the machine than was left
/// for the server.
pub const NEIGHBOURS_INVALID: f64 = 0.5;
/// Shortest observed time for which `NEIGHBOURS_INVALID` applies, seconds.
pub const NEIGHBOURS_MIN_S: f64 = 5.0;
/// Swapped bytes per second above which the machine's memory was too small; a machine that moves idle pages
/// out of the way swaps less.
pub const SWAP_BYTES_PER_S: f64 = 1e6;
/// The server's cache, share of its machine's memory, below which it looks untuned. PostgreSQL's manual
/// suggests 25 % (section 20.4.1); its default of 128 MB is 3 % of 4 GB.
pub const UNTUNED_CACHE: f64 = 0.05;
/// Memory of a machine from which its server is expected to be tuned, bytes.
pub const UNTUNED_MEMORY_BYTES: u64 = 4_000_000_000;
/// A round trip's share of the mean service time.
pub const ROUND_TRIP_SHARE: f64 = 0.5;
/// The round trip's 99th percentile as a multiple of its median.
pub const ROUND_TRIP_SCATTER: f64 = 10.0;
/// 99th percentile in nanoseconds below which the scatter of the round trip does not matter.
pub const ROUND_TRIP_LONG_NS: u64 = 1_000_000;
/// Busy share of the CPUs above which a client and a server on one machine take CPU from each other.
pub const ONE_HOST_CPU_BUSY: f64 = 0.90;
/// The client's share of these CPUs.
pub const ONE_HOST_CLIENT_SHARE: f64 = 0.10;
/// Bytes of WAL or redo log in the window at which a load counts as writing: one segment of PostgreSQL's
/// WAL.
pub const WRITING_BYTES: u64 = 16 << 20;
/// An event is observed up to this long after it happened, seconds.
pub const EVENT_LAG_S: f64 = 1.0;
/// Time of vacuums and analyses, share of the window.
pub const MAINTENANCE_SHARE: f64 = 0.10;
/// Difference between the server's and the client's commits, share of the client's.
pub const COMMITS_GAP: f64 = 0.01;
/// The server's statistics may lag by this much, seconds.
pub const COMMITS_LAG_S: f64 = 1.0;
/// Commits of the server itself and of its observers.
pub const COMMITS_OVERHEAD: u64 = 300;
/// Commits of a client when it connects and prepares its statements.
pub const COMMITS_PER_CLIENT: u64 = 60;
/// Fewest commits for which the counts are compared.
pub const COMMITS_MIN: u64 = 1_000;
/// Two computations of one start time differ by less than this, seconds.
pub const SAME_START_S: f64 = 3.0;
/// Busy share of the server machine's CPUs above which they are the limit.
pub const LIMITER_BUSY: f64 = 0.90;
/// Busy share of the busiest disk above which it may be the limit.
pub const LIMITER_DISK: f64 = 0.90;
/// Fewest active sessions, over all samples, for which a share of them is reported: with fewer, one session
/// moves it by 5 %.
pub const LIMITER_SESSIONS: u64 = 20;
/// Share of the active sessions that wait for the same event.
pub const LIMITER_WAITS: f64 = 0.5;
/// Difference between the rows and those of the scale, share.
pub const DATA_SCALE: f64 = 0.10;
/// The same for rows that are estimated from few pages (InnoDB).
pub const DATA_SCALE_INNODB: f64 = 0.60;
/// Rows that earlier runs added, share of those loaded.
pub const DATA_GROWN: f64 = 0.10;
/// Dead rows, share of a table: autovacuum's default threshold.
pub const DEAD_ROWS: f64 = 0.20;
/// Minimum of dead rows in a table for a caveat.
pub const DEAD_ROWS_MIN: u64 = 10_000;
/// Rows at which a table needs statistics.
pub const STATISTICS_MIN_ROWS: u64 = 1_000;
/// Number of samples of which ten lie above the 99th percentile.
pub const P99_SAMPLES: u64 = 1_000;
/// Number of samples of which ten lie above the 95th percentile.
pub const P95_SAMPLES: u64 = 200;
/// Shortest window of a load that writes without a note, seconds.
pub const DURATION_NOTE_S: f64 = 600.0;

/// Fewest runs on a side of a comparison without a caveat.
pub const REPEATS_MIN: usize = 3;
/// Coefficient of variation of the runs on a side.
pub const REPEATS_CV: f64 = 0.05;
/// Resolution of a percentile, share of it: histograms store three digits.
pub const PERCENTILE_STEP: f64 = 0.001;

/// Age above which a price is marked as old, days.
pub const PRICE_MAX_AGE_DAYS: i64 = 90;
/// Share of time missing in the latencies above which they are invalid: below that, the client's clock may
/// be at fault.
pub const AUDIT_LITTLE_INVALID: f64 = 0.10;
/// Share above which a difference between figures that must agree makes them invalid.
pub const AUDIT_INVALID: f64 = 0.01;
/// The same for durations.
pub const AUDIT_TIME_INVALID: f64 = 0.05;
/// Rounding error of transactions per second, which are printed with at least two decimals.
pub const AUDIT_TPS_ROUNDING: f64 = 0.005;
/// Tolerance between two figures for one duration, share.
pub const AUDIT_TIME: f64 = 0.005;
/// Additional tolerance, seconds: threads start and end one after the other.
pub const AUDIT_EDGE_S: f64 = 0.05;
/// Tolerance between the requested and the actual duration, share.
pub const AUDIT_REQUESTED_TIME: f64 = 0.02;
/// Additional tolerance, seconds: the last transactions end later.
pub const AUDIT_REQUESTED_TIME_S: f64 = 1.0;
/// Tolerance of NOPM's share of TPM around its expected value.
pub const NOPM_SHARE_GAP: f64 = 0.05;
/// Tolerance of NOPM's share of TPM above the expected value before it is invalid: other commits only lower
/// the share, and the lag of the server's statistics is smaller than this.
pub const NOPM_SHARE_INVALID: f64 = 0.10;
/// Maximum new orders per minute and warehouse with keying and thinking (TPC-C 5.11, 4.2.2).
pub const MAX_PACED_NOPM: f64 = 12.86;

/// A table smaller than this may shrink by a vacuum alone, bytes.
pub const TABLE_LARGE_BYTES: u64 = 1_000_000;
/// Share of its size before the run below which a table counts as emptied: a run that deletes nothing never
/// leaves less.
pub const TABLE_SHRUNK: f64 = 0.5;

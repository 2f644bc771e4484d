//! Where each check begins to speak.
//!
//! In: nothing. Out: numbers. Must never: be repeated elsewhere; a check takes its limits from here.
//!
//! | check | severity | where it begins |
//! | --- | --- | --- |
//! | `nothing-committed` | invalid | no committed transaction, or nothing measured |
//! | `littles-law` | invalid | clients and busy time differ by more than 2 % |
//! | | caveat | so, but one stall at an edge of the window explains it, or clients are missing for no larger share than the threads waited for a CPU |
//! | | note | not checked: connections lost, or transactions longer than 1 % of the window |
//! | `errors` | invalid | more than 1 % of the transactions failed |
//! | | caveat | any failed |
//! | `rate` | invalid | less than 95 % of the asked rate |
//! | | caveat | less than 99 % of it |
//! | `never-started` | caveat | more than 1 % of the due starts |
//! | | note | any |
//! | `partial-run` | caveat | not complete |
//! | `short-run` | caveat | measured for less than 10 s |
//! | `outage` | invalid | connections lost and not restored, for the last 1 % of the window or more |
//! | | caveat | any connection lost in the window |
//! | `users-ended` | caveat | any user ended early |
//! | `warm-up` | caveat | the first seconds differ by more than 5 %, and shift the result by more than 1 % (20 s or more measured, as for the next two) |
//! | `drift` | caveat | throughput changed by more than 5 % over the window, by a slope that is no chance (99 %) |
//! | `unsteady` | invalid | ten equal parts of the window differ by more than 30 % of their mean |
//! | | caveat | by more than 10 % |
//! | `stall` | caveat | a whole second with less than a tenth of the median second's transactions |
//! | `client-limit` | caveat | busiest thread above 90 % of a CPU; from 97 % on it was the limit |
//! | `client-headroom` | note | busiest thread above 50 % of a CPU: no room for twice the load |
//! | `client-machine` | caveat | the client's machine, not the server's, above 70 % busy |
//! | `throttled` | caveat | stopped by a limit of CPU for more than 1 % of the time |
//! | `run-queue` | caveat | worker threads waited for a CPU for more than 5 % of their time |
//! | `client-wait` | caveat | replies waited unseen for more than 10 % of the service time |
//! | `loop-delay` | caveat | without stamps: the longest turn of the median second above half of the 99th percentile |
//! | `debug-build` | caveat | Prony built without optimisation |
//! | `stamps` | caveat | more than 0.1 % of the stamps impossible or doubtful |
//! | `clock-steps` | note | any |
//! | `steal` | caveat | more than 1 % of the machine |
//! | `server-steal` | caveat | the same of the server's machine |
//! | `neighbours` | caveat | others than server and client used more than 15 % of the server's machine |
//! | `round-trip` | caveat | an empty statement above half of the mean service time, over a network |
//! | | note | its 99th percentile above ten times the median and 1 ms |
//! | `checkpoint` | caveat | none complete within the window, of a load that writes 16 MiB of log or more |
//! | `maintenance` | caveat | a backup, an index build, a rebuild; vacuums and analyses for more than 10 % of the window |
//! | | note | any vacuum or analysis |
//! | `server-commits` | invalid | the server counts more than 1 %, and a second's worth, fewer commits than the client |
//! | | caveat | more than 1 %, and what connections and observer need, more (where a transaction is one commit) |
//! | `restart` | invalid | the server was started anew or changed its role |
//! | `durability` | caveat | class D0, D1 or D2 |
//! | `data-scale` | caveat | rows off those of the scale by more than 10 %; InnoDB, whose estimates are rough, 60 % |
//! | `data-grown` | caveat | former runs have added more than 10 % |
//! | `dead-rows` | caveat | more than 20 % of a table, 10,000 at least |
//! | `statistics` | note | a table of 1,000 rows or more never analyzed |
//! | `percentiles` | caveat | fewer than 200 response times |
//! | | note | fewer than 1,000 |
//! | `duration` | note | a load that writes, for less than 10 minutes; a paced tpcc, for less than two hours |
//! | `limiter` | note | server's CPUs above 90 % busy, a disk above 90 %, or one wait of half of the sessions at work |
//! | `observer` | caveat | looking took more than 1 % of the machine's CPU time |
//! | `unobserved` | note | something of the server was not seen |
//! | `branch-contention` | caveat | tpcb with fewer branches than clients |
//! | `warehouse-contention` | caveat | tpcc with fewer warehouses than clients; than a tenth of them if they think |
//! | `population` | caveat | tpcc with a profile that is meant for other rows |
//! | `shares` | caveat | a share is further from the one that is meant than chance explains; or, where each transaction keeps it, by more than 0.2 % of all queries |
//! | | note | off by less, where each transaction keeps it |
//! | | note | within chance, but below the least that the specification allows |
//! | `response-limits` | caveat | a 90th percentile above the workload's limit for its kind |
//! | `one-host` | caveat | one machine, above 90 % busy, with more than 10 % for the client |
//! | | note | one machine: unix socket, loopback, the server's process found, or a server of Prony's own |
//! | `no-split` | note | no kernel stamps |
//!
//! Of comparisons, beside the differences of `compare`:
//!
//! | caveat | severity | where it begins |
//! | --- | --- | --- |
//! | `repeats` | caveat | fewer than 3 runs on a side |
//! | `run-to-run` | caveat | a side's runs differ by more than 5 % of their mean (coefficient of variation of the leading figure) |
//! | `order` | caveat | an experiment ran its variants one after the other, not in turn |
//! | `incomplete` | caveat | runs that the experiment meant are not there |
//!
//! Of prices:
//!
//! | remark | severity | where it begins |
//! | --- | --- | --- |
//! | `old-prices` | caveat | may be older than 90 days |
//! | `example-prices` | caveat | the sheet is an example that comes with Prony |
//! | `durability-unknown` | caveat | the runs do not say what a commit survives, or whether there are tables without a log |
//! | `run-caveats` | caveat | a run has any, or ended early |
//! | `repeats-differ` | caveat | repeats behind one price differ in what has to be weighed, such as the server's CPUs |
//! | `repeats-missing` | caveat | an experiment meant more repeats than stand behind a price |
//! | `replicas-unknown` | note | the runs do not say how many replicas there were |
//! | `same-run` | caveat | one run prices two configurations |
//! | `repeats-apart` | caveat | repeats of one variant were named for different configurations |
//! | `repeats-taken` | note | a run was named, and all repeats of its variant are priced |
//! | `load-not-always-held` | caveat | the median holds the load that was asked for, and a run behind it did not |
//! | `one-run` | note | one run alone |
//!
//! Of other tools' output:
//!
//! | check | severity | where it begins |
//! | --- | --- | --- |
//! | `truncated` | invalid | no throughput in it |
//! | | caveat | anything else missing that a whole output has |
//! | `littles-law` | invalid | throughput x mean latency differs from the clients by more than 2 % upwards, 10 % downwards, and by more than 0.05 s and the longest transaction explain |
//! | | caveat | it is lower by more than 2 % |
//! | | note | not checked: failed transactions, whose times are in no figure |
//! | `sums`, `rates`, `shares-printed`, `order` | invalid | figures that must agree differ by more than 1 % (times 5 %) |
//! | | caveat | by more than rounding explains (times 0.5 % and 0.05 s; a length that was asked for 2 % and 1 s) |
//! | `mix` | invalid | reads or writes off by more than 1 % of those that the transactions make |
//! | | caveat | by more than errors, the transactions under way at the end and 0.2 % explain; any write too many |
//! | `nopm-share` | invalid | NOPM / TPM more than 10 % above 10 / 23 |
//! | | caveat | more than 5 % off |
//! | `unpaced` | note | more than 12.86 NOPM a warehouse without keying and thinking |
//! | `server-count` | note | TPM: the server counts rollbacks with the commits |
//! | `trouble` | caveat | what the tool itself said went wrong |

/// Largest gap between the clients and those that the busy time accounts for, share of the clients.
pub const LITTLE_GAP: f64 = 0.02;
/// Longest mean transaction for which the law can be checked, share of the window: what the edges
/// of the window cut off and add cancels on average only, and is of this size at most.
pub const LITTLE_LONGEST_MEAN: f64 = 0.01;
/// Shortest window of an incomplete run for which the law is checked, seconds.
pub const LITTLE_SHORTEST_PARTIAL_S: f64 = 1.0;
/// Failed transactions that spoil a result, share of all that ended.
pub const ERRORS_INVALID: f64 = 0.01;
/// Standard deviations of a count of draws by which chance may put it off its mean: one in some
/// hundred thousand runs of ten shares is off by more.
pub const SHARE_SIGMAS: f64 = 5.0;
/// By so much a share that each transaction keeps may be off without a caveat, share of the whole. On
/// PostgreSQL an UPDATE that waited for a row finds none where another transaction replaced it.
pub const SHARE_EXACT_CAVEAT: f64 = 0.002;
/// Length of an outage that lasts to the end of the run and spoils it, share of the window.
pub const OUTAGE_TO_END: f64 = 0.01;
/// Least share of the asked rate for a result at that rate.
pub const RATE_INVALID: f64 = 0.95;
/// Least share of the asked rate without a caveat.
pub const RATE_CAVEAT: f64 = 0.99;
/// Standard deviations of a Poisson count by which chance may miss the asked rate.
pub const RATE_CHANCE_SIGMAS: f64 = 3.0;
/// Never started transactions, share of those due, from which on it is a caveat.
pub const NEVER_STARTED_CAVEAT: f64 = 0.01;
/// Shortest measured window without a caveat, seconds: below it a single checkpoint, vacuum or
/// page cache write-back decides the figure.
pub const SHORT_CAVEAT_S: f64 = 10.0;
/// Share of the median second's transactions below which a second is a stall.
pub const STALL_SHARE: f64 = 0.1;
/// Fewest transactions in the median second for which stalls are looked for: below, an empty second
/// may be chance.
pub const STALL_MEDIAN: u64 = 20;
/// Share of one CPU from which on the busiest thread may hold the run back.
pub const BUSY_THREAD_NEAR: f64 = 0.90;
/// Share of one CPU from which on it does: the rest is what accounting by ticks misses.
pub const BUSY_THREAD_LIMIT: f64 = 0.97;
/// Time that worker threads were ready and had no CPU, share of their time.
pub const RUN_QUEUE: f64 = 0.05;
/// Time from a reply's arrival until the client noticed it, share of the service time.
pub const CLIENT_WAIT: f64 = 0.10;
/// Fewest transactions with a split that are judged.
pub const SPLIT_SAMPLES: u64 = 100;
/// Impossible and doubtful stamps, share of all.
pub const BAD_STAMPS: f64 = 0.001;
/// CPU time stolen by the hypervisor, share of the machine.
pub const STEAL: f64 = 0.01;
/// Fewest whole seconds for which steadiness is judged.
pub const STEADY_SECONDS: usize = 20;
/// Equal parts into which the window is divided for it.
pub const STEADY_BINS: usize = 10;
/// Share by which the first seconds differ from the rest to be called a warm-up.
pub const WARM_UP_GAP: f64 = 0.05;
/// Share by which they shift the result to be worth a word.
pub const WARM_UP_BIAS: f64 = 0.01;
/// Change of the throughput over the window, share of its mean.
pub const DRIFT: f64 = 0.05;
/// Student's t for eight degrees of freedom, two-sided, 99 %.
pub const DRIFT_T: f64 = 3.355;
/// Coefficient of variation of the parts that spoils a result.
pub const UNSTEADY_INVALID: f64 = 0.30;
/// And that is a caveat.
pub const UNSTEADY_CAVEAT: f64 = 0.10;
/// Share of one CPU up to which the busiest thread leaves room for as much again.
pub const BUSY_THREAD_HALF: f64 = 0.50;
/// CPUs of the client's machine at work.
pub const CLIENT_MACHINE: f64 = 0.70;
/// Time in which a limit of CPU stopped the client, share of the time.
pub const THROTTLED: f64 = 0.01;
/// The longest turn of the median second, share of the 99th percentile.
pub const LOOP_DELAY: f64 = 0.5;
/// CPUs of the server's machine that neither server nor client used, share of all.
pub const NEIGHBOURS: f64 = 0.15;
/// A round trip's share of the mean service time.
pub const ROUND_TRIP_SHARE: f64 = 0.5;
/// Its 99th percentile against its median.
pub const ROUND_TRIP_SCATTER: f64 = 10.0;
/// Below so long, nanoseconds, its scatter is of no matter.
pub const ROUND_TRIP_LONG_NS: u64 = 1_000_000;
/// CPUs at work of a machine that client and server share, from which on they took from each other.
pub const ONE_HOST_BUSY: f64 = 0.90;
/// And the client's share of them.
pub const ONE_HOST_CLIENT: f64 = 0.10;
/// Log in the window from which on a load writes, bytes: one segment of PostgreSQL's.
pub const WRITING_BYTES: u64 = 16 << 20;
/// An event is seen up to so long after it happened, seconds.
pub const WHOLE_SLACK_S: f64 = 1.0;
/// Vacuums and analyses, share of the window.
pub const MAINTENANCE_SHARE: f64 = 0.10;
/// Commits of the server against the client's, share of the client's.
pub const COMMITS_GAP: f64 = 0.01;
/// The server's statistics may lag by so much, seconds.
pub const COMMITS_LAG_S: f64 = 1.0;
/// Commits of the server's own and of those who look at it.
pub const COMMITS_OVERHEAD: u64 = 300;
/// Commits of a client that connects and prepares its statements.
pub const COMMITS_PER_CLIENT: u64 = 60;
/// Fewest commits that are compared.
pub const LEAST_COMMITS: u64 = 1_000;
/// Times of a start, reckoned in two ways, differ by less, seconds.
pub const SAME_START_S: f64 = 3.0;
/// CPUs of the server's machine at work, from which on they are the limit.
pub const LIMITER_BUSY: f64 = 0.90;
/// The busiest disk's share of the time, from which on it may be.
pub const LIMITER_DISK: f64 = 0.90;
/// Share of the sessions at work that wait for one thing.
pub const LIMITER_WAITS: f64 = 0.5;
/// CPU time of looking, share of the server machine's.
pub const OBSERVER_CPU: f64 = 0.01;
/// Rows against those of the scale, share.
pub const DATA_SCALE: f64 = 0.10;
/// The same where rows are estimated from few pages (InnoDB).
pub const DATA_SCALE_INNODB: f64 = 0.60;
/// Rows that former runs have left, share of those loaded.
pub const DATA_GROWN: f64 = 0.10;
/// Dead rows, share of a table: where autovacuum begins by default.
pub const DEAD_ROWS: f64 = 0.20;
/// And so many at least.
pub const DEAD_ROWS_LEAST: u64 = 10_000;
/// Rows from which on a table needs statistics.
pub const STATISTICS_LEAST: u64 = 1_000;
/// Ten samples beyond the 99th percentile.
pub const PERCENTILE_SAMPLES: u64 = 1_000;
/// Ten beyond the 95th.
pub const TAIL_SAMPLES: u64 = 200;
/// Shortest window of a load that writes without a note, seconds.
pub const DURATION_NOTE_S: f64 = 600.0;
/// The same of a paced tpcc: TPC-C's least measured interval.
pub const DURATION_TPCC_S: f64 = 7_200.0;

/// Fewest runs on a side of a comparison without a caveat.
pub const REPEATS_LEAST: usize = 3;
/// Coefficient of variation of the runs on a side.
pub const REPEATS_CV: f64 = 0.05;
/// Step of a percentile, share of it: histograms keep three digits.
pub const PERCENTILE_STEP: f64 = 0.001;

/// Age from which on a price is marked as old, days.
pub const PRICE_OLD_DAYS: i64 = 90;
/// Time missing in the latencies that spoils them, share: below, the client's clock may be at fault.
pub const AUDIT_LITTLE_INVALID: f64 = 0.10;
/// Shares of figures that must agree, from which on they must not be used.
pub const AUDIT_INVALID: f64 = 0.01;
/// The same of lengths of time.
pub const AUDIT_TIME_INVALID: f64 = 0.05;
/// Length of time that two figures give, share by which it may differ.
pub const AUDIT_TIME: f64 = 0.005;
/// And by so much, seconds: threads start and end one after the other.
pub const AUDIT_EDGE_S: f64 = 0.05;
/// Length that was asked for, share by which the real one may differ.
pub const AUDIT_ASKED: f64 = 0.02;
/// And by so much, seconds: the last transactions end later.
pub const AUDIT_ASKED_S: f64 = 1.0;
/// Share of NOPM in TPM, by which it may be off the one that is meant.
pub const NOPM_SHARE_GAP: f64 = 0.05;
/// And by which it may be above it: other commits only lower it, and what the server's statistics lag
/// by is less than this.
pub const NOPM_SHARE_INVALID: f64 = 0.10;
/// Most new orders a minute and warehouse with keying and thinking (TPC-C 5.11, 4.2.2).
pub const NOPM_PACED: f64 = 12.86;

//! Where each check begins to speak.
//!
//! In: nothing. Out: numbers. Must never: be repeated elsewhere; a check takes its limits from here.
//!
//! | check | severity | where it begins |
//! | --- | --- | --- |
//! | `nothing-committed` | invalid | no committed transaction |
//! | `littles-law` | invalid | clients and busy time differ by more than 2 % |
//! | | caveat | so, but one stall at an edge of the window explains it |
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
//! | `stall` | caveat | a whole second with less than a tenth of the median second's transactions |
//! | `client-limit` | caveat | busiest thread above 90 % of a CPU; from 97 % on it was the limit |
//! | `run-queue` | caveat | worker threads waited for a CPU for more than 5 % of their time |
//! | `client-wait` | caveat | replies waited unseen for more than 10 % of the service time |
//! | `debug-build` | caveat | Prony built without optimisation |
//! | `stamps` | caveat | more than 0.1 % of the stamps impossible or doubtful |
//! | `clock-steps` | note | any |
//! | `steal` | caveat | more than 1 % of the machine |
//! | `branch-contention` | caveat | tpcb with fewer branches than clients |
//! | `warehouse-contention` | caveat | tpcc with fewer warehouses than clients; than a tenth of them if they think |
//! | `population` | caveat | tpcc with a profile that is meant for other rows |
//! | `shares` | caveat | a share is further from the one that is meant than chance explains; or, where each transaction keeps it, by more than 0.2 % of all queries |
//! | | note | off by less, where each transaction keeps it |
//! | | note | within chance, but below the least that the specification allows |
//! | `response-limits` | caveat | a 90th percentile above the workload's limit for its kind |
//! | `one-host` | note | unix socket, loopback, or a server of Prony's own |
//! | `no-split` | note | no kernel stamps |
//!
//! Of prices:
//!
//! | remark | severity | where it begins |
//! | --- | --- | --- |
//! | `old-prices` | caveat | may be older than 90 days |
//! | `example-prices` | caveat | the sheet is an example that comes with Prony |
//! | `durability-unknown` | caveat | the runs do not say what a commit survives |
//! | `run-caveats` | caveat | a run has any |
//! | `replicas-unknown` | note | the runs do not say how many replicas there were |
//! | `one-run` | note | one run alone |

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
/// Age from which on a price is marked as old, days.
pub const PRICE_OLD_DAYS: i64 = 90;

//! The lines that a build and a run print.
//!
//! In: what happened, as plain data. Out: HammerDB 4.6's text. Must never: print, or read a clock:
//! a date comes as text, in the form `Fri Nov 20 22:21:44 UTC 2026`.

use std::fmt;

/// A line of a virtual user's, before [`terminal`] or [`log`].
pub fn vuser(number: u32, text: impl fmt::Display) -> String {
    format!("Vuser {number}:{text}")
}

/// A virtual user begins. Not in the log.
pub fn running(number: u32) -> String {
    vuser(number, "RUNNING")
}

/// A virtual user ended. Not in the log.
pub fn finished(number: u32, success: bool) -> String {
    vuser(
        number,
        if success {
            "FINISHED SUCCESS"
        } else {
            "FINISHED FAILED"
        },
    )
}

/// Why a virtual user failed; its FINISHED line follows. Not in the log.
pub fn failure(number: u32, reason: &str) -> String {
    format!("Error in Virtual User {number}: {reason}")
}

/// A line as HammerDB puts it on a terminal: a carriage return follows the line end.
pub fn terminal(line: &str) -> String {
    format!("{line}\n\r")
}

/// What a log begins with.
pub fn log_header(date: &str) -> String {
    format!("Hammerdb Log @ {date}\n{}\n", "+-".repeat(22))
}

/// A virtual user's line in a log; the date if the log has timestamps.
pub fn log(number: u32, text: impl fmt::Display, date: Option<&str>) -> String {
    let stamp = date.map(|date| format!("Timestamp {number} @ {date}\n"));
    format!("{}{}\n", stamp.unwrap_or_default(), vuser(number, text))
}

/// A line of the transaction counter, on the terminal and in its log.
pub fn counted(tpm: u64, database: &str) -> String {
    format!("{tpm} {database} tpm")
}

/// What the transaction counter's log begins with.
pub fn counter_log_header(date: &str) -> String {
    let rule = "+-".repeat(31);
    format!("Hammerdb Transaction Counter Log @ {date}\n{rule}+\n")
}

/// What a build says. Warehouses and districts count from 1; rows are those of the current table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each is named after its text.
pub enum BuildLine {
    MonitorThread,
    WorkerThread,
    WaitingForMonitor,
    CreatingSchema,
    /// The cipher of a connection to MySQL or MariaDB; empty without encryption.
    SslCipher {
        cipher: String,
    },
    /// On PostgreSQL under an owner.
    CreatingDatabase {
        database: String,
        owner: Option<String>,
    },
    UsingDatabase {
        database: String,
    },
    CreatingTables,
    LoadingItem,
    Items {
        rows: u64,
    },
    ItemDone,
    /// A worker's share.
    LoadingWarehouses {
        first: u64,
        last: u64,
    },
    Start {
        date: String,
    },
    LoadingWarehouse,
    LoadingStock {
        warehouse: u64,
    },
    Stock {
        rows: u64,
    },
    StockDone,
    LoadingDistrict,
    DistrictDone,
    LoadingCustomer {
        district: u32,
        warehouse: u64,
    },
    CustomerDone,
    LoadingOrders {
        district: u32,
        warehouse: u64,
    },
    Orders {
        rows: u64,
    },
    OrdersDone,
    End {
        date: String,
    },
    MonitoringWorkers,
    Workers {
        active: u32,
        done: u32,
    },
    CreatingIndexes,
    CreatingFunctions,
    CreatingProcedures,
    GatheringStatistics,
    Complete,
}

impl fmt::Display for BuildLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = match self {
            Self::MonitorThread => "Monitor Thread",
            Self::WorkerThread => "Worker Thread",
            Self::WaitingForMonitor => "Waiting for Monitor Thread...",
            Self::CreatingSchema => "CREATING TPCC SCHEMA",
            Self::CreatingTables => "CREATING TPCC TABLES",
            Self::LoadingItem => "Loading Item",
            Self::ItemDone => "Item done",
            Self::LoadingWarehouse => "Loading Warehouse",
            Self::StockDone => "Stock done",
            Self::LoadingDistrict => "Loading District",
            Self::DistrictDone => "District done",
            Self::CustomerDone => "Customer Done",
            Self::OrdersDone => "Orders Done",
            Self::MonitoringWorkers => "Monitoring Workers...",
            Self::CreatingIndexes => "CREATING TPCC INDEXES",
            Self::CreatingFunctions => "CREATING TPCC FUNCTIONS",
            Self::CreatingProcedures => "CREATING TPCC STORED PROCEDURES",
            Self::GatheringStatistics => "GATHERING SCHEMA STATISTICS",
            Self::Complete => "TPCC SCHEMA COMPLETE",
            Self::SslCipher { cipher } => return ssl_cipher(f, cipher),
            Self::CreatingDatabase { database, owner } => {
                write!(f, "CREATING DATABASE {database}")?;
                return match owner {
                    Some(owner) => write!(f, " under OWNER {owner}"),
                    None => Ok(()),
                };
            }
            Self::UsingDatabase { database } => {
                return write!(
                    f,
                    "Using existing empty Database {database} for Schema build"
                );
            }
            Self::Items { rows } => return write!(f, "Loading Items - {rows}"),
            Self::LoadingWarehouses { first, last } => {
                let count = (last + 1).saturating_sub(*first);
                return write!(f, "Loading {count} Warehouses start:{first} end:{last}");
            }
            Self::Start { date } => return write!(f, "Start:{date}"),
            Self::LoadingStock { warehouse } => {
                return write!(f, "Loading Stock Wid={warehouse}");
            }
            Self::Stock { rows } => return write!(f, "Loading Stock - {rows}"),
            Self::LoadingCustomer {
                district,
                warehouse,
            } => return write!(f, "Loading Customer for DID={district} WID={warehouse}"),
            Self::LoadingOrders {
                district,
                warehouse,
            } => return write!(f, "Loading Orders for D={district} W={warehouse}"),
            Self::Orders { rows } => return write!(f, "...{rows}"),
            Self::End { date } => return write!(f, "End:{date}"),
            Self::Workers { active, done } => {
                return write!(f, "Workers: {active} Active {done} Done");
            }
        };
        f.write_str(plain)
    }
}

fn ssl_cipher(f: &mut fmt::Formatter<'_>, cipher: &str) -> fmt::Result {
    write!(f, "Ssl_cipher {cipher}")
}

/// What a run says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each is named after its text.
pub enum RunLine {
    Profiler,
    /// As that of a build.
    SslCipher {
        cipher: String,
    },
    Rampup {
        minutes: u64,
    },
    /// That many minutes of the rampup are over.
    RampupMinutes {
        minutes: u64,
    },
    RampupComplete,
    Timing {
        minutes: u64,
    },
    /// That many minutes of the test are over.
    Minute {
        minutes: u64,
    },
    TestComplete,
    ActiveUsers {
        users: u32,
    },
    /// The figures; `database` as in `PostgreSQL`.
    Result {
        nopm: u64,
        tpm: u64,
        database: String,
        tpm_first: bool,
    },
    /// One warehouse of a virtual user's share: the `nth` of `of`.
    Assigning {
        vuser: u32,
        warehouse: u64,
        users: u32,
        warehouses: u64,
        nth: u64,
        of: u64,
    },
    Processing {
        iterations: u64,
        suppressed: bool,
    },
    /// A transaction failed, and its virtual user goes on.
    Error {
        kind: Kind,
    },
    /// The test driver begins a transaction.
    Kind {
        kind: Kind,
    },
    CheckpointAndVacuum,
    CheckpointAndVacuumComplete,
    GatheringTimings,
    CalculatingTimings,
    WritingTimings {
        path: String,
    },
}

/// A kind of transaction under its three names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// In errors: `New Order`.
    pub title: &'static str,
    /// Of its routine, in time profiles: `NEWORD`.
    pub routine: &'static str,
    /// In the workload's list.
    name: &'static str,
}

impl Kind {
    /// All, in the order of the workload's list.
    pub const ALL: [Kind; 5] = [
        Kind::new("New Order", "NEWORD", "new-order"),
        Kind::new("Payment", "PAYMENT", "payment"),
        Kind::new("Order Status", "OSTAT", "order-status"),
        Kind::new("Delivery", "DELIVERY", "delivery"),
        Kind::new("Stock Level", "SLEV", "stock-level"),
    ];

    const fn new(title: &'static str, routine: &'static str, name: &'static str) -> Self {
        Kind {
            title,
            routine,
            name,
        }
    }

    /// The kind of this name of the workload's; any other is said to be a new order.
    pub fn find(name: &str) -> Kind {
        let found = Kind::ALL.into_iter().find(|kind| kind.name == name);
        found.unwrap_or(Kind::ALL[0])
    }
}

impl fmt::Display for RunLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profiler => f.write_str("Initializing xtprof time profiler"),
            Self::SslCipher { cipher } => ssl_cipher(f, cipher),
            Self::Rampup { minutes } => write!(f, "Beginning rampup time of {minutes} minutes"),
            Self::RampupMinutes { minutes } => write!(f, "Rampup {minutes} minutes complete ..."),
            Self::RampupComplete => f.write_str("Rampup complete, Taking start Transaction Count."),
            Self::Timing { minutes } => write!(f, "Timing test period of {minutes} in minutes"),
            Self::Minute { minutes } => write!(f, "{minutes} ...,"),
            Self::TestComplete => f.write_str("Test complete, Taking end Transaction Count."),
            Self::ActiveUsers { users } => write!(f, "{users} Active Virtual Users configured"),
            Self::Result {
                nopm,
                tpm,
                database,
                tpm_first,
            } => {
                f.write_str("TEST RESULT : System achieved ")?;
                if *tpm_first {
                    write!(f, "{tpm} {database} TPM at {nopm} NOPM")
                } else {
                    write!(f, "{nopm} NOPM from {tpm} {database} TPM")
                }
            }
            Self::Assigning {
                vuser,
                warehouse,
                users,
                warehouses,
                nth,
                of,
            } => write!(
                f,
                "VU {vuser} : Assigning WID={warehouse} based on VU count {users}, Warehouses = {warehouses} ({nth} out of {of})"
            ),
            Self::Processing {
                iterations,
                suppressed,
            } => {
                let how = if *suppressed { "with" } else { "without" };
                write!(
                    f,
                    "Processing {iterations} transactions {how} output suppressed..."
                )
            }
            Self::Error { kind } => {
                write!(
                    f,
                    "{} Procedure Error set RAISEERROR for Details",
                    kind.title
                )
            }
            Self::Kind { kind } => f.write_str(&kind.title.to_lowercase()),
            Self::CheckpointAndVacuum => f.write_str("Checkpoint and Vacuum"),
            Self::CheckpointAndVacuumComplete => f.write_str("Checkpoint and Vacuum Complete"),
            Self::GatheringTimings => {
                f.write_str("Gathering timing data from Active Virtual Users...")
            }
            Self::CalculatingTimings => f.write_str("Calculating timings..."),
            Self::WritingTimings { path } => write!(f, "Writing timing data to {path}"),
        }
    }
}

/// The warehouses of the virtual user at a position (2 is the first that drives), when all
/// warehouses are used: every `users`th, and at least one.
pub fn share(vuser: u32, users: u32, warehouses: u64) -> Vec<u64> {
    let (users, offset) = (u64::from(users.max(1)), u64::from(vuser.saturating_sub(2)));
    if warehouses == 0 {
        return Vec::new();
    }
    let each = warehouses.div_ceil(users);
    (0..each)
        .map(|k| (offset + k * users) % warehouses + 1)
        .collect()
}

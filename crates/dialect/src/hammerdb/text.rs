//! The lines that a build and a run print.
//!
//! In: events as plain data. Out: HammerDB 4.6's text. Must never: print, or read a clock: dates are passed
//! as text, such as `Fri Nov 20 22:21:44 UTC 2026`.

use prony_server::control::Error;
use prony_wire::ServerError;
use std::fmt;

/// A line of a virtual user, before [`terminal_line`] or [`log_entry`].
pub fn vuser_line(number: u32, text: impl fmt::Display) -> String {
    format!("Vuser {number}:{text}")
}

/// The line of a virtual user that starts. Not logged.
pub fn running_line(number: u32) -> String {
    vuser_line(number, "RUNNING")
}

/// The line of a virtual user that ended. Not logged.
pub fn finished_line(number: u32, success: bool) -> String {
    vuser_line(
        number,
        if success {
            "FINISHED SUCCESS"
        } else {
            "FINISHED FAILED"
        },
    )
}

/// The line with the reason why a virtual user failed, printed before its FINISHED line. Not logged.
pub fn failure_line(number: u32, reason: &str) -> String {
    format!("Error in Virtual User {number}: {reason}")
}

/// The reason why a virtual user could not connect. `server`: the server's address, printed for a connection
/// without a database; `password_section`: the dictionary with the password. Omits hints about URLs and password
/// files, because scripts use neither.
pub fn connect_failure(
    (database, server, user): (&str, &str, &str),
    password_section: &str,
    error: &Error,
) -> String {
    let destination = match database {
        // On MySQL the superuser connects to the server without a database.
        "" => format!("server {server}"),
        name => format!("database {name}"),
    };
    let reason = match error {
        Error::Connect(failures) => {
            let attempts: Vec<String> = failures.iter().map(ToString::to_string).collect();
            attempts.join("\n")
        }
        other => other.to_string(),
    };
    let is_missing = |error: &ServerError| error.message.ends_with("does not exist");
    let hint = match error.sqlstate() {
        Some("28000") if error.server_error().is_some_and(is_missing) => {
            "\nbuildschema creates the user of the schema; a superuser must exist".to_owned()
        }
        // HammerDB stores passwords between calls, and scripts may rely on it; so tell the user after a failed
        // login that Prony does not. Most servers do not tell a wrong password from a user that does not exist.
        Some("28P01" | "28000") => format!(
            "\nPasswords are not stored between calls: set them with diset {password_section}. buildschema creates the \
             user of the schema"
        ),
        _ => String::new(),
    };
    format!("Connection to {destination} as {user} failed\n{reason}{hint}")
}

/// A line as HammerDB prints it on a terminal: a carriage return follows the line feed.
pub fn terminal_line(line: &str) -> String {
    format!("{line}\n\r")
}

pub fn log_header(date: &str) -> String {
    format!("Hammerdb Log @ {date}\n{}\n", "+-".repeat(22))
}

/// A virtual user's line in a log, with the date if the log has timestamps.
pub fn log_entry(number: u32, text: impl fmt::Display, date: Option<&str>) -> String {
    let timestamp = date.map(|date| format!("Timestamp {number} @ {date}\n"));
    format!(
        "{}{}\n",
        timestamp.unwrap_or_default(),
        vuser_line(number, text)
    )
}

/// A line of the transaction counter, for the terminal and its log.
pub fn counter_line(tpm: u64, database: &str) -> String {
    format!("{tpm} {database} tpm")
}

pub fn counter_log_header(date: &str) -> String {
    let rule = "+-".repeat(31);
    format!("Hammerdb Transaction Counter Log @ {date}\n{rule}+\n")
}

/// An entry of the transaction counter's log, with the date if the log has timestamps.
pub fn counter_entry(line: &str, date: Option<&str>) -> String {
    match date {
        Some(date) => format!("{line} @ {date}\n"),
        None => format!("{line}\n"),
    }
}

/// Declares an enum of lines. Each variant has a text with placeholders: `{name}` is a field, `{}` one of the
/// arguments after the text.
macro_rules! lines {
    (
        $(#[$about:meta])* $name:ident
        $( $(#[$doc:meta])* $variant:ident $({ $($field:ident: $type:ty),* })? => $text:literal $(, $argument:expr)*; )*
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[$doc])* $variant $({ $($field: $type),* })?, )*
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $( $name::$variant $({ $($field),* })? => write!(f, $text $(, $argument)*), )*
                }
            }
        }
    };
}

lines! {
    /// A line of a build. Warehouses and districts count from 1; rows are counted per table.
    BuildLine
    MonitorThread => "Monitor Thread";
    WorkerThread => "Worker Thread";
    WaitingForMonitor => "Waiting for Monitor Thread...";
    /// `schema`: the owner's name on PostgreSQL, elsewhere the database's.
    CreatingSchema { schema: String } => "CREATING {} SCHEMA", schema.to_uppercase();
    /// The cipher of a connection to MySQL or MariaDB; empty without encryption.
    SslCipher { cipher: String } => "Ssl_cipher {cipher}";
    /// `owner`: the role that owns the database, on PostgreSQL only.
    CreatingDatabase { database: String, owner: Option<String> } => "CREATING DATABASE {database}{}", owner_clause(owner);
    UsingDatabase { database: String } => "Using existing empty Database {database} for Schema build";
    CreatingTables => "CREATING TPCC TABLES";
    LoadingItem => "Loading Item";
    Items { rows: u64 } => "Loading Items - {rows}";
    ItemDone => "Item done";
    /// A worker's part of the warehouses.
    LoadingWarehouses { first: u64, last: u64 } =>
        "Loading {} Warehouses start:{first} end:{last}", (last + 1).saturating_sub(*first);
    Start { date: String } => "Start:{date}";
    LoadingWarehouse => "Loading Warehouse";
    LoadingStock { warehouse: u64 } => "Loading Stock Wid={warehouse}";
    Stock { rows: u64 } => "Loading Stock - {rows}";
    StockDone => "Stock done";
    LoadingDistrict => "Loading District";
    DistrictDone => "District done";
    LoadingCustomer { district: u32, warehouse: u64 } => "Loading Customer for DID={district} WID={warehouse}";
    CustomerDone => "Customer Done";
    LoadingOrders { district: u32, warehouse: u64 } => "Loading Orders for D={district} W={warehouse}";
    Orders { rows: u64 } => "...{rows}";
    OrdersDone => "Orders Done";
    End { date: String } => "End:{date}";
    MonitoringWorkers => "Monitoring Workers...";
    Workers { active: u32, done: u32 } => "Workers: {active} Active {done} Done";
    CreatingIndexes => "CREATING TPCC INDEXES";
    CreatingFunctions => "CREATING TPCC FUNCTIONS";
    CreatingProcedures => "CREATING TPCC STORED PROCEDURES";
    GatheringStatistics => "GATHERING SCHEMA STATISTICS";
    /// On SQL Server, instead of the line before.
    UpdatingStatistics => "UPDATING SCHEMA STATISTICS";
    Complete { schema: String } => "{} SCHEMA COMPLETE", schema.to_uppercase();
}

fn owner_clause(owner: &Option<String>) -> String {
    let owner = owner.as_ref();
    owner.map_or(String::new(), |owner| format!(" under OWNER {owner}"))
}

lines! {
    RunLine
    Profiler => "Initializing xtprof time profiler";
    /// The cipher of a connection to MySQL or MariaDB; empty without encryption.
    SslCipher { cipher: String } => "Ssl_cipher {cipher}";
    Rampup { minutes: u64 } => "Beginning rampup time of {minutes} minutes";
    /// This many minutes of the ramp-up are over.
    RampupMinutes { minutes: u64 } => "Rampup {minutes} minutes complete ...";
    RampupComplete => "Rampup complete, Taking start Transaction Count.";
    Timing { minutes: u64 } => "Timing test period of {minutes} in minutes";
    /// This many minutes of the test are over.
    Minute { minutes: u64 } => "{minutes} ...,";
    TestComplete => "Test complete, Taking end Transaction Count.";
    ActiveUsers { users: u32 } => "{users} Active Virtual Users configured";
    /// The result; `database` is a name such as `PostgreSQL`.
    /// `tpm`: `None` if the server does not report its count.
    Result { nopm: u64, tpm: Option<u64>, database: String, tpm_first: bool } =>
        "TEST RESULT : System achieved {}", result_figures(*nopm, *tpm, database, *tpm_first);
    /// After the result, if `pg_storedprocs` is true.
    FunctionsCalled =>
        "pg_storedprocs is not supported: each transaction called a function, not a procedure; compare only with runs of functions";
    /// One warehouse of a virtual user's part: number `index` of `count`.
    Assigning { vuser: u32, warehouse: u64, users: u32, warehouses: u64, index: u64, count: u64 } =>
        "VU {vuser} : Assigning WID={warehouse} based on VU count {users}, Warehouses = {warehouses} ({index} out of {count})";
    Processing { iterations: u64, suppressed: bool } =>
        "Processing {iterations} transactions {} output suppressed...", if *suppressed { "with" } else { "without" };
    /// A transaction failed, and its virtual user continues.
    Error { kind: TransactionKind } => "{} Procedure Error set RAISEERROR for Details", kind.title;
    /// The test driver starts a transaction.
    StartTransaction { kind: TransactionKind } => "{}", kind.title.to_lowercase();
    /// `statements`: the kind of work after the run, `Checkpoint and Vacuum`, on SQL Server `Checkpoint`.
    Maintenance { statements: &'static str } => "{statements}";
    MaintenanceComplete { statements: &'static str } => "{statements} Complete";
    GatheringTimings => "Gathering timing data from Active Virtual Users...";
    CalculatingTimings => "Calculating timings...";
    WritingTimings { path: String } => "Writing timing data to {path}";
}

/// Printed in place of a count that the server does not report.
pub(super) const UNKNOWN: &str = "unknown";

fn result_figures(nopm: u64, tpm: Option<u64>, database: &str, tpm_first: bool) -> String {
    let tpm = tpm.map_or_else(|| UNKNOWN.to_owned(), |tpm| tpm.to_string());
    if tpm_first {
        format!("{tpm} {database} TPM at {nopm} NOPM")
    } else {
        format!("{nopm} NOPM from {tpm} {database} TPM")
    }
}

/// A kind of transaction: what errors, time profiles and the workload call it, and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionKind {
    /// The kind's name in errors, such as `New Order`.
    pub title: &'static str,
    /// The name of the kind's routine in time profiles, such as `NEWORD`.
    pub routine: &'static str,
    /// The kind's name in the workload, such as `new-order`.
    pub(super) workload_name: &'static str,
    /// How many of the [`TransactionKind::DECK_SIZE`] cards of HammerDB's deck the kind has.
    pub(super) cards: u32,
}

impl TransactionKind {
    /// All kinds, in the workload's order.
    pub const ALL: [TransactionKind; 5] = [
        TransactionKind::new("New Order", "NEWORD", "new-order", 10),
        TransactionKind::new("Payment", "PAYMENT", "payment", 10),
        TransactionKind::new("Order Status", "OSTAT", "order-status", 1),
        TransactionKind::new("Delivery", "DELIVERY", "delivery", 1),
        TransactionKind::new("Stock Level", "SLEV", "stock-level", 1),
    ];

    pub(super) const DECK_SIZE: u32 = 23;

    const fn new(
        title: &'static str,
        routine: &'static str,
        workload_name: &'static str,
        cards: u32,
    ) -> Self {
        TransactionKind {
            title,
            routine,
            workload_name,
            cards,
        }
    }

    /// The kind with this name in the workload; new order if there is no such kind.
    pub fn find(name: &str) -> TransactionKind {
        let kind = TransactionKind::ALL
            .into_iter()
            .find(|kind| kind.workload_name == name);
        kind.unwrap_or(TransactionKind::ALL[0])
    }
}

/// The warehouses of a virtual user if the users divide all warehouses among themselves: every `users`-th
/// warehouse, at least one. Virtual user 2 is the first that runs transactions.
pub fn assigned_warehouses(vuser: u32, users: u32, warehouses: u64) -> Vec<u64> {
    let (users, offset) = (u64::from(users.max(1)), u64::from(vuser.saturating_sub(2)));
    if warehouses == 0 {
        return Vec::new();
    }
    let count = warehouses.div_ceil(users);
    (0..count)
        .map(|index| (offset + index * users) % warehouses + 1)
        .collect()
}

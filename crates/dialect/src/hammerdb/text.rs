//! The lines that a build and a run print.
//!
//! In: events as plain data. Out: HammerDB 4.6's text. Must never: print, or read a clock: dates are passed
//! as text, such as `Fri Nov 20 22:21:44 UTC 2026`.

use super::request::Login;
use prony_document::SqlDialect;
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
    let end = if success { "SUCCESS" } else { "FAILED" };
    vuser_line(number, format!("FINISHED {end}"))
}

/// The line with the reason why a virtual user failed, printed before its FINISHED line. Not logged.
pub fn failure_line(number: u32, reason: &str) -> String {
    format!("Error in Virtual User {number}: {reason}")
}

/// Where a virtual user connects.
pub struct Destination<'a> {
    /// Empty for a connection without a database.
    pub database: &'a str,
    /// The server's address, printed for a connection without a database.
    pub server: &'a str,
    pub user: &'a str,
}

/// The reason why a virtual user could not connect. `password_section`: the dictionary with the password. Omits hints
/// about URLs and password files, because scripts use neither.
pub fn connect_failure(
    destination: &Destination<'_>,
    password_section: &str,
    error: &Error,
) -> String {
    let destination_text = match destination.database {
        // On MySQL the superuser connects to the server without a database.
        "" => format!("server {}", destination.server),
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
    let user = destination.user;
    format!("Connection to {destination_text} as {user} failed\n{reason}{hint}")
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
    timestamp.unwrap_or_default() + &vuser_line(number, text) + "\n"
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

/// Printed in place of a count that the server does not report.
pub(super) const UNKNOWN: &str = "unknown";

/// The line with the result. `tpm`: `None` if the server does not report its count; `database`: a name such as
/// `PostgreSQL`; `tpm_first`: whether TPM precede NOPM.
pub fn result_line(nopm: u64, tpm: Option<u64>, database: &str, tpm_first: bool) -> String {
    let tpm = tpm.map_or_else(|| UNKNOWN.to_owned(), |tpm| tpm.to_string());
    let figures = if tpm_first {
        format!("{tpm} {database} TPM at {nopm} NOPM")
    } else {
        format!("{nopm} NOPM from {tpm} {database} TPM")
    };
    format!("TEST RESULT : System achieved {figures}")
}

/// The line before a connection's first statement on MySQL and MariaDB. `cipher`: empty without encryption.
pub fn cipher_line(cipher: &str) -> String {
    format!("Ssl_cipher {cipher}")
}

/// The first line of a build. `schema`: the owner's name on PostgreSQL, elsewhere the database's.
pub fn creating_line(schema: &str) -> String {
    format!("CREATING {} SCHEMA", schema.to_uppercase())
}

/// The line of a build that created its database.
pub fn database_line(owner: &Login) -> String {
    let clause = match owner.product.dialect {
        SqlDialect::PostgreSql => format!(" under OWNER {}", owner.user),
        SqlDialect::MySql | SqlDialect::TransactSql => String::new(),
    };
    format!("CREATING DATABASE {}{clause}", owner.database)
}

/// The last line of a build.
pub fn complete_line(schema: &str) -> String {
    format!("{} SCHEMA COMPLETE", schema.to_uppercase())
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
/// warehouse, at least one. Virtual user 2 is the first that runs transactions. Empty without warehouses.
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

//! The login to MySQL or MariaDB. Must never: show a password.

use crate::Secret;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Conditions on a session's state, each with the assignments that make it true. They may not hold after a login, because
/// the server executes `init_connect`, has other defaults, or ignores the character set that a login requests.
type Settings = [(&'static str, &'static str)];

/// The settings of every session. A program decides itself where its transactions begin and end, as on the other engines.
const EVERY_SESSION: &Settings = &[
    ("@@autocommit = 1", "autocommit = 1"),
    (
        "@@completion_type = 'NO_CHAIN'",
        "completion_type = 'NO_CHAIN'",
    ),
    (
        "@@character_set_client = 'utf8mb4' AND @@character_set_connection = 'utf8mb4' \
         AND @@character_set_results <=> 'utf8mb4'",
        "character_set_client = utf8mb4, character_set_results = utf8mb4, \
         collation_connection = utf8mb4_general_ci",
    ),
];

/// The condition that no mode gives SQL another meaning. A macro, because `concat!` takes only literals.
macro_rules! usual_modes {
    () => {
        "@@sql_mode NOT REGEXP 'ORACLE|PAD_CHAR_TO_FULL_LENGTH|SIMULTANEOUS_ASSIGNMENT|NO_AUTO_VALUE_ON_ZERO'"
    };
}

/// Further settings of sessions with Prony's own statements, which no mode may give another meaning, and from which no
/// limit may hide rows.
const OWN_STATEMENTS: &Settings = &[
    (
        usual_modes!(),
        concat!(
            "sql_mode = IF(",
            usual_modes!(),
            ", @@sql_mode, 'STRICT_ALL_TABLES')"
        ),
    ),
    // The first number is Dolt's default. The second has 63 bits, because Dolt reads MySQL's default, of 64 bits, as
    // negative.
    (
        "@@sql_select_limit >= 2147483647",
        "sql_select_limit = 9223372036854775807",
    ),
];

/// Further settings of Prony's control connections, on which no statement or pause is too long. MySQL and MariaDB each
/// execute the comment that is theirs.
const CONTROL: &Settings = &[(
    "@@wait_timeout >= 28800 /*!50708 AND @@max_execution_time = 0 */ \
     /*M!100101 AND @@max_statement_time = 0 */",
    "wait_timeout = 28800 /*!50708 , max_execution_time = 0 */ \
     /*M!100101 , max_statement_time = 0 */",
)];

/// Whose statements a session executes. Each use needs the settings of the uses before it, and its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionUse {
    /// A script's or a replaced tool's, which also depend on the server's settings.
    #[default]
    Foreign,
    /// Those of Prony's workloads.
    Own,
    /// Those of Prony's own control connection.
    Control,
}

impl SessionUse {
    /// The settings of the clients' sessions, and those of a control connection besides.
    fn settings(self) -> [Vec<&'static (&'static str, &'static str)>; 2] {
        let own: &Settings = if self >= SessionUse::Own { OWN_STATEMENTS } else { &[] };
        let control: &Settings = if self == SessionUse::Control { CONTROL } else { &[] };
        [
            EVERY_SESSION.iter().chain(own).collect(),
            control.iter().collect(),
        ]
    }

    /// A query for whether sessions begin in the state that the clients' statements need (1 or 0), and whether this
    /// session is in the state that a control connection needs besides.
    pub fn check(self) -> String {
        let [clients, control] = self.settings().map(|settings| {
            let conditions = settings.into_iter().map(|(condition, _)| *condition);
            std::iter::once("1")
                .chain(conditions)
                .collect::<Vec<_>>()
                .join(" AND ")
        });
        format!("SELECT {clients}, {control}")
    }

    /// The statement that makes all conditions of [`SessionUse::check`] true.
    pub fn set(self) -> String {
        let settings = self.settings().into_iter().flatten();
        let assignments: Vec<_> = settings.map(|(_, assignment)| *assignment).collect();
        format!("SET {}", assignments.join(", "))
    }
}

/// The credentials and permissions of a login, shared by all connections to one endpoint.
#[derive(Clone, Debug, Default)]
pub struct Login {
    pub user: String,
    /// Default database; empty for none.
    pub database: String,
    pub password: Option<Secret>,
    pub options: MysqlOptions,
    pub session_use: SessionUse,
    /// Whether the connection is a unix socket, on which nobody can eavesdrop.
    pub over_unix_socket: bool,
}

/// The options of a login that do not depend on the endpoint.
#[derive(Clone, Debug, Default)]
pub struct MysqlOptions {
    /// Names and values of connection attributes, which the server lists in `performance_schema`.
    pub attributes: Vec<(String, String)>,
    /// `enable-cleartext-plugin`: the password may be sent in the clear, over TLS or a unix socket, if the server requests
    /// that.
    pub allow_cleartext: bool,
    /// `get-server-public-key`: the server's RSA key may be requested without TLS also from another machine, where an
    /// attacker could answer with another key.
    pub get_server_public_key: bool,
    /// The server's RSA key in PEM, known in advance (`server-public-key-path`).
    pub server_public_key: Option<Vec<u8>>,
    /// `local-infile`: `LOAD DATA LOCAL` may be used, after which the server requests data.
    pub local_infile: bool,
    /// Whether rows that an UPDATE matched but did not change count as affected (`CLIENT_FOUND_ROWS`).
    pub found_rows: bool,
    /// Whether [`SessionUse::set`] follows each login, because the server puts sessions into another state. Shared by all
    /// logins to a server: its first session finds that out, with [`SessionUse::check`].
    pub sets_session: Arc<AtomicBool>,
    /// Settings with which each session begins, as assignments of SET; each name and value is quoted.
    pub session_settings: Vec<String>,
}

impl Login {
    /// A login without a password.
    pub fn new(user: impl Into<String>, database: impl Into<String>) -> Login {
        Login {
            user: user.into(),
            database: database.into(),
            ..Login::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dolt reads a larger limit as negative, and then refuses each SELECT; its default hides no row.
    #[test]
    fn each_product_reads_the_row_limit_of_a_session_as_positive() {
        let assignment = SessionUse::Own.set();
        let (_, limit) = assignment
            .split_once("sql_select_limit = ")
            .expect("it is set");
        let limit: i64 = limit.trim().parse().expect("63 bits");
        let check = SessionUse::Own.check();
        let (_, least) = check
            .split_once("@@sql_select_limit >= ")
            .expect("it is checked");
        let least = least.split(',').next().and_then(|least| least.parse().ok());
        assert!(least.is_some_and(|least: i64| least <= i32::MAX.into() && least < limit));
    }
}

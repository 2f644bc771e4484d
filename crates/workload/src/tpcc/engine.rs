//! The parts of the transactions, routines, schema and conditions that depend on the engine: its `.sql`
//! files and a few functions.

use super::profile::Profile;
use super::routines::Routine;
use super::template::{Template, on_one_line, without_comments};
use super::{mysql, postgres, sqlserver};
use prony_document::SqlDialect;

/// The texts of the `.sql` files with these names in a folder.
macro_rules! sql_files {
    ($folder:literal $($name:literal)+) => {
        &[$(include_str!(concat!($folder, $name, ".sql"))),+]
    };
}
pub(super) use sql_files;

/// The SQL of one engine. Lists by transaction are in the order of `TpccTransaction::ALL`, and each text is a
/// template.
#[derive(Debug)]
pub struct EngineSql {
    pub dialect: SqlDialect,
    /// The statements that create the nine tables.
    pub schema: &'static str,
    /// As in `hammerdb_calls`, the placeholders have types (`parameters.rs`).
    pub calls: &'static str,
    pub routines: &'static [&'static str],
    /// The calls of HammerDB's routines, for profiles that make them.
    pub hammerdb_calls: &'static str,
    /// HammerDB's routines, with Prony's bodies.
    pub hammerdb_routines: &'static [&'static str],
    /// Texts of the engine in `statements.sql` and in its routines, by name.
    pub fragments: &'static [(&'static str, &'static str)],
    /// The query for all routines that have Prony's or HammerDB's names: name, kind (`f`, `p`), fingerprint,
    /// the statement that drops it, and whether it is Prony's (1 or 0).
    pub installed: &'static str,
    /// The lock that serializes installations.
    pub lock: InstallationLock,
    pub create: fn(&Routine) -> String,
    /// The fingerprint of a routine that the server stores, which identifies its text.
    pub fingerprint: fn(&Routine) -> String,
    pub conditions: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub enum InstallationLock {
    /// The statements that take and release it. The first fails if the session does not get it.
    Statements([&'static str; 2]),
    /// A user-level lock of MySQL and MariaDB, with the start of its name: their function returns whether the session got
    /// it.
    UserLevel(&'static str),
}

/// How a routine is written, where a template has several forms of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoutineForm {
    /// As a function where there could be a procedure too.
    pub is_function: bool,
    /// For Babelfish, whose T-SQL lacks some of SQL Server's.
    pub is_for_babelfish: bool,
}

impl RoutineForm {
    pub const ENGINE: RoutineForm = RoutineForm {
        is_function: true,
        is_for_babelfish: false,
    };
}

impl EngineSql {
    pub fn of(dialect: SqlDialect) -> &'static EngineSql {
        match dialect {
            SqlDialect::PostgreSql => &postgres::SQL,
            SqlDialect::MySql => &mysql::SQL,
            SqlDialect::TransactSql => &sqlserver::SQL,
        }
    }

    /// Fills in a template for a profile; `prefix` begins its routine names.
    pub fn fill(&self, text: &str, profile: &Profile, prefix: &str, form: RoutineForm) -> String {
        let mut values = self.fragments.to_vec();
        values.push(("prefix", prefix));
        let template = Template {
            flags: &[
                ("counters", profile.counters),
                ("outputs", profile.outputs),
                ("rolls_back", profile.rolls_back),
                ("function", form.is_function),
                ("babelfish", form.is_for_babelfish),
                ("postgresql", self.dialect == SqlDialect::PostgreSql),
                ("mysql", self.dialect == SqlDialect::MySql),
                ("sqlserver", self.dialect == SqlDialect::TransactSql),
            ],
            values: &values,
        };
        template.fill(text)
    }
}

pub fn statements(text: &str) -> impl Iterator<Item = String> {
    let statements = without_comments(text);
    let statements: Vec<String> = statements.split(';').map(on_one_line).collect();
    statements.into_iter().filter(|text| !text.is_empty())
}

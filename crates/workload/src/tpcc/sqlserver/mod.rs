//! tpcc's SQL for SQL Server: the `.sql` files of this folder, and how procedures are identified.
//!
//! Procedures execute as many statements as HammerDB's, of the same kinds: they make up most of a transaction's cost, and
//! a figure such as NOPM is comparable with HammerDB's only if their costs are equal.
//!
//! An update also reads values of its row. For a value that it changes, it uses `@variable = column = value`, because
//! `@variable = column` reads the old value on SQL Server. Babelfish differs, and the templates have its form in
//! `{babelfish:}`:
//! - `@variable = column` reads the new value there.
//! - An update with variables must not contain `@variable = column = value` beside another column (4.3 drops the comma),
//!   OUTPUT, a semicolon, or a variable in the value of another variable.
//! - OUTPUT INTO takes no `inserted.column` inside an expression, so an order's line needs a third statement.
//!
//! Each procedure returns one row, all NULL for an order with an unused item, and no row counts of the statements inside
//! (`NOCOUNT`). If a required row is missing, it rolls back and fails with error 50000. After an error of the
//! server `XACT_ABORT` rolls back, and the error reaches the client unchanged: no procedure turns an error into
//! a row. The procedures for HammerDB's driver have the names of its parameters, by which it calls them.

pub mod indexes;

use super::engine::{EngineSql, InstallationLock, sql_files};
use super::routines::{Routine, hashed_comment};
use prony_document::SqlDialect;

/// See [`EngineSql`].
pub static SQL: EngineSql = EngineSql {
    dialect: SqlDialect::TransactSql,
    schema: include_str!("schema.sql"),
    calls: include_str!("calls.sql"),
    routines: sql_files!("./" "new_order" "payment" "order_status" "delivery" "stock_level"),
    hammerdb_calls: "",
    hammerdb_routines: sql_files!("hammerdb/" "neword" "payment" "ostat" "delivery" "slev"),
    fragments: &[
        ("small", "smallint"),
        ("now", "sysdatetime()"),
        ("name", "varchar(16)"),
        ("missing", MISSING),
        ("taken", TAKEN),
    ],
    installed: include_str!("installed.sql"),
    lock: InstallationLock::Statements([
        "declare @result int; \
         exec @result = sp_getapplock 'prony tpcc procedures', 'Exclusive', 'Session', 60000; \
         if @result < 0 raiserror('another session is installing the procedures of tpcc', 16, 1)",
        "exec sp_releaseapplock 'prony tpcc procedures', 'Session'",
    ]),
    create,
    // The server stores the text as it was sent, but not every server returns it unchanged.
    fingerprint: hashed_comment,
    conditions: include_str!("conditions.sql"),
};

/// Ends a procedure whose last statement did not find a required row.
const MISSING: &str = "if @@rowcount = 0
  begin
    if @@trancount > 0 rollback transaction;
    raiserror('a required row is missing: prony check tpcc reports what is wrong with the data', 16, 1);
    return;
  end;";

/// Looks for the district's next order if a concurrent delivery has taken this one, which only happens where
/// the server ignores UPDLOCK, as Babelfish can be told to.
const TAKEN: &str = "if @@rowcount = 0 continue;";

fn create(routine: &Routine) -> String {
    let Routine {
        name,
        parameters,
        body,
        ..
    } = routine;
    let comment = hashed_comment(routine);
    format!("create procedure {name} {parameters} as /* {comment} */\n{body}")
}

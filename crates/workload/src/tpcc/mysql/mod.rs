//! tpcc's SQL for MySQL and MariaDB: the `.sql` files of this folder, and how the catalog stores
//! procedures. Must never use anything that MySQL 5.6 lacks.
//!
//! Procedures process line by line, as the statements and HammerDB's procedures do: these servers have
//! no arrays, and a statement inside a procedure costs them little. Each procedure of a profile returns
//! one row, all NULL for an order with an unused item. If a required row is missing, it fails with
//! SQLSTATE P0002. Errors of the server itself reach the client unchanged, with the transaction
//! still open. The procedures with HammerDB's names roll an order with an unused item back and return
//! no number; after any other error they roll back and resignal it.
//!
//! Name parameters have the character set of their column, whatever the database's default is:
//! otherwise the index on names could not be used.

use super::engine::{EngineSql, InstallationLock, sql_files};
use super::routines::{Routine, hashed_comment};
use prony_document::SqlDialect;

/// See [`EngineSql`].
pub static SQL: EngineSql = EngineSql {
    dialect: SqlDialect::MySql,
    schema: include_str!("schema.sql"),
    calls: include_str!("calls.sql"),
    routines: sql_files!("./" "new_order" "payment" "order_status" "delivery" "stock_level"),
    hammerdb_calls: "",
    hammerdb_routines: sql_files!("hammerdb/" "neword" "payment" "delivery" "ostat" "slev"),
    fragments: &[
        ("small", "int"),
        ("now", "now()"),
        ("name", "varchar(16)"),
        ("missing", MISSING),
        ("error", ERROR),
    ],
    installed: include_str!("installed.sql"),
    lock: InstallationLock::UserLevel("prony tpcc procedures"),
    create,
    // Only the owner can read the text itself.
    fingerprint: hashed_comment,
    conditions: include_str!("conditions.sql"),
};

/// Ends a procedure that did not find a required row.
const MISSING: &str = "begin
    rollback;
    signal sqlstate 'P0002'
      set message_text = 'a required row is missing: prony check tpcc reports what is wrong with the data';
  end";

/// Rolls back after any other error, and passes it on.
const ERROR: &str = "declare exit handler for sqlexception
  begin
    rollback;
    resignal;
  end;";

fn create(routine: &Routine) -> String {
    let Routine {
        name,
        parameters,
        body,
        ..
    } = routine;
    let comment = hashed_comment(routine);
    format!(
        "create procedure {name}({parameters}) modifies sql data sql security invoker \
         comment '{comment}'\n{body}"
    )
}

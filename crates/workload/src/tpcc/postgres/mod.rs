//! tpcc's SQL for PostgreSQL: the `.sql` files of this folder, and how its catalog stores routines.
//!
//! A call of a routine in `hammerdb/` costs the server as much work as a call of HammerDB 4.6's: the
//! same number of statements of the same kinds, using the same indexes, random numbers from a function,
//! and a subtransaction (`tests/whole/tpcc_run/hammerdb.rs` counts them). The differences cost nothing: order
//! numbers and balances are right, an order line has its own item's price, and errors reach the client.

use super::engine::{EngineSql, InstallationLock, sql_files};
use super::routines::Routine;
use prony_document::SqlDialect;

/// See [`EngineSql`].
pub static SQL: EngineSql = EngineSql {
    dialect: SqlDialect::PostgreSql,
    schema: include_str!("schema.sql"),
    calls: include_str!("calls.sql"),
    routines: sql_files!("./" "new_order" "payment" "order_status" "delivery" "stock_level"),
    hammerdb_calls: include_str!("hammerdb/calls.sql"),
    hammerdb_routines: sql_files!("hammerdb/" "dbms_random" "neword" "payment" "delivery" "ostat" "slev"),
    fragments: &[("small", "smallint"), ("now", "now()"), ("name", "text")],
    installed: include_str!("installed.sql"),
    lock: InstallationLock::Statements([
        "begin; select pg_advisory_xact_lock(hashtext('prony_tpcc'))",
        "commit",
    ]),
    create,
    fingerprint: source,
    conditions: include_str!("conditions.sql"),
};

fn create(routine: &Routine) -> String {
    let Routine {
        kind,
        name,
        parameters,
        attributes,
        ..
    } = routine;
    let source = source(routine);
    format!("create {kind} {name}({parameters}) {attributes} $prony${source}$prony$")
}

/// The routine's source. It repeats the parameters and the volatility, so equal sources mean equal routines.
fn source(routine: &Routine) -> String {
    let volatility = if routine.attributes.contains("stable") { "stable" } else { "volatile" };
    let Routine {
        parameters, body, ..
    } = routine;
    format!("\n-- Installed by Prony. ({parameters}) {volatility}\n\n{body}\n")
}

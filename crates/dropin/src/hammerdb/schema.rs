//! The commands `checkschema` and `deleteschema`.
//!
//! In: a request, a server. Out: lines with findings; the database and role are dropped. Must never: drop the
//! database or the role of the connection that drops them.

use super::build::owner;
use super::connection;
use super::lines::VuserLines;
use prony_dialect::hammerdb::plan::WORKLOAD_NAME;
use prony_dialect::hammerdb::{HammerdbCommands, SchemaRequest, VuserOutcome};
use prony_document::SqlDialect;
use prony_runner::Signals;
use prony_server::Control;
use prony_server::database::{database_exists, drop_database, drop_role, role_exists};
use prony_workload::FindingState;
use prony_workload::stop::with_stop_watcher;

/// Checks the schema.
pub fn check(
    request: &SchemaRequest,
    lines: &VuserLines,
    signals: &Signals,
) -> Result<VuserOutcome, String> {
    let (_, mut control) = connection::open(&request.owner)?;
    let database = &request.owner.database;
    lines.say(format!("Checking {database} TPROC-C schema"));
    let workload = prony_workload::find(WORKLOAD_NAME).map_err(|error| error.to_string())?;
    let report = with_stop_watcher(&signals.flag(), |watch| {
        watch.register(&control);
        workload.check(&mut control)
    });
    let report = report.map_err(|error| error.render(&HammerdbCommands))?;
    let mut failed_checks = Vec::new();
    for finding in &report.findings {
        let state = match finding.state {
            FindingState::Ok => "OK",
            FindingState::Note => "NOTE",
            FindingState::Wrong => {
                failed_checks.push(finding.id.as_str());
                "FAILED"
            }
        };
        let text = finding.render(&HammerdbCommands);
        lines.say(format!("{state} {}: {text}", finding.id));
    }
    if let Some(scale) = report.scale
        && u64::from(scale) != request.warehouses
    {
        let (key, warehouses) = (request.owner.key("count_ware"), request.warehouses);
        lines.say(format!(
            "FAILED warehouses: the schema has {scale}, and {key} is {warehouses}"
        ));
        failed_checks.push("warehouses");
    }
    if !failed_checks.is_empty() {
        let names = failed_checks.join(", ");
        return Err(format!("TPROC-C Schema check failed: {names}"));
    }
    lines.say(format!(
        "{database} TPROC-C Schema has been checked successfully."
    ));
    lines.print_finished(1, true);
    Ok(VuserOutcome::default())
}

/// Drops the database and its owner.
///
/// # Errors
/// The server rejects a statement, or the database contains other tables.
pub fn delete(
    request: &SchemaRequest,
    lines: &VuserLines,
    signals: &Signals,
) -> Result<VuserOutcome, String> {
    let (owner, superuser) = (&request.owner, &request.superuser);
    let database = &owner.database;
    if owner.sql_server.is_some_and(|connection| connection.azure) {
        return Err(format!(
            "{database} is a database of Azure SQL, which HammerDB does not create: drop it where it was \
             created, or its tables with prony clean tpcc"
        ));
    }
    let (_, mut control) = connection::open(superuser)?;
    if *database == superuser.database {
        return Err(format!(
            "cannot drop {database}: pg_defaultdbase names the same database, and a session cannot drop the \
             database to which it is connected"
        ));
    }
    refuse_other_tables(&mut control, request)?;
    lines.say("DELETING TPCC SCHEMA");
    if database_exists(&mut control, database).map_err(|error| error.to_string())? {
        lines.say(format!("DROPPING DATABASE {database}"));
        let dropped = with_stop_watcher(&signals.flag(), |watch| {
            watch.register(&control);
            drop_database(&mut control, database)
        });
        dropped.map_err(|error| error.to_string())?;
    } else {
        lines.say(format!("THERE IS NO DATABASE {database}"));
    }
    match owner.product.dialect {
        SqlDialect::PostgreSql => delete_role(&mut control, request, lines, signals)?,
        // On the other engines the owner is the connected user, who is not dropped.
        SqlDialect::MySql | SqlDialect::TransactSql => {}
    }
    lines.say("TPCC SCHEMA DELETED");
    lines.print_finished(1, true);
    Ok(VuserOutcome::default())
}

/// Drops the role that owned the database, unless it is the superuser.
fn delete_role(
    control: &mut Control,
    request: &SchemaRequest,
    lines: &VuserLines,
    signals: &Signals,
) -> Result<(), String> {
    let role = &request.owner.user;
    if !role_exists(control, role).map_err(|error| error.to_string())? {
        lines.say(format!("THERE IS NO ROLE {role}"));
        return Ok(());
    }
    if *role == request.superuser.user {
        lines.say(format!("KEEPING ROLE {role}, WHICH IS THE SUPERUSER"));
        return Ok(());
    }
    lines.say(format!("DROPPING ROLE {role}"));
    let dropped = with_stop_watcher(&signals.flag(), |watch| {
        watch.register(control);
        drop_role(control, role)
    });
    dropped.map_err(|error| format!("the database is dropped, but not the role {role}: {error}"))
}

/// Refuses to drop a database that contains other tables, because `deleteschema` does not ask for
/// confirmation, and the name of the database may come from settings that were stored long ago.
fn refuse_other_tables(control: &mut Control, request: &SchemaRequest) -> Result<(), String> {
    let database = &request.owner.database;
    if !database_exists(control, database).map_err(|error| error.to_string())? {
        return Ok(());
    }
    let mut database_control = owner::connect_to_database(&request.superuser, database)?;
    let other_tables = owner::list_tables(&mut database_control)?.other_tables;
    if other_tables.is_empty() {
        return Ok(());
    }
    Err(format!(
        "Database {database} contains tables that are not TPROC-C's ({}...): nothing was deleted",
        other_tables.join(", ")
    ))
}

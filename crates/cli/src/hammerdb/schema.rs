//! `checkschema` and `deleteschema`.
//!
//! In: a request, a server. Out: findings in lines; a database and a role dropped. Must never: drop
//! the database or the role that it is connected by.

use super::build::owner;
use super::connection;
use super::lines::Lines;
use crate::signals::Signals;
use prony_dialect::hammerdb::plan::WORKLOAD;
use prony_dialect::hammerdb::{Ended, Login, Product, SchemaRequest};
use prony_server::Control;
use prony_workload::State;
use prony_workload::stop::watched;

/// Checks the schema.
///
/// # Errors
/// Why it could not be checked, or what is wrong with it.
pub fn check(request: &SchemaRequest, lines: &Lines, signals: &Signals) -> Result<Ended, String> {
    let (_, mut control) = connection::open(&request.owner)?;
    let database = &request.owner.database;
    lines.told(1, format!("Checking {database} TPROC-C schema"));
    let workload = prony_workload::find(WORKLOAD).map_err(|error| error.to_string())?;
    let report = watched(&signals.flag(), |watch| {
        watch.add(&control);
        workload.check(&mut control)
    });
    let report = report.map_err(|error| error.to_string())?;
    let mut wrong = Vec::new();
    for finding in &report.findings {
        let state = match finding.state {
            State::Ok => "OK",
            State::Note => "NOTE",
            State::Wrong => {
                wrong.push(finding.id);
                "FAILED"
            }
        };
        lines.told(1, format!("{state} {}: {}", finding.id, finding.text));
    }
    if let Some(scale) = report.scale
        && u64::from(scale) != request.warehouses
    {
        lines.told(
            1,
            format!(
                "FAILED warehouses: the schema has {scale}, and {} is {}",
                request.owner.product.key("count_ware"),
                request.warehouses
            ),
        );
        wrong.push("warehouses");
    }
    if !wrong.is_empty() {
        let failed = wrong.join(", ");
        return Err(format!("TPROC-C Schema check failed: {failed}"));
    }
    lines.told(
        1,
        format!("{database} TPROC-C Schema has been checked successfully."),
    );
    lines.finished(1, true);
    Ok(Ended::default())
}

/// Drops the database and its owner.
///
/// # Errors
/// The server refuses it.
pub fn delete(request: &SchemaRequest, lines: &Lines, signals: &Signals) -> Result<Ended, String> {
    let (_, mut control) = connection::open(&request.superuser)?;
    let (owner, superuser) = (&request.owner, &request.superuser);
    let database = &owner.database;
    let is_postgres = owner.product == Product::PostgreSql;
    if *database == superuser.database {
        return Err(format!(
            "{database} is pg_defaultdbase too: a database cannot be dropped from within"
        ));
    }
    spare_others(&mut control, request)?;
    lines.told(1, "DELETING TPCC SCHEMA");
    let mut names = vec![("DATABASE", database)];
    // On the others it is the user that asks, who stays.
    names.extend(is_postgres.then_some(("ROLE", &owner.user)));
    for (what, name) in names {
        let exists = match what {
            "ROLE" => owner::role_exists(&mut control, name)?,
            _ => owner::database_exists(&mut control, name)?,
        };
        if !exists {
            lines.told(1, format!("THERE IS NO {what} {name}"));
            continue;
        }
        if what == "ROLE" && *name == superuser.user {
            lines.told(1, format!("KEEPING ROLE {name}, WHICH IS THE SUPERUSER"));
            continue;
        }
        lines.told(1, format!("DROPPING {what} {name}"));
        let sql = format!("drop {what} {}", control.product().quote_identifier(name));
        let dropped = watched(&signals.flag(), |watch| {
            watch.add(&control);
            control.execute(&sql)
        });
        dropped.map_err(|error| match what {
            "ROLE" => format!("the database is gone, the role {name} stays: {error}"),
            _ => error.to_string(),
        })?;
    }
    lines.told(1, "TPCC SCHEMA DELETED");
    lines.finished(1, true);
    Ok(Ended::default())
}

/// Settings outlive their scripts, and nobody is asked: a database that holds anything else is not
/// dropped.
fn spare_others(control: &mut Control, request: &SchemaRequest) -> Result<(), String> {
    let database = &request.owner.database;
    if !owner::database_exists(control, database)? {
        return Ok(());
    }
    let inside = Login {
        database: database.clone(),
        ..request.superuser.clone()
    };
    let (_, mut control) = connection::open(&inside)?;
    let strange = owner::tables(&mut control)?.strange;
    if strange.is_empty() {
        return Ok(());
    }
    Err(format!(
        "Database {database} holds other tables than TPROC-C's ({}...): nothing is deleted",
        strange.join(", ")
    ))
}

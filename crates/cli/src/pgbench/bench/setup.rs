//! What pgbench does before a run, on a connection of its own.
//!
//! In: a server. Out: the banner, the scale and the partitions of the tables, vacuumed tables, and
//! for the store what the server says of itself. Must never: change more than pgbench does.

use super::super::call::Call;
use super::super::connection;
use crate::run::document::Reached;
use prony_dialect::pgbench::{
    Limit, PARTITIONS_SQL, RunOptions, SCALE_SQL, TableFacts, Work, banner, count_failed,
    no_accounts, scale_ignored, vacuum,
};
use prony_server::{Address, Control, Facts, Target};

/// What was found.
pub struct Ready {
    /// Of the tables of the builtin scripts, where one runs.
    pub tables: Option<TableFacts>,
    /// What the server says of itself.
    pub facts: Facts,
    /// How it was reached.
    pub reached: Reached,
}

/// Does it.
///
/// # Errors
/// The text for stderr.
pub fn prepare(call: &Call, options: &RunOptions, target: &mut Target) -> Result<Ready, String> {
    let voice = &call.voice;
    connection::warn(target);
    let mut control = connection::connect(target).map_err(|problem| {
        connection::refusal(call, &options.connection.dbname, &problem, "setup")
    })?;
    let version = control.parameter("server_version").unwrap_or_default();
    call.print(&banner(&call.level, version));
    if options.debug {
        call.tell(&voice.info(&circumstances(options, target, &control)));
    }
    let tables = if options.uses_builtin {
        Some(look(call, options, target, &mut control)?)
    } else {
        None
    };
    for work in vacuum(options) {
        match work {
            Work::Say(text) => call.tell(&text),
            // Nothing is copied before a run.
            Work::Copy { .. } => {}
            Work::Sql(sql) => {
                let done = control.execute(&sql);
                connection::notices(&mut control);
                if let Err(error) = done {
                    call.tell(&voice.error(&error.to_string()));
                    call.tell(&voice.detail("(ignoring this error and continuing anyway)"));
                }
            }
        }
    }
    let reached = Reached::of(&control);
    drop(control);
    let facts = observe(target).unwrap_or_default();
    Ok(Ready {
        tables,
        facts,
        reached,
    })
}

/// What the server says of itself, on a connection of Prony's own: those in pgbench's name run what
/// pgbench runs, and nothing else. A server that does not answer can still be measured.
fn observe(target: &Target) -> Option<Facts> {
    let mut target = target.clone();
    target
        .parameters
        .retain(|(name, _)| name != "application_name");
    let name = ("application_name".to_owned(), "prony".to_owned());
    target.parameters.push(name);
    let mut control = Control::connect(&target).ok()?;
    prony_server::observe(&mut control).ok()
}

fn look(
    call: &Call,
    options: &RunOptions,
    target: &Target,
    control: &mut Control,
) -> Result<TableFacts, String> {
    let (voice, database) = (&call.voice, target.database.as_str());
    let count = control.query_value(SCALE_SQL).map_err(|error| {
        let missing = error.sqlstate() == Some("42P01");
        let said = match error.server() {
            Some(said) => said.in_statement(SCALE_SQL),
            None => error.to_string(),
        };
        count_failed(voice, &said, missing, database)
    })?;
    let count = count.unwrap_or_default();
    // A server that cannot answer counts as one without partitions.
    let row = match control.query(PARTITIONS_SQL) {
        Ok(rows) => Some(
            rows.into_iter()
                .next()
                .ok_or_else(|| no_accounts(voice, database))?,
        ),
        Err(_) => None,
    };
    let column = |number: usize| row.as_ref().and_then(|row| row.get(number)?.as_deref());
    let facts = TableFacts::read(&count, column(1), column(2).unwrap_or_default())
        .map_err(|text| voice.fatal(&text))?;
    if options.scale.is_some() {
        call.tell(&scale_ignored(voice, facts.scale));
    }
    Ok(facts)
}

fn circumstances(options: &RunOptions, target: &Target, control: &Control) -> String {
    let endpoint = control.endpoint();
    let host = match &endpoint.address {
        Address::Unix(path) => path
            .parent()
            .map_or_else(String::new, |folder| folder.display().to_string()),
        Address::Tcp(_) => endpoint.host.clone(),
    };
    let (what, limit) = match options.limit {
        Limit::Transactions(count) => ("nxacts", count),
        Limit::Seconds(seconds) => ("duration", seconds),
    };
    format!(
        "pghost: {host} pgport: {} nclients: {} {what}: {limit} dbName: {}",
        endpoint.port, options.clients, target.database
    )
}

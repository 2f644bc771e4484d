//! Prepares a run as pgbench does, on a separate connection.
//!
//! In: a server. Out: the banner, the scale and partitions of the tables, vacuumed tables, and the server's
//! facts for the store. Must never: change more than pgbench does.

use super::super::call::PgbenchCall;
use super::super::connection;
use super::store;
use crate::output::{eprint, print};
use crate::tool_run::ConnectedServer;
use prony_dialect::pgbench::{
    Limit, PARTITIONS_SQL, RunOptions, SCALE_SQL, SetupAction, TableFacts, banner,
    no_accounts_message, scale_ignored_warning, scale_query_message, vacuum_actions,
};
use prony_plan::WorkloadPlan;
use prony_runner::{ConnectionInfo, GrowthBefore, read_others};
use prony_server::{Address, Control, ServerFacts, Target};
use prony_store::ServerState;
use prony_workload::script::SCRIPT;

/// Prepares the run. Returns the server, and the tables: those of the builtin scripts, or the scale of `-s`.
///
/// # Errors
/// The text for stderr.
pub fn prepare(
    call: &PgbenchCall,
    options: &RunOptions,
    target: &mut Target,
) -> Result<(ConnectedServer, TableFacts), String> {
    let messages = &call.messages;
    let mut control = connection::open(call, &options.connection, target, "setup")?;
    let version = control.parameter("server_version").unwrap_or_default();
    print(&banner(&call.level, version));
    if options.debug {
        eprint(&messages.info(&debug_line(options, target, &control)));
    }
    let tables = if options.uses_builtin() {
        read_table_facts(call, options, target, &mut control)?
    } else {
        TableFacts {
            scale: options.scale.unwrap_or(1),
            partitions: None,
        }
    };
    for action in vacuum_actions(options) {
        match action {
            SetupAction::Print(text) => eprint(&text),
            // No rows are copied before a run.
            SetupAction::Copy { .. } => {}
            SetupAction::Sql(sql) => {
                let result = control.execute(&sql);
                connection::print_notices(&mut control);
                if let Err(error) = result {
                    eprint(&messages.error(&error.to_string()));
                    eprint(&messages.detail("(ignoring this error and continuing anyway)"));
                }
            }
        }
    }
    let connection = ConnectionInfo::of(&mut control);
    drop(control);
    let plan = store::workload_plan(options, tables.scale);
    let (facts, growth, before) = read_server_separately(target, &plan);
    let server = ConnectedServer::new(target.clone(), facts, connection, growth, before);
    Ok((server, tables))
}

/// Reads the server's facts, what builtin scripts add to, and what others do, on a separate connection with Prony's
/// application name, because connections with pgbench's name execute only pgbench's statements. If this fails, the run
/// continues without them, and the facts have the reason.
fn read_server_separately(
    target: &Target,
    plan: &WorkloadPlan,
) -> (ServerFacts, Option<GrowthBefore>, Option<ServerState>) {
    let mut target = target.clone();
    target.set_program_name("prony");
    let read = Control::connect(&target).and_then(|mut control| {
        let facts = prony_server::read_server_facts(&mut control)?;
        let growth = GrowthBefore::read(&mut control, &SCRIPT, plan, plan.scale.unwrap_or(1));
        Ok((facts, Some(growth), read_others(&mut control)))
    });
    read.unwrap_or_else(|error| (ServerFacts::not_readable(&error), None, None))
}

fn read_table_facts(
    call: &PgbenchCall,
    options: &RunOptions,
    target: &Target,
    control: &mut Control,
) -> Result<TableFacts, String> {
    let (messages, database) = (&call.messages, target.database.as_str());
    let branch_count = control.query_value(SCALE_SQL).map_err(|error| {
        let is_missing = error.sqlstate() == Some("42P01");
        let message = match error.server_error() {
            Some(server_error) => server_error.in_statement(SCALE_SQL),
            None => error.to_string(),
        };
        scale_query_message(messages, &message, is_missing, database)
    })?;
    let branch_count = branch_count.unwrap_or_default();
    // If the query fails, assume that there are no partitions, as pgbench does.
    let partition_row = match control.query(PARTITIONS_SQL) {
        Ok(rows) => rows
            .into_iter()
            .next()
            .ok_or_else(|| no_accounts_message(messages, database))?,
        Err(_) => Vec::new(),
    };
    let facts =
        TableFacts::parse(&branch_count, &partition_row).map_err(|text| messages.fatal(&text))?;
    if options.scale.is_some() {
        eprint(&scale_ignored_warning(messages, facts.scale));
    }
    Ok(facts)
}

/// The line of `--debug` about the connection.
fn debug_line(options: &RunOptions, target: &Target, control: &Control) -> String {
    let endpoint = control.endpoint();
    let host = match &endpoint.address {
        Address::Unix(path) => path
            .parent()
            .map_or_else(String::new, |folder| folder.display().to_string()),
        Address::Tcp(_) => endpoint.host.clone(),
    };
    let (name, limit) = match options.limit {
        Limit::Transactions(count) => ("nxacts", count),
        Limit::Seconds(seconds) => ("duration", seconds),
    };
    format!(
        "pghost: {host} pgport: {} nclients: {} {name}: {limit} dbName: {}",
        endpoint.port, options.clients, target.database
    )
}

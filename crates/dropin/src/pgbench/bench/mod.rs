//! Runs a benchmark as pgbench does.
//!
//! In: options, a server. Out: pgbench's texts on stdout and stderr, log files, a stored run, an exit status.
//! Must never: print a line that pgbench does not, unless an option or setting of Prony requests it.

mod logs;
mod observer;
mod script_messages;
mod setup;
mod store;

use super::call::PgbenchCall;
use crate::output::eprint;
use crate::tool_run::{ConnectedServer, StartWarning, ToolRun, ToolStore};
use observer::{PgbenchObserver, RunContext};
use prony_dialect::libpq;
use prony_dialect::pgbench::{RunOptions, ScriptSource, TableFacts, drive_plan, script_policy};
use prony_drive::ConnectError;
use prony_plan::Plan;
use prony_runner::{Error, Signals};
use prony_server::Target;
use prony_workload::ReadyWorkload;
use prony_workload::script::{SCRIPT, Script, ScriptSet, Scripts, VariableNames};
use script_messages::ScriptMessages;
use std::sync::Arc;

/// The scripts of `-f` in order, and the names of their variables.
pub struct ScriptFiles {
    /// The scripts.
    pub scripts: Vec<Script>,
    /// The names.
    pub names: VariableNames,
}

/// Runs the benchmark and returns the exit status.
///
/// # Errors
/// The complete text for stderr; the exit status is 1.
pub fn run(
    call: &PgbenchCall,
    options: &RunOptions,
    mut target: Target,
    script_files: ScriptFiles,
) -> Result<u8, String> {
    let messages = &call.messages;
    let set = script_set(call, options, script_files)?;
    let prepared = setup::prepare(call, options, &mut target)?;
    let scale = scale(options, prepared.tables);
    // Before this call, Ctrl-C ends the process; after it, Ctrl-C ends the run.
    let signals = Signals::listen().map_err(|error| messages.fatal(&error.to_string()))?;
    let script_messages = Arc::new(ScriptMessages::new(call, options, signals.flag()));
    let scripts: Vec<Script> = set.scripts.clone();
    let uses_default_seed = set.defines.iter().all(|(name, _)| name != "default_seed");
    let logs = logs::open(call, options, uses_default_seed)?;
    let program = Arc::new(Scripts::new(
        set,
        scale,
        script_policy(&call.level, options, script_messages.clone()),
    ));
    let plan = Plan::of_another_tool(store::workload_plan(options, scale), drive_plan(options));
    let server = ConnectedServer::new(target, prepared.facts, prepared.connection);
    let ready_workload = ReadyWorkload::new(program.clone(), scale);
    let tap = |worker| logs.tap(worker);
    let mut observer = PgbenchObserver::new(RunContext {
        call,
        options,
        signals: &signals,
        script_messages: &script_messages,
        logs: &logs,
        program: &program,
        scripts: &scripts,
        tables: TableFacts {
            scale,
            partitions: prepared.tables.and_then(|tables| tables.partitions),
        },
    });
    let store = ToolStore {
        folder: None,
        start_warning: StartWarning::FullDisk,
        warn: &|text| eprint(&messages.warning(text)),
    };
    let run = ToolRun {
        request: serde_json::json!({ "arguments": call.redacted_arguments }),
        plan: &plan,
        workload: &SCRIPT,
        ready_workload: &ready_workload,
        server: &server,
        seed: options.random_seed,
        store,
        signals: &signals,
        tap: match options.log {
            Some(_) => Some(&tap),
            None => None,
        },
        on_connect_refused: None,
    };
    let finished = run.execute(&mut observer);
    let outcome = match finished {
        Ok(finished) => {
            store.warn_unless_stored(&finished);
            Ok(observer.exit_status())
        }
        Err(error) => Err(start_failure(call, &error)),
    };
    signals.end_by_signal();
    outcome
}

/// The builtin scripts and the scripts of files, in the order of the options.
fn script_set(
    call: &PgbenchCall,
    options: &RunOptions,
    script_files: ScriptFiles,
) -> Result<ScriptSet, String> {
    let ScriptFiles { scripts, mut names } = script_files;
    let (mut file_scripts, mut ordered_scripts) = (scripts.into_iter(), Vec::new());
    let level = u32::from(call.level.major());
    let script_error = |error: prony_workload::script::ScriptError| {
        error.as_pgbench(call.messages.progname(), level)
    };
    for choice in &options.scripts {
        let mut script = match &choice.source {
            ScriptSource::Builtin(builtin) => {
                builtin.parse(&mut names, level).map_err(script_error)?
            }
            // Each file was read when its option was parsed.
            ScriptSource::File(_) => match file_scripts.next() {
                Some(script) => script,
                None => continue,
            },
        };
        script.weight = choice.weight;
        ordered_scripts.push(script);
    }
    if options.protocol != prony_dialect::pgbench::Protocol::Simple {
        for sql in ordered_scripts.iter().flat_map(Script::statements) {
            sql.check_parameters().map_err(script_error)?;
        }
    }
    Ok(ScriptSet {
        scripts: ordered_scripts,
        names,
        defines: options.defines.clone(),
        builtin: options.uses_builtin,
    })
}

/// The scale for the report and for `:scale`.
fn scale(options: &RunOptions, tables: Option<TableFacts>) -> u32 {
    tables.map_or(options.scale.unwrap_or(1), |tables| tables.scale)
}

/// pgbench's message for connections that could not be opened.
fn start_failure(call: &PgbenchCall, error: &Error) -> String {
    let messages = &call.messages;
    match error {
        Error::NotStarted(prony_drive::Error::Connect {
            connected,
            source: ConnectError::Refused { failures, .. },
            ..
        }) => {
            let text = libpq::connect_error(failures);
            let client = format!("could not create connection for client {connected}");
            messages.error(&text) + &messages.fatal(&client)
        }
        other => messages.fatal(&other.to_string()),
    }
}

//! Runs a benchmark as pgbench does.
//!
//! In: options, a server. Out: pgbench's texts on stdout and stderr, log files, a stored run, an exit status.
//! Must never: print a line that pgbench does not, unless an option or setting of Prony requests it.

pub mod logs;
mod observer;
mod script_messages;
mod setup;
mod store;

use super::agents::{self, AgentCommands, coordinator};
use super::call::PgbenchCall;
use super::connection;
use super::host::ScriptFiles;
use crate::output::eprint;
use crate::tool_run::{StartWarning, ToolFleet, ToolRun, refused_connections};
use observer::PgbenchObserver;
use prony_dialect::libpq;
use prony_dialect::pgbench::{RunOptions, ScriptSource, drive_plan, script_policy};
use prony_plan::{Plan, QueryMode};
use prony_runner::{Error, Signals};
use prony_workload::ReadyWorkload;
use prony_workload::script::{SCRIPT, Script, ScriptProgram, ScriptSet};
pub use script_messages::ScriptMessages;
use std::sync::Arc;

/// Runs the benchmark and returns the exit status.
///
/// # Errors
/// The complete text for stderr; the exit status is 1.
pub fn run(
    call: &PgbenchCall,
    options: &RunOptions,
    mut script_files: ScriptFiles,
) -> Result<u8, String> {
    let messages = &call.messages;
    let mut target = connection::target(call, &options.connection, "setup")?;
    let fleet = agents::start(call, options, &script_files)?;
    let script_texts = std::mem::take(&mut script_files.texts);
    let script_set = build_script_set(call, options, script_files)?;
    let (server, tables) = setup::prepare(call, options, &mut target)?;
    let scale = tables.scale;
    // From here on, Ctrl-C ends the run; before, it ends the process.
    let signals = Signals::listen().map_err(|error| messages.fatal(&error.to_string()))?;
    let script_messages = Arc::new(ScriptMessages::new(call, options, signals.flag()));
    let logs = logs::open(call, options, fleet.is_some())?;
    let commands = AgentCommands::default();
    let coordinator = fleet.is_some().then(|| {
        let (messages, heard) = (script_messages.clone(), (&logs, &commands));
        coordinator(call, options, script_texts, scale, &target, messages, heard)
    });
    let fleet = ToolFleet::of(fleet, coordinator.as_ref());
    let program = Arc::new(ScriptProgram::new(
        script_set,
        scale,
        script_policy(&call.level, options, script_messages.clone()),
    ));
    let plan = Plan::for_replaced_tool(store::workload_plan(options, scale), drive_plan(options));
    let ready_workload = ReadyWorkload::new(program.clone(), scale);
    let new_listener = |worker| logs.new_listener(worker);
    let mut observer = PgbenchObserver {
        call,
        options,
        signals: &signals,
        script_messages: &script_messages,
        logs: &logs,
        program: &program,
        agent_commands: coordinator.is_some().then_some(&commands),
        tables,
        sums: None,
        exit_status: 0,
    };
    let run = ToolRun {
        request: serde_json::json!({ "arguments": call.redacted_arguments }),
        plan: &plan,
        workload: &SCRIPT,
        ready_workload: &ready_workload,
        server: &server,
        seed: options.random_seed,
        store_folder: None,
        start_warning: StartWarning::FullDisk,
        warn: &|text| eprint(&messages.warning(text)),
        signals: &signals,
        new_sample_listener: match options.log {
            Some(_) => Some(&new_listener),
            None => None,
        },
        on_connect_refused: None,
    };
    let outcome = match run.execute(fleet, &mut observer) {
        Ok(finished) => {
            run.warn_unless_stored(&finished);
            Ok(observer.exit_status)
        }
        Err(error) => Err(start_failure_message(call, &error)),
    };
    signals.end_by_signal();
    outcome
}

/// Builds the set of scripts: builtin scripts and scripts of files, in the order of the options.
fn build_script_set(
    call: &PgbenchCall,
    options: &RunOptions,
    script_files: ScriptFiles,
) -> Result<ScriptSet, String> {
    let ScriptFiles {
        scripts,
        mut variable_names,
        ..
    } = script_files;
    let (mut file_scripts, mut ordered_scripts) = (scripts.into_iter(), Vec::new());
    let level = u32::from(call.level.major());
    let script_error = |error: prony_workload::script::ScriptError| {
        error.pgbench_stderr(call.messages.progname(), level)
    };
    for choice in &options.scripts {
        let mut script = match &choice.source {
            ScriptSource::Builtin(builtin) => builtin
                .parse(&mut variable_names, level)
                .map_err(script_error)?,
            // Each file was read when its option was parsed.
            ScriptSource::File(_) => match file_scripts.next() {
                Some(script) => script,
                None => continue,
            },
        };
        script.weight = choice.weight;
        ordered_scripts.push(script);
    }
    if options.protocol != QueryMode::Simple {
        for sql in ordered_scripts.iter().flat_map(Script::statements) {
            sql.check_parameters().map_err(script_error)?;
        }
    }
    Ok(ScriptSet {
        scripts: ordered_scripts,
        names: variable_names,
        defines: options.defines.clone(),
        has_builtin: options.uses_builtin(),
    })
}

/// pgbench's message for connections that could not be opened.
fn start_failure_message(call: &PgbenchCall, error: &Error) -> String {
    let messages = &call.messages;
    match refused_connections(error) {
        Some((failures, connected)) => {
            let client = format!("could not create connection for client {connected}");
            messages.error(&libpq::connect_error(failures)) + &messages.fatal(&client)
        }
        None => messages.fatal(&error.to_string()),
    }
}

//! Prepares the server for a scenario's run: cold caches, indexes, a vacuum, warm caches.
//!
//! Only the workload's own tables are changed, and only completed steps are reported.

use crate::command::{output, server};
use crate::exit::{Exit, Failure};
use prony_plan::scenario::Scenario;
use prony_report::units;
use prony_runner::Signals;
use prony_runner::scenario_setup::{self, Prewarm};
use prony_runner::shell;
use prony_server::control::Error;
use prony_server::{Control, Target};
use std::io::stderr;
use std::time::{Duration, Instant};

/// How long a restarted server may take to answer, including crash recovery.
const RESTART_TIMEOUT: Duration = Duration::from_secs(600);
/// Time between two attempts to connect.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Runs the restart command, and waits until the server answers. Returns whether the server restarted: the
/// command may end before the restart begins, or may not restart the server.
///
/// # Errors
/// If the command fails, or the server does not answer within [`RESTART_TIMEOUT`].
pub fn restart(command: &str, target: &Target, signals: &Signals) -> Result<bool, Failure> {
    let previous_start_unix_s = scenario_setup::started_unix_s(&mut server::connect(target)?);
    output::notice("Restarting the server with --restart-command.");
    let hint =
        "its output is above; old tables of the workload were dropped, and nothing was loaded";
    run_restart_command(command, hint, signals)?;
    let mut control = wait_until_it_answers(target, signals)?;
    let is_restarted = scenario_setup::was_restarted(&mut control, previous_start_unix_s);
    if !is_restarted {
        output::notice("The restart command did not restart the server: its caches are not cold.");
    }
    Ok(is_restarted)
}

pub fn run_restart_command(command: &str, hint: &str, signals: &Signals) -> Result<(), Failure> {
    let failed = |reason: String| {
        let message = format!("the command that restarts the server {reason}");
        Failure::new(Exit::Connect, message, hint)
    };
    let status = shell::run(command, &[], stderr().into(), signals)
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    fail_if_interrupted(signals)?;
    if status.success() {
        return Ok(());
    }
    Err(failed(format!("failed with {status}")))
}

/// Connects to a server that was restarted.
///
/// # Errors
/// If it does not answer within [`RESTART_TIMEOUT`], refuses for a reason that does not pass, such as a wrong password, or a
/// signal ended the wait.
pub fn wait_until_it_answers(target: &Target, signals: &Signals) -> Result<Control, Failure> {
    let waiting_since = Instant::now();
    loop {
        fail_if_interrupted(signals)?;
        match Control::connect(target) {
            Ok(control) => return Ok(control),
            Err(error) if error.may_pass() && waiting_since.elapsed() < RESTART_TIMEOUT => {
                std::thread::sleep(RETRY_PAUSE);
            }
            Err(error) => return Err(server::connect_failure(&error)),
        }
    }
}

/// The table on whose columns a scenario creates indexes.
const INDEXED_TABLE: &str = "pgbench_history";

pub fn create_indexes(control: &mut Control, scenario: &Scenario) -> Result<(), Failure> {
    for column in &scenario.indexes {
        output::notice(&format!(
            "Creating an index on {column} of {INDEXED_TABLE}."
        ));
        // Tables that were not newly loaded may have the index already; create_index then does nothing.
        scenario_setup::create_index(control, INDEXED_TABLE, column)
            .map_err(|error| statement_failure(&error))?;
    }
    Ok(())
}

/// Vacuums and analyzes tables, like pgbench.
pub fn vacuum(control: &mut Control, tables: &[String]) -> Result<(), Failure> {
    if !control.product().has_vacuum {
        return Ok(());
    }
    output::notice("Vacuuming.");
    for table in tables {
        scenario_setup::vacuum_analyze(control, table)
            .map_err(|error| statement_failure(&error))?;
    }
    Ok(())
}

/// Reads tables into the server's cache, as far as they fit.
pub fn prewarm(control: &mut Control, tables: &[String], signals: &Signals) -> Result<(), Failure> {
    let prewarm = Prewarm::best_for(control);
    let method = match prewarm {
        Prewarm::Extension => "with pg_prewarm",
        Prewarm::Scan => {
            "with sequential scans, which fill only a part of shared_buffers (the extension pg_prewarm would fill all)"
        }
        Prewarm::Checksum => "with CHECKSUM TABLE",
    };
    let table_count = units::count_with_noun(tables.len() as u64, "table", "tables");
    output::notice(&format!("Reading {table_count} into the cache {method}."));
    for table in tables {
        fail_if_interrupted(signals)?;
        prewarm
            .read_table(control, table)
            .map_err(|error| Failure::of(Exit::Connect, &error))?;
    }
    Ok(())
}

fn statement_failure(error: &Error) -> Failure {
    Failure::of(Exit::LoadOrClean, error)
}

pub fn fail_if_interrupted(signals: &Signals) -> Result<(), Failure> {
    match signals.received() {
        None => Ok(()),
        Some(signal) => {
            let hint = "loaded tables are kept";
            Err(Failure::new(
                signal.into(),
                format!("ended by {} before the run", signal.name()),
                hint,
            ))
        }
    }
}

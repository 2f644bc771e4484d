//! `prony check ledger`: decides once more, later, what became of the commits of a stored run.
//!
//! Must never: change the document of the run.

use super::{output, server, stored};
use crate::args::TablesArgs;
use crate::exit::{Exit, Failure};
use prony_judge::ledger::ledger_sentence;
use prony_runner::{Dropping, Signals, decide_ledger};
use prony_store::{LedgerAccount, RunState};

/// Prints what became of each commit that the run's clients knew of: as the run found, if it accounted for all of them, or
/// as the ledger's table says now.
pub fn check(args: &TablesArgs, run: &str) -> Result<Exit, Failure> {
    let (run, _) = stored::open_store()?.load_from(run)?;
    if run.state == RunState::Running {
        let message = format!("the run {} has not ended", run.id);
        let hint = "it accounts for its commits itself; ask again if it is killed";
        return Err(Failure::new(Exit::Data, message, hint));
    }
    if let Some(account) = run.ledger.as_ref().filter(|it| is_decided(it)) {
        let sentence = ledger_sentence(account);
        output::show(|out, _| writeln!(out, "{}: {sentence}, as found after its load.", run.id))?;
        return Ok(exit_of(account));
    }
    let account = run.ledger.filter(|account| account.client_state.is_some());
    let account = account.ok_or_else(|| {
        let message = format!("there is nothing to decide for the run {}", run.id);
        let hint = "a run has something to decide if it kept a ledger (--ledger) and could not read it, or found commits \
                    missing; name another one with --run";
        Failure::new(Exit::Data, message, hint)
    })?;
    let target = server::target_with_timeout(args.flags.url(), &args.timeout)?;
    Signals::listen()?;
    // A server that cannot be reached has a message with a hint of its own.
    drop(server::connect(&target)?);
    let decided = decide_ledger(&target, account, Dropping::Never);
    if let Some(reason) = &decided.not_read {
        let hint =
            "name the server on which the run's transactions were, or the one that took its place";
        return Err(Failure::new(Exit::Data, reason.clone(), hint));
    }
    let sentence = ledger_sentence(&decided);
    output::show(|out, _| writeln!(out, "{}: {sentence}.", run.id))?;
    // Another check needs it.
    let table = &decided.table;
    output::notice(&format!(
        "prony: the table {table} is kept; when you no longer need it: DROP TABLE {table};"
    ));
    Ok(exit_of(&decided))
}

/// Whether the run itself accounted for each commit, and kept nothing by which to decide once more.
fn is_decided(account: &LedgerAccount) -> bool {
    account.client_state.is_none() && account.not_read.is_none()
}

fn exit_of(account: &LedgerAccount) -> Exit {
    if account.has_faults() { Exit::Data } else { Exit::Success }
}

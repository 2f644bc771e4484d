//! Reads what others do on a server before and after a load, for tools that send it no queries during the load.
//!
//! In: a connection. Out: the part of a [`ServerState`] that a few short queries tell. Must never: fail a run.

use super::with_counters;
use prony_server::Control;
use prony_server::control::Error;
use prony_server::observe::{CounterReader, Counters};
use prony_store::{MissingObservation, ObservedTopic, OtherClients, ServerState};

/// The reader of commits and of the sessions of clients.
pub(super) fn others_reader(control: &mut Control) -> Result<CounterReader, Error> {
    let topics = [
        ObservedTopic::CommitsAndCache,
        ObservedTopic::Status,
        ObservedTopic::OtherSessions,
    ];
    Ok(CounterReader::new(control)?.limited_to(&topics))
}

/// The server's state, as far as [`others_reader`] has read it while no client of the run was connected.
/// `missing`: what the server refused; sessions that it does not show are unknown, not idle.
pub(super) fn state_of(counters: &Counters, missing: &[MissingObservation]) -> ServerState {
    let shows_sessions = missing
        .iter()
        .all(|missing| missing.what != ObservedTopic::OtherSessions);
    let busy = counters.sessions.iter().filter(|group| group.busy > 0);
    let state = ServerState {
        started_unix_s: counters.started_unix_s,
        others: shows_sessions.then(|| OtherClients {
            commits: counters.other_commits,
            sessions: busy.cloned().collect(),
        }),
        ..ServerState::default()
    };
    with_counters(state, counters)
}

/// What others do on the server before the clients connect; `None` if it cannot be read.
pub fn read_others(control: &mut Control) -> Option<ServerState> {
    let mut reader = others_reader(control).ok()?;
    let counters = reader.read(control).ok()?;
    Some(state_of(&counters, &reader.take_missing()))
}

//! Observes the server and its machine once a second during a run.
//!
//! The results are rows and events of the server, and at the end its state and the cost of observing. The
//! observer has its own thread, which is not joined, and its own connection. Must never: take part in the
//! load, delay the end of a run, or end it.

mod before;
mod before_and_after;
mod event_detector;
mod row;
mod sample;
mod watcher;

pub(crate) use before::observe_before;
pub use before_and_after::read_others;

use prony_drive::DriveResult;
use prony_drive::clock::Clock;
use prony_measure::RunSchedule;
use prony_server::Target;
use prony_server::observe::machine::{Colocation, Exporter};
use prony_server::observe::{Counters, ServerFacts};
use prony_store::{
    Event, MissingObservation, Observed, ObservedTopic, ObserverCost, ServerSecond, ServerState,
};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How long a finished run waits for the server's final state, which checks need: with many tables, settings and other
/// clients it takes some seconds.
const FINAL_STATE_TIMEOUT: Duration = Duration::from_secs(15);
/// As [`FINAL_STATE_TIMEOUT`], for tools that end when the server is gone.
const SHORT_FINAL_STATE_TIMEOUT: Duration = Duration::from_secs(4);
/// How long an interrupted run waits for the last row.
const LAST_ROW_TIMEOUT: Duration = Duration::from_millis(300);

/// A server that has not answered for this long is unresponsive, nanoseconds.
const UNRESPONSIVE_NS: u64 = 3_000_000_000;

/// Whether and how a plan wants the server observed.
#[derive(Clone, Debug, Default)]
pub struct ServerObserverOptions {
    /// Why the server is not observed, so that only its version and settings are read; `None` if it is
    /// observed.
    pub off_reason: Option<String>,
    /// URL of the node_exporter on the server's machine.
    pub exporter: Option<WithOrigin<String>>,
}

/// The server's state before the clients connect.
pub struct Observation {
    /// The part of the document so far.
    pub(crate) observed: Observed,
    /// The node_exporter of the server's machine, if the user named one.
    pub(crate) exporter: Option<Exporter>,
    /// Whether to read what others do after the load, of a server that is not observed during it.
    pub(crate) reads_others_after: bool,
}

/// A value and its origin: a flag, or a location in a plan.
#[derive(Clone, Debug)]
pub struct WithOrigin<T> {
    pub value: T,
    /// The flag or location that set it.
    pub origin: String,
}

pub(crate) struct ServerObserverInput {
    pub target: Target,
    /// Its version and settings before the run.
    pub facts: ServerFacts,
    /// The node_exporter of its machine, if any; otherwise this machine's `/proc` is read.
    pub exporter: Option<Exporter>,
    pub colocation: Colocation,
    /// Whether to query the server; if not, only this machine is read.
    pub queries_server: bool,
    /// Whether to read what others do after the load, of a server that is not queried during it.
    pub reads_others_after: bool,
}

enum ObserverMessage {
    Second(Box<ServerSecond>),
    Event(Event),
    Missing(Vec<MissingObservation>),
    End(Box<FinalObservation>),
}

/// The last message of the observing thread.
#[derive(Default)]
struct FinalObservation {
    after: Option<ServerState>,
    settings_changed: Map<String, Value>,
    cost: ObserverCost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StopRequest {
    /// Read the server's state first.
    ReadState,
    AtOnce,
}

/// How a load ended, as far as it matters for what is read after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadEnd {
    /// The load ended as planned.
    Complete,
    /// The load ended as planned, but transactions did not end within the grace period: the server may be
    /// unreachable.
    CutOff,
    /// The load was interrupted or failed.
    Early,
}

impl LoadEnd {
    pub(crate) fn of(drive_result: &DriveResult) -> LoadEnd {
        if drive_result.interrupted || drive_result.failure.is_some() {
            return LoadEnd::Early;
        }
        let in_flight = drive_result.collected.measured.excluded.in_flight;
        if in_flight.ambiguous + in_flight.cut_off > 0 {
            LoadEnd::CutOff
        } else {
            LoadEnd::Complete
        }
    }
}

pub(crate) struct ServerObserver {
    stop_sender: Sender<StopRequest>,
    messages: Receiver<ObserverMessage>,
    /// When the server last answered, nanoseconds of the run's clock.
    answered_ns: Arc<AtomicU64>,
    /// How long to wait for the server's final state.
    final_state_timeout: Duration,
}

/// Rows and events that arrived since the last call of [`ServerObserver::receive`].
#[derive(Default)]
pub(crate) struct ServerUpdate {
    pub seconds: Vec<ServerSecond>,
    pub events: Vec<Event>,
}

impl ServerObserver {
    /// Starts to observe a run whose clients have connected, so that observing takes no connection from them.
    /// Returns `None` if the thread could not be started.
    pub fn start(input: ServerObserverInput, schedule: RunSchedule) -> Option<ServerObserver> {
        let (stop_sender, stop_requests) = channel();
        let (sender, messages) = channel();
        let thread = std::thread::Builder::new().name("observing".to_owned());
        let answered_ns = Arc::new(AtomicU64::new(0));
        let thread_answered_ns = Arc::clone(&answered_ns);
        let final_state_timeout =
            if input.queries_server { FINAL_STATE_TIMEOUT } else { SHORT_FINAL_STATE_TIMEOUT };
        let body = move || {
            watcher::watch(
                &input,
                schedule,
                &sender,
                &stop_requests,
                &thread_answered_ns,
            )
        };
        // Not joined: a server that no longer answers must not delay the run.
        thread.spawn(body).ok()?;
        Some(ServerObserver {
            stop_sender,
            messages,
            answered_ns,
            final_state_timeout,
        })
    }

    /// Adds the messages that have arrived to the document, and returns what they contained; does not wait.
    pub fn receive(&self, observed: &mut Observed) -> ServerUpdate {
        let mut update = ServerUpdate::default();
        while let Ok(message) = self.messages.try_recv() {
            add_message(message, observed, &mut update);
        }
        update
    }

    /// Whether the server has not answered for so long that it is useless to wait.
    pub fn is_unresponsive(&self) -> bool {
        let answered_ns = self.answered_ns.load(Ordering::Relaxed);
        Clock::System.now_ns().saturating_sub(answered_ns) > UNRESPONSIVE_NS
    }

    /// Stops observing; unless the load ended early, waits briefly for the server's final state.
    pub fn end(self, load_end: LoadEnd, observed: &mut Observed) {
        let (stop_request, timeout) = match load_end {
            LoadEnd::Early => (StopRequest::AtOnce, LAST_ROW_TIMEOUT),
            // The grace period has already passed.
            LoadEnd::CutOff if self.is_unresponsive() => (StopRequest::ReadState, LAST_ROW_TIMEOUT),
            LoadEnd::CutOff | LoadEnd::Complete => {
                (StopRequest::ReadState, self.final_state_timeout)
            }
        };
        // If the thread has already ended, its messages are still in the channel.
        let _ = self.stop_sender.send(stop_request);
        let deadline = Instant::now() + timeout;
        let mut update = ServerUpdate::default();
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(remaining) {
                Ok(message) => {
                    if add_message(message, observed, &mut update) {
                        return;
                    }
                }
                Err(_) => {
                    if load_end != LoadEnd::Early {
                        let reason = "the server did not answer in time after the run";
                        let missing = MissingObservation::new(ObservedTopic::StateAfter, reason);
                        add_missing(observed, [missing]);
                    }
                    return;
                }
            }
        }
    }
}

/// Adds a message to the document; returns whether it was the last.
fn add_message(
    message: ObserverMessage,
    observed: &mut Observed,
    update: &mut ServerUpdate,
) -> bool {
    match message {
        ObserverMessage::Second(second) => {
            update.seconds.push((*second).clone());
            observed.series.push(*second);
        }
        ObserverMessage::Event(event) => {
            update.events.push(event.clone());
            observed.events.push(event);
        }
        ObserverMessage::Missing(missing) => add_missing(observed, missing),
        ObserverMessage::End(end) => {
            observed.after = end.after;
            observed.settings_changed = end.settings_changed;
            observed.cost = Some(end.cost);
            return true;
        }
    }
    false
}

/// Adds missing observations to the document, at most one per topic.
fn add_missing(observed: &mut Observed, missing: impl IntoIterator<Item = MissingObservation>) {
    for observation in missing {
        let is_known = |existing: &MissingObservation| existing.what == observation.what;
        if !observed.missing.iter().any(is_known) {
            observed.missing.push(observation);
        }
    }
}

/// A server's state, with what its counters know of it.
pub(crate) fn with_counters(state: ServerState, counters: &Counters) -> ServerState {
    ServerState {
        is_replica: state.is_replica.or(counters.is_replica),
        commits: counters.commits,
        rollbacks: counters.rollbacks,
        ..state
    }
}

//! What the server and its machine do during a run, read once a second.
//!
//! In: a target, the parts of the run in time. Out: rows and events of the server as they come, and at
//! the end how it stands then and what looking has cost. Must never: take part in the load, hold up
//! the end of a run, or end it: it has a thread and a connection of its own, and is not joined.

mod before;
mod happenings;
mod sample;
mod seen;
mod watcher;

pub use before::before;

use prony_measure::Schedule;
use prony_plan::Listen;
use prony_server::observe::Facts;
use prony_server::{Target, observe::machine::Exporter};
use prony_store::{Event, Missing, Observed, ObserverCost, ServerSecond, ServerState};
use serde_json::{Map, Value};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How long a run that is over waits for how the server stands then.
const PATIENCE: Duration = Duration::from_secs(5);
/// And one that was interrupted, for the last row.
const SHORT: Duration = Duration::from_millis(300);

/// Whether and how to look, and who may look on.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// Why to look at nothing but version and settings, if so.
    pub off: Option<String>,
    /// URL of the node_exporter on the server's machine.
    pub metrics: Option<Named<String>>,
    /// Where to serve the figures of the run while it goes on.
    pub listen: Option<Named<Listen>>,
}

/// A value, and who gave it: a flag, or a place in a plan.
#[derive(Clone, Debug)]
pub struct Named<T> {
    /// The value.
    pub value: T,
    /// Who gave it.
    pub by: String,
}

/// What a watcher needs to know.
pub struct Job {
    /// The server.
    pub target: Target,
    /// Its settings before the run.
    pub facts: Facts,
    /// Where the figures of its machine come from, if not from this machine's own files.
    pub exporter: Option<Exporter>,
}

/// What a watcher tells.
enum Told {
    Second(Box<ServerSecond>),
    Event(Event),
    Missing(Vec<Missing>),
    End(Box<Ending>),
}

/// What is known at the end.
#[derive(Default)]
struct Ending {
    after: Option<ServerState>,
    settings_changed: Map<String, Value>,
    cost: ObserverCost,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// As planned: there is time to see how the server stands.
    Whole,
    /// At once.
    Early,
}

/// A watcher at work, on a connection and a thread of its own.
pub struct Observing {
    stop: Sender<Stop>,
    hear: Receiver<Told>,
}

/// What was heard of a watcher since the last time.
#[derive(Default)]
pub struct Heard {
    /// Rows.
    pub seconds: Vec<ServerSecond>,
    /// Events.
    pub events: Vec<Event>,
}

impl Observing {
    /// Begins to watch, for a run whose clients have just connected: this takes no connection from
    /// them. `None`: there is no thread for it.
    pub fn start(job: Job, schedule: Schedule) -> Option<Observing> {
        let (stop, stopped) = channel();
        let (tell, hear) = channel();
        let thread = std::thread::Builder::new().name("observing".to_owned());
        let body = move || watcher::watch(&job, schedule, &tell, &stopped);
        // It is not joined: a server that no longer answers must not keep the run.
        thread.spawn(body).ok()?;
        Some(Observing { stop, hear })
    }

    /// Takes what was told since the last time, without waiting, and adds it to the document.
    pub fn hear(&self, to: &mut Observed) -> Heard {
        let mut heard = Heard::default();
        while let Ok(told) = self.hear.try_recv() {
            take(told, to, &mut heard);
        }
        heard
    }

    /// Ends it; a run that came to its end waits a little to see how the server stands then.
    pub fn end(self, interrupted: bool, to: &mut Observed) {
        let (stop, patience) = match interrupted {
            true => (Stop::Early, SHORT),
            false => (Stop::Whole, PATIENCE),
        };
        // Where it has ended by itself, what it told is still there.
        let _ = self.stop.send(stop);
        let until = Instant::now() + patience;
        let mut heard = Heard::default();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.hear.recv_timeout(left) {
                Ok(told) => {
                    if take(told, to, &mut heard) {
                        return;
                    }
                }
                Err(_) => {
                    let why = "the server did not answer in time after the run";
                    if !interrupted {
                        add_missing(to, vec![missing("how the server stands after it", why)]);
                    }
                    return;
                }
            }
        }
    }
}

/// Adds one thing to the document; `true`: it was the last.
fn take(told: Told, to: &mut Observed, heard: &mut Heard) -> bool {
    match told {
        Told::Second(second) => {
            heard.seconds.push((*second).clone());
            to.series.push(*second);
        }
        Told::Event(event) => {
            heard.events.push(event.clone());
            to.events.push(event);
        }
        Told::Missing(missing) => add_missing(to, missing),
        Told::End(end) => {
            to.after = end.after;
            to.settings_changed = end.settings_changed;
            to.cost = Some(end.cost);
            return true;
        }
    }
    false
}

/// Adds what is missing, each thing once.
fn add_missing(to: &mut Observed, missing: Vec<Missing>) {
    for one in missing {
        if !to.missing.iter().any(|known| known.what == one.what) {
            to.missing.push(one);
        }
    }
}

fn missing(what: &str, why: &str) -> Missing {
    Missing {
        what: what.to_owned(),
        why: why.to_owned(),
    }
}

//! The thread that observes the server once a second.
//!
//! It sends an [`ObserverMessage`] for each row and event. Must never: do work between two samples, or
//! continue after a stop request.

use super::before_and_after::{others_reader, state_of};
use super::event_detector::EventDetector;
use super::sample::{MachineReader, ServerSample};
use super::{
    FinalObservation, ObserverMessage, ServerObserverInput, StopRequest, row, with_counters,
};
use prony_drive::clock::Clock;
use prony_measure::RunSchedule;
use prony_server::Control;
use prony_server::control::Error;
use prony_server::observe::machine::{ServingTask, find_colocation, thread_cpu_s};
use prony_server::observe::{CounterReader, Counters, read_server_facts, read_server_state};
use prony_store::{MissingObservation, ObservedTopic, ObserverCost, ServerState};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

const SECOND_NS: u64 = 1_000_000_000;
/// The shortest length of a last row that is reported.
const LAST_ROW_MIN_NS: u64 = SECOND_NS / 10;
/// How long to wait for the counters to settle after the clients have disconnected: a session adds its counts
/// when it ends.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Pause between two readings of counters that have not settled.
const SETTLE_PAUSE: Duration = Duration::from_millis(150);
/// Prefixes of MySQL's variables that change with each transaction or are not settings.
const VOLATILE_SETTINGS: [&str; 4] = ["gtid_", "timestamp", "rand_seed", "pseudo_"];

/// Observes until a stop request, and then sends the final observation.
pub(super) fn watch(
    input: &ServerObserverInput,
    schedule: RunSchedule,
    messages: &Sender<ObserverMessage>,
    stop_requests: &Receiver<StopRequest>,
    answered_ns: &AtomicU64,
) {
    let mut watcher = Watcher {
        answered_ns,
        input,
        schedule,
        messages,
        control: None,
        has_connected: false,
        reader: None,
        machines: MachineReader::new(input),
        event_detector: EventDetector::default(),
        reconnected: false,
        cost: ObserverCost::default(),
        serving_cpu_start_s: None,
        earlier_queries: 0,
        earlier_query_time_s: 0.0,
    };
    watcher.connect();
    let mut before = watcher.sample();
    let stop_request = loop {
        match watcher.wait_for_second(stop_requests) {
            Some(stop_request) => break stop_request,
            None => before = watcher.report_row(before),
        }
    };
    if Clock::System.now_ns().saturating_sub(before.at_ns) >= LAST_ROW_MIN_NS {
        watcher.report_row(before);
    }
    let unfinished = watcher.event_detector.end_activities();
    for event in unfinished {
        watcher.send(ObserverMessage::Event(event));
    }
    let mut final_observation = watcher.final_observation();
    let load_ns = Clock::System.now_ns().saturating_sub(schedule.start_ns);
    match stop_request {
        StopRequest::ReadState if input.queries_server => {
            watcher.read_final_state(&mut final_observation);
        }
        // A shorter load is not judged by what others did: reading that would take longer than the load.
        StopRequest::ReadState if input.reads_others_after && load_ns >= SECOND_NS => {
            match watcher.read_others() {
                Ok(after) => final_observation.after = Some(after),
                Err(error) => watcher.disconnect(&error, ObservedTopic::StateAfter),
            }
        }
        StopRequest::ReadState | StopRequest::AtOnce => {}
    }
    watcher.send(ObserverMessage::End(Box::new(final_observation)));
}

struct Watcher<'a> {
    input: &'a ServerObserverInput,
    schedule: RunSchedule,
    messages: &'a Sender<ObserverMessage>,
    control: Option<Control>,
    /// Whether an attempt to connect has succeeded. If the first fails, the watcher does not try again, because each
    /// attempt costs the server a process and a line in its log.
    has_connected: bool,
    reader: Option<CounterReader>,
    machines: MachineReader<'a>,
    event_detector: EventDetector,
    /// Whether the connection was opened since the last reading.
    reconnected: bool,
    cost: ObserverCost,
    /// CPU time of the server's process or thread that serves this connection, when the connection was
    /// opened.
    serving_cpu_start_s: Option<f64>,
    /// When the server last answered, for the thread that ends the run.
    answered_ns: &'a AtomicU64,
    /// Number of queries that the readers of earlier connections made.
    earlier_queries: u64,
    /// Total time of these queries, seconds.
    earlier_query_time_s: f64,
}

impl Watcher<'_> {
    /// Sends a message; does nothing if the receiver is gone.
    fn send(&self, message: ObserverMessage) {
        let _ = self.messages.send(message);
    }

    /// Connects, or reconnects after a loss.
    fn connect(&mut self) {
        if !self.input.queries_server {
            return;
        }
        let connected = Control::connect(&self.input.target).and_then(|mut control| {
            let reader = CounterReader::new(&mut control)?.of_service(self.input.facts.service);
            Ok((control, reader))
        });
        match connected {
            Ok((mut control, reader)) => {
                let colocation = find_colocation(&mut control);
                let serving = colocation.serving;
                self.serving_cpu_start_s = serving.and_then(ServingTask::cpu_s);
                self.machines.colocation = colocation;
                self.control = Some(control);
                self.reader = Some(reader);
                self.has_connected = true;
                self.reconnected = true;
            }
            Err(error) => self.disconnect(&error, ObservedTopic::DuringLoad),
        }
    }

    /// Reports the error as the reason why this topic could not be observed, and drops the connection.
    fn disconnect(&mut self, error: &Error, topic: ObservedTopic) {
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default();
        self.send(ObserverMessage::Missing(vec![MissingObservation::new(
            topic, reason,
        )]));
        self.add_cost();
        self.control = None;
        self.reader = None;
    }

    /// Adds the cost of the current connection, which is about to end.
    fn add_cost(&mut self) {
        if let Some(reader) = &self.reader {
            self.earlier_queries += reader.statements_sent;
            self.earlier_query_time_s += reader.statement_time_s;
        }
        let serving = self.machines.colocation.serving;
        let now_s = serving.and_then(ServingTask::cpu_s);
        if let Some((now_s, since_s)) = now_s.zip(self.serving_cpu_start_s.take()) {
            *self.cost.server_cpu_s.get_or_insert_default() += (now_s - since_s).max(0.0);
        }
    }

    /// Waits for the next full second of the load; returns a stop request if one arrives before that.
    fn wait_for_second(&self, stop_requests: &Receiver<StopRequest>) -> Option<StopRequest> {
        let since_ns = Clock::System
            .now_ns()
            .saturating_sub(self.schedule.start_ns);
        let remaining_ns = SECOND_NS - since_ns % SECOND_NS;
        match stop_requests.recv_timeout(Duration::from_nanos(remaining_ns)) {
            Ok(stop_request) => Some(stop_request),
            Err(RecvTimeoutError::Timeout) => None,
            // The run has ended.
            Err(RecvTimeoutError::Disconnected) => Some(StopRequest::AtOnce),
        }
    }

    /// Takes a sample and reports events.
    fn sample(&mut self) -> ServerSample {
        let started_at = Instant::now();
        let counters = self.read_counters();
        let sample = self.machines.sample(counters);
        let at_s = (sample.at_ns as f64 - self.schedule.start_ns as f64) / 1e9;
        if let Some(counters) = &sample.counters {
            let reconnected = std::mem::take(&mut self.reconnected);
            let events = self.event_detector.detect(counters, at_s, reconnected);
            for event in events {
                self.send(ObserverMessage::Event(event));
            }
        }
        let mut missing = std::mem::take(&mut self.machines.missing);
        if let Some(reader) = &mut self.reader {
            missing.extend(reader.take_missing());
        }
        if !missing.is_empty() {
            self.send(ObserverMessage::Missing(missing));
        }
        self.cost.longest_round_s = self
            .cost
            .longest_round_s
            .max(started_at.elapsed().as_secs_f64());
        sample
    }

    fn read_counters(&mut self) -> Option<Counters> {
        if !self.input.queries_server {
            // A server that is not queried cannot be unresponsive.
            self.answered_ns
                .store(Clock::System.now_ns(), Ordering::Relaxed);
        }
        let (control, reader) = (self.control.as_mut()?, self.reader.as_mut()?);
        match reader.read(control) {
            Ok(counters) => {
                self.answered_ns
                    .store(Clock::System.now_ns(), Ordering::Relaxed);
                Some(counters)
            }
            Err(error) => {
                self.disconnect(&error, ObservedTopic::WhileDisconnected);
                None
            }
        }
    }

    /// Takes a sample and reports the row since `before`.
    fn report_row(&mut self, before: ServerSample) -> ServerSample {
        if self.control.is_none() && self.has_connected {
            self.connect();
        }
        let sample = self.sample();
        let second = row::server_second(&before, &sample, self.schedule.start_ns);
        self.send(ObserverMessage::Second(Box::new(second)));
        sample
    }

    /// The cost of observing the load. What is read after it has no part in it.
    fn final_observation(&mut self) -> FinalObservation {
        self.add_cost();
        self.cost.queries = self.earlier_queries;
        self.cost.query_s = self.earlier_query_time_s;
        self.cost.client_cpu_s = Some(thread_cpu_s());
        FinalObservation {
            cost: self.cost.clone(),
            ..FinalObservation::default()
        }
    }

    /// Reads the server's state after the run.
    fn read_final_state(&mut self, end: &mut FinalObservation) {
        if self.control.is_none() {
            self.connect();
        }
        let Some(mut control) = self.control.take() else {
            return;
        };
        match self.read_state_and_changes(&mut control) {
            Ok((after, changed)) => {
                end.after = Some(after);
                end.settings_changed = changed;
            }
            Err(error) => self.disconnect(&error, ObservedTopic::StateAfter),
        }
    }

    /// Reads what others do after the load, on a connection of Prony's own.
    fn read_others(&self) -> Result<ServerState, Error> {
        let mut target = self.input.target.clone();
        target.set_program_name("prony");
        target.has_own_statements = true;
        let mut control = Control::connect(&target)?;
        let mut reader = others_reader(&mut control)?;
        let counters = read_settled_counters(&mut control, &mut reader)?;
        Ok(state_of(&counters, &reader.take_missing()))
    }

    /// The server's state, and the settings that have other values than before the run.
    fn read_state_and_changes(
        &mut self,
        control: &mut Control,
    ) -> Result<(ServerState, Map<String, Value>), Error> {
        let mut reader = CounterReader::new(control)?.of_service(self.input.facts.service);
        let counters = read_settled_counters(control, &mut reader)?;
        let facts = read_server_facts(control)?;
        let (server_state, _) = read_server_state(control, &facts)?;
        let mut changed = Map::new();
        for (name, value) in &facts.settings {
            let is_volatile = VOLATILE_SETTINGS
                .iter()
                .any(|prefix| name.starts_with(prefix));
            // A setting that was not listed before belongs to a library that this session has loaded.
            let before = self.input.facts.setting(name);
            if !is_volatile && before.is_some_and(|before| before != value) {
                changed.insert(name.clone(), value.clone().into());
            }
        }
        Ok((with_counters(server_state, &counters), changed))
    }
}

/// Reads the counters repeatedly; returns them when they no longer grow, or after [`SETTLE_TIMEOUT`].
fn read_settled_counters(
    control: &mut Control,
    reader: &mut CounterReader,
) -> Result<Counters, Error> {
    let started_at = Instant::now();
    let mut previous = reader.read(control)?;
    loop {
        std::thread::sleep(SETTLE_PAUSE);
        let counters = reader.read(control)?;
        // The readings themselves commit too: without this allowance, the counters would never settle.
        let own_commits = 2 * reader.statements_sent;
        let is_settled = counters
            .commits
            .zip(previous.commits)
            .is_none_or(|(current, previous)| current <= previous + own_commits);
        if (is_settled && counters.active.unwrap_or(0) == 0)
            || started_at.elapsed() > SETTLE_TIMEOUT
        {
            return Ok(counters);
        }
        previous = counters;
    }
}

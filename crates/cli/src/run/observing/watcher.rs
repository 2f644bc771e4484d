//! The thread that looks once a second.
//!
//! In: the server, the parts of the run in time, the word to stop. Out: what it sees, told as it comes.
//! Must never: be awake between two looks; go on after the word to stop.

use super::happenings::Happenings;
use super::sample::{Sample, Source};
use super::{Ending, Job, Stop, Told, missing, seen};
use prony_drive::clock::Clock;
use prony_measure::Schedule;
use prony_server::Control;
use prony_server::control::Error;
use prony_server::observe::machine::{neighbour, task_cpu_s, thread_cpu_s};
use prony_server::observe::{Counters, Reader, observe, state};
use prony_store::{ObserverCost, ServerState};
use serde_json::{Map, Value};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

const SECOND_NS: u64 = 1_000_000_000;
/// A last row is only worth one from this length on.
const SHORTEST_NS: u64 = SECOND_NS / 10;
/// How long the counters may take to come to rest after the clients have gone, and the pause between
/// two looks at them: a session adds what it has counted when it ends.
const REST: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(150);
/// Settings of MySQL that change with each transaction, or are no settings at all.
const RESTLESS: [&str; 4] = ["gtid_", "timestamp", "rand_seed", "pseudo_"];

/// Watches until it is told to stop.
pub(super) fn watch(job: &Job, schedule: Schedule, tell: &Sender<Told>, stopped: &Receiver<Stop>) {
    let mut watcher = Watcher {
        job,
        schedule,
        tell,
        control: None,
        refused: false,
        reader: None,
        source: Source::new(job.exporter.as_ref()),
        happenings: Happenings::default(),
        cost: ObserverCost::default(),
        serving_since_s: None,
        queries_before: (0, 0.0),
    };
    watcher.connect();
    watcher.refused = watcher.control.is_none();
    let mut before = watcher.look();
    let stop = loop {
        match watcher.wait(stopped) {
            Some(stop) => break stop,
            None => before = watcher.row(before),
        }
    };
    if Clock::System.now_ns().saturating_sub(before.at_ns) >= SHORTEST_NS {
        watcher.row(before);
    }
    let left = watcher.happenings.end();
    left.into_iter()
        .for_each(|event| watcher.say(Told::Event(event)));
    let mut end = watcher.ending();
    if stop == Stop::Whole {
        watcher.after(&mut end);
    }
    watcher.say(Told::End(Box::new(end)));
}

struct Watcher<'a> {
    job: &'a Job,
    schedule: Schedule,
    tell: &'a Sender<Told>,
    control: Option<Control>,
    /// It was refused before it was ever connected: it does not ask again, as each attempt costs the
    /// server a process and a line in its log.
    refused: bool,
    reader: Option<Reader>,
    source: Source<'a>,
    happenings: Happenings,
    cost: ObserverCost,
    /// CPU time of what serves this connection, when it was first read.
    serving_since_s: Option<f64>,
    /// Queries, and their time, of readers before this one.
    queries_before: (u64, f64),
}

impl Watcher<'_> {
    /// Where nobody listens any more there is nothing to say.
    fn say(&self, told: Told) {
        let _ = self.tell.send(told);
    }

    /// Connects, also anew after a loss.
    fn connect(&mut self) {
        let connected = Control::connect(&self.job.target).and_then(|mut control| {
            let reader = Reader::new(&mut control)?;
            Ok((control, reader))
        });
        match connected {
            Ok((mut control, reader)) => {
                let near = neighbour(&mut control);
                let serving = near.serving;
                self.serving_since_s =
                    serving.and_then(|(process, thread)| task_cpu_s(process, thread));
                self.source.near = Some(near);
                (self.control, self.reader) = (Some(control), Some(reader));
            }
            Err(error) => self.lost(&error, "the server during the load, from some second on"),
        }
    }

    fn lost(&mut self, error: &Error, what: &str) {
        let text = error.to_string();
        let why = text.lines().next().unwrap_or_default();
        self.say(Told::Missing(vec![missing(what, why)]));
        self.account();
        (self.control, self.reader) = (None, None);
    }

    /// Adds what this connection has cost to the sum.
    fn account(&mut self) {
        if let Some(reader) = &self.reader {
            self.queries_before.0 += reader.queries();
            self.queries_before.1 += reader.query_s();
        }
        let serving = self.source.near.as_ref().and_then(|near| near.serving);
        let now_s = serving.and_then(|(process, thread)| task_cpu_s(process, thread));
        if let Some((now_s, since_s)) = now_s.zip(self.serving_since_s.take()) {
            *self.cost.server_cpu_s.get_or_insert_default() += (now_s - since_s).max(0.0);
        }
    }

    /// Waits for the next full second of the load; gives the word to stop if it comes before.
    fn wait(&self, stopped: &Receiver<Stop>) -> Option<Stop> {
        let since_ns = Clock::System
            .now_ns()
            .saturating_sub(self.schedule.start_ns);
        let left_ns = SECOND_NS - since_ns % SECOND_NS;
        match stopped.recv_timeout(Duration::from_nanos(left_ns)) {
            Ok(stop) => Some(stop),
            Err(RecvTimeoutError::Timeout) => None,
            // Nobody is left to hear.
            Err(RecvTimeoutError::Disconnected) => Some(Stop::Early),
        }
    }

    /// Looks at everything, and tells what has happened.
    fn look(&mut self) -> Sample {
        let began = Instant::now();
        let counters = self.counters();
        let sample = self.source.sample(counters);
        let at_s = (sample.at_ns as f64 - self.schedule.start_ns as f64) / 1e9;
        if let Some(counters) = &sample.counters {
            let events = self.happenings.look(counters, at_s);
            events
                .into_iter()
                .for_each(|event| self.say(Told::Event(event)));
        }
        let mut missing = std::mem::take(&mut self.source.missing);
        if let Some(reader) = &mut self.reader {
            missing.extend(seen::missing(reader.take_missing()));
        }
        if !missing.is_empty() {
            self.say(Told::Missing(missing));
        }
        self.cost.longest_round_s = self.cost.longest_round_s.max(began.elapsed().as_secs_f64());
        sample
    }

    fn counters(&mut self) -> Option<Counters> {
        let (control, reader) = (self.control.as_mut()?, self.reader.as_mut()?);
        match reader.read(control) {
            Ok(counters) => Some(counters),
            Err(error) => {
                self.lost(&error, "the server for a while");
                None
            }
        }
    }

    /// Looks again and tells the row since `before`.
    fn row(&mut self, before: Sample) -> Sample {
        if self.control.is_none() && !self.refused {
            self.connect();
        }
        let now = self.look();
        let second = seen::second(&before, &now, self.schedule.start_ns);
        self.say(Told::Second(Box::new(second)));
        now
    }

    fn ending(&mut self) -> Ending {
        self.account();
        (self.cost.queries, self.cost.query_s) = self.queries_before;
        self.cost.client_cpu_s = Some(thread_cpu_s());
        Ending {
            cost: self.cost.clone(),
            ..Ending::default()
        }
    }

    /// How the server stands after the run.
    fn after(&mut self, end: &mut Ending) {
        if self.control.is_none() {
            self.connect();
        }
        let Some(mut control) = self.control.take() else {
            return;
        };
        match self.stands(&mut control) {
            Ok((after, changed)) => (end.after, end.settings_changed) = (Some(after), changed),
            Err(error) => self.lost(&error, "how the server stands after it"),
        }
    }

    fn stands(
        &mut self,
        control: &mut Control,
    ) -> Result<(ServerState, Map<String, Value>), Error> {
        let counters = self.at_rest(control)?;
        let facts = observe(control)?;
        let found = state(control, &facts)?;
        let mut changed = Map::new();
        for (name, value) in &facts.settings {
            let restless = RESTLESS.iter().any(|start| name.starts_with(start));
            if !restless && self.job.facts.setting(name) != Some(value) {
                changed.insert(name.clone(), value.clone().into());
            }
        }
        Ok((seen::state(found, &counters), changed))
    }

    /// The counters when they no longer grow, or after a while.
    fn at_rest(&mut self, control: &mut Control) -> Result<Counters, Error> {
        let mut reader = Reader::new(control)?;
        let began = Instant::now();
        let mut last = reader.read(control)?;
        loop {
            std::thread::sleep(PAUSE);
            let now = reader.read(control)?;
            // Each reading is a transaction of its own, or a few.
            let few = 2 * reader.queries();
            let rests = now
                .commits
                .zip(last.commits)
                .is_none_or(|(now, last)| now <= last + few);
            if (rests && now.active.unwrap_or(0) == 0) || began.elapsed() > REST {
                return Ok(now);
            }
            last = now;
        }
    }
}

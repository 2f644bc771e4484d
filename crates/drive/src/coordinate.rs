//! The collecting thread's side of a run.
//!
//! In: messages of the workers. Out: merged rows for the observer, totals. Must never: keep a
//! worker waiting.

use crate::connections::ConnectError;
use crate::happening::{Happening, Incident};
use crate::run::{Driven, Error, Job, Observer, Start};
use prony_measure::{Collector, Interval};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often the collecting thread looks whether the run is interrupted.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the threads tell the collecting one.
pub(crate) enum Message {
    /// A worker has its engine, or cannot have any; false: it should be another.
    Made(bool),
    /// Users are ready for the start, at this time of the run's clock; what TLS there is.
    Connected(Option<String>, u64),
    Refused(ConnectError),
    Interval(usize, Box<Interval>),
    Event(Happening),
    Ended(usize, io::Result<()>),
}

/// The collecting thread's side of a run.
pub(crate) struct Coordinator<'a> {
    pub job: &'a Job<'a>,
    pub halt: &'a AtomicBool,
    pub hear: Receiver<Message>,
    pub threads: usize,
}

impl Coordinator<'_> {
    /// The next message; halts the threads when the run is interrupted. `None`: all have ended.
    fn next(&self) -> Option<Message> {
        loop {
            if self.job.interrupt.load(Ordering::Relaxed) {
                self.halt.store(true, Ordering::Relaxed);
            }
            match self.hear.recv_timeout(LOOK_EVERY) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// Waits until all threads have tried to make their engines. False: one wants another.
    pub fn made(&self) -> Result<bool, Error> {
        let (mut tried, mut all) = (0, true);
        while tried < self.threads {
            match self.next() {
                Some(Message::Made(fits)) => {
                    tried += 1;
                    all &= fits;
                }
                // One that panicked tells no more.
                Some(Message::Ended(_, Err(error))) => {
                    return Err(self.not_connected(0, ConnectError::Engine(error)));
                }
                Some(_) => {}
                None => break,
            }
        }
        Ok(all)
    }

    fn not_connected(&self, connected: u32, source: ConnectError) -> Error {
        Error::Connect {
            wanted: self.job.plan.clients,
            connected,
            source,
        }
    }

    /// Waits until all connections are up and all users ready. Gives what TLS there is, and when that
    /// was.
    pub fn connected(&self) -> Result<(Option<String>, u64), Error> {
        let (mut ready, mut tls, mut refused) = (0, None, None);
        let (mut connected, mut ready_ns) = (0, 0);
        while ready < self.threads {
            match self.next() {
                Some(Message::Connected(used, at_ns)) => {
                    ready_ns = ready_ns.max(at_ns);
                    ready += 1;
                    tls = tls.or(used);
                }
                Some(Message::Refused(error)) => {
                    if let ConnectError::Refused { connected: up, .. } = &error {
                        connected += up;
                    }
                    // The first refusal tells most; the others are halted by it.
                    self.halt.store(true, Ordering::Relaxed);
                    refused = refused.or(Some(error));
                }
                Some(Message::Ended(_, Err(error))) => {
                    self.halt.store(true, Ordering::Relaxed);
                    refused = refused.or(Some(ConnectError::Engine(error)));
                }
                Some(_) => {}
                None => break,
            }
            if refused.is_some() {
                break;
            }
        }
        match refused {
            Some(ConnectError::Interrupted) => Err(Error::Interrupted),
            Some(ConnectError::Unready(reason)) => Err(Error::Unready(reason)),
            Some(source) => Err(self.not_connected(connected, source)),
            None if ready < self.threads => Err(Error::Interrupted),
            None => Ok((tls, ready_ns)),
        }
    }

    /// Takes what the threads hand in, until all have ended.
    pub fn collect(&self, start: Start, observer: &mut dyn Observer) -> Driven {
        let mut collector = Collector::new(start.schedule, start.shape, self.threads);
        let mut events = Vec::new();
        let mut failure = None;
        while let Some(message) = self.next() {
            match message {
                Message::Interval(worker, interval) => drop(collector.add(worker, interval)),
                Message::Event(event) => {
                    if event.what == Incident::QueueFull {
                        self.halt.store(true, Ordering::Relaxed);
                        failure = Some(event.detail.clone());
                    }
                    events.push(event);
                }
                Message::Ended(worker, ended) => {
                    collector.end(worker);
                    if let Err(error) = ended {
                        self.halt.store(true, Ordering::Relaxed);
                        failure = Some(format!("the run could not go on: {error}"));
                    }
                }
                Message::Made(_) | Message::Connected(..) | Message::Refused(_) => {}
            }
            while let Some(row) = collector.next_row() {
                observer.row(&row, &start.schedule);
                collector.recycle(row);
            }
        }
        let collected = collector.finish();
        for row in &collected.rows {
            observer.row(row, &start.schedule);
        }
        events.sort_by_key(|event| event.from_ns);
        Driven {
            start,
            collected,
            events,
            interrupted: self.job.interrupt.load(Ordering::Relaxed),
            failure,
        }
    }
}

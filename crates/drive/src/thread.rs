//! The body of a worker thread: connect, wait for the common start, drive, close.
//!
//! In: a share of the clients. Out: messages to the collecting thread. Must never: outlive the run.

use crate::affinity;
use crate::hosts::RouteTable;
use crate::io::Io;
use crate::io_engine::{EngineChoice, EngineKind};
use crate::job::DriveJob;
use crate::messages::{CollectorChannel, WorkerMessage};
use crate::run_event::panic_text;
use crate::scheduling::{BatchPolicy, Scheduling};
use crate::slice::WorkerShare;
use crate::timing::Timing;
use crate::worker::Worker;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

pub(crate) struct WorkerThread<'a> {
    pub job: &'a DriveJob<'a>,
    pub routes: &'a RouteTable,
    /// When set, the run ends at once.
    pub interrupt: &'a AtomicBool,
    pub share: WorkerShare,
    pub scheduling: Scheduling,
    pub channel: CollectorChannel<'a>,
}

/// An I/O engine of any type. It stays on the thread that created it.
pub(crate) trait AnyIo {
    fn drive(self: Box<Self>, thread: &WorkerThread<'_>) -> io::Result<()>;
}

impl<I: Io> AnyIo for I {
    fn drive(self: Box<Self>, thread: &WorkerThread<'_>) -> io::Result<()> {
        thread.drive(*self)
    }
}

impl WorkerThread<'_> {
    /// The body of the thread. Reports how it ended, even if it panics: a panic in one worker must not lose the
    /// figures of the others.
    pub fn run<'io>(
        &self,
        choice: &EngineChoice,
        create: impl Fn(EngineKind, usize) -> io::Result<Box<dyn AnyIo + 'io>>,
    ) {
        let body = || match self.create_engine(choice, create)? {
            Some(io) => io.drive(self),
            None => Ok(()),
        };
        let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
            let message = panic_text(&*panic);
            Err(io::Error::other(format!("a worker panicked: {message}")))
        });
        self.channel.send_end(result);
    }

    /// Creates the worker's engine: tries the chosen one, and then uses the one that all workers use. Returns `None`
    /// if there will be no run.
    fn create_engine<'io>(
        &self,
        choice: &EngineChoice,
        create: impl Fn(EngineKind, usize) -> io::Result<Box<dyn AnyIo + 'io>>,
    ) -> io::Result<Option<Box<dyn AnyIo + 'io>>> {
        let connections = self.share.clients.len() * self.job.connections_per_client() as usize;
        let engine = create(choice.kind, connections);
        let is_final = choice.is_final(&engine);
        self.channel.send(WorkerMessage::EngineCreated(is_final));
        match self.channel.await_engine() {
            Some(kind) if kind == choice.kind => engine.map(Some),
            Some(kind) => {
                // Dropping the engine frees its memory and its file.
                drop(engine);
                create(kind, connections).map(Some)
            }
            None => Ok(None),
        }
    }

    fn drive<I: Io>(&self, engine: I) -> io::Result<()> {
        affinity::use_precise_timers();
        let is_pinned = self.scheduling.pins_workers && affinity::pin_thread(self.share.index);
        let (job, share, channel) = (self.job, &self.share, &self.channel);
        let mut worker = Worker::new(engine, job, self.routes, share, self.interrupt, channel);
        if let Err(error) = worker.get_ready() {
            channel.send(WorkerMessage::Refused(error));
            worker.close();
            return Ok(());
        }
        let Some((schedule, layout)) = channel.await_start() else {
            worker.close();
            return Ok(());
        };
        let mut timing = Timing::of_load(job, share, schedule, layout);
        timing.is_pinned = is_pinned;
        if self.scheduling.uses_batch {
            timing.batch_policy = BatchPolicy::request();
        }
        let result = worker.drive(timing);
        worker.end();
        result
    }
}

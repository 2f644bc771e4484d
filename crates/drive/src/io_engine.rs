//! Chooses the I/O engine, which drives the sockets. It is the same for all workers, and each worker creates
//! its own on its thread.
//!
//! In: the engine that the plan requests, and what the kernel allows. Out: one engine for each worker.
//! Must never: give two workers of a run different engines, because the result names one.

use crate::error::Error;
use crate::io::epoll::Epoll;
use crate::io::ring::{self, Ring};
use crate::io::sim;
use prony_plan::IoEngine;
use std::io;
use std::sync::mpsc::Receiver;

/// An I/O engine.
pub(crate) enum AnyIo<S> {
    Ring(Box<Ring>),
    Epoll(Box<Epoll>),
    Sim(Box<sim::Sim<S>>),
}

/// Stands for the type of a simulated server where an engine has real sockets, and thus no such server.
pub(crate) enum NoSimServer {}

impl sim::SimServer for NoSimServer {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        match *self {}
    }
    fn request(&mut self, _: u32, _: &[u8], _: u64, _: &mut Vec<sim::Answer>) {
        match *self {}
    }
}

/// The engine that was chosen, by its name, and why.
#[derive(Clone, Debug)]
pub(crate) struct EngineChoice {
    pub name: &'static str,
    pub reason: String,
    /// Whether another engine may be used instead, because this one was not requested explicitly.
    is_replaceable: bool,
}

impl EngineChoice {
    fn requested(name: &'static str) -> Self {
        EngineChoice {
            name,
            reason: "requested".to_owned(),
            is_replaceable: false,
        }
    }

    /// The simulated network.
    pub fn sim() -> Self {
        EngineChoice::requested("sim")
    }

    /// The choice of epoll for all workers, after some of them could not create the engine chosen first.
    pub fn epoll_fallback() -> Self {
        EngineChoice {
            name: "epoll",
            reason: ring::RingUnavailable::out_of_locked_memory().to_string(),
            is_replaceable: false,
        }
    }

    /// Creates a worker's engine. Tries the chosen engine, and calls `report_created`, with false if this
    /// worker needs a different one. Once all workers have done so, `engine_receiver` delivers the name of
    /// the engine that all of them use. Returns `None` if there will be no run.
    ///
    /// # Errors
    /// If the kernel refuses any resource the engine needs.
    pub fn create_engine<S>(
        &self,
        create: impl Fn(&str) -> io::Result<AnyIo<S>>,
        report_created: impl FnOnce(bool),
        engine_receiver: &Receiver<&'static str>,
    ) -> io::Result<Option<AnyIo<S>>> {
        let engine = create(self.name);
        report_created(
            !self.is_replaceable || !engine.as_ref().is_err_and(ring::is_out_of_locked_memory),
        );
        match engine_receiver.recv() {
            Ok(name) if name == self.name => engine.map(Some),
            Ok(name) => {
                // Dropping the engine frees its memory and its file.
                drop(engine);
                create(name).map(Some)
            }
            // The sender is dropped, because a thread could not be started.
            Err(_) => Ok(None),
        }
    }
}

/// Chooses an engine by the plan and by what this kernel allows.
///
/// # Errors
/// If io_uring was requested and cannot be used.
pub(crate) fn choose(requested: IoEngine) -> Result<EngineChoice, Error> {
    match requested {
        IoEngine::Epoll => Ok(EngineChoice::requested("epoll")),
        IoEngine::Ring => ring::probe()
            .map(|()| EngineChoice::requested("ring"))
            .map_err(Error::RingUnavailable),
        IoEngine::Auto => Ok(match ring::probe() {
            Ok(()) => EngineChoice {
                name: "ring",
                reason: "io_uring works here".to_owned(),
                is_replaceable: true,
            },
            Err(unavailable) => EngineChoice {
                name: "epoll",
                reason: unavailable.to_string(),
                is_replaceable: false,
            },
        }),
    }
}

/// Creates an engine with real sockets, for this many connections. It must stay on the thread that created
/// it.
///
/// # Errors
/// If the kernel refuses any resource the engine needs.
pub(crate) fn create(name: &str, connections: usize) -> io::Result<AnyIo<NoSimServer>> {
    Ok(match name {
        "ring" => AnyIo::Ring(Box::new(Ring::new(connections)?)),
        _ => AnyIo::Epoll(Box::new(Epoll::new(connections)?)),
    })
}

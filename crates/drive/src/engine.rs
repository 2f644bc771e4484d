//! Which engine drives the sockets: chosen once, made by each worker on its own thread, the same for
//! all of them.
//!
//! In: what the plan asks for, and what the kernel gives. Out: an engine a worker. Must never: let
//! two workers of one run have different engines; the result names one.

use crate::io::epoll::Epoll;
use crate::io::ring::{self, Ring};
use crate::io::sim;
use crate::run::Error;
use prony_plan::IoEngine;
use std::io;
use std::sync::mpsc::Receiver;

/// The engines, so that a thread can be handed any of them.
pub(crate) enum Engine<S> {
    Ring(Box<Ring>),
    Epoll(Box<Epoll>),
    Sim(Box<sim::Sim<S>>),
}

/// Stands for the simulated server where there is none.
pub(crate) enum NoScript {}

impl sim::Script for NoScript {
    fn connect(&mut self, _: u32, _: u64) -> Result<u64, i32> {
        match *self {}
    }
    fn request(&mut self, _: u32, _: &[u8], _: u64, _: &mut Vec<sim::Answer>) {
        match *self {}
    }
}

/// An engine by its name, and why that one.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub name: &'static str,
    pub reason: String,
    /// Nobody asked for it: another will do.
    free: bool,
}

impl Choice {
    fn asked(name: &'static str) -> Self {
        Choice {
            name,
            reason: "asked for".to_owned(),
            free: false,
        }
    }

    /// The simulated network.
    pub fn sim() -> Self {
        Choice::asked("sim")
    }

    /// Where workers cannot have what was chosen: what all of them take instead.
    pub fn instead(&self) -> Self {
        Choice {
            name: "epoll",
            reason: ring::NO_ROOM.to_owned(),
            free: false,
        }
    }

    /// A worker's engine, after all have tried theirs: `tried` tells them whether this one has what was
    /// chosen, or cannot have any; `settled` says what all take. `None`: there will be no run.
    ///
    /// # Errors
    /// When the kernel refuses any of what is needed.
    pub fn settled<S>(
        &self,
        make: impl Fn(&str) -> io::Result<Engine<S>>,
        tried: impl FnOnce(bool),
        settled: &Receiver<&'static str>,
    ) -> io::Result<Option<Engine<S>>> {
        let made = make(self.name);
        tried(!self.free || !made.as_ref().is_err_and(ring::has_no_room));
        match settled.recv() {
            Ok(name) if name == self.name => made.map(Some),
            Ok(name) => {
                // What was made gives its memory and its file back.
                drop(made);
                make(name).map(Some)
            }
            // A thread could not be had.
            Err(_) => Ok(None),
        }
    }
}

/// What the plan's wish and this kernel come to.
///
/// # Errors
/// When io_uring was asked for and cannot be used.
pub(crate) fn choose(asked: IoEngine) -> Result<Choice, Error> {
    match asked {
        IoEngine::Epoll => Ok(Choice::asked("epoll")),
        IoEngine::Ring => ring::probe()
            .map(|()| Choice::asked("ring"))
            .map_err(Error::Ring),
        IoEngine::Auto => Ok(match ring::probe() {
            Ok(()) => Choice {
                name: "ring",
                reason: "io_uring works here".to_owned(),
                free: true,
            },
            Err(reason) => Choice {
                name: "epoll",
                reason,
                free: false,
            },
        }),
    }
}

/// An engine of the system's own sockets, for this many connections. It must stay on its thread.
///
/// # Errors
/// When the kernel refuses any of what is needed.
pub(crate) fn make(name: &str, connections: usize) -> io::Result<Engine<NoScript>> {
    Ok(match name {
        "ring" => Engine::Ring(Box::new(Ring::new(connections)?)),
        _ => Engine::Epoll(Box::new(Epoll::new(connections)?)),
    })
}

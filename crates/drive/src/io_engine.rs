//! Chooses the I/O engine, which drives the sockets. It is the same for all workers, because the result names one.
//!
//! In: the engine that the plan requests, and what the kernel allows. Out: the choice, and its reason.

use crate::error::Error;
use crate::io::ring;
use prony_plan::IoEngine;
use std::io;

/// The I/O engine of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// io_uring.
    Ring,
    Epoll,
    /// The simulated network of tests, which has its own clock.
    Sim,
}

impl EngineKind {
    /// The engine of this name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<EngineKind> {
        let mut all = [EngineKind::Ring, EngineKind::Epoll, EngineKind::Sim].into_iter();
        all.find(|kind| kind.name() == name)
    }

    /// The name in results: `ring`, `epoll` or `sim`.
    pub fn name(self) -> &'static str {
        match self {
            EngineKind::Ring => "ring",
            EngineKind::Epoll => "epoll",
            EngineKind::Sim => "sim",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct EngineChoice {
    pub kind: EngineKind,
    /// Why it was chosen, for reports.
    pub reason: String,
    /// Whether another engine may be used instead, because this one was not requested explicitly.
    is_replaceable: bool,
}

impl EngineChoice {
    pub fn requested(kind: EngineKind) -> Self {
        EngineChoice {
            kind,
            reason: "requested".to_owned(),
            is_replaceable: false,
        }
    }

    /// The choice of epoll for all workers, after some of them could not create the engine chosen first.
    pub fn epoll_fallback() -> Self {
        EngineChoice {
            kind: EngineKind::Epoll,
            reason: ring::RingUnavailable::out_of_locked_memory().to_string(),
            is_replaceable: false,
        }
    }

    /// Whether a worker can use the engine that it has tried to create, or must fail with this error; otherwise
    /// all workers use a different engine.
    pub fn is_final<T>(&self, created: &io::Result<T>) -> bool {
        let is_short_of_memory = created.as_ref().is_err_and(ring::is_out_of_locked_memory);
        !(self.is_replaceable && is_short_of_memory)
    }
}

/// Chooses an engine by the plan and by what this kernel allows.
pub(crate) fn choose(requested: IoEngine) -> Result<EngineChoice, Error> {
    match requested {
        IoEngine::Epoll => Ok(EngineChoice::requested(EngineKind::Epoll)),
        IoEngine::Ring => ring::probe()
            .map(|()| EngineChoice::requested(EngineKind::Ring))
            .map_err(Error::RingUnavailable),
        IoEngine::Auto => Ok(match ring::probe() {
            Ok(()) => EngineChoice {
                kind: EngineKind::Ring,
                reason: "io_uring works here".to_owned(),
                is_replaceable: true,
            },
            Err(unavailable) => EngineChoice {
                kind: EngineKind::Epoll,
                reason: unavailable.to_string(),
                is_replaceable: false,
            },
        }),
    }
}

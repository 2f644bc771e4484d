//! How long the control connection waits for a server, and what ends a wait early.
//!
//! Must never: give up a server that still answers, even if its statement takes hours.

use super::probe::LossReason;
use prony_plan::ErrorParts;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Default limit for connecting to one address and logging in.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Default time without a byte after which the server is probed.
pub const IO_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a statement has no reply, or what follows a load no server, until the user is told that it is waited for.
pub const NOTICE_AFTER: Duration = Duration::from_secs(3);

/// How long waits continue after the signal, so that a cancelled statement can end. It applies to all
/// waits of the process together, so that the command ends within two seconds.
const WAIT_AFTER_SIGNAL: Duration = Duration::from_millis(1200);

#[derive(Clone, Debug)]
pub struct WaitOptions {
    /// After this time without a byte in either direction, the server is probed with a second
    /// connection. The first connection counts as lost if the second gets no answer within the
    /// limit for connecting. It also counts as lost if the server answers the second, but has not
    /// acknowledged packets of the first for this time, waits for the first's client, or no longer has
    /// its session. `None`: no probes.
    pub io_timeout: Option<Duration>,
    pub stop: StopSignal,
    /// Called once for a statement whose reply has not arrived after [`NOTICE_AFTER`], with whom and what is waited for.
    pub notice: Option<fn(&str)>,
}

impl Default for WaitOptions {
    fn default() -> Self {
        WaitOptions {
            io_timeout: Some(IO_TIMEOUT),
            stop: StopSignal::default(),
            notice: None,
        }
    }
}

/// A signal that ends the command. The default value never receives one.
#[derive(Clone, Debug, Default)]
pub struct StopSignal {
    /// The signal's number; 0: none yet.
    signal: Arc<AtomicUsize>,
    noticed_at: Arc<OnceLock<Instant>>,
}

impl StopSignal {
    /// A signal that has arrived as soon as `signal` holds its number instead of 0.
    pub fn watching(signal: Arc<AtomicUsize>) -> StopSignal {
        StopSignal {
            signal,
            noticed_at: Arc::default(),
        }
    }

    pub fn is_requested(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    pub(super) fn waits_must_end(&self) -> bool {
        self.is_requested()
            && self.noticed_at.get_or_init(Instant::now).elapsed() >= WAIT_AFTER_SIGNAL
    }
}

/// A request to the thread that waits for a reply: to cancel the statement by an attention. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct AttentionRequest {
    state: Arc<AtomicUsize>,
}

impl AttentionRequest {
    const NONE: usize = 0;
    const REQUESTED: usize = 1;
    const TAKEN: usize = 2;

    /// Requests an attention. Returns false if one was requested already in this statement.
    pub(super) fn request(&self) -> bool {
        let order = Ordering::Relaxed;
        let changed = (self.state).compare_exchange(Self::NONE, Self::REQUESTED, order, order);
        changed.is_ok()
    }

    /// Whether to send an attention now; true once for each request.
    pub(super) fn take(&self) -> bool {
        let order = Ordering::Relaxed;
        let changed = (self.state).compare_exchange(Self::REQUESTED, Self::TAKEN, order, order);
        changed.is_ok()
    }

    /// Begins a statement: a request for an earlier one must not cancel it.
    pub(super) fn clear(&self) {
        self.state.store(Self::NONE, Ordering::Relaxed);
    }
}

/// Why a wait ended; the inner error of an [`std::io::Error`].
#[derive(Debug, thiserror::Error)]
pub(super) enum WaitError {
    /// A signal arrived.
    #[error("interrupted")]
    Interrupted,
    /// The statement is to be canceled; the connection is as before.
    #[error("canceled")]
    AttentionRequested,
    /// Nothing arrived, and a probe found the connection lost.
    #[error("{0}")]
    Silent(Silence),
}

/// A connection that counts as lost because nothing arrives on it.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.parts().sentence())]
pub struct Silence {
    /// How long nothing was sent or received.
    pub duration: Duration,
    /// Why it counts as lost.
    pub loss: LossReason,
}

impl Silence {
    pub(super) fn parts(&self) -> ErrorParts {
        let seconds = self.duration.as_secs();
        let reason = match &self.loss {
            LossReason::Unanswered(probe) => {
                return ErrorParts::new(format!(
                    "the server stopped answering: no byte for {seconds} s, and then a new {probe}"
                ));
            }
            LossReason::Unacknowledged => {
                format!("sent data was not acknowledged for {seconds} s")
            }
            LossReason::SessionGone => {
                format!("no byte for {seconds} s, and the server no longer has this connection")
            }
            LossReason::ServerWaitsForClient => format!(
                "no byte for {seconds} s, and the server reports that it waits for this client"
            ),
        };
        ErrorParts::new(format!(
            "the connection to the server was lost: {reason}, while the server answered a new connection"
        ))
        .with_hint("a proxy, firewall or load balancer may have dropped the connection")
    }
}

impl WaitError {
    /// Whether this error of a socket asks for an attention.
    pub(super) fn is_attention_requested(error: &io::Error) -> bool {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        matches!(inner, Some(WaitError::AttentionRequested))
    }
}

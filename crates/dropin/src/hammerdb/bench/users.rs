//! Starts the workload's users one after another.
//!
//! In: the workload's program. Out: the same program; each user starts after a delay and, if requested, ends
//! after its first error. Must never: change what a user executes.

use prony_dialect::hammerdb::RunRequest;
use prony_document::ObservedShare;
use prony_session::{Db, P90Limit, Program, User, UserExit, UserId};
use serde::{Deserialize, Serialize};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// The most errors that are printed one by one if they do not end clients; all are counted.
const PRINTED_ERRORS_MAX: u32 = 1000;

/// Which clients errors have ended, or how many errors there were if they end no client.
#[derive(Clone)]
pub struct ErrorFlags {
    /// Whether an error has ended each client; `None` if errors end no client.
    ended_clients: Option<Arc<[AtomicBool]>>,
    /// Errors that ended no client.
    errors: Arc<AtomicU32>,
}

impl ErrorFlags {
    pub fn new(ends_clients: bool, clients: u32) -> ErrorFlags {
        let flags = (0..clients).map(|_| AtomicBool::new(false));
        ErrorFlags {
            ended_clients: if ends_clients { Some(flags.collect()) } else { None },
            errors: Arc::default(),
        }
    }

    /// Whether errors end clients.
    pub fn ends_clients(&self) -> bool {
        self.ended_clients.is_some()
    }

    /// Records an error of a client. Returns whether to print it: if errors end clients, only the first of each client.
    pub fn record(&self, client: u32) -> bool {
        let Some(flags) = &self.ended_clients else {
            return self.errors.fetch_add(1, Ordering::Relaxed) < PRINTED_ERRORS_MAX;
        };
        let flag = flags.get(client as usize);
        flag.is_none_or(|flag| !flag.swap(true, Ordering::Relaxed))
    }

    fn has_ended(&self, client: u32) -> bool {
        let flags = self.ended_clients.as_deref().unwrap_or_default();
        let flag = flags.get(client as usize);
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// When virtual users start.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct StartDelays {
    /// The time between the starts of two users.
    step: Duration,
    /// Whether some users start after the window has begun.
    has_late_starts: bool,
}

impl StartDelays {
    /// The delays of a run with this warm-up.
    pub fn of(request: &RunRequest, warmup: Duration) -> StartDelays {
        let last_start = request.start_delay(request.vusers.saturating_sub(1));
        StartDelays {
            step: request.start_delay(1),
            has_late_starts: last_start > warmup,
        }
    }
}

/// The workload's program, whose users start one after another.
pub struct DelayedUsers {
    program: Arc<dyn Program>,
    delays: StartDelays,
    error_flags: ErrorFlags,
}

impl DelayedUsers {
    pub fn new(program: Arc<dyn Program>, delays: StartDelays, error_flags: ErrorFlags) -> Self {
        DelayedUsers {
            program,
            delays,
            error_flags,
        }
    }
}

impl Program for DelayedUsers {
    fn kinds(&self) -> &[&'static str] {
        self.program.kinds()
    }

    fn statements(&self) -> Vec<String> {
        self.program.statements()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.program.settings();
        if self.delays.has_late_starts {
            let step_ms = self.delays.step.as_millis();
            settings.push(("late_starts", format!("{step_ms} ms apart")));
        }
        settings
    }

    fn action_shares(&self) -> Vec<ObservedShare> {
        self.program.action_shares()
    }

    fn p90_limits(&self) -> Vec<P90Limit> {
        self.program.p90_limits()
    }

    fn create_user(&self, id: UserId, mut db: Db) -> User {
        let (program, error_flags) = (Arc::clone(&self.program), self.error_flags.clone());
        let delay = self.delays.step.saturating_mul(id.client);
        Box::pin(async move {
            if !delay.is_zero() {
                db.sleep(delay).await;
            }
            let user = program.create_user(id, db);
            if !error_flags.ends_clients() {
                return user.await;
            }
            EndOnError {
                user,
                error_flags,
                client: id.client,
            }
            .await
        })
    }
}

/// A user that ends after its first error. The error is noticed when the transaction is counted; by then the
/// user has sent its next transaction, which is not counted.
struct EndOnError {
    user: User,
    error_flags: ErrorFlags,
    client: u32,
}

impl Future for EndOnError {
    type Output = UserExit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<UserExit> {
        if self.error_flags.has_ended(self.client) {
            return Poll::Ready(UserExit::Failed("a transaction failed".to_owned()));
        }
        self.user.as_mut().poll(context)
    }
}

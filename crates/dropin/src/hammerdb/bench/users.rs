//! Starts the workload's users one after another.
//!
//! In: the workload's program. Out: the same program; each user starts after a delay and, if requested, ends
//! after its first error. Must never: change what a user executes.

use prony_dialect::hammerdb::RunRequest;
use prony_document::ObservedShare;
use prony_session::{Db, P90Limit, Program, User, UserExit, UserId};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// For each client, whether an error ended it.
pub type ErrorFlags = Arc<Vec<AtomicBool>>;

/// The workload's program, whose users start one after another.
pub struct DelayedUsers {
    program: Arc<dyn Program>,
    /// The time between the starts of two users.
    delay_step: Duration,
    /// Whether some users start after the window has begun.
    has_late_starts: bool,
    error_flags: Option<ErrorFlags>,
}

impl DelayedUsers {
    /// Wraps a program, for a run with this warm-up.
    pub fn new(
        program: Arc<dyn Program>,
        request: &RunRequest,
        warmup: Duration,
        error_flags: Option<ErrorFlags>,
    ) -> Self {
        let last_start = request.start_delay(request.vusers.saturating_sub(1));
        DelayedUsers::with_delay(
            program,
            request.start_delay(1),
            last_start > warmup,
            error_flags,
        )
    }

    /// Wraps a program whose users start this long after one another.
    pub fn with_delay(
        program: Arc<dyn Program>,
        delay_step: Duration,
        has_late_starts: bool,
        error_flags: Option<ErrorFlags>,
    ) -> Self {
        DelayedUsers {
            program,
            delay_step,
            has_late_starts,
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
        if self.has_late_starts {
            settings.push((
                "late_starts",
                format!("{} ms apart", self.delay_step.as_millis()),
            ));
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
        let delay = self.delay_step.saturating_mul(id.client);
        Box::pin(async move {
            if !delay.is_zero() {
                db.sleep(delay).await;
            }
            let user = program.create_user(id, db);
            match error_flags {
                None => user.await,
                Some(error_flags) => {
                    let client = id.client as usize;
                    EndOnError {
                        user,
                        error_flags,
                        client,
                    }
                    .await
                }
            }
        })
    }
}

/// A user that ends after its first error. The error is noticed when the transaction is counted; by then the
/// user has sent its next transaction, which is not counted.
struct EndOnError {
    user: User,
    error_flags: ErrorFlags,
    client: usize,
}

impl Future for EndOnError {
    type Output = UserExit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<UserExit> {
        let error_flag = self.error_flags.get(self.client);
        if error_flag.is_some_and(|error_flag| error_flag.load(Ordering::Relaxed)) {
            return Poll::Ready(UserExit::Failed("a transaction failed".to_owned()));
        }
        self.user.as_mut().poll(context)
    }
}

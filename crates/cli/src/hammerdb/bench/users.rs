//! The virtual users of a run: those of the workload, started one after the other.
//!
//! In: the workload's program. Out: the same, each user after its delay, and ended by its first error
//! where that is asked for. Must never: change what a user does.

use prony_dialect::hammerdb::RunRequest;
use prony_session::{Db, Ended, Limit, Program, Share, User, UserId};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

/// By client: whether it met an error that ends it.
pub type Raised = Arc<Vec<AtomicBool>>;

/// See the top of this file.
pub struct Users {
    program: Arc<dyn Program>,
    step: Duration,
    /// Some begin when the measured window has begun.
    is_late: bool,
    raised: Option<Raised>,
}

/// How long after the start of the load a client begins.
pub fn delay(request: &RunRequest, client: u32) -> Duration {
    Duration::from_millis(request.user_delay_ms).saturating_mul(client)
}

impl Users {
    /// The users of this program, in a run with so long a warm-up.
    pub fn new(
        program: Arc<dyn Program>,
        request: &RunRequest,
        warmup: Duration,
        raised: Option<Raised>,
    ) -> Self {
        Users {
            program,
            step: delay(request, 1),
            is_late: delay(request, request.vusers.saturating_sub(1)) > warmup,
            raised,
        }
    }
}

impl Program for Users {
    fn kinds(&self) -> &[&'static str] {
        self.program.kinds()
    }

    fn statements(&self) -> Vec<String> {
        self.program.statements()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let mut settings = self.program.settings();
        if self.is_late {
            settings.push(("late_starts", format!("{} ms apart", self.step.as_millis())));
        }
        settings
    }

    fn shares(&self) -> Vec<Share> {
        self.program.shares()
    }

    fn limits(&self) -> Vec<Limit> {
        self.program.limits()
    }

    fn user(&self, id: UserId, mut db: Db) -> User {
        let (program, raised) = (Arc::clone(&self.program), self.raised.clone());
        let delay = self.step.saturating_mul(id.client);
        Box::pin(async move {
            if !delay.is_zero() {
                db.sleep(delay).await;
            }
            let user = program.user(id, db);
            match raised {
                None => user.await,
                Some(raised) => {
                    let client = id.client as usize;
                    Ending {
                        user,
                        raised,
                        client,
                    }
                    .await
                }
            }
        })
    }
}

/// A user that its first error ends. The error is noticed when its transaction is counted, and the
/// user has sent its next one by then; that one is nobody's.
struct Ending {
    user: User,
    raised: Raised,
    client: usize,
}

impl Future for Ending {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let raised = self.raised.get(self.client);
        if raised.is_some_and(|raised| raised.load(Ordering::Relaxed)) {
            return Poll::Ready(Ended::Failed("a transaction failed".to_owned()));
        }
        self.user.as_mut().poll(context)
    }
}

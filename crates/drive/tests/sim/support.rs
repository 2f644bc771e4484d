//! A simulated server that speaks just enough PostgreSQL, and programs to run on it.

use prony_drive::io::sim::{Action, Answer, Machine, SimServer};
use prony_drive::{DriveJob, DriveResult, Error, LoadStart, Observer, run_simulated};
use prony_measure::{IntervalRow, RunSchedule};
use prony_plan::{Arrival, DrivePlan, IoEngine, Pace, Stop};
use prony_server::{Environment, Target, resolve};
use prony_session::{Db, DbError, Outcome, Program, User, UserExit, UserId};
use prony_wire::StatementIds;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// AuthenticationOk and ReadyForQuery: the server admits anyone.
pub const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// The reply to a statement without rows, outside a block.
pub const DONE: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
/// The same reply inside a block.
pub const IN_BLOCK: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05T";
/// The reply to a ROLLBACK.
pub const ROLLED_BACK: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dROLLBACK\0Z\0\0\0\x05I";
/// The reply to one statement, however many are executed.
pub const ONE_RESULT: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dUPDATE 1\0Z\0\0\0\x05I";
/// A serialization failure.
pub const CONFLICT: &[u8] = b"E\0\0\0\x1eSERROR\0C40001\0Mtry again\0\0Z\0\0\0\x05I";

pub fn send(after_ns: u64, bytes: &'static [u8]) -> Answer {
    Answer {
        after_ns,
        action: Action::Send(Cow::Borrowed(bytes)),
    }
}

pub fn close(after_ns: u64) -> Answer {
    Answer {
        after_ns,
        action: Action::Close(0),
    }
}

/// A server that admits anyone and passes its requests to a closure.
pub struct PgServer<A, F> {
    /// Called with the time in nanoseconds when a client connects; as [`SimServer::connect`].
    pub accept: A,
    /// Called with the slot, the client's bytes, the time in nanoseconds, and the list to append answers to.
    pub statement: F,
}

impl<A, F> SimServer for PgServer<A, F>
where
    A: FnMut(u64) -> Result<u64, i32>,
    F: FnMut(u32, &[u8], u64, &mut Vec<Answer>),
{
    fn connect(&mut self, _: u32, now_ns: u64) -> Result<u64, i32> {
        (self.accept)(now_ns)
    }

    fn request(&mut self, slot: u32, bytes: &[u8], now_ns: u64, answers: &mut Vec<Answer>) {
        match bytes.first() {
            // A start-up message has no type byte: it begins with its length.
            Some(0) => answers.push(send(20_000, WELCOME)),
            Some(b'X') | None => {}
            Some(_) => {
                let first = answers.len();
                (self.statement)(slot, bytes, now_ns, answers);
                answers[first..]
                    .iter_mut()
                    .for_each(|answer| answer_all(executions(bytes), answer));
            }
        }
    }
}

/// Number of executions in a request.
fn executions(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some(&[kind, a, b, c, d]) = bytes.first_chunk() {
        count += usize::from(kind == b'E');
        let end = 1 + u32::from_be_bytes([a, b, c, d]) as usize;
        bytes = bytes.get(end..).unwrap_or_default();
    }
    count
}

/// Repeats the result of an answer to one statement, such as [`DONE`], for each execution of a batch.
fn answer_all(executions: usize, answer: &mut Answer) {
    let one_result = [DONE, ROLLED_BACK].map(|reply| reply.strip_suffix(b"Z\0\0\0\x05I"));
    if let Action::Send(bytes) = &mut answer.action
        && executions > 1
        && let Some(one) = one_result
            .into_iter()
            .flatten()
            .find(|one| bytes.starts_with(one))
        && let Some(ready) = bytes.strip_prefix(one)
    {
        *bytes = Cow::Owned([one.repeat(executions).as_slice(), ready].concat());
    }
}

/// Accepts a client at once, or refuses it.
pub fn accept_unless(refuses: bool) -> Result<u64, i32> {
    if refuses {
        return Err(libc::ECONNREFUSED);
    }
    Ok(10_000)
}

/// How a server accepts a client: when, or the error.
type Accept = fn(u64) -> Result<u64, i32>;

/// A server that accepts everyone at once.
pub fn admit_all<F: FnMut(u32, &[u8], u64, &mut Vec<Answer>)>(statement: F) -> PgServer<Accept, F> {
    PgServer {
        accept: |_| accept_unless(false),
        statement,
    }
}

/// A server that answers every statement after a fixed time.
pub fn replies_after(delay_ns: u64) -> impl SimServer + Send {
    admit_all(move |_, _, _, answers| {
        answers.push(send(delay_ns, DONE));
    })
}

/// A user that executes this until it must end.
pub fn user(body: impl Future<Output = Result<(), UserExit>> + 'static) -> User {
    Box::pin(async move { body.await.err().unwrap_or(UserExit::Finished) })
}

pub struct ClosureProgram<F>(pub F);

impl<F: Fn(UserId, Db) -> User + Send + Sync> Program for ClosureProgram<F> {
    fn kinds(&self) -> &[&'static str] {
        &["transaction"]
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        (self.0)(id, db)
    }
}

/// A program whose users repeat one body.
pub fn repeat(body: fn(&mut Db) -> Body<'_>) -> impl Program {
    repeat_with(body, |db, _, body| body(db))
}

/// A program whose users repeat one body, to which they share something such as its statements.
pub fn repeat_with<T: Send + Sync + 'static>(
    shared: T,
    body: for<'a> fn(&'a mut Db, UserId, &'a T) -> Body<'a>,
) -> impl Program {
    let shared = Arc::new(shared);
    ClosureProgram(move |id, mut db: Db| -> User {
        let shared = Arc::clone(&shared);
        user(async move {
            loop {
                db.start(0).await?;
                let result = body(&mut db, id, &shared).await;
                db.end(result).await?;
            }
        })
    })
}

/// A program whose users execute one statement per transaction, without end.
pub fn selects() -> impl Program {
    let statement = StatementIds::new().add("SELECT 1");
    repeat_with(statement, |db, _, statement| {
        Box::pin(async move { db.exec(statement, &[]).await.map(|_| Outcome::Committed) })
    })
}

pub type Body<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Outcome, DbError>> + 'a>>;

/// A millisecond, in nanoseconds.
pub const MS: u64 = 1_000_000;

/// A machine whose received and sent packets have timestamps.
pub fn with_timestamps() -> Machine {
    Machine {
        has_timestamps: true,
        ..Machine::default()
    }
}

/// A closed-loop plan with this many clients, whose window lasts this many seconds.
pub fn plan(clients: u32, seconds: f64) -> DrivePlan {
    DrivePlan {
        clients,
        stop: Stop::After(Duration::from_secs_f64(seconds)),
        ..DrivePlan::default()
    }
}

/// Starts at this rate, with equal gaps.
pub fn evenly(rate_tps: f64) -> Pace {
    Pace::Rate {
        rate_tps,
        arrival: Arrival::Even,
        queue_max: None,
    }
}

pub fn target() -> Target {
    let env = Environment::without_home("tester");
    resolve(
        "host=127.0.0.1 sslmode=disable user=tester dbname=bench",
        &env,
    )
    .expect("a target")
}

/// Collects the counts of each row, and may interrupt the run.
#[derive(Debug, Default)]
pub struct TestObserver {
    /// Number of committed and of failed transactions in each row.
    pub rows: Vec<(u64, u64)>,
    /// The number of rows after which to interrupt the run, and the flag that does so.
    pub interrupt_after: Option<(usize, Arc<AtomicBool>)>,
}

impl Observer for TestObserver {
    fn started(&mut self, _: &LoadStart) {}

    fn interval_ended(&mut self, row: &IntervalRow, _: &RunSchedule) {
        let committed = row.interval.kinds.iter().map(|kind| kind.committed).sum();
        let failed = row.interval.kinds.iter().map(|kind| kind.failed).sum();
        self.rows.push((committed, failed));
        if let Some((rows, flag)) = &self.interrupt_after
            && self.rows.len() >= *rows
        {
            flag.store(true, Ordering::Relaxed);
        }
    }
}

/// A job with seed 1 that is never interrupted.
pub fn job<'a>(program: &'a dyn Program, plan: &'a DrivePlan, target: &'a Target) -> DriveJob<'a> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    DriveJob::new(program, target, plan, &NEVER)
}

pub fn simulate(
    program: &dyn Program,
    plan: &DrivePlan,
    machine: Machine,
    server: impl SimServer + Send,
) -> Result<(DriveResult, TestObserver), Error> {
    let mut observer = TestObserver::default();
    let target = target();
    let job = job(program, plan, &target);
    let driven = run_simulated(&job, machine, server, &mut observer)?;
    Ok((driven, observer))
}

/// Runs a program on a machine with timestamps.
pub fn drive(
    program: &dyn Program,
    plan: &DrivePlan,
    server: impl SimServer + Send,
) -> DriveResult {
    let (driven, _) = simulate(program, plan, with_timestamps(), server).expect("it starts");
    driven
}

/// Runs [`selects`] on a server that answers every statement after this time.
pub fn drive_selects(plan: &DrivePlan, delay_ns: u64) -> DriveResult {
    drive(&selects(), plan, replies_after(delay_ns))
}

/// The I/O engines available on this machine.
pub fn engines() -> Vec<IoEngine> {
    match prony_drive::io::ring::probe() {
        Ok(()) => vec![IoEngine::Ring, IoEngine::Epoll],
        Err(reason) => {
            eprintln!("only epoll is tested: {reason}");
            vec![IoEngine::Epoll]
        }
    }
}

pub fn target_at(port: u16) -> Target {
    let env = Environment::without_home("tester");
    let url = format!("host=127.0.0.1 port={port} sslmode=disable user=tester dbname=bench");
    resolve(&url, &env).expect("a target")
}

/// One transaction with one statement, on the user's own connection.
pub async fn event(db: &mut Db) -> Result<(), UserExit> {
    db.start(0).await?;
    let result = db.query("SELECT 1").await.map(|_| Outcome::Committed);
    db.end(result).await
}

/// A program whose users alternate between their own connection and a second one, and once close and reopen
/// the second.
pub struct TwoConnections;

pub fn user_failure(error: DbError) -> UserExit {
    UserExit::Failed(error.to_string())
}

async fn alternate_connections(mut db: Db) -> Result<(), UserExit> {
    // The user's own connection is not open yet.
    let result = db.query("SELECT 1").await.map(drop);
    assert!(result.is_err() && !db.is_up());
    let mut other = db.add_connection().await.map_err(user_failure)?;
    other.open_connection().await.map_err(user_failure)?;
    // The second connection works while the user's own is down.
    other.query("SELECT 1").await.map_err(user_failure)?;
    db.open_connection().await.map_err(user_failure)?;
    db.wait_for_common_start().await;
    let mut events = 0;
    loop {
        db.start(0).await?;
        db.query("SELECT 1").await.map_err(user_failure)?;
        if events == 3 {
            other.close_connection().await;
            assert!(other.query("SELECT 1").await.is_err());
            other.open_connection().await.map_err(user_failure)?;
        }
        other.query("SELECT 1").await.map_err(user_failure)?;
        events += 1;
        db.end(Ok(Outcome::Committed)).await?;
    }
}

impl Program for TwoConnections {
    fn kinds(&self) -> &[&'static str] {
        &["both"]
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn has_prologue(&self) -> bool {
        true
    }

    fn create_user(&self, _: UserId, db: Db) -> User {
        user(alternate_connections(db))
    }
}

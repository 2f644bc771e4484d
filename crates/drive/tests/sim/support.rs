//! A simulated server that speaks just enough PostgreSQL, and programs to put on it.

use prony_drive::io::sim::{Act, Answer, Machine, Script};
use prony_drive::{Driven, Error, Job, Observer, Start, run_simulated};
use prony_measure::{Row, Schedule};
use prony_plan::{Arrival, DrivePlan, IoEngine, Pace, QueryMode, Stop};
use prony_server::{Environment, Target, resolve};
use prony_session::{Db, DbError, Ended, Outcome, Program, User, UserId};
use prony_wire::{Statement, Statements};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// AuthenticationOk and ReadyForQuery: the server lets anyone in.
pub const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// The reply to a statement without rows, outside a block.
pub const DONE: &[u8] = b"2\0\0\0\x04C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
/// A serialization failure.
pub const CONFLICT: &[u8] = b"E\0\0\0\x1eSERROR\0C40001\0Mtry again\0\0Z\0\0\0\x05I";

pub fn send(after_ns: u64, bytes: &'static [u8]) -> Answer {
    Answer {
        after_ns,
        act: Act::Send(Cow::Borrowed(bytes)),
    }
}

pub fn close(after_ns: u64) -> Answer {
    Answer {
        after_ns,
        act: Act::Close(0),
    }
}

/// A server that lets anyone in and hands statements to `F`.
pub struct Server<F> {
    pub refuse: fn(u64) -> bool,
    pub statement: F,
}

impl<F: FnMut(u32, &[u8], u64, &mut Vec<Answer>)> Script for Server<F> {
    fn connect(&mut self, _: u32, now_ns: u64) -> Result<u64, i32> {
        if (self.refuse)(now_ns) {
            return Err(111); // ECONNREFUSED
        }
        Ok(10_000)
    }

    fn request(&mut self, slot: u32, bytes: &[u8], now_ns: u64, answers: &mut Vec<Answer>) {
        match bytes.first() {
            // A start-up message has no type: it begins with its length.
            Some(0) => answers.push(send(20_000, WELCOME)),
            Some(b'X') | None => {}
            Some(_) => (self.statement)(slot, bytes, now_ns, answers),
        }
    }
}

/// Answers every statement after a fixed time.
pub fn after(delay_ns: u64) -> impl Script + Send {
    Server {
        refuse: |_| false,
        statement: move |_, _: &[u8], _, answers: &mut Vec<Answer>| {
            answers.push(send(delay_ns, DONE));
        },
    }
}

/// One statement a transaction, without end.
pub struct Selects {
    statement: Arc<Statement>,
}

impl Selects {
    pub fn new() -> Self {
        Selects {
            statement: Arc::new(Statements::new().add("SELECT 1")),
        }
    }
}

impl Program for Selects {
    fn kinds(&self) -> &[&'static str] {
        &["select"]
    }

    fn user(&self, _: UserId, mut db: Db) -> User {
        let statement = self.statement.clone();
        Box::pin(async move {
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                let result = select(&mut db, &statement).await;
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
        })
    }
}

async fn select(db: &mut Db, statement: &Statement) -> Result<Outcome, DbError> {
    db.exec(statement, &[]).await?;
    Ok(Outcome::Committed)
}

/// A program made of a closure.
pub struct With<F>(pub F);

impl<F: Fn(UserId, Db) -> User + Send + Sync> Program for With<F> {
    fn kinds(&self) -> &[&'static str] {
        &["transaction"]
    }

    fn user(&self, id: UserId, db: Db) -> User {
        (self.0)(id, db)
    }
}

/// Runs one body again and again as a user's program.
pub fn repeat(body: fn(&mut Db) -> Body<'_>) -> impl Program {
    With(move |_, mut db: Db| -> User {
        Box::pin(async move {
            loop {
                if let Err(ended) = db.start(0).await {
                    return ended;
                }
                let result = body(&mut db).await;
                if let Err(ended) = db.end(result).await {
                    return ended;
                }
            }
        })
    })
}

pub type Body<'a> = std::pin::Pin<Box<dyn Future<Output = Result<Outcome, DbError>> + 'a>>;

/// A millisecond.
pub const MS: u64 = 1_000_000;

/// A machine whose kernel stamps what arrives and leaves.
pub fn stamped() -> Machine {
    Machine {
        stamps: true,
        ..Machine::default()
    }
}

/// A plan of this many clients and seconds, closed loop.
pub fn plan(clients: u32, seconds: f64) -> DrivePlan {
    DrivePlan {
        clients,
        threads: 1,
        pace: Pace::Closed,
        stop: Stop::After(Duration::from_secs_f64(seconds)),
        warmup: Duration::ZERO,
        grace: Duration::from_secs(5),
        latency_limit: None,
        reconnect: true,
        connect_counts: true,
        protocol: QueryMode::Prepared,
        describe: true,
        io: IoEngine::Auto,
        connect_per_transaction: false,
        tcp_sample: 0,
        seed: None,
        pin: false,
    }
}

/// Starts at this rate, all gaps the same.
pub fn evenly(rate_tps: f64) -> Pace {
    Pace::Rate {
        rate_tps,
        arrival: Arrival::Even,
        queue_max: None,
    }
}

pub fn target() -> Target {
    let env = Environment::new("tester", std::path::Path::new("/nonexistent"));
    resolve(
        "host=127.0.0.1 sslmode=disable user=tester dbname=bench",
        &env,
    )
    .expect("a target")
}

/// Collects the rows, and interrupts the run after some of them.
#[derive(Debug, Default)]
pub struct Watch {
    pub rows: Vec<(u64, u64)>,
    pub interrupt_after: Option<(usize, Arc<AtomicBool>)>,
}

impl Observer for Watch {
    fn started(&mut self, _: &Start) {}

    fn row(&mut self, row: &Row, _: &Schedule) {
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

/// A run that nobody interrupts or listens to.
pub fn job<'a>(program: &'a dyn Program, plan: &'a DrivePlan, target: &'a Target) -> Job<'a> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    Job {
        program,
        target,
        tcp_target: None,
        plan,
        seed: 1,
        interrupt: &NEVER,
        tap: None,
        refused: None,
    }
}

pub fn simulate(
    program: &dyn Program,
    plan: &DrivePlan,
    machine: Machine,
    script: impl Script + Send,
) -> Result<(Driven, Watch), Error> {
    let mut watch = Watch::default();
    let target = target();
    let job = job(program, plan, &target);
    let driven = run_simulated(&job, machine, script, &mut watch)?;
    Ok((driven, watch))
}

/// The engines that this machine allows.
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
    let env = Environment::new("tester", std::path::Path::new("/nonexistent"));
    let url = format!("host=127.0.0.1 port={port} sslmode=disable user=tester dbname=bench");
    resolve(&url, &env).expect("a target")
}

/// Each user speaks on a connection of its own and on a further one in turn, and closes that once.
pub struct Several;

/// An error as the end of a user.
pub fn failed(error: DbError) -> Ended {
    Ended::Failed(error.to_string())
}

async fn speak(mut db: Db) -> Result<(), Ended> {
    // Nothing was opened for it.
    let down = db.query("SELECT 1").await.map(drop);
    assert!(down.is_err() && !db.is_up());
    let mut other = db.another().await.map_err(failed)?;
    other.renew().await.map_err(failed)?;
    // Its own one is not needed for it.
    other.query("SELECT 1").await.map_err(failed)?;
    db.renew().await.map_err(failed)?;
    db.gate().await;
    let mut events = 0;
    loop {
        db.start(0).await?;
        db.query("SELECT 1").await.map_err(failed)?;
        if events == 3 {
            other.hang_up().await;
            assert!(other.query("SELECT 1").await.is_err());
            other.renew().await.map_err(failed)?;
        }
        other.query("SELECT 1").await.map_err(failed)?;
        events += 1;
        db.end(Ok(Outcome::Committed)).await?;
    }
}

impl Program for Several {
    fn kinds(&self) -> &[&'static str] {
        &["both"]
    }

    fn opens_connections(&self) -> bool {
        true
    }

    fn has_prologue(&self) -> bool {
        true
    }

    fn user(&self, _: UserId, db: Db) -> User {
        Box::pin(async move { speak(db).await.err().unwrap_or(Ended::Stopped) })
    }
}

//! What one virtual user of the three account workloads does.
//!
//! In: a scale, a user's seed. Out: transactions on a `Db`. Must never: differ from pgbench's
//! builtin scripts in statements, their order, or the order of the random draws: with the same seed
//! both change the same accounts by the same amounts.

use super::schema::Table;
use crate::random::Random;
use prony_session::{Db, DbError, Ended, Outcome, Program, User, UserId};
use prony_wire::{Statement, Statements, Value};
use std::sync::Arc;

/// Which of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// pgbench's `tpcb-like`: seven statements.
    Tpcb,
    /// pgbench's `simple-update`: without tellers and branches.
    SimpleUpdate,
    /// pgbench's `select-only`: one statement.
    SelectOnly,
}

const BEGIN: &str = "BEGIN";
const UPDATE_ACCOUNT: &str = "UPDATE pgbench_accounts SET abalance = abalance + $1 WHERE aid = $2";
const SELECT_ACCOUNT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
const UPDATE_TELLER: &str = "UPDATE pgbench_tellers SET tbalance = tbalance + $1 WHERE tid = $2";
const UPDATE_BRANCH: &str = "UPDATE pgbench_branches SET bbalance = bbalance + $1 WHERE bid = $2";
const INSERT_HISTORY: &str = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
     VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)";
const END: &str = "END";

/// Largest amount by which a balance changes, either way.
const DELTA_MAX: i64 = 5000;

/// The statements of a transaction, in order.
pub fn statements(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Tpcb => &[
            BEGIN,
            UPDATE_ACCOUNT,
            SELECT_ACCOUNT,
            UPDATE_TELLER,
            UPDATE_BRANCH,
            INSERT_HISTORY,
            END,
        ],
        Kind::SimpleUpdate => &[BEGIN, UPDATE_ACCOUNT, SELECT_ACCOUNT, INSERT_HISTORY, END],
        Kind::SelectOnly => &[SELECT_ACCOUNT],
    }
}

/// The program of one of the three, at one scale.
pub struct Accounts {
    shared: Arc<Shared>,
    name: [&'static str; 1],
}

/// What all users of a run share; read only.
struct Shared {
    kind: Kind,
    accounts: i64,
    branches: i64,
    tellers: i64,
    begin: Statement,
    update_account: Statement,
    select_account: Statement,
    update_teller: Statement,
    update_branch: Statement,
    insert_history: Statement,
    end: Statement,
}

/// The random values of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Draw {
    aid: i64,
    bid: i64,
    tid: i64,
    delta: i64,
}

impl Accounts {
    /// The program of `kind` on tables of this scale.
    pub fn new(kind: Kind, name: &'static str, scale: u32) -> Self {
        let mut set = Statements::new();
        let shared = Shared {
            kind,
            accounts: Table::Accounts.rows(scale) as i64,
            branches: Table::Branches.rows(scale) as i64,
            tellers: Table::Tellers.rows(scale) as i64,
            begin: set.add(BEGIN),
            update_account: set.add(UPDATE_ACCOUNT),
            select_account: set.add(SELECT_ACCOUNT),
            update_teller: set.add(UPDATE_TELLER),
            update_branch: set.add(UPDATE_BRANCH),
            insert_history: set.add(INSERT_HISTORY),
            end: set.add(END),
        };
        Accounts {
            shared: Arc::new(shared),
            name: [name],
        }
    }
}

impl Program for Accounts {
    fn kinds(&self) -> &[&'static str] {
        &self.name
    }

    fn user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        let random = Random::of_client(id.seed, id.client);
        Box::pin(async move {
            match run(&shared, random, db).await {
                Ok(never) => match never {},
                Err(ended) => ended,
            }
        })
    }
}

/// Transaction after transaction, until the run is over.
async fn run(
    shared: &Shared,
    mut random: Random,
    mut db: Db,
) -> Result<std::convert::Infallible, Ended> {
    loop {
        db.start(0).await?;
        let draw = shared.draw(&mut random);
        let result = match shared.kind {
            Kind::Tpcb => tpcb(shared, draw, &mut db).await,
            Kind::SimpleUpdate => simple_update(shared, draw, &mut db).await,
            Kind::SelectOnly => select_only(shared, draw, &mut db).await,
        };
        db.end(result.map(|()| Outcome::Committed)).await?;
    }
}

async fn tpcb(s: &Shared, draw: Draw, db: &mut Db) -> Result<(), DbError> {
    let [aid, bid, tid, delta] = draw.values();
    db.exec(&s.begin, &[]).await?;
    db.exec(&s.update_account, &[delta, aid]).await?;
    db.exec(&s.select_account, &[aid]).await?;
    db.exec(&s.update_teller, &[delta, tid]).await?;
    db.exec(&s.update_branch, &[delta, bid]).await?;
    db.exec(&s.insert_history, &[tid, bid, aid, delta]).await?;
    db.exec(&s.end, &[]).await?;
    Ok(())
}

async fn simple_update(s: &Shared, draw: Draw, db: &mut Db) -> Result<(), DbError> {
    let [aid, bid, tid, delta] = draw.values();
    db.exec(&s.begin, &[]).await?;
    db.exec(&s.update_account, &[delta, aid]).await?;
    db.exec(&s.select_account, &[aid]).await?;
    db.exec(&s.insert_history, &[tid, bid, aid, delta]).await?;
    db.exec(&s.end, &[]).await?;
    Ok(())
}

async fn select_only(s: &Shared, draw: Draw, db: &mut Db) -> Result<(), DbError> {
    db.exec(&s.select_account, &[Value::Int(draw.aid)]).await?;
    Ok(())
}

impl Shared {
    /// Draws in pgbench's order; select-only draws the account alone.
    fn draw(&self, random: &mut Random) -> Draw {
        let aid = random.uniform(1, self.accounts);
        if self.kind == Kind::SelectOnly {
            return Draw {
                aid,
                bid: 0,
                tid: 0,
                delta: 0,
            };
        }
        Draw {
            aid,
            bid: random.uniform(1, self.branches),
            tid: random.uniform(1, self.tellers),
            delta: random.uniform(-DELTA_MAX, DELTA_MAX),
        }
    }
}

impl Draw {
    fn values(self) -> [Value<'static>; 4] {
        [self.aid, self.bid, self.tid, self.delta].map(Value::Int)
    }
}

//! The program of one virtual user of the three account workloads.
//!
//! It must match pgbench's builtin scripts in the statements, their order, and the order of the random
//! draws: with the same seed, both change the same accounts by the same amounts.

use super::schema::{BIGINT_FROM_SCALE, Table};
use crate::random::Random;
use prony_session::{Db, DbError, Outcome, Program, StatementTable, User, UserExit, UserId};
use prony_wire::{ParameterType, Statement, StatementIds, Value};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TpcbVariant {
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

/// Maximum amount by which a balance changes, up or down.
const DELTA_MAX: i64 = 5000;

pub fn statements(variant: TpcbVariant) -> &'static [&'static str] {
    match variant {
        TpcbVariant::Tpcb => &[
            BEGIN,
            UPDATE_ACCOUNT,
            SELECT_ACCOUNT,
            UPDATE_TELLER,
            UPDATE_BRANCH,
            INSERT_HISTORY,
            END,
        ],
        TpcbVariant::SimpleUpdate => &[BEGIN, UPDATE_ACCOUNT, SELECT_ACCOUNT, INSERT_HISTORY, END],
        TpcbVariant::SelectOnly => &[SELECT_ACCOUNT],
    }
}

/// The program of one of the three workloads, at one scale.
pub struct AccountProgram {
    shared: Arc<AccountRun>,
    name: [&'static str; 1],
}

/// State shared by all users of a run; read-only.
struct AccountRun {
    variant: TpcbVariant,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TransactionInput {
    aid: i64,
    bid: i64,
    tid: i64,
    delta: i64,
}

impl AccountProgram {
    /// The program of `variant` on tables of this scale.
    pub fn new(variant: TpcbVariant, name: &'static str, scale: u32) -> Self {
        let int = ParameterType::Int;
        let aid = if scale >= BIGINT_FROM_SCALE { ParameterType::BigInt } else { int };
        let mut statements = StatementIds::new();
        let mut add =
            |sql, types: &[ParameterType]| statements.add(sql).with_types(types.iter().copied());
        let shared = AccountRun {
            variant,
            accounts: Table::Accounts.rows(scale) as i64,
            branches: Table::Branches.rows(scale) as i64,
            tellers: Table::Tellers.rows(scale) as i64,
            begin: add(BEGIN, &[]),
            update_account: add(UPDATE_ACCOUNT, &[int, aid]),
            select_account: add(SELECT_ACCOUNT, &[aid]),
            update_teller: add(UPDATE_TELLER, &[int, int]),
            update_branch: add(UPDATE_BRANCH, &[int, int]),
            insert_history: add(INSERT_HISTORY, &[int, int, aid, int]),
            end: add(END, &[]),
        };
        AccountProgram {
            shared: Arc::new(shared),
            name: [name],
        }
    }
}

impl Program for AccountProgram {
    fn kinds(&self) -> &[&'static str] {
        &self.name
    }

    fn statement_table(&self) -> StatementTable {
        let run = &*self.shared;
        let mut table = StatementTable::new();
        for (name, statement) in [
            ("begin", &run.begin),
            ("update-account", &run.update_account),
            ("select-account", &run.select_account),
            ("update-teller", &run.update_teller),
            ("update-branch", &run.update_branch),
            ("insert-history", &run.insert_history),
            ("end", &run.end),
        ] {
            table.add(name, statement.sql(), statement);
        }
        table
    }

    fn only_reads(&self, _kind: usize) -> bool {
        self.shared.variant == TpcbVariant::SelectOnly
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        let random = Random::of_client(id.seed, id.client);
        Box::pin(async move {
            let Err(exit) = run(&shared, random, db).await;
            exit
        })
    }
}

/// Executes transactions until the run is over.
async fn run(
    shared: &AccountRun,
    mut random: Random,
    mut db: Db,
) -> Result<std::convert::Infallible, UserExit> {
    loop {
        db.start(0).await?;
        let input = shared.draw_input(&mut random);
        let result = match shared.variant {
            TpcbVariant::Tpcb | TpcbVariant::SimpleUpdate => write(shared, input, &mut db).await,
            TpcbVariant::SelectOnly => {
                let aid = Value::Int(input.aid);
                db.exec(&shared.select_account, &[aid]).await.map(drop)
            }
        };
        db.end(result.map(|()| Outcome::Committed)).await?;
    }
}

/// Executes one transaction that writes.
async fn write(shared: &AccountRun, input: TransactionInput, db: &mut Db) -> Result<(), DbError> {
    let [aid, bid, tid, delta] = input.values();
    db.exec(&shared.begin, &[]).await?;
    db.exec(&shared.update_account, &[delta, aid]).await?;
    db.exec(&shared.select_account, &[aid]).await?;
    if shared.variant == TpcbVariant::Tpcb {
        db.exec(&shared.update_teller, &[delta, tid]).await?;
        db.exec(&shared.update_branch, &[delta, bid]).await?;
    }
    db.exec(&shared.insert_history, &[tid, bid, aid, delta])
        .await?;
    db.exec(&shared.end, &[]).await?;
    Ok(())
}

impl AccountRun {
    /// Draws in pgbench's order; select-only draws only the account, and uses nothing else.
    fn draw_input(&self, random: &mut Random) -> TransactionInput {
        let aid = random.uniform(1, self.accounts);
        if self.variant == TpcbVariant::SelectOnly {
            return TransactionInput {
                aid,
                bid: 0,
                tid: 0,
                delta: 0,
            };
        }
        TransactionInput {
            aid,
            bid: random.uniform(1, self.branches),
            tid: random.uniform(1, self.tellers),
            delta: random.uniform(-DELTA_MAX, DELTA_MAX),
        }
    }
}

impl TransactionInput {
    fn values(self) -> [Value<'static>; 4] {
        [self.aid, self.bid, self.tid, self.delta].map(Value::Int)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Tables;
    use crate::tests::inferred_types::{assert_declared_as_inferred, new_database};
    use prony_document::SqlDialect;

    #[test]
    fn parameters_have_the_types_of_their_columns() {
        for scale in [1, BIGINT_FROM_SCALE - 1, BIGINT_FROM_SCALE] {
            let mut control = new_database(&format!("tpcb_types_{scale}"));
            for table in Table::ALL {
                control.execute(&table.create(scale)).expect("creates");
                if let Some(key) = table.key(SqlDialect::PostgreSql).first() {
                    let key = format!("alter table {} add primary key ({key})", table.name());
                    control.execute(&key).expect("adds the key");
                }
            }
            let program = AccountProgram::new(TpcbVariant::Tpcb, "tpcb", scale);
            let run = &program.shared;
            let statements = [
                &run.update_account,
                &run.select_account,
                &run.update_teller,
                &run.update_branch,
                &run.insert_history,
            ];
            assert_declared_as_inferred(&mut control, statements);
        }
    }
}

//! How a transaction is executed: by the call of a routine, or in steps, one or several per round trip.
//!
//! Must never treat a missing row as a value.

use super::statements::TransactionStep;
use crate::names::named_enum;
use prony_session::{Db, DbError, DbReply};
use prony_wire::{Statement, Value, WireRow};

named_enum! {
    /// How transactions are executed. Figures of different modes are not comparable.
    pub enum Mode {
        /// One call of a function or procedure on the server per transaction.
        Procedures = "procedures",
        /// One round trip per statement.
        Statements = "statements",
        /// Statements that do not need each other's results share a round trip: on PostgreSQL as a pipeline
        /// of prepared statements; on MySQL and MariaDB, which have no pipelines, as one multi-statement
        /// text.
        Pipelined = "pipelined",
    }
}

/// The statements that execute a transaction in the mode of the run.
#[derive(Debug)]
pub enum Execution {
    /// The call of a routine of the profile.
    Call(Statement),
    /// The call of a routine with HammerDB's signature.
    HammerdbCall(Statement),
    /// The steps, in the order of `statements.sql`.
    Steps(Box<[TransactionStep]>),
}

/// Receives the rows of a transaction's steps.
pub trait RowReader {
    /// Receives a row of the step that was executed with this label.
    fn read_row(&mut self, label: usize, row: WireRow<'_>);
}

/// Stores the integer in the first column of each row, by label.
impl<const N: usize> RowReader for [Option<i64>; N] {
    fn read_row(&mut self, label: usize, row: WireRow<'_>) {
        self[label] = row.int(0);
    }
}

/// Maximum number of results of one request: a delivery has six for each of ten districts.
const RESULTS_MAX: usize = 64;

/// The label of a result whose rows are discarded.
const DISCARDED: u8 = u8::MAX;

/// Executes the steps of one transaction: each immediately or, if pipelined, queued until
/// [`StepRunner::run_queued`] sends them in one request.
pub struct StepRunner<'a> {
    db: &'a mut Db,
    pipelined: bool,
    /// The labels of the queued statements.
    labels: [u8; RESULTS_MAX],
    queued_statements: usize,
}

impl<'a> StepRunner<'a> {
    pub fn new(db: &'a mut Db, pipelined: bool) -> Self {
        StepRunner {
            db,
            pipelined,
            labels: [DISCARDED; RESULTS_MAX],
            queued_statements: 0,
        }
    }

    /// Whether steps are queued until [`StepRunner::run_queued`].
    pub fn is_pipelined(&self) -> bool {
        self.pipelined
    }

    /// Executes a step whose rows are not needed.
    pub async fn run(
        &mut self,
        step: &TransactionStep,
        values: &[Value<'_>],
    ) -> Result<(), DbError> {
        if self.pipelined {
            self.queue(step, values, DISCARDED)
        } else {
            execute(self.db, step, values).await.map(drop)
        }
    }

    /// Executes a step. `reader` receives its rows now or, if pipelined, in the next
    /// [`StepRunner::run_queued`].
    pub async fn read(
        &mut self,
        step: &TransactionStep,
        values: &[Value<'_>],
        label: usize,
        reader: &mut impl RowReader,
    ) -> Result<(), DbError> {
        if self.pipelined {
            return self.queue(step, values, label as u8);
        }
        let rows = execute(self.db, step, values).await?;
        rows.iter().for_each(|(_, row)| reader.read_row(label, row));
        Ok(())
    }

    /// Executes the queued steps and then this one, in one request. Returns the reply, and the index of this
    /// step's result in it.
    pub async fn run_for_rows(
        &mut self,
        step: &TransactionStep,
        values: &[Value<'_>],
    ) -> Result<(DbReply<'_>, usize), DbError> {
        if !self.pipelined {
            return Ok((execute(self.db, step, values).await?, 0));
        }
        self.queue(step, values, DISCARDED)?;
        let last_result = std::mem::take(&mut self.queued_statements) - 1;
        Ok((self.db.sync().await?, last_result))
    }

    /// Executes the queued steps in one request, and passes their rows to `reader`.
    pub async fn run_queued(&mut self, reader: &mut impl RowReader) -> Result<(), DbError> {
        let statement_count = std::mem::take(&mut self.queued_statements);
        if statement_count == 0 {
            return Ok(());
        }
        for (result, row) in self.db.sync().await?.iter() {
            match self.labels[..statement_count].get(result) {
                Some(&label) if label != DISCARDED => reader.read_row(label.into(), row),
                _ => {}
            }
        }
        Ok(())
    }

    fn queue(
        &mut self,
        step: &TransactionStep,
        values: &[Value<'_>],
        label: u8,
    ) -> Result<(), DbError> {
        for statement in step {
            self.db
                .push(statement, &values[..statement.parameter_count()])?;
            self.labels[self.queued_statements] = DISCARDED;
            self.queued_statements += 1;
        }
        self.labels[self.queued_statements - 1] = label;
        Ok(())
    }
}

/// Executes the statements of a step one by one; returns the rows of the last.
async fn execute<'a>(
    db: &'a mut Db,
    step: &TransactionStep,
    values: &[Value<'_>],
) -> Result<DbReply<'a>, DbError> {
    for statement in step {
        db.exec(statement, &values[..statement.parameter_count()])
            .await?;
    }
    Ok(db.last_reply())
}

/// Calls a routine; returns the integer in the first column. If there is none, the error says that `subject`
/// is missing.
pub async fn call_for_int(
    db: &mut Db,
    call: &Statement,
    values: &[Value<'_>],
    subject: &str,
) -> Result<i64, DbError> {
    let rows = db.exec(call, values).await?;
    rows.int(0).ok_or_else(|| missing_row(subject))
}

/// Converts an integer to a parameter value.
pub fn int_value(number: impl Into<i64>) -> Value<'static> {
    Value::Int(number.into())
}

/// Converts an amount of money to a parameter value.
pub fn money_value(cents: i64) -> Value<'static> {
    Value::Decimal {
        unscaled: cents,
        scale: 2,
    }
}

/// The error for a required row that is missing: the data is incomplete. SQLSTATE `P0002`, no data found.
pub fn missing_row(subject: &str) -> DbError {
    DbError::workload(
        *b"P0002",
        format!("{subject} is missing: prony check tpcc reports what is wrong with the data"),
    )
}

//! How a transaction is carried out, and what its parts have in common, on every engine.
//!
//! In: an option, an engine, replies. Out: a [`Mode`], statements, values of replies. Must never:
//! take a missing row for a value.

use crate::oltp::engine::Engine;
use prony_session::{Db, DbError, Rows};
use prony_wire::{Row, Statement, Statements, Value};

/// How transactions are carried out. Their figures do not compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One call of a function, or of a procedure, on the server a transaction.
    Procedures,
    /// A round trip for each statement.
    Statements,
    /// Statements that do not need each other's results share a round trip: on PostgreSQL as a
    /// pipeline of prepared ones, on MySQL and MariaDB, which have none, as one text.
    Pipelined,
}

impl Mode {
    /// All, the default first.
    pub const ALL: [Mode; 3] = [Mode::Procedures, Mode::Statements, Mode::Pipelined];

    /// As the option takes it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Procedures => "procedures",
            Mode::Statements => "statements",
            Mode::Pipelined => "pipelined",
        }
    }
}

/// What a transaction is made of in its mode.
#[derive(Debug)]
pub enum Way<S> {
    /// The call of its function.
    Call(Statement),
    /// Its statements, one by one.
    Each(S),
    /// Its statements, several at a time.
    Pipelined(S),
}

impl<S> Way<S> {
    /// Its statements in this mode.
    pub fn new(mode: Mode, set: &mut Set, call: &str, each: impl FnOnce(&mut Set) -> S) -> Self {
        match mode {
            Mode::Procedures => Way::Call(set.add(call)),
            Mode::Statements => Way::Each(each(set)),
            Mode::Pipelined => Way::Pipelined(each(set)),
        }
    }
}

impl<S> Way<S> {
    /// Its call changes data, which its first word (`SELECT`) does not tell.
    #[must_use]
    pub fn writing(self) -> Self {
        match self {
            Way::Call(call) => Way::Call(call.writing()),
            each => each,
        }
    }
}

/// The statements of all transactions, numbered, and their texts, for one engine.
#[derive(Debug)]
pub struct Set {
    /// For which.
    pub engine: Engine,
    mode: Mode,
    statements: Statements,
    /// In order, as the server gets them.
    pub texts: Vec<String>,
}

impl Set {
    /// An empty one.
    pub fn new(engine: Engine, mode: Mode) -> Self {
        Set {
            engine,
            mode,
            statements: Statements::new(),
            texts: Vec::new(),
        }
    }

    /// Adds a statement that both engines understand.
    pub fn add(&mut self, sql: &str) -> Statement {
        self.texts.push(self.engine.shown(sql.to_owned()));
        let statement = self.statements.add(sql);
        match self.mode {
            Mode::Pipelined => statement.joined(),
            Mode::Procedures | Mode::Statements => statement,
        }
    }

    /// Adds an `UPDATE` of one row that gives values of the changed row. Only PostgreSQL does so in
    /// one statement; the others read the row again, which is the transaction's own by then.
    /// `key` comes first among the placeholders.
    pub fn change(&mut self, table: &str, set: &str, key: &str, columns: &str) -> Change {
        let update = format!("UPDATE {table} SET {set} WHERE {key}");
        match self.engine {
            Engine::Postgres => Change {
                update: self.add(&format!("{update} RETURNING {columns}")),
                read: None,
            },
            Engine::MySql => Change {
                update: self.add(&update),
                read: Some(self.add(&format!("SELECT {columns} FROM {table} WHERE {key}"))),
            },
        }
    }
}

/// A changed row, and values of it.
#[derive(Debug)]
pub struct Change {
    update: Statement,
    /// Where the update does not give them.
    read: Option<Statement>,
}

impl Change {
    /// Changes and reads.
    pub async fn run<'a>(&self, db: &'a mut Db, values: &[Value<'_>]) -> Result<Rows<'a>, DbError> {
        let Some(read) = &self.read else {
            return db.exec(&self.update, values).await;
        };
        db.exec(&self.update, values).await?;
        db.exec(read, &values[..read.parameters()]).await
    }

    /// Adds both to the next request.
    pub fn push(&self, db: &mut Db, values: &[Value<'_>]) -> Result<(), DbError> {
        db.push(&self.update, values)?;
        match &self.read {
            Some(read) => db.push(read, &values[..read.parameters()]),
            None => Ok(()),
        }
    }

    /// Results that it adds to a request; the row is the last one's.
    pub fn results(&self) -> usize {
        match self.read {
            Some(_) => 2,
            None => 1,
        }
    }
}

/// SQLSTATE with which a function tells that it met an unused item: its transaction is rolled back
/// as intended. No class of PostgreSQL's begins like this.
pub const UNUSED_CODE: [u8; 5] = *b"PRN01";

/// The statement that calls a function or a procedure with so many arguments; `one`: it gives a
/// single value.
pub fn call(engine: Engine, name: &str, arguments: usize, one: bool) -> String {
    let places: Vec<String> = (1..=arguments).map(|n| format!("${n}")).collect();
    let places = places.join(", ");
    match (engine, one) {
        (Engine::MySql, _) => format!("CALL {name}({places})"),
        // A single value needs no table.
        (Engine::Postgres, true) => format!("SELECT {name}({places})"),
        (Engine::Postgres, false) => format!("SELECT * FROM {name}({places})"),
    }
}

/// Opens a block.
pub const BEGIN: &str = "BEGIN";
/// Commits it.
pub const COMMIT: &str = "COMMIT";
/// Gives it up.
pub const ROLLBACK: &str = "ROLLBACK";

/// A whole number as a value.
pub fn int(number: impl Into<i64>) -> Value<'static> {
    Value::Int(number.into())
}

/// A row that must be there is not: the data is not whole. SQLSTATE `P0002`, no data found.
pub fn missing(what: &str) -> DbError {
    DbError::server(
        *b"P0002",
        format!("{what} is not there: prony check tpcc says what is wrong with the data"),
    )
}

/// A whole number of the first row; `what` is said where there is none.
pub fn int_of(rows: &Rows<'_>, column: usize, what: &str) -> Result<i64, DbError> {
    rows.int(column).ok_or_else(|| missing(what))
}

/// A decimal number of a row, in units of its `places`-th decimal; `what` is said where there is
/// none.
pub fn decimal_of(
    row: Option<Row<'_>>,
    column: usize,
    places: u32,
    what: &str,
) -> Result<i64, DbError> {
    row.and_then(|row| row.text(column))
        .and_then(|text| super::texts::decimal(text, places))
        .ok_or_else(|| missing(what))
}

/// The place, from 0, of the customer that is taken among those of one name, who are ordered by
/// their first names: the middle one, rounded up [2.5.2.2].
pub fn middle(count: usize) -> Option<usize> {
    count.checked_sub(1).map(|last| last / 2)
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn the_middle_is_rounded_up() {
        // n/2 rounded up, counted from 1: the 1st of 1 and 2, the 2nd of 3 and 4, the 3rd of 5.
        for (count, place) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3)] {
            assert_eq!(middle(count), Some(place - 1), "of {count}");
            assert_eq!(place, count.div_ceil(2));
        }
        assert_eq!(middle(0), None);
    }
}

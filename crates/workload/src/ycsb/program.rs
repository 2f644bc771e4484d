//! The program of one virtual user.
//!
//! Executes operations on the loaded records, each as a transaction. Must never allocate for an operation,
//! or insert a record that a different client of the run inserts.

use super::counts::YcsbCounts;
use super::engine;
use super::keys::{self, Key};
use super::layout::Layout;
use super::mix::Operation;
use super::options::{FIELDS_MAX, YcsbOptions};
use super::requests::Requests;
use super::rows::push_characters;
use crate::random::Random;
use crate::user_counts::{SharedCounts, UserCounts};
use prony_document::{ObservedShare, SqlDialect};
use prony_session::{Db, DbError, Outcome, Program, StatementTable, User, UserExit, UserId};
use prony_wire::{ParameterType, Statement, StatementIds, Value};
use std::convert::Infallible;
use std::slice::from_ref;
use std::sync::Arc;

/// Maximum number of values of a statement: a key and all fields.
const VALUES_MAX: usize = FIELDS_MAX as usize + 1;

pub struct YcsbProgram {
    shared: Arc<YcsbRun>,
    /// The names of the operations, in the order of the workload's shares.
    kinds: Vec<&'static str>,
}

/// State shared by all users of a run; read-only except for the counts, which users add when they end.
struct YcsbRun {
    options: YcsbOptions,
    layout: Layout,
    dialect: SqlDialect,
    /// One statement for all fields, or one per field.
    read: Vec<Statement>,
    /// One statement for all fields, or one per field.
    update: Vec<Statement>,
    /// One statement for all fields, or one per field.
    scan: Vec<Statement>,
    insert: Statement,
    exists: Statement,
    counts: SharedCounts<YcsbCounts>,
}

/// Generators and buffers of one user; all are allocated before its first operation.
struct UserState {
    random: Random,
    requests: Requests,
    /// New values of fields, concatenated.
    fields: Vec<u8>,
    /// Whether the last insert failed but may have stored its record.
    insert_unconfirmed: bool,
}

impl UserState {
    /// Draws the key of an existing record.
    fn next_key(&mut self) -> Key {
        Key::of(self.requests.next(&mut self.random))
    }
}

/// The statements of an operation: one for all fields (`None`), or one for each field.
fn statements_by_field(
    all_fields: bool,
    fields: u32,
    mut add: impl FnMut(Option<u32>) -> Statement,
) -> Vec<Statement> {
    if all_fields {
        vec![add(None)]
    } else {
        (0..fields).map(|field| add(Some(field))).collect()
    }
}

/// The statements of a run's operations, in order; the first of each group that differs only in the field.
pub fn statements(options: &YcsbOptions, fields: u32, dialect: SqlDialect) -> Vec<String> {
    let first_read = (!options.readallfields).then_some(0);
    let first_written = (!options.writeallfields).then_some(0);
    let texts = options.mix().shares.iter().flat_map(|(operation, _)| {
        let read = || engine::read_statement(first_read);
        let update = || engine::update_statement(first_written, fields);
        match operation {
            Operation::Read => vec![read()],
            Operation::Update => vec![update()],
            Operation::Insert => vec![engine::insert_statement(fields)],
            Operation::Scan => vec![engine::scan_statement(dialect, first_read)],
            Operation::ReadModifyWrite => vec![read(), update()],
        }
    });
    texts
        .map(|text| dialect.with_native_placeholders(text))
        .collect()
}

impl YcsbProgram {
    pub fn new(options: YcsbOptions, layout: Layout, dialect: SqlDialect) -> Self {
        let mut statements = StatementIds::new();
        let fields = layout.field_count;
        let key = engine::searched_key_type(dialect);
        let mut add = |text: &str, types: &[ParameterType]| {
            statements.add(text).with_types(types.iter().copied())
        };
        let read = statements_by_field(options.readallfields, fields, |field| {
            add(&engine::read_statement(field), &[key])
        });
        let update = statements_by_field(options.writeallfields, fields, |field| {
            let written_fields = if field.is_some() { 1 } else { fields };
            let mut types = vec![engine::field_type(dialect); written_fields as usize];
            types.push(key);
            add(&engine::update_statement(field, fields), &types)
        });
        let scan = statements_by_field(options.readallfields, fields, |field| {
            let types = [key, ParameterType::BigInt];
            add(&engine::scan_statement(dialect, field), &types)
        });
        let mut insert_types = vec![engine::field_type(dialect); fields as usize + 1];
        insert_types[0] = engine::INSERTED_KEY_TYPE;
        let shared = YcsbRun {
            read,
            update,
            scan,
            insert: add(&engine::insert_statement(fields), &insert_types),
            exists: add(engine::EXISTS, &[key]),
            options,
            layout,
            dialect,
            counts: SharedCounts::default(),
        };
        let shares = options.mix().shares.iter();
        YcsbProgram {
            kinds: shares.map(|(operation, _)| operation.name()).collect(),
            shared: Arc::new(shared),
        }
    }
}

impl Program for YcsbProgram {
    fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    fn statements(&self) -> Vec<String> {
        let YcsbRun {
            options,
            layout,
            dialect,
            ..
        } = &*self.shared;
        statements(options, layout.field_count, *dialect)
    }

    /// Statements that differ only in the field share a name.
    fn statement_table(&self) -> StatementTable {
        let run = &*self.shared;
        let mut table = StatementTable::new();
        for (name, statements) in [
            ("read", &run.read[..]),
            ("update", &run.update),
            ("scan", &run.scan),
            ("insert", from_ref(&run.insert)),
            ("exists", from_ref(&run.exists)),
        ] {
            for statement in statements {
                let text = statement.sql().to_owned();
                table.add(name, run.dialect.with_native_placeholders(text), statement);
            }
        }
        table
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let YcsbRun {
            options, layout, ..
        } = &*self.shared;
        let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
        let mut settings = vec![
            ("workload", options.mix().letter.to_owned()),
            (
                "requestdistribution",
                options.distribution().name().to_owned(),
            ),
            ("fieldcount", layout.field_count.to_string()),
            ("fieldlength", layout.field_length.to_string()),
        ];
        let has = |operation| options.mix().has(operation);
        if has(Operation::Scan) {
            settings.push(("maxscanlength", options.maxscanlength.to_string()));
        }
        settings.push(("readallfields", switch(options.readallfields)));
        if has(Operation::Update) || has(Operation::ReadModifyWrite) {
            settings.push(("writeallfields", switch(options.writeallfields)));
        }
        settings
    }

    fn action_shares(&self) -> Vec<ObservedShare> {
        self.shared.counts.get().shares(self.shared.options.mix())
    }

    fn only_reads(&self, kind: usize) -> bool {
        let (operation, _) = self.shared.options.mix().shares[kind];
        matches!(operation, Operation::Read | Operation::Scan)
    }

    fn has_prologue(&self) -> bool {
        self.shared.has_inserts()
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let Err(exit) = shared.run(id, db).await;
            exit
        })
    }
}

impl YcsbRun {
    fn has_inserts(&self) -> bool {
        self.options.mix().has(Operation::Insert)
    }

    /// Executes operations until the run is over.
    async fn run(&self, id: UserId, mut db: Db) -> Result<Infallible, UserExit> {
        let Layout {
            records,
            field_count,
            field_length,
            ..
        } = self.layout;
        let mut user = UserState {
            random: Random::of_client(id.seed, id.client),
            requests: Requests::new(self.options.distribution(), records, id.client),
            fields: Vec::with_capacity((field_count * field_length) as usize),
            insert_unconfirmed: false,
        };
        if self.has_inserts() {
            let counted = self.existing_records(user.requests.series(), &mut db).await;
            let existing = counted.map_err(|error| UserExit::Failed(error.to_string()))?;
            user.requests.set_inserted_count(existing);
            db.wait_for_common_start().await;
        }
        let mut counts = UserCounts::new(&self.counts);
        loop {
            let kind = self.options.mix().next(&mut user.random);
            // There are at most as many kinds as operations.
            db.start(kind as u16).await?;
            let (operation, _) = self.options.mix().shares[kind];
            let result = self
                .execute_operation(operation, &mut user, &mut db, &mut counts.sums)
                .await;
            if result.is_ok() {
                counts.sums.completed[operation as usize] += 1;
            }
            db.end(result.map(|()| Outcome::Committed)).await?;
        }
    }

    /// Counts the records in a series: finds the first missing record by exponential and binary search.
    async fn existing_records(&self, series: u32, db: &mut Db) -> Result<u64, DbError> {
        if !db.is_up() {
            db.open_connection().await?;
        }
        let (mut existing, mut step) = (0, 1);
        // At least `existing` records exist. The step doubles until a record is missing.
        while self.record_exists(series, existing + step - 1, db).await? {
            existing += step;
            step *= 2;
        }
        // Fewer than `step` more records may exist after `existing`.
        while step > 1 {
            step /= 2;
            if self.record_exists(series, existing + step - 1, db).await? {
                existing += step;
            }
        }
        Ok(existing)
    }

    async fn record_exists(&self, series: u32, ordinal: u64, db: &mut Db) -> Result<bool, DbError> {
        let key = Key::of(keys::inserted_number(self.layout.records, series, ordinal));
        let rows = db.exec(&self.exists, &[Value::Bytes(key.bytes())]).await?;
        Ok(rows.first().is_some())
    }

    async fn execute_operation(
        &self,
        operation: Operation,
        user: &mut UserState,
        db: &mut Db,
        counts: &mut YcsbCounts,
    ) -> Result<(), DbError> {
        match operation {
            Operation::Read => self.read(&user.next_key(), user, db, counts).await,
            Operation::Update => self.update(&user.next_key(), user, db).await,
            Operation::Insert => self.insert(user, db).await,
            Operation::Scan => self.scan(&user.next_key(), user, db, counts).await,
            Operation::ReadModifyWrite => {
                let key = user.next_key();
                self.read(&key, user, db, counts).await?;
                self.update(&key, user, db).await
            }
        }
    }

    async fn read(
        &self,
        key: &Key,
        user: &mut UserState,
        db: &mut Db,
        counts: &mut YcsbCounts,
    ) -> Result<(), DbError> {
        let read = pick_statement(&self.read, &mut user.random);
        let rows = db.exec(read, &[Value::Bytes(key.bytes())]).await?;
        counts.lookups += 1;
        counts.hits += u64::from(rows.first().is_some());
        Ok(())
    }

    async fn scan(
        &self,
        key: &Key,
        user: &mut UserState,
        db: &mut Db,
        counts: &mut YcsbCounts,
    ) -> Result<(), DbError> {
        let scan = pick_statement(&self.scan, &mut user.random);
        let longest_scan = i64::from(self.options.maxscanlength);
        let records = user.random.uniform(1, longest_scan);
        let values = [Value::Bytes(key.bytes()), Value::Int(records)];
        let rows = db.exec(scan, &values).await?;
        counts.lookups += 1;
        counts.hits += u64::from(rows.first().is_some());
        Ok(())
    }

    async fn update(&self, key: &Key, user: &mut UserState, db: &mut Db) -> Result<(), DbError> {
        let update = pick_statement(&self.update, &mut user.random);
        let fields = update.parameter_count() - 1;
        let mut values = [Value::Null; VALUES_MAX];
        self.draw_fields(fields, user);
        self.split_into_fields(&user.fields, &mut values[..fields]);
        values[fields] = Value::Bytes(key.bytes());
        db.exec(update, &values[..=fields]).await?;
        Ok(())
    }

    /// Inserts this client's next record; continues in a different series if another run inserts in this one.
    async fn insert(&self, user: &mut UserState, db: &mut Db) -> Result<(), DbError> {
        self.draw_fields(self.layout.field_count as usize, user);
        loop {
            let result = self.try_insert(user, db).await;
            let is_duplicate = match &result {
                Ok(()) => false,
                Err(error) => engine::is_duplicate(self.dialect, error),
            };
            let was_unconfirmed = user.insert_unconfirmed;
            // After errors other than a duplicate, the next insert uses the same number, so that no gap
            // remains.
            user.insert_unconfirmed = result.is_err() && !is_duplicate;
            if result.is_ok() || (is_duplicate && was_unconfirmed) {
                // The duplicate is the record of the previous insert, whose reply was lost.
                user.requests
                    .set_inserted_count(user.requests.inserted_count() + 1);
                return result;
            }
            if !is_duplicate {
                return result;
            }
            let Some(series) = keys::next_series(user.requests.series()) else {
                return result;
            };
            let existing = self.existing_records(series, db).await?;
            user.requests.set_series(series, existing);
        }
    }

    /// Inserts a record with the next number of the client's series and the drawn fields.
    async fn try_insert(&self, user: &UserState, db: &mut Db) -> Result<(), DbError> {
        let key = Key::of(user.requests.next_insert());
        let fields = self.layout.field_count as usize;
        let mut values = [Value::Null; VALUES_MAX];
        values[0] = Value::Bytes(key.bytes());
        self.split_into_fields(&user.fields, &mut values[1..=fields]);
        db.exec(&self.insert, &values[..=fields]).await.map(drop)
    }

    /// Draws new values for this many fields.
    fn draw_fields(&self, fields: usize, user: &mut UserState) {
        user.fields.clear();
        let length = fields * self.layout.field_length as usize;
        push_characters(&mut user.random, length, &mut user.fields);
    }

    /// Splits the drawn bytes into fields.
    fn split_into_fields<'a>(&self, bytes: &'a [u8], values: &mut [Value<'a>]) {
        let fields = bytes.chunks(self.layout.field_length as usize);
        for (value, field) in values.iter_mut().zip(fields) {
            *value = Value::Bytes(field);
        }
    }
}

/// Picks a statement, all with equal probability. Draws no random number if there is only one.
fn pick_statement<'a>(statements: &'a [Statement], random: &mut Random) -> &'a Statement {
    let last = statements.len() as i64 - 1;
    &statements[random.uniform(0, last) as usize]
}

#[cfg(test)]
mod tests;

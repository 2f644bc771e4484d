//! The program of the OLTP workloads, which every virtual user executes.
//!
//! Executes the events of a plan on the loaded tables. Must never count a failure as a success, or
//! allocate for an event.

use super::Oltp;
use super::bulk;
use super::event::{EventPart, StatementKind};
use super::options::{self, OltpOptions};
use super::policy::{ErrorAction, OltpPolicy};
use super::queries::{OltpCounts, QueryCounts, QueryKind, write_kind};
use super::rows::{C_GROUPS, set_groups};
use super::statements::{self, COMMIT};
use super::table_check::{RunTables, check_tables};
use super::user::{CurrentStatement, OltpUser};
use crate::random::Random;
use crate::user_counts::{SharedCounts, UserCounts};
use crate::{Result, sql};
use prony_document::{ObservedShare, SqlDialect};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use prony_session::{Db, DbError, Outcome, Program, StatementTable, User, UserExit, UserId};
use prony_wire::{Statement, StatementIds, Value};
use std::convert::Infallible;
use std::sync::Arc;

/// Maximum number of rows of `bulk_insert` that a user adds before it yields to other users.
const CONSECUTIVE_ROWS_MAX: u32 = 256;

pub struct OltpProgram {
    shared: Arc<SharedState>,
    name: [&'static str; 1],
}

/// State shared by all users of a run; read-only except for the counts, which users add when they end.
pub(super) struct SharedState {
    pub(super) workload: Oltp,
    pub(super) options: OltpOptions,
    pub(super) dialect: SqlDialect,
    table_count: u32,
    pub(super) table_size: u32,
    /// The parts of an event, with the number of repetitions of each.
    parts: Vec<(EventPart, u32)>,
    /// `BEGIN` and `COMMIT`, if an event is a transaction block.
    block: Option<[Statement; 2]>,
    /// Statements by kind, then by table; empty for kinds that no event executes.
    statements: [Vec<Statement>; StatementKind::ALL.len()],
    /// The highest id in each table of `bulk_insert`; empty for the other workloads.
    pub(super) highest_ids: Vec<u64>,
    pub(super) policy: OltpPolicy,
    counts: SharedCounts<OltpCounts>,
}

/// The statements of an event on the first table, in order.
pub fn statements(workload: &Oltp, options: &OltpOptions, dialect: SqlDialect) -> Vec<String> {
    let mut texts = Vec::new();
    if workload.is_bulk() {
        texts.push(format!("{}(1,1),(2,2),...", bulk::insert_prefix(1)));
    }
    for (part, _) in workload.event.parts(options) {
        match part {
            EventPart::Statement(kind) => {
                texts.push(statements::event_statement(dialect, kind, 1, options))
            }
            EventPart::DeleteInserts => {
                texts.extend(
                    [StatementKind::Delete, StatementKind::Insert]
                        .map(|kind| statements::event_statement(dialect, kind, 1, options)),
                );
            }
            EventPart::TextInsert => {
                let has_id = !options.auto_inc || statements::insert_includes_id(dialect);
                let sql = statements::event_statement(dialect, StatementKind::Insert, 1, options);
                texts.push(if has_id {
                    sql
                } else {
                    sql.replace("(id, ", "(").replace(", $4", "")
                });
            }
        }
    }
    if workload.event.in_block(options) {
        texts.insert(0, statements::begin_block(dialect).to_owned());
        texts.push(COMMIT.to_owned());
    }
    texts
        .into_iter()
        .map(|text| dialect.with_native_placeholders(text))
        .collect()
}

impl OltpProgram {
    /// The program for the loaded data.
    ///
    /// # Errors
    /// The options are wrong; the data is missing, half-loaded or smaller than requested.
    pub fn for_loaded_tables(
        control: &mut Control,
        plan: &WorkloadPlan,
        workload: &Oltp,
    ) -> Result<Self> {
        let options = options::read(plan, workload)?;
        let run_tables = check_tables(control, workload, &options)?;
        Self::for_tables(control, workload, options, run_tables)
    }

    /// Creates a program that takes the number and size of the tables from the plan and does not check them:
    /// statements on missing rows match nothing.
    pub fn for_unchecked_tables(
        control: &mut Control,
        plan: &WorkloadPlan,
        workload: &Oltp,
    ) -> Result<Self> {
        let options = options::read(plan, workload)?;
        let run_tables = RunTables {
            table_count: options.tables.unwrap_or(1),
            table_size: options.table_size.unwrap_or(workload.default_table_size),
        };
        Self::for_tables(control, workload, options, run_tables)
    }

    fn for_tables(
        control: &mut Control,
        workload: &Oltp,
        options: OltpOptions,
        run_tables: RunTables,
    ) -> Result<Self> {
        let mut highest_ids = Vec::new();
        if workload.is_bulk() {
            for number in 1..=run_tables.table_count {
                let text = format!("select max(id) from {}", statements::table_name(number));
                let row = sql::query_row(control, "reading the highest ids", &text);
                highest_ids.push(match row {
                    // A table that is missing has no rows: its first insert fails.
                    Err(error) if error.is_refusal() => 0,
                    row => row?.count(0),
                });
            }
        }
        let dialect = control.dialect();
        Ok(OltpProgram::new(
            *workload,
            options,
            dialect,
            run_tables,
            highest_ids,
        ))
    }

    /// The program for these tables; `highest_ids` holds the highest id in each table of `bulk_insert`, and is
    /// empty for the other workloads.
    pub(super) fn new(
        workload: Oltp,
        options: OltpOptions,
        dialect: SqlDialect,
        run_tables: RunTables,
        highest_ids: Vec<u64>,
    ) -> Self {
        let RunTables {
            table_count,
            table_size,
        } = run_tables;
        let mut statement_ids = StatementIds::new();
        let in_block = workload.event.in_block(&options);
        let block = in_block
            .then(|| [statements::begin_block(dialect), COMMIT].map(|sql| statement_ids.add(sql)));
        let mut statements: [Vec<Statement>; StatementKind::ALL.len()] = Default::default();
        for kind in workload.event.statement_kinds(&options) {
            let types = statements::parameter_types(dialect, kind, &options);
            let statement = |number| {
                let statement = statement_ids.add(&statements::event_statement(
                    dialect, kind, number, &options,
                ));
                match &types {
                    Some(types) => statement.with_types(types.iter().copied()),
                    None => statement,
                }
            };
            statements[kind as usize] = (1..=table_count).map(statement).collect();
        }
        let shared = SharedState {
            parts: workload.event.parts(&options),
            workload,
            options,
            dialect,
            table_count,
            table_size,
            block,
            statements,
            highest_ids,
            policy: OltpPolicy::default(),
            counts: SharedCounts::default(),
        };
        OltpProgram {
            name: [shared.workload.name],
            shared: Arc::new(shared),
        }
    }

    /// Replaces the error policy.
    ///
    /// # Panics
    /// If the program already has users.
    pub fn with_policy(mut self, policy: OltpPolicy) -> Self {
        let shared = Arc::get_mut(&mut self.shared).expect("the program has no users yet");
        shared.policy = policy;
        self
    }

    /// Number of tables that it uses.
    pub fn table_count(&self) -> u32 {
        self.shared.table_count
    }

    pub fn counts(&self) -> OltpCounts {
        self.shared.counts.get()
    }
}

impl Program for OltpProgram {
    fn kinds(&self) -> &[&'static str] {
        &self.name
    }

    fn statements(&self) -> Vec<String> {
        let SharedState {
            workload,
            options,
            dialect,
            ..
        } = &*self.shared;
        statements(workload, options, *dialect)
    }

    fn statement_table(&self) -> StatementTable {
        let run = &*self.shared;
        let mut table = StatementTable::new();
        let mut add = |name: &str, statement: &Statement| {
            let text = statement.sql().to_owned();
            table.add(name, run.dialect.with_native_placeholders(text), statement);
        };
        if let Some([begin, _]) = &run.block {
            add("begin", begin);
        }
        for (kind, statements) in StatementKind::ALL.iter().zip(&run.statements) {
            for statement in statements {
                add(kind.name(), statement);
            }
        }
        if let Some([_, commit]) = &run.block {
            add("commit", commit);
        }
        table
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let SharedState {
            workload,
            options,
            table_count,
            table_size,
            ..
        } = &*self.shared;
        options.settings(workload, *table_count, *table_size)
    }

    fn only_reads(&self, _kind: usize) -> bool {
        let SharedState {
            workload, options, ..
        } = &*self.shared;
        !workload.is_bulk() && workload.event.queries(options).writes == 0
    }

    fn action_shares(&self) -> Vec<ObservedShare> {
        let SharedState {
            workload, options, ..
        } = &*self.shared;
        let expected = workload.event.queries(options);
        self.counts()
            .shares(&expected, !workload.event.consumes_rows())
    }

    fn create_user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let Err(exit) = shared.run(id, db).await;
            exit
        })
    }
}

impl SharedState {
    /// Executes events until the run is over.
    async fn run(&self, id: UserId, mut db: Db) -> Result<Infallible, UserExit> {
        let mut user = OltpUser::new(id, self);
        let mut user_counts = UserCounts::new(&self.counts);
        if self.policy.counts_rows_as_events && user.packet.is_some() {
            db.allow_consecutive_starts(CONSECUTIVE_ROWS_MAX);
        }
        loop {
            if let Err(exit) = db.start(0).await {
                self.send_last_rows(&mut user, &mut db).await;
                return Err(exit);
            }
            let result = loop {
                let mut queries = QueryCounts::default();
                match self.execute_event(&mut user, &mut db, &mut queries).await {
                    Ok(()) => {
                        user_counts.sums.completed.add(&queries);
                        break Ok(Outcome::Committed);
                    }
                    Err(error) => {
                        user_counts.sums.failed_tries.add(&queries);
                        match self.error_action(&user, &db, id, &error) {
                            ErrorAction::Retry => {}
                            ErrorAction::Fail => break Err(error),
                            ErrorAction::EndUser(reason) => return Err(UserExit::Failed(reason)),
                        }
                        user_counts.sums.ignored_errors += 1;
                        db.count_ignored_error();
                        if db.is_load_over() {
                            break Err(error);
                        }
                        let was_lost = !db.is_up();
                        if let Err(exit) = db.retry().await {
                            if let UserExit::Stopped = exit {
                                // The run ended while the connection was lost: this was the last try.
                                let _ = db.end(Err(error)).await;
                            }
                            return Err(exit);
                        }
                        if was_lost {
                            db.count_reconnect();
                        }
                    }
                }
            };
            db.end(result).await?;
        }
    }

    /// Executes one try of an event; counts its queries in `queries`.
    async fn execute_event(
        &self,
        user: &mut OltpUser,
        db: &mut Db,
        queries: &mut QueryCounts,
    ) -> Result<(), DbError> {
        if let Some(packet) = &mut user.packet {
            user.current = CurrentStatement::Packet;
            if self.policy.counts_rows_as_events {
                if packet.push_row() {
                    return Ok(());
                }
                // The packet is full: send it, and begin the next one with this row.
                let inserted = db.write(packet.text()).await?.affected_rows();
                count_query(db, queries, write_kind(inserted));
                packet.clear();
                packet.push_row();
                return Ok(());
            }
            let inserted = db.write(packet.fill()).await?.affected_rows();
            count_query(db, queries, write_kind(inserted));
            return Ok(());
        }
        if let Some([begin, _]) = &self.block {
            user.current = CurrentStatement::Begin;
            db.exec(begin, &[]).await?;
            count_query(db, queries, QueryKind::Other);
        }
        for (part, repetitions) in &self.parts {
            // All statements of a part use the same table.
            let table = self.choose_table(&mut user.random);
            for _ in 0..*repetitions {
                self.execute_part(*part, table, user, db, queries).await?;
            }
        }
        if let Some([_, commit]) = &self.block {
            user.current = CurrentStatement::Commit;
            db.exec(commit, &[]).await?;
            count_query(db, queries, QueryKind::Other);
        }
        Ok(())
    }

    /// Chooses a table; returns its index.
    fn choose_table(&self, random: &mut Random) -> usize {
        if self.workload.uses_one_table() {
            return 0;
        }
        random.uniform(0, i64::from(self.table_count) - 1) as usize
    }

    async fn execute_part(
        &self,
        part: EventPart,
        table: usize,
        user: &mut OltpUser,
        db: &mut Db,
        queries: &mut QueryCounts,
    ) -> Result<(), DbError> {
        match part {
            EventPart::Statement(kind) => {
                self.execute_statement(kind, table, user, db, queries).await
            }
            EventPart::DeleteInserts => {
                let id = user.row_id.sample(&mut user.random);
                user.current = CurrentStatement::Kind(StatementKind::Delete, table);
                let delete = &self.statements[StatementKind::Delete as usize][table];
                let deleted = db.exec(delete, &[Value::Int(id)]).await?.affected_rows();
                count_query(db, queries, write_kind(deleted));
                let k = user.row_id.sample(&mut user.random);
                user.generate_texts();
                user.current = CurrentStatement::Kind(StatementKind::Insert, table);
                let insert = &self.statements[StatementKind::Insert as usize][table];
                let (c, pad) = (Value::Text(&user.c), Value::Text(&user.pad));
                let values = [Value::Int(id), Value::Int(k), c, pad];
                let inserted = db.exec(insert, &values).await?.affected_rows();
                count_query(db, queries, write_kind(inserted));
                Ok(())
            }
            EventPart::TextInsert => {
                self.write_insert(table as u32 + 1, user);
                user.current = CurrentStatement::Text;
                let inserted = db.write(&user.text).await?.affected_rows();
                count_query(db, queries, write_kind(inserted));
                Ok(())
            }
        }
    }

    async fn execute_statement(
        &self,
        kind: StatementKind,
        table: usize,
        user: &mut OltpUser,
        db: &mut Db,
        queries: &mut QueryCounts,
    ) -> Result<(), DbError> {
        let statement = &self.statements[kind as usize][table];
        user.current = CurrentStatement::Kind(kind, table);
        let first_id = user.row_id.sample(&mut user.random);
        let id = Value::Int(first_id);
        let rows = match kind {
            StatementKind::PointSelect | StatementKind::IndexUpdate | StatementKind::Delete => {
                db.exec(statement, &[id]).await?
            }
            StatementKind::SimpleRange
            | StatementKind::SumRange
            | StatementKind::OrderRange
            | StatementKind::DistinctRange => {
                let last_id = first_id + i64::from(self.options.range_size) - 1;
                db.exec(statement, &[id, Value::Int(last_id)]).await?
            }
            StatementKind::NonIndexUpdate => {
                set_groups(&mut user.random, C_GROUPS, &mut user.c);
                let values = [Value::Text(&user.c), id];
                db.exec(statement, &values).await?
            }
            StatementKind::RandomPoints => {
                user.draw_values(self.options.random_points, None);
                db.exec(statement, &user.values).await?
            }
            StatementKind::RandomRanges => {
                user.draw_values(self.options.number_of_ranges, Some(self.options.delta));
                db.exec(statement, &user.values).await?
            }
            StatementKind::HotUpdate => {
                let row = Value::Int(i64::from(self.options.row));
                db.exec(statement, &[row]).await?
            }
            // `execute_part` sends inserts, which need more values.
            StatementKind::Insert => return Ok(()),
        };
        let query = if kind.is_read() { QueryKind::Read } else { write_kind(rows.affected_rows()) };
        drop(rows);
        count_query(db, queries, query);
        Ok(())
    }
}

/// Counts a query for its event, and for the interval in which it ends.
#[inline]
fn count_query(db: &Db, queries: &mut QueryCounts, query: QueryKind) {
    queries.count(query);
    db.count_query(query);
}

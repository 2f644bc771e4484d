//! The program of one virtual user.
//!
//! In: a plan, tables. Out: events. Must never: take a failure for a success, or allocate for an
//! event.

use super::Oltp;
use super::bulk;
use super::engine::{self, BEGIN, COMMIT, Engine};
use super::event::{Part, Sql};
use super::manner::{Manner, Verdict};
use super::options::{self, Asked};
use super::player::{Doing, Player};
use super::queries::{Counted, Kept, Queries, Query, changed};
use super::ready::{Ready, ready};
use super::rows::{C_GROUPS, set_groups};
use crate::random::Random;
use crate::{Error, sql};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use prony_session::{Db, DbError, Ended, Outcome, Program, Share, User, UserId};
use prony_wire::{Statement, Statements, Value};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of `bulk_insert` that a user notes before the others have their turn.
const ROWS_IN_A_ROW: u32 = 256;

/// The program of a run.
pub struct OltpProgram {
    shared: Arc<Shared>,
    name: [&'static str; 1],
}

/// What all users of a run share; read only, but for what they add when they end.
pub(super) struct Shared {
    pub(super) workload: Oltp,
    pub(super) asked: Asked,
    pub(super) engine: Engine,
    tables: u32,
    pub(super) table_size: u32,
    /// The parts of an event, and how often each is done.
    parts: Vec<(Part, u32)>,
    /// `BEGIN` and `COMMIT`, where an event is a block.
    block: Option<[Statement; 2]>,
    /// By sort, then by table; none of a sort that is not needed.
    statements: [Vec<Statement>; Sql::ALL.len()],
    /// The highest number in each table of `bulk_insert`.
    pub(super) last: Vec<u64>,
    pub(super) manner: Manner,
    counted: Mutex<Counted>,
}

/// The statements of an event on the first table, in order.
pub fn statements(workload: &Oltp, asked: &Asked, engine: Engine) -> Vec<String> {
    let mut texts = Vec::new();
    if workload.is_bulk() {
        texts.push(format!("{}(1,1),(2,2),...", bulk::begin(1)));
    }
    for (part, _) in workload.event.parts(asked) {
        match part {
            Part::Each(sql) => texts.push(engine.sql(sql, 1, asked)),
            Part::DeleteInserts => {
                texts.extend([Sql::Delete, Sql::Insert].map(|sql| engine.sql(sql, 1, asked)));
            }
            Part::TextInsert => {
                let named = !asked.auto_inc || engine.names_id();
                let sql = engine.sql(Sql::Insert, 1, asked);
                texts.push(match named {
                    true => sql,
                    false => sql.replace("(id, ", "(").replace(", $4", ""),
                });
            }
        }
    }
    if workload.event.in_block(asked) {
        texts.insert(0, BEGIN.to_owned());
        texts.push(COMMIT.to_owned());
    }
    texts.into_iter().map(|text| engine.shown(text)).collect()
}

impl OltpProgram {
    /// The program on the data that is there.
    ///
    /// # Errors
    /// The options are wrong; the data is missing, half-loaded or smaller than asked.
    pub fn ready(
        control: &mut Control,
        plan: &WorkloadPlan,
        workload: &Oltp,
    ) -> Result<Self, Error> {
        // Whoever asks for more than the first problem asks `check_options`.
        let asked = options::read(plan, workload).map_err(|mut all| all.swap_remove(0))?;
        let ready = ready(control, workload, &asked)?;
        Self::on(control, workload, asked, ready)
    }

    /// The program on tables of the number and size that the plan names, whatever is there: a row
    /// that is not there is not found.
    ///
    /// # Errors
    /// The options are wrong, or the server does not answer.
    pub fn as_asked(
        control: &mut Control,
        plan: &WorkloadPlan,
        workload: &Oltp,
    ) -> Result<Self, Error> {
        let asked = options::read(plan, workload).map_err(|mut all| all.swap_remove(0))?;
        let ready = Ready {
            tables: asked.tables.unwrap_or(1),
            table_size: asked.table_size.unwrap_or(workload.default_size),
        };
        Self::on(control, workload, asked, ready)
    }

    fn on(
        control: &mut Control,
        workload: &Oltp,
        asked: Asked,
        ready: Ready,
    ) -> Result<Self, Error> {
        let Ready { tables, table_size } = ready;
        let mut last = Vec::new();
        for number in 1..=tables {
            if !workload.is_bulk() {
                break;
            }
            let text = format!("select max(id) from {}", engine::table(number));
            let row = sql::row(control, "reading the highest numbers", &text)?;
            let id = row.int(0).and_then(|id| u64::try_from(id).ok());
            last.push(id.unwrap_or(0));
        }
        let engine = Engine::of(control);
        Ok(OltpProgram::new(
            *workload,
            asked,
            engine,
            (tables, table_size),
            last,
        ))
    }

    /// The program on so many tables of such a size; `last` holds the highest number in each table
    /// of `bulk_insert`.
    pub fn new(
        workload: Oltp,
        asked: Asked,
        engine: Engine,
        (tables, table_size): (u32, u32),
        last: Vec<u64>,
    ) -> Self {
        let mut set = Statements::new();
        let in_block = workload.event.in_block(&asked);
        let block = in_block.then(|| [BEGIN, COMMIT].map(|sql| set.add(sql)));
        let mut statements: [Vec<Statement>; Sql::ALL.len()] = Default::default();
        for sql in workload.event.needs(&asked) {
            let of_table = |number| set.add(&engine.sql(sql, number, &asked));
            statements[sql as usize] = (1..=tables).map(of_table).collect();
        }
        let shared = Shared {
            parts: workload.event.parts(&asked),
            workload,
            asked,
            engine,
            tables,
            table_size,
            block,
            statements,
            last,
            manner: Manner::default(),
            counted: Mutex::default(),
        };
        OltpProgram {
            name: [shared.workload.name],
            shared: Arc::new(shared),
        }
    }

    /// The same, with a manner of its own.
    ///
    /// # Panics
    /// If users of it exist already.
    pub fn with_manner(mut self, manner: Manner) -> Self {
        let shared = Arc::get_mut(&mut self.shared).expect("nobody runs it yet");
        shared.manner = manner;
        self
    }

    /// Tables that it runs on.
    pub fn tables(&self) -> u32 {
        self.shared.tables
    }

    /// What the users that have ended did.
    pub fn counted(&self) -> Counted {
        let counted = self.shared.counted.lock();
        *counted.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Program for OltpProgram {
    fn kinds(&self) -> &[&'static str] {
        &self.name
    }

    fn statements(&self) -> Vec<String> {
        let Shared {
            workload,
            asked,
            engine,
            ..
        } = &*self.shared;
        statements(workload, asked, *engine)
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let Shared {
            workload,
            asked,
            tables,
            table_size,
            ..
        } = &*self.shared;
        asked.named(workload, *tables, *table_size)
    }

    fn shares(&self) -> Vec<Share> {
        let Shared {
            workload, asked, ..
        } = &*self.shared;
        let meant = workload.event.queries(asked);
        self.counted().shares(&meant, !workload.event.consumes())
    }

    fn user(&self, id: UserId, db: Db) -> User {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            match shared.run(id, db).await {
                Ok(never) => match never {},
                Err(ended) => ended,
            }
        })
    }
}

impl Shared {
    /// Event after event, until the run is over.
    async fn run(&self, id: UserId, mut db: Db) -> Result<Infallible, Ended> {
        let mut player = Player::new(id, self);
        let mut kept = Kept::new(&self.counted);
        if self.manner.event_is_row && player.packet.is_some() {
            db.start_in_a_row(ROWS_IN_A_ROW);
        }
        loop {
            if let Err(ended) = db.start(0).await {
                self.last_rows(&mut player, &mut db).await;
                return Err(ended);
            }
            let result = loop {
                let mut queries = Queries::default();
                match self.event(&mut player, &mut db, &mut queries).await {
                    Ok(()) => {
                        kept.sums.ended.add(&queries);
                        break Ok(Outcome::Committed);
                    }
                    Err(error) => {
                        kept.sums.broken.add(&queries);
                        match self.verdict(&player, &db, id, &error) {
                            Verdict::Again => {}
                            Verdict::Failed => break Err(error),
                            Verdict::Ends(reason) => return Err(Ended::Failed(reason)),
                        }
                        kept.sums.ignored += 1;
                        db.count_ignored();
                        if db.is_over() {
                            break Err(error);
                        }
                        let lost = !db.is_up();
                        db.retry().await?;
                        if lost {
                            db.count_reconnect();
                        }
                    }
                }
            };
            db.end(result).await?;
        }
    }

    async fn event(
        &self,
        player: &mut Player,
        db: &mut Db,
        queries: &mut Queries,
    ) -> Result<(), DbError> {
        if let Some(packet) = &mut player.packet {
            player.doing = Doing::Packet;
            if self.manner.event_is_row {
                if packet.note() {
                    return Ok(());
                }
                let inserted = db.query(packet.text()).await?.affected();
                count(db, queries, changed(inserted));
                packet.clear();
                packet.note();
                return Ok(());
            }
            let inserted = db.query(packet.fill()).await?.affected();
            count(db, queries, changed(inserted));
            return Ok(());
        }
        if let Some([begin, _]) = &self.block {
            player.doing = Doing::Begin;
            db.exec(begin, &[]).await?;
            count(db, queries, Query::Other);
        }
        for (part, count) in &self.parts {
            // One table for all statements of a part.
            let table = self.table(&mut player.random);
            for _ in 0..*count {
                self.part(*part, table, player, db, queries).await?;
            }
        }
        if let Some([_, commit]) = &self.block {
            player.doing = Doing::Commit;
            db.exec(commit, &[]).await?;
            count(db, queries, Query::Other);
        }
        Ok(())
    }

    /// The place of a table.
    fn table(&self, random: &mut Random) -> usize {
        if self.workload.on_one_table() {
            return 0;
        }
        random.uniform(0, i64::from(self.tables) - 1) as usize
    }

    async fn part(
        &self,
        part: Part,
        table: usize,
        player: &mut Player,
        db: &mut Db,
        queries: &mut Queries,
    ) -> Result<(), DbError> {
        match part {
            Part::Each(sql) => self.each(sql, table, player, db, queries).await,
            Part::DeleteInserts => {
                let id = player.id.next(&mut player.random);
                player.doing = Doing::Each(Sql::Delete, table);
                let delete = &self.statements[Sql::Delete as usize][table];
                let deleted = db.exec(delete, &[Value::Int(id)]).await?.affected();
                count(db, queries, changed(deleted));
                let k = player.id.next(&mut player.random);
                player.texts();
                player.doing = Doing::Each(Sql::Insert, table);
                let insert = &self.statements[Sql::Insert as usize][table];
                let (c, pad) = (Value::Text(&player.c), Value::Text(&player.pad));
                let values = [Value::Int(id), Value::Int(k), c, pad];
                let inserted = db.exec(insert, &values).await?.affected();
                count(db, queries, changed(inserted));
                Ok(())
            }
            Part::TextInsert => {
                self.write_insert(table as u32 + 1, player);
                player.doing = Doing::Text;
                let inserted = db.query(&player.text).await?.affected();
                count(db, queries, changed(inserted));
                Ok(())
            }
        }
    }

    async fn each(
        &self,
        sql: Sql,
        table: usize,
        player: &mut Player,
        db: &mut Db,
        queries: &mut Queries,
    ) -> Result<(), DbError> {
        let statement = &self.statements[sql as usize][table];
        player.doing = Doing::Each(sql, table);
        let first = player.id.next(&mut player.random);
        let id = Value::Int(first);
        let rows = match sql {
            Sql::PointSelect | Sql::IndexUpdate | Sql::Delete => db.exec(statement, &[id]).await?,
            Sql::SimpleRange | Sql::SumRange | Sql::OrderRange | Sql::DistinctRange => {
                let last = first + i64::from(self.asked.range_size) - 1;
                db.exec(statement, &[id, Value::Int(last)]).await?
            }
            Sql::NonIndexUpdate => {
                set_groups(&mut player.random, C_GROUPS, &mut player.c);
                let values = [Value::Text(&player.c), id];
                db.exec(statement, &values).await?
            }
            Sql::RandomPoints => {
                player.draw(self.asked.random_points, None);
                db.exec(statement, &player.values).await?
            }
            Sql::RandomRanges => {
                player.draw(self.asked.number_of_ranges, Some(self.asked.delta));
                db.exec(statement, &player.values).await?
            }
            Sql::HotUpdate => {
                let row = Value::Int(i64::from(self.asked.row));
                db.exec(statement, &[row]).await?
            }
            // Only after a delete, with more values.
            Sql::Insert => return Ok(()),
        };
        let query = match sql.reads() {
            true => Query::Read,
            false => changed(rows.affected()),
        };
        drop(rows);
        count(db, queries, query);
        Ok(())
    }
}

/// Counts a query, for its event and for the second that it ends in.
#[inline]
fn count(db: &Db, queries: &mut Queries, query: Query) {
    queries.count(query);
    db.count(query);
}

//! The program of one virtual user.
//!
//! In: a plan, tables. Out: events. Must never: take a failure for a success, or allocate for an
//! event.

use super::Oltp;
use super::bulk::{self, Packet};
use super::distribution::Draw;
use super::engine::{self, BEGIN, COMMIT, Engine};
use super::event::{Part, Sql};
use super::options::{self, Asked};
use super::queries::{Counted, Kept, Queries, Query, changed};
use super::ready::{Ready, ready};
use super::rows::{C_GROUPS, PAD_GROUPS, set_groups};
use crate::distinct::Distinct;
use crate::random::Random;
use crate::{Error, sql};
use prony_plan::WorkloadPlan;
use prony_server::Control;
use prony_session::{Db, DbError, Ended, Outcome, Program, Share, User, UserId};
use prony_wire::{Statement, Statements, Value};
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// The program of a run.
pub struct OltpProgram {
    shared: Arc<Shared>,
    name: [&'static str; 1],
}

/// What all users of a run share; read only, but for what they add when they end.
struct Shared {
    workload: Oltp,
    asked: Asked,
    engine: Engine,
    tables: u32,
    table_size: u32,
    /// The parts of an event, and how often each is done.
    parts: Vec<(Part, u32)>,
    /// `BEGIN` and `COMMIT`, where an event is a block.
    block: Option<[Statement; 2]>,
    /// By sort, then by table; none of a sort that is not needed.
    statements: [Vec<Statement>; Sql::ALL.len()],
    /// The highest number in each table of `bulk_insert`.
    last: Vec<u64>,
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
        let Ready { tables, table_size } = ready(control, workload, &asked)?;
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
            counted: Mutex::default(),
        };
        OltpProgram {
            name: [shared.workload.name],
            shared: Arc::new(shared),
        }
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

/// What one user draws from and writes into; all of it is there before its first event.
struct Player {
    random: Random,
    /// Numbers of rows, and values of `k`.
    id: Draw,
    /// Those of this user's own slice of the range.
    slice: Draw,
    c: String,
    pad: String,
    /// Values of a statement with many of them.
    values: Vec<Value<'static>>,
    text: String,
    /// Numbers for rows.
    numbers: Distinct,
    packet: Option<Packet>,
}

impl Shared {
    fn player(&self, id: UserId) -> Player {
        let size = i64::from(self.table_size.max(1));
        let (client, clients) = (i64::from(id.client), i64::from(id.clients.max(1)));
        let (from, to) = (size * client / clients + 1, size * (client + 1) / clients);
        let distribution = self.asked.distribution;
        Player {
            random: Random::of_client(id.seed, id.client),
            id: Draw::new(distribution, 1, size),
            slice: Draw::new(distribution, from, to.max(from)),
            c: String::with_capacity(128),
            pad: String::with_capacity(64),
            values: Vec::with_capacity(1024),
            text: String::with_capacity(512),
            numbers: Distinct::new(id),
            packet: (!self.last.is_empty()).then(|| Packet::new(id, &self.last)),
        }
    }

    /// Event after event, until the run is over.
    async fn run(&self, id: UserId, mut db: Db) -> Result<Infallible, Ended> {
        let mut player = self.player(id);
        let mut kept = Kept::new(&self.counted);
        loop {
            db.start(0).await?;
            let result = loop {
                let mut queries = Queries::default();
                match self.event(&mut player, &mut db, &mut queries).await {
                    Ok(()) => {
                        kept.sums.ended.add(&queries);
                        break Ok(Outcome::Committed);
                    }
                    Err(error) => {
                        kept.sums.broken.add(&queries);
                        if !self.engine.is_ignored(&error) || db.is_over() {
                            break Err(error);
                        }
                        kept.sums.ignored += 1;
                        db.count_ignored();
                        db.retry().await?;
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
            let inserted = db.query(packet.fill()).await?.affected();
            count(db, queries, changed(inserted));
            return Ok(());
        }
        if let Some([begin, _]) = &self.block {
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
                let delete = &self.statements[Sql::Delete as usize][table];
                let deleted = db.exec(delete, &[Value::Int(id)]).await?.affected();
                count(db, queries, changed(deleted));
                let k = player.id.next(&mut player.random);
                player.texts();
                let insert = &self.statements[Sql::Insert as usize][table];
                let (c, pad) = (Value::Text(&player.c), Value::Text(&player.pad));
                let values = [Value::Int(id), Value::Int(k), c, pad];
                let inserted = db.exec(insert, &values).await?.affected();
                count(db, queries, changed(inserted));
                Ok(())
            }
            Part::TextInsert => {
                self.write_insert(table as u32 + 1, player);
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

    /// Writes the `INSERT` of a new row, which goes as text in every protocol.
    fn write_insert(&self, table: u32, player: &mut Player) {
        let k = player.id.next(&mut player.random);
        player.texts();
        let Player { c, pad, text, .. } = player;
        text.clear();
        // A String takes all that is written.
        let _ = match (self.asked.auto_inc, self.engine.names_id()) {
            (true, false) => write!(
                text,
                "INSERT INTO sbtest{table} (k, c, pad) VALUES ({k}, '{c}', '{pad}')"
            ),
            (auto, _) => {
                let id = if auto {
                    0
                } else {
                    i64::from(player.numbers.draw()) - (1 << 31)
                };
                write!(
                    text,
                    "INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({id}, {k}, '{c}', '{pad}')"
                )
            }
        };
    }
}

/// Counts a query, for its event and for the second that it ends in.
#[inline]
fn count(db: &Db, queries: &mut Queries, query: Query) {
    queries.count(query);
    db.count(query);
}

impl Player {
    /// New texts for a row.
    fn texts(&mut self) {
        set_groups(&mut self.random, C_GROUPS, &mut self.c);
        set_groups(&mut self.random, PAD_GROUPS, &mut self.pad);
    }

    /// Values of this user's slice, each with the end of its range if they are ranges.
    fn draw(&mut self, count: u32, delta: Option<u32>) {
        self.values.clear();
        for _ in 0..count {
            let first = self.slice.next(&mut self.random);
            self.values.push(Value::Int(first));
            if let Some(delta) = delta {
                self.values.push(Value::Int(first + i64::from(delta)));
            }
        }
    }
}

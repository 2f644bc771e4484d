//! What one virtual user has of its own: random numbers, texts, a packet; and what it sent last.
//!
//! In: who it is, what all share. Out: values for statements; what an error meant. Must never: allocate
//! once the user has begun, but where something failed.

use super::bulk::Packet;
use super::distribution::Draw;
use super::engine::{BEGIN, COMMIT};
use super::event::Sql;
use super::manner::{Trouble, Verdict};
use super::program::Shared;
use super::queries::changed;
use super::rows::{C_GROUPS, PAD_GROUPS, set_groups};
use crate::distinct::Distinct;
use crate::random::Random;
use prony_session::{Db, DbError, UserId};
use prony_wire::{QueryMode, Value};
use std::fmt::Write;

/// What one user draws from and writes into; all of it is there before its first event.
pub(super) struct Player {
    pub(super) random: Random,
    /// Numbers of rows, and values of `k`.
    pub(super) id: Draw,
    /// Those of this user's own slice of the range.
    pub(super) slice: Draw,
    pub(super) c: String,
    pub(super) pad: String,
    /// Values of a statement with many of them.
    pub(super) values: Vec<Value<'static>>,
    pub(super) text: String,
    /// Numbers for rows.
    numbers: Distinct,
    pub(super) packet: Option<Packet>,
    pub(super) doing: Doing,
}

/// The statement that was sent last.
#[derive(Clone, Copy)]
pub(super) enum Doing {
    Begin,
    Commit,
    Each(Sql, usize),
    /// As it stands in the user's own text.
    Text,
    Packet,
}

impl Shared {
    /// Sends the rows of a packet that is not full, at the end of a run in which rows are events.
    pub(super) async fn last_rows(&self, player: &mut Player, db: &mut Db) {
        let Some(packet) = &player.packet else {
            return;
        };
        if self.manner.event_is_row && !packet.is_empty() && db.is_up() {
            // There is no event any more that could fail.
            let sent = db.query(packet.text()).await.map(|rows| rows.affected());
            if let Ok(inserted) = sent {
                db.count(changed(inserted));
            }
        }
    }

    /// What becomes of an event that met an error.
    #[cold]
    pub(super) fn verdict(&self, player: &Player, db: &Db, id: UserId, error: &DbError) -> Verdict {
        let statement = match player.doing {
            Doing::Begin => BEGIN.to_owned(),
            Doing::Commit => COMMIT.to_owned(),
            Doing::Each(sql, table) => {
                let text = self.engine.sql(sql, table as u32 + 1, &self.asked);
                self.engine.shown(text)
            }
            Doing::Text => player.text.clone(),
            Doing::Packet => player.packet.as_ref().map_or("", Packet::text).to_owned(),
        };
        let text = matches!(player.doing, Doing::Text | Doing::Packet);
        let simple = db.mode() == QueryMode::Simple;
        let statement = match simple {
            true => db.sent_text().unwrap_or(statement),
            false => statement,
        };
        let trouble = Trouble {
            client: id.client,
            error,
            statement: &statement,
            prepared: !text && !simple,
        };
        self.manner.verdict(self.engine, &trouble)
    }

    /// Writes the `INSERT` of a new row, which goes as text in every protocol.
    pub(super) fn write_insert(&self, table: u32, player: &mut Player) {
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

impl Player {
    /// A user's own things.
    pub(super) fn new(id: UserId, shared: &Shared) -> Player {
        let size = i64::from(shared.table_size.max(1));
        let (client, clients) = (i64::from(id.client), i64::from(id.clients.max(1)));
        let (from, to) = (size * client / clients + 1, size * (client + 1) / clients);
        let distribution = shared.asked.distribution;
        Player {
            random: Random::of_client(id.seed, id.client),
            id: Draw::new(distribution, 1, size),
            slice: Draw::new(distribution, from, to.max(from)),
            c: String::with_capacity(128),
            pad: String::with_capacity(64),
            values: Vec::with_capacity(1024),
            text: String::with_capacity(512),
            numbers: Distinct::new(id),
            packet: (!shared.last.is_empty()).then(|| Packet::new(id, &shared.last)),
            doing: Doing::Begin,
        }
    }

    /// New texts for a row.
    pub(super) fn texts(&mut self) {
        set_groups(&mut self.random, C_GROUPS, &mut self.c);
        set_groups(&mut self.random, PAD_GROUPS, &mut self.pad);
    }

    /// Values of this user's slice, each with the end of its range if they are ranges.
    pub(super) fn draw(&mut self, count: u32, delta: Option<u32>) {
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

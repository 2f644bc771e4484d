//! The state of one virtual user: random numbers, texts, a packet, and the last statement sent.
//!
//! Provides the values for statements, and handles errors. Must never allocate after the user has started,
//! except after an error.

use super::bulk::{self, Packet};
use super::distribution::RangeSampler;
use super::event::StatementKind;
use super::policy::{ErrorAction, StatementFailure};
use super::program::SharedState;
use super::queries::write_kind;
use super::rows::{C_GROUPS, PAD_GROUPS, set_groups};
use super::statements::COMMIT;
use crate::random::Random;
use crate::unique_numbers::UniqueNumbers;
use prony_session::{Db, DbError, UserId};
use prony_wire::{QueryMode, Value};
use std::fmt::Write;

/// Generators and buffers of one user; all are allocated before its first event.
pub(super) struct OltpUser {
    pub(super) random: Random,
    /// Draws row ids, and values of `k`.
    pub(super) row_id: RangeSampler,
    /// Draws numbers from this user's slice of the range.
    pub(super) slice: RangeSampler,
    pub(super) c: String,
    pub(super) pad: String,
    /// Values of a statement with many parameters.
    pub(super) values: Vec<Value<'static>>,
    pub(super) text: String,
    /// Assigns ids to new rows.
    numbers: UniqueNumbers,
    pub(super) packet: Option<Packet>,
    pub(super) current: CurrentStatement,
}

/// The statement that was sent last.
#[derive(Clone, Copy)]
pub(super) enum CurrentStatement {
    Begin,
    Commit,
    Kind(StatementKind, usize),
    /// The text in the user's buffer.
    Text,
    Packet,
}

impl SharedState {
    /// Sends the rows of a partly filled packet, at the end of a run in which rows are events.
    pub(super) async fn send_last_rows(&self, user: &mut OltpUser, db: &mut Db) {
        let Some(packet) = &user.packet else {
            return;
        };
        if self.policy.event_is_row && !packet.is_empty() && db.is_up() {
            // An error is ignored: the last event has already ended.
            let result = db
                .query(packet.text())
                .await
                .map(|rows| rows.affected_rows());
            if let Ok(inserted) = result {
                db.count_query(write_kind(inserted));
            }
        }
    }

    /// Decides what happens to an event after an error.
    #[cold]
    pub(super) fn error_action(
        &self,
        user: &OltpUser,
        db: &Db,
        id: UserId,
        error: &DbError,
    ) -> ErrorAction {
        let statement = match user.current {
            CurrentStatement::Begin => self.dialect.begin_block().to_owned(),
            CurrentStatement::Commit => COMMIT.to_owned(),
            CurrentStatement::Kind(kind, table) => {
                let text = self
                    .dialect
                    .event_statement(kind, table as u32 + 1, &self.options);
                self.dialect.with_sent_placeholders(text)
            }
            CurrentStatement::Text => user.text.clone(),
            CurrentStatement::Packet => user.packet.as_ref().map_or("", Packet::text).to_owned(),
        };
        let is_text = matches!(
            user.current,
            CurrentStatement::Text | CurrentStatement::Packet
        );
        let is_simple = db.mode() == QueryMode::Simple;
        let statement = match is_simple {
            true => db.sent_text().unwrap_or(statement),
            false => statement,
        };
        let failure = StatementFailure {
            client: id.client,
            error,
            statement: &statement,
            prepared: !is_text && !is_simple,
        };
        self.policy.action(self.dialect, &failure)
    }

    /// Writes the `INSERT` of a new row, which is sent as text in every protocol mode.
    pub(super) fn write_insert(&self, table: u32, user: &mut OltpUser) {
        let k = user.row_id.sample(&mut user.random);
        user.generate_texts();
        let OltpUser { c, pad, text, .. } = user;
        text.clear();
        // Writing to a String cannot fail.
        let _ = match (self.options.auto_inc, self.dialect.inserts_id()) {
            (true, false) => write!(
                text,
                "INSERT INTO sbtest{table} (k, c, pad) VALUES ({k}, '{c}', '{pad}')"
            ),
            (is_numbered_by_server, _) => {
                let id = if is_numbered_by_server {
                    0
                } else {
                    i64::from(user.numbers.draw()) - (1 << 31)
                };
                write!(
                    text,
                    "INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({id}, {k}, '{c}', '{pad}')"
                )
            }
        };
    }
}

impl OltpUser {
    /// The initial state of a user.
    pub(super) fn new(id: UserId, shared: &SharedState) -> OltpUser {
        let size = i64::from(shared.table_size.max(1));
        let (client, clients) = (i64::from(id.client), i64::from(id.clients.max(1)));
        let (low, high) = (size * client / clients + 1, size * (client + 1) / clients);
        let distribution = shared.options.distribution();
        OltpUser {
            random: Random::of_client(id.seed, id.client),
            row_id: RangeSampler::new(distribution, 1, size),
            slice: RangeSampler::new(distribution, low, high.max(low)),
            c: String::with_capacity(128),
            pad: String::with_capacity(64),
            values: Vec::with_capacity(1024),
            text: String::with_capacity(512),
            numbers: UniqueNumbers::new(id),
            packet: (!shared.highest_ids.is_empty())
                .then(|| Packet::new(id, &shared.highest_ids, bulk::rows_max(shared.dialect))),
            current: CurrentStatement::Begin,
        }
    }

    /// Generates new texts for a row.
    pub(super) fn generate_texts(&mut self) {
        set_groups(&mut self.random, C_GROUPS, &mut self.c);
        set_groups(&mut self.random, PAD_GROUPS, &mut self.pad);
    }

    /// Draws values from this user's slice. With `delta`, each value is the start of a range, and is followed
    /// by the end of that range.
    pub(super) fn draw_values(&mut self, count: u32, delta: Option<u32>) {
        self.values.clear();
        for _ in 0..count {
            let first = self.slice.sample(&mut self.random);
            self.values.push(Value::Int(first));
            if let Some(delta) = delta {
                self.values.push(Value::Int(first + i64::from(delta)));
            }
        }
    }
}

//! The state of one virtual user: random numbers, texts, a packet, and the last statement sent.
//!
//! Provides the values for statements, and handles errors. Must never allocate after the user has started,
//! except after an error.

use super::bulk::{self, InsertBuilder};
use super::distribution::RangeSampler;
use super::event::StatementKind;
use super::policy::{ErrorAction, StatementFailure};
use super::program::SharedState;
use super::queries::write_kind;
use super::rows::{C_GROUPS, PAD_GROUPS, set_groups};
use super::statements;
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
    /// Draws row ids from this user's slice of the table.
    pub(super) row_id_in_slice: RangeSampler,
    pub(super) c: String,
    pub(super) pad: String,
    /// Values of a statement of random points or ranges.
    pub(super) values: Vec<Value<'static>>,
    /// The text of an `INSERT`.
    pub(super) text: String,
    /// Assigns ids to new rows.
    numbers: UniqueNumbers,
    /// Only for `bulk_insert`.
    pub(super) packet: Option<InsertBuilder>,
    pub(super) current: CurrentStatement,
}

/// The statement that was sent last.
#[derive(Clone, Copy)]
pub(super) enum CurrentStatement {
    Begin,
    Commit,
    /// A statement of this kind on the table with this index.
    Kind(StatementKind, usize),
    /// The text in the user's buffer.
    Text,
    Packet,
}

impl SharedState {
    /// Sends the rows of a partly filled packet at the end of a run that counts rows as events.
    pub(super) async fn send_last_rows(&self, user: &mut OltpUser, db: &mut Db) {
        let Some(packet) = &user.packet else {
            return;
        };
        if self.policy.counts_rows_as_events && !packet.is_empty() && db.is_up() {
            let result = db.query(packet.text()).await;
            let inserted = result.map(|rows| rows.affected_rows());
            // An error is ignored: the last event has already ended.
            if let Ok(inserted) = inserted {
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
        let current_text = match user.current {
            CurrentStatement::Begin => statements::begin_block(self.dialect).to_owned(),
            CurrentStatement::Commit => COMMIT.to_owned(),
            CurrentStatement::Kind(kind, table) => {
                let text = statements::event_statement(
                    self.dialect,
                    kind,
                    table as u32 + 1,
                    &self.options,
                );
                self.dialect.with_native_placeholders(text)
            }
            CurrentStatement::Text => user.text.clone(),
            CurrentStatement::Packet => user
                .packet
                .as_ref()
                .map_or("", InsertBuilder::text)
                .to_owned(),
        };
        let is_text = matches!(
            user.current,
            CurrentStatement::Text | CurrentStatement::Packet
        );
        let is_simple = db.protocol_mode() == QueryMode::Simple;
        let statement =
            if is_simple { db.last_request_text().unwrap_or(current_text) } else { current_text };
        let failure = StatementFailure {
            client: id.client,
            error,
            statement: &statement,
            is_prepared: !is_text && !is_simple,
        };
        self.policy.action(self.dialect, &failure)
    }

    /// Writes the `INSERT` of a new row, which is sent as text in every protocol mode.
    pub(super) fn write_insert(&self, table: u32, user: &mut OltpUser) {
        let k = user.row_id.sample(&mut user.random);
        user.generate_texts();
        let OltpUser { c, pad, text, .. } = user;
        text.clear();
        let is_numbered_by_server = self.options.auto_inc;
        // Writing to a String cannot fail.
        let _ = if is_numbered_by_server && !statements::insert_includes_id(self.dialect) {
            write!(
                text,
                "INSERT INTO sbtest{table} (k, c, pad) VALUES ({k}, '{c}', '{pad}')"
            )
        } else {
            let id =
                if is_numbered_by_server { 0 } else { i64::from(user.numbers.draw()) - (1 << 31) };
            write!(
                text,
                "INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({id}, {k}, '{c}', '{pad}')"
            )
        };
    }
}

impl OltpUser {
    pub(super) fn new(id: UserId, shared: &SharedState) -> OltpUser {
        let size = i64::from(shared.table_size.max(1));
        let (client, clients) = (i64::from(id.client), i64::from(id.clients.max(1)));
        let (low, high) = (size * client / clients + 1, size * (client + 1) / clients);
        let distribution = shared.options.distribution();
        OltpUser {
            random: Random::of_client(id.seed, id.client),
            row_id: RangeSampler::new(distribution, 1, size),
            row_id_in_slice: RangeSampler::new(distribution, low, high.max(low)),
            c: String::with_capacity(128),
            pad: String::with_capacity(64),
            values: Vec::with_capacity(1024),
            text: String::with_capacity(512),
            numbers: UniqueNumbers::new(id),
            packet: (!shared.highest_ids.is_empty()).then(|| {
                InsertBuilder::new(
                    id,
                    &shared.highest_ids,
                    bulk::statement_rows_max(shared.dialect),
                )
            }),
            current: CurrentStatement::Begin,
        }
    }

    /// Draws new values for the columns `c` and `pad`.
    pub(super) fn generate_texts(&mut self) {
        set_groups(&mut self.random, C_GROUPS, &mut self.c);
        set_groups(&mut self.random, PAD_GROUPS, &mut self.pad);
    }

    /// Draws values from this user's slice. With `delta`, each value is the start of a range, and is followed
    /// by the end of that range.
    pub(super) fn draw_values(&mut self, count: u32, delta: Option<u32>) {
        self.values.clear();
        for _ in 0..count {
            let first = self.row_id_in_slice.sample(&mut self.random);
            self.values.push(Value::Int(first));
            if let Some(delta) = delta {
                self.values.push(Value::Int(first + i64::from(delta)));
            }
        }
    }
}

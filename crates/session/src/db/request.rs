//! A user's requests to the server, and the replies. Never makes a request while an earlier one has no
//! reply.

use super::{Db, Wait};
use crate::conn::{Conn, TimedRequest, UserPhase};
use crate::error::DbError;
use crate::ledger::{ClientLedger, EntryBeforeEnd, JoinedBlock, LedgerResults, WriteWithEntry};
use prony_wire::{BlockState, Effect, Exchange, QueryMode, ServerError, Statement, Value, WireRow};
use std::cell::Ref;

impl Db {
    /// Executes one statement.
    pub async fn exec(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<DbReply<'_>, DbError> {
        self.begin_exec(statement, values)?;
        self.wait_for_reply().await
    }

    /// Executes several statements in one round trip. The server executes them in order and, unless they are
    /// in a block, as one transaction; after an error it skips the remaining ones. MySQL executes prepared
    /// statements one by one, and each outside a block is a separate transaction.
    ///
    /// # Errors
    /// [`DbError`]: the first error of the batch.
    pub async fn batch(
        &mut self,
        batch: &[(&Statement, &[Value<'_>])],
    ) -> Result<DbReply<'_>, DbError> {
        self.check_usable()?;
        self.encode_batch(batch);
        self.wait_for_reply().await
    }

    fn encode_batch(&mut self, batch: &[(&Statement, &[Value<'_>])]) {
        match &mut self.ledger {
            None => self.conn.request(batch.iter().copied()),
            Some(ledger) => {
                self.ledger_results = request_with_entry(&self.conn, ledger, batch);
            }
        }
        if self.context.measures_statements() {
            self.begin_timing(batch.first().map(|(statement, _)| statement.id()));
        }
    }

    /// Encodes a request of one statement at once, as [`Db::exec`] makes it, so that its values need not live until the
    /// reply; [`Db::finish_request`], which must follow, sends the request.
    pub fn begin_exec(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
    ) -> Result<(), DbError> {
        self.check_usable()?;
        self.encode_batch(&[(statement, values)]);
        Ok(())
    }

    /// Adds an execution to the next request, which [`Db::sync`] sends: a batch whose values need not live
    /// until then. Only in the extended protocol.
    ///
    /// # Errors
    /// [`DbError`] if the connection is not up; executions pushed earlier are then lost.
    pub fn push(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<(), DbError> {
        self.check_usable()?;
        if self.protocol_mode() == QueryMode::Simple {
            return Err(DbError::protocol(
                "simple mode has no requests of several executions".to_owned(),
            ));
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.note(statement);
            if let Some(entry) = ledger.entry_before(statement) {
                self.conn.push(entry.insert, &entry.values);
                self.conn
                    .push(entry.joined_end.unwrap_or(statement), values);
                return Ok(());
            }
        }
        self.conn.push(statement, values);
        Ok(())
    }

    /// Sends the pushed executions in one round trip, as [`Db::batch`] does, and waits for the reply.
    /// Making another request first discards them.
    ///
    /// # Errors
    /// [`DbError`]: the first error of the batch.
    pub async fn sync(&mut self) -> Result<DbReply<'_>, DbError> {
        self.check_usable()?;
        self.conn.sync();
        if self.context.measures_statements() {
            let first_id = self.conn.first_pushed_id();
            self.begin_timing((self.conn.executions() > 0).then_some(first_id));
        }
        self.wait_for_reply().await
    }

    /// Prepares a statement that [`Db::is_prepared`] reports as not prepared, in a separate round trip.
    /// Otherwise its first execution prepares it.
    ///
    /// # Errors
    /// [`DbError`], as reported by the server. The statement counts as prepared anyway.
    pub async fn prepare(&mut self, statement: &Statement) -> Result<(), DbError> {
        self.check_usable()?;
        self.conn.prepare(statement);
        self.wait_for_reply().await.map(drop)
    }

    /// Whether a statement is already prepared on this connection.
    pub fn is_prepared(&self, statement: &Statement) -> bool {
        self.conn.exchange().is_prepared(statement)
    }

    /// Closes a statement that is no longer used, without a round trip: the server is notified with a later
    /// request. The statement's number may be reused for another statement.
    pub fn close_statement(&mut self, statement: &Statement) {
        self.conn.close_statement(statement);
    }

    /// Forgets which statements are prepared, after a text that made the session drop them: each is prepared again.
    pub fn forget_prepared(&mut self) {
        self.conn.forget_prepared();
    }

    /// The protocol mode of this connection's statements.
    #[inline]
    pub fn protocol_mode(&self) -> QueryMode {
        self.conn.exchange().mode()
    }

    /// Executes text unchanged, as a simple query.
    pub async fn query(&mut self, sql: &str) -> Result<DbReply<'_>, DbError> {
        self.check_usable()?;
        self.conn.query(sql.as_bytes());
        self.wait_for_reply().await
    }

    /// Executes a statement outside a block that writes, as [`Db::query`] does. If the run keeps a ledger, it has an entry.
    pub async fn write(&mut self, sql: &str) -> Result<DbReply<'_>, DbError> {
        self.check_usable()?;
        let mut ledger = self.ledger.as_mut();
        if let Some(block) = ledger
            .as_mut()
            .and_then(|ledger| ledger.block_of_texts(sql))
        {
            self.ledger_results = request_block(&self.conn, &block, &[]);
            return self.wait_for_reply().await;
        }
        let with_entry = ledger.and_then(|ledger| ledger.text_with_entry(sql));
        let (text, results) = with_entry.unwrap_or((sql, LedgerResults::NONE));
        self.conn.query(text.as_bytes());
        self.ledger_results = results;
        self.wait_for_reply().await
    }

    /// Sets how many bytes of their rows the next replies keep; later rows are counted and dropped as they arrive
    /// ([`DbReply::has_dropped_rows`]). Initially [`crate::UNREAD_ROW_BYTES_MAX`].
    pub fn limit_rows(&mut self, max_bytes: usize) {
        self.conn.limit_rows(max_bytes);
    }

    pub(super) fn check_usable(&self) -> Result<(), DbError> {
        match self.conn.phase() {
            UserPhase::Idle if self.conn.is_up() => Ok(()),
            UserPhase::Idle => Err(self.conn.failure()),
            _ => Err(DbError::protocol(
                "an earlier statement of this user was abandoned before its reply arrived"
                    .to_owned(),
            )),
        }
    }

    pub(super) async fn wait_for_reply(&mut self) -> Result<DbReply<'_>, DbError> {
        self.reply_ledger_results =
            std::mem::replace(&mut self.ledger_results, LedgerResults::NONE);
        Wait { conn: &self.conn }.await;
        if !self.conn.is_up() {
            self.conn.set_timed_request(None);
            return Err(self.conn.failure());
        }
        if self.context.measures_statements() {
            self.end_timing();
        }
        let exchange = self.conn.exchange();
        match exchange.error_summary().map(DbError::from) {
            Some(error) => {
                // The results after the statement that failed have not come.
                self.reply_ledger_results.after = 0;
                Err(error.of_service(self.context.service()))
            }
            None if self.conn.is_commit_rolled_back(&exchange) => {
                Err(DbError::rolled_back_commit())
            }
            None => {
                self.conn.record_success(exchange.block_state());
                Ok(DbReply {
                    exchange,
                    ledger_results: self.reply_ledger_results,
                })
            }
        }
    }

    /// Begins to time the request that has just been made, whose first statement has this number. The user made
    /// it when it was last resumed.
    #[cold]
    pub(super) fn begin_timing(&self, first_id: Option<u32>) {
        let requested_ns = self.owner.noticed_ns();
        let request = first_id.map(|first_id| TimedRequest {
            first_id,
            requested_ns,
        });
        self.conn.set_timed_request(request);
    }

    /// Records the time of the request whose reply has arrived, if it is timed: of successful requests in a
    /// transaction.
    #[cold]
    fn end_timing(&self) {
        let Some(request) = self.conn.take_timed_request() else {
            return;
        };
        let has_failed = self.conn.exchange().error_summary().is_some();
        if self.owner.is_in_transaction() && !has_failed {
            let (statements, noticed_ns) = (self.conn.executions(), self.owner.noticed_ns());
            self.context.record_round_trip(
                request.first_id,
                statements,
                request.requested_ns,
                noticed_ns,
            );
        }
    }

    /// The last reply; empty before the first one.
    pub fn last_reply(&self) -> DbReply<'_> {
        DbReply {
            exchange: self.conn.exchange(),
            ledger_results: self.reply_ledger_results,
        }
    }

    /// The complete server error of the last reply; `None` after a successful one.
    pub fn server_error(&self) -> Option<ServerError> {
        self.conn.exchange().error()
    }

    /// The error with which the server ended the session after the last reply, such as a time-out of idle sessions.
    pub fn session_end_error(&self) -> Option<ServerError> {
        let exchange = self.conn.exchange();
        let is_between_requests = !self.conn.is_up() && exchange.error().is_none();
        is_between_requests
            .then(|| exchange.final_error())
            .flatten()
    }

    /// The text of the last request, if it was sent as text.
    pub fn last_request_text(&self) -> Option<String> {
        self.conn.exchange().text().map(str::to_owned)
    }

    /// Whether the last request started a COPY, which closed the connection.
    pub fn started_copy(&self) -> bool {
        self.conn.exchange().started_copy()
    }

    /// Passes the notices and warnings of the last reply to `receive`.
    pub fn notices(&self, receive: impl FnMut(ServerError)) {
        self.last_reply().notices(receive);
    }

    /// Number of results in the last reply, before the error if it ended with one.
    pub fn result_count(&self) -> usize {
        self.last_reply().result_count()
    }
}

/// Requests a batch with an entry of the ledger, before the statement that ends the transaction or as the placement of
/// entries says. Returns the results that the reply has more.
fn request_with_entry(
    conn: &Conn,
    ledger: &mut ClientLedger,
    batch: &[(&Statement, &[Value<'_>])],
) -> LedgerResults {
    let mut only_reads = true;
    for (statement, _) in batch {
        ledger.note(statement);
        only_reads &= statement.effect() == Effect::Reads;
    }
    if only_reads || ledger.has_entry() {
        conn.request(batch.iter().copied());
        return LedgerResults::NONE;
    }
    add_entry(conn, ledger, batch)
}

/// Requests a batch that changes or ends something, whose transaction has no entry. Apart from [`request_with_entry`],
/// so that the other requests of a transaction do not pay for its many variables.
#[inline(never)]
fn add_entry(
    conn: &Conn,
    ledger: &mut ClientLedger,
    batch: &[(&Statement, &[Value<'_>])],
) -> LedgerResults {
    let statements = || batch.iter().map(|(statement, _)| *statement);
    let mode = conn.exchange().mode();
    if let Some(write) = ledger.entry_with_write(statements(), mode) {
        request_combined(conn, batch, &write);
        return LedgerResults::NONE;
    }
    let ends = |(statement, _): &(&Statement, &[Value<'_>])| statement.effect() == Effect::Commits;
    if let Some(end) = batch.iter().position(ends) {
        let Some(entry) = ledger.entry_before(batch[end].0) else {
            conn.request(batch.iter().copied());
            return LedgerResults::NONE;
        };
        let EntryBeforeEnd {
            insert,
            values,
            joined_end,
        } = entry;
        let (before, after) = batch.split_at(end);
        let (end, end_values) = after[0];
        let both: [(&Statement, &[Value<'_>]); 2] =
            [(insert, &values), (joined_end.unwrap_or(end), end_values)];
        conn.request(before.iter().chain(&both).chain(&after[1..]).copied());
        // The end has no rows that a user could look for by number.
        return LedgerResults::NONE;
    }
    if conn.block_state() == BlockState::Idle {
        if let Some((insert, entry)) = ledger.entry_of_request(statements()) {
            let entry: [(&Statement, &[Value<'_>]); 1] = [(insert, &entry)];
            conn.request(entry.iter().chain(batch).copied());
            return LedgerResults {
                before: 1,
                after: 0,
            };
        }
        if let Some(block) = ledger.joined_block(statements()) {
            return request_block(conn, &block, batch[0].1);
        }
    }
    conn.request(batch.iter().copied());
    LedgerResults::NONE
}

/// Requests a single statement as a block with an entry.
fn request_block(conn: &Conn, block: &JoinedBlock<'_>, values: &[Value<'_>]) -> LedgerResults {
    let all: [(&Statement, &[Value<'_>]); 4] = [
        (block.begin, &[]),
        (block.insert, &block.values),
        (block.statement, values),
        (block.commit, &[]),
    ];
    conn.request(all.iter().copied());
    JoinedBlock::RESULTS
}

/// Requests a batch in which a statement is replaced by one with the two values of the entry more.
fn request_combined(conn: &Conn, batch: &[(&Statement, &[Value<'_>])], write: &WriteWithEntry<'_>) {
    // Two sizes, because most statements have few values, and filling an array takes longer than adding an entry.
    match batch[write.position].1.len() + write.entry.len() {
        0..=8 => request_with_values(conn, batch, write, &mut [Value::Null; 8]),
        9..=32 => request_with_values(conn, batch, write, &mut [Value::Null; 32]),
        // Only statements with very many values allocate.
        count => request_with_values(conn, batch, write, &mut vec![Value::Null; count]),
    }
}

/// As [`request_combined`]. `space`: for the values of the combined statement.
fn request_with_values<'a>(
    conn: &Conn,
    batch: &[(&'a Statement, &'a [Value<'a>])],
    write: &WriteWithEntry<'a>,
    space: &'a mut [Value<'a>],
) {
    let own = batch[write.position].1;
    let values = &mut space[..own.len() + write.entry.len()];
    values[..own.len()].copy_from_slice(own);
    values[own.len()..].copy_from_slice(&write.entry);
    let combined: [(&Statement, &[Value<'_>]); 1] = [(write.combined, values)];
    let (before, after) = (&batch[..write.position], &batch[write.position + 1..]);
    conn.request(before.iter().chain(&combined).chain(after).copied());
}

/// The reply to a request. It borrows the handle, so it must be dropped before the next request.
#[derive(Debug)]
pub struct DbReply<'a> {
    exchange: Ref<'a, Exchange>,
    /// Results of the ledger's statements before and after the others, which users do not see.
    ledger_results: LedgerResults,
}

impl DbReply<'_> {
    /// The rows of all results, each with the number of its result from 0.
    pub fn iter(&self) -> impl Iterator<Item = (usize, WireRow<'_>)> {
        let before = self.ledger_results.before;
        let rows = self.exchange.rows();
        rows.map(move |(result, row)| (result.saturating_sub(before), row))
    }

    /// Whether rows are missing at the end, because they exceed the limit ([`Db::limit_rows`]).
    pub fn has_dropped_rows(&self) -> bool {
        self.exchange.has_dropped_rows()
    }

    pub fn first(&self) -> Option<WireRow<'_>> {
        self.iter().next().map(|(_, row)| row)
    }

    /// A value of the first row as an integer.
    pub fn int(&self, column: usize) -> Option<i64> {
        self.first()?.int(column)
    }

    /// Passes the notices and warnings of this reply to `receive`.
    #[inline]
    pub fn notices(&self, receive: impl FnMut(ServerError)) {
        if self.exchange.may_have_notices() {
            self.exchange.notices().for_each(receive);
        }
    }

    /// The names of the columns of result `result` (from 0). In the extended protocol they are sent only if
    /// the statement asks for them ([`Statement::with_columns`]) or the connection always does.
    pub fn column_names(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        self.exchange
            .column_names(self.ledger_results.before + result)
    }

    /// The number of columns of result `result` (from 0), known under the same condition as the names.
    pub fn column_count(&self, result: usize) -> usize {
        self.exchange
            .column_count(self.ledger_results.before + result)
    }

    /// How many results the reply has, including those without rows.
    pub fn result_count(&self) -> usize {
        let of_ledger = self.ledger_results.before + self.ledger_results.after;
        self.exchange.result_count().saturating_sub(of_ledger)
    }

    /// Rows that the last command changed or returned.
    pub fn affected_rows(&self) -> u64 {
        if self.ledger_results.after == 0 {
            self.exchange.affected_rows()
        } else {
            self.affected_rows_of(self.result_count().saturating_sub(1))
        }
    }

    /// Rows that the command of result `result` (from 0) changed or returned. For PostgreSQL, only the last
    /// result's number is known.
    pub fn affected_rows_of(&self, result: usize) -> u64 {
        self.exchange
            .affected_rows_of(self.ledger_results.before + result)
    }
}

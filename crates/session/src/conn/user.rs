//! Methods with which a user's handle changes the record of its connection.

use super::*;

/// Methods for a user's handle.
impl Conn {
    pub(crate) fn set_phase(&self, phase: UserPhase) {
        self.phase.set(phase);
    }

    /// The user drops its request, if it has made one: the connection is unusable for it.
    pub(crate) fn abandon_request(&self) {
        match self.phase.replace(UserPhase::Unusable) {
            UserPhase::Idle => self.phase.set(UserPhase::Idle),
            UserPhase::Busy => {}
            phase => self.accepted_phase.set(phase),
        }
    }

    pub(crate) fn sleep_until(&self, wake_ns: u64) {
        self.wake_ns.set(wake_ns);
        self.phase.set(UserPhase::Sleep);
    }

    pub(crate) fn scheduled_ns(&self) -> u64 {
        self.scheduled_ns.get()
    }

    pub(crate) fn request<'a>(
        &self,
        batch: impl Iterator<Item = (&'a Statement, &'a [Value<'a>])>,
    ) {
        let mut effect = Effect::Reads;
        let mut last_effect = Effect::Reads;
        let mut count = 0u32;
        let batch = batch.inspect(|(statement, _)| {
            count += 1;
            last_effect = statement.effect();
            if statement.effect() != Effect::Reads && effect != Effect::Commits {
                effect = statement.effect();
            }
        });
        self.exchange.borrow_mut().request(batch);
        self.ends_with_commit.set(last_effect == Effect::Commits);
        self.set_request(effect, count);
    }

    pub(crate) fn query(&self, sql: &[u8]) {
        self.exchange.borrow_mut().query(sql);
        self.ends_with_commit.set(false);
        self.set_request(Effect::Writes, 1);
    }

    /// Marks the exchange's request as ready to send: this many executions, with this effect.
    fn set_request(&self, effect: Effect, executions: u32) {
        self.pushed.set(0);
        self.effect.set(effect);
        self.executions.set(executions);
        self.phase.set(UserPhase::Send);
    }

    /// Adds an execution to the request that [`Conn::sync`] sends.
    pub(crate) fn push(&self, statement: &Statement, values: &[Value<'_>]) {
        let pushed = self.pushed.get();
        let mut exchange = self.exchange.borrow_mut();
        exchange.push(pushed == 0, statement, values);
        if pushed == 0 {
            self.effect.set(Effect::Reads);
            self.first_pushed_id.set(statement.id());
        }
        if statement.effect() != Effect::Reads && self.effect.get() != Effect::Commits {
            self.effect.set(statement.effect());
        }
        self.ends_with_commit
            .set(statement.effect() == Effect::Commits);
        self.pushed.set(pushed + 1);
    }

    pub(crate) fn limit_rows(&self, max_bytes: usize) {
        self.exchange.borrow_mut().limit_rows(max_bytes);
    }

    pub(crate) fn prepare(&self, statement: &Statement) {
        self.exchange.borrow_mut().prepare(statement);
        self.ends_with_commit.set(false);
        self.set_request(Effect::Reads, 0);
    }

    pub(crate) fn close_statement(&self, statement: &Statement) {
        self.exchange.borrow_mut().close(statement);
    }

    pub(crate) fn forget_prepared(&self) {
        self.exchange.borrow_mut().forget_prepared();
    }

    pub(crate) fn sync(&self) {
        let count = self.pushed.get();
        self.exchange.borrow_mut().sync(count == 0);
        let effect = match count {
            0 => Effect::Reads,
            _ => self.effect.get(),
        };
        self.set_request(effect, count);
    }

    pub(crate) fn set_timed_request(&self, request: Option<TimedRequest>) {
        self.timed_request.set(request);
    }

    pub(crate) fn take_timed_request(&self) -> Option<TimedRequest> {
        self.timed_request.take()
    }

    /// Number of executions in the current request.
    pub(crate) fn executions(&self) -> u32 {
        self.executions.get()
    }

    /// Number ([`Statement::id`]) of the first statement of the request that [`Conn::sync`] sends.
    pub(crate) fn first_pushed_id(&self) -> u32 {
        self.first_pushed_id.get()
    }

    /// Whether the last request, which must have succeeded, committed something. `block` is the state of the
    /// transaction block after its reply.
    pub(super) fn has_request_committed(&self, block: BlockState) -> bool {
        block == BlockState::Idle && self.effect.get() != Effect::Reads
    }

    /// The effect of the last request, by its text if it was sent as text.
    pub(crate) fn request_effect(&self) -> Effect {
        let of_text = self.exchange.borrow().text_effect();
        of_text.unwrap_or(self.effect.get())
    }

    /// Whether the text that was sent has a statement that begins with one of these words.
    pub(crate) fn text_has(&self, words: &[&str]) -> bool {
        self.exchange.borrow().text_has(words)
    }

    /// Whether the last request, whose reply has no error, ends with a commit to which the server replied that it rolled
    /// back: a statement had failed before, or the server says so for its own reasons.
    #[inline]
    pub(crate) fn is_commit_rolled_back(&self, exchange: &Exchange) -> bool {
        self.ends_with_commit.get()
            && exchange.has_rolled_back()
            // One text may be a commit and a rollback.
            && !exchange.text_has(&["rollback", "abort"])
    }

    /// Records that a request succeeded.
    pub(crate) fn record_success(&self, block: BlockState) {
        if self.has_request_committed(block) {
            self.has_committed.set(true);
        }
    }

    pub(crate) fn set_committed(&self, committed: bool) {
        self.has_committed.set(committed);
    }

    /// Whether anything in the current transaction has been committed.
    pub(crate) fn has_committed(&self) -> bool {
        self.has_committed.get()
    }

    pub(crate) fn block_state(&self) -> BlockState {
        self.exchange.borrow().block_state()
    }

    pub(crate) fn exchange(&self) -> Ref<'_, Exchange> {
        self.exchange.borrow()
    }

    pub(crate) fn failure(&self) -> DbError {
        let failure = self.failure.borrow().clone();
        failure.unwrap_or_else(|| DbError::lost("the connection is not up".to_owned(), false))
    }

    pub(crate) fn start(&self, transaction: CurrentTransaction) {
        self.transaction.set(transaction);
        self.has_committed.set(false);
        self.in_transaction.set(true);
    }

    /// Ends the transaction with this outcome.
    pub(crate) fn end(&self, outcome: Outcome) -> Sample {
        self.in_transaction.set(false);
        let transaction = self.transaction.get();
        Sample {
            kind: transaction.kind,
            outcome,
            scheduled_ns: transaction.scheduled_ns,
            started_ns: transaction.started_ns,
            ended_ns: self.noticed_ns.get(),
            connect_ns: transaction.connect_ns,
            retries: transaction.retries,
            parts: (!transaction.lacks_timestamp).then_some(transaction.parts),
        }
    }
}

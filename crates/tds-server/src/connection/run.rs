//! Runs requests: transactions, prepared statements, and what the handler answers.

use super::*;

impl Connection {
    pub(super) fn has_descriptor(&self, descriptor: u64, reply: &mut ReplyWriter) -> bool {
        let is_right = descriptor == self.transaction;
        if !is_right {
            let text = "New request is not allowed to start because it should come with valid \
                        transaction descriptor.";
            reply.error((3989, 1, 16), text);
            reply.done(DONE, ERROR, 0, 0);
        }
        is_right
    }

    fn begin(&mut self, reply: &mut ReplyWriter) {
        self.transactions += 1;
        self.transaction = 0x2a_0000_0000 + self.transactions;
        reply.env_bytes(8, &self.transaction.to_le_bytes(), &[]);
    }

    fn end(&mut self, commits: bool, reply: &mut ReplyWriter) {
        let kind = if commits { 9 } else { 10 };
        reply.env_bytes(kind, &[], &self.transaction.to_le_bytes());
        self.transaction = 0;
    }

    pub(super) fn manage(&mut self, kind: u16, begins: bool, reply: &mut ReplyWriter) {
        match (kind, self.transaction) {
            (5, _) => self.begin(reply),
            (7 | 8, 0) => {
                reply.error(
                    (3902, 1, 16),
                    "The COMMIT TRANSACTION request has no transaction.",
                );
                return reply.done(DONE, ERROR, 0, 0);
            }
            (7 | 8, _) => {
                self.end(kind == 7, reply);
                if begins {
                    self.begin(reply);
                }
            }
            _ => {}
        }
        reply.done(DONE, 0, 0, 0);
    }

    /// Runs a text; false: it does not end by itself.
    pub(super) fn batch(&mut self, text: &str, reply: &mut ReplyWriter) -> bool {
        let statements: Vec<&str> = split(text);
        for (index, statement) in statements.iter().enumerate() {
            let more = if index + 1 < statements.len() {
                MORE
            } else {
                0
            };
            match self.statement(statement, &[], DONE, more, reply) {
                Ended::Next => {}
                Ended::Aborted => return true,
                Ended::Hanging => return false,
            }
        }
        true
    }

    pub(super) fn call(&mut self, call: &Rpc, more: u16, reply: &mut ReplyWriter) -> bool {
        let number = match &call.procedure {
            Procedure::Id(number) => *number,
            Procedure::Name(name) => {
                return self.routine(&name.clone(), &call.parameters, None, more, reply);
            }
        };
        let parameters = &call.parameters;
        let text = |index: usize| match &parameters[index].value {
            Datum::Text(text) => text.clone(),
            value => panic!("{value:?} is not nvarchar"),
        };
        match number {
            10 => {
                let values = parameters.get(2..).unwrap_or_default();
                let declared = parameters.get(1).map(|_| text(1)).unwrap_or_default();
                assert_eq!(declared.matches('@').count(), values.len(), "declarations");
                self.routine(&text(0), values, None, more, reply)
            }
            11 | 13 => {
                assert!(parameters[0].output, "the handle is returned");
                let handle = self.next_handle;
                self.next_handle += 1;
                self.handles.insert(handle, text(2));
                match number {
                    13 => self.routine(&text(2), &parameters[3..], Some(handle), more, reply),
                    _ => {
                        reply.return_status(0);
                        reply.return_int("", handle);
                        reply.done(DONE_PROC, more, 0xe0, 0);
                        true
                    }
                }
            }
            12 | 15 => {
                let Datum::Int(handle) = parameters[0].value else {
                    panic!("a handle is a number");
                };
                let known = match number {
                    12 => self.handles.get(&(handle as i32)).cloned(),
                    _ => self.handles.remove(&(handle as i32)),
                };
                let Some(known) = known else {
                    let text = format!("Could not find prepared statement with handle {handle}.");
                    reply.error((8179, 4, 16), &text);
                    reply.done(DONE_PROC, ERROR | more, 0xe0, 0);
                    return true;
                };
                if number == 15 {
                    reply.return_status(0);
                    reply.done(DONE_PROC, more, 0xe0, 0);
                    return true;
                }
                self.routine(&known, &parameters[1..], None, more, reply)
            }
            number => panic!("procedure {number}"),
        }
    }

    /// Runs a text inside an RPC; false: it does not end by itself.
    fn routine(
        &mut self,
        text: &str,
        values: &[Parameter],
        handle: Option<i32>,
        more: u16,
        reply: &mut ReplyWriter,
    ) -> bool {
        let before = self.transaction;
        let mut failed = 0;
        for statement in split(text) {
            match self.statement(statement, values, DONE_IN_PROC, MORE, reply) {
                Ended::Next => {}
                Ended::Aborted => {
                    failed = ERROR;
                    break;
                }
                Ended::Hanging => return false,
            }
        }
        if failed == 0 && (before == 0) != (self.transaction == 0) {
            let text = "Transaction count after EXECUTE indicates a mismatching number of BEGIN and \
                        COMMIT statements. Previous count = 0, current count = 1.";
            reply.error((266, 2, 16), text);
            failed = ERROR;
        }
        reply.return_status(0);
        if let Some(handle) = handle {
            reply.return_int("", handle);
        }
        reply.done(DONE_PROC, failed | more, 0xe0, 0);
        true
    }

    fn statement(
        &mut self,
        statement: &str,
        values: &[Parameter],
        done: u8,
        more: u16,
        reply: &mut ReplyWriter,
    ) -> Ended {
        let words = statement.rsplit("*/").next().unwrap_or_default();
        let words = words.trim().to_ascii_lowercase();
        if words.starts_with("begin tran") {
            self.begin(reply);
        } else if words.starts_with("commit") || words.starts_with("rollback") {
            if self.transaction == 0 {
                reply.error(
                    (3902, 1, 16),
                    "The request has no corresponding BEGIN TRANSACTION.",
                );
                reply.done(done, ERROR | more, 0, 0);
                return Ended::Next;
            }
            self.end(words.starts_with("commit"), reply);
        } else if words.starts_with("insert bulk") {
            self.bulk = Some(statement.trim().to_owned());
        } else {
            let config = self.config.clone();
            for outcome in (config.handler)(statement, values) {
                match self.outcome(outcome, done, more, reply) {
                    Ended::Next => {}
                    ended => return ended,
                }
            }
            return Ended::Next;
        }
        reply.done(done, more, 0xd4, 0);
        Ended::Next
    }

    fn outcome(&mut self, outcome: Outcome, done: u8, more: u16, reply: &mut ReplyWriter) -> Ended {
        match outcome {
            Outcome::Rows(columns, rows) => {
                reply.columns(&columns);
                rows.iter().for_each(|row| reply.row(&columns, row));
                reply.done(done, COUNT | more, 0xc1, rows.len() as u64);
            }
            Outcome::CompressedRows(columns, rows) => {
                reply.columns(&columns);
                rows.iter()
                    .for_each(|row| reply.compressed_row(&columns, row));
                reply.done(done, COUNT | more, 0xc1, rows.len() as u64);
            }
            Outcome::Count(count) => reply.done(done, COUNT | more, 0xc5, count),
            Outcome::Done => reply.done(done, more, 0xc0, 0),
            Outcome::Info(number, text) => reply.info(number, 0, &text),
            Outcome::Raw(bytes) => reply.raw(&bytes),
            Outcome::Hang => return Ended::Hanging,
            Outcome::Error(number, state, level, text) => {
                let aborts = ROLLS_BACK.contains(&number);
                if aborts && self.transaction != 0 {
                    self.end(false, reply);
                }
                reply.error((number, state, level), &text);
                let more = if aborts && done == DONE { 0 } else { more };
                reply.done(done, ERROR | more, 0, 0);
                if aborts {
                    return Ended::Aborted;
                }
            }
        }
        Ended::Next
    }
}

/// How a statement ended.
enum Ended {
    Next,
    /// The batch ends with it.
    Aborted,
    Hanging,
}

/// Statements between semicolons outside of quotes.
fn split(text: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = text.split(|character| {
        quoted ^= character == '\'';
        character == ';' && !quoted
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

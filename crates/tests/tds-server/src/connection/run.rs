//! Runs requests: transactions, prepared statements, and the handler's outcomes.

use super::*;
use crate::syntax::syntax_error;

// Numbers of system procedures (MS-TDS 2.2.6.6).
const SP_EXECUTESQL: u16 = 10;
const SP_PREPARE: u16 = 11;
const SP_EXECUTE: u16 = 12;
const SP_PREPEXEC: u16 = 13;
const SP_UNPREPARE: u16 = 15;

impl Connection {
    /// Returns whether a request has the descriptor of the open transaction; if not, writes the server's
    /// error.
    pub(super) fn check_descriptor(&self, descriptor: u64, reply: &mut ReplyWriter) -> bool {
        let is_current = descriptor == self.transaction_descriptor;
        if !is_current {
            let text = "New request is not allowed to start because it should come with valid \
                        transaction descriptor.";
            reply.error((3989, 1, 16), text);
            reply.done(DONE, ERROR, 0, 0);
        }
        is_current
    }

    fn require_sql(&self, text: &str) {
        if self.parses_sql {
            assert_eq!(syntax_error(text), None);
        }
    }

    fn begin_transaction(&mut self, reply: &mut ReplyWriter) {
        self.transactions_begun += 1;
        self.transaction_descriptor = 0x2a_0000_0000 + self.transactions_begun;
        reply.env_change_bytes(8, &self.transaction_descriptor.to_le_bytes(), &[]);
    }

    fn end_transaction(&mut self, commits: bool, reply: &mut ReplyWriter) {
        let change_type = if commits { 9 } else { 10 };
        reply.env_change_bytes(change_type, &[], &self.transaction_descriptor.to_le_bytes());
        self.transaction_descriptor = 0;
    }

    /// Runs a batch; returns false if the batch hangs until an attention.
    pub(super) fn run_batch(&mut self, text: &str, reply: &mut ReplyWriter) -> bool {
        self.require_sql(text);
        let statements: Vec<&str> = split_statements(text);
        for (index, statement) in statements.iter().enumerate() {
            let more_flag = if index + 1 < statements.len() { MORE } else { 0 };
            match self.run_statement(statement, &[], DONE, more_flag, reply) {
                StatementEnd::Next => {}
                StatementEnd::Aborted => return true,
                StatementEnd::Hanging => return false,
            }
        }
        true
    }

    /// Runs an RPC; returns false if the call hangs until an attention.
    pub(super) fn run_rpc(&mut self, call: &Rpc, more_flag: u16, reply: &mut ReplyWriter) -> bool {
        let number = match &call.procedure {
            Procedure::Id(number) => *number,
            Procedure::Name(name) => {
                return self.run_text_in_rpc(
                    &name.clone(),
                    &call.parameters,
                    None,
                    more_flag,
                    reply,
                );
            }
        };
        let parameters = &call.parameters;
        let text = |index: usize| match &parameters[index].value {
            Datum::Text(text) => text.clone(),
            value => panic!("{value:?} is not nvarchar"),
        };
        match number {
            SP_EXECUTESQL => {
                self.require_sql(&text(0));
                let values = parameters.get(2..).unwrap_or_default();
                let declarations = parameters.get(1).map(|_| text(1)).unwrap_or_default();
                assert_eq!(
                    declarations.matches('@').count(),
                    values.len(),
                    "declarations"
                );
                self.run_text_in_rpc(&text(0), values, None, more_flag, reply)
            }
            SP_PREPARE | SP_PREPEXEC => {
                assert!(parameters[0].is_output, "the handle is returned");
                self.require_sql(&text(2));
                let handle = self.next_handle;
                self.next_handle += 1;
                self.prepared_texts.insert(handle, text(2));
                match number {
                    SP_PREPEXEC => self.run_text_in_rpc(
                        &text(2),
                        &parameters[3..],
                        Some(handle),
                        more_flag,
                        reply,
                    ),
                    _ => {
                        let refusals = &self.config.refused_preparations;
                        let refusal = refusals.iter().find(|(part, ..)| text(2).contains(part));
                        if let Some((_, number, message)) = refusal {
                            reply.error((*number, 1, 16), message);
                            reply.error((8180, 1, 16), "Statement(s) could not be prepared.");
                            reply.done(DONE_PROC, ERROR | more_flag, 0xe0, 0);
                            return true;
                        }
                        reply.return_status(0);
                        reply.return_value_int("", handle);
                        reply.done(DONE_PROC, more_flag, 0xe0, 0);
                        true
                    }
                }
            }
            SP_EXECUTE | SP_UNPREPARE => {
                let Datum::Int(handle) = parameters[0].value else {
                    panic!("a handle is a number");
                };
                let prepared = match number {
                    SP_EXECUTE => self.prepared_texts.get(&(handle as i32)).cloned(),
                    _ => self.prepared_texts.remove(&(handle as i32)),
                };
                let Some(prepared) = prepared else {
                    let text = format!("Could not find prepared statement with handle {handle}.");
                    reply.error((8179, 4, 16), &text);
                    reply.done(DONE_PROC, ERROR | more_flag, 0xe0, 0);
                    return true;
                };
                if number == SP_UNPREPARE {
                    reply.return_status(0);
                    reply.done(DONE_PROC, more_flag, 0xe0, 0);
                    return true;
                }
                self.run_text_in_rpc(&prepared, &parameters[1..], None, more_flag, reply)
            }
            number => panic!("procedure {number}"),
        }
    }

    /// Runs a text inside an RPC, and writes `handle`, if given, as a return value. Returns false if the text
    /// hangs until an attention.
    fn run_text_in_rpc(
        &mut self,
        text: &str,
        values: &[Parameter],
        handle: Option<i32>,
        more_flag: u16,
        reply: &mut ReplyWriter,
    ) -> bool {
        let descriptor_before = self.transaction_descriptor;
        let mut error_flag = 0;
        for statement in split_statements(text) {
            match self.run_statement(statement, values, DONE_IN_PROC, MORE, reply) {
                StatementEnd::Next => {}
                StatementEnd::Aborted => {
                    error_flag = ERROR;
                    break;
                }
                StatementEnd::Hanging => return false,
            }
        }
        if error_flag == 0 && (descriptor_before == 0) != (self.transaction_descriptor == 0) {
            let text = "Transaction count after EXECUTE indicates a mismatching number of BEGIN and \
                        COMMIT statements. Previous count = 0, current count = 1.";
            reply.error((266, 2, 16), text);
            error_flag = ERROR;
        }
        reply.return_status(0);
        if let Some(handle) = handle {
            reply.return_value_int("", handle);
        }
        reply.done(DONE_PROC, error_flag | more_flag, 0xe0, 0);
        true
    }

    fn run_statement(
        &mut self,
        statement: &str,
        values: &[Parameter],
        done_token: u8,
        more_flag: u16,
        reply: &mut ReplyWriter,
    ) -> StatementEnd {
        let sql = statement.rsplit("*/").next().unwrap_or_default();
        let sql = sql.trim().to_ascii_lowercase();
        if sql.starts_with("begin tran") {
            self.begin_transaction(reply);
        } else if sql.starts_with("commit") || sql.starts_with("rollback") {
            if self.transaction_descriptor == 0 {
                reply.error(
                    (3902, 1, 16),
                    "The request has no corresponding BEGIN TRANSACTION.",
                );
                reply.done(done_token, ERROR | more_flag, 0, 0);
                return StatementEnd::Next;
            }
            self.end_transaction(sql.starts_with("commit"), reply);
        } else if sql.starts_with("insert bulk") {
            self.announced_bulk = Some(statement.trim().to_owned());
        } else {
            let config = self.config.clone();
            for outcome in (config.handler)(statement, values) {
                match self.write_outcome(outcome, done_token, more_flag, reply) {
                    StatementEnd::Next => {}
                    end => return end,
                }
            }
            return StatementEnd::Next;
        }
        reply.done(done_token, more_flag, 0xd4, 0);
        StatementEnd::Next
    }

    fn write_outcome(
        &mut self,
        outcome: Outcome,
        done_token: u8,
        more_flag: u16,
        reply: &mut ReplyWriter,
    ) -> StatementEnd {
        match outcome {
            Outcome::Rows(columns, rows) => {
                reply.columns(&columns);
                rows.iter().for_each(|row| reply.row(&columns, row));
                reply.done(done_token, COUNT | more_flag, 0xc1, rows.len() as u64);
            }
            Outcome::CompressedRows(columns, rows) => {
                reply.columns(&columns);
                rows.iter()
                    .for_each(|row| reply.compressed_row(&columns, row));
                reply.done(done_token, COUNT | more_flag, 0xc1, rows.len() as u64);
            }
            Outcome::Count(count) => reply.done(done_token, COUNT | more_flag, 0xc5, count),
            Outcome::Done => reply.done(done_token, more_flag, 0xc0, 0),
            Outcome::Info(number, text) => reply.info(number, 0, &text),
            Outcome::Raw(bytes) => reply.raw_tokens(&bytes),
            Outcome::Hang => return StatementEnd::Hanging,
            Outcome::Error(number, state, level, text) => {
                let rolls_back = ERRORS_THAT_ROLL_BACK.contains(&number);
                if rolls_back && self.transaction_descriptor != 0 {
                    self.end_transaction(false, reply);
                }
                reply.error((number, state, level), &text);
                let more_flag = if rolls_back && done_token == DONE { 0 } else { more_flag };
                reply.done(done_token, ERROR | more_flag, 0, 0);
                if rolls_back {
                    return StatementEnd::Aborted;
                }
            }
        }
        StatementEnd::Next
    }
}

enum StatementEnd {
    /// The next statement runs.
    Next,
    /// The statement failed and ended its batch.
    Aborted,
    /// The statement hangs until an attention.
    Hanging,
}

/// Splits a text into statements at semicolons outside of quotes.
fn split_statements(text: &str) -> Vec<&str> {
    let mut in_quotes = false;
    let parts = text.split(|character| {
        in_quotes ^= character == '\'';
        character == ';' && !in_quotes
    });
    parts.filter(|part| !part.trim().is_empty()).collect()
}

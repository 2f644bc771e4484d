//! The content of a reply, for all protocols.

use super::*;

/// Evaluates an expression with the reply of the connection's protocol. The types of these replies have methods of the
/// same names, but no common trait.
macro_rules! of_reply {
    ($self:ident, $reply:ident => $expression:expr) => {
        match &$self.state {
            ProtocolState::Postgres { reply: $reply, .. } => $expression,
            ProtocolState::Mysql(mysql) => {
                let $reply = &mysql.reply;
                $expression
            }
            ProtocolState::Tds(tds) => {
                let $reply = &tds.reply;
                $expression
            }
        }
    };
}

impl Exchange {
    pub fn error(&self) -> Option<ServerError> {
        match &self.state {
            ProtocolState::Postgres { reply, .. } => reply.error().map(postgres::parse_error),
            ProtocolState::Mysql(mysql) => mysql.error(),
            ProtocolState::Tds(tds) => tds.reply.server_error(),
        }
    }

    /// The fields that identify the reply's error, without a copy.
    pub fn error_summary(&self) -> Option<ErrorSummary<'_>> {
        match &self.state {
            ProtocolState::Postgres { reply, .. } => reply.error().map(postgres::error::summary),
            ProtocolState::Mysql(mysql) => mysql.error_summary(),
            ProtocolState::Tds(tds) => tds.reply.error_summary(),
        }
    }

    /// Whether the last command of a reply without an error rolled back. Only PostgreSQL reports this, also as its answer
    /// to the COMMIT of a failed block.
    #[inline]
    pub fn has_rolled_back(&self) -> bool {
        match &self.state {
            ProtocolState::Postgres { reply, .. } => reply.has_rolled_back(),
            ProtocolState::Mysql(_) | ProtocolState::Tds(_) => false,
        }
    }

    pub fn started_copy(&self) -> bool {
        matches!(&self.state, ProtocolState::Postgres { reply, .. } if reply.copy().is_some())
    }

    /// Whether [`Exchange::notices`] may have any. PostgreSQL's are counted; SQL Server's are found only by a search.
    #[inline]
    pub fn may_have_notices(&self) -> bool {
        match &self.state {
            ProtocolState::Postgres { reply, .. } => reply.has_notices(),
            ProtocolState::Mysql(_) => false,
            ProtocolState::Tds(_) => true,
        }
    }

    /// Notices and warnings that came with the reply. MySQL only reports the number of its warnings.
    pub fn notices(&self) -> impl Iterator<Item = ServerError> {
        // The iterators of both protocols are chained because the function returns one type: one of them is empty.
        let replies = self.reply_by_protocol();
        let postgres_notices = replies.postgres.into_iter().flat_map(Reply::notices);
        let tds_notices = replies.tds.into_iter().flat_map(tds::reply::Reply::notices);
        postgres_notices
            .map(postgres::parse_error)
            .chain(tds_notices)
    }

    /// Adds the parameters that the server reported with the reply. MySQL and SQL Server
    /// report none.
    pub fn add_parameters(&self, parameters: &mut Parameters) -> Result<(), ConnectError> {
        if let ProtocolState::Postgres { reply, .. } = &self.state {
            for body in reply.parameter_reports() {
                parameters.add(body)?;
            }
        }
        Ok(())
    }

    /// The error that the server sent before it closed the connection, if any.
    pub fn final_error(&self) -> Option<ServerError> {
        match &self.state {
            ProtocolState::Postgres { reply, .. } => reply.final_error().map(postgres::parse_error),
            ProtocolState::Mysql(mysql) => mysql.final_error(),
            ProtocolState::Tds(tds) => tds.reply.final_error(),
        }
    }

    /// Whether rows of the reply were dropped, because they exceed the limit ([`Exchange::limit_rows`]).
    pub fn has_dropped_rows(&self) -> bool {
        of_reply!(self, reply => reply.rows_kept.has_dropped())
    }

    /// State of the session's transaction block after the last reply.
    pub fn block_state(&self) -> BlockState {
        of_reply!(self, reply => reply.block_state())
    }

    pub fn has_surplus_bytes(&self) -> bool {
        of_reply!(self, reply => reply.has_surplus_bytes())
    }

    /// Whether several statements of the request share a round trip; `executed_statements`: how many it
    /// executes.
    pub fn shares_round_trip(&self, executed_statements: u32) -> bool {
        match &self.state {
            ProtocolState::Postgres { .. } => executed_statements > 1,
            ProtocolState::Mysql(mysql) => {
                mysql.codec.execution_round_trips() < executed_statements as usize
            }
            ProtocolState::Tds(tds) => tds.codec.message_count() < executed_statements as usize,
        }
    }

    /// Number of rows that the last command changed or returned.
    pub fn affected_rows(&self) -> u64 {
        of_reply!(self, reply => reply.affected_rows())
    }

    /// Number of rows that the command of result `result` (from 0) changed or returned. On PostgreSQL, always
    /// the number of the last command, because no other is stored.
    pub fn affected_rows_of(&self, result: usize) -> u64 {
        of_reply!(self, reply => reply.affected_rows_of(result))
    }

    /// The names of the columns of result `result` (from 0); none if the server described none.
    pub fn column_names(&self, result: usize) -> impl Iterator<Item = &[u8]> {
        let replies = self.reply_by_protocol();
        let postgres_names = replies
            .postgres
            .into_iter()
            .flat_map(move |reply| reply.column_names(result));
        let mysql_names = replies
            .mysql
            .into_iter()
            .flat_map(move |reply| reply.column_names(result));
        let tds_names = replies
            .tds
            .into_iter()
            .flat_map(move |reply| reply.column_names(result));
        postgres_names.chain(mysql_names).chain(tds_names)
    }

    /// Number of columns of result `result` (from 0); 0 if the server described none.
    pub fn column_count(&self, result: usize) -> usize {
        of_reply!(self, reply => reply.column_count(result))
    }

    /// Number of results in the reply, including those without rows.
    pub fn result_count(&self) -> usize {
        of_reply!(self, reply => reply.result_count())
    }

    /// The rows of all results of the reply, each with the number of its result from 0.
    pub fn rows(&self) -> impl Iterator<Item = (usize, WireRow<'_>)> {
        let replies = self.reply_by_protocol();
        let postgres_rows = replies.postgres.into_iter().flat_map(Reply::rows);
        let mysql_rows = replies
            .mysql
            .into_iter()
            .flat_map(mysql::reply::Reply::rows);
        let tds_rows = replies.tds.into_iter().flat_map(tds::reply::Reply::rows);
        postgres_rows
            .map(|(result, row)| (result, row.into()))
            .chain(mysql_rows.map(|(result, row)| (result, row.into())))
            .chain(tds_rows.map(|(result, row)| (result, row.into())))
    }

    fn reply_by_protocol(&self) -> ReplyByProtocol<'_> {
        let mut replies = ReplyByProtocol::default();
        match &self.state {
            ProtocolState::Postgres { reply, .. } => replies.postgres = Some(reply),
            ProtocolState::Mysql(mysql) => replies.mysql = Some(&mysql.reply),
            ProtocolState::Tds(tds) => replies.tds = Some(&tds.reply),
        }
        replies
    }
}

/// The reply of the connection's protocol; the others are `None`. An iterator over a part of the reply is the chain of
/// the protocols' iterators, because it must have one type.
#[derive(Default)]
struct ReplyByProtocol<'a> {
    postgres: Option<&'a Reply>,
    mysql: Option<&'a mysql::reply::Reply>,
    tds: Option<&'a tds::reply::Reply>,
}

//! The content of a reply, for all protocols.

use super::*;

/// The same expression of the reply of each protocol.
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

    /// Whether the last command of a reply without an error rolled back. Only PostgreSQL tells; it answers a COMMIT so if
    /// the block had failed.
    #[inline]
    pub fn has_rolled_back(&self) -> bool {
        match &self.state {
            ProtocolState::Postgres { reply, .. } => reply.has_rolled_back(),
            ProtocolState::Mysql(_) | ProtocolState::Tds(_) => false,
        }
    }

    pub fn started_copy(&self) -> bool {
        let (postgres, ..) = self.reply_by_protocol();
        postgres.is_some_and(|reply| reply.copy().is_some())
    }

    /// Whether [`Exchange::notices`] may have any: PostgreSQL's are counted, and few replies have one.
    #[inline]
    pub fn may_have_notices(&self) -> bool {
        let (postgres, _, tds) = self.reply_by_protocol();
        postgres.is_some_and(Reply::has_notices) || tds.is_some()
    }

    /// Notices and warnings that came with the reply. MySQL only reports the number of its warnings.
    pub fn notices(&self) -> impl Iterator<Item = ServerError> {
        let (postgres, _, tds) = self.reply_by_protocol();
        let postgres = postgres.into_iter().flat_map(Reply::notices);
        let tds = tds.into_iter().flat_map(tds::reply::Reply::notices);
        postgres.map(postgres::parse_error).chain(tds)
    }

    /// Adds the parameters that the server reported with the reply. MySQL and SQL Server
    /// report none.
    pub fn add_parameters(&self, parameters: &mut Parameters) -> Result<(), ConnectError> {
        let (postgres, ..) = self.reply_by_protocol();
        let mut reported = postgres.into_iter().flat_map(Reply::parameter_reports);
        reported.try_for_each(|body| parameters.add(body))
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
        let (postgres, mysql, tds) = self.reply_by_protocol();
        let postgres = postgres.into_iter();
        let postgres = postgres.flat_map(move |reply| reply.column_names(result));
        let mysql = mysql.into_iter();
        let mysql = mysql.flat_map(move |reply| reply.column_names(result));
        let tds = tds
            .into_iter()
            .flat_map(move |reply| reply.column_names(result));
        postgres.chain(mysql).chain(tds)
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
        let (postgres, mysql, tds) = self.reply_by_protocol();
        let postgres = postgres.into_iter().flat_map(Reply::rows);
        let mysql = mysql.into_iter().flat_map(mysql::reply::Reply::rows);
        let tds = tds.into_iter().flat_map(tds::reply::Reply::rows);
        postgres
            .map(|(result, row)| (result, row.into()))
            .chain(mysql.map(|(result, row)| (result, row.into())))
            .chain(tds.map(|(result, row)| (result, row.into())))
    }

    #[allow(clippy::type_complexity)]
    fn reply_by_protocol(
        &self,
    ) -> (
        Option<&Reply>,
        Option<&mysql::reply::Reply>,
        Option<&tds::reply::Reply>,
    ) {
        match &self.state {
            ProtocolState::Postgres { reply, .. } => (Some(reply), None, None),
            ProtocolState::Mysql(mysql) => (None, Some(&mysql.reply), None),
            ProtocolState::Tds(tds) => (None, None, Some(&tds.reply)),
        }
    }
}

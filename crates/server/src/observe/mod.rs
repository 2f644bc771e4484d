//! Observes a server and its machine.
//!
//! In: a control connection; the files of this machine, or the URL of a node_exporter. Out: version
//! and settings ([`ServerFacts`]), state ([`ServerState`](prony_document::ServerState)), counters that are read repeatedly
//! ([`Counters`]), and the machine's usage ([`machine`]). Must never: change a setting, return zero
//! for a value that could not be read, fail a run because a view does not exist or is not allowed, or
//! return a setting that may contain a secret.

mod connection_limits;
pub mod counters;
mod durability;
mod facts;
mod log_position;
pub mod machine;
mod ping;
mod pooler;
mod sqlserver_facts;
mod state;

pub use connection_limits::{AccountLimits, read_account_limits};
pub use counters::{ActivityKind, CounterReader, Counters};
pub(crate) use facts::may_be_secret;
pub use facts::{ServerFacts, read_server_facts};
pub use log_position::{
    GALERA_STATE, is_galera, is_galera_cut_off, is_read_only, is_replica, only_reads,
    read_log_position,
};
pub use ping::{measure_round_trip, measure_round_trips};
pub use state::read_server_state;

use crate::control::{Control, Error, TextRow};
use prony_document::{MissingObservation, ObservedTopic};
use prony_wire::Protocol;

/// Reads what this user may see, and lists what the server refuses. Each reading fails only if the connection is lost.
struct Reader<'a> {
    control: &'a mut Control,
    missing: Vec<MissingObservation>,
}

impl Reader<'_> {
    fn miss(&mut self, topic: ObservedTopic, reason: impl Into<String>) {
        self.missing.push(MissingObservation::new(topic, reason));
    }

    /// The rows of a query; `None` if the server refuses it, or the topic is listed as absent.
    fn rows(&mut self, topic: ObservedTopic, sql: &str) -> Result<Option<Vec<TextRow>>, Error> {
        let is_absent = |missing: &MissingObservation| missing.absent && missing.what == topic;
        if self.missing.iter().any(is_absent) {
            return Ok(None);
        }
        match self.control.query(sql) {
            Ok(rows) => Ok(Some(rows)),
            Err(error) if error.is_lost() => Err(error),
            Err(error) => {
                self.miss(topic, first_line(&error));
                Ok(None)
            }
        }
    }

    /// What `parse` makes of the first row.
    fn first<T>(
        &mut self,
        topic: ObservedTopic,
        sql: &str,
        parse: impl FnOnce(&TextRow) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let rows = self.rows(topic, sql)?;
        Ok(rows.as_deref().and_then(<[TextRow]>::first).and_then(parse))
    }

    /// What `parse` makes of each row.
    fn each<T>(
        &mut self,
        topic: ObservedTopic,
        sql: &str,
        parse: impl FnMut(&TextRow) -> Option<T>,
    ) -> Result<Option<Vec<T>>, Error> {
        let rows = self.rows(topic, sql)?;
        Ok(rows.map(|rows| rows.iter().filter_map(parse).collect()))
    }
}

fn first_line(error: &Error) -> String {
    let text = match error {
        // SQL Server's message is on the second line.
        Error::Statement(error) if error.protocol == Protocol::Tds => error.message.clone(),
        error => error.to_string(),
    };
    text.lines().next().unwrap_or_default().trim().to_owned()
}

fn cell(row: &TextRow, column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}

fn first_cell(row: &TextRow) -> Option<String> {
    cell(row, 0).map(str::to_owned)
}

fn number<T: std::str::FromStr>(row: &TextRow, column: usize) -> Option<T> {
    cell(row, column)?.parse().ok()
}

/// A cell as a count. The server may report a statistic slightly below zero, or a sum as a decimal.
fn tally(row: &TextRow, column: usize) -> Option<u64> {
    let value: f64 = number(row, column)?;
    value.is_finite().then(|| value.max(0.0) as u64)
}

//! The statements of `bulk_insert`: each has as many rows as fit into a packet.
//!
//! Builds the text for a user's table, starting after its highest id. Must never use an id
//! twice, or allocate after the first full packet.
//!
//! In sysbench each thread has its own table, and an event adds one row to the packet; only the event
//! that fills the packet sends it. Here a transaction is one `INSERT` of a full packet, so that its time
//! is meaningful, unless
//! [`OltpPolicy::counts_rows_as_events`](super::policy::OltpPolicy::counts_rows_as_events) is set.
//! If there are fewer tables than users, several users share a table.

use super::statements;
use prony_document::SqlDialect;
use prony_session::UserId;

/// Maximum size of a statement in bytes.
pub const PACKET_BYTES: usize = 512 * 1024;

/// Maximum number of rows of a statement, in addition to the limit of its size ([`PACKET_BYTES`]).
pub fn statement_rows_max(dialect: SqlDialect) -> u32 {
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => u32::MAX,
        // The server refuses more (error 10738).
        SqlDialect::TransactSql => 1_000,
    }
}

/// Builds the `INSERT` statements of one user, one at a time.
#[derive(Debug)]
pub struct InsertBuilder {
    text: String,
    /// Length of the text before the rows, in bytes.
    prefix_len: usize,
    next_id: u64,
    /// Difference between consecutive ids.
    id_step: u64,
    /// Number of rows in the statement.
    rows: u32,
    rows_max: u32,
}

impl InsertBuilder {
    /// A builder for a user's statements; `highest_ids` holds the highest id in each table. A statement has
    /// at most `rows_max` rows.
    pub fn new(id: UserId, highest_ids: &[u64], rows_max: u32) -> InsertBuilder {
        let tables = highest_ids.len().max(1) as u64;
        let (client, clients) = (u64::from(id.client), u64::from(id.clients.max(1)));
        let (table, position) = (client % tables, client / tables);
        let text = insert_prefix(table as u32 + 1);
        InsertBuilder {
            prefix_len: text.len(),
            text,
            next_id: highest_ids.get(table as usize).copied().unwrap_or(0) + 1 + position,
            // The users of a table take ids in turn, so the step is the number of its users.
            id_step: (clients - table).div_ceil(tables).max(1),
            rows: 0,
            rows_max,
        }
    }

    /// Fills the statement with the next rows, and returns it.
    pub fn fill(&mut self) -> &str {
        self.clear();
        while self.push_row() {}
        &self.text
    }

    /// Adds the next row; returns false if the statement is full.
    pub fn push_row(&mut self) -> bool {
        let mut number = itoa::Buffer::new();
        let digits = number.format(self.next_id);
        let is_full = self.text.len() + 2 * digits.len() + 4 > PACKET_BYTES;
        if is_full || self.rows == self.rows_max {
            return false;
        }
        self.rows += 1;
        if self.rows > 1 {
            self.text.push(',');
        }
        for piece in ["(", digits, ",", digits, ")"] {
            self.text.push_str(piece);
        }
        self.next_id += self.id_step;
        true
    }

    /// The statement with the rows added so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_empty(&self) -> bool {
        self.text.len() == self.prefix_len
    }

    /// Removes all rows from the statement.
    pub fn clear(&mut self) {
        self.text.truncate(self.prefix_len);
        self.rows = 0;
    }
}

/// The beginning of the statement, before its rows.
pub fn insert_prefix(table: u32) -> String {
    format!("INSERT INTO {} VALUES", statements::table_name(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use std::collections::HashSet;

    fn user(client: u32, clients: u32) -> UserId {
        UserId {
            client,
            clients,
            worker: 0,
            workers: 1,
            seed: 1,
        }
    }

    #[test]
    fn packets_are_full_and_continue_after_the_previous_one() {
        let mut packet = InsertBuilder::new(user(0, 1), &[0], u32::MAX);
        let first = packet.fill().to_owned();
        first.assert_starts_with("INSERT INTO sbtest1 VALUES(1,1),(2,2),");
        assert!(first.len() <= PACKET_BYTES && first.len() > PACKET_BYTES - 20);
        let rows = first.matches('(').count();
        let second = packet.fill();
        let next = rows + 1;
        second.assert_starts_with(&format!("INSERT INTO sbtest1 VALUES({next},{next}),"));
    }

    #[test]
    fn users_of_one_table_never_insert_the_same_id() {
        let mut ids = HashSet::new();
        for client in 0..5 {
            // Clients 0, 2 and 4 share the first table, 1 and 3 the second.
            let mut packet = InsertBuilder::new(user(client, 5), &[0, 100], u32::MAX);
            let table = client % 2 + 1;
            let text = packet.fill();
            let rows = text.strip_prefix(&insert_prefix(table)).expect("its table");
            for row in rows.split("),") {
                let number = row.split(['(', ',']).nth(1).expect("a number");
                let number: u64 = number.parse().expect("a number");
                assert!(table == 1 || number > 100);
                assert!(ids.insert((table, number)), "{number} twice in {table}");
            }
        }
        assert!(ids.contains(&(1, 1)) && ids.contains(&(1, 2)) && ids.contains(&(1, 3)));
        assert!(ids.contains(&(2, 101)) && ids.contains(&(2, 102)));
    }
}

//! The statements of `bulk_insert`: as many rows as a packet holds.
//!
//! In: the table of a user, where its numbers begin. Out: text. Must never: give a number twice, or
//! allocate once a packet was full.
//!
//! In sysbench each thread has a table of its own, and an event is a row that is only noted until
//! the packet is full. Here a transaction is the `INSERT` that really goes to the server, so that
//! its time means something, unless a run's manner says otherwise; several users share a table where
//! there are fewer tables than users.

use super::engine;
use prony_session::UserId;

/// Bytes of a statement at the most.
pub const PACKET_BYTES: usize = 512 * 1024;

/// One user's statements.
#[derive(Debug)]
pub struct Packet {
    text: String,
    /// Bytes of the text before the rows.
    head: usize,
    /// Number of the next row, and how far from one to the next.
    next: u64,
    step: u64,
}

impl Packet {
    /// The statements of a user; `last` holds the highest number in each table.
    pub fn new(id: UserId, last: &[u64]) -> Packet {
        let tables = last.len().max(1) as u64;
        let (client, clients) = (u64::from(id.client), u64::from(id.clients.max(1)));
        let (table, place) = (client % tables, client / tables);
        let text = begin(table as u32 + 1);
        Packet {
            head: text.len(),
            text,
            next: last.get(table as usize).copied().unwrap_or(0) + 1 + place,
            // Users of this table: each takes every so-manieth number.
            step: (clients - table).div_ceil(tables).max(1),
        }
    }

    /// The next statement.
    pub fn fill(&mut self) -> &str {
        self.clear();
        while self.note() {}
        &self.text
    }

    /// Notes the next row; false where the packet is full.
    pub fn note(&mut self) -> bool {
        let mut number = itoa::Buffer::new();
        let digits = number.format(self.next);
        if self.text.len() + 2 * digits.len() + 4 > PACKET_BYTES {
            return false;
        }
        if !self.is_empty() {
            self.text.push(',');
        }
        for piece in ["(", digits, ",", digits, ")"] {
            self.text.push_str(piece);
        }
        self.next += self.step;
        true
    }

    /// The statement with the rows that were noted.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether no row is noted.
    pub fn is_empty(&self) -> bool {
        self.text.len() == self.head
    }

    /// Forgets the rows that were noted.
    pub fn clear(&mut self) {
        self.text.truncate(self.head);
    }
}

/// How a statement begins.
pub fn begin(table: u32) -> String {
    format!("INSERT INTO {} VALUES", engine::table(table))
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn packets_are_full_and_go_on_where_the_last_one_ended() {
        let mut packet = Packet::new(user(0, 1), &[0]);
        let first = packet.fill().to_owned();
        assert!(first.starts_with("INSERT INTO sbtest1 VALUES(1,1),(2,2),"));
        assert!(first.len() <= PACKET_BYTES && first.len() > PACKET_BYTES - 20);
        let rows = first.matches('(').count();
        let second = packet.fill();
        let next = rows + 1;
        assert!(second.starts_with(&format!("INSERT INTO sbtest1 VALUES({next},{next}),")));
    }

    #[test]
    fn users_that_share_a_table_share_no_number() {
        let mut seen = HashSet::new();
        for client in 0..5 {
            // Tables: 0, 2 and 4 share the first, 1 and 3 the second.
            let mut packet = Packet::new(user(client, 5), &[0, 100]);
            let table = client % 2 + 1;
            let text = packet.fill();
            let rows = text.strip_prefix(&begin(table)).expect("its table");
            for row in rows.split("),") {
                let number = row.split(['(', ',']).nth(1).expect("a number");
                let number: u64 = number.parse().expect("a number");
                assert!(table == 1 || number > 100);
                assert!(seen.insert((table, number)), "{number} twice in {table}");
            }
        }
        assert!(seen.contains(&(1, 1)) && seen.contains(&(1, 2)) && seen.contains(&(1, 3)));
        assert!(seen.contains(&(2, 101)) && seen.contains(&(2, 102)));
    }
}

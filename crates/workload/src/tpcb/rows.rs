//! The rows of pgbench's tables, in COPY's text format.
//!
//! A row depends only on its number (no row of these tables is random), so that any split over
//! loaders yields the same data.

use super::schema::{ACCOUNTS_PER_BRANCH, TELLERS_PER_BRANCH, Table};
use crate::copy::{CountingRow, RowSource};
use crate::row_format::TabSeparated;

pub struct AccountRows {
    table: Table,
    row: CountingRow,
    /// Number of the next row, from 0.
    next: u64,
    /// Number of the row after the last.
    end: u64,
    /// Row number at which the next branch begins; saves a division per row.
    branch_end: u64,
}

impl AccountRows {
    /// The rows `first..end` of a table, numbered from 0; row r has the key r + 1.
    pub fn new(table: Table, first: u64, end: u64) -> Self {
        let mut rows = AccountRows {
            table,
            row: CountingRow::new(first + 1),
            next: first,
            end,
            branch_end: 0,
        };
        rows.enter_branch();
        rows
    }

    /// Sets the text after the key, for the branch of row `next`.
    fn enter_branch(&mut self) {
        // pgbench leaves the small tables' filler NULL and sets that of accounts to an empty
        // string, which the server pads to 84 blanks: that is why an account takes about 100 bytes.
        let (per_branch, filler) = match self.table {
            Table::Tellers => (TELLERS_PER_BRANCH, "\\N"),
            Table::Accounts => (ACCOUNTS_PER_BRANCH, ""),
            Table::Branches | Table::History => {
                self.branch_end = u64::MAX;
                return self.row.set_suffix("\t0\t\\N\n");
            }
        };
        let branch = self.next / per_branch + 1;
        self.branch_end = branch * per_branch;
        self.row.set_suffix(&format!("\t{branch}\t0\t{filler}\n"));
    }
}

impl RowSource for AccountRows {
    type Format = TabSeparated;

    fn is_done(&self) -> bool {
        self.next == self.end
    }

    fn append_rows(&mut self, out: &mut Vec<u8>, full_bytes: usize) -> u64 {
        let first = self.next;
        while self.next < self.end && out.len() < full_bytes {
            out.extend_from_slice(self.row.bytes());
            self.row.increment();
            self.next += 1;
            if self.next == self.branch_end {
                self.enter_branch();
            }
        }
        self.next - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_rows(table: Table, first: u64, end: u64) -> Vec<u8> {
        let mut out = Vec::new();
        AccountRows::new(table, first, end).append_rows(&mut out, usize::MAX);
        out
    }

    /// Splits rows into columns, as the server does.
    fn decode(bytes: &[u8]) -> Vec<Vec<&str>> {
        let text = std::str::from_utf8(bytes).expect("text");
        text.lines()
            .map(|line| line.split('\t').collect())
            .collect()
    }

    #[test]
    fn rows_match_those_of_pgbench() {
        let expected = ["2", "0", "\\N"];
        assert_eq!(decode(&all_rows(Table::Branches, 0, 2))[1], expected);
        let tellers = all_rows(Table::Tellers, 0, 20);
        let tellers = decode(&tellers);
        assert_eq!(tellers[9], ["10", "1", "0", "\\N"]);
        assert_eq!(tellers[10], ["11", "2", "0", "\\N"]);
        let accounts = all_rows(Table::Accounts, 0, 200_000);
        let accounts = decode(&accounts);
        assert_eq!(accounts.len(), 200_000);
        assert_eq!(accounts[0], ["1", "1", "0", ""]);
        assert_eq!(accounts[99_999], ["100000", "1", "0", ""]);
        assert_eq!(accounts[100_000], ["100001", "2", "0", ""]);
        for (row, account) in accounts.iter().enumerate() {
            assert_eq!(account[0].parse(), Ok(row + 1));
            assert_eq!(account[1].parse(), Ok(row / 100_000 + 1));
        }
        assert!(all_rows(Table::History, 0, Table::History.rows(2)).is_empty());
    }

    #[test]
    fn account_numbers_exceed_32_bits() {
        let last = Table::Accounts.rows(50_000);
        let row = all_rows(Table::Accounts, last - 1, last);
        assert_eq!(decode(&row), [["5000000000", "50000", "0", ""]]);
    }

    #[test]
    fn bytes_do_not_depend_on_the_split() {
        let unsplit = all_rows(Table::Accounts, 0, 300_000);
        for cuts in [
            vec![1],
            vec![99_999, 100_000, 100_001],
            vec![150_000, 299_999],
        ] {
            let mut bounds = vec![0];
            bounds.extend(cuts);
            bounds.push(300_000);
            let parts: Vec<Vec<u8>> = bounds
                .windows(2)
                .map(|pair| all_rows(Table::Accounts, pair[0], pair[1]))
                .collect();
            assert!(parts.concat() == unsplit, "split at {bounds:?}");
        }
    }

    #[test]
    fn buffers_are_filled_without_losing_rows() {
        let mut rows = AccountRows::new(Table::Accounts, 0, 100_000);
        let (mut joined, mut buffer, mut count) = (Vec::new(), Vec::new(), 0);
        while !rows.is_done() {
            let filled = rows.append_rows(&mut buffer, 1000);
            assert!(filled > 0 && buffer.len() < 1000 + 64);
            count += filled;
            joined.append(&mut buffer);
        }
        assert_eq!(count, 100_000);
        assert!(joined == all_rows(Table::Accounts, 0, 100_000));
    }
}

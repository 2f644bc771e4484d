//! The rows of pgbench's tables, as COPY text.
//!
//! In: a table and a range of row numbers. Out: bytes. Must never: depend on anything but the row
//! number (no row of these tables is random), so that any split over loaders gives the same data.

use super::schema::{ACCOUNTS_PER_BRANCH, TELLERS_PER_BRANCH, Table};
use crate::copy::{CountingRow, RowSource};

/// Writes the rows of one table.
pub struct Rows {
    table: Table,
    row: CountingRow,
    next: u64,
    end: u64,
    /// Row number at which the next branch begins: a division a row is saved.
    branch_end: u64,
}

impl Rows {
    /// The rows `first..end` of a table, numbered from 0; row r has the key r + 1.
    pub fn new(table: Table, first: u64, end: u64) -> Self {
        let mut rows = Rows {
            table,
            row: CountingRow::new(first + 1),
            next: first,
            end,
            branch_end: 0,
        };
        rows.enter_branch();
        rows
    }

    /// Sets what follows the key, for the branch that row `next` belongs to.
    fn enter_branch(&mut self) {
        // pgbench leaves the small tables' filler NULL and gives accounts an empty one, which the
        // server pads to 84 blanks: that is what makes an account about 100 bytes.
        let (per_branch, filler) = match self.table {
            Table::Tellers => (TELLERS_PER_BRANCH, "\\N"),
            Table::Accounts => (ACCOUNTS_PER_BRANCH, ""),
            Table::Branches | Table::History => {
                self.branch_end = u64::MAX;
                return self.row.set_rest("\t0\t\\N\n");
            }
        };
        let branch = self.next / per_branch + 1;
        self.branch_end = branch * per_branch;
        self.row.set_rest(&format!("\t{branch}\t0\t{filler}\n"));
    }
}

impl RowSource for Rows {
    fn is_done(&self) -> bool {
        self.next == self.end
    }

    fn fill(&mut self, out: &mut Vec<u8>, full: usize) -> u64 {
        let first = self.next;
        while self.next < self.end && out.len() < full {
            out.extend_from_slice(self.row.bytes());
            self.row.count_up();
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

    fn all(table: Table, first: u64, end: u64) -> Vec<u8> {
        let mut out = Vec::new();
        Rows::new(table, first, end).fill(&mut out, usize::MAX);
        out
    }

    /// Rows as the server reads them: columns between tabs.
    fn decode(bytes: &[u8]) -> Vec<Vec<&str>> {
        let text = std::str::from_utf8(bytes).expect("text");
        text.lines()
            .map(|line| line.split('\t').collect())
            .collect()
    }

    #[test]
    fn rows_are_those_of_pgbench() {
        assert_eq!(decode(&all(Table::Branches, 0, 2))[1], ["2", "0", "\\N"]);
        let tellers = all(Table::Tellers, 0, 20);
        let tellers = decode(&tellers);
        assert_eq!(tellers[9], ["10", "1", "0", "\\N"]);
        assert_eq!(tellers[10], ["11", "2", "0", "\\N"]);
        let accounts = all(Table::Accounts, 0, 200_000);
        let accounts = decode(&accounts);
        assert_eq!(accounts.len(), 200_000);
        assert_eq!(accounts[0], ["1", "1", "0", ""]);
        assert_eq!(accounts[99_999], ["100000", "1", "0", ""]);
        assert_eq!(accounts[100_000], ["100001", "2", "0", ""]);
        for (row, account) in accounts.iter().enumerate() {
            assert_eq!(account[0].parse(), Ok(row + 1));
            assert_eq!(account[1].parse(), Ok(row / 100_000 + 1));
        }
        assert!(all(Table::History, 0, Table::History.rows(2)).is_empty());
    }

    #[test]
    fn account_numbers_go_beyond_32_bits() {
        let last = Table::Accounts.rows(50_000);
        let row = all(Table::Accounts, last - 1, last);
        assert_eq!(decode(&row), [["5000000000", "50000", "0", ""]]);
    }

    #[test]
    fn any_split_gives_the_same_bytes() {
        let whole = all(Table::Accounts, 0, 300_000);
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
                .map(|pair| all(Table::Accounts, pair[0], pair[1]))
                .collect();
            assert!(parts.concat() == whole, "split at {bounds:?}");
        }
    }

    #[test]
    fn buffers_are_filled_and_no_row_is_lost_between_them() {
        let mut rows = Rows::new(Table::Accounts, 0, 100_000);
        let (mut joined, mut buffer, mut count) = (Vec::new(), Vec::new(), 0);
        while !rows.is_done() {
            let filled = rows.fill(&mut buffer, 1000);
            assert!(filled > 0 && buffer.len() < 1000 + 64);
            count += filled;
            joined.append(&mut buffer);
        }
        assert_eq!(count, 100_000);
        assert!(joined == all(Table::Accounts, 0, 100_000));
    }
}

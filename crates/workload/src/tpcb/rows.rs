//! The rows of pgbench's tables, as binary COPY tuples.
//!
//! In: a table and a range of row numbers. Out: bytes. Must never: depend on anything but the row
//! number (no row of these tables is random), so that any split over loaders gives the same data.

use super::schema::{ACCOUNTS_PER_BRANCH, BIGINT_FROM_SCALE, TELLERS_PER_BRANCH, Table};
use crate::copy::{BigintHole, IntHole, Template};

/// Writes the rows of one table.
pub struct Rows {
    template: Template,
    key: Key,
    branch: Option<IntHole>,
    /// How many rows in sequence belong to one branch.
    rows_per_branch: u64,
    next: u64,
    end: u64,
    /// Branch of the row that `next` stands for, and how many rows of it are left: a division a
    /// row is saved.
    branch_id: i32,
    left_in_branch: u64,
}

enum Key {
    Int(IntHole),
    Bigint(BigintHole),
}

impl Rows {
    /// The rows `first..end` of a table, numbered from 0; row r has the key r + 1.
    pub fn new(table: Table, scale: u32, first: u64, end: u64) -> Self {
        let mut template = Template::new(table.columns().len() as i16);
        let key = if table == Table::Accounts && scale >= BIGINT_FROM_SCALE {
            Key::Bigint(template.bigint(0))
        } else {
            Key::Int(template.int(0))
        };
        let (branch, rows_per_branch) = match table {
            Table::Branches => (None, 1),
            Table::Tellers => (Some(template.int(0)), TELLERS_PER_BRANCH),
            Table::Accounts => (Some(template.int(0)), ACCOUNTS_PER_BRANCH),
            Table::History => (None, 1),
        };
        template.int(0); // balance
        // pgbench leaves the small tables' filler NULL and gives accounts an empty one, which the
        // server pads to 84 blanks: that is what makes an account about 100 bytes.
        match table {
            Table::Accounts => template.empty_text(),
            _ => template.null(),
        }
        let branch_id = i32::try_from(first / rows_per_branch + 1).unwrap_or(i32::MAX);
        if let Some(hole) = branch {
            template.set_int(hole, branch_id);
        }
        Rows {
            template,
            key,
            branch,
            rows_per_branch,
            next: first,
            end,
            branch_id,
            left_in_branch: rows_per_branch - first % rows_per_branch,
        }
    }

    /// Whether all rows were written.
    pub fn is_done(&self) -> bool {
        self.next == self.end
    }

    /// Appends rows until `out` has reached `full` bytes or none is left; returns how many.
    pub fn fill(&mut self, out: &mut Vec<u8>, full: usize) -> u64 {
        let first = self.next;
        while self.next < self.end && out.len() < full {
            self.next += 1;
            match self.key {
                Key::Int(hole) => self.template.set_int(hole, self.next as i32),
                Key::Bigint(hole) => self.template.set_bigint(hole, self.next as i64),
            }
            out.extend_from_slice(self.template.bytes());
            self.left_in_branch -= 1;
            if self.left_in_branch == 0 {
                self.left_in_branch = self.rows_per_branch;
                self.branch_id = self.branch_id.saturating_add(1);
                if let Some(hole) = self.branch {
                    self.template.set_int(hole, self.branch_id);
                }
            }
        }
        self.next - first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads binary COPY tuples back, as the server does: columns of each row, NULL as `None`.
    fn decode(mut bytes: &[u8]) -> Vec<Vec<Option<Vec<u8>>>> {
        fn take<'a>(bytes: &mut &'a [u8], count: usize) -> &'a [u8] {
            let (head, tail) = bytes.split_at(count);
            *bytes = tail;
            head
        }
        let mut rows = Vec::new();
        while !bytes.is_empty() {
            let columns = i16::from_be_bytes(take(&mut bytes, 2).try_into().expect("two bytes"));
            let row = (0..columns).map(|_| {
                let length =
                    i32::from_be_bytes(take(&mut bytes, 4).try_into().expect("four bytes"));
                let length = usize::try_from(length).ok()?;
                Some(take(&mut bytes, length).to_vec())
            });
            rows.push(row.collect());
        }
        rows
    }

    fn all(table: Table, scale: u32, first: u64, end: u64) -> Vec<u8> {
        let mut out = Vec::new();
        Rows::new(table, scale, first, end).fill(&mut out, usize::MAX);
        out
    }

    fn int(value: i32) -> Option<Vec<u8>> {
        Some(value.to_be_bytes().to_vec())
    }

    #[test]
    fn rows_are_those_of_pgbench() {
        assert_eq!(
            decode(&all(Table::Branches, 2, 0, 2))[1],
            [int(2), int(0), None]
        );
        let tellers = decode(&all(Table::Tellers, 2, 0, 20));
        assert_eq!(tellers[9], [int(10), int(1), int(0), None]);
        assert_eq!(tellers[10], [int(11), int(2), int(0), None]);
        let accounts = decode(&all(Table::Accounts, 2, 0, 200_000));
        assert_eq!(accounts.len(), 200_000);
        assert_eq!(accounts[0], [int(1), int(1), int(0), Some(Vec::new())]);
        assert_eq!(
            accounts[99_999],
            [int(100_000), int(1), int(0), Some(Vec::new())]
        );
        assert_eq!(
            accounts[100_000],
            [int(100_001), int(2), int(0), Some(Vec::new())]
        );
        assert!(all(Table::History, 2, 0, Table::History.rows(2)).is_empty());
    }

    #[test]
    fn account_numbers_are_bigint_from_scale_20000() {
        let last = Table::Accounts.rows(BIGINT_FROM_SCALE);
        assert_eq!(last, 2_000_000_000);
        let row = decode(&all(Table::Accounts, BIGINT_FROM_SCALE, last - 1, last)).remove(0);
        assert_eq!(row[0], Some(2_000_000_000_i64.to_be_bytes().to_vec()));
        assert_eq!(row[1], int(20_000));
        let below = decode(&all(Table::Accounts, BIGINT_FROM_SCALE - 1, 0, 1)).remove(0);
        assert_eq!(below[0], int(1));
    }

    #[test]
    fn any_split_gives_the_same_bytes() {
        let whole = all(Table::Accounts, 3, 0, 300_000);
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
                .map(|pair| all(Table::Accounts, 3, pair[0], pair[1]))
                .collect();
            assert!(parts.concat() == whole, "split at {bounds:?}");
        }
    }

    #[test]
    fn buffers_are_filled_and_no_row_is_lost_between_them() {
        let mut rows = Rows::new(Table::Accounts, 1, 0, 100_000);
        let (mut joined, mut buffer, mut count) = (Vec::new(), Vec::new(), 0);
        loop {
            let filled = rows.fill(&mut buffer, 1000);
            if filled == 0 {
                break;
            }
            assert!(buffer.len() < 1000 + 64);
            count += filled;
            joined.append(&mut buffer);
        }
        assert_eq!(count, 100_000);
        assert!(joined == all(Table::Accounts, 1, 0, 100_000));
    }
}

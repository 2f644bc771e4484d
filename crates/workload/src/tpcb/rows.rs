//! The rows of pgbench's tables, as binary COPY tuples.
//!
//! In: a table and a range of row numbers. Out: bytes. Must never: depend on anything but the row
//! number (no row of these tables is random), so that any split over loaders gives the same data.

use super::schema::{ACCOUNTS_PER_BRANCH, BIGINT_FROM_SCALE, Table, TELLERS_PER_BRANCH};
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
        Rows {
            template,
            key,
            branch,
            rows_per_branch,
            next: first,
            end,
            branch_id: i32::try_from(first / rows_per_branch).unwrap_or(i32::MAX),
            left_in_branch: rows_per_branch - first % rows_per_branch,
        }
        .at_first_row()
    }

    fn at_first_row(mut self) -> Self {
        self.branch_id = self.branch_id.saturating_add(1);
        if let Some(hole) = self.branch {
            self.template.set_int(hole, self.branch_id);
        }
        self
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

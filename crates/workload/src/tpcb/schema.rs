//! pgbench's tables: names, columns, sizes, and the SQL that creates them. They must match those of
//! `pgbench -i` (PostgreSQL 13 to 18), because pgbench must run on these tables unchanged.

use crate::catalog::Tables;
use crate::names::named_enum;
use prony_document::SqlDialect;

pub const ACCOUNTS_PER_BRANCH: u64 = 100_000;
pub const TELLERS_PER_BRANCH: u64 = 10;
/// From this scale, account numbers are `bigint`, as in pgbench.
pub const BIGINT_FROM_SCALE: u32 = 20_000;
/// Maximum scale: teller numbers are `int`.
pub const MAX_SCALE: u32 = i32::MAX as u32 / TELLERS_PER_BRANCH as u32;

named_enum! {
    /// The tables, in the order in which they are loaded, by their names without a schema: they are in the first schema
    /// of the search path.
    pub enum Table {
        Branches = "pgbench_branches",
        Tellers = "pgbench_tellers",
        Accounts = "pgbench_accounts",
        /// Empty after loading, without a key.
        History = "pgbench_history",
    }
}

impl Table {
    pub fn rows(self, scale: u32) -> u64 {
        let scale = u64::from(scale);
        match self {
            Table::Branches => scale,
            Table::Tellers => scale * TELLERS_PER_BRANCH,
            Table::Accounts => scale * ACCOUNTS_PER_BRANCH,
            Table::History => 0,
        }
    }

    pub fn create(self, scale: u32) -> String {
        let aid = if scale >= BIGINT_FROM_SCALE { "bigint" } else { "int" };
        match self {
            Table::Branches => "create table pgbench_branches(bid int not null, bbalance int, \
                 filler char(88)) with (fillfactor=100)"
                .to_owned(),
            Table::Tellers => "create table pgbench_tellers(tid int not null, bid int, \
                 tbalance int, filler char(84)) with (fillfactor=100)"
                .to_owned(),
            Table::Accounts => format!(
                "create table pgbench_accounts(aid {aid} not null, bid int, abalance int, \
                 filler char(84)) with (fillfactor=100)"
            ),
            Table::History => format!(
                "create table pgbench_history(tid int, bid int, aid {aid}, delta int, \
                 mtime timestamp, filler char(22))"
            ),
        }
    }
}

impl Tables for Table {
    const ALL: &'static [Table] = &Table::ALL;

    fn name(self) -> &'static str {
        Table::name(self)
    }

    fn columns(self, _: SqlDialect) -> Vec<&'static str> {
        let own: &[&str] = match self {
            Table::Branches => &["bbalance", "filler"],
            Table::Tellers => &["bid", "tbalance", "filler"],
            Table::Accounts => &["bid", "abalance", "filler"],
            Table::History => &["tid", "bid", "aid", "delta", "mtime", "filler"],
        };
        [self.key(SqlDialect::PostgreSql), own].concat()
    }

    fn key(self, _: SqlDialect) -> &'static [&'static str] {
        match self {
            Table::Branches => &["bid"],
            Table::Tellers => &["tid"],
            Table::Accounts => &["aid"],
            Table::History => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;

    #[test]
    fn account_numbers_are_bigint_from_scale_20000() {
        for table in [Table::Accounts, Table::History] {
            table
                .create(BIGINT_FROM_SCALE - 1)
                .assert_contains("aid int");
            table
                .create(BIGINT_FROM_SCALE)
                .assert_contains("aid bigint");
        }
        // Account numbers exceed `int` from scale 21,475; pgbench uses `bigint` already at a lower scale.
        assert!(Table::Accounts.rows(21_474) <= i32::MAX as u64);
        assert!(Table::Accounts.rows(21_475) > i32::MAX as u64);
        assert!(Table::Tellers.rows(MAX_SCALE) <= i32::MAX as u64);
    }
}

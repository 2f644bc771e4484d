//! Reads the limits on connections that are narrower than that of the whole server: of the role, the database or the
//! account.
//!
//! Must never: fail because this user may not read the limits; the reason is then returned.

use super::{cell, first_line, number};
use crate::control::{Control, Error, TextRow};
use prony_document::{ConnectionLimit, LimitOwner, SqlDialect};

/// The role's and the database's limit, which do not apply to superusers, with the connections that count.
const POSTGRES_QUERY: &str = "\
    select r.rolconnlimit, (select count(*) from pg_stat_activity where usesysid = r.oid and pid <> pg_backend_pid()), \
        d.datconnlimit, (select count(*) from pg_stat_activity where datid = d.oid and usesysid is not null and \
        pid <> pg_backend_pid()), d.datname \
    from pg_roles r, pg_database d \
    where r.rolname = current_user and d.datname = current_database() and not r.rolsuper";

/// The account, its limit and that of all accounts, which applies to accounts without one; and the connections of
/// this user, whose threads it may always see.
const MYSQL_QUERY: &str = "SELECT CURRENT_USER(), @@SESSION.max_user_connections, @@GLOBAL.max_user_connections, \
    (SELECT COUNT(*) FROM information_schema.PROCESSLIST \
     WHERE USER = SUBSTRING_INDEX(CURRENT_USER(), '@', 1) AND ID <> CONNECTION_ID())";

/// The narrower limits, and the account as whom the server authenticated this client (`user@host`; MySQL and
/// MariaDB only).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountLimits {
    pub account: Option<String>,
    pub limits: Vec<ConnectionLimit>,
    /// Why they could not be read.
    pub not_read: Option<String>,
}

pub fn read_account_limits(control: &mut Control) -> Result<AccountLimits, Error> {
    let (sql, parse): (_, fn(&TextRow) -> AccountLimits) = match control.dialect() {
        SqlDialect::PostgreSql => (POSTGRES_QUERY, postgres_limits),
        SqlDialect::MySql => (MYSQL_QUERY, mysql_limits),
        SqlDialect::TransactSql => return Ok(AccountLimits::default()),
    };
    match control.query(sql) {
        Ok(rows) => Ok(rows.first().map(parse).unwrap_or_default()),
        Err(error) if error.is_lost() => Err(error),
        Err(error) => Ok(AccountLimits {
            not_read: Some(first_line(&error)),
            ..AccountLimits::default()
        }),
    }
}

/// A limit, if the cell has one: PostgreSQL has -1 for none, MySQL 0.
fn limit_of(row: &TextRow, column: usize) -> Option<i64> {
    number(row, column).filter(|limit| *limit >= 0)
}

fn postgres_limits(row: &TextRow) -> AccountLimits {
    let database = LimitOwner::Database(cell(row, 4).unwrap_or_default().to_owned());
    let limits = [(LimitOwner::Role, 0), (database, 2)].into_iter();
    let limits = limits.filter_map(|(owner, column)| {
        Some(ConnectionLimit {
            owner,
            limit: limit_of(row, column)?.unsigned_abs(),
            in_use: number(row, column + 1)?,
        })
    });
    AccountLimits {
        limits: limits.collect(),
        ..AccountLimits::default()
    }
}

fn mysql_limits(row: &TextRow) -> AccountLimits {
    let of_session = limit_of(row, 1).filter(|limit| *limit > 0);
    let owner =
        if limit_of(row, 2) == of_session { LimitOwner::EachAccount } else { LimitOwner::Account };
    let limit = of_session
        .zip(number(row, 3))
        .map(|(limit, in_use)| ConnectionLimit {
            owner,
            limit: limit.unsigned_abs(),
            in_use,
        });
    AccountLimits {
        account: cell(row, 0).map(str::to_owned),
        limits: limit.into_iter().collect(),
        not_read: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> TextRow {
        cells.iter().map(|cell| Some((*cell).to_owned())).collect()
    }

    #[test]
    fn a_limit_of_zero_is_one_in_postgresql_only() {
        let limits = postgres_limits(&row(&["0", "0", "-1", "7", "d"])).limits;
        let [limit] = &limits[..] else {
            panic!("{limits:?}")
        };
        assert_eq!((&limit.owner, limit.limit), (&LimitOwner::Role, 0));
        assert_eq!(mysql_limits(&row(&["u@%", "0", "0", "3"])).limits, []);
    }

    #[test]
    fn the_limit_of_an_account_is_told_from_that_of_each_account() {
        let owner = |session, global| {
            let limits = mysql_limits(&row(&["u@%", session, global, "3"])).limits;
            limits.into_iter().map(|limit| limit.owner).next()
        };
        assert_eq!(owner("5", "0"), Some(LimitOwner::Account));
        assert_eq!(owner("5", "5"), Some(LimitOwner::EachAccount));
    }
}

//! The texts in which engines differ, and those that all understand.
//!
//! In: a table's number, options. Out: statements; placeholders are `$1`, which each protocol puts
//! into its own form. Must never: be sent to an engine of another kind.

use super::event::Sql;
use super::options::Asked;
use prony_server::{Control, Product};
use prony_session::DbError;

/// Which dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
}

/// An index of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The primary key on `id`.
    Primary,
    /// An index on `id` that is not unique, in its place.
    Plain,
    /// On `k`.
    Secondary,
}

/// Name of a table, by its number from 1.
pub fn table(number: u32) -> String {
    format!("sbtest{number}")
}

/// A hint to ApsaraDB's engine: queue for the row, and let the statement end the transaction.
const HOT_HINT: &str = "/*+commit_on_success rollback_on_fail target_affect_row(1) */ ";

/// Opens a block.
pub const BEGIN: &str = "BEGIN";
/// Commits it.
pub const COMMIT: &str = "COMMIT";

impl Engine {
    /// That of the server which a connection leads to.
    pub fn of(control: &Control) -> Engine {
        match control.product() {
            Product::Postgres => Engine::Postgres,
            Product::Mysql | Product::MariaDb => Engine::MySql,
        }
    }

    /// A statement as its server gets it: MySQL's placeholders have no numbers.
    pub fn shown(self, sql: String) -> String {
        match self {
            Engine::Postgres => sql,
            Engine::MySql => {
                let mut pieces = sql.split('$');
                let first = pieces.next().unwrap_or_default().to_owned();
                pieces.fold(first, |text, piece| {
                    text + "?" + piece.trim_start_matches(|c: char| c.is_ascii_digit())
                })
            }
        }
    }

    /// The statement that leaves a note on a table. It holds no backslash.
    pub fn comment(self, number: u32, text: &str) -> String {
        let (name, text) = (table(number), text.replace('\'', "''"));
        match self {
            Engine::Postgres => format!("comment on table {name} is '{text}'"),
            Engine::MySql => format!("alter table {name} comment = '{text}'"),
        }
    }

    /// The statement that makes a table. On MySQL with its key: InnoDB keeps the rows in it.
    pub fn create(self, number: u32, asked: &Asked, is_bulk: bool) -> String {
        let name = table(number);
        let options = &asked.table_options;
        let id = match (self, is_bulk || !asked.auto_inc) {
            (_, true) => "integer not null",
            (Engine::Postgres, false) => "serial",
            (Engine::MySql, false) => "integer not null auto_increment",
        };
        let columns = if is_bulk {
            format!("id {id}, k integer default '0' not null")
        } else {
            format!(
                "id {id}, k integer default '0' not null, c char(120) default '' not null, \
                 pad char(60) default '' not null"
            )
        };
        let create = match self {
            Engine::Postgres => format!("create table {name} ({columns}) {options}"),
            Engine::MySql => {
                let key = match asked.secondary && !is_bulk {
                    true => "key xid (id)",
                    false => "primary key (id)",
                };
                let engine = &asked.storage_engine;
                format!("create table {name} ({columns}, {key}) engine = {engine} {options}")
            }
        };
        create.trim_end().to_owned()
    }

    /// MySQL's statement that makes a table, with a note on it from the start.
    pub fn with_comment(self, create: &str, text: &str) -> String {
        format!("{create} comment = '{}'", text.replace('\'', "''"))
    }

    /// The indexes that are built after the rows are there.
    pub fn indexes(self, asked: &Asked, is_bulk: bool) -> Vec<Index> {
        let mut indexes = Vec::new();
        if self == Engine::Postgres {
            indexes.push(match asked.secondary && !is_bulk {
                true => Index::Plain,
                false => Index::Primary,
            });
        }
        if asked.create_secondary && !is_bulk {
            indexes.push(Index::Secondary);
        }
        indexes
    }

    /// The statement that builds an index. A primary key is a unique index until it is attached.
    pub fn build(self, index: Index, number: u32) -> String {
        let name = table(number);
        match index {
            Index::Primary => format!("create unique index {name}_pkey on {name} (id)"),
            Index::Plain => format!("create index {name}_xid on {name} (id)"),
            Index::Secondary => format!("create index k_{number} on {name} (k)"),
        }
    }

    /// The statement that makes a primary key of the unique index.
    pub fn attach(self, number: u32) -> String {
        let name = table(number);
        format!("alter table {name} add constraint {name}_pkey primary key using index {name}_pkey")
    }

    /// The statement after which new rows are numbered from the last one on; none where the server
    /// does that by itself, or the client numbers them.
    pub fn number_on(self, number: u32, asked: &Asked, rows: u32) -> Option<String> {
        (self == Engine::Postgres && asked.auto_inc && rows > 0).then(|| {
            let name = table(number);
            format!("select setval(pg_get_serial_sequence('{name}', 'id'), {rows})")
        })
    }

    /// How a statement of many rows begins: the rows follow, separated by commas. With `numbered`
    /// the rows have their `id`.
    pub fn insert_rows(self, number: u32, numbered: bool) -> String {
        let name = table(number);
        match numbered {
            true => format!("INSERT INTO {name}(id, k, c, pad) VALUES"),
            false => format!("INSERT INTO {name}(k, c, pad) VALUES"),
        }
    }

    /// Whether the `INSERT` of a row that the server numbers names its `id`: MySQL takes 0 for the
    /// next number.
    pub fn names_id(self) -> bool {
        self == Engine::MySql
    }

    /// One statement of an event on a table.
    pub fn sql(self, sql: Sql, number: u32, asked: &Asked) -> String {
        let t = table(number);
        let list = |count: u32, each: &dyn Fn(u32) -> String, between: &str| {
            let each: Vec<String> = (0..count).map(each).collect();
            each.join(between)
        };
        match sql {
            Sql::PointSelect => format!("SELECT c FROM {t} WHERE id=$1"),
            Sql::SimpleRange => format!("SELECT c FROM {t} WHERE id BETWEEN $1 AND $2"),
            Sql::SumRange => format!("SELECT SUM(k) FROM {t} WHERE id BETWEEN $1 AND $2"),
            Sql::OrderRange => {
                format!("SELECT c FROM {t} WHERE id BETWEEN $1 AND $2 ORDER BY c")
            }
            Sql::DistinctRange => {
                format!("SELECT DISTINCT c FROM {t} WHERE id BETWEEN $1 AND $2 ORDER BY c")
            }
            Sql::IndexUpdate => format!("UPDATE {t} SET k=k+1 WHERE id=$1"),
            Sql::NonIndexUpdate => format!("UPDATE {t} SET c=$1 WHERE id=$2"),
            Sql::Delete => format!("DELETE FROM {t} WHERE id=$1"),
            Sql::Insert => format!("INSERT INTO {t} (id, k, c, pad) VALUES ($1, $2, $3, $4)"),
            Sql::RandomPoints => {
                let points = list(asked.random_points, &|n| format!("${}", n + 1), ", ");
                format!("SELECT id, k, c, pad FROM {t} WHERE k IN ({points})")
            }
            Sql::RandomRanges => {
                let range = |n| format!("k BETWEEN ${} AND ${}", 2 * n + 1, 2 * n + 2);
                let ranges = list(asked.number_of_ranges, &range, " OR ");
                format!("SELECT count(k) FROM {t} WHERE {ranges}")
            }
            Sql::HotUpdate => {
                let hint = if asked.hint { HOT_HINT } else { "" };
                format!("UPDATE {hint}{t} SET k=k+1 WHERE id=$1")
            }
        }
    }

    /// Whether an error leads to another try with new values, as in sysbench: on PostgreSQL a
    /// deadlock, a serialization failure, and a key that is there already; on MySQL 1213 (a
    /// deadlock), 1020 (the row has changed) and 1205 (a lock waited for too long).
    pub fn is_ignored(self, error: &DbError) -> bool {
        match self {
            Engine::Postgres => matches!(&error.code, b"40P01" | b"23505" | b"40001"),
            Engine::MySql => matches!(error.number, 1213 | 1020 | 1205),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_has_its_own_tables() {
        let asked = Asked::default();
        let text = Engine::Postgres.create(3, &asked, false);
        assert_eq!(
            text,
            "create table sbtest3 (id serial, k integer default '0' not null, \
             c char(120) default '' not null, pad char(60) default '' not null)"
        );
        let text = Engine::MySql.create(3, &asked, false);
        assert!(
            text.contains("(id integer not null auto_increment, k integer"),
            "{text}"
        );
        assert!(
            text.ends_with(", primary key (id)) engine = innodb"),
            "{text}"
        );
        let asked = Asked {
            secondary: true,
            auto_inc: false,
            storage_engine: "myrocks".to_owned(),
            table_options: "comment 'x'".to_owned(),
            ..asked
        };
        let text = Engine::MySql.create(1, &asked, false);
        assert!(text.contains("(id integer not null, k"), "{text}");
        assert!(
            text.ends_with(", key xid (id)) engine = myrocks comment 'x'"),
            "{text}"
        );
        let text = Engine::Postgres.create(1, &asked, true);
        assert!(
            text.starts_with("create table sbtest1 (id integer not null, k"),
            "{text}"
        );
        assert!(!text.contains("pad"), "{text}");
        let text = Engine::MySql.create(1, &asked, true);
        assert!(
            text.contains("not null, primary key (id)) engine"),
            "{text}"
        );
    }

    #[test]
    fn indexes_are_those_of_the_options() {
        use Index::{Plain, Primary, Secondary};
        let of = |engine: Engine, secondary, create_secondary, is_bulk| {
            let asked = Asked {
                secondary,
                create_secondary,
                ..Asked::default()
            };
            engine.indexes(&asked, is_bulk)
        };
        assert_eq!(
            of(Engine::Postgres, false, true, false),
            [Primary, Secondary]
        );
        assert_eq!(of(Engine::Postgres, true, false, false), [Plain]);
        assert_eq!(of(Engine::Postgres, true, true, true), [Primary]);
        assert_eq!(of(Engine::MySql, false, true, false), [Secondary]);
        assert_eq!(of(Engine::MySql, false, true, true), []);
        assert_eq!(
            Engine::MySql.build(Secondary, 7),
            "create index k_7 on sbtest7 (k)"
        );
    }

    #[test]
    fn rows_are_numbered_by_whom_the_engine_says() {
        let asked = Asked::default();
        assert_eq!(Engine::MySql.number_on(1, &asked, 9), None);
        let text = Engine::Postgres.number_on(1, &asked, 9);
        assert_eq!(
            text.as_deref(),
            Some("select setval(pg_get_serial_sequence('sbtest1', 'id'), 9)")
        );
        assert_eq!(Engine::Postgres.number_on(1, &asked, 0), None);
        assert!(Engine::MySql.names_id() && !Engine::Postgres.names_id());
        assert_eq!(
            Engine::MySql.insert_rows(2, false),
            "INSERT INTO sbtest2(k, c, pad) VALUES"
        );
        assert_eq!(
            Engine::MySql.insert_rows(2, true),
            "INSERT INTO sbtest2(id, k, c, pad) VALUES"
        );
    }

    #[test]
    fn points_and_ranges_have_as_many_values_as_asked() {
        let asked = Asked {
            random_points: 3,
            number_of_ranges: 2,
            hint: true,
            ..Asked::default()
        };
        let text = |sql| Engine::Postgres.sql(sql, 1, &asked);
        assert_eq!(
            text(Sql::RandomPoints),
            "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ($1, $2, $3)"
        );
        assert_eq!(
            text(Sql::RandomRanges),
            "SELECT count(k) FROM sbtest1 WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4"
        );
        assert_eq!(
            text(Sql::HotUpdate),
            "UPDATE /*+commit_on_success rollback_on_fail target_affect_row(1) */ sbtest1 \
             SET k=k+1 WHERE id=$1"
        );
    }

    #[test]
    fn only_what_another_try_may_mend_is_ignored() {
        let postgres = |code: &[u8; 5]| DbError::server(*code, String::new());
        for code in [b"40P01", b"23505", b"40001"] {
            assert!(Engine::Postgres.is_ignored(&postgres(code)));
        }
        assert!(!Engine::Postgres.is_ignored(&postgres(b"42P01")));
        let numbered = |number| DbError {
            number,
            ..postgres(b"HY000")
        };
        for number in [1213, 1020, 1205] {
            assert!(Engine::MySql.is_ignored(&numbered(number)));
        }
        assert!(
            !Engine::MySql.is_ignored(&numbered(1062)),
            "it ends sysbench"
        );
        assert!(
            !Engine::MySql.is_ignored(&postgres(b"40001")),
            "it has a number"
        );
    }

    #[test]
    fn statements_are_shown_as_each_server_gets_them() {
        let sql = Engine::MySql.sql(Sql::Insert, 1, &Asked::default());
        assert!(sql.ends_with("VALUES ($1, $2, $3, $4)"), "{sql}");
        assert_eq!(Engine::Postgres.shown(sql.clone()), sql);
        let shown = Engine::MySql.shown(sql);
        assert!(shown.ends_with("VALUES (?, ?, ?, ?)"), "{shown}");
        assert_eq!(Engine::MySql.shown(BEGIN.to_owned()), BEGIN);
        assert_eq!(
            Engine::MySql.comment(2, "it's"),
            "alter table sbtest2 comment = 'it''s'"
        );
    }
}

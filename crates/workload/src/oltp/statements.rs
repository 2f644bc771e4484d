//! Statements, by SQL dialect.
//!
//! Builds the statements for a table number and options. Placeholders have the form `$1`, which each
//! protocol converts. A statement must never be sent to an engine of a different dialect.

use super::event::StatementKind;
use super::options::OltpOptions;
use crate::SqlDialect;
use prony_session::DbError;

/// An index of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The primary key on `id`.
    Primary,
    /// A non-unique index on `id`, in place of the primary key.
    Plain,
    /// On `k`.
    Secondary,
}

/// The name of a table, by its number from 1.
pub fn table_name(number: u32) -> String {
    format!("sbtest{number}")
}

/// ApsaraDB's hint for hot rows: the server queues updates of the row, and commits with the statement.
const HOT_HINT: &str = "/*+commit_on_success rollback_on_fail target_affect_row(1) */ ";

/// The declaration of the column `k`.
const K_COLUMN: &str = "k integer default '0' not null";

/// Begins a transaction block.
pub const BEGIN: &str = "BEGIN";
/// Commits a transaction block.
pub const COMMIT: &str = "COMMIT";

impl SqlDialect {
    /// The statement that puts a note in the table's comment; or in the comment of its column `k`, if the
    /// user's options set a table comment.
    pub fn note_statement(self, number: u32, text: &str, options: &OltpOptions) -> String {
        match (self, options.has_table_comment()) {
            (SqlDialect::MySql, true) => {
                let (name, text) = (table_name(number), text.replace('\'', "''"));
                format!("alter table {name} modify {K_COLUMN} comment '{text}'")
            }
            (SqlDialect::MySql, false) | (SqlDialect::PostgreSql, _) => {
                self.set_comment(&table_name(number), text)
            }
        }
    }

    /// The statement that creates a table. On MySQL it includes the primary key, in which InnoDB stores the
    /// rows.
    pub fn create_table(self, number: u32, options: &OltpOptions, is_bulk: bool) -> String {
        let name = table_name(number);
        let table_options = &options.create_table_options;
        let id = match (self, is_bulk || !options.auto_inc) {
            (SqlDialect::PostgreSql | SqlDialect::MySql, true) => "integer not null",
            (SqlDialect::PostgreSql, false) => "serial",
            (SqlDialect::MySql, false) => "integer not null auto_increment",
        };
        let columns = if is_bulk {
            format!("id {id}, {K_COLUMN}")
        } else {
            format!(
                "id {id}, {K_COLUMN}, c char(120) default '' not null, \
                 pad char(60) default '' not null"
            )
        };
        let create = match self {
            SqlDialect::PostgreSql => format!("create table {name} ({columns}) {table_options}"),
            SqlDialect::MySql => {
                let key = match options.secondary && !is_bulk {
                    true => "key xid (id)",
                    false => "primary key (id)",
                };
                let engine = &options.mysql_storage_engine;
                format!("create table {name} ({columns}, {key}) engine = {engine} {table_options}")
            }
        };
        create.trim_end().to_owned()
    }

    /// MySQL's statement that creates a table with a note from the start.
    pub fn with_comment(self, create: &str, text: &str) -> String {
        format!("{create} comment = '{}'", text.replace('\'', "''"))
    }

    /// The indexes that are built after the rows are loaded.
    pub fn indexes(self, options: &OltpOptions, is_bulk: bool) -> Vec<Index> {
        let mut indexes = Vec::new();
        match self {
            SqlDialect::PostgreSql => indexes.push(match options.secondary && !is_bulk {
                true => Index::Plain,
                false => Index::Primary,
            }),
            // The table was created with its primary key.
            SqlDialect::MySql => {}
        }
        if options.create_secondary && !is_bulk {
            indexes.push(Index::Secondary);
        }
        indexes
    }

    /// The statement that makes the sequence continue after the last row; `None` if the server does so itself, or
    /// the client assigns the ids.
    pub fn continue_sequence(
        self,
        number: u32,
        options: &OltpOptions,
        rows: u32,
    ) -> Option<String> {
        let name = table_name(number);
        match self {
            SqlDialect::PostgreSql => (options.auto_inc && rows > 0)
                .then(|| format!("select setval(pg_get_serial_sequence('{name}', 'id'), {rows})")),
            SqlDialect::MySql => None,
        }
    }

    /// Whether the `INSERT` of a row numbered by the server includes `id`: MySQL replaces 0 by the next
    /// number.
    pub fn inserts_id(self) -> bool {
        match self {
            SqlDialect::PostgreSql => false,
            SqlDialect::MySql => true,
        }
    }

    /// One statement of an event on a table.
    pub fn event_statement(
        self,
        kind: StatementKind,
        number: u32,
        options: &OltpOptions,
    ) -> String {
        let name = table_name(number);
        let list = |count: u32, item: &dyn Fn(u32) -> String, separator: &str| {
            let items: Vec<String> = (0..count).map(item).collect();
            items.join(separator)
        };
        match kind {
            StatementKind::PointSelect => format!("SELECT c FROM {name} WHERE id=$1"),
            StatementKind::SimpleRange => {
                format!("SELECT c FROM {name} WHERE id BETWEEN $1 AND $2")
            }
            StatementKind::SumRange => {
                format!("SELECT SUM(k) FROM {name} WHERE id BETWEEN $1 AND $2")
            }
            StatementKind::OrderRange => {
                format!("SELECT c FROM {name} WHERE id BETWEEN $1 AND $2 ORDER BY c")
            }
            StatementKind::DistinctRange => {
                format!("SELECT DISTINCT c FROM {name} WHERE id BETWEEN $1 AND $2 ORDER BY c")
            }
            StatementKind::IndexUpdate => format!("UPDATE {name} SET k=k+1 WHERE id=$1"),
            StatementKind::NonIndexUpdate => format!("UPDATE {name} SET c=$1 WHERE id=$2"),
            StatementKind::Delete => format!("DELETE FROM {name} WHERE id=$1"),
            StatementKind::Insert => {
                format!("INSERT INTO {name} (id, k, c, pad) VALUES ($1, $2, $3, $4)")
            }
            StatementKind::RandomPoints => {
                let points = list(options.random_points, &|n| format!("${}", n + 1), ", ");
                format!("SELECT id, k, c, pad FROM {name} WHERE k IN ({points})")
            }
            StatementKind::RandomRanges => {
                let range = |n| format!("k BETWEEN ${} AND ${}", 2 * n + 1, 2 * n + 2);
                let ranges = list(options.number_of_ranges, &range, " OR ");
                format!("SELECT count(k) FROM {name} WHERE {ranges}")
            }
            StatementKind::HotUpdate => {
                let hint = if options.hint { HOT_HINT } else { "" };
                format!("UPDATE {hint}{name} SET k=k+1 WHERE id=$1")
            }
        }
    }

    /// Whether an error leads to a retry with new values, as in sysbench: on PostgreSQL a deadlock, a
    /// serialization failure and a duplicate key; on MySQL 1213 (deadlock), 1020 (the row has changed) and
    /// 1205 (lock wait timeout).
    pub fn is_ignored(self, error: &DbError) -> bool {
        match self {
            SqlDialect::PostgreSql => matches!(&error.code, b"40P01" | b"23505" | b"40001"),
            SqlDialect::MySql => matches!(error.number, 1213 | 1020 | 1205),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_wire::Protocol;

    #[test]
    fn create_table_depends_on_the_dialect() {
        let options = OltpOptions::default();
        let text = SqlDialect::PostgreSql.create_table(3, &options, false);
        assert_eq!(
            text,
            "create table sbtest3 (id serial, k integer default '0' not null, \
             c char(120) default '' not null, pad char(60) default '' not null)"
        );
        let text = SqlDialect::MySql.create_table(3, &options, false);
        assert!(
            text.contains("(id integer not null auto_increment, k integer"),
            "{text}"
        );
        assert!(
            text.ends_with(", primary key (id)) engine = innodb"),
            "{text}"
        );
        let options = OltpOptions {
            secondary: true,
            auto_inc: false,
            mysql_storage_engine: "myrocks".to_owned(),
            create_table_options: "comment 'x'".to_owned(),
            ..options
        };
        let text = SqlDialect::MySql.create_table(1, &options, false);
        assert!(text.contains("(id integer not null, k"), "{text}");
        assert!(
            text.ends_with(", key xid (id)) engine = myrocks comment 'x'"),
            "{text}"
        );
        let text = SqlDialect::PostgreSql.create_table(1, &options, true);
        assert!(
            text.starts_with("create table sbtest1 (id integer not null, k"),
            "{text}"
        );
        assert!(!text.contains("pad"), "{text}");
        let text = SqlDialect::MySql.create_table(1, &options, true);
        assert!(
            text.contains("not null, primary key (id)) engine"),
            "{text}"
        );
    }

    #[test]
    fn options_determine_the_indexes() {
        use Index::{Plain, Primary, Secondary};
        let indexes = |dialect: SqlDialect, secondary, create_secondary, is_bulk| {
            let options = OltpOptions {
                secondary,
                create_secondary,
                ..OltpOptions::default()
            };
            dialect.indexes(&options, is_bulk)
        };
        assert_eq!(
            indexes(SqlDialect::PostgreSql, false, true, false),
            [Primary, Secondary]
        );
        assert_eq!(indexes(SqlDialect::PostgreSql, true, false, false), [Plain]);
        assert_eq!(indexes(SqlDialect::PostgreSql, true, true, true), [Primary]);
        assert_eq!(indexes(SqlDialect::MySql, false, true, false), [Secondary]);
        assert_eq!(indexes(SqlDialect::MySql, false, true, true), []);
    }

    #[test]
    fn rows_are_numbered_by_sequence_or_server() {
        let options = OltpOptions::default();
        assert_eq!(SqlDialect::MySql.continue_sequence(1, &options, 9), None);
        let text = SqlDialect::PostgreSql.continue_sequence(1, &options, 9);
        assert_eq!(
            text.as_deref(),
            Some("select setval(pg_get_serial_sequence('sbtest1', 'id'), 9)")
        );
        assert_eq!(
            SqlDialect::PostgreSql.continue_sequence(1, &options, 0),
            None
        );
        assert!(SqlDialect::MySql.inserts_id() && !SqlDialect::PostgreSql.inserts_id());
    }

    #[test]
    fn options_determine_the_number_of_points_and_ranges() {
        let options = OltpOptions {
            random_points: 3,
            number_of_ranges: 2,
            hint: true,
            ..OltpOptions::default()
        };
        let text = |kind| SqlDialect::PostgreSql.event_statement(kind, 1, &options);
        assert_eq!(
            text(StatementKind::RandomPoints),
            "SELECT id, k, c, pad FROM sbtest1 WHERE k IN ($1, $2, $3)"
        );
        assert_eq!(
            text(StatementKind::RandomRanges),
            "SELECT count(k) FROM sbtest1 WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4"
        );
        assert_eq!(
            text(StatementKind::HotUpdate),
            "UPDATE /*+commit_on_success rollback_on_fail target_affect_row(1) */ sbtest1 \
             SET k=k+1 WHERE id=$1"
        );
    }

    #[test]
    fn only_errors_that_a_retry_may_resolve_are_ignored() {
        let error = |protocol, number, code: &[u8; 5]| {
            DbError::server(protocol, number, *code, String::new())
        };
        let postgres = |code| error(Protocol::PostgreSql, 0, code);
        for code in [b"40P01", b"23505", b"40001"] {
            assert!(SqlDialect::PostgreSql.is_ignored(&postgres(code)));
        }
        assert!(!SqlDialect::PostgreSql.is_ignored(&postgres(b"42P01")));
        let numbered = |number| error(Protocol::MySql, number, b"HY000");
        for number in [1213, 1020, 1205] {
            assert!(SqlDialect::MySql.is_ignored(&numbered(number)));
        }
        assert!(
            !SqlDialect::MySql.is_ignored(&numbered(1062)),
            "this error ends sysbench"
        );
        assert!(
            !SqlDialect::MySql.is_ignored(&postgres(b"40001")),
            "MySQL errors are identified by number"
        );
    }

    #[test]
    fn statements_are_shown_as_they_are_sent() {
        let sql =
            SqlDialect::MySql.event_statement(StatementKind::Insert, 1, &OltpOptions::default());
        assert!(sql.ends_with("VALUES ($1, $2, $3, $4)"), "{sql}");
        assert_eq!(
            SqlDialect::PostgreSql.with_sent_placeholders(sql.clone()),
            sql
        );
        let shown = SqlDialect::MySql.with_sent_placeholders(sql);
        assert!(shown.ends_with("VALUES (?, ?, ?, ?)"), "{shown}");
        assert_eq!(
            SqlDialect::MySql.with_sent_placeholders(BEGIN.to_owned()),
            BEGIN
        );
        assert_eq!(
            SqlDialect::MySql.set_comment("sbtest2", "it's"),
            "alter table sbtest2 comment = 'it''s'"
        );
    }

    #[test]
    fn note_preserves_the_users_table_comment() {
        let with_table_options = |text: &str| OltpOptions {
            create_table_options: text.to_owned(),
            ..OltpOptions::default()
        };
        let with_comment = with_table_options("row_format=dynamic Comment='foo'");
        assert_eq!(
            SqlDialect::MySql.note_statement(2, "it's", &with_comment),
            "alter table sbtest2 modify k integer default '0' not null comment 'it''s'"
        );
        for text in ["", "row_format=dynamic"] {
            let note = SqlDialect::MySql.note_statement(2, "x", &with_table_options(text));
            assert_eq!(note, "alter table sbtest2 comment = 'x'");
        }
        // On PostgreSQL the comment is not a table option.
        let note = SqlDialect::PostgreSql.note_statement(2, "x", &with_comment);
        assert_eq!(note, "comment on table sbtest2 is 'x'");
    }
}

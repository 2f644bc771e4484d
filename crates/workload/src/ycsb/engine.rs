//! SQL texts, by dialect.
//!
//! Builds statements for the layout of a record and the options. Placeholders have the form `$1`, which each
//! protocol converts. A statement must never be sent to an engine of a different dialect.

use super::layout::Layout;
use super::table::NAME;
use prony_document::SqlDialect;
use prony_session::DbError;
use prony_wire::ParameterType;

/// Maximum length of a key in characters. YCSB's longest key has 23; every server version can index 64.
const KEY_LENGTH: u16 = 64;
/// Bytes of YCSB's longest key.
pub const KEY_BYTES: u64 = 23;

pub const INSERTED_KEY_TYPE: ParameterType = ParameterType::VarChar(KEY_LENGTH);

pub fn field_type(dialect: SqlDialect) -> ParameterType {
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => ParameterType::Text,
        // Longer than `varchar(n)` can be, so it is sent as `varchar(max)`, the type of the column. Text
        // would be sent as UTF-16.
        SqlDialect::TransactSql => ParameterType::VarChar(u16::MAX),
    }
}

/// Type of the key in a `WHERE` clause: PostgreSQL compares all string types as `text`.
pub fn searched_key_type(dialect: SqlDialect) -> ParameterType {
    match dialect {
        SqlDialect::PostgreSql => ParameterType::Text,
        SqlDialect::MySql | SqlDialect::TransactSql => INSERTED_KEY_TYPE,
    }
}

/// The columns of a table with this many fields, the key first, separated by commas.
pub fn column_list(fields: u32) -> String {
    let fields: String = (0..fields).map(|field| format!(",field{field}")).collect();
    format!("ycsb_key{fields}")
}

/// Bytes of a record, including its index entry.
pub fn record_bytes(dialect: SqlDialect, layout: &Layout) -> u64 {
    let values = layout.value_bytes() + u64::from(layout.field_count);
    match dialect {
        SqlDialect::PostgreSql => {
            // A page of 8 KB holds a whole number of rows, and the free space is divided among them; longer
            // rows are stored out of line, in pieces.
            let row = (values + 25).next_multiple_of(8) + 4;
            let rows_per_page = 8_168_u64.checked_div(row).filter(|rows| *rows > 0);
            rows_per_page.map_or(row, |rows| 8_192 / rows) + 44
        }
        // Keys arrive in random order, which leaves a quarter of each page empty.
        SqlDialect::MySql | SqlDialect::TransactSql => (values + 60) * 4 / 3,
    }
}

/// The statement that creates the table, with a note on it. On MySQL it includes the primary key, in which
/// InnoDB stores the rows.
pub fn create_statement(dialect: SqlDialect, fields: u32, note: &str) -> String {
    let field_type = match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => "text",
        SqlDialect::TransactSql => "varchar(max)",
    };
    let field_columns: String = (0..fields)
        .map(|field| format!(", field{field} {field_type}"))
        .collect();
    let columns = format!("ycsb_key varchar({KEY_LENGTH}) not null{field_columns}");
    match dialect {
        SqlDialect::PostgreSql => {
            format!(
                "create table {NAME} ({columns}); {}",
                dialect.comment_statement(NAME, note)
            )
        }
        SqlDialect::TransactSql => dialect.join_statements(&[
            format!("create table {NAME} ({columns})"),
            dialect.comment_statement(NAME, note),
        ]),
        SqlDialect::MySql => format!(
            "create table {NAME} ({columns}, primary key (ycsb_key)) engine = innodb \
             comment = '{note}'"
        ),
    }
}

/// The query that scans the table. It returns the number of records, the sum of the numbers in their keys,
/// the number of records with a key that YCSB does not generate, and the number of records with a field of a
/// different length.
pub fn contents_query(dialect: SqlDialect, fields: u32, length: u64) -> String {
    let (has_ycsb_key, number) = match dialect {
        SqlDialect::PostgreSql => (
            "ycsb_key ~ '^user[0-9]{1,19}$'",
            "substr(ycsb_key, 5)::numeric",
        ),
        SqlDialect::MySql => (
            "ycsb_key regexp '^user[0-9]{1,19}$'",
            "cast(substr(ycsb_key, 5) as decimal(20))",
        ),
        SqlDialect::TransactSql => (
            "ycsb_key like 'user[0-9]%' and substring(ycsb_key, 5, 64) not like '%[^0-9]%' \
             and len(ycsb_key) <= 23",
            "cast(substring(ycsb_key, 5, 64) as decimal(20))",
        ),
    };
    let length_of = dialect.length_function();
    let length_differs: Vec<String> = (0..fields)
        .map(|field| format!("coalesce({length_of}(field{field}), -1) <> {length}"))
        .collect();
    format!(
        "select count(*), coalesce(sum(case when {has_ycsb_key} then {number} else 0 end), 0), \
         coalesce(sum(case when {has_ycsb_key} then 0 else 1 end), 0), \
         coalesce(sum(case when {} then 1 else 0 end), 0) from {NAME}",
        length_differs.join(" or ")
    )
}

/// The statement that reads a field of a record, or all fields (`None`).
pub fn read_statement(field: Option<u32>) -> String {
    match field {
        None => format!("SELECT * FROM {NAME} WHERE ycsb_key = $1"),
        Some(field) => format!("SELECT field{field} FROM {NAME} WHERE ycsb_key = $1"),
    }
}

/// The statement that replaces a field of a record, or all fields (`None`); the key is the last parameter.
pub fn update_statement(field: Option<u32>, fields: u32) -> String {
    let (set, key) = match field {
        Some(field) => (format!("field{field} = $1"), 2),
        None => {
            let assignments = (0..fields).map(|field| format!("field{field} = ${}", field + 1));
            (assignments.collect::<Vec<_>>().join(", "), fields + 1)
        }
    };
    format!("UPDATE {NAME} SET {set} WHERE ycsb_key = ${key}")
}

/// The statement that adds a record; its parameters are the key and the fields.
pub fn insert_statement(fields: u32) -> String {
    let values: Vec<String> = (1..=fields + 1).map(|value| format!("${value}")).collect();
    let columns = column_list(fields).replace(',', ", ");
    format!(
        "INSERT INTO {NAME} ({columns}) VALUES ({})",
        values.join(", ")
    )
}

/// The statement that reads a field of records in key order, or all fields (`None`); its parameters are the first key and
/// the number of records.
pub fn scan_statement(dialect: SqlDialect, field: Option<u32>) -> String {
    let columns = field.map_or("*".to_owned(), |field| format!("field{field}"));
    match dialect {
        SqlDialect::PostgreSql | SqlDialect::MySql => {
            format!("SELECT {columns} FROM {NAME} WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2")
        }
        SqlDialect::TransactSql => {
            format!("SELECT TOP ($2) {columns} FROM {NAME} WHERE ycsb_key >= $1 ORDER BY ycsb_key")
        }
    }
}

/// The statement that checks whether a record exists.
pub const EXISTS: &str = "SELECT 1 FROM usertable WHERE ycsb_key = $1";

/// Whether an `INSERT` failed because of a duplicate key.
pub fn is_duplicate(dialect: SqlDialect, error: &DbError) -> bool {
    match dialect {
        SqlDialect::PostgreSql => &error.code == b"23505",
        SqlDialect::MySql => error.number == 1062,
        SqlDialect::TransactSql => matches!(error.number, 2627 | 2601),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_assertions::TextAssertions;
    use prony_wire::Protocol;

    #[test]
    fn statements_match_those_of_ycsb() {
        for dialect in [SqlDialect::PostgreSql, SqlDialect::MySql] {
            scan_statement(dialect, None).assert_equals(
                "SELECT * FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2",
            );
            scan_statement(dialect, Some(3)).assert_equals(
                "SELECT field3 FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT $2",
            );
        }
        scan_statement(SqlDialect::TransactSql, None).assert_equals(
            "SELECT TOP ($2) * FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key",
        );
        read_statement(None).assert_equals("SELECT * FROM usertable WHERE ycsb_key = $1");
        read_statement(Some(9)).assert_equals("SELECT field9 FROM usertable WHERE ycsb_key = $1");
        update_statement(Some(0), 10)
            .assert_equals("UPDATE usertable SET field0 = $1 WHERE ycsb_key = $2");
        update_statement(None, 2)
            .assert_equals("UPDATE usertable SET field0 = $1, field1 = $2 WHERE ycsb_key = $3");
        insert_statement(2)
            .assert_equals("INSERT INTO usertable (ycsb_key, field0, field1) VALUES ($1, $2, $3)");
    }

    #[test]
    fn create_table_depends_on_the_dialect() {
        create_statement(SqlDialect::PostgreSql, 1, "x").assert_equals(
            "create table usertable (ycsb_key varchar(64) not null, field0 text); \
             comment on table usertable is 'x'",
        );
        create_statement(SqlDialect::MySql, 2, "x").assert_equals(
            "create table usertable (ycsb_key varchar(64) not null, field0 text, field1 text, \
             primary key (ycsb_key)) engine = innodb comment = 'x'",
        );
        let text = create_statement(SqlDialect::TransactSql, 1, "x");
        let table = "create table usertable (ycsb_key varchar(64) not null, field0 varchar(max)); ";
        text.assert_starts_with(&format!("begin transaction; {table}"));
        text.assert_ends_with("; commit").assert_contains("N'x'");
        EXISTS.assert_contains(NAME);
    }

    #[test]
    fn duplicate_keys_are_recognised_in_each_dialect() {
        let error = DbError::server(Protocol::PostgreSql, 0, *b"23505", String::new());
        assert!(is_duplicate(SqlDialect::PostgreSql, &error));
        assert!(!is_duplicate(SqlDialect::MySql, &error));
        let tds_error = DbError::server(Protocol::Tds, 2627, *b"23000", String::new());
        assert!(is_duplicate(SqlDialect::TransactSql, &tds_error));
        let mysql_error = DbError::server(Protocol::MySql, 1062, *b"23000", String::new());
        assert!(is_duplicate(SqlDialect::MySql, &mysql_error));
        assert!(!is_duplicate(SqlDialect::PostgreSql, &mysql_error));
    }
}

//! Tests the texts of statements in each dialect.

use super::*;
use prony_assertions::TextAssertions;
use prony_document::SqlDialect;
use prony_wire::Protocol;

#[test]
fn create_table_depends_on_the_dialect() {
    let options = OltpOptions::default();
    let text = create_table(SqlDialect::PostgreSql, 3, &options, false);
    text.assert_equals(
        "create table sbtest3 (id serial, k integer default '0' not null, \
         c char(120) default '' not null, pad char(60) default '' not null)",
    );
    let text = create_table(SqlDialect::MySql, 3, &options, false);
    text.assert_contains("(id integer not null auto_increment, k integer");
    text.assert_ends_with(", primary key (id)) engine = innodb");
    let options = OltpOptions {
        secondary: true,
        auto_inc: false,
        mysql_storage_engine: "myrocks".to_owned(),
        create_table_options: "comment 'x'".to_owned(),
        ..options
    };
    let text = create_table(SqlDialect::MySql, 1, &options, false);
    text.assert_contains("(id integer not null, k");
    text.assert_ends_with(", key xid (id)) engine = myrocks comment 'x'");
    let text = create_table(SqlDialect::PostgreSql, 1, &options, true);
    text.assert_starts_with("create table sbtest1 (id integer not null, k");
    text.assert_lacks("pad");
    let text = create_table(SqlDialect::MySql, 1, &options, true);
    text.assert_contains("not null, primary key (id)) engine");
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
        indexes(dialect, &options, is_bulk)
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
    assert_eq!(sequence_statement(SqlDialect::MySql, 1, &options, 9), None);
    let text = sequence_statement(SqlDialect::PostgreSql, 1, &options, 9);
    assert_eq!(
        text.as_deref(),
        Some("select setval(pg_get_serial_sequence('sbtest1', 'id'), 9)")
    );
    assert_eq!(
        sequence_statement(SqlDialect::PostgreSql, 1, &options, 0),
        None
    );
    assert!(insert_includes_id(SqlDialect::MySql) && !insert_includes_id(SqlDialect::PostgreSql));
}

#[test]
fn options_determine_the_number_of_points_and_ranges() {
    let options = OltpOptions {
        random_points: 3,
        number_of_ranges: 2,
        hint: true,
        ..OltpOptions::default()
    };
    let text = |kind| event_statement(SqlDialect::PostgreSql, kind, 1, &options);
    text(StatementKind::RandomPoints)
        .assert_equals("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ($1, $2, $3)");
    text(StatementKind::RandomRanges).assert_equals(
        "SELECT count(k) FROM sbtest1 WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4",
    );
    text(StatementKind::HotUpdate).assert_equals(
        "UPDATE /*+commit_on_success rollback_on_fail target_affect_row(1) */ sbtest1 \
         SET k=k+1 WHERE id=$1",
    );
}

#[test]
fn only_errors_that_a_retry_may_resolve_are_ignored() {
    let error =
        |protocol, number, code: &[u8; 5]| DbError::server(protocol, number, *code, String::new());
    let postgres = |code| error(Protocol::PostgreSql, 0, code);
    for code in [b"40P01", b"23505", b"40001"] {
        assert!(ignores_error(SqlDialect::PostgreSql, &postgres(code)));
    }
    assert!(!ignores_error(SqlDialect::PostgreSql, &postgres(b"42P01")));
    let numbered = |number| error(Protocol::MySql, number, b"HY000");
    for number in [1213, 1020, 1205] {
        assert!(ignores_error(SqlDialect::MySql, &numbered(number)));
    }
    assert!(
        !ignores_error(SqlDialect::MySql, &numbered(1062)),
        "this error ends sysbench"
    );
    assert!(
        !ignores_error(SqlDialect::MySql, &postgres(b"40001")),
        "MySQL errors are identified by number"
    );
}

#[test]
fn statements_are_shown_as_they_are_sent() {
    let sql = event_statement(
        SqlDialect::MySql,
        StatementKind::Insert,
        1,
        &OltpOptions::default(),
    );
    sql.assert_ends_with("VALUES ($1, $2, $3, $4)");
    assert_eq!(
        SqlDialect::PostgreSql.with_native_placeholders(sql.clone()),
        sql
    );
    let shown = SqlDialect::MySql.with_native_placeholders(sql);
    shown.assert_ends_with("VALUES (?, ?, ?, ?)");
    assert_eq!(
        SqlDialect::MySql.with_native_placeholders(COMMIT.to_owned()),
        COMMIT
    );
    SqlDialect::MySql
        .comment_statement("sbtest2", "it's")
        .assert_equals("alter table sbtest2 comment = 'it''s'");
}

#[test]
fn note_preserves_the_users_table_comment() {
    let with_table_options = |text: &str| OltpOptions {
        create_table_options: text.to_owned(),
        ..OltpOptions::default()
    };
    let with_comment = with_table_options("row_format=dynamic Comment='foo'");
    note_statement(SqlDialect::MySql, 2, "it's", &with_comment)
        .assert_equals("alter table sbtest2 modify k integer default '0' not null comment 'it''s'");
    for text in ["", "row_format=dynamic"] {
        let note = note_statement(SqlDialect::MySql, 2, "x", &with_table_options(text));
        assert_eq!(note, "alter table sbtest2 comment = 'x'");
    }
    // On PostgreSQL the comment is not a table option.
    let note = note_statement(SqlDialect::PostgreSql, 2, "x", &with_comment);
    assert_eq!(note, "comment on table sbtest2 is 'x'");
}

#[test]
fn tables_of_sql_server_have_a_sequence() {
    let dialect = SqlDialect::TransactSql;
    let options = OltpOptions::default();
    create_table(dialect, 3, &options, false).assert_equals(
        "create sequence sbtest3_id as integer start with 1; \
         create table sbtest3 (id integer not null default next value for sbtest3_id, \
         k integer default '0' not null, c char(120) default '' not null, \
         pad char(60) default '' not null)",
    );
    let ids_by_client = OltpOptions {
        auto_inc: false,
        ..OltpOptions::default()
    };
    for (options, is_bulk) in [(&ids_by_client, false), (&options, true)] {
        let text = create_table(dialect, 3, options, is_bulk);
        text.assert_starts_with("create table sbtest3 (id integer not null, ");
    }
    assert_eq!(
        sequence_statement(dialect, 3, &options, 9).as_deref(),
        Some("alter sequence sbtest3_id restart with 10")
    );
    let drop = drop_tables(dialect, &["sbtest1", "sbtest3"]);
    for table in ["sbtest1", "sbtest3"] {
        let own = format!(
            "object_id('{table}') and charindex('{table}_id', definition) > 0) begin begin transaction; \
             drop table {table}; drop sequence {table}_id; commit; end \
             else if object_id('{table}', 'U') is not null drop table {table}"
        );
        drop.assert_contains(&own);
    }
}

#[test]
fn errors_of_sql_server_that_a_retry_may_resolve_are_ignored() {
    let error = |number| DbError::server(Protocol::Tds, number, *b"HY000", String::new());
    for number in [1205, 3960, 2627] {
        assert!(ignores_error(SqlDialect::TransactSql, &error(number)));
    }
    assert!(!ignores_error(SqlDialect::TransactSql, &error(208)));
    assert!(!ignores_error(SqlDialect::PostgreSql, &error(1205)));
}

#[test]
fn only_sql_server_gets_declared_types_one_for_each_parameter() {
    let options = OltpOptions::default();
    for kind in StatementKind::ALL {
        assert_eq!(
            parameter_types(SqlDialect::PostgreSql, kind, &options),
            None
        );
        assert_eq!(parameter_types(SqlDialect::MySql, kind, &options), None);
        let dialect = SqlDialect::TransactSql;
        let types = parameter_types(dialect, kind, &options).expect("types");
        let sql = event_statement(dialect, kind, 1, &options);
        assert_eq!(sql.matches('$').count(), types.len(), "{sql}");
    }
}

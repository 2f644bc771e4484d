//! Tests of statements, their rows, parameters and errors.

use crate::support::Server;
use prony_assertions::TextAssertions;
use prony_document::SqlDialect;
use prony_server::control::{Control, Error};
use prony_test_servers::TestControl;

#[test]
fn statements_return_rows_or_errors() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    control.run("CREATE TEMP TABLE t (a int, b text)");
    let insert_three_rows =
        "INSERT INTO t SELECT i, nullif(i, 2)::text FROM generate_series(1, 3) i";
    assert_eq!(control.execute(insert_three_rows).unwrap(), 3);
    let rows = control.query("SELECT a, b FROM t ORDER BY a").unwrap();
    assert_eq!(rows[0], [Some("1".to_owned()), Some("1".to_owned())]);
    assert_eq!(rows[1], [Some("2".to_owned()), None]);
    assert_eq!(
        control
            .query("SELECT 1; SELECT 2 UNION SELECT 3 ORDER BY 1")
            .unwrap()
            .len(),
        2
    );
    assert_eq!(control.query_value("SELECT NULL").unwrap(), None);
    assert_eq!(control.query_value("SELECT 1 WHERE false").unwrap(), None);
    assert_eq!(control.execute("").unwrap(), 0);

    let text_with_quotes = "it's \\ \"odd\"";
    let sql = format!(
        "SELECT {} AS {}",
        SqlDialect::PostgreSql.quote_literal(text_with_quotes),
        SqlDialect::PostgreSql.quote_identifier(text_with_quotes)
    );
    assert_eq!(
        control.query_value(&sql).unwrap().as_deref(),
        Some(text_with_quotes)
    );
    let long = control
        .query_value("SELECT repeat('x', 3000000)")
        .unwrap()
        .unwrap();
    assert_eq!(long.len(), 3_000_000);

    let error = control.execute("SELECT * FROM nothing_there").unwrap_err();
    assert_eq!(
        error.to_string(),
        "ERROR:  relation \"nothing_there\" does not exist"
    );
    assert_eq!(error.sqlstate(), Some("42P01"));
    assert!(!error.is_lost());
    for copy in ["COPY t FROM STDIN", "SELECT 1; COPY t FROM STDIN; SELECT 2"] {
        let error = control.execute(copy).unwrap_err();
        // This must not be the server's error, 57014, which would count as a timeout.
        assert!(matches!(error, Error::Usage(_)), "{copy}: {error}");
        error
            .to_string()
            .assert_starts_with("COPY ... FROM STDIN needs rows from the client");
        assert_eq!(
            control.query_value("SELECT 7").unwrap().as_deref(),
            Some("7")
        );
    }
    control.run("COPY t TO STDOUT");
    let error = control
        .execute("COPY nothing_there FROM STDIN")
        .unwrap_err();
    assert_eq!(
        error.sqlstate(),
        Some("42P01"),
        "the server's own error stays"
    );
    assert!(matches!(
        control.execute("SELECT 1\0"),
        Err(Error::Usage(_))
    ));
    assert!(matches!(control.copy_in("SELECT 1"), Err(Error::Usage(_))));
    assert_eq!(
        control.query_value("SELECT 7").unwrap().as_deref(),
        Some("7")
    );

    control.run("DO $$ BEGIN RAISE NOTICE 'careful'; END $$");
    let notices = control.take_notices();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].message, "careful");
}

#[test]
fn parameters_are_sent_separately_from_the_statement() {
    let server = Server::shared();
    let mut control = Control::connect(&server.unix("postgres")).unwrap();
    let text_with_quotes = "it's \\ \"odd\"";
    let sql = "SELECT $1::text, $2::int + 1, NULL";
    let rows = control.query_with(sql, &[text_with_quotes, "41"]).unwrap();
    let expected = [
        Some(text_with_quotes.to_owned()),
        Some("42".to_owned()),
        None,
    ];
    assert_eq!(rows, [expected]);
    assert_eq!(
        control
            .query_with("SELECT 1 WHERE false", &[])
            .unwrap()
            .len(),
        0
    );
    assert_eq!(
        control
            .query_with("SET work_mem = 1024", &[])
            .unwrap()
            .len(),
        0
    );
    let error = control.query_with("SELECT $1::int", &["x"]).unwrap_err();
    assert_eq!(error.sqlstate(), Some("22P02"));
    for values in [&[][..], &["a", "b"]] {
        let error = control.query_with("SELECT $1::text", values);
        assert!(matches!(error, Err(Error::Usage(_))), "{error:?}");
    }
    assert_eq!(
        control.query_value("SELECT 7").unwrap().as_deref(),
        Some("7")
    );
}

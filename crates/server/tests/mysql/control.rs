//! Statements on the control connection.

use crate::support::{connect, database, target};
use prony_assertions::TextAssertions;
use prony_document::Product;
use prony_server::control::{Control, Error};
use prony_server::settings::{SettingsLock, lock_settings};
use prony_server::{UserLock, take_user_lock};
use prony_test_servers::canned::{Answer, CannedError, CannedProtocol, Conversation, start};
use prony_test_servers::shared_mariadb;

fn texts(rows: &[Vec<Option<String>>]) -> Vec<Vec<&str>> {
    let text = |value: &Option<String>| -> &'static str {
        value
            .clone()
            .map_or("NULL", |text| Box::leak(text.into_boxed_str()))
    };
    rows.iter()
        .map(|row| row.iter().map(text).collect())
        .collect()
}

#[test]
fn statements_return_rows_and_counts() {
    let mut control = database("control_rows");
    assert_eq!(control.product(), Product::MARIADB);
    assert!(
        control.server_version() > 100_000,
        "{}",
        control.server_version()
    );
    control
        .execute("CREATE OR REPLACE TABLE t (n INT PRIMARY KEY, s VARCHAR(20))")
        .unwrap();
    assert_eq!(
        control
            .execute("INSERT INTO t VALUES (1, 'a'), (2, NULL)")
            .unwrap(),
        2
    );
    let rows = control.query("SELECT n, s FROM t ORDER BY n").unwrap();
    assert_eq!(texts(&rows), [["1", "a"], ["2", "NULL"]]);
    // Several statements: the rows of the last one that returns rows.
    let rows = control.query("SELECT 1; SELECT 2, 3; DO 0").unwrap();
    assert_eq!(texts(&rows), [["2", "3"]]);
    assert_eq!(
        control.query("SELECT 1 FROM t WHERE n = 9").unwrap().len(),
        0
    );
    let rows = control
        .query_with("SELECT s FROM t WHERE n = $1 OR s = $2", &["1", "x'y"])
        .unwrap();
    assert_eq!(texts(&rows), [["a"]]);
    assert_eq!(control.query_value("SELECT NULL").unwrap(), None);
}

#[test]
fn an_error_leaves_the_connection_usable() {
    let mut control = database("control_errors");
    let error = control.query("SELECT * FROM nowhere").unwrap_err();
    assert_eq!(error.server_error().map(|error| error.number), Some(1146));
    assert_eq!(error.sqlstate(), Some("42S02"));
    assert_eq!(
        control.query_value("SELECT 7").unwrap().as_deref(),
        Some("7")
    );
    // An error after a successful statement in the same text.
    assert!(matches!(
        control.query("SELECT 1; nonsense"),
        Err(Error::Statement(_))
    ));
    assert_eq!(
        control.query_value("SELECT 8").unwrap().as_deref(),
        Some("8")
    );
}

#[test]
fn binary_values_are_returned_as_text() {
    let mut control = database("control_types");
    let columns = "ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT, i INT UNSIGNED, \
        b BIGINT, bu BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(20,4), y YEAR, da DATE, \
        ti6 TIME(6), dt DATETIME, dt3 DATETIME(3), ts TIMESTAMP NULL, c CHAR(5), v VARCHAR(300), \
        bl BLOB, e ENUM('x','y'), se SET('p','q'), bi BIT(8)";
    control
        .execute(&format!("CREATE OR REPLACE TABLE t ({columns})"))
        .unwrap();
    control
        .execute(
            "INSERT INTO t VALUES (-128, 255, -32768, -8388608, 4294967295, -9223372036854775808, \
             18446744073709551615, 1.5, -0.25, '-1234567890.1234', 2026, '2026-11-21', \
             '-838:59:58.999999', '2026-11-21 01:02:03', '2026-11-21 01:02:03.123', NULL, 'abc', \
             REPEAT('v', 300), x'00ff', 'y', 'p,q', b'1000001')",
        )
        .unwrap();
    control.execute("INSERT INTO t (ti) VALUES (NULL)").unwrap();
    let text = control.query("SELECT * FROM t").unwrap();
    let binary = control
        .query_with("SELECT * FROM t WHERE '1' = $1", &["1"])
        .unwrap();
    assert_eq!(texts(&text), texts(&binary));
    assert_eq!(text[0].len(), 22);
    assert!(text[1].iter().all(Option::is_none));
}

#[test]
fn values_longer_than_a_packet_are_sent_and_received() {
    let mut control = database("control_long");
    control
        .execute("SET GLOBAL max_allowed_packet = 1 << 28")
        .unwrap();
    let url = shared_mariadb().url();
    let mut control = connect(&url).unwrap();
    // Lengths around the limit of one packet: 16 MiB - 1.
    for length in [0xff_ffff - 40, 0xff_ffff - 10, 0xff_ffff, 2 * 0xff_ffff + 3] {
        let long = "x".repeat(length);
        let sql = "SELECT LENGTH($1), $2, 7";
        let rows = control.query_with(sql, &[&long, &long]).unwrap();
        assert_eq!(rows[0][0].as_deref(), Some(length.to_string().as_str()));
        assert_eq!(rows[0][1].as_ref().map(String::len), Some(length));
        assert_eq!(rows[0][2].as_deref(), Some("7"));
    }
    // Rows whose payload is exactly one packet, one byte less or one more.
    for length in 0xff_ffff - 12..0xff_ffff + 2 {
        let rows = control
            .query(&format!("SELECT REPEAT('y', {length})"))
            .unwrap();
        assert_eq!(
            rows[0][0].as_ref().map(String::len),
            Some(length),
            "{length}"
        );
    }
    let text = format!("SELECT LENGTH('{}')", "z".repeat(17 << 20));
    assert_eq!(
        control.query_value(&text).unwrap().as_deref(),
        Some("17825792")
    );
    assert_eq!(
        control.query_value("SELECT 9").unwrap().as_deref(),
        Some("9")
    );
}

#[test]
fn procedures_return_several_results() {
    let mut control = database("control_call");
    control
        .execute(
            "CREATE OR REPLACE PROCEDURE p(IN a INT) BEGIN SELECT a; SELECT a + 1, 'x'; \
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'enough', MYSQL_ERRNO = 7777; END",
        )
        .unwrap();
    for (number, error) in [
        control.execute("CALL p(1)").unwrap_err(),
        control.query_with("CALL p($1)", &["1"]).unwrap_err(),
    ]
    .iter()
    .enumerate()
    {
        let error = error.server_error().expect("a server error");
        assert_eq!((error.number, error.code()), (7777, "45000"), "{number}");
    }
    control
        .execute("CREATE OR REPLACE PROCEDURE q(IN a INT) BEGIN SELECT a; SELECT a + 1, 'x'; END")
        .unwrap();
    let rows = control.query_with("CALL q($1)", &["1"]).unwrap();
    assert_eq!(texts(&rows), [["2", "x"]]);
    let rows = control.query("CALL q(4)").unwrap();
    assert_eq!(texts(&rows), [["5", "x"]]);
}

#[test]
fn local_files_are_refused_unless_requested() {
    let mut control = database("control_infile");
    control
        .execute("CREATE OR REPLACE TABLE t (n INT, s VARCHAR(10))")
        .unwrap();
    control.execute("SET GLOBAL local_infile = 1").unwrap();
    let sql = "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE control_infile.t";
    assert!(control.execute(sql).is_err());
    let url = format!("{}&local-infile=1", shared_mariadb().url());
    let mut control = connect(&url).unwrap();
    assert_eq!(control.load_data(sql, b"1\ta\n2\tb\n").unwrap(), 2);
    assert_eq!(control.load_data(sql, b"").unwrap(), 0);
    let rows: String = (0..400_000)
        .map(|n| format!("{n}\tabcdefghij0123456789012345678901\n"))
        .collect();
    assert!(rows.len() > 0xff_ffff - 1_000_000);
    assert_eq!(control.load_data(sql, rows.as_bytes()).unwrap(), 400_000);
    let sum = control
        .query_value("SELECT COUNT(*) FROM control_infile.t")
        .unwrap();
    assert_eq!(sum.as_deref(), Some("400002"));
    // A statement that requests a file outside load_data ends the connection: no file is read.
    let error = control.execute(sql).unwrap_err();
    error.to_string().assert_contains("refused");
    assert!(error.is_lost());
}

#[test]
fn a_deadlock_has_its_number_and_state() {
    let mut first_session = database("control_deadlock");
    first_session
        .execute("CREATE OR REPLACE TABLE t (n INT PRIMARY KEY, v INT)")
        .unwrap();
    first_session
        .execute("INSERT INTO t VALUES (1, 0), (2, 0)")
        .unwrap();
    let mut second_session = database("control_deadlock");
    first_session.execute("BEGIN").unwrap();
    second_session.execute("BEGIN").unwrap();
    first_session
        .execute("UPDATE t SET v = 1 WHERE n = 1")
        .unwrap();
    second_session
        .execute("UPDATE t SET v = 2 WHERE n = 2")
        .unwrap();
    let thread = std::thread::spawn(move || {
        let second_outcome = second_session
            .execute("UPDATE t SET v = 2 WHERE n = 1")
            .map(drop);
        let _ = second_session.execute("ROLLBACK");
        second_outcome
    });
    let first_outcome = first_session
        .execute("UPDATE t SET v = 1 WHERE n = 2")
        .map(drop);
    let _ = first_session.execute("ROLLBACK");
    let outcomes = [first_outcome, thread.join().unwrap()];
    let failures: Vec<&Error> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
    assert_eq!(failures.len(), 1, "{failures:?}");
    let error = failures[0].server_error().unwrap();
    assert_eq!((error.number, error.code()), (1213, "40001"));
}

#[test]
fn a_statement_can_be_cancelled_and_a_connection_killed() {
    let mut control = database("control_kill");
    let canceller = control.canceller();
    let id = control.backend_pid();
    let mut second: Control = Control::connect(&target(&shared_mariadb().url())).unwrap();
    let sleeper = std::thread::spawn(move || {
        let outcome = control.query("SELECT SLEEP(600), 1 FROM DUAL WHERE SLEEP(600) = 5");
        (control, outcome.map(drop))
    });
    // Cancel once, when the statement runs: a second cancel could hit the next statement.
    let start = std::time::Instant::now();
    let sleeps = format!(
        "SELECT COUNT(*) FROM information_schema.processlist \
         WHERE id = {id} AND state = 'User sleep'"
    );
    while second.query_value(&sleeps).unwrap().as_deref() != Some("1") {
        assert!(start.elapsed().as_secs() < 60, "the statement does not run");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    canceller.cancel().unwrap();
    let (mut control, outcome) = sleeper.join().unwrap();
    if let Err(error) = outcome {
        assert_eq!(
            error.server_error().map(|error| error.number),
            Some(1317),
            "{error}"
        );
    }
    assert_eq!(
        control.query_value("SELECT 5").unwrap().as_deref(),
        Some("5")
    );
    second.execute(&format!("KILL {id}")).unwrap();
    let error = control.execute("SELECT 6").unwrap_err();
    assert!(error.is_lost(), "{error}");
    assert!(matches!(control.execute("SELECT 6"), Err(Error::Dead)));
}

#[test]
fn the_servers_version_and_settings_are_known() {
    let mut control = database("control_facts");
    let facts = prony_server::read_server_facts(&mut control).unwrap();
    facts.version.assert_contains("MariaDB");
    let setting = |name: &str| {
        let setting = facts.settings.iter().find(|(known, _)| known == name);
        setting.map(|(_, value)| value.as_str())
    };
    assert_eq!(setting("innodb_buffer_pool_size"), Some("67108864"));
    assert!(setting("innodb_flush_log_at_trx_commit").is_some());
    assert!(facts.settings.is_sorted());
}

#[test]
fn quoted_text_is_unchanged_in_every_sql_mode() {
    let mut control = database("control_quotes");
    let text = "it's \\ a `\"test\"` \\' é";
    for mode in ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"] {
        control
            .execute(&format!("SET sql_mode = '{mode}'"))
            .unwrap();
        let (name, value) = ("a`b", control.dialect().quote_literal(text));
        let name = control.dialect().quote_identifier(name);
        let rows = control.query(&format!("SELECT {value} AS {name}")).unwrap();
        assert_eq!(rows[0][0].as_deref(), Some(text), "{mode}");
    }
}

/// Percona XtraDB Cluster and old versions of MariaDB's refuse the function.
#[test]
fn a_cluster_without_user_level_locks_is_no_failure() {
    let refusal = Answer::Error(CannedError {
        number: 1105,
        sqlstate: "HY000",
        message:
            "Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING"
                .to_owned(),
    });
    let conversation = Conversation::new("8.0.36", vec![("get_lock(".to_owned(), refusal)]);
    let port = start(CannedProtocol::MySql, conversation).expect("a port");
    let url = format!("mysql://ann@127.0.0.1:{port}/d");
    let target = prony_server::resolve(&url, &prony_server::Environment::without_home("ann"));
    let target = target.expect("an address");
    let mut control = prony_server::Control::connect(&target).expect("it answers");
    let lock = take_user_lock(&mut control, "'a'", 0).expect("no failure");
    assert_eq!(lock, UserLock::Refused);
    let lock = lock_settings(&target).expect("no failure");
    assert!(matches!(lock, SettingsLock::Absent));
}

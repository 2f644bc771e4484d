//! What placeholders stand for in statements as each engine normalises them, and a capture on a server that speaks SQL
//! Server's protocol.

use super::statement::{ColumnName, ColumnUse, Role, read, with_rows};
use super::{CaptureOptions, Captured, capture, masked, reads_only_catalog};
use crate::Workload;
use crate::script::SQL;
use crate::tests::mock_sqlserver::connect;
use prony_assertions::{TextAssertions, cases};
use prony_document::SqlDialect::{self, MySql, PostgreSql, TransactSql};
use prony_plan::{PlanInput, QueryMode, UserError};
use prony_server::statements::{StatementStatistics, read_statements};
use prony_tds_server::{Column, Datum, Outcome, Parameter, Type};
use std::time::Duration;

/// The roles of a statement's placeholders, in short: `=aid`, `limit`.
fn roles(text: &str, dialect: SqlDialect) -> String {
    let statement = read(text, dialect, true).expect(text);
    let role = |role: &Role| match role {
        Role::Column(ColumnName { qualifier, name }, column_use) => {
            let sign = match column_use {
                ColumnUse::Equal => "=",
                ColumnUse::In => "in ",
                ColumnUse::Array => "any ",
                ColumnUse::Low => ">",
                ColumnUse::High => "<",
                ColumnUse::Assigned => "set ",
                ColumnUse::Inserted => "insert ",
                ColumnUse::Operand => "+",
            };
            let qualifier = qualifier.as_ref().map(|name| format!("{name}."));
            format!("{sign}{}{name}", qualifier.unwrap_or_default())
        }
        Role::Limit => "limit".to_owned(),
        Role::Offset => "offset".to_owned(),
        Role::Number => "number".to_owned(),
        Role::TypedLiteral(kind) => kind.clone(),
        Role::Unknown => "?".to_owned(),
    };
    statement
        .roles
        .iter()
        .map(role)
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn placeholders_belong_to_the_columns_beside_them() {
    for [text, expected] in cases(
        r#"
            SELECT a FROM t WHERE t.id = $1 AND x::text <> $2 LIMIT $3 OFFSET $4 => =t.id, =x, limit, offset
            UPDATE t SET a = a + $1, b = $2 WHERE id = $3 => +a, set b, =id
            SELECT c FROM sbtest1 WHERE id BETWEEN $1 AND $2 ORDER BY c => >id, <id
            SELECT 1 FROM t WHERE $1 <= "Due" AND due < $2 => >Due, <due
            SELECT 1 FROM t WHERE a IN ($1, $2, $3 /*, ... */) AND b NOT IN ($4) => in a, in a, in a, in b
            SELECT 1 FROM t WHERE id = ANY ($1) AND name LIKE $2 => any id, =name
            INSERT INTO t (a, "B") VALUES ($1, $2), ($3, lower($4)) ON CONFLICT (a) DO UPDATE SET b = $5
                => insert a, insert B, insert a, ?, set b
            INSERT INTO t VALUES ($1, now(), $2::int) => insert #1, insert #3
            SELECT 1 FROM t WHERE at > now() - interval $1 AND lower(e) = $2 => interval, ?
            SELECT $1 || f($2), extract($5 from a), CAST($3 AS int) FROM t WHERE a = CAST($4 AS int)
                => ?, ?, extract, ?, =a
            // One parameter in two places.
            SELECT 1 FROM t WHERE a = $1 OR b = $1 => =a
        "#,
    ) {
        assert_eq!(roles(text, PostgreSql), expected, "{text}");
    }
    for [text, expected] in cases(
        r#"
            SELECT `c` FROM `sbtest1` WHERE `id` = ? LIMIT ?, ... => =id, offset, limit
            INSERT INTO `t` ( `a` , `b` ) VALUES (...) ON DUPLICATE KEY UPDATE `b` = ?
                => insert a, insert b, set b
        "#,
    ) {
        assert_eq!(roles(text, MySql), expected, "{text}");
    }
    let digest = read(
        "SELECT COUNT ( * ) , `f` ( ? ) FROM t WHERE ( a ) IN ( ? )",
        MySql,
        true,
    );
    let text = digest
        .expect("a statement")
        .with_placeholders(|_| "1".to_owned());
    text.assert_equals("SELECT COUNT( * ) , `f` ( 1 ) FROM t WHERE ( a ) IN ( 1 )");
    roles("SELECT 1 FROM t WHERE id BETWEEN ? AND ? + ?", MySql).assert_equals(">id, <id, number");
    let rows = with_rows(
        "INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */",
        2.1,
    );
    roles(&rows, MySql).assert_equals("insert a, insert b, insert a, insert b");
    let list = roles("SELECT 1 FROM `t` WHERE `id` IN (...)", MySql);
    let is_collapsed =
        |text: &str, dialect| read(text, dialect, true).expect(text).has_collapsed_list;
    assert!(is_collapsed("SELECT 1 FROM `t` WHERE `id` IN (...)", MySql));
    assert!(is_collapsed(
        "SELECT a FROM t WHERE b IN ($1 /*, ... */)",
        PostgreSql
    ));
    assert!(!is_collapsed("INSERT INTO `t` ( `a` ) VALUES (...)", MySql));
    assert_eq!(list, ["in id"; 10].join(", "));
    roles(
        "SELECT TOP (@P1) [x y] FROM dbo.t WHERE [x y] = @P2 AND n = @@spid",
        TransactSql,
    )
    .assert_equals("limit, =x y");
}

#[test]
fn literals_that_statistics_left_in_are_masked() {
    let text = "SELECT 'Müller' FROM t WHERE a = 5 AND name = N'x''y' AND d IN (1, 2) ORDER BY 1";
    assert_eq!(roles(text, TransactSql), "?, =a, =name, in d, in d");
    let statement = read(text, TransactSql, true).expect("a statement");
    let masked_text = statement.with_placeholders(|number| format!(":{number}"));
    masked_text
        .assert_equals("SELECT :0 FROM t WHERE a = :1 AND name = :2 AND d IN (:3, :4) ORDER BY 1");
    let kept = read(text, TransactSql, false).expect("a statement");
    assert_eq!(kept.with_placeholders(|_| String::new()), text);
    // Numbers too, with their signs, except where the grammar takes no variable.
    for [text, expected] in cases(
        r#"
            SELECT TOP 5 f(123456), CAST(a AS decimal(10, 2)) FROM t WHERE b < -50000 AND c IN (-1, -2) AND d - \
                5 > 1 ORDER BY 1, 2 DESC OFFSET 20 ROWS
                => SELECT TOP 5 f(:0), CAST(a AS decimal(10, 2)) FROM t WHERE b < :1 AND c IN (:2, :3) AND d - \
                :4 > :5 ORDER BY 1, 2 DESC OFFSET :6 ROWS
            SELECT CASE WHEN a = 1 THEN 4242 END /* user=ann@x.org */ FROM t -- ann\nWHERE a = @P1
                => SELECT CASE WHEN a = :0 THEN :1 END FROM t WHERE a = :2
        "#,
    ) {
        let statement = read(text, TransactSql, true).expect(text);
        let masked_text = statement.with_placeholders(|number| format!(":{number}"));
        assert_eq!(masked_text.replace("  ", " "), expected);
    }
    let double = read("SELECT 1 FROM t WHERE a = \"ann\"", TransactSql, true);
    double
        .expect_err("a literal")
        .assert_contains("--keep-literals");
    let hint = "/*+ SeqScan(t) */ SELECT a FROM t";
    let hint = read(hint, PostgreSql, true).expect("a statement");
    hint.with_placeholders(|_| String::new())
        .assert_contains("SeqScan");
    for (text, dialect, expected) in [
        ("VACUUM 'secret'\n 17 x", PostgreSql, "VACUUM ? ? x"),
        (
            "CALL pay(4111111111111111, E'it\\'s secret', $$a$$) /* ann */",
            PostgreSql,
            "CALL pay(?, ?, ?)",
        ),
        (
            "EXEC pay \"Ann\", 'cut Müller",
            TransactSql,
            "EXEC pay ?, ?",
        ),
        ("CALL pay(\"Ann\", 'x\\'y')", MySql, "CALL pay(?, ?)"),
    ] {
        assert_eq!(masked(text, dialect), expected);
    }
}

/// What `capture` makes of these statistics, where the server answers other queries with what `answer` returns.
fn captured(answer: impl Fn(&str) -> Vec<Outcome> + Send + Sync + 'static) -> Captured {
    let answer = move |text: &str, _: &[Parameter]| answer(text);
    let mut control = connect(answer);
    let statistics = read_statements(&mut control).expect("statistics");
    let view = statistics.view;
    let totals = statistics.since(&StatementStatistics::default());
    let options = CaptureOptions {
        share: 1.0,
        keeps_literals: false,
        time: Duration::from_secs(60),
        view,
        sequences: Vec::new(),
    };
    capture(&mut control, totals, &["some is hidden"], &options).expect("a plan")
}

fn rows(rows: &[&[&str]]) -> Vec<Outcome> {
    let column = Column::new("c", Type::VarChar(400));
    let row = |cells: &&[&str]| -> Vec<Datum> {
        let cells = cells.iter();
        cells.map(|cell| Datum::Bytes((*cell).into())).collect()
    };
    let width = rows.first().map_or(0, |row| row.len());
    let rows = rows.iter().map(row).collect();
    vec![Outcome::Rows(vec![column; width], rows)]
}

/// Rows of statistics: key, text, calls, time and rows.
fn statistics(text: &str) -> Vec<Outcome> {
    let statements = cases::<5>(text);
    let statements: Vec<&[&str]> = statements.iter().map(|parts| &parts[..]).collect();
    rows(&statements)
}

#[test]
fn a_name_of_the_catalog_cannot_end_a_text_of_the_plan() {
    let Captured { plan, left_out, .. } = captured(|text| match text {
        text if text.contains("dm_exec_query_stats") => statistics(
            r"
                0x1 => SELECT 1 FROM evil WHERE [x'''\n[run]] = @P1 => 3 => 9 => 3
                0x2 => UPDATE evil SET [a\nb] = [a\nb] + @P1 => 3 => 9 => 3
                0x3 => SELECT a FROM t WHERE a = @P1 => 3 => 9 => 3
                0x4 => INSERT INTO evil VALUES (@P1) => 3 => 9 => 3
                // As an INSERT without names numbers its columns, from one.
                0x5 => SELECT a FROM t WHERE [#0] = @P1 => 3 => 9 => 3
            ",
        ),
        text if text.contains("sys.columns") => rows(&[
            &["x'''\n[run]\nat=['exec id']\n#", "varchar", "0"],
            &["a\nb", "int", "0"],
            &["a", "int", "0"],
        ]),
        _ => rows(&[&["1"]]),
    });
    let reasons: Vec<&str> = left_out.iter().map(|it| it.reason.as_str()).collect();
    assert!(
        reasons
            .iter()
            .any(|reason| reason.contains("a plan cannot")),
        "{plan}"
    );
    assert!(
        !plan.contains("\n[run]") && !plan.contains("\nat="),
        "{plan}"
    );
    PlanInput::from_toml("mix.toml", &plan).expect("TOML");
}

#[test]
fn rows_of_an_insert_are_drawn_one_by_one_and_a_key_without_a_right_is_a_guess() {
    let Captured { plan, .. } = captured(|text| match text {
        text if text.contains("dm_exec_query_stats") => statistics(
            r"
                0x1 => INSERT INTO t (id, a, b) VALUES (@P1, @P2, @P3), (@P4, @P5, @P6) => 3 => 9 => 6
            ",
        ),
        text if text.contains("sys.columns") => rows(&[
            &["id", "int", "1"],
            &["a", "varchar", "0"],
            &["b", "varchar", "0"],
        ]),
        text if text.contains("max([id])") => {
            let refusal = "The SELECT permission was denied".to_owned();
            vec![Outcome::Error(229, 5, 14, refusal)]
        }
        _ => rows(&[&["1"]]),
    });
    for part in [
        "\\sample t_a_b_written a b\n\\sample t_a_b_written a_2 b_2\n",
        "VALUES (:id, :a, :b), (:id_2, :a_2, :b_2);",
        "the greatest [id] of t could not be read",
    ] {
        plan.assert_contains(part);
    }
    assert_eq!(plan.matches("[[workload.samples]]").count(), 1, "{plan}");
}

#[test]
fn tables_have_their_aliases() {
    let tables = |text: &str| {
        let statement = read(text, PostgreSql, true).expect(text);
        let tables = statement.tables.iter();
        tables
            .map(|table| format!("{} {}", table.text, table.alias))
            .collect::<Vec<_>>()
            .join(", ")
    };
    for [text, expected] in cases(
        r#"
            SELECT 1 FROM a, s."B" AS x JOIN c ON a.i = c.i WHERE i IN (SELECT i FROM d FOR UPDATE)
                => a a, s."B" x, c c, d d
            UPDATE only t u SET a = $1 FROM generate_series($2, $3) g => t u
            INSERT INTO t(a) SELECT $1 WHERE a IS DISTINCT FROM $2 => t t
            DELETE FROM t WHERE a = $1 => t t
            // Neither the arguments of a function nor a query of the statement is a table.
            WITH old AS (SELECT a FROM t WHERE extract(year FROM at) < $1), b AS MATERIALIZED (SELECT 1) SELECT \
                substring(trim(both FROM a) FROM 1) FROM old, b, c AS d
                => t t, c d
            SELECT 1 FROM a, old AS b WHERE a.as = $1 => a a, old b
        "#,
    ) {
        assert_eq!(tables(text), expected, "{text}");
    }
}

#[test]
fn statements_about_the_server_itself_are_none_of_an_application() {
    for [text, expected] in cases(
        r#"
            SELECT 1 FROM pg_catalog.pg_class c JOIN "pg_namespace" n ON c.a = n.b => true
            SELECT 1 FROM pg_class JOIN orders ON true => false
            SELECT 1 FROM pgbench_accounts => false
            SELECT $1, pg_backend_pid() => true
            SELECT charge_order($1) => false
            // As Prony and monitoring ask.
            select pg_wal_lsn_diff(redo_lsn, $1), extract($2 from checkpoint_time) from pg_control_checkpoint() => true
            with recursive up as (select i.inhparent from pg_inherits i join up u on true) select 1 from pg_class, up
                => true
        "#,
    ) {
        let is_about_server = reads_only_catalog(text, PostgreSql);
        assert_eq!(is_about_server.to_string(), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_a_transaction_has_a_reason() {
    let colon = "a script cannot have its colons or quotes";
    let unknown_count = "the number of its values is not known";
    for (text, dialect, reason) in [
        ("SELECT a[1:n] FROM t", PostgreSql, colon),
        ("SELECT 1; SELECT 2", PostgreSql, "it is several statements"),
        ("SELECT `a` , `b` ...", MySql, "the server has cut its text"),
        ("INSERT INTO `t` VALUES (...)", MySql, unknown_count),
    ] {
        assert_eq!(read(text, dialect, true), Err(reason), "{text}");
    }
    assert!(read("SELECT a::int FROM t", PostgreSql, true).is_ok());
}

#[test]
fn a_plan_is_captured_on_sql_server() {
    let Captured { plan, .. } = captured(|text| match text {
        text if text.contains("dm_exec_query_stats") => statistics(
            r"
                0x1 => SELECT name FROM dbo.users WHERE id = @P1 AND name = 'Smith' => 30 => 9000 => 30
                0x2 => INSERT INTO dbo.users (id, name) VALUES (@P1, @P2) => 10 => 1000 => 10
            ",
        ),
        text if text.contains("sys.columns") => {
            rows(&[&["id", "int", "1"], &["name", "varchar", "0"]])
        }
        text if text.contains("sys.objects") => rows(&[&["400000", "1"]]),
        text if text.contains("max([id])") => rows(&[&["41"]]),
        text if text.contains("dbo.users") => rows(&[&["7", "Jones"]]),
        _ => rows(&[&["1"]]),
    });
    for part in [
        "# Incomplete: some is hidden.\n",
        "from sys.dm_exec_query_stats in 60 s: 2 statements, 40 calls",
        "SELECT /* prony */ TOP 10000 [id], [name] FROM dbo.users TABLESAMPLE (25.000000 PERCENT) WHERE [id] IS NOT NULL AND [name] IS NOT NULL",
        "weight = 30\ncaptured = { time = 0.9000, rows = 1.0000 }",
        "SELECT name FROM dbo.users WHERE id = :id AND name = :name;",
        "\\set id random(42, 2147483647)\n",
        "INSERT INTO dbo.users (id, name) VALUES (:id, :name);",
    ] {
        plan.assert_contains(part);
    }
    assert!(!plan.contains("Smith") && !plan.contains("Jones"), "{plan}");
    let workload = PlanInput::from_toml("mix.toml", &plan).expect("TOML");
    let workload = workload.check().expect("valid").workload;
    let problems = SQL.check_options(&workload, QueryMode::Prepared);
    assert!(problems.is_empty(), "{plan}");
}

#[test]
fn a_query_store_that_records_is_read_instead_of_the_cache_of_plans() {
    let Captured { plan, .. } = captured(|text| match text {
        text if text.contains("database_query_store_options") => rows(&[&["2", "AUTO"]]),
        text if text.contains("query_store_runtime_stats") => statistics(
            r"
                0x1 7 => (@P1 int)SELECT name FROM dbo.users WHERE id = @P1 => 20 => 6.1e3 => 20
                // Another plan of it.
                0x1 8 => (@P1 int)SELECT name FROM dbo.users WHERE id = @P1 => 10 => 2900 => 40
            ",
        ),
        text if text.contains("sys.columns") => {
            rows(&[&["id", "int", "1"], &["name", "varchar", "0"]])
        }
        text if text.contains("dm_exec_query_stats") => panic!("the cache of plans was read"),
        _ => rows(&[&["1"]]),
    });
    for part in [
        "from sys.query_store_runtime_stats in 60 s: 1 statements, 30 calls",
        "weight = 30\ncaptured = { time = 1.0000, rows = 2.0000 }",
        "SELECT name FROM dbo.users WHERE id = :id;",
    ] {
        plan.assert_contains(part);
    }
}

#[test]
fn a_login_that_may_not_read_the_statistics_is_told_the_right() {
    let refuse = |text: &str, _: &[Parameter]| {
        if text.contains("dm_exec_query_stats") {
            vec![Outcome::Error(
                300,
                1,
                14,
                "VIEW SERVER STATE permission was denied".to_owned(),
            )]
        } else {
            vec![Outcome::Count(1)]
        }
    };
    let mut control = connect(refuse);
    let error = read_statements(&mut control).expect_err("it is refused");
    let hint = error.parts().hint.unwrap_or_default();
    hint.assert_contains("GRANT VIEW SERVER STATE");
}

//! What placeholders stand for in statements as each engine normalises them.

use super::statement::{ColumnName, ColumnUse, Role, read};
use super::{masked, reads_only_catalog};
use prony_document::SqlDialect::{self, MySql, PostgreSql, TransactSql};

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
    for (text, expected) in [
        (
            "SELECT a FROM t WHERE t.id = $1 AND x::text <> $2 LIMIT $3 OFFSET $4",
            "=t.id, =x, limit, offset",
        ),
        (
            "UPDATE t SET a = a + $1, b = $2 WHERE id = $3",
            "+a, set b, =id",
        ),
        (
            "SELECT c FROM sbtest1 WHERE id BETWEEN $1 AND $2 ORDER BY c",
            ">id, <id",
        ),
        (
            "SELECT 1 FROM t WHERE $1 <= \"Due\" AND due < $2",
            ">Due, <due",
        ),
        (
            "SELECT 1 FROM t WHERE a IN ($1, $2, $3 /*, ... */) AND b NOT IN ($4)",
            "in a, in a, in a, in b",
        ),
        (
            "SELECT 1 FROM t WHERE id = ANY ($1) AND name LIKE $2",
            "any id, =name",
        ),
        (
            "INSERT INTO t (a, \"B\") VALUES ($1, $2), ($3, lower($4)) ON CONFLICT (a) DO UPDATE SET b = $5",
            "insert a, insert B, insert a, ?, set b",
        ),
        (
            "INSERT INTO t VALUES ($1, now(), $2::int)",
            "insert #1, insert #3",
        ),
        (
            "SELECT 1 FROM t WHERE at > now() - interval $1 AND lower(e) = $2",
            "interval, ?",
        ),
        (
            "SELECT $1 + f($2), CAST($3 AS int) FROM t WHERE a = CAST($4 AS int)",
            "?, ?, ?, =a",
        ),
        // One parameter in two places.
        ("SELECT 1 FROM t WHERE a = $1 OR b = $1", "=a"),
    ] {
        assert_eq!(roles(text, PostgreSql), expected, "{text}");
    }
    for (text, expected) in [
        (
            "SELECT `c` FROM `sbtest1` WHERE `id` = ? LIMIT ?, ...",
            "=id, offset, limit",
        ),
        (
            "INSERT INTO `t` ( `a` , `b` ) VALUES (...) ON DUPLICATE KEY UPDATE `b` = ?",
            "insert a, insert b, set b",
        ),
    ] {
        assert_eq!(roles(text, MySql), expected, "{text}");
    }
    let list = roles("SELECT 1 FROM `t` WHERE `id` IN (...)", MySql);
    assert_eq!(list, ["in id"; 10].join(", "));
    assert_eq!(
        roles(
            "SELECT TOP (@P1) [x y] FROM dbo.t WHERE [x y] = @P2 AND n = @@spid",
            TransactSql
        ),
        "limit, =x y"
    );
}

#[test]
fn literals_that_statistics_left_in_are_masked() {
    let text = "SELECT 'Müller' FROM t WHERE a = 5 AND name = N'x''y' AND d IN (1, 2) ORDER BY 1";
    assert_eq!(roles(text, TransactSql), "?, =a, =name, in d, in d");
    let statement = read(text, TransactSql, true).expect("a statement");
    let masked_text = statement.with_placeholders(|number| format!(":{number}"));
    assert_eq!(
        masked_text,
        "SELECT :0 FROM t WHERE a = :1 AND name = :2 AND d IN (:3, :4) ORDER BY 1"
    );
    let kept = read(text, TransactSql, false).expect("a statement");
    assert_eq!(kept.with_placeholders(|_| String::new()), text);
    assert_eq!(masked("VACUUM 'secret'\n 17 x"), "VACUUM '' ? x");
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
    for (text, expected) in [
        (
            "SELECT 1 FROM a, s.\"B\" AS x JOIN c ON a.i = c.i WHERE i IN (SELECT i FROM d FOR UPDATE)",
            "a a, s.\"B\" x, c c, d d",
        ),
        (
            "UPDATE only t u SET a = $1 FROM generate_series($2, $3) g",
            "t u",
        ),
        (
            "INSERT INTO t(a) SELECT $1 WHERE a IS DISTINCT FROM $2",
            "t t",
        ),
        ("DELETE FROM t WHERE a = $1", "t t"),
    ] {
        assert_eq!(tables(text), expected, "{text}");
    }
}

#[test]
fn statements_about_the_server_itself_are_none_of_an_application() {
    for (text, expected) in [
        (
            "SELECT 1 FROM pg_catalog.pg_class c JOIN \"pg_namespace\" n ON c.a = n.b",
            true,
        ),
        ("SELECT 1 FROM pg_class JOIN orders ON true", false),
        ("SELECT 1 FROM pgbench_accounts", false),
        ("SELECT $1", false),
    ] {
        assert_eq!(reads_only_catalog(text, PostgreSql), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_a_transaction_has_a_reason() {
    for (text, dialect, reason) in [
        (
            "SELECT a[1:n] FROM t",
            PostgreSql,
            "a script cannot have its colons or quotes",
        ),
        ("SELECT 1; SELECT 2", PostgreSql, "it is several statements"),
        ("SELECT `a` , `b` ...", MySql, "the server has cut its text"),
        (
            "INSERT INTO `t` VALUES (...)",
            MySql,
            "the number of its values is not known",
        ),
    ] {
        assert_eq!(read(text, dialect, true), Err(reason), "{text}");
    }
    assert!(read("SELECT a::int FROM t", PostgreSql, true).is_ok());
}

//! Own SQL and the ledger on the SQL Server that `PRONY_TEST_SQLSERVER` names.

use crate::common::*;

/// The server, and a store for one test; `None`, with a message, without a server.
fn sql_server_bench() -> Option<TestBench> {
    let Ok(urls) = std::env::var("PRONY_TEST_SQLSERVER") else {
        eprintln!("skipped: PRONY_TEST_SQLSERVER names no SQL Server");
        return None;
    };
    let url = urls.split_whitespace().next().unwrap_or_default();
    Some(TestBench::at(url.to_owned()))
}

const PLAN: &str = r#"
[workload]
name = "sql"
define = { label = "it's é", uid = "6F9619FF-8B86-D011-B42D-00C04FC964FF", at = "2026-11-29T10:11:12.123" }

[[workload.transactions]]
name = "place"
weight = 3
sql = """
\\set customer random(1, 100)
\\set amount random(1, 500) / 10.0
\\set big :customer * 10000000000
\\set is_large :amount > 25
BEGIN TRANSACTION;
INSERT INTO own_orders (customer, amount, note, placed, ref, big, large) OUTPUT inserted.id
  VALUES (:customer, :amount, :label, :at, :uid, :big, :is_large) \\gset
UPDATE own_customers SET orders = orders + 1, last_order = :id WHERE id = :customer;
COMMIT;
"""

[[workload.transactions]]
name = "look"
sql = """
\\set n 3
SELECT TOP (:n) id FROM own_orders WHERE ref = :uid AND note = :label AND placed = :at AND amount > 0.5;
"""

[run]
clients = 2
transactions = 30
"#;

#[test]
fn own_transactions_have_values_of_each_type_in_every_mode() {
    let Some(bench) = sql_server_bench() else {
        return;
    };
    let path = bench.home.write("own.toml", PLAN);
    let mut control = connect(&bench.url);
    for mode in ["simple", "extended", "prepared"] {
        for sql in [
            "DROP TABLE IF EXISTS own_orders",
            "DROP TABLE IF EXISTS own_customers",
            "CREATE TABLE own_orders (id bigint IDENTITY PRIMARY KEY, customer int, amount decimal(10, 2), \
             note nvarchar(100), placed datetime2(3), ref uniqueidentifier, big bigint, large bit)",
            "CREATE TABLE own_customers (id int PRIMARY KEY, orders int NOT NULL DEFAULT 0, last_order bigint)",
            "INSERT INTO own_customers (id) SELECT TOP 100 row_number() OVER (ORDER BY (SELECT 1)) FROM sys.all_columns",
        ] {
            control.execute(sql).expect(sql);
        }
        let run = bench.run(&format!(
            "run {} --protocol {mode} --warmup 0s",
            path.display()
        ));
        let totals = total_figures(&run.measured);
        assert_eq!((totals.committed, totals.failed), (60, 0), "{mode}");
        let mut kinds = run.measured.kinds.iter();
        let placed = kinds.find(|kind| kind.kind.as_deref() == Some("place"));
        let placed = placed.expect("a kind").committed;
        let right = "SELECT count(*) FROM own_orders WHERE note = N'it''s é' AND placed = '2026-11-29T10:11:12.123' \
                     AND ref = '6F9619FF-8B86-D011-B42D-00C04FC964FF' AND big = customer * cast(10000000000 as bigint) \
                     AND large = case when amount > 25 then 1 else 0 end";
        assert_eq!(query_number(&mut control, right), placed, "{mode}");
        let sum = "SELECT sum(orders) FROM own_customers";
        assert_eq!(query_number(&mut control, sum), placed, "{mode}");
    }
    for (sql, line) in [
        ("SELECT 1;\nSELECT 1 FROM own_nothing;", 2),
        ("SELECT no_column FROM own_orders;", 1),
    ] {
        let text = PLAN.split("[[").next().unwrap_or_default();
        let plan =
            format!("{text}[[workload.transactions]]\nname = \"pay\"\nsql = \"\"\"\n{sql}\"\"\"\n");
        std::fs::write(&path, plan).expect("a file");
        let output = bench.prony(&format!("run {}", path.display()));
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{message}");
        let expected = format!("the server refuses transaction \"pay\", line {line}: ");
        assert!(message.contains(&expected), "{message}");
    }
}

const LEDGER: &str = "--clients 2 --transactions 30 --warmup 0s --ledger";

#[test]
fn a_ledger_accounts_for_blocks_and_single_statements() {
    let Some(bench) = sql_server_bench() else {
        return;
    };
    bench.ok("load oltp_read_write -o table_size=1000");
    for arguments in [
        "oltp_read_write --protocol prepared",
        "oltp_read_write --protocol simple",
        "oltp_update_index --protocol prepared",
        "oltp_update_index --protocol extended",
    ] {
        let run = bench.run(&format!("run {arguments} {LEDGER}"));
        let totals = total_figures(&run.measured);
        let account = run.ledger.expect("an account");
        assert_eq!(account.not_read, None, "{arguments}");
        assert_eq!(
            (account.acknowledged, totals.committed),
            (60, 60),
            "{arguments}"
        );
        let wrong = [
            account.lost,
            account.duplicated,
            account.phantom,
            account.unrecorded,
        ];
        assert_eq!(wrong, [0; 4], "{arguments}: {account:?}");
    }
    // In the simple protocol a single statement has none, which is said.
    let run = bench.run(&format!("run oltp_update_index --protocol simple {LEDGER}"));
    let account = run.ledger.expect("an account");
    assert_eq!((account.acknowledged, account.unrecorded), (0, 60));
    bench.ok("clean oltp_read_write");
}

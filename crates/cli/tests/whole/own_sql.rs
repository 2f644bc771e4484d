//! The sql workload on real servers: the user's own transactions in a plan.

use crate::common::*;
use prony_test_servers::canned::{CannedProtocol, Conversation, start};

/// Two transactions that use what the language has; `{postgres}` and the like are filled in for an engine.
const PLAN: &str = r#"
[workload]
name = "sql"
define = { days = 7 }

[[workload.transactions]]
name = "place order"
weight = 3
sql = '''
\set customer random(1, 100)
\set amount random(1, 500) / 10.0
\set is_large :amount > 25
BEGIN;
{insert}
UPDATE customers SET orders = orders + 1, last_order = :id, has_large = :is_large WHERE id = :customer;
COMMIT;
'''

[[workload.transactions]]
name = "look"
file = "sql/look.sql"

[run]
clients = 2
transactions = 60
protocol = "prepared"
statement_latency = true
"#;

const POSTGRES_INSERT: &str = "INSERT INTO orders (customer, amount, note) VALUES (:customer, :amount, 'at 12:30 :customer') \
                               RETURNING id \\gset";
const MYSQL_INSERT: &str = "INSERT INTO orders (customer, amount, note) VALUES (:customer, :amount, 'at 12:30 :customer'); -- it's\n\
     SELECT last_insert_id() AS id \\gset";

const LOOK: &str = "\\set customer random(1, 100)\n\\if :customer > 0\n\
                    SELECT count(*) FROM orders WHERE customer = :customer AND amount < :days;\n\
                    \\else\nSELECT 1;\n\\endif\n";

/// Writes the plan and its file; returns the plan's path.
fn write_plan(home: &TestFolder, insert: &str) -> String {
    home.write("sql/look.sql", LOOK);
    let path = home.write("orders.toml", PLAN.replace("{insert}", insert));
    path.display().to_string()
}

/// Asserts that a run executed the transactions, as its document and the tables say.
fn assert_executed(run: &Run, control: &mut Control) {
    assert_eq!(run.state, RunState::Complete, "{:?}", run.ended_because);
    assert_eq!(run.workload.own_name.as_deref(), Some("orders"));
    assert_eq!(run.workload.kinds, ["place order", "look"]);
    let totals = total_figures(&run.measured);
    assert_eq!((totals.committed, totals.failed), (120, 0));
    let mut kinds = run.measured.kinds.iter();
    let placed = kinds.find(|kind| kind.kind.as_deref() == Some("place order"));
    let placed = placed.expect("a kind").committed;
    assert!(
        (60..120).contains(&placed),
        "{placed} of 120 with a weight of 3 in 4"
    );
    let mut number = |sql: &str| query_number(control, sql);
    // The colons in the text are no variables.
    assert_eq!(
        number("SELECT count(*) FROM orders WHERE note = 'at 12:30 :customer'"),
        placed
    );
    assert_eq!(number("SELECT sum(orders) FROM customers"), placed);
    assert!(number("SELECT count(*) FROM orders WHERE amount <> floor(amount)") > 0);
    let wrong = "SELECT count(*) FROM customers c JOIN orders o ON o.id = c.last_order \
                 WHERE o.customer <> c.id OR c.has_large <> (o.amount > 25)";
    assert_eq!(number(wrong), 0);
}

/// A plan whose statement has more parameters than 16 bits count, which only the simple protocol can send.
fn write_wide_plan(home: &TestFolder) -> String {
    let list = vec![":a"; 70_000].join(",");
    let plan = format!(
        "[workload]\nname = \"sql\"\n[[workload.transactions]]\nname = \"wide\"\nsql = '''\n\\set a random(1, 9)\n\
         SELECT 1 IN ({list});\n'''\n[run]\nclients = 1\ntransactions = 2\n"
    );
    let path = home.write("wide.toml", plan);
    path.display().to_string()
}

#[test]
fn own_transactions_run_in_every_mode_of_postgres() {
    let bench = TestBench::new("own_sql");
    let plan = write_plan(&bench.home, POSTGRES_INSERT);
    for mode in ["simple", "extended", "prepared"] {
        let mut control = bench.control();
        control
            .execute(
                "DROP TABLE IF EXISTS orders, customers;
                 CREATE TABLE orders (id bigserial PRIMARY KEY, customer int, amount numeric, note text);
                 CREATE TABLE customers (id int PRIMARY KEY, orders int DEFAULT 0, last_order bigint, has_large bool);
                 INSERT INTO customers (id) SELECT generate_series(1, 100)",
            )
            .expect("tables");
        let run = bench.run(&format!("run {plan} --protocol {mode}"));
        assert_executed(&run, &mut control);
        let statements = run.statements.iter().flatten();
        let names: Vec<&str> = statements
            .map(|statement| statement.name.as_str())
            .collect();
        assert!(names.contains(&"look:3, command 3"), "{names:?}");
        // The document has the file's text.
        let transactions = run.plan["workload"]["transactions"]
            .as_array()
            .expect("a list")
            .clone();
        assert_eq!(transactions[1]["sql"], LOOK);
        assert_eq!(
            run.workload.setting("transactions"),
            Some("place order@3 look@1")
        );
    }
    let shown = bench.ok_without_server("show last");
    shown.assert_starts_with("orders, ");
    let wide = write_wide_plan(&bench.home);
    let run = bench.run(&format!("run {wide} --protocol simple"));
    assert_eq!(total_figures(&run.measured).committed, 2);
    let refused = bench.prony(&format!("run {wide} --protocol extended"));
    stderr_text(&refused).assert_contains("255");
}

#[test]
fn own_transactions_run_in_every_mode_of_mariadb() {
    let bench = TestBench::maria("own_sql");
    let plan = write_plan(&bench.home, MYSQL_INSERT);
    for mode in ["simple", "extended", "prepared"] {
        let mut control = connect(&bench.url);
        for sql in [
            "DROP TABLE IF EXISTS orders, customers",
            "CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, customer int, amount decimal(10, 2), note text)",
            "CREATE TABLE customers (id int PRIMARY KEY, orders int DEFAULT 0, last_order bigint, has_large bool)",
            "INSERT INTO customers (id) SELECT seq FROM seq_1_to_100",
        ] {
            control.execute(sql).expect(sql);
        }
        let output = bench.prony(&format!("run {plan} --protocol {mode} --json"));
        let run = parse_run(&output);
        assert_executed(&run, &mut control);
    }
    let wide = write_wide_plan(&bench.home);
    let run = bench.run(&format!("run {wide} --protocol simple"));
    assert_eq!(total_figures(&run.measured).committed, 2);
}

/// Runs a plan with one transaction; `run`: runs the program with a plan's path.
fn refusal(home: &TestFolder, sql: &str, run: &dyn Fn(&str) -> Output) -> String {
    let text = format!(
        "[workload]\nname = \"sql\"\n[[workload.transactions]]\nname = \"pay\"\nsql = '''\n{sql}'''\n[run]\nclients = 1\ntransactions = 3\n"
    );
    let path = home.write("one.toml", text);
    let output = run(&format!("run {}", path.display()));
    if output.status.success() {
        return String::new();
    }
    let message = assert_code(&output, 4);
    message.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn what_the_server_refuses_is_found_before_the_load() {
    let bench = TestBench::new("own_sql_refused");
    let mut control = bench.control();
    control
        .execute("CREATE TABLE t (id int PRIMARY KEY, n int); CREATE ROLE own_sql_weak LOGIN; GRANT SELECT ON t TO own_sql_weak")
        .expect("a table");
    let run = |arguments: &str| bench.prony(arguments);
    let refused = |sql: &str| refusal(&bench.home, sql, &run);
    let prefix = "prony: the server refuses transaction \"pay\"";
    assert_eq!(
        refused("\\set n 3\nSELECT 1;\nSELECT *\nFROM ts WHERE id = :n;"),
        format!("{prefix}, line 4: relation \"ts\" does not exist (42P01)")
    );
    assert_eq!(
        refused("\\if 1 = 2\nSELECT 1 +;\n\\endif\nSELECT 1;"),
        format!("{prefix}, line 2: syntax error at or near \";\" (42601)")
    );
    let double = refused("\\set id random(1, 9) + 0.5\nSELECT n FROM t WHERE id = :id;");
    let expected = format!("{prefix}, line 2: invalid input syntax for type integer: ");
    double.assert_starts_with(&expected);
    // PostgreSQL prepares utility statements without looking at what they name.
    assert_eq!(
        refused("SELECT 1;\nVACUUM (ANALYZE) t, ts;"),
        format!("{prefix}, line 2: relation \"ts\" does not exist (42P01)")
    );
    let unknown = "unrecognized configuration parameter \"work_memm\" (42704)";
    assert_eq!(
        refused("SET work_memm = '4MB';"),
        format!("{prefix}, line 1: {unknown}")
    );
    refused("VACUM t;").assert_starts_with(&format!("{prefix}, line 1: syntax error"));
    refused("BEGIN;\nVACUUM t;\nCOMMIT;")
        .assert_contains("line 2, has a statement that PostgreSQL");
    assert_eq!(
        refused("SET work_mem = '4MB';\nBEGIN;\nSELECT 1;\nEND;\nVACUUM t;"),
        ""
    );
    // These are no mistakes: the transaction creates what it uses, or changes where names are looked up.
    for sql in [
        "CREATE TEMP TABLE IF NOT EXISTS own (id int);\nSELECT * FROM own;",
        "SELECT * INTO TEMP own2 FROM t;\nINSERT INTO own2 VALUES (1, 2);\nDROP TABLE own2;",
        "BEGIN;\nDECLARE c CURSOR FOR SELECT * FROM t;\nFETCH 1 FROM c;\nCOMMIT;",
        "PREPARE p AS SELECT 1;\nEXECUTE p;\nDEALLOCATE p;",
    ] {
        assert_eq!(refused(sql), "", "{sql}");
    }
    // In the simple protocol there are literals, of which the server knows the type.
    let simple = |arguments: &str| bench.prony(&format!("{arguments} --protocol simple"));
    assert_eq!(
        refusal(
            &bench.home,
            "\\set a 1\nSELECT :a + :a \\; SELECT 2;\nSELECT abs(:a);",
            &simple
        ),
        ""
    );
    let weak_url = bench.socket_url.replace("postgres@", "own_sql_weak@");
    let weak = |arguments: &str| {
        bench
            .command(arguments)
            .args(["--url", &weak_url])
            .output()
            .expect("it starts")
    };
    let message = refusal(&bench.home, "SELECT * FROM t;\nUPDATE t SET n = 1;", &weak);
    assert!(
        message.ends_with("line 2: permission denied for table t (42501)"),
        "{message} {weak_url}"
    );
}

#[test]
fn mariadb_refuses_before_the_load_too() {
    let bench = TestBench::maria("own_sql_refused");
    let run = |arguments: &str| bench.prony(arguments);
    let refused = |sql: &str| refusal(&bench.home, sql, &run);
    let prefix = "prony: the server refuses transaction \"pay\"";
    assert_eq!(
        refused("BEGIN;\nSELECT * FROM ts;\nCOMMIT;"),
        format!("{prefix}, line 2: Table 'own_sql_refused.ts' doesn't exist (42S02)")
    );
    refused("SELEC 1;").assert_starts_with(&format!("{prefix}, line 1: You have an error"));
    let own = "CREATE TEMPORARY TABLE IF NOT EXISTS own (id int);\nSELECT * FROM own;";
    assert_eq!(refused(own), "");
}

#[test]
fn sessions_have_the_modes_of_the_server() {
    let server = own_mariadb(&["--sql-mode=ORACLE"]);
    let bench = TestBench::on_maria(&server, "own_sql_modes");
    let mut control = connect(&bench.url);
    control
        .execute("CREATE TABLE seen (mode text)")
        .expect("a table");
    let run = |arguments: &str| bench.prony(arguments);
    let sql = "INSERT INTO seen VALUES (@@sql_mode || '');";
    assert_eq!(refusal(&bench.home, sql, &run), "");
    assert_eq!(
        query_number(
            &mut control,
            "SELECT count(*) FROM seen WHERE mode LIKE '%ORACLE%'"
        ),
        3
    );
}

#[test]
fn a_run_on_sql_server_has_its_transactions() {
    let home = TestFolder::create();
    let text = PLAN.replace(
        "{insert}",
        "INSERT INTO orders (customer, amount) VALUES (:customer, :amount);",
    );
    // This server has no values to store in variables.
    let text = text.replace("last_order = :id", "last_order = 7");
    home.write("sql/look.sql", LOOK);
    let path = home.write("orders.toml", text.replace("BEGIN;", "BEGIN TRANSACTION;"));
    let conversation = Conversation::new("", Vec::new());
    let port = start(CannedProtocol::Tds, conversation).expect("a port");
    let url = format!("sqlserver://u:p@127.0.0.1:{port}/bench?encrypt=false");
    for mode in ["simple", "extended", "prepared"] {
        let arguments = format!(
            "run {} --protocol {mode} --json --url {url}",
            path.display()
        );
        let run = parse_run(
            &prony_command(&arguments, &home)
                .output()
                .expect("it starts"),
        );
        assert_eq!(run.workload.own_name.as_deref(), Some("orders"));
        let totals = total_figures(&run.measured);
        assert_eq!((totals.committed, totals.failed), (120, 0), "{mode}");
        let statements = run.statements.iter().flatten();
        let names: Vec<&str> = statements
            .map(|statement| statement.name.as_str())
            .collect();
        assert!(names.contains(&"place order:4, command 4"), "{names:?}");
    }
}

#[test]
fn serialization_failures_are_retried() {
    let bench = TestBench::new("own_sql_retry");
    let mut control = bench.control();
    let sql = "CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0)";
    control.execute(sql).expect("a table");
    let plan = "[workload]\nname = 'sql'\nmax_tries = 1000\n[[workload.transactions]]\nname = 'add'\nsql = '''
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT n AS before FROM t WHERE id = 1 \\gset
\\sleep 2 ms
UPDATE t SET n = :before + 1 WHERE id = 1;
COMMIT;
'''\n[run]\nclients = 4\ntransactions = 20\n";
    let path = bench.home.write("add.toml", plan);
    let run = bench.run(&format!("run {}", path.display()));
    let totals = total_figures(&run.measured);
    assert_eq!((totals.committed, totals.failed), (80, 0));
    assert!(totals.retries > 0);
    assert_eq!(query_number(&mut control, "SELECT n FROM t"), 80);
    assert_eq!(run.workload.setting("max_tries"), Some("1000"));
    // Another text is other work.
    std::fs::write(&path, plan.replace("2 ms", "1 ms")).expect("a file");
    let other = bench.run(&format!("run {}", path.display()));
    let arguments = format!("compare {} {}", run.id, other.id);
    let output = bench.prony_without_server(&arguments);
    assert_code(&output, 7);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let is_named = text.lines().any(|line| line.starts_with("  sql "));
    let reason = "the clients did different work";
    assert!(is_named && text.unwrapped().contains(reason), "{text}");
}

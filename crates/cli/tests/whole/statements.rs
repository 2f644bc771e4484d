//! Latencies per statement, end to end.

use crate::common::*;

#[test]
fn each_statement_of_a_transaction_has_its_latency() {
    let bench = TestBench::loaded("statement_latency", 1);
    let arguments = "run tpcb --clients 2 --transactions 150";
    let run = bench.run(&format!("{arguments} --statement-latency"));
    let figures = total_figures(&run.measured);
    assert_eq!((figures.committed, figures.failed), (300, 0));
    let statements = run.statements.as_ref().expect("measured");
    let names: Vec<&str> = statements
        .iter()
        .map(|statement| statement.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "begin",
            "update-account",
            "select-account",
            "update-teller",
            "update-branch",
            "insert-history",
            "end"
        ]
    );
    for statement in statements {
        let latency = &statement.latency;
        assert_eq!((statement.statements, latency.samples), (1, 300));
        assert!(
            latency.min_ns > 0 && latency.p95_ns >= latency.p50_ns,
            "{latency:?}"
        );
        assert!(
            latency.p50_ns.is_some() && latency.p99_ns.is_none(),
            "{latency:?}"
        );
    }
    assert_eq!(statements[2].text, run.workload.statements[2]);
    // The service time of a transaction is the sum of its statements' times.
    let means_ns: f64 = statements
        .iter()
        .map(|statement| statement.latency.mean_ns)
        .sum();
    let ratio = means_ns / figures.service.mean_ns;
    assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    let shares = statements
        .iter()
        .filter_map(|statement| statement.service_time_share);
    let total: f64 = shares.sum();
    assert!((total - 1.0).abs() < 1e-9, "{total}");
    assert_eq!(last_run(&bench), run, "it is stored");
    let stdout = bench.ok_without_server("show last --full");
    let lines = stdout.lines().map(str::trim_start);
    let after_heading = lines.skip_while(|line| *line != "Latency of statements");
    let first_words: Vec<&str> = after_heading
        .skip(1)
        .take(8)
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(first_words[0], "statement", "{stdout}");
    assert_eq!(first_words[1..], names, "{stdout}");

    let run = bench.run(arguments);
    assert_eq!(run.statements, None);
    let stdout = bench.ok_without_server("show last --full");
    stdout.assert_lacks("Latency of statements");
}

#[test]
fn statements_of_all_tables_share_a_name_and_texts_of_scripts_are_not_measured() {
    let bench = TestBench::new("statement_latency_oltp");
    bench.ok("load oltp_read_write --scale 3 -o table_size=500");
    let run = bench.run("run oltp_read_write --clients 1 --transactions 40 --statement-latency");
    let retries = total_figures(&run.measured).retries;
    assert_eq!(retries, 0, "one client meets no lock");
    let statements = run.statements.as_ref().expect("measured");
    let counts: Vec<(&str, u64)> = statements
        .iter()
        .map(|statement| (statement.name.as_str(), statement.latency.samples))
        .collect();
    assert_eq!(
        counts,
        [
            ("begin", 40),
            ("point-select", 400),
            ("simple-range", 40),
            ("sum-range", 40),
            ("order-range", 40),
            ("distinct-range", 40),
            ("index-update", 40),
            ("non-index-update", 40),
            ("delete", 40),
            ("insert", 40),
            ("commit", 40),
        ]
    );
    let script = bench.home.write(
        "two.sql",
        "SELECT 1; SELECT :client_id AS x \\gset got_\nSELECT :got_x;\n",
    );
    let of_script = format!(
        "run script -f {} -c 1 -t 10 --statement-latency",
        script.display()
    );
    let run = bench.run(&of_script);
    let statements = run.statements.as_ref().expect("measured");
    let counts = statements.iter().map(|statement| {
        let place = statement.name.rsplit('/').next().unwrap();
        (place, statement.latency.samples)
    });
    let expected = [
        "two.sql:1, command 1",
        "two.sql:1, command 2",
        "two.sql:2, command 3",
    ];
    assert_eq!(counts.collect::<Vec<_>>(), expected.map(|name| (name, 10)));

    let run = bench.run("run oltp_insert --clients 1 --transactions 10 --statement-latency");
    assert_eq!(run.statements, Some(Vec::new()));
    let stdout = bench.ok_without_server("show last --full");
    stdout.assert_contains("None was measured");
}

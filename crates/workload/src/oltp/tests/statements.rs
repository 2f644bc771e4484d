//! Tests the statements that each workload sends, in order.

use super::server::{MockServer, program, samples, statements_sent};
use crate::oltp::options::OltpOptions;
use crate::oltp::queries::QueryCounts;
use crate::oltp::{self, Oltp};
use crate::{Workload, oltp::rows};
use prony_assertions::TextAssertions;
use prony_session::{Outcome, Program};
use prony_wire::QueryMode;

/// Replaces each number and text in a statement by `N`.
fn normalize(sql: &str) -> String {
    let (text, _) = sql.split_once(" | ").unwrap_or((sql, ""));
    let mut out = String::new();
    for piece in text
        .replace("sbtest", "sbtest#")
        .split_inclusive(|c: char| !c.is_ascii_digit())
    {
        let digits = piece.chars().take_while(char::is_ascii_digit).count();
        if digits > 0 && !out.ends_with('$') {
            out.push('N');
        } else {
            out.push_str(&piece[..digits]);
        }
        out.push_str(&piece[digits..]);
    }
    out.replace("sbtest#N", "sbtestN")
}

fn normalized_statements(workload: &Oltp, options: OltpOptions) -> Vec<String> {
    let sent = statements_sent(workload, options, QueryMode::Prepared, 1);
    sent.iter().map(|sql| normalize(sql)).collect()
}

#[test]
fn read_write_transactions_match_sysbench() {
    let mut expected = vec!["BEGIN"];
    expected.extend(["SELECT c FROM sbtestN WHERE id=$1"; 10]);
    expected.extend([
        "SELECT c FROM sbtestN WHERE id BETWEEN $1 AND $2",
        "SELECT SUM(k) FROM sbtestN WHERE id BETWEEN $1 AND $2",
        "SELECT c FROM sbtestN WHERE id BETWEEN $1 AND $2 ORDER BY c",
        "SELECT DISTINCT c FROM sbtestN WHERE id BETWEEN $1 AND $2 ORDER BY c",
        "UPDATE sbtestN SET k=k+N WHERE id=$1",
        "UPDATE sbtestN SET c=$1 WHERE id=$2",
        "DELETE FROM sbtestN WHERE id=$1",
        "INSERT INTO sbtestN (id, k, c, pad) VALUES ($1, $2, $3, $4)",
        "COMMIT",
    ]);
    assert_eq!(
        normalized_statements(&oltp::OLTP_READ_WRITE, OltpOptions::default()),
        expected
    );
    let statements_with = |reads: bool| {
        let mut expected = expected.clone();
        expected.retain(|sql| !sql.contains("sbtest") || sql.starts_with("SELECT") == reads);
        expected
    };
    assert_eq!(
        normalized_statements(&oltp::OLTP_READ_ONLY, OltpOptions::default()),
        statements_with(true)
    );
    assert_eq!(
        normalized_statements(&oltp::OLTP_WRITE_ONLY, OltpOptions::default()),
        statements_with(false)
    );
    let options = OltpOptions {
        skip_trx: true,
        range_selects: false,
        point_selects: 2,
        ..OltpOptions::default()
    };
    assert_eq!(
        normalized_statements(&oltp::OLTP_READ_ONLY, options),
        [expected[1]; 2]
    );
}

#[test]
fn single_statements_match_sysbench() {
    let text_insert = "INSERT INTO sbtestN (k, c, pad) VALUES (N, 'C', 'P')";
    let group = |groups| vec!["N"; groups].join("-");
    let text_insert = text_insert.replace('C', &group(10)).replace('P', &group(5));
    let index_update = "UPDATE sbtestN SET k=k+N WHERE id=$1";
    let non_index_update = "UPDATE sbtestN SET c=$1 WHERE id=$2";
    let points =
        "SELECT id, k, c, pad FROM sbtestN WHERE k IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    for (workload, expected) in [
        (
            &oltp::OLTP_POINT_SELECT,
            "SELECT c FROM sbtestN WHERE id=$1",
        ),
        (&oltp::OLTP_UPDATE_INDEX, index_update),
        (&oltp::OLTP_UPDATE_NON_INDEX, non_index_update),
        (&oltp::OLTP_DELETE, "DELETE FROM sbtestN WHERE id=$1"),
        (&oltp::OLTP_INSERT, &text_insert),
        (&oltp::SELECT_RANDOM_POINTS, points),
    ] {
        assert_eq!(
            normalized_statements(workload, OltpOptions::default()),
            [expected],
            "{}",
            workload.name
        );
    }
    let options = OltpOptions {
        number_of_ranges: 2,
        ..OltpOptions::default()
    };
    assert_eq!(
        normalized_statements(&oltp::SELECT_RANDOM_RANGES, options),
        ["SELECT count(k) FROM sbtestN WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4"]
    );
    let hot = statements_sent(
        &oltp::HOT_ROW,
        OltpOptions::default(),
        QueryMode::Prepared,
        1,
    );
    assert_eq!(
        hot,
        [
            "BEGIN",
            "UPDATE sbtest1 SET k=k+1 WHERE id=$1 | 100",
            "COMMIT"
        ]
    );
    let bulk = statements_sent(
        &oltp::BULK_INSERT,
        OltpOptions::default(),
        QueryMode::Simple,
        2,
    );
    bulk[0].assert_starts_with("INSERT INTO sbtest1 VALUES(1,1),(2,2),");
    assert_eq!(bulk.len(), 2);
}

#[test]
fn values_are_inside_the_tables() {
    let options = || OltpOptions {
        range_size: 5,
        ..OltpOptions::default()
    };
    let mut tables = [0; 4];
    for sql in statements_sent(&oltp::OLTP_READ_WRITE, options(), QueryMode::Prepared, 300) {
        let Some((text, values)) = sql.split_once(" | ") else {
            continue;
        };
        let table = text.split("sbtest").nth(1).expect("a table");
        tables[table[..1].parse::<usize>().expect("a number")] += 1;
        let values: Vec<&str> = values.split(" | ").collect();
        let number = |value: &str| value.parse::<i64>().expect("a number");
        let assert_row = |value: &str| assert!((1..=1_000).contains(&number(value)), "{sql}");
        match text.split(' ').next().expect("a word") {
            "SELECT" if values.len() == 2 => {
                assert_row(values[0]);
                assert_eq!(number(values[1]), number(values[0]) + 4);
            }
            "INSERT" => {
                assert_row(values[0]);
                assert_row(values[1]);
                assert_eq!(values[2].len(), rows::text_length(rows::C_GROUPS));
                assert_eq!(values[3].len(), rows::text_length(rows::PAD_GROUPS));
            }
            _ => assert_row(values.last().expect("a value")),
        }
    }
    assert!(
        tables[0] == 0 && tables[1..].iter().all(|count| *count > 1_000),
        "{tables:?}"
    );
}

#[test]
fn all_statements_of_a_part_use_one_table() {
    let sent = statements_sent(
        &oltp::OLTP_READ_ONLY,
        OltpOptions::default(),
        QueryMode::Prepared,
        50,
    );
    for transaction in sent.chunks(16) {
        let points = &transaction[1..11];
        let (text, _) = points[0].split_once(" | ").expect("a value");
        assert!(points.iter().all(|sql| sql.starts_with(text)), "{points:?}");
    }
}

#[test]
fn listed_statements_match_those_sent() {
    for workload in oltp::ALL {
        let mut sent = normalized_statements(workload, OltpOptions::default());
        sent.dedup();
        let listed = Workload::statements(workload);
        match workload.name {
            "oltp_insert" => assert_eq!(
                listed,
                ["INSERT INTO sbtest1 (k, c, pad) VALUES ($1, $2, $3)"]
            ),
            "bulk_insert" => assert_eq!(listed, ["INSERT INTO sbtest1 VALUES(1,1),(2,2),..."]),
            _ => {
                let listed: Vec<String> = listed.iter().map(|sql| normalize(sql)).collect();
                assert_eq!(sent, listed, "{}", workload.name);
            }
        }
    }
}

#[test]
fn simple_protocol_sends_values_in_the_text() {
    let sent = statements_sent(
        &oltp::OLTP_WRITE_ONLY,
        OltpOptions::default(),
        QueryMode::Simple,
        1,
    );
    assert_eq!(sent.len(), 6);
    assert!(
        sent.iter()
            .all(|sql| !sql.contains('$') && !sql.contains(" | "))
    );
    sent[4].assert_starts_with("INSERT INTO sbtest");
}

fn run_transactions(
    server: &mut MockServer,
    workload: &Oltp,
    transactions: u64,
) -> (oltp::queries::OltpCounts, u64) {
    let program = program(workload, OltpOptions::default(), 3);
    let samples = samples(&program, server, QueryMode::Prepared, transactions);
    let failed = samples
        .iter()
        .filter(|sample| !matches!(sample.outcome, Outcome::Committed));
    (program.counts(), failed.count() as u64)
}

#[test]
fn queries_are_counted_by_their_effect() {
    let (counts, failed) = run_transactions(&mut MockServer::default(), &oltp::OLTP_READ_WRITE, 10);
    let expected = QueryCounts {
        reads: 140,
        writes: 40,
        others: 20,
        ..QueryCounts::default()
    };
    assert_eq!(
        (counts.completed, counts.failed_tries.all(), failed),
        (expected, 0, 0)
    );
    let mut server = MockServer {
        no_row_pattern: "DELETE",
        ..MockServer::default()
    };
    let (counts, _) = run_transactions(&mut server, &oltp::OLTP_READ_WRITE, 10);
    assert_eq!((counts.completed.writes, counts.completed.others), (30, 30));
}

#[test]
fn errors_that_sysbench_ignores_lead_to_a_retry_with_new_values() {
    let mut server = MockServer {
        received: Some(Vec::new()),
        failures: vec![("DELETE", "40P01"), ("INSERT", "23505"), ("SUM", "40001")],
        ..MockServer::default()
    };
    let (counts, failed) = run_transactions(&mut server, &oltp::OLTP_READ_WRITE, 1);
    assert_eq!((counts.ignored_errors, failed), (3, 0));
    let sent = server.received.expect("recorded");
    assert_eq!(sent.iter().filter(|sql| *sql == "ROLLBACK").count(), 3);
    // Each try counts its queries, as in sysbench; failed tries and completed events are counted separately.
    let QueryCounts {
        reads,
        writes,
        others,
        ..
    } = counts.failed_tries;
    assert_eq!((reads, writes, others), (11 + 14 + 14, 2 + 3, 3));
    assert_eq!(counts.completed.all(), 20);
    let points: Vec<_> = sent.iter().filter(|sql| sql.contains("id=$1 | ")).collect();
    assert_ne!(points[0], points[10], "new values");

    let mut server = MockServer {
        failures: vec![("DELETE", "42P01")],
        ..MockServer::default()
    };
    let (counts, failed) = run_transactions(&mut server, &oltp::OLTP_READ_WRITE, 2);
    assert_eq!((counts.ignored_errors, failed), (0, 1));
    assert_eq!(counts.completed.all(), 20, "the next event succeeds");
}

#[test]
fn statements_without_a_row_change_the_shares() {
    let shares = |no_row_pattern, workload: &Oltp| {
        let program = program(workload, OltpOptions::default(), 1);
        let mut server = MockServer {
            no_row_pattern,
            ..MockServer::default()
        };
        samples(&program, &mut server, QueryMode::Prepared, 7);
        program.action_shares()
    };
    let with_all_rows = shares("", &oltp::OLTP_READ_WRITE);
    for share in &with_all_rows {
        let expected = share.expected_share.expect("an expected share") * share.total as f64;
        assert!(
            (share.count as f64 - expected).abs() < 1e-9 && share.exact,
            "{share:?}"
        );
    }
    let without_deletes = shares("DELETE", &oltp::OLTP_READ_WRITE);
    assert_eq!(
        (without_deletes[1].count, without_deletes[2].count),
        (21, 21)
    );
    let delete_only = shares("DELETE", &oltp::OLTP_DELETE);
    assert!(
        delete_only
            .iter()
            .all(|share| share.expected_share.is_none()),
        "{delete_only:?}"
    );
}

#[test]
fn rows_numbered_by_the_client_have_unique_ids() {
    let options = OltpOptions {
        auto_inc: false,
        ..OltpOptions::default()
    };
    let sent = statements_sent(&oltp::OLTP_INSERT, options, QueryMode::Prepared, 500);
    let number = |sql: &String| {
        let (_, row) = sql.split_once(" (id, k, c, pad) VALUES (").expect("an id");
        let number = row.split(',').next().expect("a number");
        number.parse::<i32>().expect("a 32-bit number")
    };
    let mut numbers: Vec<i32> = sent.iter().map(number).collect();
    assert!(numbers.iter().any(|number| *number < 0), "negative ids too");
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 500);
}

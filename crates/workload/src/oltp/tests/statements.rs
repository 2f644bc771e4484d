//! What each workload sends, in order.

use super::allocation::ALL;
use super::server::{Server, heard, program, samples};
use crate::oltp::options::Asked;
use crate::oltp::queries::Queries;
use crate::oltp::{self, Oltp};
use crate::{Workload, oltp::rows};
use prony_session::{Outcome, Program};
use prony_wire::QueryMode;

/// A statement with `N` for each number and text.
fn shape(sql: &str) -> String {
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

fn shapes(workload: &Oltp, asked: Asked) -> Vec<String> {
    let heard = heard(workload, asked, QueryMode::Prepared, 1);
    heard.iter().map(|sql| shape(sql)).collect()
}

#[test]
fn a_read_write_transaction_is_what_sysbench_sends() {
    let mut wanted = vec!["BEGIN"];
    wanted.extend(["SELECT c FROM sbtestN WHERE id=$1"; 10]);
    wanted.extend([
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
    assert_eq!(shapes(&oltp::OLTP_READ_WRITE, Asked::default()), wanted);
    let only = |reads: bool| {
        let mut wanted = wanted.clone();
        wanted.retain(|sql| !sql.contains("sbtest") || sql.starts_with("SELECT") == reads);
        wanted
    };
    assert_eq!(shapes(&oltp::OLTP_READ_ONLY, Asked::default()), only(true));
    assert_eq!(
        shapes(&oltp::OLTP_WRITE_ONLY, Asked::default()),
        only(false)
    );
    let asked = Asked {
        skip_trx: true,
        range_selects: false,
        point_selects: 2,
        ..Asked::default()
    };
    assert_eq!(shapes(&oltp::OLTP_READ_ONLY, asked), [wanted[1]; 2]);
}

#[test]
fn the_single_statements_are_what_sysbench_sends() {
    let in_text = "INSERT INTO sbtestN (k, c, pad) VALUES (N, 'C', 'P')";
    let group = |groups| vec!["N"; groups].join("-");
    let in_text = in_text.replace('C', &group(10)).replace('P', &group(5));
    for (workload, wanted) in [
        (
            &oltp::OLTP_POINT_SELECT,
            "SELECT c FROM sbtestN WHERE id=$1",
        ),
        (
            &oltp::OLTP_UPDATE_INDEX,
            "UPDATE sbtestN SET k=k+N WHERE id=$1",
        ),
        (
            &oltp::OLTP_UPDATE_NON_INDEX,
            "UPDATE sbtestN SET c=$1 WHERE id=$2",
        ),
        (&oltp::OLTP_DELETE, "DELETE FROM sbtestN WHERE id=$1"),
        (&oltp::OLTP_INSERT, &in_text),
        (
            &oltp::SELECT_RANDOM_POINTS,
            "SELECT id, k, c, pad FROM sbtestN WHERE k IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        ),
    ] {
        assert_eq!(
            shapes(workload, Asked::default()),
            [wanted],
            "{}",
            workload.name
        );
    }
    let asked = Asked {
        number_of_ranges: 2,
        ..Asked::default()
    };
    assert_eq!(
        shapes(&oltp::SELECT_RANDOM_RANGES, asked),
        ["SELECT count(k) FROM sbtestN WHERE k BETWEEN $1 AND $2 OR k BETWEEN $3 AND $4"]
    );
    let hot = heard(&oltp::HOT_ROW, Asked::default(), QueryMode::Prepared, 1);
    assert_eq!(
        hot,
        [
            "BEGIN",
            "UPDATE sbtest1 SET k=k+1 WHERE id=$1 | 100",
            "COMMIT"
        ]
    );
    let bulk = heard(&oltp::BULK_INSERT, Asked::default(), QueryMode::Simple, 2);
    assert!(bulk[0].starts_with("INSERT INTO sbtest1 VALUES(1,1),(2,2),"));
    assert_eq!(bulk.len(), 2);
}

#[test]
fn values_are_inside_the_tables() {
    let asked = || Asked {
        range_size: 5,
        ..Asked::default()
    };
    let mut tables = [0; 4];
    for sql in heard(&oltp::OLTP_READ_WRITE, asked(), QueryMode::Prepared, 300) {
        let Some((text, values)) = sql.split_once(" | ") else {
            continue;
        };
        let table = text.split("sbtest").nth(1).expect("a table");
        tables[table[..1].parse::<usize>().expect("a number")] += 1;
        let values: Vec<&str> = values.split(" | ").collect();
        let number = |value: &str| value.parse::<i64>().expect("a number");
        let row = |value: &str| assert!((1..=1_000).contains(&number(value)), "{sql}");
        match text.split(' ').next().expect("a word") {
            "SELECT" if values.len() == 2 => {
                row(values[0]);
                assert_eq!(number(values[1]), number(values[0]) + 4);
            }
            "INSERT" => {
                row(values[0]);
                row(values[1]);
                assert_eq!(values[2].len(), rows::length(rows::C_GROUPS));
                assert_eq!(values[3].len(), rows::length(rows::PAD_GROUPS));
            }
            _ => row(values.last().expect("one")),
        }
    }
    assert!(
        tables[0] == 0 && tables[1..].iter().all(|count| *count > 1_000),
        "{tables:?}"
    );
}

#[test]
fn one_table_serves_all_statements_of_a_part() {
    let heard = heard(
        &oltp::OLTP_READ_ONLY,
        Asked::default(),
        QueryMode::Prepared,
        50,
    );
    for transaction in heard.chunks(16) {
        let points = &transaction[1..11];
        let (text, _) = points[0].split_once(" | ").expect("a value");
        assert!(points.iter().all(|sql| sql.starts_with(text)), "{points:?}");
    }
}

#[test]
fn the_named_statements_are_those_that_are_sent() {
    for workload in ALL {
        let mut sent = shapes(workload, Asked::default());
        sent.dedup();
        let named = Workload::statements(workload);
        match workload.name {
            "oltp_insert" => assert_eq!(
                named,
                ["INSERT INTO sbtest1 (k, c, pad) VALUES ($1, $2, $3)"]
            ),
            "bulk_insert" => assert_eq!(named, ["INSERT INTO sbtest1 VALUES(1,1),(2,2),..."]),
            _ => {
                let named: Vec<String> = named.iter().map(|sql| shape(sql)).collect();
                assert_eq!(sent, named, "{}", workload.name);
            }
        }
    }
}

#[test]
fn the_simple_protocol_has_the_values_in_the_text() {
    let heard = heard(
        &oltp::OLTP_WRITE_ONLY,
        Asked::default(),
        QueryMode::Simple,
        1,
    );
    assert_eq!(heard.len(), 6);
    assert!(
        heard
            .iter()
            .all(|sql| !sql.contains('$') && !sql.contains(" | "))
    );
    assert!(heard[4].starts_with("INSERT INTO sbtest"), "{}", heard[4]);
}

fn played(
    server: &mut Server,
    workload: &Oltp,
    transactions: u64,
) -> (oltp::queries::Counted, u64) {
    let program = program(workload, Asked::default(), 3);
    let samples = samples(&program, server, QueryMode::Prepared, transactions);
    let failed = samples
        .iter()
        .filter(|sample| !matches!(sample.outcome, Outcome::Committed));
    (program.counted(), failed.count() as u64)
}

#[test]
fn queries_are_counted_by_what_they_came_to() {
    let (counted, failed) = played(&mut Server::default(), &oltp::OLTP_READ_WRITE, 10);
    let all = Queries {
        reads: 140,
        writes: 40,
        others: 20,
        ..Queries::default()
    };
    assert_eq!((counted.ended, counted.all(), failed), (all, all, 0));
    let mut server = Server {
        misses: "DELETE",
        ..Server::default()
    };
    let (counted, _) = played(&mut server, &oltp::OLTP_READ_WRITE, 10);
    assert_eq!((counted.ended.writes, counted.ended.others), (30, 30));
}

#[test]
fn what_sysbench_ignores_is_tried_again_with_new_values() {
    let mut server = Server {
        heard: Some(Vec::new()),
        fails: vec![("DELETE", "40P01"), ("INSERT", "23505"), ("SUM", "40001")],
        ..Server::default()
    };
    let (counted, failed) = played(&mut server, &oltp::OLTP_READ_WRITE, 1);
    assert_eq!((counted.ignored, failed), (3, 0));
    let heard = server.heard.expect("kept");
    assert_eq!(heard.iter().filter(|sql| *sql == "ROLLBACK").count(), 3);
    // Each try counts what it did: as sysbench, and apart from events that ended.
    let Queries {
        reads,
        writes,
        others,
        ..
    } = counted.broken;
    assert_eq!((reads, writes, others), (11 + 14 + 14, 2 + 3, 3));
    assert_eq!(counted.ended.all(), 20);
    let points: Vec<_> = heard
        .iter()
        .filter(|sql| sql.contains("id=$1 | "))
        .collect();
    assert_ne!(points[0], points[10], "new values");

    let mut server = Server {
        fails: vec![("DELETE", "42P01")],
        ..Server::default()
    };
    let (counted, failed) = played(&mut server, &oltp::OLTP_READ_WRITE, 2);
    assert_eq!((counted.ignored, failed), (0, 1));
    assert_eq!(counted.ended.all(), 20, "the next one goes on");
}

#[test]
fn shares_tell_a_statement_that_met_no_row() {
    let shares = |misses, workload: &Oltp| {
        let program = program(workload, Asked::default(), 1);
        let mut server = Server {
            misses,
            ..Server::default()
        };
        samples(&program, &mut server, QueryMode::Prepared, 7);
        program.shares()
    };
    let whole = shares("", &oltp::OLTP_READ_WRITE);
    for share in &whole {
        let meant = share.meant.expect("meant") * share.whole as f64;
        assert!(
            (share.part as f64 - meant).abs() < 1e-9 && share.exact,
            "{share:?}"
        );
    }
    let torn = shares("DELETE", &oltp::OLTP_READ_WRITE);
    assert_eq!((torn[1].part, torn[2].part), (21, 21));
    let consumed = shares("DELETE", &oltp::OLTP_DELETE);
    assert!(
        consumed.iter().all(|share| share.meant.is_none()),
        "{consumed:?}"
    );
}

#[test]
fn rows_that_the_client_numbers_have_numbers_of_their_own() {
    let asked = Asked {
        auto_inc: false,
        ..Asked::default()
    };
    let heard = heard(&oltp::OLTP_INSERT, asked, QueryMode::Prepared, 500);
    let number = |sql: &String| {
        let (_, row) = sql
            .split_once(" (id, k, c, pad) VALUES (")
            .expect("names its id");
        let number = row.split(',').next().expect("a number");
        number.parse::<i32>().expect("of 32 bits")
    };
    let mut numbers: Vec<i32> = heard.iter().map(number).collect();
    assert!(
        numbers.iter().any(|number| *number < 0),
        "from the lowest on"
    );
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 500);
}

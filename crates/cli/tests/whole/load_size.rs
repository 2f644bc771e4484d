//! What a load says before it begins: its size, its time, and the room for it.

use crate::common::*;

/// More data than any machine of a test has room for: 31 PB of accounts.
const HUGE: &str = "load tpcb --scale 2000000000";

/// The end of stderr on one line.
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{}", stderr_text(output));
    assert!(output.stdout.is_empty(), "nothing was loaded");
    stderr_text(output).unwrapped()
}

#[test]
fn a_load_says_its_size_and_is_refused_if_it_cannot_fit() {
    let bench = TestBench::new("load_size");
    let loaded = stderr_text(&bench.prony("load tpcb --scale 1"));
    let expected =
        "Loading about 100,011 rows, 16 MB with indexes; about 1 s at an assumed 40 MB a second; ";
    loaded.assert_contains(expected);
    loaded.assert_contains(" are free in /");
    let message = refused(&bench.prony(HUGE));
    message.assert_contains_all([
        "200,022,000,000,000 rows",
        "the data does not fit: ",
        " are free in /",
        "hint: use --scale ",
        "make room, or load anyway with --yes",
    ]);
    // The tables are as they were.
    assert_eq!(bench.prony("check tpcb").status.code(), Some(0));
    let rows = stderr_text(&bench.prony("load oltp_read_write --scale 2 -o table_size=300"));
    rows.assert_contains("Loading about 600 rows, ");
}

#[test]
fn the_room_for_mariadbs_tables_is_that_of_its_data_directory() {
    let bench = TestBench::maria("load_size");
    let message = refused(&bench.prony("load tpcc --scale 100000"));
    message.assert_contains("the data does not fit: ");
    message.assert_contains(" are free in /");
}

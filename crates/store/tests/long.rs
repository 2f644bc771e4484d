//! Runs longer than an hour, and seconds with few transactions.

mod common;

use common::*;
use prony_measure::IntervalRow;
use prony_store::*;

const HOUR: u64 = 3_600 * S;

/// Stores the rows as a killed run, with an event after the third; returns the run and the number of lines in
/// its journal.
fn killed_run(folder: &Folder, rows: &[IntervalRow]) -> (Run, usize) {
    let store = folder.store();
    let mut run = run();
    let mut writer = store.begin(&mut run).unwrap();
    for (index, row) in rows.iter().enumerate() {
        writer.write_second(row, LOAD_START_NS).unwrap();
        if index == 2 {
            writer.write_event(&Event::default()).unwrap();
        }
    }
    drop(writer);
    let journal = folder.runs().join(format!("{}.jsonl", run.id));
    let lines = std::fs::read_to_string(journal).unwrap().lines().count();
    (store.load(&run.id).unwrap(), lines)
}

#[test]
fn after_an_hour_ten_seconds_become_one_line_with_exact_sums() {
    let folder = Folder::new();
    let (rows, _) = load(schedule(3 * S, 24 * S));
    let early_rows = &rows[..27];
    let mut late_rows = early_rows.to_vec();
    for row in &mut late_rows {
        row.interval.span.start_ns += HOUR;
        row.interval.span.end_ns += HOUR;
    }
    let (early, early_lines) = killed_run(&folder, early_rows);
    let (late, late_lines) = killed_run(&folder, &late_rows);
    assert_eq!(
        early_lines,
        1 + 27 + 1,
        "a header, a line a second, an event"
    );
    // The warm-up does not fill a group; 24 s are two groups and 4 s.
    assert_eq!(late_lines, 1 + 3 + 1 + 2 + 4);
    let lengths: Vec<f64> = late.series.iter().map(|second| second.length_s).collect();
    assert_eq!(lengths, [1.0, 1.0, 1.0, 10.0, 10.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(
        late.measured, early.measured,
        "to the last bit of every histogram"
    );
    assert_eq!(late.warmup, early.warmup);
    assert_eq!(
        (&late.timing, late.machine()),
        (&early.timing, early.machine())
    );
    assert_eq!((late.events.len(), early.events.len()), (1, 1));
    let sum = |run: &[Second]| run.iter().map(|second| second.committed).sum::<u64>();
    assert_eq!(sum(&late.series), sum(&early.series));
    let slowest_ns = early.series[3..13].iter().map(|second| second.max_ns).max();
    assert_eq!(Some(late.series[3].max_ns), slowest_ns);
}

#[test]
fn seconds_with_few_transactions_have_percentiles_of_a_longer_window() {
    // One sample per millisecond; 97 % commit, so the first window with 1,000 ends with the second second.
    let (rows, _) = load(schedule(2 * S, 4 * S));
    let mut series = SecondSeries::default();
    let seconds: Vec<Second> = rows[..6]
        .iter()
        .map(|row| series.next_second(row, LOAD_START_NS))
        .collect();
    assert!(seconds.iter().all(|second| second.p99_ns.is_none()));
    let windows: Vec<Option<f64>> = seconds
        .iter()
        .map(|second| second.rolling.as_ref().map(|rolling| rolling.length_s))
        .collect();
    // The warm-up's transactions are not part of the window.
    assert_eq!(
        windows,
        [None, Some(2.0), None, Some(2.0), Some(2.0), Some(2.0)]
    );
    let rolling = seconds[3].rolling.as_ref().unwrap();
    assert!(
        rolling.p95_ns < rolling.p99_ns
            && rolling.p99_ns <= seconds[2].max_ns.max(seconds[3].max_ns)
    );
}

/// A kill while ten seconds are merged may leave some of them after their sum.
#[test]
fn seconds_that_are_in_an_earlier_sum_are_not_counted_twice() {
    let folder = Folder::new();
    let (mut rows, _) = load(schedule(0, 24 * S));
    for row in &mut rows {
        row.interval.span.start_ns += HOUR;
        row.interval.span.end_ns += HOUR;
    }
    let lines = |rows: &[IntervalRow]| {
        let store = folder.store();
        let mut run = run();
        let mut writer = store.begin(&mut run).unwrap();
        write_rows(&mut writer, rows);
        drop(writer);
        let path = folder.runs().join(format!("{}.jsonl", run.id));
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (merged, single) = (lines(&rows[..24]), lines(&rows[..9]));
    assert_eq!((merged.len(), single.len()), (1 + 2 + 4, 1 + 9));
    let path = folder.path().join("torn.jsonl");
    let read = |lines: &[String]| {
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        folder.store().load(path.to_str().unwrap()).unwrap()
    };
    let complete = read(&merged);
    let torn = [&merged[..2], &single[6..], &merged[2..]].concat();
    let torn = read(&torn);
    assert_eq!(torn.series, complete.series);
    assert_eq!(torn.measured, complete.measured);
    assert_eq!(complete.measured.length_s, 24.0);
}

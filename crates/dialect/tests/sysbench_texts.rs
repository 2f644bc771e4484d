//! Reports, progress lines and histograms match the real sysbench, character by character.
//!
//! The records contain sysbench's output. The tests parse figures from a record; the output for these figures
//! must be the record.

use prony_assertions::TextAssertions;
use prony_dialect::sysbench::{
    Compat, Counters, Fairness, Histogram, Latency, Progress, QueueState, Report, bucket_value_ms,
    checkpoint_text, progress_text, report_text,
};

use prony_measure::QueryCounts;

const REPORTS: &str = include_str!("sysbench/reports.txt");
const HISTOGRAMS: &str = include_str!("sysbench/histograms.txt");

/// The records: the title after `$ `, and the lines below it.
fn parse_records(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let records = text.split("$ ").skip(1);
    records.map(|record| record.split_once('\n').expect("a record has lines"))
}

fn numbers(line: &str) -> Vec<f64> {
    let parts = line.split(|c: char| !c.is_ascii_digit() && c != '.');
    parts.filter_map(|part| part.parse().ok()).collect()
}

/// The numbers after a label; `None` if there is no such line.
fn numbers_after(text: &str, label: &str) -> Option<Vec<f64>> {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.trim_start().strip_prefix(label))
        .map(numbers)
}

fn number_after(text: &str, label: &str) -> f64 {
    numbers_after(text, label).unwrap_or_else(|| panic!("{label} is in the record"))[0]
}

fn parse_report(text: &str, uses_database: bool) -> Report<'static> {
    let count = |label| numbers_after(text, label).map_or(0, |numbers| numbers[0] as u64);
    let events = number_after(text, "total number of events:") as u64;
    let total_s =
        numbers_after(text, "total time:").or_else(|| numbers_after(text, "time elapsed:"));
    let total_s = total_s.expect("a report has a time")[0];
    // Of several rates, use the one with the most digits: it gives the most precise interval.
    let query_interval_s = numbers_after(text, "queries: ").map(|numbers| numbers[0] / numbers[1]);
    let event_interval_s =
        numbers_after(text, "events/s (eps):").map(|numbers| events as f64 / numbers[0]);
    let percentile = text
        .lines()
        .find(|line| line.contains("th percentile:"))
        .map(numbers);
    let mean_and_deviation = |label| {
        let numbers = numbers_after(text, label).expect("a report has the fairness of threads");
        (numbers[0], numbers[1])
    };
    let (events_avg, events_stddev) = mean_and_deviation("events (avg/stddev):");
    let (time_avg_s, time_stddev_s) = mean_and_deviation("execution time (avg/stddev):");
    Report {
        uses_database,
        counters: Counters {
            events,
            queries: QueryCounts {
                reads: count("read:"),
                writes: count("write:"),
                others: count("other:"),
                ignored_errors: count("ignored errors:"),
                reconnects: count("reconnects:"),
            },
        },
        interval_s: event_interval_s.or(query_interval_s).unwrap_or(total_s),
        total_s,
        latency: Latency {
            min_ms: number_after(text, "min:"),
            avg_ms: number_after(text, "avg:"),
            max_ms: number_after(text, "max:"),
            sum_ms: number_after(text, "sum:"),
        },
        percentile: percentile.as_ref().map_or(0, |numbers| numbers[0] as u8),
        percentile_ms: percentile.map_or(0.0, |numbers| numbers[1]),
        histogram: None,
        fairness: Fairness {
            events_avg,
            events_stddev,
            time_avg_s,
            time_stddev_s,
        },
        unfinished: None,
    }
}

#[test]
fn a_report_after_a_forced_shutdown_counts_unfinished_events() {
    let (_, text) = parse_records(REPORTS).next().expect("a report");
    let lines = text.split_inclusive('\n');
    let text: String = lines.filter(|line| !line.starts_with('[')).collect();
    let figures = Report {
        unfinished: Some(2),
        ..parse_report(&text, true)
    };
    let printed = report_text(&figures, Compat::V1_0);
    let expected =
        "per sec.)\n\nNumber of unfinished transactions on forced shutdown: 2\n\nGeneral";
    printed.assert_contains(expected);
}

#[test]
fn reports_match_sysbench_line_by_line() {
    let mut record_count = 0;
    for (title, text) in parse_records(REPORTS) {
        let (kind, version) = title.split_once(' ').unwrap();
        let compat = Compat::read(Some(version)).unwrap();
        let lines = text.split_inclusive('\n');
        let text: String = lines.filter(|line| !line.starts_with('[')).collect();
        let figures = parse_report(&text, kind == "sql");
        assert_eq!(report_text(&figures, compat), text, "{title}");
        let checkpoint_report = checkpoint_text(2, &figures, compat);
        assert_eq!(
            checkpoint_report,
            format!("[ 2s ] Checkpoint report:\n{text}")
        );
        record_count += 1;
    }
    assert_eq!(record_count, 4);
}

/// Parses the figures of a progress line, as counts in an interval of 100 s.
fn parse_progress(line: &str, queue: Option<&str>) -> Progress {
    let uses_database = line.contains(" qps: ");
    let numbers = numbers(line);
    let count = |number: f64| (number * 100.0).round() as u64;
    let queries = match numbers[2..] {
        [_tps, _qps, r, w, o, _pct, _lat, errors, reconnects] => QueryCounts {
            reads: count(r),
            writes: count(w),
            others: count(o),
            ignored_errors: count(errors),
            reconnects: count(reconnects),
        },
        _ => QueryCounts::default(),
    };
    let counters = Counters {
        events: count(numbers[2]),
        queries,
    };
    let (percentile, latency_ms) =
        if uses_database { (numbers[7], numbers[8]) } else { (numbers[3], numbers[4]) };
    Progress {
        at_s: numbers[0] as u64,
        threads: numbers[1] as u32,
        uses_database,
        counters,
        interval_s: 100.0,
        percentile: percentile as u8,
        latency_ms,
        queue: queue.map(parse_queue),
    }
}

fn parse_queue(line: &str) -> QueueState {
    let numbers = numbers(line);
    QueueState {
        length: numbers[1] as u64,
        concurrency: numbers[2] as u64,
    }
}

#[test]
fn progress_lines_match_sysbench() {
    let lines: Vec<&str> = REPORTS
        .lines()
        .filter(|line| line.starts_with('['))
        .collect();
    let mut record_count = 0;
    for (index, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("thds:"))
    {
        let queue = lines
            .get(index + 1)
            .filter(|line| line.contains("queue length"));
        let queue_line = queue.map(|queue| format!("{queue}\n")).unwrap_or_default();
        let line_text = progress_text(&parse_progress(line, queue.copied()));
        assert_eq!(line_text, format!("{line}\n{queue_line}"));
        record_count += 1;
    }
    assert_eq!(record_count, 3);
}

#[test]
fn a_progress_line_of_zero_seconds_has_no_nan() {
    let mut figures = parse_progress("[ 1s ] thds: 2 eps: 15.97 lat (ms,95%): 1.00", None);
    figures.interval_s = 0.0;
    assert_eq!(
        progress_text(&figures),
        "[ 1s ] thds: 2 eps: 0.00 lat (ms,95%): 1.00\n"
    );
}

#[test]
fn histograms_match_sysbench() {
    let mut record_count = 0;
    for (title, text) in parse_records(HISTOGRAMS) {
        let mut histogram = Histogram::default();
        for pair in title.split(", ") {
            let (time_ms, count) = pair.split_once(' ').unwrap();
            histogram.add(time_ms.parse().unwrap(), count.parse().unwrap());
        }
        assert_eq!(histogram.bars(), text, "{title}");
        let block = format!("Latency histogram (values are in milliseconds)\n{text} \n");
        assert_eq!(histogram.block(), block);
        record_count += 1;
    }
    assert_eq!(record_count, 5);
    let empty = "Latency histogram (values are in milliseconds)\n \n";
    assert_eq!(Histogram::default().block(), empty);
}

#[test]
fn the_histogram_precedes_the_report() {
    let mut histogram = Histogram::default();
    histogram.add(1.0, 1);
    let (_, text) = parse_records(REPORTS).nth(2).unwrap();
    let mut figures = parse_report(text, false);
    figures.histogram = Some(&histogram);
    assert_eq!(
        report_text(&figures, Compat::V1_0),
        histogram.block() + text
    );
}

#[test]
fn percentiles_are_bucket_values() {
    // Ten events of 20, 40, ... 200 ms, as sysbench printed them.
    let mut histogram = Histogram::default();
    for step in 1..=10 {
        histogram.add(f64::from(step) * 20.05, 1);
    }
    let printed = |percent| format!("{:.2}", histogram.percentile_ms(percent));
    for (percent, expected) in [
        (4, "0.00"),
        (5, "20.00"),
        (14, "20.00"),
        (15, "40.37"),
        (94, "179.94"),
        (95, "200.47"),
        (100, "200.47"),
    ] {
        assert_eq!(printed(percent), expected, "{percent} %");
    }
    assert_eq!(Histogram::default().percentile_ms(95), 0.0);
    // These values occur in published results of sysbench.
    for value in [
        "35.59", "36.24", "36.89", "16.71", "33.72", "0.61", "2985.89",
    ] {
        let mut bucket_values = (0..1_024).map(|bucket| format!("{:.2}", bucket_value_ms(bucket)));
        assert!(bucket_values.any(|bucket| bucket == value), "{value}");
    }
    histogram.add(f64::INFINITY, 100);
    assert_eq!(format!("{:.2}", histogram.percentile_ms(99)), "100000.00");
}

#[test]
fn a_distribution_converts_to_a_histogram() {
    let mut times = prony_measure::Distribution::<u64>::default();
    for time_ns in [35_500_000, 35_600_000, 16_700_000] {
        times.record(time_ns);
    }
    let histogram = Histogram::from_distribution(&times);
    assert_eq!(histogram.total(), 3);
    assert_eq!(format!("{:.2}", histogram.percentile_ms(95)), "35.59");
    assert_eq!(format!("{:.2}", histogram.percentile_ms(10)), "0.00");
    assert_eq!(format!("{:.2}", histogram.percentile_ms(30)), "16.71");
}

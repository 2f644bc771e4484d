//! Reports, progress lines and histograms of the real sysbench, made again to the letter.
//!
//! The records hold what it printed; the figures are read out of them, and every word, blank and rate
//! around them must come out the same.

use prony_dialect::sysbench::{
    Compat, Counters, Fairness, Histogram, Latency, Progress, Queue, Report, bucket_value_ms,
    checkpoint, progress, report,
};

const REPORTS: &str = include_str!("sysbench/reports.txt");
const HISTOGRAMS: &str = include_str!("sysbench/histograms.txt");

/// Records: the line behind `$ ` and all that follows.
fn records(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let records = text.split("$ ").skip(1);
    records.map(|record| record.split_once('\n').expect("a record has lines"))
}

/// All numbers of a line, in order.
fn numbers(line: &str) -> Vec<f64> {
    let pieces = line.split(|c: char| !c.is_ascii_digit() && c != '.');
    pieces.filter_map(|piece| piece.parse().ok()).collect()
}

/// The numbers behind a label; none where there is no such line.
fn behind(text: &str, label: &str) -> Option<Vec<f64>> {
    let mut lines = text.lines();
    lines
        .find_map(|line| line.trim_start().strip_prefix(label))
        .map(numbers)
}

fn first(text: &str, label: &str) -> f64 {
    behind(text, label).unwrap_or_else(|| panic!("{label} is in the record"))[0]
}

/// A report from the figures in its text.
fn of_text(text: &str, sql: bool) -> Report<'static> {
    let count = |label| behind(text, label).map_or(0, |numbers| numbers[0] as u64);
    let events = first(text, "total number of events:") as u64;
    let total_s = behind(text, "total time:").or_else(|| behind(text, "time elapsed:"));
    let total_s = total_s.expect("a report has a time")[0];
    // The more digits a rate has, the better it tells the interval.
    let rated = behind(text, "queries: ").map(|numbers| numbers[0] / numbers[1]);
    let eps = behind(text, "events/s (eps):").map(|numbers| events as f64 / numbers[0]);
    let percentile = text
        .lines()
        .find(|line| line.contains("th percentile:"))
        .map(numbers);
    let fair = |label| {
        let numbers = behind(text, label).expect("a report says how even threads were");
        (numbers[0], numbers[1])
    };
    let (events_avg, events_stddev) = fair("events (avg/stddev):");
    let (time_avg_s, time_stddev_s) = fair("execution time (avg/stddev):");
    Report {
        sql,
        counters: Counters {
            events,
            reads: count("read:"),
            writes: count("write:"),
            others: count("other:"),
            errors: count("ignored errors:"),
            reconnects: count("reconnects:"),
        },
        interval_s: eps.or(rated).unwrap_or(total_s),
        total_s,
        latency: Latency {
            min_ms: first(text, "min:"),
            avg_ms: first(text, "avg:"),
            max_ms: first(text, "max:"),
            sum_ms: first(text, "sum:"),
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
fn a_forced_shutdown_says_how_many_events_were_under_way() {
    let (_, text) = records(REPORTS).next().expect("a report");
    let lines = text.split_inclusive('\n');
    let text: String = lines.filter(|line| !line.starts_with('[')).collect();
    let figures = Report {
        unfinished: Some(2),
        ..of_text(&text, true)
    };
    let shown = report(&figures, Compat::V1_0);
    let place = "per sec.)\n\nNumber of unfinished transactions on forced shutdown: 2\n\nGeneral";
    assert!(shown.contains(place), "{shown}");
}

#[test]
fn reports_are_sysbenchs_line_for_line() {
    let mut seen = 0;
    for (title, text) in records(REPORTS) {
        let (kind, version) = title.split_once(' ').unwrap();
        let compat = Compat::read(Some(version)).unwrap();
        let lines = text.split_inclusive('\n');
        let text: String = lines.filter(|line| !line.starts_with('[')).collect();
        let figures = of_text(&text, kind == "sql");
        assert_eq!(report(&figures, compat), text, "{title}");
        let at_checkpoint = checkpoint(2, &figures, compat);
        assert_eq!(at_checkpoint, format!("[ 2s ] Checkpoint report:\n{text}"));
        seen += 1;
    }
    assert_eq!(seen, 4);
}

/// A progress line from the figures in it: as counts in an interval of 100 s.
fn progress_of(line: &str, queue: Option<&str>) -> Progress {
    let sql = line.contains(" qps: ");
    let numbers = numbers(line);
    let count = |number: f64| (number * 100.0).round() as u64;
    let counters = match numbers[2..] {
        [tps, _qps, r, w, o, _pct, _lat, errors, reconnects] => Counters {
            events: count(tps),
            reads: count(r),
            writes: count(w),
            others: count(o),
            errors: count(errors),
            reconnects: count(reconnects),
        },
        [eps, _pct, _lat] => Counters {
            events: count(eps),
            ..Counters::default()
        },
        _ => panic!("{line}"),
    };
    let (percentile, latency_ms) = if sql {
        (numbers[7], numbers[8])
    } else {
        (numbers[3], numbers[4])
    };
    Progress {
        at_s: numbers[0] as u64,
        threads: numbers[1] as u32,
        sql,
        counters,
        interval_s: 100.0,
        percentile: percentile as u8,
        latency_ms,
        queue: queue.map(numbers_of_queue),
    }
}

fn numbers_of_queue(line: &str) -> Queue {
    let numbers = numbers(line);
    Queue {
        length: numbers[1] as u64,
        concurrency: numbers[2] as u64,
    }
}

#[test]
fn progress_lines_are_sysbenchs() {
    let lines: Vec<&str> = REPORTS
        .lines()
        .filter(|line| line.starts_with('['))
        .collect();
    let mut seen = 0;
    for (place, line) in lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("thds:"))
    {
        let queue = lines
            .get(place + 1)
            .filter(|line| line.contains("queue length"));
        let behind = queue.map(|queue| format!("{queue}\n")).unwrap_or_default();
        let made = progress(&progress_of(line, queue.copied()));
        assert_eq!(made, format!("{line}\n{behind}"));
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[test]
fn a_line_without_time_divides_by_nothing() {
    let mut figures = progress_of("[ 1s ] thds: 2 eps: 15.97 lat (ms,95%): 1.00", None);
    figures.interval_s = 0.0;
    assert_eq!(
        progress(&figures),
        "[ 1s ] thds: 2 eps: 0.00 lat (ms,95%): 1.00\n"
    );
}

#[test]
fn histograms_are_sysbenchs() {
    let mut seen = 0;
    for (title, text) in records(HISTOGRAMS) {
        let mut histogram = Histogram::default();
        for pair in title.split(", ") {
            let (time_ms, count) = pair.split_once(' ').unwrap();
            histogram.add(time_ms.parse().unwrap(), count.parse().unwrap());
        }
        assert_eq!(histogram.bars(), text, "{title}");
        let block = format!("Latency histogram (values are in milliseconds)\n{text} \n");
        assert_eq!(histogram.block(), block);
        seen += 1;
    }
    assert_eq!(seen, 5);
    let empty = "Latency histogram (values are in milliseconds)\n \n";
    assert_eq!(Histogram::default().block(), empty);
}

#[test]
fn a_histogram_stands_before_the_report() {
    let mut histogram = Histogram::default();
    histogram.add(1.0, 1);
    let (_, text) = records(REPORTS).nth(2).unwrap();
    let mut figures = of_text(text, false);
    figures.histogram = Some(&histogram);
    assert_eq!(report(&figures, Compat::V1_0), histogram.block() + text);
}

#[test]
fn percentiles_are_values_of_buckets() {
    // Ten events of 20, 40, ... 200 ms, as sysbench printed them.
    let mut histogram = Histogram::default();
    for step in 1..=10 {
        histogram.add(f64::from(step) * 20.05, 1);
    }
    let printed = |percent| format!("{:.2}", histogram.percentile_ms(percent));
    for (percent, want) in [
        (4, "0.00"),
        (5, "20.00"),
        (14, "20.00"),
        (15, "40.37"),
        (94, "179.94"),
        (95, "200.47"),
        (100, "200.47"),
    ] {
        assert_eq!(printed(percent), want, "{percent} %");
    }
    assert_eq!(Histogram::default().percentile_ms(95), 0.0);
    // Values that published results of sysbench show.
    for value in [
        "35.59", "36.24", "36.89", "16.71", "33.72", "0.61", "2985.89",
    ] {
        let mut all = (0..1_024).map(|bucket| format!("{:.2}", bucket_value_ms(bucket)));
        assert!(all.any(|bucket| bucket == value), "{value}");
    }
    histogram.add(f64::INFINITY, 100);
    assert_eq!(format!("{:.2}", histogram.percentile_ms(99)), "100000.00");
}

#[test]
fn a_distribution_of_the_core_becomes_a_histogram() {
    let mut times = prony_measure::Distribution::<u64>::default();
    for time_ns in [35_500_000, 35_600_000, 16_700_000] {
        times.record(time_ns);
    }
    let histogram = Histogram::of_distribution(&times);
    assert_eq!(histogram.total(), 3);
    assert_eq!(format!("{:.2}", histogram.percentile_ms(95)), "35.59");
    assert_eq!(format!("{:.2}", histogram.percentile_ms(10)), "0.00");
    assert_eq!(format!("{:.2}", histogram.percentile_ms(30)), "16.71");
    let mut twice = histogram.clone();
    twice.merge(&histogram);
    assert_eq!(twice.total(), 6);
    assert_eq!(Histogram::of_counts(*twice.counts()), twice);
}

#[test]
fn threads_share_evenly_or_not() {
    let fairness = Fairness::of_threads(&[(284, 0.24), (216, 0.238)]);
    assert_eq!((fairness.events_avg, fairness.events_stddev), (250.0, 34.0));
    assert!((fairness.time_avg_s - 0.239).abs() < 1e-9);
    assert!((fairness.time_stddev_s - 0.001).abs() < 1e-9);
    assert_eq!(Fairness::of_threads(&[]), Fairness::default());
}

//! Tests of reduced documents, and of the size of the pages of long runs.

use super::*;
use crate::html;
use crate::sample_run::{closed, test_build};
use prony_store::{KindFigures, Observed};

/// Largest page of a run, bytes.
const MAX_PAGE_BYTES: usize = 3_000_000;

/// A histogram of some hundred response times between about 0.2 ms and 20 ms, which differ between `seeds`.
fn histogram(seed: u64) -> CoarseHistogram {
    // The form in which a series stores it: the skipped buckets, then counts, with ZigZag encoding.
    let (first_bucket, buckets) = (1_400 + seed % 7 * 8, 220_u64);
    let mut values = vec![2 * first_bucket - 1];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for bucket in 0..buckets {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let distance = bucket.abs_diff(60);
        values.push(
            2 * (1 + 40_u64.saturating_sub(distance) + state % (1 + 60 / (1 + distance / 8))),
        );
    }
    let mut bytes = Vec::new();
    leb128(values.len() as u64, &mut bytes);
    values.iter().for_each(|value| leb128(*value, &mut bytes));
    CoarseHistogram::take_from(&mut bytes.as_slice()).unwrap()
}

fn leb128(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

const KINDS: [&str; 5] = [
    "new_order",
    "payment",
    "order_status",
    "delivery",
    "stock_level",
];

/// The histogram of a whole run, with several thousand buckets.
fn whole_run_histogram() -> String {
    let histogram = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3);
    let mut histogram = histogram.unwrap();
    (1..30_000_u64).for_each(|number| histogram.record(number * 1_000).unwrap());
    prony_store::encode_histogram(&histogram)
}

/// Histograms of five kinds of transaction and of the parts of the service time.
fn histograms(intervals: usize) -> Vec<TimeHistograms> {
    let times = |time, kind: Option<&str>, salt: u64| {
        let mut bytes = Vec::new();
        for number in 0..intervals as u64 {
            histogram(number * 31 + salt).append_to(&mut bytes);
        }
        TimeHistograms {
            time,
            kind: kind.map(str::to_owned),
            counts: encode_series(&bytes),
        }
    };
    let mut series: Vec<TimeHistograms> = (1..)
        .zip(KINDS)
        .map(|(salt, kind)| times(TransactionTime::Response, Some(kind), salt))
        .collect();
    series.push(times(TransactionTime::SendWait, None, 7));
    series.push(times(TransactionTime::Server, None, 8));
    series.push(times(TransactionTime::ClientWait, None, 9));
    series
}

/// Readings of a server, one for each second.
fn readings(seconds: u32) -> Vec<ServerSecond> {
    let machine = MachineSecond {
        busy_share: Some(0.970_297_029_703_146_3),
        busiest_cpu_share: Some(0.970_588_235_294_301_3),
        io_wait_share: Some(0.014_851_485_148_514_9),
        steal_share: Some(0.0),
        server_cpu_s: Some(1.509_999_999_999_999_8),
        memory_available_bytes: Some(24_264_728_576),
        disk_read_bytes: Some(24_576),
        disk_write_bytes: Some(22_683_648),
        disk_busy_share: Some(0.225_093_460_814_625_7),
        ..MachineSecond::default()
    };
    let reading = |n: u32| ServerSecond {
        at_s: f64::from(n),
        length_s: 1.0,
        commits: Some(3_208),
        cache_hits: Some(233_700),
        cache_reads: Some(2_018),
        log_bytes: Some(2_246_168),
        connections: Some(16),
        active: Some(3),
        lock_waits: Some(n % 4),
        waits: [
            ("IO/WALSync".to_owned(), 1),
            ("LWLock/WALWrite".to_owned(), n % 3),
        ]
        .into(),
        machine: Some(machine.clone()),
        ..ServerSecond::default()
    };
    (0..seconds).map(reading).collect()
}

/// A run of this many seconds, the first ten of them warm-up, with five kinds of transaction and their
/// histograms of `interval_s` seconds each.
fn long_run(seconds: u32, interval_s: u32) -> Run {
    let mut run = closed();
    let sample_second = run.series[1].clone();
    let second = |n: u32| Second {
        at_s: f64::from(n),
        phase: match n {
            0..10 => SecondPhase::Warmup,
            _ => SecondPhase::Measured,
        },
        mean_ns: 2_310_000.123_456_789 + f64::from(n),
        max_ns: 40_000_000 + u64::from(n),
        ..sample_second.clone()
    };
    run.series = (0..seconds).map(second).collect();
    run.window.warmup_s = 10.0;
    run.measured.length_s = f64::from(seconds - 10);
    let lengths =
        std::iter::repeat_n(interval_s.min(10), (10 / interval_s.min(10)) as usize).chain(
            std::iter::repeat_n(interval_s, ((seconds - 10) / interval_s) as usize),
        );
    let mut lengths: Vec<u32> = lengths.collect();
    let covered: u32 = lengths.iter().sum();
    lengths.extend((covered < seconds).then_some(seconds - covered));
    let series = histograms(lengths.len());
    run.histograms = Some(HistogramSeries {
        rows: lengths,
        times: series,
    });
    // What a page has for a run of any length: settings, and histograms of the whole run.
    for number in 0..350 {
        let name = format!("setting_with_a_name_{number}");
        run.server.settings.insert(name, "a value".into());
    }
    let all = run.measured.kinds[0].clone();
    for kind in KINDS {
        let kind = Some(kind.to_owned());
        run.measured.kinds.push(KindFigures {
            kind,
            ..all.clone()
        });
    }
    for kind in &mut run.measured.kinds {
        kind.response.histogram = whole_run_histogram();
        kind.service.histogram = kind.response.histogram.clone();
    }
    run.warmup = Some(run.measured.clone());
    run.observed = Some(Observed {
        series: readings(seconds),
        ..Observed::default()
    });
    run
}

/// The figures of the window, without their histograms.
fn without_histograms(run: &Run) -> Figures {
    let mut figures = run.measured.clone();
    for kind in &mut figures.kinds {
        kind.clear_histograms();
    }
    figures
}

fn page_of(run: &Run) -> String {
    let mut page = Vec::new();
    html::write(&mut page, std::slice::from_ref(run), None, &test_build()).unwrap();
    String::from_utf8(page).unwrap()
}

fn assert_small_and_verified(run: &Run) -> Run {
    let page = page_of(run);
    assert!(page.len() < MAX_PAGE_BYTES, "{} bytes", page.len());
    let mut verified = html::verify(&page, &test_build()).unwrap();
    assert_eq!(verified.generated_by_other_build, None);
    let document = verified.documents.remove(0);
    let full = document.run.reduced_from.clone().unwrap();
    let stored = serde_json::to_string(run).unwrap();
    assert_eq!(full.sha256, html::document::sha256(stored.as_bytes()));
    assert!(page.contains(&format!("full document is <code>{}</code>", full.sha256)));
    assert!(page.contains("The page contains a reduced document"));
    document.run
}

#[test]
fn the_page_of_two_thousand_seconds_is_small_and_verifies() {
    let run = long_run(2_000, 1);
    let reduced = assert_small_and_verified(&run);
    assert_eq!(reduced.series, run.series, "the seconds are few enough");
    assert_eq!(without_histograms(&reduced), without_histograms(&run));
    let response = |run: &Run| run.measured.all_kinds().unwrap().response.clone();
    assert_eq!(response(&reduced), response(&run));
    let histograms = reduced.histograms.unwrap();
    assert!(
        histograms.rows.len() <= Limits::OF_ONE_RUN.intervals,
        "{}",
        histograms.rows.len()
    );
    assert_eq!(histograms.rows.iter().sum::<u32>(), 2_000);
    let all = |run: &Run, histograms: &HistogramSeries| {
        let intervals = histograms.intervals(TransactionTime::Response, None, &run.series);
        sum(&intervals.unwrap())
    };
    let series = &histograms;
    assert_eq!(
        all(&run, series),
        all(&run, run.histograms.as_ref().unwrap())
    );
}

#[test]
fn the_page_of_a_day_is_small_and_verifies() {
    let run = long_run(86_400, 32);
    let reduced = assert_small_and_verified(&run);
    assert!(
        reduced.series.len() <= Limits::OF_ONE_RUN.rows,
        "{}",
        reduced.series.len()
    );
    let committed = |run: &Run| run.series.iter().map(|row| row.committed).sum::<u64>();
    assert_eq!(committed(&reduced), committed(&run));
    let warmup = reduced
        .series
        .iter()
        .filter(|row| row.phase == SecondPhase::Warmup);
    assert_eq!(warmup.map(|row| row.length_s).sum::<f64>(), 10.0);
    let last = reduced.series.last().unwrap();
    assert_eq!(last.at_s + last.length_s, 86_400.0);
    assert_eq!(last.max_ns, 40_000_000 + 86_399);
    // The percentiles of a row are those of its histogram.
    let interval = &reduced.histograms.as_ref().unwrap();
    let intervals = interval.intervals(TransactionTime::Response, None, &reduced.series);
    let intervals = intervals.unwrap();
    let first = intervals
        .iter()
        .find(|interval| interval.rows.len() > 1)
        .unwrap();
    let p99_ns = first.histogram.quantile_ns(0.99).unwrap() as f64;
    for row in first.rows {
        assert!(
            (row.p99_ns.unwrap() as f64 / p99_ns - 1.0).abs() < 0.3,
            "{row:?} {p99_ns}"
        );
    }
    let log = |run: &Run| {
        let readings = &run.observed.as_ref().unwrap().series;
        assert!(readings.iter().all(|row| row.active == Some(3)));
        readings.iter().filter_map(|row| row.log_bytes).sum::<u64>()
    };
    assert_eq!(log(&reduced), log(&run));
}

#[test]
fn a_short_run_and_one_with_broken_histograms_are_not_reduced() {
    let limits = Limits::OF_ONE_RUN;
    assert_eq!(reduce(&closed(), "", limits), None);
    let mut broken = long_run(700, 1);
    assert!(reduce(&broken, "", limits).is_some());
    broken.series.pop();
    assert_eq!(reduce(&broken, "", limits), None);
}

/// The page of this many runs that differ only in their ids.
fn page_of_repeats(run: &Run, count: usize) -> String {
    let runs: Vec<Run> = (0..count)
        .map(|number| Run {
            id: format!("run-{number}"),
            ..run.clone()
        })
        .collect();
    let mut page = Vec::new();
    html::write(&mut page, &runs, None, &test_build()).unwrap();
    String::from_utf8(page).unwrap()
}

#[test]
fn the_page_of_six_runs_is_small_and_verifies() {
    for (seconds, interval_s) in [(300, 1), (2_000, 1)] {
        let run = long_run(seconds, interval_s);
        let page = page_of_repeats(&run, 6);
        println!("six runs of {seconds} s: {} bytes", page.len());
        assert!(page.len() < MAX_PAGE_BYTES, "{} bytes", page.len());
        let verified = html::verify(&page, &test_build()).unwrap();
        for document in &verified.documents {
            assert_eq!(without_histograms(&document.run), without_histograms(&run));
            let rows = document.run.series.len();
            assert!((100..=133).contains(&rows), "{rows}");
        }
    }
}

/// A page of an experiment shows less of each run.
#[test]
fn the_pages_of_twelve_and_thirty_runs_are_small_and_verify() {
    for (count, seconds) in [(12, 50), (30, 600)] {
        let run = long_run(seconds, 1);
        let page = page_of_repeats(&run, count);
        println!("{count} runs: {} bytes", page.len());
        assert!(page.len() < MAX_PAGE_BYTES, "{count}: {}", page.len());
        assert!(page.contains("A page of more than 6 runs shows less of each run."));
        assert!(page.contains("histograms over time left out") && !page.contains(" to 0."));
        let verified = html::verify(&page, &test_build()).unwrap();
        assert_eq!(verified.documents.len(), count);
        for document in &verified.documents {
            assert_eq!(without_histograms(&document.run), without_histograms(&run));
            assert!(document.run.series.len() <= 45 && document.run.histograms.is_none());
            let kinds = &document.run.measured.kinds;
            assert!(!kinds[0].response.histogram.is_empty(), "all kinds");
            assert!(
                kinds[1..]
                    .iter()
                    .all(|kind| kind.response.histogram.is_empty())
            );
        }
    }
}

#[test]
fn many_runs_keep_enough_rows_to_show_a_course() {
    assert_eq!(Limits::of_page_with(0), Limits::OF_ONE_RUN);
    assert_eq!(Limits::of_page_with(2).rows, 400);
    assert_eq!(Limits::of_page_with(1_000), Limits::BRIEF);
}

#[test]
fn groups_do_not_cross_keys_and_are_at_most_the_maximum() {
    let items: Vec<u32> = (0..100).collect();
    let groups = group(&items, 7, |item| *item < 10);
    assert!(groups.len() <= 7);
    assert_eq!(groups.concat(), items);
    assert!(groups.iter().any(|group| group.last() == Some(&9)));
    assert_eq!(group(&items, 1_000, |_| 0).len(), 100);
    assert!(group::<u32, u32>(&[], 5, |_| 0).is_empty());
}

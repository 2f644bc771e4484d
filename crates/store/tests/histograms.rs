//! The histograms of a run over time.

mod common;

use common::*;
use prony_measure::{
    CollectedFigures, IntervalRow, Outcome, RecorderLayout, RunSchedule, Sample, ServiceTimeParts,
};
use prony_store::*;

fn recorded(rows: &[IntervalRow], kinds: &[String]) -> Option<HistogramSeries> {
    let mut recorder = HistogramRecorder::default();
    rows.iter().for_each(|row| recorder.add(row));
    recorder.finish(kinds)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The finished document of a load with its histograms.
fn with_histograms(rows: &[IntervalRow], collected: &CollectedFigures) -> Run {
    let run = finished(rows, collected);
    Run {
        histograms: recorded(rows, &run.workload.kinds),
        ..run
    }
}

#[test]
fn the_histograms_of_the_seconds_add_up_to_those_of_the_window() {
    let folder = Folder::new();
    let (rows, collected) = load(schedule(2 * S, 3 * S));
    let run = with_histograms(&rows, &collected);
    let histograms = run.histograms.as_ref().unwrap();
    assert_eq!(histograms.rows, [1; 5]);
    assert_eq!(
        histograms.kinds().collect::<Vec<_>>(),
        [Some("transfer"), Some("read")]
    );
    let all = &run.measured.kinds[0];
    let parts = all.parts.as_ref().unwrap();
    let cases = [
        (TransactionTime::Response, None, &all.response),
        (
            TransactionTime::Response,
            Some("read"),
            &run.measured.kinds[2].response,
        ),
        (TransactionTime::Service, None, &all.service),
        (TransactionTime::SendWait, None, &parts.send_wait),
        (TransactionTime::Server, None, &parts.server),
        (TransactionTime::ClientWait, None, &parts.client_wait),
    ];
    for (time, kind, latency) in cases {
        let intervals = histograms.intervals(time, kind, &run.series).unwrap();
        let mut sum = CoarseHistogram::default();
        for interval in &intervals[2..] {
            assert_eq!(interval.length_s(), 1.0);
            sum.add(&interval.histogram);
        }
        let window = CoarseHistogram::of(&latency.distribution().unwrap());
        assert_eq!(sum, window, "{}", time.name());
        assert_eq!((intervals[0].at_s(), intervals[4].at_s()), (0.0, 4.0));
    }
    let all_kinds = histograms
        .intervals(TransactionTime::Response, None, &run.series)
        .unwrap();
    for (interval, second) in all_kinds.iter().zip(&run.series) {
        assert_eq!(interval.histogram.samples(), second.committed);
    }
    // A killed run has the same histograms: they are in its journal.
    let store = folder.store();
    let mut header = common::run();
    let mut writer = store.begin(&mut header).unwrap();
    write_rows(&mut writer, &rows);
    drop(writer);
    assert_eq!(store.load(&header.id).unwrap().histograms, run.histograms);
}

fn load_of_one_kind() -> (Vec<IntervalRow>, CollectedFigures) {
    let layout = RecorderLayout::closed_loop(1);
    load_of(schedule(0, 2 * S), layout, 2_000, |number| Sample {
        kind: 0,
        ..sample(number)
    })
}

#[test]
fn histograms_of_the_whole_run_are_not_repeated() {
    let (_, collected) = load_of_one_kind();
    let run = prony_store::figures(&collected.measured, &names(&["transfer"]));
    let [all, only] = run.kinds.as_slice() else {
        panic!("{run:?}");
    };
    assert!(!all.response.histogram.is_empty());
    for repeated in [&all.service, &only.response, &only.service] {
        assert_eq!(repeated.histogram, "");
        assert_eq!(repeated.p50_ns, all.response.p50_ns, "figures stay");
    }
}

#[test]
fn duplicates_are_not_stored() {
    let (rows, _) = load_of_one_kind();
    let histograms = recorded(&rows, &names(&["transfer"])).unwrap();
    let stored: Vec<_> = histograms
        .times
        .iter()
        .map(|times| (times.time, times.kind.as_deref()))
        .collect();
    assert_eq!(
        stored,
        [(TransactionTime::Response, None)],
        "a closed loop of one kind without timestamps"
    );
    let failed = |number| Sample {
        kind: 0,
        outcome: Outcome::RolledBack,
        ..sample(number)
    };
    let (rows, _) = load_of(
        schedule(0, S),
        RecorderLayout::closed_loop(1),
        1_000,
        failed,
    );
    assert_eq!(recorded(&rows, &names(&["transfer"])), None);
}

#[test]
fn a_long_run_has_longer_intervals() {
    let (rows, _) = load(schedule(S, S));
    let mut recorder = HistogramRecorder::with_max_intervals(8);
    let mut series = Vec::new();
    for row in std::iter::repeat_n(&rows[0], 5).chain(std::iter::repeat_n(&rows[1], 13)) {
        recorder.add(row);
        series.push(second(row, LOAD_START_NS));
    }
    let histograms = recorder.finish(&names(&["transfer", "read"])).unwrap();
    // Warm-up and window are not merged.
    assert_eq!(histograms.rows, [4, 1, 4, 4, 4, 1]);
    let intervals = histograms
        .intervals(TransactionTime::Response, None, &series)
        .unwrap();
    let samples = |index: usize| intervals[index].histogram.samples();
    assert_eq!(samples(0), 4 * series[0].committed);
    assert_eq!(samples(2), 4 * series[10].committed);
    assert_eq!(intervals[2].length_s(), 4.0);
}

#[test]
fn histograms_that_do_not_match_the_seconds_are_errors() {
    let (rows, collected) = load(schedule(0, 3 * S));
    let run = with_histograms(&rows, &collected);
    let histograms = run.histograms.unwrap();
    let read = |histograms: &HistogramSeries, series: &[Second]| {
        histograms
            .intervals(TransactionTime::Response, None, series)
            .map(|intervals| intervals.len())
    };
    assert_eq!(read(&histograms, &run.series), Ok(3));
    assert!(read(&histograms, &run.series[1..]).is_err());
    let mut longer = run.series.clone();
    longer.push(Second::default());
    assert!(read(&histograms, &longer).is_err());
    let fewer_intervals = HistogramSeries {
        rows: vec![3],
        ..histograms.clone()
    };
    assert!(read(&fewer_intervals, &run.series).is_err());
    let mut broken = histograms.clone();
    broken.times[0].counts = "not base64".to_owned();
    assert!(read(&broken, &run.series).is_err());
    assert_eq!(
        histograms.intervals(TransactionTime::Server, Some("none"), &run.series),
        Ok(Vec::new())
    );
}

/// A pseudo-random number from 0 to 1 for a sample.
fn uniform(number: u64, stream: u64) -> f64 {
    let mut x =
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A load of five kinds with 2,000 transactions per second, whose response times spread over two decades as
/// those of tpcc do.
fn five_kinds(seconds: u64) -> Run {
    const PER_SECOND: u64 = 2_000;
    let schedule: RunSchedule = schedule(0, seconds * S);
    let layout = RecorderLayout {
        has_parts: true,
        ..RecorderLayout::closed_loop(5)
    };
    let lognormal = |number, stream, median_ns: f64, sigma: f64| {
        let sum: f64 = (0..12_u64).map(|n| uniform(number, stream + n)).sum();
        (median_ns * (sigma * (sum - 6.0)).exp()) as u64
    };
    let (rows, collected) = load_of(schedule, layout, seconds * PER_SECOND, |number| {
        let share = uniform(number, 1);
        let kind = [0.45, 0.88, 0.92, 0.96]
            .iter()
            .filter(|end| share > **end)
            .count() as u16;
        let server_ns = lognormal(number, 10, 2e6 * f64::from(kind + 1), 0.6);
        let send_wait_ns = lognormal(number, 30, 5_000.0, 0.5);
        let client_wait_ns = lognormal(number, 50, 30_000.0, 0.8);
        let ended_ns = LOAD_START_NS + number * S / PER_SECOND;
        let started_ns = ended_ns.saturating_sub(server_ns + send_wait_ns + client_wait_ns);
        Sample {
            kind,
            outcome: Outcome::Committed,
            scheduled_ns: started_ns,
            started_ns,
            ended_ns,
            connect_ns: 0,
            retries: 0,
            parts: Some(ServiceTimeParts {
                send_wait_ns,
                server_ns,
                client_wait_ns,
                server_is_upper_bound: false,
            }),
        }
    });
    let mut run = finished(&rows, &collected);
    run.workload.kinds = names(&[
        "new-order",
        "payment",
        "order-status",
        "delivery",
        "stock-level",
    ]);
    run.histograms = recorded(&rows, &run.workload.kinds);
    run
}

/// The size of a document in which the part that grows with the run is as long as in an hour, bytes.
fn size_of_an_hour(seconds: u64) -> usize {
    let mut run = five_kinds(seconds);
    let total = serde_json::to_vec(&run).unwrap().len();
    (run.histograms, run.series) = (None, Vec::new());
    let constant = serde_json::to_vec(&run).unwrap().len();
    constant + (total - constant) * 3_600 / seconds as usize
}

#[test]
fn the_document_of_an_hour_with_five_kinds_is_below_ten_megabytes() {
    let bytes = size_of_an_hour(20);
    println!("an hour with five kinds: {bytes} bytes");
    assert!((2_000_000..10_000_000).contains(&bytes), "{bytes}");
}

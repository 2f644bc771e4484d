//! Collects the histograms of the rows of a run, for its document.
//!
//! Takes rows in order and returns a [`HistogramSeries`] of at most [`MAX_INTERVALS`] intervals: in a longer run
//! the intervals grow to 2, 4, 8 seconds, so that neither the document nor the memory of the client grows with
//! the length of the run. Warm-up and window are never merged.

use crate::figures::kind_name;
use crate::run::{HistogramSeries, TimeHistograms};
use TransactionTime::{ClientWait, Response, SendWait, Server, Service};
use prony_document::TransactionTime;
use prony_measure::{CoarseHistogram, Distribution, IntervalRow, RunPhase, Tally, encode_series};

/// Maximum number of intervals: an hour of seconds. The warm-up may add one.
const MAX_INTERVALS: usize = 3_600;

/// Collects the histograms of a run in progress.
#[derive(Debug)]
pub struct HistogramRecorder {
    max_intervals: usize,
    intervals: Vec<RecordedInterval>,
    /// The longest interval to which rows are added, nanoseconds; 0 until intervals are merged.
    max_length_ns: u64,
}

/// The histograms of one interval, each serialised: this takes a tenth of the memory.
#[derive(Debug)]
struct RecordedInterval {
    phase: RunPhase,
    length_ns: u64,
    rows: u32,
    /// In the order of [`histograms_of`]; empty if no worker delivered figures.
    histograms: Vec<(HistogramKey, Vec<u8>)>,
}

/// What a histogram is of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct HistogramKey {
    time: TransactionTime,
    /// The index of the kind of transaction; `None` for all kinds together.
    kind: Option<usize>,
}

impl Default for HistogramRecorder {
    fn default() -> HistogramRecorder {
        HistogramRecorder::with_max_intervals(MAX_INTERVALS)
    }
}

impl HistogramRecorder {
    /// A recorder that merges intervals when there are more than this number of them.
    pub fn with_max_intervals(max_intervals: usize) -> HistogramRecorder {
        HistogramRecorder {
            max_intervals,
            intervals: Vec::new(),
            max_length_ns: 0,
        }
    }

    pub fn add(&mut self, row: &IntervalRow) {
        let span = row.interval.span;
        let interval = RecordedInterval {
            phase: match span.phase {
                RunPhase::Warmup => RunPhase::Warmup,
                RunPhase::Measured | RunPhase::Drain => RunPhase::Measured,
            },
            length_ns: span.length_ns(),
            rows: 1,
            histograms: histograms_of(row),
        };
        self.push(interval);
        if self.intervals.len() > self.max_intervals {
            let lengths_ns = self.intervals.iter().map(|interval| interval.length_ns);
            let longest_ns = lengths_ns.max().unwrap_or(0);
            self.max_length_ns = 2 * longest_ns.max(self.max_length_ns);
            for interval in std::mem::take(&mut self.intervals) {
                self.push(interval);
            }
        }
    }

    fn push(&mut self, interval: RecordedInterval) {
        match self.intervals.last_mut() {
            Some(last)
                if last.phase == interval.phase
                    && last.length_ns.saturating_add(interval.length_ns) <= self.max_length_ns =>
            {
                last.merge(interval);
            }
            _ => self.intervals.push(interval),
        }
    }

    /// The histograms of the rows so far; `kinds` are the names of the kinds of transaction. `None` if no
    /// transaction was committed.
    pub fn finish(self, kinds: &[String]) -> Option<HistogramSeries> {
        let intervals = &self.intervals;
        // The interval with the most histograms is taken to have one for each key.
        let keys = intervals
            .iter()
            .map(|interval| &interval.histograms)
            .max_by_key(|histograms| histograms.len())?;
        let mut series = Vec::new();
        for (key, _) in keys {
            let Some(bytes) = self.series_of(*key) else {
                continue;
            };
            // A single kind is all kinds.
            let kind = key.kind.filter(|_| kinds.len() > 1);
            series.push(TimeHistograms {
                time: key.time,
                kind: kind.map(|index| kind_name(kinds, index)),
                counts: encode_series(&bytes),
            });
        }
        if !series.iter().any(|times| times.time == Response) {
            return None;
        }
        Some(HistogramSeries {
            rows: intervals.iter().map(|interval| interval.rows).collect(),
            times: series,
        })
    }

    /// The serialised histograms of all intervals, one after another; `None` if none of them has samples.
    fn series_of(&self, key: HistogramKey) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut has_samples = false;
        for interval in &self.intervals {
            let mut histograms = interval.histograms.iter();
            match histograms.find(|(other, _)| *other == key) {
                Some((_, histogram)) => {
                    has_samples |= *histogram != EMPTY;
                    bytes.extend_from_slice(histogram);
                }
                None => bytes.extend_from_slice(&EMPTY),
            }
        }
        has_samples.then_some(bytes)
    }
}

/// A histogram without samples, serialised.
const EMPTY: [u8; 1] = [0];

impl RecordedInterval {
    fn merge(&mut self, later: RecordedInterval) {
        self.length_ns = self.length_ns.saturating_add(later.length_ns);
        self.rows = self.rows.saturating_add(later.rows);
        for (key, bytes) in later.histograms {
            match self.histograms.iter_mut().find(|(own, _)| *own == key) {
                Some((_, own)) => *own = sum_serialized(own, &bytes),
                None => self.histograms.push((key, bytes)),
            }
        }
    }
}

/// The sum of two serialised histograms.
fn sum_serialized(a: &[u8], b: &[u8]) -> Vec<u8> {
    // Reading cannot fail: the bytes were serialised by this recorder.
    let read = |mut bytes| CoarseHistogram::take_from(&mut bytes).unwrap_or_default();
    let mut sum = read(a);
    sum.add(&read(b));
    serialized(&sum)
}

fn serialized(histogram: &CoarseHistogram) -> Vec<u8> {
    let mut bytes = Vec::new();
    histogram.append_to(&mut bytes);
    bytes
}

/// The histograms of a row: response times by kind, and of all kinds together the service times of an open loop
/// and the parts of the service time.
fn histograms_of(row: &IntervalRow) -> Vec<(HistogramKey, Vec<u8>)> {
    type TimesOf = fn(&Tally<u32>) -> Option<&Distribution<u32>>;
    const TIMES_OF_ALL_KINDS: [(TransactionTime, TimesOf); 4] = [
        (Service, |tally| tally.service.as_ref()),
        (SendWait, |tally| Some(&tally.parts.as_ref()?.send_wait)),
        (Server, |tally| Some(&tally.parts.as_ref()?.server)),
        (ClientWait, |tally| Some(&tally.parts.as_ref()?.client_wait)),
    ];
    let tallies = &row.interval.kinds;
    let mut histograms = Vec::new();
    for (index, tally) in tallies.iter().enumerate() {
        let key = HistogramKey {
            time: Response,
            kind: Some(index),
        };
        let histogram = CoarseHistogram::of(&tally.response);
        histograms.push((key, serialized(&histogram)));
    }
    for (time, times_of) in TIMES_OF_ALL_KINDS {
        let mut sum: Option<CoarseHistogram> = None;
        for times in tallies.iter().filter_map(times_of) {
            sum.get_or_insert_default().add(&CoarseHistogram::of(times));
        }
        if let Some(sum) = sum {
            histograms.push((HistogramKey { time, kind: None }, serialized(&sum)));
        }
    }
    histograms
}

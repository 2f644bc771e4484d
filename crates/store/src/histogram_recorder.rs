//! Collects the histograms of the rows of a run, for its document.
//!
//! Takes rows in order and returns a [`HistogramSeries`] of at most [`MAX_INTERVALS`] intervals: in a longer run
//! the intervals grow to 2, 4, 8 seconds, so that neither the document nor the memory of the client grows with
//! the length of the run. Warm-up and window are never merged.

use crate::run::{HistogramSeries, TimeHistograms};
use prony_document::TransactionTime;
use prony_measure::{CoarseHistogram, IntervalRow, RunPhase, encode_series};

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

/// The time, and the index of the kind of transaction; no index for all kinds together.
type HistogramKey = (TransactionTime, Option<usize>);

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
            let longest_ns = self
                .intervals
                .iter()
                .map(|interval| interval.length_ns)
                .max();
            self.max_length_ns = (2 * self.max_length_ns).max(2 * longest_ns.unwrap_or(0));
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
        let keys = intervals
            .iter()
            .map(|interval| &interval.histograms)
            .max_by_key(|histograms| histograms.len())?;
        let series = keys.iter().filter_map(|(key, _)| {
            let mut bytes = Vec::new();
            let mut samples = false;
            for interval in intervals {
                match interval.histograms.iter().find(|(other, _)| other == key) {
                    Some((_, histogram)) => {
                        samples |= *histogram != EMPTY;
                        bytes.extend_from_slice(histogram);
                    }
                    None => bytes.extend_from_slice(&EMPTY),
                }
            }
            let (time, kind) = *key;
            samples.then(|| TimeHistograms {
                time,
                // A single kind is all kinds.
                kind: kind.filter(|_| kinds.len() > 1).map(|index| {
                    let name = kinds.get(index).cloned();
                    name.unwrap_or_else(|| format!("kind {}", index + 1))
                }),
                counts: encode_series(&bytes),
            })
        });
        let times: Vec<TimeHistograms> = series.collect();
        let has_response = times
            .iter()
            .any(|times| times.time == TransactionTime::Response);
        has_response.then(|| HistogramSeries {
            rows: intervals.iter().map(|interval| interval.rows).collect(),
            times,
        })
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
                Some((_, own)) => *own = sum(own, &bytes),
                None => self.histograms.push((key, bytes)),
            }
        }
    }
}

fn sum(a: &[u8], b: &[u8]) -> Vec<u8> {
    // The bytes were serialised by this recorder.
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
    let kinds = &row.interval.kinds;
    let mut histograms: Vec<(HistogramKey, Vec<u8>)> = kinds
        .iter()
        .enumerate()
        .map(|(index, tally)| {
            let histogram = CoarseHistogram::of(&tally.response);
            (
                (TransactionTime::Response, Some(index)),
                serialized(&histogram),
            )
        })
        .collect();
    let mut sums: [(TransactionTime, Option<CoarseHistogram>); 4] = [
        (TransactionTime::Service, None),
        (TransactionTime::SendWait, None),
        (TransactionTime::Server, None),
        (TransactionTime::ClientWait, None),
    ];
    for tally in kinds {
        let parts = tally.parts.as_ref();
        let distributions = [
            tally.service.as_ref(),
            parts.map(|parts| &parts.send_wait),
            parts.map(|parts| &parts.server),
            parts.map(|parts| &parts.client_wait),
        ];
        for ((_, sum), times) in sums.iter_mut().zip(distributions) {
            if let Some(times) = times {
                sum.get_or_insert_default().add(&CoarseHistogram::of(times));
            }
        }
    }
    let sums = sums
        .into_iter()
        .filter_map(|(time, sum)| Some(((time, None), serialized(&sum?))));
    histograms.extend(sums);
    histograms
}

//! Distributions of the times over the run, with two significant digits.

use super::measured::Second;
use prony_document::TransactionTime;
use prony_measure::{CoarseHistogram, decode_series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Histograms of committed transactions for consecutive intervals of the load.
///
/// Duplicates are not stored: the histogram of all kinds is the sum of those of the kinds, and the service time
/// of a closed loop is its response time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistogramSeries {
    /// The intervals: how many rows of the run's `series` each covers, from the first row on. An interval
    /// never covers both warm-up and window.
    pub rows: Vec<u32>,
    /// One series of histograms for each time and kind of transaction.
    pub times: Vec<TimeHistograms>,
}

/// The histograms of one time, one for each interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeHistograms {
    /// The time.
    pub time: TransactionTime,
    /// The kind of transaction; null for all kinds together.
    pub kind: Option<String>,
    /// The histograms: base64 of a zlib stream. For each interval it contains the number of values that
    /// follow, and the values, all as LEB128: a positive value is the count of the next bucket, a negative one
    /// skips empty buckets, with the signs in ZigZag encoding. The buckets are those of HdrHistogram with two
    /// significant digits from 1 ns: bucket b is b ns up to 255, and above, with s = b / 128 - 1 (rounded
    /// down), the 2^s ns from (b mod 128 + 128) * 2^s.
    pub counts: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct IntervalHistograms<'a> {
    /// The rows of the run's series that the interval covers.
    pub rows: &'a [Second],
    pub histogram: CoarseHistogram,
}

impl IntervalHistograms<'_> {
    /// Start, seconds from the start of the load.
    pub fn at_s(&self) -> f64 {
        self.rows.first().map_or(0.0, |row| row.at_s)
    }

    /// Length, seconds.
    pub fn length_s(&self) -> f64 {
        self.rows.iter().map(|row| row.length_s).sum()
    }
}

impl HistogramSeries {
    /// The kinds of transaction with response times of their own, in the order of the document.
    pub fn kinds(&self) -> impl Iterator<Item = Option<&str>> {
        let response = self
            .times
            .iter()
            .filter(|times| times.time == TransactionTime::Response);
        response.map(|times| times.kind.as_deref())
    }

    /// The histograms of a time for each interval, of one kind of transaction or, with `None`, of all. Empty if
    /// the document has none. `series` is that of the run.
    ///
    /// # Errors
    /// If the histograms cannot be read, or do not cover the rows of `series`.
    pub fn intervals<'a>(
        &self,
        time: TransactionTime,
        kind: Option<&str>,
        series: &'a [Second],
    ) -> Result<Vec<IntervalHistograms<'a>>, String> {
        let mut remaining = series;
        let mut intervals = Vec::with_capacity(self.rows.len().min(series.len()));
        for count in &self.rows {
            let split = remaining.split_at_checked(*count as usize);
            let (rows, rest) =
                split.ok_or("the histograms cover more seconds than the document")?;
            remaining = rest;
            intervals.push(IntervalHistograms {
                rows,
                histogram: CoarseHistogram::default(),
            });
        }
        if !remaining.is_empty() {
            return Err("the histograms cover fewer seconds than the document".to_owned());
        }
        let of_time = self.times.iter().filter(|times| times.time == time);
        let mut found = false;
        for times in of_time.filter(|times| kind.is_none() || times.kind.as_deref() == kind) {
            found = true;
            let bytes = decode_series(&times.counts)?;
            let mut bytes = bytes.as_slice();
            for interval in &mut intervals {
                interval
                    .histogram
                    .add(&CoarseHistogram::take_from(&mut bytes)?);
            }
            if !bytes.is_empty() {
                return Err("a series has more histograms than intervals".to_owned());
            }
        }
        if found { Ok(intervals) } else { Ok(Vec::new()) }
    }
}

//! The serialised form of the counts and times of one kind of transaction.

use super::{InvalidInterval, check_counts};
use crate::distribution::{Distribution, HISTOGRAM_MAX_NS};
use crate::histogram::{decode_histogram, encode_histogram};
use crate::tally::{PartDistributions, RecorderLayout, Tally};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SerializedTally {
    /// Committed, rolled back, failed, skipped, retries.
    counts: [u64; 5],
    retried: u64,
    over_latency_limit: u64,
    committed_after_window: u64,
    #[serde(with = "large_number")]
    busy_ns: u128,
    response: SerializedTimes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<SerializedTimes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed_response: Option<SerializedTimes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rolled_back_response: Option<SerializedTimes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lag: Option<SerializedTimes>,
    /// Send wait, server, client wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parts: Option<[SerializedTimes; 3]>,
    server_times_upper_bound: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connect: Option<SerializedTimes>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SerializedTimes {
    samples: u64,
    #[serde(with = "large_number")]
    sum_ns: u128,
    squares_ns2: f64,
    min_ns: u64,
    max_ns: u64,
    /// Text of [`encode_histogram`].
    histogram: String,
}

impl SerializedTally {
    pub(super) fn new(tally: &Tally<u32>) -> SerializedTally {
        let parts = tally.parts.as_ref();
        let if_recorded =
            |times: &Distribution<u32>| (times.samples > 0).then(|| SerializedTimes::new(times));
        SerializedTally {
            counts: [
                tally.committed,
                tally.rolled_back,
                tally.failed,
                tally.skipped,
                tally.retries,
            ],
            retried: tally.retried,
            over_latency_limit: tally.over_latency_limit,
            committed_after_window: tally.committed_after_window,
            busy_ns: tally.busy_ns,
            response: SerializedTimes::new(&tally.response),
            service: tally.service.as_ref().map(SerializedTimes::new),
            failed_response: if_recorded(&tally.failed_response),
            rolled_back_response: if_recorded(&tally.rolled_back_response),
            lag: tally.lag.as_ref().map(SerializedTimes::new),
            parts: parts.map(|parts| {
                [&parts.send_wait, &parts.server, &parts.client_wait].map(SerializedTimes::new)
            }),
            server_times_upper_bound: parts.map_or(0, |parts| parts.server_times_upper_bound),
            connect: tally.connect.as_ref().map(SerializedTimes::new),
        }
    }

    /// The layout of a single kind with these distributions.
    pub(super) fn layout(&self) -> RecorderLayout {
        RecorderLayout {
            open_loop: self.service.is_some(),
            has_parts: self.parts.is_some(),
            has_connect_time: self.connect.is_some(),
            ..RecorderLayout::closed_loop(1)
        }
    }

    /// Whether the tally has exactly the distributions of this layout.
    pub(super) fn has_shape(&self, layout: RecorderLayout) -> bool {
        let stored = self.layout();
        (stored.open_loop, stored.has_parts, stored.has_connect_time)
            == (layout.open_loop, layout.has_parts, layout.has_connect_time)
            && self.lag.is_some() == layout.open_loop
    }

    pub(super) fn into_tally(self, latency_limit_ns: u64) -> Result<Tally<u32>, InvalidInterval> {
        check_counts(&self.counts)?;
        let [committed, rolled_back, failed, skipped, retries] = self.counts;
        let mut committed_times = vec![&self.response];
        committed_times.extend(
            [&self.service, &self.lag, &self.connect]
                .into_iter()
                .flatten(),
        );
        let part_samples = self.parts.as_ref().map_or(0, |parts| parts[0].samples);
        let parts = self.parts.iter().flatten();
        // None: there were no such transactions.
        let count_differs = |times: &Option<SerializedTimes>, count: u64| {
            times.as_ref().is_some_and(|times| times.samples != count)
        };
        if committed_times
            .iter()
            .any(|times| times.samples != committed)
            || count_differs(&self.failed_response, failed)
            || count_differs(&self.rolled_back_response, rolled_back)
            || parts.into_iter().any(|part| part.samples != part_samples)
            || part_samples > committed
            || self.server_times_upper_bound > part_samples
            || self.over_latency_limit > committed
            || self.retried > retries
        {
            return Err(InvalidInterval::Count("its counts contradict each other"));
        }
        let parts = match self.parts {
            None => None,
            Some([send_wait, server, client_wait]) => Some(PartDistributions {
                send_wait: send_wait.into_distribution()?,
                server: server.into_distribution()?,
                client_wait: client_wait.into_distribution()?,
                server_times_upper_bound: self.server_times_upper_bound,
            }),
        };
        let into_optional_distribution = |times: Option<SerializedTimes>| {
            times.map(SerializedTimes::into_distribution).transpose()
        };
        let into_coarse_distribution = |times: Option<SerializedTimes>| match times {
            Some(times) => times.into_distribution_like(Distribution::coarse()),
            None => Ok(Distribution::coarse()),
        };
        Ok(Tally {
            committed,
            rolled_back,
            failed,
            skipped,
            retries,
            retried: self.retried,
            over_latency_limit: self.over_latency_limit,
            committed_after_window: self.committed_after_window,
            latency_limit_ns,
            busy_ns: self.busy_ns,
            response: self.response.into_distribution()?,
            service: into_optional_distribution(self.service)?,
            failed_response: into_coarse_distribution(self.failed_response)?,
            rolled_back_response: into_coarse_distribution(self.rolled_back_response)?,
            lag: into_optional_distribution(self.lag)?,
            parts,
            connect: into_optional_distribution(self.connect)?,
        })
    }
}

impl SerializedTimes {
    fn new(times: &Distribution<u32>) -> SerializedTimes {
        SerializedTimes {
            samples: times.samples,
            sum_ns: times.sum_ns,
            squares_ns2: times.squares_ns2,
            min_ns: times.min_ns,
            max_ns: times.max_ns,
            histogram: encode_histogram(&times.histogram),
        }
    }

    fn into_distribution(self) -> Result<Distribution<u32>, InvalidInterval> {
        self.into_distribution_like(Distribution::default())
    }

    /// Restores the distribution; an error if its histogram does not have the same buckets as `empty`.
    fn into_distribution_like(
        self,
        empty: Distribution<u32>,
    ) -> Result<Distribution<u32>, InvalidInterval> {
        let mut times = empty;
        if self.samples > 0 {
            let histogram = decode_histogram(&self.histogram);
            let histogram = histogram.map_err(InvalidInterval::Histogram)?;
            if histogram.sigfig() != times.histogram.sigfig()
                || histogram.low() != times.histogram.low()
                || histogram.high() != times.histogram.high()
            {
                return Err(InvalidInterval::Histogram(
                    "the buckets of a histogram differ from the run's".to_owned(),
                ));
            }
            times.histogram = histogram;
        }
        times.samples = self.samples;
        times.sum_ns = self.sum_ns;
        times.squares_ns2 = self.squares_ns2;
        times.min_ns = self.min_ns;
        times.max_ns = self.max_ns;
        if is_consistent(&times) {
            Ok(times)
        } else {
            Err(InvalidInterval::Count(
                "a histogram does not match its count, sum or extremes",
            ))
        }
    }
}

/// Whether count, sum, extremes and histogram can belong to the same samples.
fn is_consistent(times: &Distribution<u32>) -> bool {
    let (histogram, samples) = (&times.histogram, u128::from(times.samples));
    let (min_ns, max_ns) = (times.min_ns, times.max_ns);
    let sums = samples * u128::from(min_ns)..=samples.saturating_mul(u128::from(max_ns));
    // Times above an hour are all in the last buckets.
    let is_in_bucket = |bucket_ns: u64, time_ns: u64| {
        time_ns > HISTOGRAM_MAX_NS || histogram.equivalent(bucket_ns, time_ns)
    };
    histogram.len() == times.samples
        && min_ns <= max_ns
        && (samples > 0 || max_ns == 0)
        && sums.contains(&times.sum_ns)
        && (samples == 0
            || is_in_bucket(histogram.min(), min_ns) && is_in_bucket(histogram.max(), max_ns))
        && (0.0..=f64::MAX).contains(&times.squares_ns2)
}

/// A sum of times: a number, or decimal text if it does not fit into 64 bits.
mod large_number {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum LargeNumber {
        Number(u64),
        Text(String),
    }

    pub(super) fn serialize<S: Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
        match u64::try_from(*number) {
            Ok(number) => to.serialize_u64(number),
            Err(_) => to.collect_str(number),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        match LargeNumber::deserialize(from)? {
            LargeNumber::Number(number) => Ok(number.into()),
            LargeNumber::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

//! The serialised form of the counts and times of one kind of transaction.

use super::times::{SerializedTimes, large_number};
use super::{InvalidInterval, check_counts};
use crate::distribution::Distribution;
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

//! The serialised form of the counts and times of one kind of transaction.

use super::times::{SerializedTimes, SparseTimes, large_number};
use super::{InvalidInterval, check_counts};
use crate::distribution::{COARSE_DIGITS, Distribution, SIGNIFICANT_DIGITS};
use crate::tally::{RecorderLayout, Tally};
use serde::{Deserialize, Serialize};

/// `T`: [`SerializedTimes`], or [`SparseTimes`] when they are decoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub(super) struct SerializedTally<T = SerializedTimes> {
    /// Committed, rolled back, failed, skipped, retries.
    pub(super) counts: [u64; 5],
    retried: u64,
    over_latency_limit: u64,
    committed_after_window: u64,
    #[serde(with = "large_number")]
    busy_ns: u128,
    pub(super) response: T,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed_response: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rolled_back_response: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lag: Option<T>,
    /// Send wait, server, client wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parts: Option<[T; 3]>,
    server_times_upper_bound: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    connect: Option<T>,
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

    pub(super) fn layout(&self) -> RecorderLayout {
        RecorderLayout {
            open_loop: self.service.is_some(),
            has_parts: self.parts.is_some(),
            has_connect_time: self.connect.is_some(),
            ..RecorderLayout::closed_loop(1)
        }
    }

    pub(super) fn has_shape(&self, layout: RecorderLayout) -> bool {
        let stored = self.layout();
        (stored.open_loop, stored.has_parts, stored.has_connect_time)
            == (layout.open_loop, layout.has_parts, layout.has_connect_time)
            && self.lag.is_some() == layout.open_loop
    }

    pub(super) fn into_sparse(self) -> Result<SparseTally, InvalidInterval> {
        self.check()?;
        let fine = |times: SerializedTimes| times.into_sparse(SIGNIFICANT_DIGITS);
        let optional = |times: Option<SerializedTimes>| times.map(fine).transpose();
        let coarse = |times: Option<SerializedTimes>| {
            times
                .map(|times| times.into_sparse(COARSE_DIGITS))
                .transpose()
        };
        Ok(SerializedTally {
            counts: self.counts,
            retried: self.retried,
            over_latency_limit: self.over_latency_limit,
            committed_after_window: self.committed_after_window,
            busy_ns: self.busy_ns,
            response: fine(self.response)?,
            service: optional(self.service)?,
            failed_response: coarse(self.failed_response)?,
            rolled_back_response: coarse(self.rolled_back_response)?,
            lag: optional(self.lag)?,
            parts: match self.parts {
                None => None,
                Some([send_wait, server, client_wait]) => {
                    Some([fine(send_wait)?, fine(server)?, fine(client_wait)?])
                }
            },
            server_times_upper_bound: self.server_times_upper_bound,
            connect: optional(self.connect)?,
        })
    }

    /// Checks that the counts can belong together.
    fn check(&self) -> Result<(), InvalidInterval> {
        check_counts(&self.counts)?;
        let [committed, rolled_back, failed, _, retries] = self.counts;
        let mut committed_times = vec![&self.response];
        committed_times.extend(
            [&self.service, &self.lag, &self.connect]
                .into_iter()
                .flatten(),
        );
        // Without times of an outcome, no transaction had it, or they were not recorded.
        let has_count = |times: &Option<SerializedTimes>, count: u64| {
            times.as_ref().is_none_or(|times| times.samples == count)
        };
        let times_match = committed_times
            .iter()
            .all(|times| times.samples == committed)
            && has_count(&self.failed_response, failed)
            && has_count(&self.rolled_back_response, rolled_back);
        let part_samples = self.parts.as_ref().map_or(0, |parts| parts[0].samples);
        let mut parts = self.parts.iter().flatten();
        let parts_match = parts.all(|part| part.samples == part_samples)
            && part_samples <= committed
            && self.server_times_upper_bound <= part_samples;
        let counts_match = self.over_latency_limit <= committed && self.retried <= retries;
        if times_match && parts_match && counts_match {
            Ok(())
        } else {
            Err(InvalidInterval::Count("its counts contradict each other"))
        }
    }
}

pub(super) type SparseTally = SerializedTally<SparseTimes<u32>>;

impl SparseTally {
    /// Adds the tally to another one, which has the same distributions.
    pub(super) fn add_to(&self, sum: &mut Tally<u32>) {
        let [committed, rolled_back, failed, skipped, retries] = self.counts;
        for (sum, count) in [
            (&mut sum.committed, committed),
            (&mut sum.rolled_back, rolled_back),
            (&mut sum.failed, failed),
            (&mut sum.skipped, skipped),
            (&mut sum.retries, retries),
            (&mut sum.retried, self.retried),
            (&mut sum.over_latency_limit, self.over_latency_limit),
            (&mut sum.committed_after_window, self.committed_after_window),
        ] {
            *sum = sum.saturating_add(count);
        }
        sum.busy_ns = sum.busy_ns.saturating_add(self.busy_ns);
        self.response.add_to(&mut sum.response);
        for (sum, times) in [
            (&mut sum.service, &self.service),
            (&mut sum.lag, &self.lag),
            (&mut sum.connect, &self.connect),
        ] {
            if let Some(times) = times {
                times.add_to(sum.get_or_insert_default());
            }
        }
        for (sum, times) in [
            (&mut sum.failed_response, &self.failed_response),
            (&mut sum.rolled_back_response, &self.rolled_back_response),
        ] {
            if let Some(times) = times {
                times.add_to(sum);
            }
        }
        if let Some([send_wait, server, client_wait]) = &self.parts {
            let sum = sum.parts.get_or_insert_default();
            send_wait.add_to(&mut sum.send_wait);
            server.add_to(&mut sum.server);
            client_wait.add_to(&mut sum.client_wait);
            sum.server_times_upper_bound = sum
                .server_times_upper_bound
                .saturating_add(self.server_times_upper_bound);
        }
    }
}

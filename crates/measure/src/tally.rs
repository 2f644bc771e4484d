//! Counts and times of one kind of transaction.
//!
//! In: samples. Out: exact counts and distributions. Must never: allocate while counting.

use crate::distribution::Distribution;
use crate::sample::{Outcome, Sample};
use hdrhistogram::Counter;
use serde::{Deserialize, Serialize};

/// What a recorder records. It is fixed before the run, so that recording does not allocate, and is the
/// same for all workers of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecorderLayout {
    /// Number of kinds of transaction; at least 1.
    pub kinds: usize,
    /// Whether starts are scheduled: service time then differs from response time and is recorded
    /// separately.
    pub open_loop: bool,
    /// Whether some connections have kernel timestamps, so that the parts of samples are recorded. If false,
    /// parts are ignored.
    pub has_parts: bool,
    /// Whether each transaction opens its own connection, so that the time for connecting is recorded.
    pub has_connect_time: bool,
    /// Committed transactions that take longer than this are counted in [`Tally::over_latency_limit`],
    /// nanoseconds.
    pub latency_limit_ns: u64,
}

impl RecorderLayout {
    /// The layout for a closed loop without timestamps, with this number of kinds.
    pub fn closed_loop(kinds: usize) -> RecorderLayout {
        RecorderLayout {
            kinds,
            open_loop: false,
            has_parts: false,
            has_connect_time: false,
            latency_limit_ns: u64::MAX,
        }
    }
}

/// Counts and times of one kind of transaction. Times are of committed transactions, unless the field says
/// otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Tally<C: Counter> {
    pub committed: u64,
    /// Rolled back on purpose.
    pub rolled_back: u64,
    pub failed: u64,
    /// Never started, because they were already later than the latency limit.
    pub skipped: u64,
    /// Tries after the first, of transactions that ended.
    pub retries: u64,
    /// Transactions that took more than one try.
    pub retried: u64,
    /// Committed transactions that took longer than `latency_limit_ns`.
    pub over_latency_limit: u64,
    /// Committed after the end of the window; no other figure includes them.
    pub committed_after_window: u64,
    /// Sum of the response times of all transactions that ended, whatever their outcome, nanoseconds.
    /// Skipped transactions occupied no client and are not included.
    pub busy_ns: u128,
    /// Response time, from the scheduled start.
    pub response: Distribution<C>,
    /// Service time, from the actual start; absent in a closed loop, where it is the response time.
    pub service: Option<Distribution<C>>,
    /// Response time of failed transactions, to two digits.
    pub failed_response: Distribution<C>,
    /// Response time of transactions rolled back on purpose, to two digits.
    pub rolled_back_response: Distribution<C>,
    /// Lag from the scheduled start to the actual one; absent in a closed loop, where it is zero.
    pub lag: Option<Distribution<C>>,
    /// Parts of the service time; absent without timestamps.
    pub parts: Option<PartDistributions<C>>,
    /// Time for connecting; absent unless each transaction opens its own connection.
    pub connect: Option<Distribution<C>>,
    /// The latency limit, nanoseconds; `u64::MAX` without one.
    pub latency_limit_ns: u64,
}

/// The parts of the service time of the samples that had usable timestamps.
#[derive(Clone, Debug, PartialEq)]
pub struct PartDistributions<C: Counter> {
    /// Time queued in the client until sent.
    pub send_wait: Distribution<C>,
    /// Time from sent until the reply arrived.
    pub server: Distribution<C>,
    /// Time from arrival until the loop noticed the reply.
    pub client_wait: Distribution<C>,
    /// Number of server times that are upper bounds.
    pub server_times_upper_bound: u64,
}

impl<C: Counter> Default for PartDistributions<C> {
    fn default() -> Self {
        PartDistributions {
            send_wait: Distribution::default(),
            server: Distribution::default(),
            client_wait: Distribution::default(),
            server_times_upper_bound: 0,
        }
    }
}

impl<C: Counter> Tally<C> {
    /// An empty tally with the memory that the layout needs.
    pub fn new(layout: RecorderLayout) -> Tally<C> {
        Tally {
            committed: 0,
            rolled_back: 0,
            failed: 0,
            skipped: 0,
            retries: 0,
            retried: 0,
            over_latency_limit: 0,
            committed_after_window: 0,
            busy_ns: 0,
            response: Distribution::default(),
            service: layout.open_loop.then(Distribution::default),
            failed_response: Distribution::coarse(),
            rolled_back_response: Distribution::coarse(),
            lag: layout.open_loop.then(Distribution::default),
            parts: layout.has_parts.then(PartDistributions::default),
            connect: layout.has_connect_time.then(Distribution::default),
            latency_limit_ns: layout.latency_limit_ns,
        }
    }

    /// Counts one sample. Does not allocate.
    #[inline]
    pub fn record(&mut self, sample: &Sample) {
        self.retries += u64::from(sample.retries);
        self.retried += u64::from(sample.retries > 0);
        let response_ns = sample.response_ns();
        match sample.outcome {
            Outcome::Committed => {
                self.committed += 1;
                self.record_committed_times(sample, response_ns);
            }
            Outcome::RolledBack => {
                self.rolled_back += 1;
                self.rolled_back_response.record(response_ns);
            }
            Outcome::Failed(..) => {
                self.failed += 1;
                self.failed_response.record(response_ns);
            }
            Outcome::Skipped => {
                self.skipped += 1;
                return;
            }
        }
        self.busy_ns += u128::from(response_ns);
    }

    #[inline]
    fn record_committed_times(&mut self, sample: &Sample, response_ns: u64) {
        self.response.record(response_ns);
        self.over_latency_limit += u64::from(response_ns > self.latency_limit_ns);
        if let (Some(service), Some(lag)) = (&mut self.service, &mut self.lag) {
            service.record(sample.service_ns());
            lag.record(sample.started_ns.saturating_sub(sample.scheduled_ns));
        }
        if let (Some(times), Some(parts)) = (&mut self.parts, &sample.parts) {
            times.send_wait.record(parts.send_wait_ns);
            times.server.record(parts.server_ns);
            times.client_wait.record(parts.client_wait_ns);
            times.server_times_upper_bound += u64::from(parts.server_is_upper_bound);
        }
        if let Some(connect) = &mut self.connect {
            connect.record(sample.connect_ns);
        }
    }

    /// The response times of all transactions that ended, whatever their outcome; `None` if all committed, or
    /// if the times of failed and rolled back transactions were not recorded.
    pub fn attempt_responses(&self) -> Option<Distribution<C>> {
        let not_committed = [&self.rolled_back_response, &self.failed_response];
        let recorded: u64 = not_committed.iter().map(|times| times.samples).sum();
        if recorded == 0 || recorded != self.rolled_back + self.failed {
            return None;
        }
        let mut all = self.response.clone();
        not_committed.into_iter().for_each(|times| all.add(times));
        Some(all)
    }

    /// The service times, which are the response times in a closed loop.
    pub fn service(&self) -> &Distribution<C> {
        self.service.as_ref().unwrap_or(&self.response)
    }

    pub fn add<D: Counter>(&mut self, other: &Tally<D>) {
        self.add_with(other, Distribution::add);
    }

    /// Adds a tally of the same counter, faster than [`Tally::add`].
    pub fn add_same(&mut self, other: &Tally<C>) {
        self.add_with(other, Distribution::add_same);
    }

    fn add_with<D: Counter>(
        &mut self,
        other: &Tally<D>,
        add: impl Fn(&mut Distribution<C>, &Distribution<D>),
    ) {
        self.committed = self.committed.saturating_add(other.committed);
        self.rolled_back = self.rolled_back.saturating_add(other.rolled_back);
        self.failed = self.failed.saturating_add(other.failed);
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.retries = self.retries.saturating_add(other.retries);
        self.retried = self.retried.saturating_add(other.retried);
        self.over_latency_limit = self
            .over_latency_limit
            .saturating_add(other.over_latency_limit);
        self.committed_after_window = self
            .committed_after_window
            .saturating_add(other.committed_after_window);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
        add(&mut self.response, &other.response);
        if let Some(service) = &other.service {
            add(self.service.get_or_insert_default(), service);
        }
        if other.failed_response.samples > 0 {
            add(&mut self.failed_response, &other.failed_response);
        }
        if other.rolled_back_response.samples > 0 {
            add(&mut self.rolled_back_response, &other.rolled_back_response);
        }
        if let Some(lag) = &other.lag {
            add(self.lag.get_or_insert_default(), lag);
        }
        if let Some(parts) = &other.parts {
            let sum = self.parts.get_or_insert_default();
            add(&mut sum.send_wait, &parts.send_wait);
            add(&mut sum.server, &parts.server);
            add(&mut sum.client_wait, &parts.client_wait);
            sum.server_times_upper_bound = sum
                .server_times_upper_bound
                .saturating_add(parts.server_times_upper_bound);
        }
        if let Some(connect) = &other.connect {
            add(self.connect.get_or_insert_default(), connect);
        }
    }

    /// Removes all counts and keeps the memory.
    pub fn clear(&mut self) {
        (self.committed, self.rolled_back, self.failed) = (0, 0, 0);
        (self.skipped, self.retries, self.retried) = (0, 0, 0);
        (self.over_latency_limit, self.busy_ns) = (0, 0);
        self.committed_after_window = 0;
        self.response.clear();
        self.service.iter_mut().for_each(Distribution::clear);
        self.failed_response.clear();
        self.rolled_back_response.clear();
        self.lag.iter_mut().for_each(Distribution::clear);
        self.connect.iter_mut().for_each(Distribution::clear);
        if let Some(parts) = &mut self.parts {
            parts.send_wait.clear();
            parts.server.clear();
            parts.client_wait.clear();
            parts.server_times_upper_bound = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_document::ErrorClass;

    #[test]
    fn the_times_of_all_attempts_are_recorded_by_outcome() {
        let mut tally: Tally<u32> = Tally::new(RecorderLayout::closed_loop(1));
        let record = |tally: &mut Tally<u32>, outcome, response_ns| {
            tally.record(&Sample {
                kind: 0,
                outcome,
                scheduled_ns: 0,
                started_ns: 0,
                ended_ns: response_ns,
                connect_ns: 0,
                retries: 0,
                parts: None,
            });
        };
        record(&mut tally, Outcome::Committed, 1_000);
        assert_eq!(tally.attempt_responses(), None, "all committed");
        record(
            &mut tally,
            Outcome::Failed(ErrorClass::Deadlock, *b"40P01"),
            9_000,
        );
        record(&mut tally, Outcome::RolledBack, 2_000);
        assert_eq!(tally.response.mean_ns(), 1_000.0);
        let failed = &tally.failed_response;
        assert_eq!((failed.samples, failed.max_ns), (1, 9_000));
        let all = tally.attempt_responses().unwrap();
        assert_eq!((all.samples, all.sum_ns), (3, 12_000));
        let mut sum: Tally<u64> = Tally::new(RecorderLayout::closed_loop(1));
        sum.add(&tally);
        sum.add(&tally);
        assert_eq!(sum.attempt_responses().unwrap().samples, 6);
        tally.clear();
        assert_eq!(tally.attempt_responses(), None);
    }
}

//! Confidence intervals of a run's percentiles of the response time, and of the means of its kinds.
//!
//! In: a Run. Out: for the median, the 95th and the 99th percentile an interval at 95 %, which says how
//! precisely this run knows the percentile of its own conditions; not what another run would measure. For
//! requirements, an interval of any percentile, also a wide one. Must never: count transactions of one second as
//! independent, or return an interval for seconds that are too few.
//!
//! Among n independent response times, the number below the percentile q has the standard deviation
//! `sqrt(n q (1 - q))`, and the response times of these ranks are the interval (David and Nagaraja 2003, Order
//! Statistics, section 7.1). Transactions are not independent: what slows one of them slows its neighbours, for
//! a second or for many. The variance of the rank is therefore multiplied by a design effect (Kish 1965, Survey
//! Sampling, section 8.2): the variance of the mean over the seconds' own percentiles, with the autocorrelation of
//! the seconds ([`series_mean`]), divided by the variance that independent transactions would give it.
//! If the seconds have too few transactions for percentiles, their means take this place.
//! `tests/percentile_intervals.rs` holds the level.
//!
//! That gives no interval if the seconds are too autocorrelated, or if a rank would be beyond the last transaction. A
//! requirement is then decided by [`interval_of`] with a wider interval: the one of independent transactions, whose ends are
//! moved by as much as the true mean of the seconds' logarithms may differ from that of these seconds ([`series_interval`]).
//! It is wide enough if what slows a second slows all its transactions by the same factor. Among seconds that keep up to 0.9
//! of their deviation, at most 5 % of such intervals miss the true percentile.
//!
//! [`lower_bound_of`] has the lower end alone, which a percentile has with any number of transactions: by the binomial
//! distribution, in which the transactions of a second count as one if there are too few seconds to say more.

use crate::all_kinds;
use crate::statistics::{
    ALPHA, SeriesInterval, ranks_below, series_interval, series_mean, student,
};
use crate::steady::judged_rows;
use crate::thresholds::{LATENCY_SECONDS_MIN_SHARE, STEADY_MIN_SECONDS};
use prony_store::{Latency, RecordedTimes, Run, Second};
use serde::Serialize;

/// The percentiles of which [`percentile_intervals`] returns intervals.
const PERCENTILES: [PercentileSource; 3] = [
    PercentileSource {
        percentile: 50.0,
        of_latency: |latency| latency.p50_ns,
        of_second: |second| second.p50_ns,
    },
    PercentileSource {
        percentile: 95.0,
        of_latency: |latency| latency.p95_ns,
        of_second: |second| second.p95_ns,
    },
    PercentileSource {
        percentile: 99.0,
        of_latency: |latency| latency.p99_ns,
        of_second: |second| second.p99_ns,
    },
];

/// A percentile, and how to read it.
struct PercentileSource {
    percentile: f64,
    of_latency: fn(&Latency) -> Option<u64>,
    of_second: OfSecond,
}

type OfSecond = fn(&Second) -> Option<u64>;

/// Share of the transactions above the percentile by which the rank is moved to measure how fast the response time
/// rises there: far more than the resolution of the histogram, and still near the percentile.
const SLOPE_SPAN: f64 = 0.1;

/// How many standard deviations an interval at 95 % has on each side if these are known.
const NORMAL_QUANTILE: f64 = 1.96;

/// A percentile of the response time of committed transactions, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PercentileInterval {
    /// The percentile, such as 99.
    pub percentile: f64,
    /// Its value, as the document has it, nanoseconds.
    pub value_ns: u64,
    /// Lower end of the interval, nanoseconds.
    pub low_ns: u64,
    /// Upper end of the interval, nanoseconds.
    pub high_ns: u64,
    /// The factor by which the transactions' dependence on each other multiplies the variance; 1 or more.
    pub design_effect: f64,
}

/// The intervals of a run's percentiles over all kinds; empty if it has no histogram, lost connections, or has
/// less than 20 whole seconds. A percentile is absent if the run does not have it or its interval has no end.
pub fn percentile_intervals(run: &Run) -> Vec<PercentileInterval> {
    intervals(run).unwrap_or_default()
}

fn intervals(run: &Run) -> Option<Vec<PercentileInterval>> {
    let response = &all_kinds(run)?.response;
    let seconds = judged_rows(run)?;
    let distribution = Distribution::new(response)?;
    let intervals = PERCENTILES.iter().filter_map(|source| {
        let share = source.percentile / 100.0;
        let value_ns = (source.of_latency)(response)?;
        let effect = design_effect(&distribution, &seconds, share, source.of_second)?;
        let [low_ns, high_ns] = distribution.interval(share, effect.deviations())?;
        Some(PercentileInterval {
            percentile: source.percentile,
            value_ns,
            // The value is of the same histogram; rounding must not put it outside.
            low_ns: low_ns.min(value_ns),
            high_ns: high_ns.max(value_ns),
            design_effect: effect.factor,
        })
    });
    Some(intervals.collect())
}

/// The response or server times between which a percentile of one kind lies, nanoseconds. The dependence of the
/// transactions on each other is that of the response times of all kinds. `None` without a histogram or 20 whole seconds.
pub(crate) fn interval_of(run: &Run, times: &Latency, share: f64) -> Option<[u64; 2]> {
    let distribution = distribution_of(run, times)?;
    let by_rank =
        effect_of(run, share).and_then(|effect| distribution.interval(share, effect.deviations()));
    by_rank.or_else(|| moved_interval(run, &distribution, share))
}

/// The interval of independent transactions, with each end moved as far as the level of the seconds may be from that of
/// these seconds.
fn moved_interval(run: &Run, distribution: &Distribution, share: f64) -> Option<[u64; 2]> {
    let [least, most] = level_factors(run, share)?;
    let [low_ns, high_ns] = distribution.interval(share, NORMAL_QUANTILE)?;
    Some([scaled(low_ns, least), scaled(high_ns, most)])
}

/// By which factors the true level of the seconds may be below and above that of these seconds.
fn level_factors(run: &Run, share: f64) -> Option<[f64; 2]> {
    let seconds = judged_rows(run)?;
    let (_, of_second) = nearest_percentile(share);
    let logs = logs_of_percentile(&seconds, of_second).or_else(|| {
        let means = means_of(&seconds)?;
        Some(means.into_iter().map(f64::ln).collect())
    })?;
    let SeriesInterval { mean, low, high } = series_interval(&logs)?;
    Some([low, high].map(|end| (end - mean).exp()))
}

fn scaled(ns: u64, factor: f64) -> u64 {
    (ns as f64 * factor) as u64
}

/// The response or server time above which a percentile of one kind lies, nanoseconds, also if there are too few
/// transactions for the percentile itself, or too few seconds for an interval. `None` if not even the shortest time is.
pub(crate) fn lower_bound_of(run: &Run, times: &Latency, share: f64) -> Option<u64> {
    let distribution = distribution_of(run, times)?;
    let factor = match effect_of(run, share) {
        // An estimate from few seconds may be too low.
        Some(effect) => effect.factor * (effect.quantile() / NORMAL_QUANTILE).powi(2),
        None if judged_rows(run).is_some() => {
            let [least, _] = level_factors(run, share)?;
            return Some(scaled(distribution.lower_bound(share, 1.0)?, least));
        }
        // What slows a transaction may slow all of its second, and of its client's next ones: together they say as much as
        // one.
        None => {
            let per_second = times.samples as f64 / run.measured.length_s;
            per_second.max(f64::from(run.drive.clients)).max(1.0)
        }
    };
    distribution.lower_bound(share, factor)
}

/// The response or server times between which the mean of one kind lies, nanoseconds: the means of the seconds are known
/// only of all kinds, of which a rare one has more chance in its mean than they show. `None` without a histogram or 20 whole
/// seconds.
pub(crate) fn mean_interval_of(run: &Run, times: &Latency) -> Option<[f64; 2]> {
    let all = Distribution::new(&all_kinds(run)?.response)?;
    let means = means_of(&judged_rows(run)?)?;
    let deviation = distribution_of(run, times)?.mean_variance().sqrt();
    let around = |half: f64| [(times.mean_ns - half).max(0.0), times.mean_ns + half];
    if let Some(effect) = effect_of_series(&means, all.mean_variance()) {
        return Some(around(deviation * effect.deviations()));
    }
    let SeriesInterval { mean, low, high } = series_interval(&means)?;
    let [lowest, highest] = around(deviation * NORMAL_QUANTILE);
    Some([lowest * (low / mean).max(0.0), highest * high / mean])
}

fn distribution_of(run: &Run, times: &Latency) -> Option<Distribution> {
    if !times.histogram.is_empty() {
        return Distribution::new(times);
    }
    // If there is only one kind, its histograms are stored with the figures of all kinds, which are the same.
    let all = all_kinds(run)?;
    let figures = |of: &Latency| (of.samples, of.max_ns, of.p50_ns, of.p99_ns);
    let server = all.parts.as_ref().map(|parts| &parts.server);
    let mut candidates = std::iter::once(&all.response).chain(server);
    Distribution::new(candidates.find(|stored| figures(stored) == figures(times))?)
}

/// The design effect of the [nearest percentile](nearest_percentile) that the seconds have, over all kinds.
fn effect_of(run: &Run, share: f64) -> Option<DesignEffect> {
    let all = &all_kinds(run)?.response;
    let seconds = judged_rows(run)?;
    let (share, of_second) = nearest_percentile(share);
    design_effect(&Distribution::new(all)?, &seconds, share, of_second)
}

/// The lowest percentile that the seconds have and that is not below this one, otherwise the highest, as a share; and how to
/// read it.
fn nearest_percentile(share: f64) -> (f64, OfSecond) {
    let mut percentiles = PERCENTILES.iter();
    let nearest = percentiles.find(|source| share * 100.0 <= source.percentile);
    let source = nearest.unwrap_or(&PERCENTILES[2]);
    (source.percentile / 100.0, source.of_second)
}

/// How much more a percentile or a mean varies than that of independent transactions.
struct DesignEffect {
    factor: f64,
    /// Degrees of freedom of its estimate.
    dof: f64,
}

impl DesignEffect {
    /// How many standard deviations an interval has on each side.
    fn quantile(&self) -> f64 {
        student::quantile(1.0 - ALPHA / 2.0, self.dof)
    }

    /// How many standard deviations among independent transactions that is.
    fn deviations(&self) -> f64 {
        self.quantile() * self.factor.sqrt()
    }
}

fn design_effect(
    distribution: &Distribution,
    seconds: &[&Second],
    share: f64,
    of_second: OfSecond,
) -> Option<DesignEffect> {
    let (series, independent_variance) = match logs_of_percentile(seconds, of_second) {
        Some(logs) => (logs, distribution.log_percentile_variance(share)),
        None => (means_of(seconds)?, distribution.mean_variance()),
    };
    effect_of_series(&series, independent_variance)
}

/// How much more the mean of a series varies than if its transactions were independent.
fn effect_of_series(series: &[f64], independent_variance: f64) -> Option<DesignEffect> {
    let mean = series_mean(series)?;
    // The variance is 0 if all response times are the same.
    let ratio = (mean.variance / independent_variance).max(1.0);
    Some(DesignEffect {
        factor: if independent_variance > 0.0 { ratio } else { 1.0 },
        dof: mean.dof,
    })
}

/// The logarithms of the seconds' percentiles; `None` if too few seconds have enough transactions for it.
fn logs_of_percentile(seconds: &[&Second], of_second: OfSecond) -> Option<Vec<f64>> {
    let values = seconds.iter().filter_map(|second| of_second(second));
    let logs = values.filter(|ns| *ns > 0).map(|ns| (ns as f64).ln());
    known_in_most(seconds, logs.collect())
}

/// The seconds' means; `None` if too few seconds have transactions.
fn means_of(seconds: &[&Second]) -> Option<Vec<f64>> {
    let means = seconds.iter().map(|second| second.mean_ns);
    known_in_most(seconds, means.filter(|mean_ns| *mean_ns > 0.0).collect())
}

fn known_in_most(seconds: &[&Second], values: Vec<f64>) -> Option<Vec<f64>> {
    let needed = LATENCY_SECONDS_MIN_SHARE * seconds.len() as f64;
    let is_enough = values.len() as f64 >= needed && values.len() >= STEADY_MIN_SECONDS;
    is_enough.then_some(values)
}

/// The response times of a run.
struct Distribution {
    /// Distinct response times in nanoseconds, in order, each with the number of transactions up to it.
    cumulative: Vec<(u64, u64)>,
    count: f64,
    /// Variance of a single response time, square nanoseconds.
    variance: f64,
}

impl Distribution {
    /// `None` without a histogram that can be read, or with an empty one.
    fn new(latency: &Latency) -> Option<Distribution> {
        let times = RecordedTimes::decode(&latency.histogram).ok()?;
        let mut total = 0;
        let mut cumulative = Vec::new();
        for (value_ns, count) in times.counts() {
            total += count;
            cumulative.push((value_ns, total));
        }
        (total > 0).then(|| Distribution {
            cumulative,
            count: total as f64,
            variance: times.variance_ns2(),
        })
    }

    /// The response time of this rank, the shortest having rank 1; `None` outside the ranks.
    fn at_rank(&self, rank: f64) -> Option<u64> {
        if rank < 1.0 || rank > self.count {
            return None;
        }
        let index = self
            .cumulative
            .partition_point(|(_, up_to)| (*up_to as f64) < rank);
        self.cumulative.get(index).map(|(value_ns, _)| *value_ns)
    }

    /// Standard deviation of the rank of a percentile among independent transactions.
    fn rank_deviation(&self, share: f64) -> f64 {
        (self.count * share * (1.0 - share)).sqrt()
    }

    /// Variance of the logarithm of a percentile of independent transactions: that of its rank, times the square
    /// of the slope of the response time's logarithm over the ranks.
    fn log_percentile_variance(&self, share: f64) -> f64 {
        let deviation = self.rank_deviation(share);
        let rank = self.count * share;
        let span = deviation.max(SLOPE_SPAN * self.count * (1.0 - share));
        let log_at = |rank: f64| {
            let value_ns = self.at_rank(rank.clamp(1.0, self.count))?;
            Some((value_ns.max(1) as f64).ln())
        };
        let rise = log_at(rank + span).zip(log_at(rank - span));
        let slope = rise.map_or(0.0, |(high, low)| (high - low) / (2.0 * span));
        (slope * deviation).powi(2)
    }

    fn mean_variance(&self) -> f64 {
        self.variance / self.count
    }

    /// The response times between which the percentile lies, in nanoseconds; `deviations`: how many standard deviations of
    /// independent transactions to each side.
    fn interval(&self, share: f64, deviations: f64) -> Option<[u64; 2]> {
        let half = deviations * self.rank_deviation(share);
        let rank = self.count * share;
        let low_ns = self.at_rank((rank - half).floor())?;
        let high_ns = self.at_rank((rank + half).ceil() + 1.0)?;
        Some([low_ns, high_ns])
    }

    /// The response time above which the percentile lies, nanoseconds, if `factor` transactions count as one.
    fn lower_bound(&self, share: f64, factor: f64) -> Option<u64> {
        let independent = (self.count / factor).floor();
        let below = ranks_below(independent as usize, share, ALPHA / 2.0)?;
        let above = (independent - below as f64) / independent;
        self.at_rank((self.count * (1.0 - above)).floor() + 1.0)
    }
}

//! The curve of a sweep: throughput by the load, its knee, what limits it there, and what it costs.
//!
//! In: the runs of an experiment whose variants are the points of a sweep. Out: a [`Sweep`]: a curve for each
//! combination of the settings that are not its axis. Must never: take the best of several runs, count a run that must
//! not be used, or name a knee that chance explains.

pub use crate::limiter::{Limiter, LimiterFinding};

use crate::checks::ids_of;
use crate::experiment::{self, Spread, VariantFigures, is_counted};
use crate::limiter::{first_known, limiter};
use crate::machine::server_cpus;
use crate::observations::server_machine_mean;
use crate::price::Prices;
pub use crate::statistics::KneeState;
use crate::statistics::{ALPHA, CurvePoint, UslFit, find_knee, fit_usl, median, median_intervals};
use prony_plan::experiment::MACHINE_AXIS;
use prony_store::{Run, Setting, Severity};
use serde::Serialize;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Name of the axis if machines are ordered by their CPUs.
pub const CPUS_AXIS: &str = "cpus";

/// The curves of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sweep {
    /// The setting along the curves, such as `clients`; `cpus` for machines.
    pub axis: String,
    /// Whether the rate is NOPM; otherwise committed transactions per second.
    pub by_nopm: bool,
    /// The currency of the costs; absent without prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    pub curves: Vec<Curve>,
}

/// Points that differ in the setting of the axis only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The other settings of its points; empty if the sweep has one curve.
    pub settings: Vec<Setting>,
    /// The points, in the order of the axis; in the order of the plan if its values are no numbers.
    pub points: Vec<SweepPoint>,
    /// Index of the knee's point; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee: Option<usize>,
    /// What is known of the knee; absent if the values of the axis are no numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee_state: Option<KneeState>,
    /// What limits the throughput at the knee; absent without a knee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limiter: Option<LimiterFinding>,
    /// The universal scalability law, if the axis is a concurrency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usl: Option<UslFit>,
}

/// A point of a curve. Rates and times are medians of the runs that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SweepPoint {
    /// The name of the variant.
    pub name: String,
    /// Its value of the axis.
    pub value: String,
    /// The value as a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    pub runs: usize,
    /// Number of its runs that are complete and may be used.
    pub counted: usize,
    /// Ids of the checks by which its other runs must not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid_by: Vec<String>,
    /// Median of the rate; absent if no run counts.
    pub rate: Option<f64>,
    /// Interval of that median at 95 %; absent for fewer than two runs, and for two if no neighbour has several.
    pub rate_interval: Option<[f64; 2]>,
    /// Median response time of committed transactions, nanoseconds.
    pub p50_ns: Option<f64>,
    /// 99th percentile of it, nanoseconds.
    pub p99_ns: Option<f64>,
    /// Busy share of the CPUs of the server's machine, 0 to 1; absent if it was not observed.
    pub server_cpu_share: Option<f64>,
    /// CPUs of the server's machine, as observed or else as declared.
    pub cpus: Option<f64>,
    /// The rate for each of these CPUs.
    pub rate_per_cpu: Option<f64>,
    /// Cost per month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly_cost: Option<f64>,
    /// Transactions per second for one unit of money per month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tps_per_money: Option<f64>,
}

impl Sweep {
    /// The sweep of these runs; `None` if they are not the runs of one sweep.
    pub fn of(runs: &[impl Borrow<Run>]) -> Option<Sweep> {
        let runs: Vec<&Run> = runs.iter().map(Borrow::borrow).collect();
        let first = runs.first()?.point();
        let names = |point: &[Setting]| -> Vec<String> {
            point.iter().map(|setting| setting.name.clone()).collect()
        };
        let id = |run: &Run| Some(run.experiment.as_ref()?.id.clone());
        let is_same = |run: &&Run| names(run.point()) == names(first) && id(run) == id(runs[0]);
        if first.is_empty() || !runs.iter().all(is_same) {
            return None;
        }
        let by_nopm = experiment::all_have_nopm(&runs);
        let axis = choose_axis(first, &runs);
        let mut curves: Vec<(Vec<Setting>, Vec<PointRuns<'_>>)> = Vec::new();
        for name in experiment::variant_names(&runs) {
            let is_of_point = |run: &&Run| run.variant() == Some(&name);
            let own: Vec<&Run> = runs.iter().copied().filter(is_of_point).collect();
            let all = own.first()?.point();
            let is_other = |setting: &&Setting| !is_of_axis(setting, &axis);
            let settings: Vec<Setting> = all.iter().filter(is_other).cloned().collect();
            let on_axis = all.iter().find(|setting| is_of_axis(setting, &axis));
            let value = on_axis.map_or_else(String::new, |setting| setting.value.clone());
            let cpus = own.iter().find_map(|run| server_cpus(run));
            let figures = VariantFigures::of(&name, &own, by_nopm);
            let mut point = PointRuns::new(value, cpus, figures, own);
            if axis == CPUS_AXIS {
                point.point.x = point.point.cpus;
            }
            match curves.iter_mut().find(|(known, _)| *known == settings) {
                Some((_, points)) => points.push(point),
                None => curves.push((settings, vec![point])),
            }
        }
        let is_concurrency = [CPUS_AXIS, "clients"].contains(&axis.as_str())
            && runs.iter().all(|run| run.drive.rate_tps.is_none());
        let curves = curves
            .into_iter()
            .map(|(settings, points)| Curve::new(settings, points, is_concurrency));
        Some(Sweep {
            by_nopm,
            axis,
            currency: None,
            curves: curves.collect(),
        })
    }

    /// The curve over machines of these runs of several loads, by their CPUs: as observed or declared, otherwise those that
    /// `stated` gives. `None` if no run counts.
    pub(crate) fn over_machines(
        runs: &[&Run],
        stated: impl Fn(&Run) -> Option<u32>,
    ) -> Option<Sweep> {
        // For each number of CPUs, whether it is the stated one of any run, and the runs.
        let mut machines: BTreeMap<u32, (bool, Vec<&Run>)> = BTreeMap::new();
        for run in runs.iter().copied().filter(|run| is_counted(run)) {
            let known = server_cpus(run);
            let Some(cpus) = known.or_else(|| stated(run)) else {
                continue;
            };
            let (is_assumed, own) = machines.entry(cpus).or_default();
            *is_assumed |= known.is_none();
            own.push(run);
        }
        let points = machines.into_iter().map(|(cpus, (is_assumed, own))| {
            let value = format!(
                "{cpus} CPUs{}",
                if is_assumed { " (published)" } else { "" }
            );
            let figures = VariantFigures::of(&value, &own, false);
            let mut point = PointRuns::new(value, Some(cpus), figures, own);
            point.point.x = point.point.cpus;
            point
        });
        let points: Vec<PointRuns<'_>> = points.collect();
        (!points.is_empty()).then(|| Sweep {
            by_nopm: false,
            axis: CPUS_AXIS.to_owned(),
            currency: None,
            curves: vec![Curve::new(Vec::new(), points, false)],
        })
    }

    /// Adds the costs of the points that have a price.
    pub fn add_prices(&mut self, prices: &Prices) {
        self.currency = Some(prices.currency.clone());
        for point in self.curves.iter_mut().flat_map(|curve| &mut curve.points) {
            let mut priced = prices.points.iter();
            if let Some(priced) = priced.find(|priced| priced.variant == point.name) {
                point.monthly_cost = Some(priced.total_monthly_cost);
                point.tps_per_money = priced.tps_per_money;
            }
        }
    }

    /// Whether the values of the axis are numbers, so that its points are a curve; otherwise they are variants like others.
    pub fn has_numbers(&self) -> bool {
        self.points().all(|point| point.x.is_some())
    }

    pub fn points(&self) -> impl Iterator<Item = &SweepPoint> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }
}

/// Whether the values of this setting are along the axis; machines are ordered by their CPUs.
fn is_of_axis(setting: &Setting, axis: &str) -> bool {
    setting.name == axis || (axis == CPUS_AXIS && setting.name == MACHINE_AXIS)
}

/// The setting along the curves: the one with the most numbers as values, otherwise machines with different numbers of
/// CPUs, otherwise the last setting.
fn choose_axis(point: &[Setting], runs: &[&Run]) -> String {
    // How many different numbers a setting has as values; `None` unless all are numbers, and there are several.
    let distinct_numbers = |name: &str| -> Option<usize> {
        let settings = runs.iter().flat_map(|run| run.point());
        let own = settings.filter(|setting| setting.name == name);
        let numbers = own.map(|setting| setting.value.parse::<f64>().ok().map(f64::to_bits));
        let mut numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        Some(numbers.len()).filter(|count| *count > 1)
    };
    let candidates = point.iter().filter(|setting| setting.name != MACHINE_AXIS);
    let numeric =
        candidates.filter_map(|setting| Some((distinct_numbers(&setting.name)?, &setting.name)));
    if let Some((_, name)) = numeric.max_by_key(|(count, _)| *count) {
        return name.clone();
    }
    let has_machines = point.iter().any(|setting| setting.name == MACHINE_AXIS);
    if has_machines && runs.iter().all(|run| server_cpus(run).is_some()) {
        return CPUS_AXIS.to_owned();
    }
    point
        .last()
        .map_or_else(String::new, |setting| setting.name.clone())
}

impl SweepPoint {
    fn new(
        value: String,
        cpus: Option<u32>,
        figures: &VariantFigures,
        runs: &[&Run],
    ) -> SweepPoint {
        let counted = runs.iter().filter(|run| is_counted(run));
        let busy_shares: Vec<f64> = counted
            .filter_map(|run| server_machine_mean(run, |machine| machine.busy_share))
            .collect();
        let cpus = cpus.map(f64::from);
        let rate = figures.rate.map(|rate| rate.median);
        let middle = |spread: Option<Spread>| spread.map(|spread| spread.median);
        SweepPoint {
            name: figures.name.clone(),
            x: value.parse().ok(),
            value,
            runs: figures.runs,
            counted: figures.counted,
            invalid_by: invalid_by(runs),
            rate,
            rate_interval: None,
            p50_ns: middle(figures.p50_ns),
            p99_ns: middle(figures.p99_ns),
            server_cpu_share: (!busy_shares.is_empty()).then(|| median(&busy_shares)),
            cpus,
            rate_per_cpu: rate.zip(cpus).map(|(rate, cpus)| rate / cpus),
            monthly_cost: None,
            tps_per_money: None,
        }
    }
}

/// Ids of the checks by which some of the runs must not be used.
fn invalid_by(runs: &[&Run]) -> Vec<String> {
    let ids = ids_of(runs.iter().copied(), Severity::Invalid);
    ids.into_iter().map(str::to_owned).collect()
}

/// A point with its runs, and the rates of those that count.
struct PointRuns<'a> {
    point: SweepPoint,
    rates: Vec<f64>,
    runs: Vec<&'a Run>,
}

impl<'a> PointRuns<'a> {
    fn new(
        value: String,
        cpus: Option<u32>,
        figures: VariantFigures,
        runs: Vec<&'a Run>,
    ) -> PointRuns<'a> {
        PointRuns {
            point: SweepPoint::new(value, cpus, &figures, &runs),
            rates: figures.rates,
            runs,
        }
    }
}

impl Curve {
    /// Finds the knee and what limits the throughput there, if the values of the axis are numbers.
    fn new(settings: Vec<Setting>, mut points: Vec<PointRuns<'_>>, is_concurrency: bool) -> Curve {
        let is_numeric = points.iter().all(|own| own.point.x.is_some());
        if is_numeric {
            let x = |own: &PointRuns<'_>| own.point.x.unwrap_or(0.0);
            points.sort_by(|a, b| x(a).total_cmp(&x(b)));
        }
        let rates: Vec<&[f64]> = points.iter().map(|own| &*own.rates).collect();
        let intervals = median_intervals(&rates, ALPHA);
        for (own, interval) in points.iter_mut().zip(intervals) {
            own.point.rate_interval = interval;
        }
        let with_rate = points.iter().enumerate().filter(|_| is_numeric);
        let (indexes, curve): (Vec<usize>, Vec<CurvePoint>) = with_rate
            .filter_map(|(index, PointRuns { point, .. })| {
                let curve_point = CurvePoint {
                    x: point.x?,
                    y: point.rate.filter(|rate| *rate > 0.0)?,
                    interval: point.rate_interval,
                };
                Some((index, curve_point))
            })
            .unzip();
        let (state, knee) = find_knee(&curve);
        let knee = knee.map(|knee| indexes[knee]);
        let limiter = knee.and_then(|knee| {
            // At the knee itself a limit may be just below its threshold; after it the limit is the same, and clear.
            first_known(points[knee..].iter().map(|PointRuns { point, runs, .. }| {
                // Runs that the client limited do not count, and show the limit best.
                let shows = |run: &&Run| is_counted(run) || invalid_by(&[run]) == ["client-limit"];
                let own: Vec<&Run> = runs.iter().copied().filter(shows).collect();
                limiter(&point.value, &own)
            }))
        });
        Curve {
            settings,
            points: points.into_iter().map(|own| own.point).collect(),
            knee,
            knee_state: is_numeric.then_some(state),
            limiter,
            usl: (is_numeric && is_concurrency).then(|| fit_usl(&curve)),
        }
    }

    /// The rate of a point for a CPU, as a share of that of the first point.
    pub fn efficiency(&self, point: &SweepPoint) -> Option<f64> {
        let first = self
            .points
            .first()?
            .rate_per_cpu
            .filter(|rate| *rate > 0.0)?;
        Some(point.rate_per_cpu? / first)
    }
}

#[cfg(test)]
mod tests;

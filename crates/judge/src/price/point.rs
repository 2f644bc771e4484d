//! One configuration with its comparable runs.
//!
//! In: runs and a configuration. Out: ratios. Must never: take the best of several runs.

use super::{MeasuredConfiguration, PriceOptions, UnpricedRun};
use crate::checks::ids_of;
use crate::formatting::{count, thousands};
use crate::service::why_absent;
use crate::statistics::{ALPHA, median, order_statistic_interval};
use crate::{all_kinds, compare};
use prony_plan::sheet::{HOURS_PER_MONTH, PriceDate, PricedItem};
use prony_store::{
    DeclaredFact, Durability, HighAvailability, NOPM, ObservedTopic, Run, RunState, Severity,
};
use serde::Serialize;

/// Months of the three-year figure, over which one-time costs are spread too.
pub const THREE_YEARS_MONTHS: f64 = 36.0;

/// One configuration with its comparable runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PricePoint {
    pub configuration: String,
    /// The experiment's variant of its runs; empty if they belong to no experiment.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// The sheet's file.
    pub sheet: String,
    /// Whether the sheet is an example rather than the user's own.
    pub example: bool,
    /// The oldest date of its prices.
    pub as_of: String,
    /// Maximum age of the prices, days: a price of a month or year may date from its first day.
    pub age_days: i64,
    /// Regions in which it is bought.
    pub regions: Vec<String>,
    /// Terms for which its prices apply.
    pub terms: Vec<String>,
    pub sources: Vec<String>,
    pub entered_by: Vec<String>,
    /// Cost per month, without one-time costs.
    pub monthly_cost: f64,
    pub one_time_cost: f64,
    /// C of the formulas: the cost per month, with a 36th of the one-time costs.
    pub total_monthly_cost: f64,
    /// Ids of its runs.
    pub runs: Vec<String>,
    /// How many repeats of its variant the experiment planned; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_planned: Option<usize>,
    pub workload: String,
    /// P of the formulas: committed transactions per second within the latency limit, of the median run.
    pub tps: f64,
    /// The interval of the median rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tps_interval: Option<FigureRange>,
    /// The largest 95th percentile of the response time of committed transactions among the runs, nanoseconds.
    pub p95_ns: Option<u64>,
    /// The largest 99th percentile of the response time of committed transactions among the runs, nanoseconds.
    pub p99_ns: Option<u64>,
    /// Failed transactions of all runs.
    pub failed: u64,
    /// The largest 99th percentile of the response time of all transactions that ended, among the runs,
    /// nanoseconds; absent if none failed, or unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts_p99_ns: Option<u64>,
    /// The largest 99th percentile of the response time of failed transactions, among the runs with enough of
    /// them, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_p99_ns: Option<u64>,
    /// New orders per minute of the median run, if the workload counts them.
    pub nopm: Option<f64>,
    /// P / C; absent if it costs nothing.
    pub tps_per_money: Option<f64>,
    /// Interval of P / C; only P is uncertain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tps_per_money_interval: Option<FigureRange>,
    /// Money for a million committed transactions at full load all the time.
    pub per_million_flat_out: f64,
    /// Money for a million committed transactions if only the share `utilisation` of its throughput is
    /// used.
    pub per_million_at_utilisation: f64,
    /// Cost of three years for one NOPM.
    pub three_years_per_nopm: Option<f64>,
    /// Replicas included in the price.
    pub replicas_paid: u32,
    /// Replicas of the server that was measured, as declared or else as observed; absent if unknown.
    pub replicas_measured: Option<u32>,
    /// The durability of a commit, as the runs record it.
    pub durability: Option<String>,
    pub caveats: Vec<String>,
    /// Rank by throughput for the money: one more than the number of points whose interval lies above that of
    /// this point. Points whose intervals overlap may share a rank; a single run has no interval and counts as
    /// it is. Absent without a ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rank: Option<usize>,
    /// Whether no other point is both faster and at most as expensive; absent without a ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_frontier: Option<bool>,
    /// Cost per month at which its throughput for the money would equal that of the best point; absent for
    /// the best point itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub break_even: Option<f64>,
}

/// Interval or range of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FigureRange {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Whether it is the order-statistic interval of the median at 95 %; if false, there were too few runs for
    /// one, and it is the range from the lowest run to the highest.
    pub is_confidence_interval: bool,
}

/// The run with the reason why it has no price; `None` if it can be priced.
pub(super) fn why_unpriced(
    measured: &MeasuredConfiguration<'_>,
    today: PriceDate,
) -> Option<UnpricedRun> {
    let (run, configuration) = (measured.run, measured.configuration);
    let refused = |reason: String, advice: &str| {
        Some(UnpricedRun {
            configuration: configuration.name.clone(),
            run: run.id.clone(),
            why: reason,
            advice: advice.to_owned(),
        })
    };
    let invalid = compare::check_ids(&run.checks, Severity::Invalid);
    if invalid != compare::NO_CHECKS {
        let reason = format!("its figures must not be used: {invalid}");
        return refused(reason, "See prony show, and run it again.");
    }
    if run.state == RunState::Running {
        let reason = "it is still in progress".to_owned();
        return refused(reason, "Wait until it has ended.");
    }
    if all_kinds(run).is_none_or(|kind| kind.committed == 0 || run.measured.length_s <= 0.0) {
        let reason = "it has no committed transaction".to_owned();
        return refused(reason, "Run it again.");
    }
    let paid = configuration.replicas();
    if let Some(replicas) = measured_replicas(run)
        && replicas != paid
    {
        let reason = format!(
            "{} pays for {}, but the run had {replicas}: this is not the price of what was measured",
            configuration.name,
            count(paid.into(), "replica"),
        );
        let advice = "Set `replicas` of the sheet's items to the number they pay for, or measure with that many; those that \
                      cannot be seen over SQL are declared when it is measured (--declare replicas=N).";
        return refused(reason, advice);
    }
    // One day of tolerance: the sheet may have been written in a time zone to the east.
    let date = configuration.as_of()?;
    if date.first_epoch_day() > today.first_epoch_day() + 1 {
        let reason =
            format!("its prices are as of {date}, which is in the future (today is {today})");
        return refused(reason, "Enter the date since which the price is valid.");
    }
    None
}

/// Number of replicas that the measured server had: as declared, or else as observed; `None` if unknown.
fn measured_replicas(run: &Run) -> Option<u32> {
    let declared = &run.server.declared;
    // An empty list does not mean that there were no replicas: a service may replicate below SQL.
    let observed = || {
        let count = u32::try_from(run.state_before()?.replicas.len()).ok()?;
        (count > 0).then_some(count)
    };
    let has_none = declared.high_availability() == Some(HighAvailability::None);
    let replicas = declared.count(DeclaredFact::Replicas).or_else(observed);
    replicas.or(has_none.then_some(0))
}

/// The durability of a commit: why the service has no class, otherwise the observed class, otherwise the settings that
/// determine it; `None` if nothing of it is known.
fn describe_durability(run: &Run) -> Option<String> {
    if let Some(why) = why_absent(run, ObservedTopic::Durability) {
        return Some(why.to_owned());
    }
    let before = run.state_before();
    let observed = before.and_then(|state| state.durability.as_ref());
    let class = observed.map(Durability::description);
    class.or_else(|| compare::durability_settings(run))
}

/// Whether two runs belong to one point, whose figures are the medians of its runs.
pub(super) fn belong_to_one_point(
    a: &MeasuredConfiguration<'_>,
    b: &MeasuredConfiguration<'_>,
) -> bool {
    let is_same_configuration =
        a.sheet.file == b.sheet.file && a.configuration.name == b.configuration.name;
    let (workload_a, workload_b) = (&a.run.workload, &b.run.workload);
    let is_same_workload = workload_a.name == workload_b.name
        && workload_a.scale == workload_b.scale
        && workload_a.settings == workload_b.settings;
    let (drive_a, drive_b) = (&a.run.drive, &b.run.drive);
    let is_same_load = drive_a.clients == drive_b.clients
        && drive_a.rate_tps == drive_b.rate_tps
        && drive_a.protocol == drive_b.protocol
        && drive_a.connect_per_transaction == drive_b.connect_per_transaction;
    // Runs of an experiment belong together if they are of one variant.
    let [variant_a, variant_b] = [a, b].map(|measured| {
        let experiment = measured.run.experiment.as_ref()?;
        Some((&experiment.id, &experiment.variant))
    });
    is_same_configuration && is_same_workload && is_same_load && variant_a == variant_b
}

/// Committed transactions per second within the latency limit, if there was one.
pub(super) fn good_tps(run: &Run) -> f64 {
    all_kinds(run).map_or(0.0, |kind| {
        kind.committed.saturating_sub(kind.over_latency_limit) as f64 / run.measured.length_s
    })
}

fn nopm(run: &Run) -> Option<f64> {
    run.metric(NOPM).filter(|value| *value > 0.0)
}

/// The order-statistic interval of the median; the range of the runs if they are too few for one. `None` for a
/// single run.
fn range_of(values: &[f64]) -> Option<FigureRange> {
    if values.len() < 2 {
        return None;
    }
    let interval = order_statistic_interval(values, ALPHA);
    let [low, high] = interval.unwrap_or_else(|| {
        [
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(0.0, f64::max),
        ]
    });
    Some(FigureRange {
        low,
        high,
        is_confidence_interval: interval.is_some(),
    })
}

fn describe_workload(run: &Run) -> String {
    let workload = &run.workload;
    let settings = workload.settings.iter();
    let texts = settings.map(|setting| format!(", {setting}"));
    let pace = match run.drive.rate_tps {
        Some(rate) => format!(", at {rate} per second"),
        None => String::new(),
    };
    format!(
        "{}, scale {}, {}{pace}{}",
        workload.name,
        thousands(workload.scale.into()),
        count(run.drive.clients.into(), "client"),
        texts.collect::<String>(),
    )
}

/// How often the experiment planned to run each variant.
fn repeats_planned(run: &Run) -> Option<usize> {
    let experiment = run.experiment.as_ref()?;
    (experiment.runs as usize).checked_div(experiment.variants.len())
}

impl PricePoint {
    /// The configuration, with the variant if there is one: `small (simple)`.
    pub fn name(&self) -> String {
        if self.variant.is_empty() {
            self.configuration.clone()
        } else {
            format!("{} ({})", self.configuration, self.variant)
        }
    }

    /// Number of its runs, and the planned number if that is higher: `4 of 6`.
    pub fn runs_text(&self) -> String {
        let runs = self.runs.len();
        match self.repeats_planned {
            Some(planned) if planned > runs => format!("{runs} of {planned}"),
            _ => runs.to_string(),
        }
    }

    /// The point of a group of comparable runs. The group has at least one run, and each run has a price.
    pub(super) fn new(group: &[MeasuredConfiguration<'_>], options: &PriceOptions) -> PricePoint {
        let first = &group[0];
        let configuration = first.configuration;
        let runs: Vec<&Run> = group.iter().map(|measurement| measurement.run).collect();
        let rates: Vec<f64> = runs.iter().map(|run| good_tps(run)).collect();
        let tps_range = range_of(&rates);
        let tps = median(&rates);
        let orders: Option<Vec<f64>> = runs.iter().map(|run| nopm(run)).collect();
        let nopm = orders.map(|orders| median(&orders));
        let (monthly_cost, one_time_cost) =
            (configuration.monthly_cost(), configuration.one_time_cost());
        let total_monthly_cost = monthly_cost + one_time_cost / THREE_YEARS_MONTHS;
        let per_million =
            |used: f64| 1e6 * total_monthly_cost / (tps * 3600.0 * HOURS_PER_MONTH * used);
        let has_cost = total_monthly_cost > 0.0;
        let distinct_texts = |field: fn(&PricedItem) -> &str| {
            let texts = configuration.distinct(field).into_iter();
            texts.map(str::to_owned).collect::<Vec<_>>()
        };
        let as_of = configuration.as_of();
        let age = |date: PriceDate| options.today.first_epoch_day() - date.first_epoch_day();
        PricePoint {
            configuration: configuration.name.clone(),
            variant: (first.run.experiment.as_ref())
                .map_or_else(String::new, |experiment| experiment.variant.clone()),
            sheet: first.sheet.file.clone(),
            example: first.sheet.example,
            as_of: as_of.map_or_else(String::new, |date| date.to_string()),
            age_days: as_of.map_or(0, age).max(0),
            regions: distinct_texts(|item| &item.region),
            terms: distinct_texts(|item| &item.term),
            sources: distinct_texts(|item| &item.source),
            entered_by: distinct_texts(|item| &item.entered_by),
            monthly_cost,
            one_time_cost,
            total_monthly_cost,
            workload: describe_workload(first.run),
            tps,
            tps_interval: tps_range,
            p95_ns: largest(&runs, |latency| latency.p95_ns),
            p99_ns: largest(&runs, |latency| latency.p99_ns),
            failed: failed_counts(&runs).sum(),
            attempts_p99_ns: attempts_p99(&runs)
                .filter(|_| failed_counts(&runs).any(|count| count > 0)),
            failed_p99_ns: runs
                .iter()
                .filter_map(|run| all_kinds(run)?.failed_response.as_ref()?.p99_ns)
                .max(),
            nopm,
            tps_per_money: has_cost.then(|| tps / total_monthly_cost),
            tps_per_money_interval: tps_range.filter(|_| has_cost).map(|range| FigureRange {
                low: range.low / total_monthly_cost,
                high: range.high / total_monthly_cost,
                ..range
            }),
            per_million_flat_out: per_million(1.0),
            per_million_at_utilisation: per_million(options.utilisation),
            three_years_per_nopm: nopm.map(|nopm| THREE_YEARS_MONTHS * total_monthly_cost / nopm),
            replicas_paid: configuration.replicas(),
            replicas_measured: measured_replicas(first.run),
            durability: describe_durability(first.run),
            caveats: caveat_ids(&runs),
            runs: runs.iter().map(|run| run.id.clone()).collect(),
            repeats_planned: repeats_planned(first.run),
            rank: None,
            on_frontier: None,
            break_even: None,
        }
    }
}

/// The largest value of all runs; `None` if a run lacks the value.
fn largest(runs: &[&Run], field: fn(&prony_store::Latency) -> Option<u64>) -> Option<u64> {
    let values = runs.iter().map(|run| field(&all_kinds(run)?.response));
    values.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

fn failed_counts(runs: &[&Run]) -> impl Iterator<Item = u64> {
    runs.iter().filter_map(|run| Some(all_kinds(run)?.failed))
}

/// The largest 99th percentile of all transactions that ended; `None` if it is unknown for a run.
fn attempts_p99(runs: &[&Run]) -> Option<u64> {
    let runs = runs.iter();
    let values = runs.map(|run| compare::attempts_p99(all_kinds(run)?));
    values.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// Ids of the caveats of all runs. `partial-run` is among them even if a run has not been judged.
fn caveat_ids(runs: &[&Run]) -> Vec<String> {
    let mut ids = ids_of(runs.iter().copied(), Severity::Caveat);
    if runs.iter().any(|run| run.state != RunState::Complete) {
        ids.insert("partial-run");
    }
    ids.into_iter().map(str::to_owned).collect()
}

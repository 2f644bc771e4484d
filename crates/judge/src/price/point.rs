//! One configuration with like runs on it.
//!
//! In: runs and a configuration. Out: its ratios. Must never: take the best of several runs.

use super::{Offer, Refused, Terms};
use crate::statistics::median;
use crate::{all, compare};
use prony_plan::sheet::{AsOf, HOURS_A_MONTH, Item};
use prony_store::{Durability, Run, ServerState, Severity, State};
use serde::Serialize;

/// Months of the three-year figure, over which also is spread what is paid once.
const MONTHS: f64 = 36.0;
/// From so many runs on, the smallest and the largest enclose the median with a confidence of 95 %:
/// 1 - 2 x (1/2)^n.
const RUNS_FOR_INTERVAL: usize = 6;

/// One configuration with like runs on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The configuration.
    pub configuration: String,
    /// The variant of the experiment that its runs are of; empty where they are of none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// The sheet's file.
    pub sheet: String,
    /// The sheet is an example, and nobody's own.
    pub example: bool,
    /// The oldest date of its prices.
    pub as_of: String,
    /// So many days old at most: a price of a month or year may be of its first day.
    pub age_days: i64,
    /// Where it is bought.
    pub regions: Vec<String>,
    /// For how long its prices bind.
    pub terms: Vec<String>,
    /// Where its prices stand.
    pub sources: Vec<String>,
    /// Who wrote them down.
    pub entered_by: Vec<String>,
    /// What it costs a month, without what is paid once.
    pub a_month: f64,
    /// What is paid once.
    pub once: f64,
    /// C of the formulas: the cost a month, with a 36th of what is paid once.
    pub cost: f64,
    /// The runs.
    pub runs: Vec<String>,
    /// How many repeats of its variant the experiment meant; absent where nothing says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_meant: Option<usize>,
    /// What was run, in words.
    pub workload: String,
    /// P of the formulas: committed transactions a second inside the latency limit; the median run's.
    pub tps: f64,
    /// How far the runs differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tps_interval: Option<Interval>,
    /// The largest 95th percentile of the response time among the runs, nanoseconds.
    pub p95_ns: Option<u64>,
    /// The largest 99th.
    pub p99_ns: Option<u64>,
    /// New orders a minute, the median run's, where the workload counts them.
    pub nopm: Option<f64>,
    /// P / C; absent where it costs nothing.
    pub tps_per_money: Option<f64>,
    /// Its interval: the price is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tps_per_money_interval: Option<Interval>,
    /// Money for a million committed transactions if it is flat out all the time.
    pub per_million_flat_out: f64,
    /// The same if only a share of its throughput is used.
    pub per_million_at_utilisation: f64,
    /// Money of three years for one NOPM.
    pub three_years_per_nopm: Option<f64>,
    /// Replicas that its items pay for.
    pub replicas_paid: u32,
    /// Replicas that the runs saw; absent where they do not say.
    pub replicas_seen: Option<u32>,
    /// What a commit survives, as the runs say it.
    pub durability: Option<String>,
    /// Caveats of its runs.
    pub caveats: Vec<String>,
    /// No other is both cheaper (or as cheap) and faster; absent where there is no ranking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_frontier: Option<bool>,
    /// At this cost a month it would be worth as much as the best; absent for the best itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub break_even: Option<f64>,
}

/// Between what a figure lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// From.
    pub low: f64,
    /// To.
    pub high: f64,
    /// It encloses the median with a confidence of 95 %; else it is what the few runs gave.
    pub confident: bool,
}

/// Why a run has no price.
pub(super) fn unfit(offer: &Offer<'_>, today: AsOf) -> Option<Refused> {
    let (run, configuration) = (offer.run, offer.configuration);
    let refused = |why: String, advice: &str| {
        Some(Refused {
            configuration: configuration.name.clone(),
            run: run.id.clone(),
            why,
            advice: advice.to_owned(),
        })
    };
    let invalid = compare::ids(&run.checks, Severity::Invalid);
    if invalid != compare::NONE {
        let why = format!("its figures must not be used: {invalid}");
        return refused(why, "See prony show, and run it again.");
    }
    if run.state == State::Running {
        let why = "it is still going on".to_owned();
        return refused(why, "Wait for its end.");
    }
    if all(run).is_none_or(|kind| kind.committed == 0 || run.measured.seconds <= 0.0) {
        let why = "it has no committed transaction".to_owned();
        return refused(why, "Run it again.");
    }
    let (paid, seen) = (configuration.replicas(), replicas(run));
    if seen.is_some_and(|seen| seen != paid) {
        let why = format!(
            "{} pays for {}, and the run saw {}: this is not the price of what was measured",
            configuration.name,
            crate::words::count(paid.into(), "replica"),
            seen.unwrap_or_default(),
        );
        let advice =
            "Set `replicas` of the sheet's items to what they pay for, or measure with as many.";
        return refused(why, advice);
    }
    // A day of grace: the sheet may have been written to the east of here.
    let date = configuration.as_of()?;
    if date.first_day() > today.first_day() + 1 {
        let why = format!("its prices are as of {date}, which is still to come (today is {today})");
        return refused(why, "Write down since when the price is valid.");
    }
    None
}

/// How many replicas the run saw; `None` where it does not say.
fn replicas(run: &Run) -> Option<u32> {
    let before = before(run)?;
    // Without a word on replication nobody could look, and an empty list means nothing.
    before.replication.as_ref()?;
    u32::try_from(before.replicas.len()).ok()
}

/// What a commit survives, as the run says it: by its class, or by the settings that promise it.
fn durability(run: &Run) -> Option<String> {
    let seen = before(run).and_then(|state| state.durability.as_ref());
    let class = seen.map(Durability::words);
    class.or_else(|| compare::promises(run))
}

fn before(run: &Run) -> Option<&ServerState> {
    run.observed.as_ref()?.before.as_ref()
}

/// Whether two runs are of the same thing: their median is meant.
pub(super) fn alike(a: &Offer<'_>, b: &Offer<'_>) -> bool {
    let of = |offer: &Offer<'_>| {
        let (workload, drive) = (&offer.run.workload, &offer.run.drive);
        (
            (offer.sheet.file.clone(), offer.configuration.name.clone()),
            (
                workload.name.clone(),
                workload.scale,
                workload.settings.clone(),
            ),
            (drive.clients, drive.rate_tps.map(f64::to_bits)),
            (drive.protocol.clone(), drive.connect_per_transaction),
            // Those of an experiment are of one thing if they are of one variant.
            (offer.run.experiment.as_ref()).map(|of| (of.id.clone(), of.variant.clone())),
        )
    };
    of(a) == of(b)
}

/// Committed transactions a second that kept the latency limit, where there was one.
pub(super) fn good_tps(run: &Run) -> f64 {
    all(run).map_or(0.0, |kind| {
        kind.committed.saturating_sub(kind.late) as f64 / run.measured.seconds
    })
}

fn nopm(run: &Run) -> Option<f64> {
    let rate = run.rates.iter().find(|rate| rate.name == "NOPM")?;
    (rate.value > 0.0).then_some(rate.value)
}

fn interval(values: &[f64]) -> Option<Interval> {
    (values.len() > 1).then(|| Interval {
        low: values.iter().copied().fold(f64::INFINITY, f64::min),
        high: values.iter().copied().fold(0.0, f64::max),
        confident: values.len() >= RUNS_FOR_INTERVAL,
    })
}

fn in_words(run: &Run) -> String {
    let workload = &run.workload;
    let settings = workload.settings.iter().map(|one| format!(", {one}"));
    let pace = match run.drive.rate_tps {
        Some(rate) => format!(", at {rate} a second"),
        None => String::new(),
    };
    format!(
        "{}, scale {}, {}{pace}{}",
        workload.name,
        crate::words::thousands(workload.scale.into()),
        crate::words::count(run.drive.clients.into(), "client"),
        settings.collect::<String>(),
    )
}

/// How often its variant was to be run: each of them as often.
fn repeats_meant(run: &Run) -> Option<usize> {
    let of = run.experiment.as_ref()?;
    (of.runs as usize).checked_div(of.variants.len())
}

impl Point {
    /// The configuration, and the variant where there is one: `small (simple)`.
    pub fn name(&self) -> String {
        match self.variant.is_empty() {
            true => self.configuration.clone(),
            false => format!("{} ({})", self.configuration, self.variant),
        }
    }

    /// How many runs stand behind it, and how many there should be if that is more: `4 of 6`.
    pub fn runs_in_words(&self) -> String {
        let runs = self.runs.len();
        match self.repeats_meant {
            Some(meant) if meant > runs => format!("{runs} of {meant}"),
            _ => runs.to_string(),
        }
    }

    /// Of runs that are alike; there is at least one, and each is fit.
    pub(super) fn of(group: &[Offer<'_>], terms: &Terms) -> Point {
        let first = &group[0];
        let configuration = first.configuration;
        let runs: Vec<&Run> = group.iter().map(|offer| offer.run).collect();
        let rates: Vec<f64> = runs.iter().map(|run| good_tps(run)).collect();
        let between = interval(&rates);
        let tps = median(&rates);
        let orders: Option<Vec<f64>> = runs.iter().map(|run| nopm(run)).collect();
        let nopm = orders.map(|orders| median(&orders));
        let (a_month, once) = (configuration.a_month(), configuration.once());
        let cost = a_month + once / MONTHS;
        let per_million = |used: f64| 1e6 * cost / (tps * 3600.0 * HOURS_A_MONTH * used);
        let paid = cost > 0.0;
        let each = |of: fn(&Item) -> &str| {
            let texts = configuration.each(of).into_iter();
            texts.map(str::to_owned).collect::<Vec<_>>()
        };
        let as_of = configuration.as_of();
        let age = |date: AsOf| terms.today.first_day() - date.first_day();
        Point {
            configuration: configuration.name.clone(),
            variant: (first.run.experiment.as_ref())
                .map_or_else(String::new, |of| of.variant.clone()),
            sheet: first.sheet.file.clone(),
            example: first.sheet.example,
            as_of: as_of.map_or_else(String::new, |date| date.to_string()),
            age_days: as_of.map_or(0, age).max(0),
            regions: each(|item| &item.region),
            terms: each(|item| &item.term),
            sources: each(|item| &item.source),
            entered_by: each(|item| &item.entered_by),
            a_month,
            once,
            cost,
            workload: in_words(first.run),
            tps,
            tps_interval: between,
            p95_ns: largest(&runs, |latency| latency.p95_ns),
            p99_ns: largest(&runs, |latency| latency.p99_ns),
            nopm,
            tps_per_money: paid.then(|| tps / cost),
            tps_per_money_interval: between.filter(|_| paid).map(|of| Interval {
                low: of.low / cost,
                high: of.high / cost,
                ..of
            }),
            per_million_flat_out: per_million(1.0),
            per_million_at_utilisation: per_million(terms.utilisation),
            three_years_per_nopm: nopm.map(|nopm| MONTHS * cost / nopm),
            replicas_paid: configuration.replicas(),
            replicas_seen: replicas(first.run),
            durability: durability(first.run),
            caveats: caveats(&runs),
            runs: runs.iter().map(|run| run.id.clone()).collect(),
            repeats_meant: repeats_meant(first.run),
            on_frontier: None,
            break_even: None,
        }
    }
}

/// The largest among the runs; absent where one of them has none.
fn largest(runs: &[&Run], of: fn(&prony_store::Latency) -> Option<u64>) -> Option<u64> {
    let each = runs.iter().map(|run| of(&all(run)?.response));
    each.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// The caveats of all runs. That one ended early is among them also where nobody has judged it.
fn caveats(runs: &[&Run]) -> Vec<String> {
    let checks = runs.iter().flat_map(|run| &run.checks);
    let grave = checks.filter(|check| check.severity == Severity::Caveat);
    let mut ids: Vec<String> = grave.map(|check| check.id.clone()).collect();
    if runs.iter().any(|run| run.state != State::Complete) {
        ids.push("partial-run".to_owned());
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

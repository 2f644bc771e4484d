//! Prices with known answers, and runs without a price.

use super::*;
use crate::sample::{found, healthy, observed_mut, observed_run, set};
use prony_assertions::TextAssertions;

mod comparability;
mod repeats;

fn sheet(text: &str) -> PriceSheet {
    let head = "[sheet]\ncurrency = \"USD\"\nregion = \"r1\"\nterm = \"on demand\"\n\
                as_of = 2026-11-01\nsource = \"s\"\nentered_by = \"e\"\n";
    PriceSheet::from_toml("p.toml", &format!("{head}{text}")).unwrap()
}

fn configuration(name: &str, price: f64, more: &str) -> String {
    format!(
        "[[configuration]]\nname = \"{name}\"\n[[configuration.item]]\nname = \"i\"\nquantity = 1\n\
         unit_price = {price}\nper = \"month\"\n{more}\n"
    )
}

fn two_configurations() -> PriceSheet {
    sheet(&(configuration("a", 1000.0, "") + &configuration("b", 2000.0, "")))
}

fn options() -> PriceOptions {
    PriceOptions {
        today: PriceDate::parse("2026-11-21").unwrap(),
        utilisation: 0.3,
        across_regions: false,
        demand: None,
    }
}

fn run(id: &str, tps: f64) -> Run {
    let mut run = healthy();
    id.clone_into(&mut run.id);
    let all = &mut run.measured.kinds[0];
    all.committed = (tps * 60.0) as u64;
    all.tps = tps;
    all.response.p99_ns = Some(10_000_000);
    run
}

fn measurements<'a>(
    sheet: &'a PriceSheet,
    runs: &'a [(usize, Run)],
) -> Vec<MeasuredConfiguration<'a>> {
    let measurements = runs.iter().map(|(index, run)| MeasuredConfiguration {
        sheet,
        configuration: &sheet.configurations[*index],
        run,
    });
    measurements.collect()
}

fn priced(sheet: &PriceSheet, runs: &[(usize, Run)]) -> Prices {
    price(&measurements(sheet, runs), &options()).unwrap()
}

fn assert_near(a: f64, b: f64) {
    assert!((a / b - 1.0).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn ratios_match_a_hand_calculation() {
    let sheet = sheet(&configuration("a", 1000.0, ""));
    let mut orders = run("x", 10_000.0);
    orders.rates = vec![prony_store::IndustryMetric {
        name: prony_store::NOPM.to_owned(),
        value: 360_000.0,
        ..Default::default()
    }];
    let prices = priced(&sheet, &[(0, orders)]);
    let point = &prices.points[0];
    assert_near(point.tps_per_money.unwrap(), 10.0);
    // 10,000 x 3600 x 730 = 26,280 million a month.
    assert_near(point.per_million_flat_out, 1000.0 / 26_280.0);
    assert_near(point.per_million_at_utilisation, 1000.0 / 26_280.0 / 0.3);
    assert_near(point.three_years_per_nopm.unwrap(), 0.1);
    assert_eq!((point.age_days, prices.ranking), (20, None));
    let remarks = prices.remarks.iter();
    let ids: Vec<&str> = remarks.map(|remark| remark.id.as_str()).collect();
    assert_eq!(ids, ["durability-unknown", "replicas-unknown", "one-run"]);
}

#[test]
fn throughput_for_the_money_is_compared_with_the_published_one() {
    use prony_store::scenario::{PublishedFigure, Scenario};
    let mut reproduced = run("x", 4_500.0);
    reproduced.scenario = Some(Scenario {
        id: "aiven-450-aws-i3.4xlarge".to_owned(),
        source: "Aiven-2019".to_owned(),
        size_share: 0.001,
        published: vec![PublishedFigure {
            name: prony_store::PublishedMetric::TpsPerDollar,
            value: 9.0,
            high: Some(10.0),
            unit: "transactions/s for 1 USD a month".to_owned(),
        }],
        ..Scenario::default()
    });
    let remark = |sheet: &PriceSheet, run: &Run| {
        let prices = priced(sheet, &[(0, run.clone())]);
        let mut remarks = prices.remarks.into_iter();
        let remark = remarks.find(|remark| remark.id == "published-ratio");
        remark.map(|remark| remark.finding)
    };
    for (monthly, currency, expected) in [
        (
            1_000.0,
            "USD",
            "for aiven-450-aws-i3.4xlarge; here, with 0.10 % of its data, it is 50 % less.",
        ),
        (
            480.0,
            "USD",
            "published 9 to 10 transactions/s for 1 USD a month",
        ),
        (480.0, "USD", "it is as published."),
        (300.0, "USD", "it is 50 % more."),
        (300.0, "EUR", "not compared with prices in EUR."),
    ] {
        let mut sheet = sheet(&configuration("a", monthly, ""));
        for item in &mut sheet.configurations[0].items {
            item.currency = currency.to_owned();
        }
        let text = remark(&sheet, &reproduced).expect("a remark");
        text.assert_contains(expected);
        assert_eq!(remark(&sheet, &run("y", 4_500.0)), None);
    }
}

#[test]
fn one_time_costs_are_spread_over_three_years() {
    let sheet = sheet(&configuration("a", 36_000.0, "").replace("\"month\"", "\"once\""));
    let prices = priced(&sheet, &[(0, run("x", 10_000.0))]);
    let point = &prices.points[0];
    assert_eq!(
        (
            point.monthly_cost,
            point.one_time_cost,
            point.total_monthly_cost
        ),
        (0.0, 36_000.0, 1000.0)
    );
    let free = self::sheet(&configuration("a", 0.0, ""));
    let prices = priced(&free, &[(0, run("x", 10_000.0))]);
    assert_eq!(prices.points[0].tps_per_money, None, "nothing to divide by");
    assert!(serde_json::to_string(&prices).is_ok());
}

#[test]
fn transactions_beyond_the_latency_limit_do_not_count() {
    let sheet = two_configurations();
    let mut late = run("x", 10_000.0);
    late.measured.kinds[0].over_latency_limit = 300_000;
    let prices = priced(&sheet, &[(0, late)]);
    assert_near(prices.points[0].tps, 5_000.0);
}

#[test]
fn repeats_are_priced_by_their_median() {
    let sheet = two_configurations();
    let runs = [9.0, 12.0, 10.0].map(|tps| (0, run("x", tps * 1000.0)));
    let prices = priced(&sheet, &runs);
    let point = &prices.points[0];
    assert_near(point.tps, 10_000.0);
    let range = point.tps_per_money_interval.unwrap();
    assert_near(range.low, 9.0);
    assert_near(range.high, 12.0);
    assert!(!range.is_confidence_interval, "three runs");
    let runs: Vec<(usize, Run)> = (1..=6).map(|n| (0, run("x", f64::from(n)))).collect();
    let prices = priced(&sheet, &runs);
    assert!(
        prices.points[0]
            .tps_interval
            .unwrap()
            .is_confidence_interval
    );
    assert_near(prices.points[0].tps, 3.5);
    // From nine runs on, the interval leaves out the outermost runs.
    let runs: Vec<(usize, Run)> = (1..=9).map(|n| (0, run("x", f64::from(n)))).collect();
    let prices = priced(&sheet, &runs);
    let range = prices.points[0].tps_interval.unwrap();
    assert_eq!(
        (range.low, range.high, range.is_confidence_interval),
        (2.0, 8.0, true)
    );
}

#[test]
fn configurations_whose_intervals_overlap_are_not_ranked_apart() {
    let sheet = sheet(
        &["a", "b", "c"]
            .map(|name| configuration(name, 1000.0, ""))
            .concat(),
    );
    let ranks = |rates: [[f64; 3]; 3]| {
        let mut runs: Vec<(usize, Run)> = Vec::new();
        for (index, rates) in rates.into_iter().enumerate() {
            runs.extend(rates.map(|tps| (index, run("x", tps))));
        }
        let prices = priced(&sheet, &runs);
        let ranks = prices.points.iter().map(|point| point.rank.unwrap());
        let order = prices.ranking.unwrap().order;
        (ranks.collect::<Vec<_>>(), order)
    };
    let low = [90.0, 95.0, 99.0];
    let middle = [98.0, 100.0, 104.0];
    let high = [103.0, 105.0, 106.0];
    assert_eq!(ranks([low, middle, high]), (vec![2, 1, 1], vec![2, 1, 0]));
    let apart = [200.0, 201.0, 202.0];
    assert_eq!(ranks([low, middle, apart]), (vec![2, 2, 1], vec![2, 1, 0]));
    assert_eq!(ranks([low; 3]).0, [1, 1, 1]);
}

#[test]
fn frontier_and_break_even() {
    let text = [("a", 1000.0), ("b", 2000.0), ("c", 2500.0), ("d", 4000.0)]
        .map(|(name, price)| configuration(name, price, ""))
        .concat();
    let sheet = sheet(&text);
    let runs = [10_000.0, 24_000.0, 20_000.0, 30_000.0];
    let runs: Vec<(usize, Run)> = (0..).zip(runs.map(|tps| run("x", tps))).collect();
    let prices = priced(&sheet, &runs);
    let ranking = prices.ranking.unwrap();
    assert_eq!(ranking.obstacles, []);
    assert_eq!(ranking.order, [1, 0, 2, 3]);
    let ranks: Vec<_> = prices.points.iter().map(|point| point.rank).collect();
    assert_eq!(
        ranks,
        [2, 1, 3, 4].map(Some),
        "single runs count as they are"
    );
    assert_eq!(ranking.frontier, [0, 1, 3], "c is dearer and slower than b");
    let points = &prices.points;
    assert_eq!(points[1].break_even, None);
    assert_near(points[0].break_even.unwrap(), 2000.0 * 10.0 / 24.0);
    assert_near(points[3].break_even.unwrap(), 2500.0);
    assert_eq!(points[2].on_frontier, Some(false));
}

#[test]
fn incomparable_configurations_are_not_ranked() {
    let sheet = two_configurations();
    let mut larger = run("y", 20_000.0);
    larger.workload.scale += 1;
    let prices = priced(&sheet, &[(0, run("x", 1.0)), (1, larger)]);
    let ranking = prices.ranking.unwrap();
    assert_eq!(ranking.obstacles[0].what, "scale");
    assert_eq!((ranking.order.len(), ranking.frontier.len()), (0, 0));
    assert_eq!(prices.points[1].break_even, None);
    assert!(
        prices.points[1].tps_per_money.is_some(),
        "each has its own price"
    );
}

#[test]
fn regions_are_ranked_only_on_request() {
    let text = configuration("a", 1000.0, "") + &configuration("b", 2000.0, "region = \"r2\"");
    let sheet = sheet(&text);
    let runs = [(0, run("x", 10_000.0)), (1, run("y", 20_000.0))];
    let prices = priced(&sheet, &runs);
    assert_eq!(prices.ranking.unwrap().obstacles[0].what, "region");
    let across = PriceOptions {
        across_regions: true,
        ..options()
    };
    let prices = price(&measurements(&sheet, &runs), &across).unwrap();
    assert_eq!(prices.ranking.unwrap().obstacles, []);
}

#[test]
fn replicas_paid_for_must_match_those_observed() {
    let text = configuration("a", 1.0, "replicas = 1") + &configuration("b", 2.0, "");
    let sheet = sheet(&text);
    let mut observed = observed_run();
    let before = observed_mut(&mut observed).before.as_mut().unwrap();
    before.replication = Some(prony_store::Replication::Asynchronous);
    before.replicas = vec![prony_store::Replica::default()];
    let runs = [(0, observed.clone()), (1, observed)];
    let prices = priced(&sheet, &runs);
    assert_eq!(prices.points[0].replicas_measured, Some(1));
    assert!(prices.points[0].durability.is_some());
    assert_eq!(prices.unpriced_runs.len(), 1);
    let why = &prices.unpriced_runs[0].why;
    why.assert_contains("pays for 0 replicas, but the run had 1");
    // If the runs have no replica data, the replicas paid for still have to be equal.
    let runs = [(0, run("x", 1.0)), (1, run("y", 2.0))];
    let prices = priced(&sheet, &runs);
    assert_eq!(
        prices.ranking.unwrap().obstacles[0].what,
        "replicas paid for"
    );
}

#[test]
fn old_prices_are_marked_and_future_ones_refused() {
    let sheet = two_configurations();
    let runs = [(0, run("x", 1.0))];
    let prices_on = |today: &str| {
        let today = PriceDate::parse(today).unwrap();
        price(
            &measurements(&sheet, &runs),
            &PriceOptions { today, ..options() },
        )
        .unwrap()
    };
    let has_old_prices = |prices: &Prices| {
        let mut remarks = prices.remarks.iter();
        remarks.any(|remark| remark.id == "old-prices")
    };
    assert!(!has_old_prices(&prices_on("2027-01-30")), "90 days");
    assert!(has_old_prices(&prices_on("2027-01-31")), "91 days");
    assert!(
        prices_on("2026-10-31").unpriced_runs.is_empty(),
        "one day of tolerance for time zones"
    );
    let too_early = prices_on("2026-10-30");
    assert!(
        too_early.points.is_empty() && too_early.unpriced_runs[0].why.contains("in the future")
    );
}

#[test]
fn a_run_that_prices_two_configurations_is_reported() {
    let sheet = two_configurations();
    let runs = [(0, run("x", 1.0)), (1, run("x", 1.0))];
    let prices = priced(&sheet, &runs);
    assert!(prices.remarks.iter().any(|remark| remark.id == "same-run"));
    let runs = [(0, run("x", 1.0)), (1, run("y", 1.0))];
    let prices = priced(&sheet, &runs);
    assert!(!prices.remarks.iter().any(|remark| remark.id == "same-run"));
}

#[test]
fn invalid_runs_have_no_price() {
    let sheet = two_configurations();
    let mut invalid = run("x", 1.0);
    invalid.checks = vec![found("errors", Severity::Invalid)];
    let mut running = run("y", 1.0);
    running.state = prony_store::RunState::Running;
    let mut empty = run("z", 1.0);
    empty.measured = prony_store::Figures::default();
    let runs = [(0, invalid), (0, running), (0, empty)];
    let prices = priced(&sheet, &runs);
    assert_eq!((prices.points.len(), prices.unpriced_runs.len()), (0, 3));
    assert_eq!(price(&[], &options()), Err(PriceError::NoRuns));
}

#[test]
fn the_cheapest_configuration_that_sustains_a_load_is_found() {
    let text = [("a", 1000.0), ("b", 2000.0), ("c", 3000.0), ("d", 500.0)]
        .map(|(name, price)| configuration(name, price, ""))
        .concat();
    let sheet = sheet(&text);
    let mut at_rate = run("b", 19_950.0);
    at_rate.drive.open_loop = true;
    at_rate.drive.rate_tps = Some(20_000.0);
    let mut slow = run("d", 50_000.0);
    slow.measured.kinds[0].response.p99_ns = Some(30_000_000);
    let runs = [
        (0, run("a", 12_000.0)),
        (1, at_rate),
        (2, run("c", 40_000.0)),
        (3, slow),
    ];
    let demand = TargetLoad {
        tps: 20_000.0,
        p95_ns: None,
        p99_ns: Some(20_000_000),
    };
    let with_demand = PriceOptions {
        demand: Some(demand),
        ..options()
    };
    let prices = price(&measurements(&sheet, &runs), &with_demand).unwrap();
    let answer = prices.answer.unwrap();
    assert_eq!((answer.cheapest, answer.obstacles.len()), (Some(1), 0));
    let candidates = answer.candidates.iter();
    let order: Vec<usize> = candidates.map(|candidate| candidate.point).collect();
    assert_eq!(
        order,
        [1, 2, 3, 0],
        "those that sustain the load first, by cost"
    );
    let candidate = |index: usize| {
        let mut candidates = answer.candidates.iter();
        let found = candidates.find(|candidate| candidate.point == index);
        found.unwrap()
    };
    let why = &candidate(3).why;
    why.assert_contains("99th percentile was 30.0 ms");
    assert_eq!((candidate(3).count, candidate(3).cost), (None, None));
    assert_eq!(
        (candidate(0).count, candidate(0).cost),
        (Some(2), Some(2000.0))
    );
    // A run at a lower rate does not prove that the load is sustained.
    let mut at_lower_rate = run("b", 5_000.0);
    at_lower_rate.drive.rate_tps = Some(5_000.0);
    let prices = price(&measurements(&sheet, &[(1, at_lower_rate)]), &with_demand).unwrap();
    let candidate = &prices.answer.unwrap().candidates[0];
    assert_eq!((candidate.sustains, candidate.count), (false, None));
    candidate.why.assert_contains("limited to 5000");
    // A run without a percentile proves nothing about that percentile.
    let mut without_p99 = run("a", 40_000.0);
    without_p99.measured.kinds[0].response.p99_ns = None;
    let prices = price(&measurements(&sheet, &[(0, without_p99)]), &with_demand).unwrap();
    let answer = prices.answer.unwrap();
    assert_eq!(answer.cheapest, None);
    let candidate = &answer.candidates[0];
    assert_eq!(candidate.answer(), "unknown");
}

#[test]
fn the_cheapest_is_not_named_if_configurations_do_not_compare() {
    let sheet = two_configurations();
    let mut not_durable = run("y", 40_000.0);
    set(&mut not_durable, "fsync", "off");
    let with_demand = PriceOptions {
        demand: Some(TargetLoad {
            tps: 1.0,
            p95_ns: None,
            p99_ns: None,
        }),
        ..options()
    };
    let mut slower = not_durable.clone();
    slower.measured.kinds[0].committed = 30;
    let runs = [(0, run("x", 30_000.0)), (1, slower)];
    let answer = price(&measurements(&sheet, &runs), &with_demand)
        .unwrap()
        .answer
        .unwrap();
    assert_eq!(
        answer.cheapest,
        Some(0),
        "the other configuration does not sustain the load anyway"
    );
    let runs = [(0, run("x", 30_000.0)), (1, not_durable)];
    let answer = price(&measurements(&sheet, &runs), &with_demand)
        .unwrap()
        .answer
        .unwrap();
    assert_eq!(answer.cheapest, None);
    assert_eq!(answer.obstacles[0].what, "fsync");
}

/// A run of a variant of this experiment, which planned three runs of each variant.
fn repeat(experiment: &str, variant: &str, id: &str, tps: f64) -> Run {
    let mut run = run(id, tps);
    run.experiment = Some(prony_store::Experiment {
        id: experiment.to_owned(),
        variant: variant.to_owned(),
        runs: 6,
        variants: vec!["base".to_owned(), "new".to_owned()],
        ..Default::default()
    });
    run
}

#[test]
fn each_variant_is_a_point_priced_by_the_median_of_its_repeats() {
    let sheet = two_configurations();
    let figures = [
        ("base", 9_000.0),
        ("new", 11_000.0),
        ("new", 30_000.0),
        ("base", 12_000.0),
        ("base", 10_000.0),
    ];
    let runs: Vec<(usize, Run)> = (figures.iter().enumerate())
        .map(|(n, (variant, tps))| (0, repeat("e", variant, &n.to_string(), *tps)))
        .collect();
    let prices = priced(&sheet, &runs);
    let [base, new] = &prices.points[..] else {
        panic!("{:?}", prices.points)
    };
    assert_eq!(
        (base.name().as_str(), base.runs_text().as_str()),
        ("a (base)", "3")
    );
    assert_eq!(
        (new.name().as_str(), new.runs_text().as_str()),
        ("a (new)", "2 of 3")
    );
    assert_near(base.tps, 10_000.0);
    assert_near(new.tps, 20_500.0);
    let remark = |id: &str| prices.remarks.iter().find(|remark| remark.id == id);
    let finding = &remark("repeats-missing").unwrap().finding;
    finding.assert_contains("based on 2 of 3 repeats of its variant");
    assert_eq!(prices.ranking.as_ref().unwrap().frontier, [1]);
    // The same name in a different experiment is a different variant.
    let runs = [
        (0, repeat("e", "base", "1", 1.0)),
        (0, repeat("f", "base", "2", 1.0)),
    ];
    let prices = priced(&sheet, &runs);
    assert_eq!(prices.points.len(), 2);
}

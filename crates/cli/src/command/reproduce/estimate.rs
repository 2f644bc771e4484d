//! What a suite takes: time, data and money.
//!
//! Converts rows and a price sheet to plain values for `report`; connects to no server.

use super::super::load_size::ASSUMED_LOAD_BYTES_PER_S;
use super::commands::ScenarioSettings;
use crate::args::ReproduceArgs;
use crate::command::{price, server, stored};
use crate::exit::Failure;
use prony_judge::price::PriceSheet;
use prony_plan::scenario::{PublishedMetric, Scenario, Suite};
use prony_plan::sheet::{Configuration, HOURS_PER_MONTH};
use prony_plan::{Choice, WorkloadPlan};
use prony_report::suite::{RowEstimate, SheetUsed, SuiteEstimate};
use prony_report::units;
use prony_store::Run;
use std::collections::BTreeMap;

pub struct PlannedRow {
    pub scenario: &'static Scenario,
    pub runs: u32,
    /// Number of runs that load the data.
    pub loads: u32,
}

/// What these rows of a suite take; `done` have run already.
pub fn estimate(
    args: &ReproduceArgs,
    suite: &Suite,
    rows: &[PlannedRow],
    done: usize,
    runs: &[Run],
) -> Result<SuiteEstimate, Failure> {
    let measured_bytes_per_s = measured_load_speed(runs);
    let sheet = price_sheet(args)?;
    let mut one_time_costs = false;
    let mut peak_by_tables: BTreeMap<&str, u64> = BTreeMap::new();
    let mut estimates = Vec::new();
    for row in rows {
        let data_bytes = data_bytes(args, row.scenario);
        if let (Some(bytes), Ok(workload)) = (
            data_bytes,
            server::find_workload(row.scenario.data_workload()),
        ) {
            let peak = peak_by_tables.entry(workload.dataset()).or_insert(0);
            *peak = bytes.max(*peak);
        }
        let load_s = match row.loads {
            0 => Some(0.0),
            loads => load_seconds(args, row.scenario, data_bytes, measured_bytes_per_s)
                .map(|seconds| f64::from(loads) * seconds),
        };
        let run_s = f64::from(row.runs) * run_seconds(args, row.scenario);
        let configuration = match &sheet {
            Some(sheet) => configuration(args, sheet, row.scenario)?,
            None => None,
        };
        one_time_costs |= configuration.is_some_and(|found| found.one_time_cost() > 0.0);
        let cost = configuration.zip(load_s).map(|(configuration, load_s)| {
            configuration.monthly_cost() * (load_s + run_s) / 3_600.0 / HOURS_PER_MONTH
        });
        estimates.push(RowEstimate {
            id: row.scenario.id.clone(),
            data_bytes,
            load_s,
            run_s,
            cost,
        });
    }
    let peaks = peak_by_tables.into_values();
    let peak_bytes =
        if args.cleanup { peaks.max() } else { peaks.reduce(|sum, bytes| sum + bytes) };
    Ok(SuiteEstimate {
        id: suite.id.clone(),
        title: format!("{}, by {}", suite.title, suite.source.name()),
        repeats: rows.iter().map(|row| row.runs).max().unwrap_or(1),
        rows: estimates,
        done,
        peak_bytes,
        load_source: match measured_bytes_per_s {
            Some(speed) => format!(
                "Loads are expected to write {} of tables a second, as those of this suite so far.",
                units::bytes(speed as u64)
            ),
            None => format!(
                "Loads are expected to take as long as published; where the document does not say, they are assumed to \
                 write {} of tables a second, as in AlloyDB's guide.",
                units::bytes(ASSUMED_LOAD_BYTES_PER_S as u64)
            ),
        },
        prices: sheet.map(|sheet| SheetUsed {
            currency: sheet.currency().to_owned(),
            remarks: sheet_remarks(&sheet, one_time_costs),
            file: sheet.file,
        }),
    })
}

fn sheet_remarks(sheet: &PriceSheet, one_time_costs: bool) -> Vec<String> {
    let example = "The sheet is an example that comes with Prony: its prices are out of date.";
    let one_time = "One-time costs of the sheet are left out.";
    [(example, sheet.example), (one_time, one_time_costs)]
        .into_iter()
        .filter(|(_, applies)| *applies)
        .map(|(remark, _)| remark.to_owned())
        .collect()
}

/// The given sheet, or the default one if it exists.
fn price_sheet(args: &ReproduceArgs) -> Result<Option<PriceSheet>, Failure> {
    let file = match &args.suite.sheet {
        Some(file) => Some(file.clone()),
        None => price::default_sheet(&stored::open_store()?),
    };
    file.map(|file| price::load_sheet(&file)).transpose()
}

/// The configuration on which a row runs; `None` if the sheet has none for it.
fn configuration<'a>(
    args: &ReproduceArgs,
    sheet: &'a PriceSheet,
    scenario: &Scenario,
) -> Result<Option<&'a Configuration>, Failure> {
    let configurations = &sheet.configurations;
    if let Some(name) = &args.suite.configuration {
        let mut named = configurations.iter().filter(|one| one.name == *name);
        return named.next().map(Some).ok_or_else(|| {
            let names: Vec<&str> = configurations.iter().map(|one| one.name.as_str()).collect();
            let message = format!("no configuration of the sheet is named {name}");
            Failure::usage(message, format!("there are: {}", names.join(", ")))
        });
    }
    if let [only] = configurations.as_slice() {
        return Ok(Some(only));
    }
    // The rows of a comparison of machines end in the machine's name.
    let is_of_row = |one: &&Configuration| {
        let before = scenario.id.strip_suffix(one.name.as_str());
        before.is_some_and(|before| before.is_empty() || before.ends_with('-'))
    };
    Ok(configurations.iter().find(is_of_row))
}

/// Size of a row's data, bytes; `None` if it is chosen when the row starts, or unknown.
fn data_bytes(args: &ReproduceArgs, scenario: &Scenario) -> Option<u64> {
    if args.cached.cached.is_some() {
        return None;
    }
    let size = match args.scale {
        Some(scale) => scenario.size_at_scale(scale),
        None => scenario.size(args.shrink.unwrap_or(1.0)),
    };
    let mut plan = WorkloadPlan {
        name: scenario.data_workload().to_owned(),
        scale: None,
        options: Default::default(),
    };
    if scenario.script.is_none() {
        plan.options.clone_from(&scenario.options);
    }
    if let Some(rows) = size.table_size.and_then(|rows| i64::try_from(rows).ok()) {
        plan.options.insert("table_size".to_owned(), rows.into());
    }
    let workload = server::find_workload(&plan.name).ok()?;
    let bytes = workload.bytes_per_scale(scenario.dialect, &plan)?;
    Some(bytes.saturating_mul(size.scale))
}

/// How fast the loads of these runs were, bytes of the loaded tables a second.
fn measured_load_speed(runs: &[Run]) -> Option<f64> {
    let loads = runs
        .iter()
        .filter_map(|run| run.scenario.as_ref()?.load.as_ref());
    let loads: Vec<(f64, f64)> = loads
        .filter_map(|load| Some((load.bytes? as f64, load.seconds)))
        .collect();
    let seconds: f64 = loads.iter().map(|(_, seconds)| seconds).sum();
    (seconds > 0.0).then(|| loads.iter().map(|(bytes, _)| bytes).sum::<f64>() / seconds)
}

/// The least that a load takes, whatever its data, seconds: it creates tables and keys, and analyzes them.
const LOAD_MIN_S: f64 = 1.0;

/// Seconds of a load: at the measured speed, else as published, else at the assumed speed; `None` if the size is
/// unknown.
fn load_seconds(
    args: &ReproduceArgs,
    scenario: &Scenario,
    data_bytes: Option<u64>,
    measured_bytes_per_s: Option<f64>,
) -> Option<f64> {
    let bytes = data_bytes? as f64;
    let mut figures = scenario.figures.iter();
    let published = figures.find(|figure| figure.name == PublishedMetric::LoadTime);
    let seconds = match (measured_bytes_per_s, published) {
        (Some(speed), _) => bytes / speed,
        (None, Some(published)) => published.value * args.shrink.unwrap_or(1.0),
        (None, None) => bytes / ASSUMED_LOAD_BYTES_PER_S,
    };
    Some(seconds.max(LOAD_MIN_S))
}

/// Seconds of warm-up and window of one run.
fn run_seconds(args: &ReproduceArgs, scenario: &Scenario) -> f64 {
    let mut settings = ScenarioSettings::published(scenario);
    if let Some(duration) = args.duration {
        settings = settings.with_duration(duration);
    }
    if let Some(warmup) = &args.flags.input.warmup {
        settings.warmup = warmup.value;
    }
    (settings.warmup + settings.duration).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, parse};
    use prony_plan::scenario::{find_scenario, find_suite};
    use std::ffi::OsString;

    fn args_of(line: &str) -> Box<ReproduceArgs> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        match parse(&words) {
            Ok(Command::Reproduce(args)) => args,
            _ => panic!("{line}"),
        }
    }

    #[test]
    fn a_row_takes_its_load_and_its_window_and_costs_its_machine() {
        let sheet = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../plans/prices/aiven-2019.toml"
        );
        let args = args_of(&format!("prony reproduce aiven-900 --sheet {sheet}"));
        let suite = find_suite("aiven-900").expect("listed");
        let row = |id: &str| PlannedRow {
            scenario: find_scenario(id).expect("listed"),
            runs: 2,
            loads: 1,
        };
        let rows = [row("aiven-900-gcp-32x192"), row("aiven-900-aws-i3.metal")];
        let found = estimate(&args, suite, &rows, 0, &[]).unwrap_or_else(|_| panic!("an estimate"));
        let first = &found.rows[0];
        assert_eq!(first.run_s, 7_200.0);
        let bytes = first.data_bytes.expect("known") as f64;
        assert!((700e9..900e9).contains(&bytes), "{bytes}");
        let load_s = first.load_s.expect("known");
        assert!((load_s - bytes / 40e6).abs() < 1.0, "{load_s}");
        // 1,400 dollars a month.
        let expected = 1_400.0 * (load_s + 7_200.0) / 3_600.0 / 730.0;
        assert!((first.cost.expect("priced") - expected).abs() < 1e-6);
        assert_eq!(found.rows[1].cost, None);
        assert_eq!(found.peak_bytes, first.data_bytes);
    }

    #[test]
    fn a_load_takes_as_long_as_measured_else_as_published() {
        let args = args_of("prony reproduce alloydb-16 --shrink 1/10");
        let scenario = find_scenario("tpcb-cached").expect("listed");
        let seconds = |speed| load_seconds(&args, scenario, Some(1_000), speed);
        assert!((seconds(None).expect("published") - 148.2).abs() < 1e-9);
        assert_eq!(seconds(Some(10.0)), Some(100.0));
        assert_eq!(seconds(Some(1e9)), Some(LOAD_MIN_S));
    }

    #[test]
    fn a_smaller_suite_takes_less_and_a_chosen_size_is_unknown() {
        let scenario = find_scenario("mysql80-rw-4c16g-disk").expect("listed");
        let published = data_bytes(&args_of("prony reproduce apsaradb-mysql"), scenario);
        assert_eq!(published, Some(128 * 800_000 * 250));
        let smaller = args_of("prony reproduce apsaradb-mysql --shrink 1/1000 --duration 2s");
        let bytes = data_bytes(&smaller, scenario).expect("known");
        assert!(bytes < 128 * 800_000 / 4 + 1_000, "{bytes}");
        assert_eq!(run_seconds(&smaller, scenario), 2.0);
        let chosen = args_of("prony reproduce apsaradb-sqlserver --cached 30%");
        assert_eq!(data_bytes(&chosen, scenario), None);
    }
}

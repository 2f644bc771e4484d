//! `prony price`.
//!
//! Computes the cost of throughput from price sheets and stored runs. A sheet is required: Prony knows no prices. The
//! argument `CONFIGURATION=RUN` or the sheet says on which configuration a run was measured. If no sheet names any runs
//! and there is only one configuration, all runs were measured on it. Nothing else is assumed.

mod assignments;

use super::compare::{LoadedSide, NameScope, comma_separated, load_sides};
use super::{file, output, plan};
use crate::args::PriceArgs;
use crate::exit::{Exit, Failure};
use assignments::{RunAssignment, resolve_assignments};
use prony_judge::price::{
    Configuration, MeasuredConfiguration, PriceDate, PriceOptions, PriceSheet, TargetLoad,
};
use prony_plan::suggest::suggestion;
use prony_report::html::SheetText;
use prony_report::price;
use prony_report::text::plain;
use prony_store::{Check, Run, RunStore, Severity, StoreError};
use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file name of the default sheet, in the folder of the store.
const DEFAULT_SHEET: &str = "prices.toml";

/// Where a configuration stands: the index of its sheet, and its own index in that sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ConfigurationPosition {
    pub sheet: usize,
    pub configuration: usize,
}

/// A loaded run, and the configuration on which it was measured.
pub(super) struct PricedRun {
    pub position: ConfigurationPosition,
    pub run: Run,
}

pub fn price(args: &PriceArgs) -> Result<Exit, Failure> {
    let store = super::stored::open_store()?;
    let sheets = load_sheets(args, &store)?;
    let (mut priced_runs, notes) = if args.runs.is_empty() {
        runs_named_by_sheets(&sheets, &store)?
    } else {
        assign_runs(&args.runs, &sheets, &store)?
    };
    for priced in &mut priced_runs {
        prony_judge::judge_if_unjudged(&mut priced.run);
    }
    let measured: Vec<MeasuredConfiguration<'_>> = priced_runs
        .iter()
        .map(|priced| {
            let sheet = &sheets[priced.position.sheet];
            MeasuredConfiguration {
                sheet,
                configuration: &sheet.configurations[priced.position.configuration],
                run: &priced.run,
            }
        })
        .collect();
    let mut prices = prony_judge::price::price(&measured, &price_options(args)?)
        .map_err(|error| Failure::usage(error.to_string(), error.hint()))?;
    // Notes come after more severe remarks.
    prices.remarks.extend(notes);
    output::show_or_json(args.json, &prices, |out, style| {
        price::write(out, style, &prices)
    })?;
    Ok(Exit::invalid_if(price::is_incomplete(&prices)))
}

/// Today, by this machine's clock.
pub fn today() -> Result<PriceDate, Failure> {
    let today = jiff::Zoned::now().date();
    PriceDate::parse(&today.to_string()).ok_or_else(|| {
        let hint = "set the clock: the age of prices depends on it";
        let message = "this machine's clock shows an impossible date";
        Failure::new(Exit::Unexpected, message, hint)
    })
}

fn price_options(args: &PriceArgs) -> Result<PriceOptions, Failure> {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Ok(PriceOptions {
        today: today()?,
        utilisation: args.utilisation,
        across_regions: args.across_regions,
        demand: args.rate.map(|tps| TargetLoad {
            tps,
            p95_ns: args.p95.map(ns),
            p99_ns: args.p99.map(ns),
        }),
    })
}

fn load_sheets(args: &PriceArgs, store: &RunStore) -> Result<Vec<PriceSheet>, Failure> {
    if !args.sheet.is_empty() {
        return args.sheet.iter().map(|file| load_sheet(file)).collect();
    }
    let sheet = default_sheet(store).ok_or_else(|| {
        let hint = format!(
            "give --sheet FILE, or write {}; Prony knows no prices, and prony price --help shows a sheet",
            store.folder().join(DEFAULT_SHEET).display()
        );
        Failure::usage("no price sheet is given", hint)
    })?;
    Ok(vec![load_sheet(&sheet)?])
}

/// The sheet in the folder of the store, if there is one.
pub(super) fn default_sheet(store: &RunStore) -> Option<PathBuf> {
    let sheet = store.folder().join(DEFAULT_SHEET);
    sheet.is_file().then_some(sheet)
}

pub(super) fn load_sheet(file: &Path) -> Result<PriceSheet, Failure> {
    parse_sheet(&read_sheet(file)?)
}

pub fn read_sheet(path: &Path) -> Result<SheetText, Failure> {
    let name = path.display().to_string();
    let form = "a price sheet is a TOML file, as prony price --help shows it";
    let text = file::read_text(path, "price sheet", "check the path", form)?;
    Ok(SheetText { file: name, text })
}

pub fn parse_sheet(sheet: &SheetText) -> Result<PriceSheet, Failure> {
    let SheetText { file, text } = sheet;
    PriceSheet::from_toml(file, text).map_err(|problems| plan::failure(file, problems))
}

/// All configurations, each with its position.
fn configurations(
    sheets: &[PriceSheet],
) -> impl Iterator<Item = (ConfigurationPosition, &Configuration)> {
    sheets.iter().enumerate().flat_map(|(sheet_index, sheet)| {
        let configurations = sheet.configurations.iter().enumerate();
        configurations.map(move |(index, configuration)| {
            let position = ConfigurationPosition {
                sheet: sheet_index,
                configuration: index,
            };
            (position, configuration)
        })
    })
}

/// The runs of configurations, and notes on how they were selected.
pub(super) type PricedRunsWithNotes = (Vec<PricedRun>, Vec<Check>);

fn runs_named_by_sheets(
    sheets: &[PriceSheet],
    store: &RunStore,
) -> Result<PricedRunsWithNotes, Failure> {
    let mut assignments = Vec::new();
    for (position, configuration) in configurations(sheets) {
        for run in &configuration.runs {
            assign_named_runs(&mut assignments, run, position, store)?;
        }
    }
    Ok(resolve_assignments(assignments))
}

/// Adds the runs that a name selects to the assignments of the configuration at `position`.
fn assign_named_runs(
    assignments: &mut Vec<RunAssignment>,
    name: &str,
    position: ConfigurationPosition,
    store: &RunStore,
) -> Result<(), Failure> {
    let sides = load_sides(store, name, NameScope::Variant, RunStore::load)?.into_iter();
    assignments.extend(sides.map(|side| RunAssignment {
        position,
        named_run_id: side.named_run_id,
        runs: side.runs,
    }));
    Ok(())
}

/// Loads the named runs, and finds the configurations on which they were measured.
pub(super) fn assign_runs(
    arguments: &[String],
    sheets: &[PriceSheet],
    store: &RunStore,
) -> Result<PricedRunsWithNotes, Failure> {
    let scope = match arguments.len() {
        1 => NameScope::Experiment,
        _ => NameScope::Variant,
    };
    // Searched for only if an argument does not name its configuration.
    let mut runs_in_sheets: Option<Vec<SheetRun>> = None;
    let (mut assignments, mut unpriced_notes) = (Vec::new(), Vec::new());
    for argument in arguments {
        if let Some((position, name)) = parse_configuration_and_run(argument, sheets) {
            assign_named_runs(&mut assignments, name, position, store)?;
            continue;
        }
        let sides = load_sides(store, argument, scope, RunStore::load);
        let sides = sides.map_err(|failure| match argument.split_once('=') {
            Some((name, _)) if is_not_found(argument, store) => {
                unknown_configuration_failure(name, sheets)
            }
            _ => failure,
        })?;
        let runs_in_sheets = match &mut runs_in_sheets {
            Some(found) => found,
            none => none.insert(find_runs_in_sheets(sheets, store)?),
        };
        let unpriced = assign_sides(&mut assignments, argument, sides, sheets, runs_in_sheets)?;
        unpriced_notes.extend(unpriced);
    }
    let (priced_runs, mut notes) = resolve_assignments(assignments);
    notes.extend(unpriced_notes);
    Ok((priced_runs, notes))
}

/// Whether the argument, or the first one of its list, is no run, as if the text before its `=` were meant to be a
/// configuration.
fn is_not_found(argument: &str, store: &RunStore) -> bool {
    let first = split_names(argument).first().map(|name| store.load(name));
    matches!(first, Some(Err(StoreError::NotFound { .. })))
}

/// The configuration and the run of an argument `CONFIGURATION=RUN`. The name of a file may contain `=`, so the text
/// before it must be the name of a configuration.
fn parse_configuration_and_run<'a>(
    argument: &'a str,
    sheets: &[PriceSheet],
) -> Option<(ConfigurationPosition, &'a str)> {
    let (name, run) = argument.split_once('=')?;
    let mut configurations = configurations(sheets);
    let (position, _) = configurations.find(|(_, configuration)| configuration.name == name)?;
    Some((position, run))
}

/// Adds the sides that an argument selects to the assignments, each at the configuration on which the sheets say that it
/// was measured. Returns notes on the variants that no sheet names.
///
/// # Errors
/// The sheets name none of the sides.
fn assign_sides(
    assignments: &mut Vec<RunAssignment>,
    argument: &str,
    sides: Vec<LoadedSide>,
    sheets: &[PriceSheet],
    runs_in_sheets: &[SheetRun],
) -> Result<Vec<Check>, Failure> {
    // Do not match ids as names: the id of an experiment is also that of its first run, and in a sheet it
    // names only the variant of that run.
    let runs = sides.iter().flat_map(|side| &side.runs);
    let ids: Vec<String> = runs.map(|run| run.id.clone()).collect();
    let mut names = split_names(argument);
    names.retain(|name| !ids.iter().any(|id| id == name));
    let (mut side_assignments, mut notes, mut last_failure) = (Vec::new(), Vec::new(), None);
    for side in sides {
        let variant = side.variant.clone();
        match assign_side(&names, side, sheets, runs_in_sheets) {
            Ok(assignment) => side_assignments.push(assignment),
            Err(failure) => {
                notes.push(unpriced_variant_note(&variant, sheets));
                last_failure = Some(failure);
            }
        }
    }
    match last_failure {
        Some(failure) if side_assignments.is_empty() => Err(failure),
        // If the sheets name some variants of an experiment, the others are only reported.
        _ => {
            assignments.extend(side_assignments);
            Ok(notes)
        }
    }
}

/// The note on a variant of an experiment none of whose runs is named in a sheet.
fn unpriced_variant_note(variant: &str, sheets: &[PriceSheet]) -> Check {
    let variant = plain(variant);
    Check {
        id: "variant-unpriced".to_owned(),
        severity: Severity::Note,
        kind: None,
        finding: format!(
            "no sheet says on which configuration the variant {variant} was measured; it is left out"
        ),
        advice: format!(
            "give CONFIGURATION=ID with the id of one of its runs and one of: {}",
            configuration_names(sheets).join(", ")
        ),
    }
}

struct SheetRun {
    position: ConfigurationPosition,
    /// Id of the run; if the store does not have it, its name in the sheet, such as a file name.
    id_or_name: String,
}

fn find_runs_in_sheets(
    sheets: &[PriceSheet],
    store: &RunStore,
) -> Result<Vec<SheetRun>, StoreError> {
    let ids = store.ids()?;
    let last = LazyCell::new(|| store.find("last"));
    let find = |name: &str| match name {
        "last" => last.as_ref().ok().cloned(),
        _ => store.find_among(&ids, name).ok(),
    };
    let mut runs = Vec::new();
    for (position, configuration) in configurations(sheets) {
        for name in configuration
            .runs
            .iter()
            .flat_map(|names| split_names(names))
        {
            runs.push(SheetRun {
                position,
                id_or_name: find(name).unwrap_or_else(|| name.to_owned()),
            });
        }
    }
    Ok(runs)
}

fn split_names(argument: &str) -> Vec<&str> {
    comma_separated(argument).unwrap_or_else(|| vec![argument])
}

/// Assigns a side to the configuration on which the sheets say that its repeats were measured. If the sheets name
/// repeats of one variant for different configurations, only the named run is assigned. `names` are names of the
/// side other than ids, such as a file name.
fn assign_side(
    names: &[&str],
    side: LoadedSide,
    sheets: &[PriceSheet],
    runs_in_sheets: &[SheetRun],
) -> Result<RunAssignment, Failure> {
    let is_any_repeat =
        |name: &str| names.contains(&name) || side.runs.iter().any(|run| run.id == name);
    let is_named_run = |name: &str| side.named_run_id.as_deref() == Some(name);
    let position_of_side = only(positions_with_run(runs_in_sheets, is_any_repeat))
        .or_else(|| position_without_named_runs(sheets, runs_in_sheets));
    let position_of_named_run = || only(positions_with_run(runs_in_sheets, is_named_run));
    let position = position_of_side.or_else(position_of_named_run).ok_or_else(|| {
        let id = side.runs.first().map_or("", |run| run.id.as_str());
        let message = format!("no sheet says on which configuration {id} was measured");
        let hint = format!(
            "give CONFIGURATION={id} with one of: {}; or name it in the sheet, as runs = [\"{id}\"]",
            configuration_names(sheets).join(", "),
        );
        Failure::usage(message, hint)
    })?;
    let mut assignment = RunAssignment {
        position,
        named_run_id: side.named_run_id,
        runs: side.runs,
    };
    if position_of_side.is_none() {
        assignment.keep_only_named_run();
    }
    Ok(assignment)
}

/// The configurations for which sheets name runs that match, each once.
fn positions_with_run(
    runs_in_sheets: &[SheetRun],
    is_match: impl Fn(&str) -> bool,
) -> Vec<ConfigurationPosition> {
    let matching = runs_in_sheets
        .iter()
        .filter(|run| is_match(&run.id_or_name));
    let mut positions: Vec<_> = matching.map(|run| run.position).collect();
    // The runs of a configuration stand together, because they are in the order of the sheets.
    positions.dedup();
    positions
}

/// The only configuration, if no sheet names any runs. A sheet that names runs means no others.
fn position_without_named_runs(
    sheets: &[PriceSheet],
    runs_in_sheets: &[SheetRun],
) -> Option<ConfigurationPosition> {
    let positions = configurations(sheets).map(|(position, _)| position);
    only(positions).filter(|_| runs_in_sheets.is_empty())
}

/// The element of a sequence that has exactly one.
fn only<T>(elements: impl IntoIterator<Item = T>) -> Option<T> {
    let mut elements = elements.into_iter();
    elements.next().filter(|_| elements.next().is_none())
}

fn configuration_names(sheets: &[PriceSheet]) -> Vec<&str> {
    configurations(sheets)
        .map(|(_, configuration)| configuration.name.as_str())
        .collect()
}

fn unknown_configuration_failure(name: &str, sheets: &[PriceSheet]) -> Failure {
    let message = format!("no configuration of the sheet is named {name}");
    let names = configuration_names(sheets);
    let all = format!("the sheet has {}", names.join(", "));
    Failure::usage(message, suggestion(name, &names, &all))
}

//! `prony price`.
//!
//! In: price sheets and the store. Out: what throughput costs. Must never: go on without a sheet, or
//! guess on which configuration a run was measured.

mod claims;

use super::compare::{Loaded, Meant, listed, side};
use super::stored::{failure as store_failure, judge_unjudged};
use super::{output, plan};
use crate::args::PriceArgs;
use crate::exit::{Exit, Failure};
use claims::{Claim, settled};
use prony_judge::price::{AsOf, Configuration, Demand, Offer, Sheet, Terms};
use prony_report::html::SheetText;
use prony_report::{price, text::system_error};
use prony_store::{Check, Run, RunStore};
use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The sheet that is read where none is named, in the folder of the store.
const USUAL: &str = "prices.toml";

/// A run that was loaded, with the places of its sheet and its configuration in that.
pub(super) struct Placed {
    pub sheet: usize,
    pub configuration: usize,
    pub run: Run,
}

/// Prices runs.
pub fn price(args: &PriceArgs) -> Result<Exit, Failure> {
    let store = RunStore::open(None).map_err(|error| store_failure(&error))?;
    let sheets = sheets(args, &store)?;
    let (mut placed, notes) = match args.runs.is_empty() {
        true => named_by_sheets(&sheets, &store)?,
        false => place(&args.runs, &sheets, &store)?,
    };
    judge_unjudged(placed.iter_mut().map(|one| &mut one.run));
    let offers: Vec<Offer<'_>> = placed
        .iter()
        .map(|one| Offer {
            sheet: &sheets[one.sheet],
            configuration: &sheets[one.sheet].configurations[one.configuration],
            run: &one.run,
        })
        .collect();
    let mut prices = prony_judge::price::price(&offers, &terms(args)?).map_err(|error| {
        let hint = "name runs, or write runs = [\"…\"] under a [[configuration]]; give all prices in one \
                    currency";
        Failure::new(Exit::Usage, error.to_string(), hint)
    })?;
    // They are notes, and stand behind what is worse.
    prices.remarks.extend(notes);
    output::show(|out, style| match args.json {
        true => price::json(out, &prices),
        false => price::write(out, style, &prices),
    })?;
    Ok(match price::is_refused(&prices) {
        true => Exit::Invalid,
        false => Exit::Fine,
    })
}

/// The day that this machine's clock shows.
pub(super) fn today() -> Result<AsOf, Failure> {
    let today = jiff::Zoned::now().date();
    let part = |number: i8| u8::try_from(number).unwrap_or_default();
    let today = AsOf::day(today.year().into(), part(today.month()), part(today.day()));
    today.ok_or_else(|| {
        let hint = "set the clock: the age of prices is counted from it";
        Failure::new(
            Exit::Unexpected,
            "this machine's clock shows no possible date",
            hint,
        )
    })
}

fn terms(args: &PriceArgs) -> Result<Terms, Failure> {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Ok(Terms {
        today: today()?,
        utilisation: args.utilisation,
        across_regions: args.across_regions,
        demand: args.load.map(|tps| Demand {
            tps,
            p95_ns: args.p95.map(ns),
            p99_ns: args.p99.map(ns),
        }),
    })
}

fn sheets(args: &PriceArgs, store: &RunStore) -> Result<Vec<Sheet>, Failure> {
    let usual = store.folder().join(USUAL);
    let files: Vec<PathBuf> = match args.sheet.is_empty() {
        false => args.sheet.clone(),
        true if usual.is_file() => vec![usual],
        true => {
            let hint = format!(
                "give --sheet FILE, or write {}; Prony knows no prices, and plans/prices has an example",
                usual.display()
            );
            return Err(Failure::new(Exit::Usage, "no price sheet is given", hint));
        }
    };
    files.iter().map(|file| sheet(file)).collect()
}

fn sheet(file: &Path) -> Result<Sheet, Failure> {
    parsed(&read(file)?)
}

/// A sheet's name and text.
pub(super) fn read(file: &Path) -> Result<SheetText, Failure> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| {
        let hint = "a price sheet is a TOML file; plans/prices has an example";
        let what = format!("cannot read the price sheet: {}", system_error(&error));
        Failure::new(Exit::Usage, what, hint).at(&name)
    })?;
    Ok(SheetText { file: name, text })
}

/// A sheet without a mistake.
pub(super) fn parsed(sheet: &SheetText) -> Result<Sheet, Failure> {
    let SheetText { file, text } = sheet;
    Sheet::from_toml(file, text).map_err(|problems| plan::failure(file, problems))
}

/// All configurations with the places of their sheet and their own.
fn all(sheets: &[Sheet]) -> impl Iterator<Item = (usize, usize, &Configuration)> {
    sheets.iter().enumerate().flat_map(|(sheet, one)| {
        let each = one.configurations.iter().enumerate();
        each.map(move |(place, configuration)| (sheet, place, configuration))
    })
}

/// The runs of configurations, and what has to be said of how they were taken.
pub(super) type Taken = (Vec<Placed>, Vec<Check>);

fn named_by_sheets(sheets: &[Sheet], store: &RunStore) -> Result<Taken, Failure> {
    let mut claims = Vec::new();
    for (sheet, configuration, one) in all(sheets) {
        for run in &one.runs {
            claim(&mut claims, run, (sheet, configuration), store)?;
        }
    }
    Ok(settled(claims))
}

/// Adds what a word names that stands beside its configuration.
fn claim(
    claims: &mut Vec<Claim>,
    word: &str,
    place: (usize, usize),
    store: &RunStore,
) -> Result<(), Failure> {
    let sides = side(store, word, Meant::Variant)?.into_iter();
    claims.extend(sides.map(|side| Claim {
        place,
        named: side.named,
        runs: side.runs,
    }));
    Ok(())
}

/// Finds the runs that were asked for, and the configurations that they were measured on.
pub(super) fn place(
    asked: &[String],
    sheets: &[Sheet],
    store: &RunStore,
) -> Result<Taken, Failure> {
    let meant = match asked.len() {
        1 => Meant::Experiment,
        _ => Meant::Variant,
    };
    let known = LazyCell::new(|| known(sheets, store));
    let mut claims = Vec::new();
    for asked in asked {
        // A file may have the sign in its name: only a configuration's name counts before it.
        let named = asked.split_once('=').and_then(|(name, run)| {
            let (sheet, place, _) = all(sheets).find(|(_, _, one)| one.name == name)?;
            Some((sheet, place, run))
        });
        if let Some((sheet, configuration, run)) = named {
            claim(&mut claims, run, (sheet, configuration), store)?;
            continue;
        }
        let sides = side(store, asked, meant).map_err(|failure| match asked.split_once('=') {
            Some((name, _)) if !asked.contains('/') => unknown(name, sheets),
            _ => failure,
        })?;
        for side in sides {
            claims.push(said(asked, side, sheets, &known)?);
        }
    }
    Ok(settled(claims))
}

/// A run that a sheet names, with the places of the sheet and the configuration.
struct Known {
    place: (usize, usize),
    /// Its id; of a document outside the store the word of the sheet.
    name: String,
}

/// The runs that the sheets name: the store is asked once for each, however many are priced.
fn known(sheets: &[Sheet], store: &RunStore) -> Vec<Known> {
    let mut known = Vec::new();
    for (sheet, place, one) in all(sheets) {
        for word in one.runs.iter().flat_map(|word| words(word)) {
            known.push(Known {
                place: (sheet, place),
                name: store.find(word).unwrap_or_else(|_| word.to_owned()),
            });
        }
    }
    known
}

/// The names in an argument, of which there may be several with commas between.
fn words(asked: &str) -> Vec<&str> {
    listed(asked).unwrap_or_else(|| vec![asked])
}

/// Where the sheets say that some repeats were measured. Where they say it of several repeats of a variant
/// for different configurations, the run that was named stands for itself.
fn said(asked: &str, side: Loaded, sheets: &[Sheet], known: &[Known]) -> Result<Claim, Failure> {
    let words = words(asked);
    let places = |is_of: &dyn Fn(&str) -> bool| -> Vec<(usize, usize)> {
        let named = |place: &(usize, usize)| {
            let mut of_it = known.iter().filter(|one| one.place == *place);
            of_it.any(|one| is_of(&one.name))
        };
        let all = all(sheets).map(|(sheet, place, _)| (sheet, place));
        all.filter(named).collect()
    };
    let any = places(&|name| words.contains(&name) || side.runs.iter().any(|run| run.id == name));
    let own = places(&|name| side.named.as_deref() == Some(name));
    let only: Vec<(usize, usize)> = all(sheets)
        .map(|(sheet, place, _)| (sheet, place))
        .collect();
    let mut claim = Claim {
        place: (0, 0),
        named: side.named,
        runs: side.runs,
    };
    match (&any[..], &own[..], &only[..]) {
        ([place], _, _) | ([], _, [place]) => claim.place = *place,
        (_, [place], _) => {
            claim.place = *place;
            claim.alone();
        }
        _ => {
            let id = claim.runs.first().map_or("", |run| run.id.as_str());
            let what = format!("nothing says on which configuration {id} was measured");
            let hint = format!(
                "write CONFIGURATION={id}, with one of: {}; or name it in the sheet, as runs = [\"{id}\"]",
                names(sheets),
            );
            return Err(Failure::new(Exit::Usage, what, hint));
        }
    }
    Ok(claim)
}

fn names(sheets: &[Sheet]) -> String {
    let names: Vec<&str> = all(sheets).map(|(_, _, one)| one.name.as_str()).collect();
    names.join(", ")
}

fn unknown(name: &str, sheets: &[Sheet]) -> Failure {
    let what = format!("no configuration of the sheet is named {name}");
    Failure::new(Exit::Usage, what, format!("there are: {}", names(sheets)))
}

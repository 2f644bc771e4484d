//! `prony compare`.
//!
//! In: the store, names of runs and experiments. Out: the sides with what `judge` makes of them. Must
//! never: count one run twice on a side, or pick among the runs of an experiment.

use super::stored::{failure as store_failure, judge_unjudged};
use super::{file, output};
use crate::args::CompareArgs;
use crate::exit::{Exit, Failure};
use prony_judge::compare::Verdict;
use prony_judge::compare::sides::{Gate, Side, Sides, compare_sides};
use prony_judge::experiment::variant_names;
use prony_report::compare::{self, Limit};
use prony_report::text::system_error;
use prony_store::{Experiment, Filter, Run, RunStore, State, Summary};
use std::io;
use std::path::Path;

/// As many sides have a letter.
const MOST: usize = 26;

/// A side before it is lent to `judge`.
pub(super) struct Loaded {
    name: String,
    /// Its runs.
    pub runs: Vec<Run>,
    /// The id of the run that was named, where others are taken with it.
    pub named: Option<String>,
}

/// What the name of a run of an experiment stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// The run; the whole experiment where it has that one's id.
    Run,
    /// The repeats of its variant.
    Variant,
    /// The whole experiment: nothing else is named.
    Experiment,
}

/// Sets the sides against the first, if they compare.
pub fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let store = RunStore::open(None).map_err(|error| store_failure(&error))?;
    let mut loaded = sides(&store, &args.sides)?;
    judge_unjudged(loaded.iter_mut().flat_map(|side| &mut side.runs));
    let sides: Vec<Side<'_>> = loaded
        .iter()
        .map(|side| Side {
            name: side.name.clone(),
            runs: side.runs.iter().collect(),
        })
        .collect();
    let found = compare_sides(&sides);
    let limit = args.fail_if_slower.map(|allowed| Limit {
        allowed,
        surely: args.fail_if_unsure,
    });
    let runs: Vec<Vec<&Run>> = sides.iter().map(|side| side.runs.clone()).collect();
    let xml_alone = args
        .junit
        .as_deref()
        .is_some_and(|file| file.as_os_str() == "-");
    if let Some(file) = args.junit.as_deref().filter(|_| !xml_alone) {
        write_xml(file, &runs, &found, limit)?;
    }
    output::show(|out, style| match () {
        () if xml_alone => compare::junit(out, &runs, &found, limit),
        () if args.json => compare::json(out, &found, limit),
        () if args.markdown => compare::markdown(out, &runs, &found, limit),
        () => compare::write(out, style, &runs, &found, limit),
    })?;
    Ok(exit(&found, limit))
}

fn exit(found: &Sides, limit: Option<Limit>) -> Exit {
    if found.verdict == Verdict::NotComparable {
        return Exit::Invalid;
    }
    let broken = |limit: Limit| {
        let gates = found
            .against
            .iter()
            .map(|one| found.gate(one, limit.allowed));
        let mut gates = gates.map(|gate| gate.unwrap_or(Gate::Unsure));
        gates.any(|gate| gate == Gate::Slower || (gate == Gate::Unsure && limit.surely))
    };
    match limit.is_some_and(broken) {
        true => Exit::Slower,
        false => Exit::Fine,
    }
}

/// The sides that were asked for.
fn sides(store: &RunStore, asked: &[String]) -> Result<Vec<Loaded>, Failure> {
    let mut found: Vec<Loaded> = Vec::new();
    let meant = match asked.len() {
        1 => Meant::Experiment,
        _ => Meant::Run,
    };
    for one in asked {
        found.extend(side(store, one, meant)?);
    }
    if found.len() < 2 {
        let what = match asked.len() {
            1 => "there is one side alone, and nothing to hold it against",
            _ => "there are fewer than two sides",
        };
        let hint = "name two runs or more, or an experiment of two variants or more";
        return Err(Failure::new(Exit::Usage, what, hint));
    }
    if found.len() > MOST {
        let what = format!("{} sides are too many to be told apart", found.len());
        return Err(Failure::new(
            Exit::Usage,
            what,
            format!("name up to {MOST}"),
        ));
    }
    for (place, side) in found.iter().enumerate() {
        let before = found[..place].iter().flat_map(|side| &side.runs);
        let mut seen: Vec<&str> = before.map(|run| run.id.as_str()).collect();
        for run in &side.runs {
            if !run.id.is_empty() && seen.contains(&run.id.as_str()) {
                let what = format!("the run {} is named twice", run.id);
                let hint = "one run counts once: it is no repeat of itself, and equals itself";
                return Err(Failure::new(Exit::Usage, what, hint));
            }
            seen.push(&run.id);
        }
    }
    Ok(found)
}

/// One argument: a run, several, or the variants of an experiment; as they are stored, which a page needs
/// for their hashes.
pub(super) fn side(store: &RunStore, asked: &str, meant: Meant) -> Result<Vec<Loaded>, Failure> {
    let load = |name: &str| store.load(name).map_err(|error| store_failure(&error));
    if let Some(names) = listed(asked) {
        let runs: Vec<Run> = names.into_iter().map(load).collect::<Result<_, _>>()?;
        if runs.is_empty() {
            let what = "a side has no run";
            return Err(Failure::new(
                Exit::Usage,
                what,
                "name runs between the commas",
            ));
        }
        let name = common_variant(&runs);
        return Ok(vec![Loaded {
            name,
            runs,
            named: None,
        }]);
    }
    let run = load(asked)?;
    let whole = |of: &Experiment| match meant {
        Meant::Run => of.id == run.id && asked != "last",
        Meant::Variant | Meant::Experiment => true,
    };
    let Some(of) = run.experiment.as_ref().filter(|of| whole(of)) else {
        return Ok(vec![Loaded {
            name: common_variant(std::slice::from_ref(&run)),
            runs: vec![run],
            named: None,
        }]);
    };
    let mut found = experiment(store, &of.id, of.runs as usize, &run)?;
    if meant == Meant::Variant {
        found.retain(|side| side.name == of.variant);
    }
    // Who gives the id of an experiment alone means all of it.
    if meant == Meant::Variant || run.id != of.id {
        for side in found.iter_mut().filter(|side| side.runs.len() > 1) {
            let named = side.runs.iter().any(|one| one.id == run.id);
            side.named = named.then(|| run.id.clone());
        }
    }
    Ok(found)
}

/// The names between commas; nothing where it is no list: a file may have the sign in its name.
pub(super) fn listed(asked: &str) -> Option<Vec<&str>> {
    let several = asked.contains(',') && !Path::new(asked).is_file();
    let names = asked.split(',').map(str::trim);
    several.then(|| names.filter(|name| !name.is_empty()).collect())
}

/// The variant that all of them are of; empty where they are not of one.
fn common_variant(runs: &[Run]) -> String {
    let of = |run: &Run| run.experiment.as_ref().map(|of| of.variant.clone());
    let Some(first) = runs.first().and_then(of) else {
        return String::new();
    };
    match runs.iter().all(|run| of(run).as_ref() == Some(&first)) {
        true => first,
        false => String::new(),
    }
}

/// The variants of an experiment in the plan's order, with the runs that have ended.
fn experiment(
    store: &RunStore,
    id: &str,
    meant: usize,
    known: &Run,
) -> Result<Vec<Loaded>, Failure> {
    let listing = store
        .list(&Filter::default())
        .map_err(|error| store_failure(&error))?;
    let mut runs: Vec<Run> = Vec::new();
    for summary in candidates(&listing.runs, id, &known.id) {
        if runs.len() >= meant {
            break;
        }
        let run = store
            .load(&summary.id)
            .map_err(|error| store_failure(&error))?;
        if run.experiment.as_ref().is_some_and(|of| of.id == id) {
            runs.push(run);
        }
    }
    if !runs.iter().any(|run| run.id == known.id) {
        // A document outside the store, or one that still goes on, says so by itself.
        runs.push(known.clone());
    }
    let place = |run: &Run| run.experiment.as_ref().map_or(0, |of| of.position);
    runs.sort_by_key(place);
    let side = |name| Loaded {
        name,
        runs: Vec::new(),
        named: None,
    };
    let mut found: Vec<Loaded> = variant_names(&runs).into_iter().map(side).collect();
    for run in runs {
        let variant = common_variant(std::slice::from_ref(&run));
        if let Some(side) = found.iter_mut().find(|side| side.name == variant) {
            side.runs.push(run);
        }
    }
    Ok(found)
}

/// Which of the listed runs, newest first, may be of an experiment and have ended: oldest first, those
/// of which the index says so before those of which it says nothing.
fn candidates<'a>(listed: &'a [Summary], id: &str, known: &str) -> Vec<&'a Summary> {
    // None of its runs is older than the first, whose id it has.
    let begin = listed.iter().position(|one| one.id == id);
    let until = begin.map_or(listed.len(), |place| place + 1);
    let ended = |one: &&Summary| one.state != State::Running;
    let newer = listed[..until].iter().rev().filter(ended);
    let (mut found, others): (Vec<&Summary>, Vec<&Summary>) =
        newer.partition(|one| one.experiment.as_ref().is_some_and(|of| of.id == id));
    // A Prony that knew no experiments wrote rows without them, that of the first or the named run among
    // them: then each has to be read that may be one. Else nobody's documents are read in vain.
    let silent = |one: &Summary| one.experiment.is_none();
    let mut named = listed.iter().filter(|one| one.id == id || one.id == known);
    if named.any(silent) {
        found.extend(others.into_iter().filter(|one| silent(one)));
    }
    found
}

/// Writes the XML to a file; an older one there is replaced, and nothing else.
fn write_xml(
    path: &Path,
    runs: &[Vec<&Run>],
    found: &Sides,
    limit: Option<Limit>,
) -> Result<(), Failure> {
    let failed = |error: &io::Error| {
        let what = format!("cannot write the XML: {}", system_error(error));
        let hint = "name a file in a folder that you may write to";
        Failure::new(Exit::Unexpected, what, hint).at(path.display().to_string())
    };
    file::spare_others(path, "XML", |begin| begin.starts_with(b"<?xml"))?;
    file::write(path, |out| compare::junit(out, runs, found, limit)).map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(id: &str, experiment: Option<&str>, state: State) -> Summary {
        let run = Run {
            state,
            experiment: experiment.map(|id| Experiment {
                id: id.to_owned(),
                ..Experiment::default()
            }),
            ..Run::default()
        };
        Summary::of(id, &run)
    }

    #[test]
    fn only_what_may_be_of_an_experiment_is_read() {
        let ended = State::Complete;
        let mut all = vec![
            listed("6", Some("2"), State::Running),
            listed("5", None, ended),
            listed("4", Some("2"), ended),
            listed("3", Some("x"), ended),
            listed("2", Some("2"), ended),
            listed("1", None, ended),
        ];
        let ids = |all: &[Summary], known: &str| -> Vec<String> {
            let found = candidates(all, "2", known).into_iter();
            found.map(|one| one.id.clone()).collect()
        };
        assert_eq!(ids(&all, "2"), ["2", "4"]);
        // The index says nothing of one of them: what it says nothing of is read, too.
        all[2].experiment = None;
        assert_eq!(ids(&all, "4"), ["2", "4", "5"]);
        all[4].experiment = None;
        assert_eq!(ids(&all, "6"), ["2", "4", "5"]);
    }
}

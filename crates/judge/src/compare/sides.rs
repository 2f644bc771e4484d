//! Repeated runs of several sides, each against the first.
//!
//! In: two or more sides, each of one or more finished Runs. Out: [`Sides`]: what differs, what follows,
//! and every figure's ratio with what chance explains of it. Must never: let the best of several runs
//! stand for them, give a ratio of what does not compare, or take the scatter within one run for that
//! between runs.

use super::{Difference, Verdict, differences, reading, weighed, worst_first};
use crate::statistics;
use prony_store::{Run, Severity};
use serde::Serialize;
use std::collections::HashMap;

mod doubts;
mod figures;

pub use figures::{Basis, Contrast, Found, Gate, Sample};

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// What was varied, in the words of an experiment; empty where nobody says.
    pub name: String,
    /// Its runs, at least one.
    pub runs: Vec<&'a Run>,
}

/// Several sides, each against the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sides {
    /// What follows for all of them: the worst.
    pub verdict: Verdict,
    /// How many things have to be weighed.
    pub caveats: usize,
    /// The load of a side came at a rate, so that response times are what can differ.
    pub paced: bool,
    /// The sides.
    pub sides: Vec<Described>,
    /// Each but the first, against the first.
    pub against: Vec<Against>,
}

/// Which runs stand on a side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Described {
    /// `A`, `B` and so on.
    pub letter: char,
    /// What was varied; empty where nobody says.
    pub name: String,
    /// Ids of its runs.
    pub runs: Vec<String>,
    /// Why its own runs are not repeats of one thing; empty where they are.
    pub unlike: Vec<Difference>,
}

/// One side against the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Its letter.
    pub letter: char,
    /// Whether the two compare; they do not where the runs of one of them are not repeats of one thing.
    pub verdict: Verdict,
    /// What differs, the worst first: of the first side, of this one.
    pub differences: Vec<Difference>,
    /// The figures; empty where the two do not compare.
    pub figures: Vec<Contrast>,
}

impl Sides {
    /// The verdict in the words of the report.
    pub fn words(&self) -> String {
        match (self.verdict, self.caveats) {
            (Verdict::WithCaveats, 1) => "COMPARABLE, WITH 1 CAVEAT".to_owned(),
            (Verdict::WithCaveats, many) => format!("COMPARABLE, WITH {many} CAVEATS"),
            (verdict, _) => verdict.words().to_owned(),
        }
    }

    /// The figures that the result is told by: the throughput by the name that its field has for it, and
    /// the 99th percentile. Of a load at a rate the percentile comes first.
    pub fn leading<'a>(&self, of: &'a Against) -> Vec<&'a Contrast> {
        figures::leading(&of.figures, self.paced)
    }

    /// Whether a side is slower than the first by more than a share of it: by its throughput, or, where
    /// the load came at a rate, its response time. Nothing where there is no figure of both.
    pub fn gate(&self, of: &Against, allowed: f64) -> Option<Gate> {
        Some(self.leading(of).first()?.gate(allowed))
    }
}

/// Sets the sides against the first.
pub fn compare_sides(sides: &[Side<'_>]) -> Sides {
    let described: Vec<Described> = ('A'..).zip(sides).map(described).collect();
    let Some((first, others)) = sides.split_first() else {
        return Sides {
            verdict: Verdict::NotComparable,
            caveats: 0,
            paced: false,
            sides: described,
            against: Vec::new(),
        };
    };
    let incomplete = doubts::incomplete(sides);
    let of_all = || sides.iter().flat_map(|side| &side.runs);
    let paced = of_all().any(|run| run.drive.rate_tps.is_some());
    let mixed = |side: usize| !described[side].unlike.is_empty();
    let mut against: Vec<Against> = ('B'..)
        .zip(1..)
        .zip(others)
        .map(|((letter, place), other)| {
            let mut figures = figures::contrasts(&first.runs, &other.runs);
            let leading = figures::leading(&figures, paced);
            let mut differences = merged(&first.runs, &other.runs);
            differences.extend(doubts::of(first, other, leading.first().copied()));
            differences.extend(incomplete.clone());
            worst_first(&mut differences);
            // A side that is no repeats of one thing has no figure.
            let verdict = match mixed(0) || mixed(place) {
                true => Verdict::NotComparable,
                false => Verdict::of(&differences),
            };
            if verdict == Verdict::NotComparable {
                figures.clear();
            }
            Against {
                letter,
                verdict,
                differences,
                figures,
            }
        })
        .collect();
    figures::settle(&mut against, statistics::ALPHA);
    let worst = against.iter().map(|one| one.verdict).max();
    Sides {
        verdict: worst.unwrap_or(Verdict::NotComparable),
        caveats: caveats(&against),
        paced,
        sides: described,
        against,
    }
}

fn described((letter, side): (char, &Side<'_>)) -> Described {
    let mut unlike = among(&side.runs);
    unlike.retain(|one| one.severity == Severity::Invalid);
    Described {
        letter,
        name: side.name.clone(),
        runs: side.runs.iter().map(|run| run.id.clone()).collect(),
        unlike,
    }
}

/// How many things have to be weighed: one that concerns several sides is one.
fn caveats(against: &[Against]) -> usize {
    let all = against.iter().flat_map(|one| &one.differences);
    let caveats = all.filter(|one| one.severity == Severity::Caveat);
    let names: std::collections::BTreeSet<&str> = caveats.map(|one| one.what.as_str()).collect();
    names.len()
}

/// The differences of all pairs, those of one thing put together.
fn merged(first: &[&Run], second: &[&Run]) -> Vec<Difference> {
    let (first, second) = (groups(first), groups(second));
    let mut found = Readings::default();
    for a in &first {
        for b in &second {
            add(&mut found, weighed(a[0], b[0]));
        }
    }
    joined(found)
}

/// A thing in which repeats of one thing are not alike.
pub(crate) struct Unlike {
    pub severity: Severity,
    pub what: String,
    /// How it is in them, each reading once; one alone where that stands against all of them.
    pub readings: Vec<String>,
}

/// In what runs are not alike that are meant to be repeats of one thing, the worst first.
pub(crate) fn unlike(runs: &[&Run]) -> Vec<Unlike> {
    let mut all = readings(runs).all;
    all.sort_by_key(|(one, ..)| std::cmp::Reverse(one.severity));
    let each = all.into_iter().map(|(one, mut readings, of_b)| {
        for reading in of_b {
            if !readings.contains(&reading) {
                readings.push(reading);
            }
        }
        Unlike {
            severity: one.severity,
            what: one.what,
            readings,
        }
    });
    each.collect()
}

/// What differs among the runs of one side.
fn among(runs: &[&Run]) -> Vec<Difference> {
    joined(readings(runs))
}

/// The differences of all pairs of one side.
fn readings(runs: &[&Run]) -> Readings {
    let groups = groups(runs);
    let mut found = Readings::default();
    for (place, group) in groups.iter().enumerate() {
        // Two that are alike may share what forbids the use of both.
        if let [a, b, ..] = &group[..] {
            add(&mut found, differences(a, b));
        }
        for other in &groups[place + 1..] {
            add(&mut found, differences(group[0], other[0]));
        }
    }
    found
}

/// The runs in groups of the same reading, so that one of each is compared: of hundreds of repeats all
/// pairs would be tens of thousands.
fn groups<'a>(runs: &[&'a Run]) -> Vec<Vec<&'a Run>> {
    let mut places: HashMap<Vec<String>, usize> = HashMap::new();
    let mut groups: Vec<Vec<&Run>> = Vec::new();
    for run in runs {
        let place = *places.entry(reading(run)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// What differs, each thing with all its readings on either side.
#[derive(Default)]
struct Readings {
    all: Vec<(Difference, Vec<String>, Vec<String>)>,
    /// Where each thing stands, by its name: there may be hundreds in tens of thousands of pairs.
    places: HashMap<String, usize>,
}

fn add(found: &mut Readings, differences: Vec<Difference>) {
    for one in differences {
        let note = |readings: &mut Vec<String>, reading: String| {
            if !readings.contains(&reading) {
                readings.push(reading);
            }
        };
        let place = found.places.get(&one.what).copied();
        let place = place.unwrap_or_else(|| {
            found.places.insert(one.what.clone(), found.all.len());
            found.all.push((one.clone(), Vec::new(), Vec::new()));
            found.all.len() - 1
        });
        let (known, of_a, of_b) = &mut found.all[place];
        if one.severity > known.severity {
            (known.severity, known.why) = (one.severity, one.why);
        }
        note(of_a, one.a);
        note(of_b, one.b);
    }
}

fn joined(found: Readings) -> Vec<Difference> {
    let each = found.all.into_iter().map(|(known, of_a, of_b)| Difference {
        a: of_a.join(" or "),
        b: of_b.join(" or "),
        ..known
    });
    let mut all: Vec<Difference> = each.collect();
    worst_first(&mut all);
    all
}

#[cfg(test)]
mod tests;

//! Repeated runs of several sides, each against the first.
//!
//! In: two or more sides, each of one or more finished Runs. Out: [`Sides`]: what differs, what follows,
//! and every figure's ratio with what chance explains of it. Must never: let the best of several runs
//! stand for them, give a ratio of what does not compare, or take the scatter within one run for that
//! between runs.

use super::{Difference, Unit, Verdict, compare};
use crate::statistics;
use prony_store::{Run, Severity};
use serde::Serialize;

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
    /// The load came at a rate, so that response times are what can differ.
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
    /// Whether the two compare.
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
        let rates = || of.figures.iter().filter(|one| one.unit == Unit::Rate);
        let named = |name: &str| rates().find(|one| one.name == name);
        let throughput = named("NOPM").or(named("TPS")).or(rates().next());
        let times = || {
            of.figures
                .iter()
                .filter(|one| one.unit == Unit::Nanoseconds)
        };
        let slow = times().find(|one| one.name == "p99").or(times().next());
        let mut found: Vec<&Contrast> = throughput.into_iter().chain(slow).collect();
        if self.paced {
            found.reverse();
        }
        found
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
    let mut against: Vec<Against> = ('B'..)
        .zip(others)
        .map(|(letter, other)| {
            let mut differences = merged(&first.runs, &other.runs);
            differences.extend(doubts::of(first, other));
            differences.extend(incomplete.clone());
            differences.sort_by_key(|one| std::cmp::Reverse(one.severity));
            let verdict = Verdict::of(&differences);
            Against {
                letter,
                verdict,
                differences,
                figures: match verdict {
                    Verdict::NotComparable => Vec::new(),
                    _ => figures::contrasts(&first.runs, &other.runs),
                },
            }
        })
        .collect();
    figures::settle(&mut against, statistics::ALPHA);
    let unlike = described.iter().any(|side| !side.unlike.is_empty());
    let worst = against.iter().map(|one| one.verdict).max();
    Sides {
        verdict: match unlike {
            true => Verdict::NotComparable,
            false => worst.unwrap_or(Verdict::NotComparable),
        },
        caveats: caveats(&against),
        paced: first.runs.iter().any(|run| run.drive.rate_tps.is_some()),
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
    let mut found = Vec::new();
    for a in first {
        for b in second {
            add(&mut found, compare(a, b).differences);
        }
    }
    joined(found)
}

/// What differs among the runs of one side.
fn among(runs: &[&Run]) -> Vec<Difference> {
    let mut found = Vec::new();
    for (place, a) in runs.iter().enumerate() {
        for b in &runs[place + 1..] {
            add(&mut found, compare(a, b).differences);
        }
    }
    joined(found)
}

/// A thing that differs, with all its readings on either side.
type Readings = (Difference, Vec<String>, Vec<String>);

fn add(found: &mut Vec<Readings>, differences: Vec<Difference>) {
    for one in differences {
        let note = |readings: &mut Vec<String>, reading: &String| {
            if !readings.contains(reading) {
                readings.push(reading.clone());
            }
        };
        let place = found.iter().position(|(known, ..)| known.what == one.what);
        let place = place.unwrap_or_else(|| {
            found.push((one.clone(), Vec::new(), Vec::new()));
            found.len() - 1
        });
        let (known, of_a, of_b) = &mut found[place];
        if one.severity > known.severity {
            (known.severity, known.why) = (one.severity, one.why);
        }
        note(of_a, &one.a);
        note(of_b, &one.b);
    }
}

fn joined(found: Vec<Readings>) -> Vec<Difference> {
    let each = found.into_iter().map(|(known, of_a, of_b)| Difference {
        a: of_a.join(" or "),
        b: of_b.join(" or "),
        ..known
    });
    let mut all: Vec<Difference> = each.collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.severity));
    all
}

#[cfg(test)]
mod tests;

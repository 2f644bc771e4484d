//! Which runs stand for which configuration.
//!
//! In: what was named, with the runs that it may stand for. Out: the runs of each configuration, and what
//! has to be said of how they were taken. Must never: let a run stand for a configuration by its variant
//! while it was named for another one.

use super::Placed;
use prony_judge::price::stands_for;
use prony_store::{Check, Run};
use std::collections::BTreeSet;

/// Something that was named, with the places of its sheet and its configuration in that.
pub(super) struct Claim {
    /// Places of the sheet and the configuration.
    pub place: (usize, usize),
    /// The id of the run that was named, where repeats of its variant are taken with it.
    pub named: Option<String>,
    /// The runs that it stands for.
    pub runs: Vec<Run>,
}

impl Claim {
    /// The runs that were named themselves, of those that `other` holds.
    fn named_of<'a>(&'a self, other: &'a Claim) -> impl Iterator<Item = &'a str> {
        let named = |run: &&Run| self.named.as_ref().is_none_or(|named| *named == run.id);
        let ids = self.runs.iter().filter(named).map(|run| run.id.as_str());
        ids.filter(|id| !id.is_empty() && other.runs.iter().any(|run| run.id == *id))
    }

    /// Leaves the run alone that was named.
    pub fn alone(&mut self) {
        if let Some(named) = self.named.take() {
            self.runs.retain(|run| run.id == named);
        }
    }
}

/// The runs, each once for a configuration, and what has to be said of them.
pub(super) fn settled(mut claims: Vec<Claim>) -> (Vec<Placed>, Vec<Check>) {
    let apart: Vec<bool> = claims.iter().map(|one| is_apart(one, &claims)).collect();
    for (claim, _) in claims.iter_mut().zip(apart).filter(|(_, apart)| *apart) {
        claim.alone();
    }
    let taken = claims.iter().filter_map(|claim| {
        let named = claim.named.as_deref().filter(|_| claim.runs.len() > 1)?;
        Some((named, claim.runs.len()))
    });
    let notes = stands_for(&taken.collect::<Vec<_>>());
    let mut placed = Vec::new();
    for claim in claims {
        add(&mut placed, claim);
    }
    (placed, notes)
}

/// Whether other runs of its variant were named for another configuration. Where the same were, the same
/// measurement is meant at two prices.
fn is_apart(claim: &Claim, all: &[Claim]) -> bool {
    let named_at = |place: (usize, usize)| -> BTreeSet<&str> {
        let of_it = all.iter().filter(|one| one.place == place);
        of_it.flat_map(|one| one.named_of(claim)).collect()
    };
    let own = named_at(claim.place);
    let mut others = all.iter().filter(|one| one.place != claim.place);
    claim.named.is_some()
        && others.any(|other| {
            let named = named_at(other.place);
            !named.is_empty() && named != own
        })
}

/// Adds runs of a configuration; one that is there counts once, however often it is named.
fn add(placed: &mut Vec<Placed>, claim: Claim) {
    let (sheet, configuration) = claim.place;
    for run in claim.runs {
        let known = placed.iter().any(|one| {
            (one.sheet, one.configuration) == (sheet, configuration)
                && !run.id.is_empty()
                && one.run.id == run.id
        });
        if !known {
            placed.push(Placed {
                sheet,
                configuration,
                run,
            });
        }
    }
}

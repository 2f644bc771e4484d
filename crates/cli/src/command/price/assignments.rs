//! Assigns runs to configurations.
//!
//! Resolves the names of runs to the runs of each configuration, with notes on the selection. A run that is named
//! for one configuration is never assigned to a different one because of its variant.

use super::PricedRun;
use prony_judge::price::repeats_taken;
use prony_store::{Check, Run};
use std::collections::BTreeSet;

/// The runs that a name selects for a configuration.
pub(super) struct RunAssignment {
    /// Indexes of the sheet and of the configuration in it.
    pub configuration: (usize, usize),
    /// The id of the named run, if it also selects the repeats of its variant.
    pub named: Option<String>,
    /// The runs that it selects.
    pub runs: Vec<Run>,
}

impl RunAssignment {
    /// Ids of the directly named runs that `other` also has.
    fn named_runs_in<'a>(&'a self, other: &'a RunAssignment) -> impl Iterator<Item = &'a str> {
        let named = |run: &&Run| self.named.as_ref().is_none_or(|named| *named == run.id);
        let ids = self.runs.iter().filter(named).map(|run| run.id.as_str());
        ids.filter(|id| !id.is_empty() && other.runs.iter().any(|run| run.id == *id))
    }

    /// Removes all runs except the named one.
    pub fn keep_only_named(&mut self) {
        if let Some(named) = self.named.take() {
            self.runs.retain(|run| run.id == named);
        }
    }
}

/// The runs, each at most once for a configuration, and notes on them.
pub(super) fn resolve(mut assignments: Vec<RunAssignment>) -> (Vec<PricedRun>, Vec<Check>) {
    let split: Vec<bool> = assignments
        .iter()
        .map(|assignment| is_split(assignment, &assignments))
        .collect();
    for (assignment, _) in assignments
        .iter_mut()
        .zip(split)
        .filter(|(_, split)| *split)
    {
        assignment.keep_only_named();
    }
    let selected = assignments.iter().filter_map(|assignment| {
        let named = assignment
            .named
            .as_deref()
            .filter(|_| assignment.runs.len() > 1)?;
        Some((named, assignment.runs.len()))
    });
    let notes = repeats_taken(&selected.collect::<Vec<_>>());
    let mut priced_runs = Vec::new();
    for assignment in assignments {
        add(&mut priced_runs, assignment);
    }
    (priced_runs, notes)
}

/// Whether different runs of its variant are named for a different configuration. If the same runs are named, the
/// user prices one measurement with two configurations on purpose.
fn is_split(assignment: &RunAssignment, all: &[RunAssignment]) -> bool {
    let named_for = |configuration: (usize, usize)| -> BTreeSet<&str> {
        all.iter()
            .filter(|other| other.configuration == configuration)
            .flat_map(|other| other.named_runs_in(assignment))
            .collect()
    };
    let own = named_for(assignment.configuration);
    let mut others = all
        .iter()
        .filter(|other| other.configuration != assignment.configuration);
    assignment.named.is_some()
        && others.any(|other| {
            let named = named_for(other.configuration);
            !named.is_empty() && named != own
        })
}

/// Adds runs of a configuration; a run that is named several times counts once.
fn add(priced_runs: &mut Vec<PricedRun>, assignment: RunAssignment) {
    let (sheet, configuration) = assignment.configuration;
    for run in assignment.runs {
        let is_known = priced_runs.iter().any(|known| {
            (known.sheet, known.configuration) == (sheet, configuration)
                && !run.id.is_empty()
                && known.run.id == run.id
        });
        if !is_known {
            priced_runs.push(PricedRun {
                sheet,
                configuration,
                run,
            });
        }
    }
}

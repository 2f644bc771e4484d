//! Assigns runs to configurations.
//!
//! Resolves the names of runs to the runs of each configuration, with notes on the selection. A run that is named
//! for one configuration is never assigned to a different one because of its variant.

use super::PricedRun;
use prony_judge::price::repeat_selection_notes;
use prony_store::{Check, Run};
use std::collections::BTreeSet;

/// The runs that a name selects for a configuration.
pub(super) struct RunAssignment {
    /// Indexes of the sheet and of the configuration in it.
    pub position: (usize, usize),
    /// The id of the named run, if it also selects the repeats of its variant.
    pub named_run_id: Option<String>,
    /// The runs that the name selects.
    pub runs: Vec<Run>,
}

impl RunAssignment {
    /// Ids of the directly named runs that `other` also has.
    fn ids_of_named_runs_in<'a>(
        &'a self,
        other: &'a RunAssignment,
    ) -> impl Iterator<Item = &'a str> {
        let is_named = |run: &&Run| {
            let named_run_id = self.named_run_id.as_ref();
            named_run_id.is_none_or(|id| *id == run.id)
        };
        let ids = self.runs.iter().filter(is_named).map(|run| run.id.as_str());
        ids.filter(|id| !id.is_empty() && other.runs.iter().any(|run| run.id == *id))
    }

    /// Removes all runs except the named one.
    pub fn keep_only_named_run(&mut self) {
        if let Some(id) = self.named_run_id.take() {
            self.runs.retain(|run| run.id == id);
        }
    }
}

/// The runs of all configurations, each at most once per configuration, and notes on their selection.
pub(super) fn resolve_assignments(
    mut assignments: Vec<RunAssignment>,
) -> (Vec<PricedRun>, Vec<Check>) {
    let is_split_flags: Vec<bool> = assignments
        .iter()
        .map(|assignment| is_variant_split(assignment, &assignments))
        .collect();
    for (assignment, _) in assignments
        .iter_mut()
        .zip(is_split_flags)
        .filter(|(_, is_split)| *is_split)
    {
        assignment.keep_only_named_run();
    }
    let selected = assignments.iter().filter_map(|assignment| {
        let named_run_id = assignment
            .named_run_id
            .as_deref()
            .filter(|_| assignment.runs.len() > 1)?;
        Some((named_run_id, assignment.runs.len()))
    });
    let notes = repeat_selection_notes(&selected.collect::<Vec<_>>());
    let mut priced_runs = Vec::new();
    for assignment in assignments {
        add_runs(&mut priced_runs, assignment);
    }
    (priced_runs, notes)
}

/// Whether the repeats of the assignment's variant are split: other runs of the variant are named for another
/// configuration. If the same runs are named for both, the user prices one measurement with two
/// configurations on purpose.
fn is_variant_split(assignment: &RunAssignment, all: &[RunAssignment]) -> bool {
    let ids_named_for = |position: (usize, usize)| -> BTreeSet<&str> {
        all.iter()
            .filter(|other| other.position == position)
            .flat_map(|other| other.ids_of_named_runs_in(assignment))
            .collect()
    };
    let own_ids = ids_named_for(assignment.position);
    let mut others = all
        .iter()
        .filter(|other| other.position != assignment.position);
    assignment.named_run_id.is_some()
        && others.any(|other| {
            let ids = ids_named_for(other.position);
            !ids.is_empty() && ids != own_ids
        })
}

/// Adds runs of a configuration; a run that is named several times counts once.
fn add_runs(priced_runs: &mut Vec<PricedRun>, assignment: RunAssignment) {
    let (sheet_index, configuration_index) = assignment.position;
    for run in assignment.runs {
        let is_added = priced_runs.iter().any(|added| {
            (added.sheet_index, added.configuration_index) == (sheet_index, configuration_index)
                && !run.id.is_empty()
                && added.run.id == run.id
        });
        if !is_added {
            priced_runs.push(PricedRun {
                sheet_index,
                configuration_index,
                run,
            });
        }
    }
}

//! Assigns runs to configurations.
//!
//! Resolves the names of runs to the runs of each configuration, with notes on the selection. A run that is named
//! for one configuration is never assigned to a different one because of its variant.

use super::{ConfigurationPosition, PricedRun};
use prony_judge::price::repeat_selection_notes;
use prony_store::{Check, Run};
use std::collections::{BTreeMap, BTreeSet};

/// The runs that a name selects for a configuration.
pub(super) struct RunAssignment {
    pub position: ConfigurationPosition,
    /// The id of the named run, if it also selects the repeats of its variant.
    pub named_run_id: Option<String>,
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
    // All are decided before one is changed: each is compared with the others.
    let are_split: Vec<bool> = assignments
        .iter()
        .map(|assignment| is_variant_split(assignment, &assignments))
        .collect();
    for (assignment, is_split) in assignments.iter_mut().zip(are_split) {
        if is_split {
            assignment.keep_only_named_run();
        }
    }
    let selected = assignments.iter().filter_map(|assignment| {
        let named_run_id = assignment
            .named_run_id
            .as_deref()
            .filter(|_| assignment.runs.len() > 1)?;
        Some((named_run_id, assignment.runs.len()))
    });
    let notes = repeat_selection_notes(&selected.collect::<Vec<_>>());
    (distinct_runs(assignments), notes)
}

/// Whether the repeats of the assignment's variant are split: other runs of the variant are named for another
/// configuration. If the same runs are named for both, the user prices one measurement with two
/// configurations on purpose.
fn is_variant_split(assignment: &RunAssignment, all: &[RunAssignment]) -> bool {
    if assignment.named_run_id.is_none() {
        return false;
    }
    let mut ids_by_position: BTreeMap<ConfigurationPosition, BTreeSet<&str>> = BTreeMap::new();
    for other in all {
        let ids = ids_by_position.entry(other.position).or_default();
        ids.extend(other.ids_of_named_runs_in(assignment));
    }
    let own_ids = ids_by_position.remove(&assignment.position);
    let mut others = ids_by_position.into_values();
    others.any(|ids| !ids.is_empty() && Some(ids) != own_ids)
}

/// The runs of the assignments, in their order; a run that is named several times for a configuration counts once.
fn distinct_runs(assignments: Vec<RunAssignment>) -> Vec<PricedRun> {
    let mut added = BTreeSet::new();
    let mut priced_runs = Vec::new();
    for assignment in assignments {
        let position = assignment.position;
        for run in assignment.runs {
            if run.id.is_empty() || added.insert((position, run.id.clone())) {
                priced_runs.push(PricedRun { position, run });
            }
        }
    }
    priced_runs
}

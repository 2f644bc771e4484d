//! The steps of a load in parts that follow the rows: statistics, indexes, keys, and the final note.
//!
//! They are repeated if a load is continued, so each must find what an earlier load has already done.

use super::dataset::Dataset;
use super::procedure::LoadRun;
use crate::catalog::{self, RelationNames};
use crate::{LoadPhase, Result};
use prony_server::{Control, Target};

/// The share of a table's pages that VACUUM marks all-visible at least. From PostgreSQL 16, each loader may leave a few
/// empty pages, which it does not mark.
const MIN_ALL_VISIBLE_SHARE: f64 = 0.99;

impl<D: Dataset> LoadRun<'_, D> {
    /// Collects the planner's statistics of each table, the slowest first.
    pub(super) fn collect_statistics(&self, target: &Target, command: &str) -> Result<()> {
        self.loader.meter.enter_phase(LoadPhase::Statistics, "");
        let names = self.data.names_slowest_first().into_iter();
        let statements: Vec<String> = names.map(|name| format!("{command} {name}")).collect();
        self.execute_in_parallel(target, "collecting statistics", &statements)
    }

    /// Vacuums the tables once more whose pages are not all-visible. Concurrent statements, even new sessions, have
    /// snapshots for a moment, which are as old as the oldest transaction of any database: VACUUM then leaves the pages
    /// of younger rows unmarked.
    pub(super) fn vacuum_unmarked(&self, control: &mut Control) -> Result<()> {
        let names = self.data.names_slowest_first();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for entry in catalog::read_entries(control, &RelationNames::Listed(names))? {
            let marked = entry.facts.all_visible_share.unwrap_or(1.0);
            if marked < MIN_ALL_VISIBLE_SHARE {
                let statement = format!("vacuum {}", entry.facts.name);
                self.loader
                    .execute(control, "collecting statistics", &statement)?;
            }
        }
        Ok(())
    }

    pub(super) fn build_indexes(&self, control: &mut Control, target: &Target) -> Result<()> {
        self.loader.meter.enter_phase(LoadPhase::Keys, "");
        let existing = catalog::read_indexes(control)?;
        let mut missing = self.data.indexes();
        missing.retain(|index| !existing.contains_key(&(index.table.clone(), index.name.clone())));
        let missing: Vec<String> = missing
            .into_iter()
            .filter_map(|index| index.build)
            .collect();
        self.execute_in_parallel(target, "building the keys and indexes", &missing)
    }

    /// Attaches the primary keys, and records in the note that the load has finished.
    pub(super) fn finish(&self, control: &mut Control) -> Result<()> {
        let existing = catalog::read_indexes(control)?;
        let mut keys = self.data.indexes();
        keys.retain(|index| {
            existing.get(&(index.table.clone(), index.name.clone())) != Some(&true)
        });
        let attach = keys.into_iter().filter_map(|index| index.attach);
        let statements: Vec<String> = attach.chain(self.data.finish_statements()).collect();
        self.execute_in_batches(control, "making the primary keys", &statements)
    }
}

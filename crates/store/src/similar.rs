//! The error for a name that no run has, which suggests the most similar id or label.

use crate::error::{StoreError, printable};
use crate::filter::RunFilter;
use crate::store::RunStore;
use prony_plan::suggest::nearest;

impl RunStore {
    pub(crate) fn not_found(&self, name: &str) -> StoreError {
        let runs = self.list(&RunFilter::default()).map(|listing| listing.runs);
        let runs = runs.unwrap_or_default();
        let labels = runs
            .iter()
            .filter_map(|run| run.annotation.label.as_deref());
        let mut known: Vec<&str> = runs
            .iter()
            .map(|run| run.id.as_str())
            .chain(labels)
            .collect();
        if !runs.is_empty() {
            known.push("last");
        }
        StoreError::NotFound {
            name: printable(name),
            similar: nearest(name, &known).map(printable),
        }
    }
}

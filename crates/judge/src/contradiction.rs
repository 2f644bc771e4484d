//! Whether figures of a document contradict one another.
//!
//! In: a Run. Out: `contradiction`. Must never: name a document that Prony writes.

use crate::new_check;
use prony_store::{Check, Run, Severity};

/// The check that names figures of a document that contradict one another.
const CONTRADICTION: &str = "contradiction";

/// The finding that figures of the document contradict one another, once it was judged; `None` if they do not.
pub fn contradiction(run: &Run) -> Option<&Check> {
    run.checks.iter().find(|check| check.id == CONTRADICTION)
}

/// Adds the finding `contradiction` if figures of the document contradict one another.
pub(crate) fn add_finding(run: &mut Run) {
    let contradictions = prony_store::contradictions(run);
    if contradictions.is_empty() {
        return;
    }
    run.checks.retain(|check| check.id != CONTRADICTION);
    let finding = new_check(
        CONTRADICTION,
        Severity::Invalid,
        format!(
            "The document contradicts itself: {}.",
            contradictions.join("; ")
        ),
        "It was changed after it was written, or is damaged: use the original, or measure again.",
    );
    run.checks.splice(0..0, finding);
}

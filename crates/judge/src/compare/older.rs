//! Settings that only the newer of two documents records.
//!
//! In: two Runs. Out: which Run's document is too old to have the setting. Must never: call a value unknown
//! that a document of the same age would have.

use super::rules::UNKNOWN;
use prony_store::Run;

/// Printed as the value of a setting that a Run lacks and the other Run has.
pub(super) const NOT_SET: &str = "not set";

/// Why it does not matter that only the newer document has a setting.
pub(super) const WHY_NEWER_SETTING: &str = "the older document does not record this setting";

/// Index of the Run that lacks a setting because its document is older than the other's. `missing`: whether
/// each Run lacks the setting.
pub(super) fn unknown_in_older(runs: [&Run; 2], missing: [bool; 2]) -> Option<usize> {
    let [version_a, version_b] = runs.map(document_version);
    match missing {
        [true, false] if version_a < version_b => Some(0),
        [false, true] if version_b < version_a => Some(1),
        _ => None,
    }
}

/// Replaces the value at the index `unknown` by [`UNKNOWN`].
pub(super) fn unknown_values(mut values: [String; 2], unknown: usize) -> [String; 2] {
    values[unknown] = UNKNOWN.to_owned();
    values
}

/// The versions of a document's schema and of the Prony that wrote it, as numbers.
pub(super) fn document_version(run: &Run) -> [Vec<u32>; 2] {
    let numbers = |version: &str| {
        let parts = version.split(['.', '-', '+']);
        parts.map_while(|part| part.parse().ok()).collect()
    };
    [numbers(&run.schema_version.0), numbers(&run.build.version)]
}

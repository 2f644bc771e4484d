//! Settings that only the newer of two documents records.
//!
//! In: two Runs. Out: which of them cannot have the setting. Must never: call a value unknown that a document of the
//! same age would have.

use super::rules::UNKNOWN;
use prony_store::Run;

/// The value of a setting that the other Run has.
pub(super) const NOT_SET: &str = "not set";

/// Why a setting of a newer document does not matter.
pub(super) const NEWER_SETTING: &str = "the older document does not record this setting";

/// Which of two Runs lacks a setting because its document is older than the other's.
pub(super) fn unknown_in_older(runs: [&Run; 2], missing: [bool; 2]) -> Option<usize> {
    let [version_a, version_b] = runs.map(document_version);
    match missing {
        [true, false] if version_a < version_b => Some(0),
        [false, true] if version_b < version_a => Some(1),
        _ => None,
    }
}

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

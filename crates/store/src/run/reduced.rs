//! Documents in which the seconds of a long run are merged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The full document from which a document was reduced. A page embeds reduced documents of long runs.
///
/// Consecutive rows of `series`, of `observed.series` and of `histograms` are merged. Counts are sums, times
/// over the run keep their meaning for the longer rows, and connections are the lowest of their rows. Figures
/// of the warm-up and the window are those of the full document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReducedFrom {
    /// SHA-256 of the full document, in hexadecimal.
    pub sha256: String,
    /// Number of rows in its `series`.
    pub series_rows: u64,
    /// Number of rows in its `observed.series`.
    pub observed_rows: u64,
    /// Number of intervals of its `histograms`.
    pub histogram_intervals: u64,
}

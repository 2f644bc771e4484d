//! A run beside the published scenario that it reproduces, in words.

use super::comparison::ratio_as_change;
use crate::text::plain;
use crate::units::{self, or_dash};
use prony_judge::reproduced::{CacheObservation, ComparedFigure};
use prony_store::scenario::{CachedShare, Scenario};

pub(crate) const NO_FIGURE_NOTE: &str = "The document has no figure for this scenario.";
pub(crate) const NO_DIFFERENCE_NOTE: &str = "No difference from the document was found.";
pub(crate) const DIFFERENCES_HEADING: &str = "Why they differ: these conditions were different.";

pub(crate) fn source_line(scenario: &Scenario) -> String {
    let Scenario {
        title,
        source,
        source_location,
        ..
    } = scenario;
    plain(&format!("{title}. {source}: {source_location}."))
}

/// The cells of a row: name, published, measured, deviation and unit.
pub(crate) fn deviation_cells(deviation: &ComparedFigure) -> [String; 5] {
    // The same format as in a comparison: digits of large deviations would be false precision.
    let format_change = |change: f64| ratio_as_change(1.0 + change);
    [
        plain(&deviation.name),
        or_dash(deviation.published, |value| {
            units::value_or_range(value, deviation.published_high)
        }),
        deviation
            .measured
            .map_or("not known".to_owned(), units::rate),
        or_dash(deviation.change, format_change),
        plain(&deviation.unit),
    ]
}

/// Why there is no deviation from the published figures; `None` if there is one.
pub(crate) fn not_comparable_sentence(subject: &str, reasons: &[&str]) -> Option<String> {
    let reasons = reasons.join(", ");
    let sentence = || {
        format!(
            "Not comparable with the published figures: {subject} had {reasons} than published."
        )
    };
    (!reasons.is_empty()).then(sentence)
}

pub(crate) fn cache_sentence(requested: &CachedShare, observed: &CacheObservation) -> String {
    let data = if observed.whole_database {
        "the whole database, including other tables,"
    } else {
        "the data"
    };
    let verdict = match observed.is_as_requested {
        Some(true) => "That matches the request.",
        Some(false) => "That does not match the request.",
        None => "Whether that matches the request is unknown.",
    };
    plain(&format!(
        "{} was requested. Of {data} of {}, {} fit into {} ({}), and {} into the server's own cache, \
         in which {} of the pages were found. {verdict}",
        units::percent_with_tenths(requested.share),
        units::or_unknown(observed.data_bytes, units::bytes),
        units::or_unknown(observed.share, units::percent_with_tenths),
        requested.of,
        units::bytes(requested.of_bytes),
        units::or_unknown(observed.server_cache_share, units::percent_with_tenths),
        units::or_unknown(observed.hit_ratio, units::percent_with_tenths),
    ))
}

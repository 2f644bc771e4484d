//! A run beside the published scenario that it reproduces.
//!
//! In: a Run with its scenario, and `judge`'s comparison of the two. Out: published and measured
//! figures, and the differences in set-up. Must never: print a deviation without these differences.

use crate::printer::Printer;
use crate::table::Table;
use crate::text::plain;
use crate::text::scenario::{
    DIFFERENCES_HEADING, NO_DIFFERENCE_NOTE, NO_FIGURE_NOTE, cache_sentence, deviation_cells,
    not_comparable_sentence, source_line,
};
use prony_judge::reproduced::{cache_observation, deviations, differences, not_comparable_by};
use prony_store::Run;
use prony_store::scenario::Scenario;
use std::io;

/// Maximum width of a table cell, in characters; longer text is wrapped.
const MAX_CELL_WIDTH: usize = 34;

/// Writes the comparison with the scenario, and whether the requested share of the data fits into memory;
/// nothing if the run has neither.
pub fn write(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    if let Some(scenario) = &run.scenario {
        write_scenario(out, run, scenario)?;
    }
    if let (Some(requested), Some(observed)) = (&run.cached, cache_observation(run)) {
        out.heading("Requested cached share")?;
        out.paragraph(&cache_sentence(requested, &observed))?;
    }
    Ok(())
}

fn write_scenario(out: &mut Printer<'_>, run: &Run, scenario: &Scenario) -> io::Result<()> {
    let id = plain(&scenario.id);
    out.heading(&format!("Compared with the scenario {id}"))?;
    out.paragraph(&source_line(scenario))?;
    let mut table = Table::new(&["", "published", "measured", "deviation"]).with_texts(&["unit"]);
    for deviation in &deviations(run) {
        table.row(deviation_cells(deviation));
    }
    if table.is_empty() {
        out.paragraph(NO_FIGURE_NOTE)?
    } else {
        out.table(&table)?
    }
    out.paragraphs(not_comparable_sentence("this run", &not_comparable_by(run)))?;
    for note in &scenario.notes {
        out.paragraph(&plain(note))?;
    }
    write_differences(out, run)
}

/// Writes the differences in set-up side by side.
fn write_differences(out: &mut Printer<'_>, run: &Run) -> io::Result<()> {
    let differences = differences(run);
    if differences.is_empty() {
        return out.paragraph(NO_DIFFERENCE_NOTE);
    }
    out.line("")?;
    out.paragraph(DIFFERENCES_HEADING)?;
    let mut table = Table::new(&[""]).with_texts(&["published", "here"]);
    for difference in &differences {
        let texts = [&difference.published, &difference.measured].map(|text| plain(text));
        table.wrapped_row(difference.what, &texts, MAX_CELL_WIDTH);
    }
    out.table(&table)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sample_run::{closed, written};
    use prony_assertions::TextAssertions;
    use prony_judge::reproduced::{CacheObservation, ComparedFigure};
    use prony_store::scenario::{CachedShare, OriginalSetup, PublishedFigure, PublishedSetup};

    pub(crate) fn run_with_scenario() -> Run {
        let mut run = closed();
        run.scenario = Some(Scenario {
            id: "tpcb-cached\u{1b}[31m".to_owned(),
            title: "TPC-B-like, all data cached".to_owned(),
            source: "AlloyDB-2023".to_owned(),
            source_location: "summary".to_owned(),
            published: vec![PublishedFigure {
                name: prony_store::PublishedMetric::Tps,
                value: 20_359.0,
                high: None,
                unit: "transactions/s".to_owned(),
            }],
            original: OriginalSetup {
                setup: PublishedSetup {
                    product: "AlloyDB for PostgreSQL".to_owned(),
                    ..PublishedSetup::default()
                },
                clients: Some(256),
                data: Some("4,000 branches".to_owned()),
                ..OriginalSetup::default()
            },
            size_share: 0.001,
            ..Scenario::default()
        });
        run
    }

    fn section_text(run: &Run) -> String {
        let style = crate::Style::plain();
        written(|out| write(&mut Printer::new(out, &style), run))
    }

    #[test]
    fn deviations_and_differences_are_shown_together() {
        let mut run = run_with_scenario();
        let text = section_text(&run);
        let reason = "Not comparable with the published figures: this run had less data, fewer clients than published.";
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(reason), "{text}");
        text.assert_contains("27,700").assert_lacks("+36.1 %");
        let scenario = run.scenario.as_mut().expect("a scenario");
        (scenario.size_share, scenario.original.clients) = (1.0, Some(32));
        let text = section_text(&run);
        // 27,700 against 20,359.
        text.assert_contains("+36.1 %");
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(
            lines
                .iter()
                .any(|line| line == "clients 32 clients 64 clients"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        text.assert_lacks("Requested cached share");
    }

    #[test]
    fn large_deviations_are_formatted_as_in_a_comparison() {
        for (measured, expected) in [
            (49.484, "over +1,000 %"),
            (1.5, "+50.0 %"),
            (0.5, "-50.0 %"),
        ] {
            let cells = deviation_cells(&ComparedFigure {
                name: "latency mean".to_owned(),
                unit: "ms".to_owned(),
                published: Some(1.0),
                published_high: None,
                range: None,
                measured: Some(measured),
                change: Some(measured - 1.0),
            });
            assert_eq!(cells[3], expected);
        }
    }

    #[test]
    fn a_share_of_the_whole_database_is_described_as_such() {
        let requested = CachedShare {
            share: 0.3,
            ..CachedShare::default()
        };
        let mut observed = CacheObservation {
            data_bytes: Some(242_000_000),
            whole_database: true,
            share: Some(0.3),
            server_cache_share: None,
            hit_ratio: None,
            is_as_requested: None,
        };
        let text = cache_sentence(&requested, &observed);
        text.assert_contains("Of the whole database, ");
        text.assert_contains("of 242 MB");
        observed.whole_database = false;
        cache_sentence(&requested, &observed).assert_contains("Of the data of 242 MB, 30.0 %");
    }

    #[test]
    fn a_run_without_a_scenario_has_no_section() {
        assert_eq!(section_text(&closed()), "");
    }

    #[test]
    fn the_cached_share_is_reported_with_and_without_a_scenario() {
        for mut run in [run_with_scenario(), closed()] {
            run.cached = Some(CachedShare {
                share: 0.3,
                of: "shared_buffers".to_owned(),
                of_bytes: 128_000_000,
            });
            let text = section_text(&run);
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains("30.0 % was requested."), "{text}");
            assert!(flat.contains("into shared_buffers (128 MB)"), "{text}");
            assert!(flat.contains("matches the request is unknown"), "{text}");
        }
    }
}

//! The published scenario that a run reproduces.
//!
//! In: a Run with its scenario. Out: published and measured figures, and the differences in set-up, below
//! the verdict. Must never: show a deviation without these differences.

use super::table::{end_table, start_table, write_row, write_text_row};
use super::write_paragraphs;
use crate::html::markup::{Html, writeln_markup};
use crate::text::plain;
use crate::text::scenario::{
    DIFFERENCES_HEADING, NO_DIFFERENCE_NOTE, NO_FIGURE_NOTE, cache_sentence, deviation_cells,
    not_comparable_sentence, source_line,
};
use prony_judge::reproduced::{cache_observation, deviations, differences, not_comparable_by};
use prony_store::Run;
use prony_store::scenario::Scenario;
use std::fmt;

/// Writes the comparison with the scenario, and whether the requested share of the data fits into memory;
/// nothing if the run has neither.
pub fn write(out: &mut Html, run: &Run) -> fmt::Result {
    if let Some(scenario) = &run.scenario {
        write_scenario(out, run, scenario)?;
    }
    if let (Some(requested), Some(observed)) = (&run.cached, cache_observation(run)) {
        let text = cache_sentence(requested, &observed);
        writeln_markup!(
            out,
            "<p><strong>Requested cached share.</strong> {}</p>",
            text
        )?;
    }
    Ok(())
}

fn write_scenario(out: &mut Html, run: &Run, scenario: &Scenario) -> fmt::Result {
    let id = plain(&scenario.id);
    let source = source_line(scenario);
    writeln_markup!(
        out,
        "<p><strong>Compared with the scenario {}.</strong> {}</p>",
        id,
        source
    )?;
    let deviations = deviations(run);
    if deviations.is_empty() {
        writeln_markup!(out, "<p>{}</p>", NO_FIGURE_NOTE)?;
    } else {
        let columns = ["figure", "published", "measured", "deviation", "unit"];
        start_table(out, "Published and measured", &columns)?;
        for deviation in &deviations {
            let cells = deviation_cells(deviation);
            write_row(out, &cells[0], &cells[1..])?;
        }
        end_table(out)?;
    }
    write_paragraphs(
        out,
        not_comparable_sentence("this run", &not_comparable_by(run)),
    )?;
    write_paragraphs(out, scenario.notes.iter().map(|note| plain(note)))?;
    let differences = differences(run);
    if differences.is_empty() {
        return writeln_markup!(out, "<p>{}</p>", NO_DIFFERENCE_NOTE);
    }
    start_table(
        out,
        DIFFERENCES_HEADING,
        &["what differs", "published", "this run"],
    )?;
    for difference in &differences {
        let cells = [difference.what, &difference.published, &difference.measured];
        write_text_row(out, &cells)?;
    }
    end_table(out)
}

#[cfg(test)]
mod tests {
    use crate::html::verify;
    use crate::sample_run::{closed, test_build, written};
    use crate::terminal::reproduced::tests::run_with_scenario;
    use prony_assertions::TextAssertions;
    use prony_store::Run;
    use prony_store::scenario::CachedShare;

    fn page_of(run: &Run) -> String {
        written(|out| crate::html::write(out, std::slice::from_ref(run), None, &test_build()))
    }

    #[test]
    fn the_published_figures_and_differences_are_in_the_verdict_section() {
        let mut run = run_with_scenario();
        run.cached = Some(CachedShare {
            share: 0.3,
            of: "shared_buffers".to_owned(),
            of_bytes: 128_000_000,
        });
        let scenario = run.scenario.as_mut().unwrap();
        scenario.title = "<b>TPC-B</b>".to_owned();
        scenario.notes = vec!["said </p><script>of it".to_owned()];
        let page = page_of(&run);
        let start = page.find("id=\"verdict-1\"").unwrap();
        let end = page.find("id=\"time-1\"").unwrap();
        let verdict = &page[start..end];
        for expected in [
            "Compared with the scenario tpcb-cached",
            "&lt;b&gt;TPC-B&lt;/b&gt;. AlloyDB-2023: summary.",
            "<td>20,359</td>",
            "this run had less data, fewer clients than published.",
            "<th scope=\"row\">clients</th><td>256 clients</td><td>64 clients</td>",
            "Why they differ",
            "said &lt;/p&gt;&lt;script&gt;of it",
            "30.0 % was requested.",
        ] {
            verdict.assert_contains(expected);
        }
        assert!(verify(&page, &test_build()).is_ok());
    }

    #[test]
    fn a_run_without_a_scenario_has_no_comparison() {
        page_of(&closed()).assert_lacks("Compared with the scenario");
    }
}

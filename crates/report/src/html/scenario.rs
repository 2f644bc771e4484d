//! The published scenario that a run reproduces.
//!
//! In: a Run with its scenario. Out: published and measured figures, and the differences in set-up, below
//! the verdict. Must never: show a deviation without these differences.

use super::escape::Escaped;
use super::table::{end, row, table, text_row};
use crate::reproduced::{
    DIFFERENCES_HEADING, NO_FIGURE, NOTHING_DIFFERS, cache_sentence, cells, source_line,
};
use crate::text::plain;
use prony_judge::reproduced::{cache_observation, deviations, differences};
use prony_store::Run;
use prony_store::scenario::Scenario;
use std::fmt::{self, Write};

/// Writes the comparison with the scenario, and whether the cached share is as requested; nothing if the
/// run has neither.
pub fn write(out: &mut String, run: &Run) -> fmt::Result {
    if let Some(scenario) = &run.scenario {
        write_scenario(out, run, scenario)?;
    }
    if let (Some(requested), Some(observed)) = (&run.cached, cache_observation(run)) {
        let text = Escaped(cache_sentence(requested, &observed));
        writeln!(
            out,
            "<p><strong>Requested cached share.</strong> {text}</p>"
        )?;
    }
    Ok(())
}

fn write_scenario(out: &mut String, run: &Run, scenario: &Scenario) -> fmt::Result {
    let id = Escaped(plain(&scenario.id));
    let source = Escaped(source_line(scenario));
    writeln!(
        out,
        "<p><strong>Against the scenario {id}.</strong> {source}</p>"
    )?;
    let deviations = deviations(run);
    if deviations.is_empty() {
        writeln!(out, "<p>{NO_FIGURE}</p>")?;
    } else {
        let columns = ["figure", "published", "measured", "deviation", "unit"];
        table(out, "Published and measured", &columns)?;
        for deviation in &deviations {
            let cells = cells(deviation);
            row(out, Escaped(&cells[0]), &cells[1..])?;
        }
        end(out)?;
    }
    for note in &scenario.notes {
        writeln!(out, "<p>{}</p>", Escaped(plain(note)))?;
    }
    let differences = differences(run);
    if differences.is_empty() {
        return writeln!(out, "<p>{NOTHING_DIFFERS}</p>");
    }
    table(
        out,
        DIFFERENCES_HEADING,
        &["what differs", "published", "here"],
    )?;
    for difference in &differences {
        let cells = [difference.what, &difference.published, &difference.measured];
        text_row(out, &cells)?;
    }
    end(out)
}

#[cfg(test)]
mod tests {
    use crate::html::verify;
    use crate::reproduced::tests::sample;
    use crate::sample_run::{closed, test_build};
    use prony_store::Run;
    use prony_store::scenario::CachedShare;

    fn page(run: &Run) -> String {
        let mut out = Vec::new();
        crate::html::write(&mut out, std::slice::from_ref(run), None, &test_build()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_published_figures_and_differences_are_in_the_verdict_section() {
        let mut run = sample();
        run.cached = Some(CachedShare {
            share: 0.3,
            of: "shared_buffers".to_owned(),
            of_bytes: 128_000_000,
        });
        let scenario = run.scenario.as_mut().unwrap();
        scenario.title = "<b>TPC-B</b>".to_owned();
        scenario.notes = vec!["said </p><script>of it".to_owned()];
        let page = page(&run);
        let (from, to) = (
            page.find("id=\"verdict-1\"").unwrap(),
            page.find("id=\"time-1\"").unwrap(),
        );
        let verdict = &page[from..to];
        for expected in [
            "Against the scenario tpcb-cached",
            "&lt;b&gt;TPC-B&lt;/b&gt;. AlloyDB-2023: summary.",
            "<td>20,359</td>",
            "<td>+36.1 %</td>",
            "<th scope=\"row\">clients</th><td>256 clients</td><td>64 clients</td>",
            "Why they differ",
            "said &lt;/p&gt;&lt;script&gt;of it",
            "30.0 % was requested.",
        ] {
            assert!(verdict.contains(expected), "{expected}:\n{verdict}");
        }
        assert!(verify(&page, &test_build()).is_ok());
    }

    #[test]
    fn a_run_without_a_scenario_has_no_comparison() {
        assert!(!page(&closed()).contains("Against the scenario"));
    }
}

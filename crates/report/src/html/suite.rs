//! The rows of a suite of scenarios, on a page with its runs.
//!
//! In: documents, and `judge`'s summary of them. Out: a table of published and measured figures, and the curve over
//! machines as a drawing and a table. Must never: show a deviation of a row that was smaller or shorter than published.

use super::document::Document;
use super::sweep;
use super::table::write_table;
use super::write_paragraphs;
use crate::html::markup::Html;
use crate::suite::{summary_sentences, summary_table};
use crate::text::plain;
use prony_judge::reproduced::suite_summary;
use prony_store::Run;
use std::fmt;

/// Writes the rows, if the first run is one of a suite.
pub fn write(out: &mut Html, documents: &[Document]) -> fmt::Result {
    let runs: Vec<&Run> = documents.iter().map(|document| &document.run).collect();
    let Some(summary) = suite_summary(&runs) else {
        return Ok(());
    };
    let caption = format!("The suite {}: {}", plain(&summary.id), summary.title);
    write_table(out, &caption, &summary_table(&summary))?;
    write_paragraphs(out, summary_sentences(&summary))?;
    match &summary.scaling {
        Some(scaling) => sweep::write_points(out, scaling),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::verify;
    use crate::sample_run::{test_build, written};
    use crate::suite::tests::run_in_suite;
    use prony_assertions::TextAssertions;
    use prony_store::{ExperimentKind, SuiteRequest};

    #[test]
    fn a_page_of_a_suite_has_its_rows_and_does_not_compare_them_with_each_other() {
        let mut second = run_in_suite(0.5);
        second.id += "-2";
        let other = "other".to_owned();
        second.scenario.as_mut().unwrap().id.clone_from(&other);
        second.experiment.as_mut().unwrap().variant = other;
        let runs = [run_in_suite(1.0), second];
        let page = written(|out| crate::html::write(out, &runs, None, &test_build()));
        for part in [
            "The suite alloydb-16: order entry",
            "<td>+36.1 %</td>",
            "<td>not comparable</td>",
            "as &lt;published&gt;",
        ] {
            page.assert_contains(part);
        }
        assert!(
            !page.contains("against tpcb-cached"),
            "no comparison of rows"
        );
        assert!(verify(&page, &test_build()).is_ok());
    }

    #[test]
    fn a_suite_over_machines_has_a_curve() {
        let row = |cpus: u32, tps: f64| {
            let mut run = run_in_suite(1.0);
            run.experiment.as_mut().unwrap().kind = ExperimentKind::Suite(SuiteRequest {
                id: "alloydb-select-only".to_owned(),
                request: "as published".to_owned(),
            });
            run.observed.get_or_insert_default().machine.cpus = Some(cpus);
            run.measured.kinds[0].tps = tps;
            run
        };
        let drawn = |runs: &[Run]| {
            let summary = suite_summary(runs).expect("a suite");
            let mut out = Html::default();
            sweep::write_points(&mut out, &summary.scaling.expect("a curve")).expect("text");
            out.into_string()
        };
        let curve = drawn(&[row(2, 10_000.0), row(8, 30_000.0)]);
        for part in [
            "<figcaption id=\"sweep-t\">",
            "in proportion to the smallest machine",
            "<title>8 CPUs: 30,000</title>",
            "<td>75 %</td>",
        ] {
            curve.assert_contains(part);
        }
        assert!(
            !drawn(&[row(2, 10_000.0)]).contains("<figure>"),
            "one machine is no curve"
        );
    }
}

//! The published scenario that a run repeats.
//!
//! In: a Run with its scenario. Out: published against measured, and what is different here, below the
//! verdict. Must never: show a deviation without the differences beside it.

use super::escape::Text;
use super::one::{end, table, words};
use crate::reproduced::{NO_FIGURE, NOTHING_DIFFERS, WHY, cache, cells, published_where};
use crate::text::plain;
use prony_judge::reproduced::{cached, deviations, differences};
use prony_store::Run;
use prony_store::scenario::Scenario;
use std::fmt::{self, Write};

/// Writes it, and whether as much was cached as was asked for; nothing for a run that is about neither.
pub fn write(out: &mut String, run: &Run) -> fmt::Result {
    if let Some(scenario) = &run.scenario {
        against(out, run, scenario)?;
    }
    if let (Some(asked), Some(seen)) = (&run.cached, cached(run)) {
        let text = Text(cache(asked, &seen));
        writeln!(out, "<p><strong>Cached, as asked for.</strong> {text}</p>")?;
    }
    Ok(())
}

fn against(out: &mut String, run: &Run, scenario: &Scenario) -> fmt::Result {
    let id = Text(plain(&scenario.id));
    let place = Text(published_where(scenario));
    writeln!(
        out,
        "<p><strong>Against the scenario {id}.</strong> {place}</p>"
    )?;
    let found = deviations(run);
    if found.is_empty() {
        writeln!(out, "<p>{NO_FIGURE}</p>")?;
    } else {
        let columns = ["figure", "published", "measured", "deviation", "unit"];
        table(out, "Published and measured", &columns)?;
        for one in &found {
            let [name, published, measured, change, unit] = cells(one).map(Text);
            writeln!(
                out,
                "<tr><th scope=\"row\">{name}</th><td>{published}</td><td>{measured}</td>\
                 <td>{change}</td><td>{unit}</td></tr>"
            )?;
        }
        end(out);
    }
    for note in &scenario.notes {
        writeln!(out, "<p>{}</p>", Text(plain(note)))?;
    }
    let found = differences(run);
    if found.is_empty() {
        return writeln!(out, "<p>{NOTHING_DIFFERS}</p>");
    }
    table(out, WHY, &["what differs", "published", "here"])?;
    for one in &found {
        words(out, &[one.what, &one.published, &one.here])?;
    }
    end(out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::html::verify;
    use crate::reproduced::tests::sample;
    use crate::sample_run::closed;
    use prony_store::Run;
    use prony_store::scenario::Cached;

    fn page(run: &Run) -> String {
        let mut out = Vec::new();
        crate::html::write(&mut out, std::slice::from_ref(run)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_published_figure_the_deviation_and_the_differences_stand_by_the_verdict() {
        let mut run = sample();
        run.cached = Some(Cached {
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
        for words in [
            "Against the scenario tpcb-cached",
            "&lt;b&gt;TPC-B&lt;/b&gt;. AlloyDB-2023: summary.",
            "<td>20,359</td>",
            "<td>+36.1 %</td>",
            "<th scope=\"row\">clients</th><td>256 clients</td><td>64 clients</td>",
            "Why they differ",
            "said &lt;/p&gt;&lt;script&gt;of it",
            "30.0 % was asked for.",
        ] {
            assert!(verdict.contains(words), "{words}:\n{verdict}");
        }
        assert!(verify(&page).is_ok());
    }

    #[test]
    fn a_run_of_its_own_is_held_against_nothing() {
        assert!(!page(&closed()).contains("Against the scenario"));
    }
}

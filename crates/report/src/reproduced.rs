//! A run beside the published scenario that it repeats.
//!
//! In: a Run with its scenario, and what `judge` makes of it. Out: published against measured, and what
//! is different here. Must never: print a deviation without the differences beside it.

use crate::compare::signed;
use crate::style::Style;
use crate::table::Table;
use crate::terminal::{heading, paragraph};
use crate::text::{plain, wrap};
use crate::units;
use prony_judge::reproduced::{CachedSeen, Deviation, cached, deviations, differences};
use prony_store::Run;
use prony_store::scenario::{Cached, Scenario};
use std::io::{self, Write};

/// The widest cell of a difference; a longer text goes on below.
const CELL: usize = 34;
pub(crate) const NO_FIGURE: &str = "The document has no figure for this row.";
pub(crate) const NOTHING_DIFFERS: &str = "Nothing that was looked at differs from the document.";
pub(crate) const WHY: &str = "Why they differ: this run was another one.";

/// Writes it, and whether as much was cached as was asked for; nothing for a run that is about neither.
pub fn write(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    if let Some(scenario) = &run.scenario {
        against(out, style, run, scenario)?;
    }
    if let (Some(asked), Some(seen)) = (&run.cached, cached(run)) {
        heading(out, style, "Cached, as asked for")?;
        paragraph(out, style, &cache(asked, &seen))?;
    }
    Ok(())
}

fn against(out: &mut dyn Write, style: &Style, run: &Run, scenario: &Scenario) -> io::Result<()> {
    heading(
        out,
        style,
        &format!("Against the scenario {}", plain(&scenario.id)),
    )?;
    paragraph(out, style, &published_where(scenario))?;
    let found = deviations(run);
    if found.is_empty() {
        paragraph(out, style, NO_FIGURE)?;
    } else {
        figures(out, style, &found)?;
    }
    let notes = scenario.notes.iter();
    for note in notes {
        paragraph(out, style, &plain(note))?;
    }
    why(out, style, run)
}

/// What the scenario is, and where its figures stand.
pub(crate) fn published_where(scenario: &Scenario) -> String {
    let Scenario {
        title,
        source,
        place,
        ..
    } = scenario;
    plain(&format!("{title}. {source}: {place}."))
}

/// A figure as a row: its name, published, measured, the deviation, and the unit.
pub(crate) fn cells(one: &Deviation) -> [String; 5] {
    // In the words of a comparison: far off, digits would only pretend.
    let change = |change: f64| signed(1.0 + change);
    [
        plain(&one.name),
        units::rate(one.published),
        one.measured.map_or("not known".to_owned(), units::rate),
        one.change.map_or("–".to_owned(), change),
        plain(&one.unit),
    ]
}

fn figures(out: &mut dyn Write, style: &Style, found: &[Deviation]) -> io::Result<()> {
    let mut table = Table::new(&["", "published", "measured", "deviation", "unit<"]);
    for one in found {
        table.row(cells(one));
    }
    table.write(out, style, 2)
}

/// What differs, side by side.
fn why(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let found = differences(run);
    if found.is_empty() {
        return paragraph(out, style, NOTHING_DIFFERS);
    }
    writeln!(out)?;
    paragraph(out, style, WHY)?;
    let mut table = Table::new(&["", "published<", "here<"]);
    for one in &found {
        let cells = [&one.published, &one.here].map(|text| wrap(&plain(text), CELL));
        for line in 0..cells[0].len().max(cells[1].len()).max(1) {
            let part = |cell: &[String]| cell.get(line).cloned().unwrap_or_default();
            let what = if line == 0 { one.what } else { "" };
            table.row([what.to_owned(), part(&cells[0]), part(&cells[1])]);
        }
    }
    table.write(out, style, 2)
}

/// Whether as much was cached as was asked for.
pub(crate) fn cache(asked: &Cached, seen: &CachedSeen) -> String {
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let data = match seen.whole_database {
        true => "the whole database, whose other tables cannot be told apart,",
        false => "the data",
    };
    let verdict = match seen.fits {
        Some(true) => "That is what was asked for.",
        Some(false) => "That is not what was asked for.",
        None => "Whether that is what was asked for cannot be said.",
    };
    plain(&format!(
        "{} was asked for. Of {data} of {}, {} fit into {} ({}), and {} into the server's own cache, \
         where {} of the pages were found. {verdict}",
        share(asked.share),
        units::known(seen.data_bytes, units::bytes),
        units::known(seen.share, share),
        asked.of,
        units::bytes(asked.of_bytes),
        units::known(seen.holds, share),
        units::known(seen.hit_ratio, share),
    ))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_store::scenario::{Original, Published};

    pub(crate) fn sample() -> Run {
        let mut run = closed();
        run.scenario = Some(Scenario {
            id: "tpcb-cached\u{1b}[31m".to_owned(),
            title: "TPC-B-like, all data cached".to_owned(),
            source: "AlloyDB-2023".to_owned(),
            place: "summary".to_owned(),
            published: vec![Published {
                name: "TPS".to_owned(),
                value: 20_359.0,
                unit: "transactions/s".to_owned(),
            }],
            original: Original {
                product: "AlloyDB for PostgreSQL".to_owned(),
                clients: Some(256),
                data: Some("4,000 branches".to_owned()),
                ..Original::default()
            },
            shrink: 0.001,
            ..Scenario::default()
        });
        run
    }

    fn shown(run: &Run) -> String {
        let mut out = Vec::new();
        write(&mut out, &Style::plain(), run).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn deviation_and_differences_stand_together() {
        let text = shown(&sample());
        // 27,700 against 20,359.
        assert!(text.contains("+36.1 %"), "{text}");
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(
            lines
                .iter()
                .any(|line| line == "clients 256 clients 64 clients"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(
            text.lines().all(|line| line.chars().count() <= 100),
            "{text}"
        );
        assert!(!text.contains("Cached"), "{text}");
    }

    #[test]
    fn what_is_far_off_is_told_in_the_words_of_a_comparison() {
        for (measured, told) in [
            (49.484, "over +1,000 %"),
            (1.5, "+50.0 %"),
            (0.5, "-50.0 %"),
        ] {
            let cells = cells(&Deviation {
                name: "latency mean".to_owned(),
                unit: "ms".to_owned(),
                published: 1.0,
                measured: Some(measured),
                change: Some(measured - 1.0),
            });
            assert_eq!(cells[3], told);
        }
    }

    #[test]
    fn a_share_of_the_whole_database_is_called_that() {
        let asked = Cached {
            share: 0.3,
            ..Cached::default()
        };
        let mut seen = CachedSeen {
            data_bytes: Some(242_000_000),
            whole_database: true,
            share: Some(0.3),
            holds: None,
            hit_ratio: None,
            fits: None,
        };
        let text = cache(&asked, &seen);
        assert!(
            text.contains("Of the whole database, ") && text.contains("of 242 MB"),
            "{text}"
        );
        seen.whole_database = false;
        assert!(cache(&asked, &seen).contains("Of the data of 242 MB, 30.0 %"));
    }

    #[test]
    fn a_run_of_its_own_has_none_of_it() {
        assert_eq!(shown(&closed()), "");
    }

    #[test]
    fn what_was_asked_of_the_cache_is_answered_for_a_run_of_its_own_too() {
        for mut run in [sample(), closed()] {
            run.cached = Some(Cached {
                share: 0.3,
                of: "shared_buffers".to_owned(),
                of_bytes: 128_000_000,
            });
            let text = shown(&run);
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains("30.0 % was asked for."), "{text}");
            assert!(flat.contains("into shared_buffers (128 MB)"), "{text}");
            assert!(flat.contains("cannot be said"), "{text}");
        }
    }
}

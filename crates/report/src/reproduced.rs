//! A run beside the published scenario that it repeats.
//!
//! In: a Run with its scenario, and what `judge` makes of it. Out: published against measured, and what
//! is different here. Must never: print a deviation without the differences beside it.

use crate::style::Style;
use crate::table::Table;
use crate::terminal::{heading, paragraph};
use crate::text::{plain, wrap};
use crate::units;
use prony_judge::reproduced::{CachedSeen, Deviation, cached, deviations, differences};
use prony_store::Run;
use prony_store::scenario::Scenario;
use std::io::{self, Write};

/// The widest cell of a difference; a longer text goes on below.
const CELL: usize = 34;

/// Writes it; nothing for a run of its own.
pub fn write(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let Some(scenario) = &run.scenario else {
        return Ok(());
    };
    heading(
        out,
        style,
        &format!("Against the scenario {}", plain(&scenario.id)),
    )?;
    let source = format!(
        "{}. {}: {}.",
        scenario.title, scenario.source, scenario.place
    );
    paragraph(out, style, &plain(&source))?;
    let found = deviations(run);
    if found.is_empty() {
        paragraph(out, style, "The document has no figure for this row.")?;
    } else {
        figures(out, style, &found)?;
    }
    let notes = scenario.notes.iter();
    for note in notes {
        paragraph(out, style, &plain(note))?;
    }
    why(out, style, run)?;
    if let Some(seen) = cached(run) {
        paragraph(out, style, &cache(scenario, &seen))?;
    }
    Ok(())
}

fn figures(out: &mut dyn Write, style: &Style, found: &[Deviation]) -> io::Result<()> {
    let mut table = Table::new(&["", "published", "measured", "deviation", "unit<"]);
    for one in found {
        table.row([
            plain(&one.name),
            units::rate(one.published),
            one.measured.map_or("not known".to_owned(), units::rate),
            one.change.map_or("–".to_owned(), |change| {
                format!("{:+.1} %", change * 100.0)
            }),
            plain(&one.unit),
        ]);
    }
    table.write(out, style, 2)
}

/// What differs, side by side.
fn why(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let found = differences(run);
    if found.is_empty() {
        return paragraph(
            out,
            style,
            "Nothing that was looked at differs from the document.",
        );
    }
    writeln!(out)?;
    paragraph(out, style, "Why they differ: this run was another one.")?;
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
fn cache(scenario: &Scenario, seen: &CachedSeen) -> String {
    let Some(asked) = &scenario.cached else {
        return String::new();
    };
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let verdict = match seen.fits {
        Some(true) => "that fits",
        Some(false) if asked.share >= 1.0 => "that does not fit: data was read from outside it",
        Some(false) => "that does not fit: all that was asked for stayed in it",
        None => "so it cannot be said whether that fits",
    };
    let holds = seen.holds.map_or(String::new(), |holds| {
        format!(", which could hold {} of the data", share(holds))
    });
    plain(&format!(
        "Cached: {} was asked for, of data of {} against {} of {}. {} of the pages were found in the \
         server's own cache{holds}; {verdict}.",
        share(asked.share),
        units::bytes(asked.data_bytes),
        asked.of,
        units::bytes(asked.of_bytes),
        units::known(seen.hit_ratio, share),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::closed;
    use prony_store::scenario::{Cached, Original, Published};

    fn sample() -> Run {
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
        assert!(!text.contains("Cached:"), "{text}");
    }

    #[test]
    fn a_run_of_its_own_has_none_of_it() {
        assert_eq!(shown(&closed()), "");
    }

    #[test]
    fn what_was_asked_of_the_cache_is_answered() {
        let mut run = sample();
        run.scenario.as_mut().unwrap().cached = Some(Cached {
            share: 0.3,
            of: "shared_buffers".to_owned(),
            of_bytes: 128_000_000,
            data_bytes: 427_000_000,
        });
        let text = shown(&run).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("30.0 % was asked for, of data of 427 MB"),
            "{text}"
        );
        assert!(text.contains("cannot be said"), "{text}");
    }
}

//! An experiment as it goes on, and at its end.
//!
//! In: its runs, and what `judge` makes of its variants. Out: what begins, a line a run, a table of the
//! variants. Must never: say that one variant is faster: that takes a comparison.

use crate::style::Style;
use crate::table::Table;
use crate::terminal::{early, nothing_measured, paragraph};
use crate::text::plain;
use crate::units;
use prony_judge::experiment::{Spread, VariantFigures, counts};
use prony_store::{Experiment, Run, Severity, State};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// What begins: `run 3 of 10: variant new, repeat 2`.
pub fn beginning(of: &Experiment) -> String {
    format!(
        "run {} of {}: variant {}, repeat {}",
        of.position,
        of.runs,
        plain(&of.variant),
        of.repeat
    )
}

/// A run that has ended, in a line.
pub fn line(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let mut text = String::new();
    if let Some(of) = &run.experiment {
        let variant = plain(&of.variant);
        text += &format!(
            "{}/{}  {variant}, repeat {}: ",
            of.position, of.runs, of.repeat
        );
    }
    for rate in &run.rates {
        text += &format!("{} {}, ", units::rate(rate.value), plain(&rate.name));
    }
    match run
        .measured
        .kinds
        .first()
        .filter(|_| !nothing_measured(run))
    {
        Some(all) => {
            let p99 = all
                .response
                .p99_ns
                .map_or("–".into(), |ns| units::time(ns as f64));
            text += &format!(
                "{} transactions/s, p99 {p99}, {} failed",
                units::rate(all.tps),
                units::count(all.failed)
            );
        }
        None => text += "nothing was measured",
    }
    let of_it = |severity| {
        let found = run.checks.iter().filter(|check| check.severity == severity);
        found.map(|check| plain(&check.id)).collect::<Vec<_>>()
    };
    let (invalid, caveats) = (of_it(Severity::Invalid), of_it(Severity::Caveat));
    let verdict = match (invalid.is_empty(), early(run), caveats.len()) {
        (false, _, _) => style.alarm(&format!("invalid ({})", invalid.join(", "))),
        (_, Some(_), _) => style.caution("ended early"),
        (_, _, 0) => "valid".to_owned(),
        (_, _, count) => units::counted(count as u64, "caveat", "caveats"),
    };
    let id = match run.id.as_str() {
        "" => String::new(),
        id => format!("  {}", style.dim(&plain(id))),
    };
    writeln!(out, "{text}; {verdict}{id}")
}

/// The variants beside each other. `by_orders` says that the rate is NOPM.
pub fn summary(
    out: &mut dyn Write,
    style: &Style,
    runs: &[Run],
    variants: &[VariantFigures],
    by_orders: bool,
) -> io::Result<()> {
    let Some(of) = runs.iter().find_map(|run| run.experiment.as_ref()) else {
        return Ok(());
    };
    let carried_out = match runs.len() as u64 {
        all if all == u64::from(of.runs) => units::counted(all, "run", "runs"),
        some => format!("{} of {} runs", units::count(some), of.runs),
    };
    let order = match of.order_seed {
        Some(seed) => format!("{} order by seed {seed}", plain(&of.order)),
        None => format!("{} order", plain(&of.order)),
    };
    let title = format!("{carried_out}, {order}: medians of the runs that count");
    writeln!(out, "\n{}", style.bold(&title))?;
    let rate = if by_orders { "NOPM" } else { "TPS" };
    let mut table = Table::new(&[
        "variant", "runs", rate, "lowest", "highest", "spread", "p99",
    ]);
    for one in variants {
        let of_rate = |read: fn(&Spread) -> f64| {
            let value = one.rate.as_ref().map(read);
            value.map_or("–".into(), units::rate)
        };
        let share = one.rate.as_ref().and_then(Spread::share);
        table.row([
            plain(&one.name),
            match one.counted == one.runs {
                true => one.runs.to_string(),
                false => format!("{} of {}", one.counted, one.runs),
            },
            of_rate(|rate| rate.median),
            of_rate(|rate| rate.low),
            of_rate(|rate| rate.high),
            share
                .filter(|_| one.counted > 1)
                .map_or("–".into(), units::percent),
            one.p99_ns.map_or("–".into(), |ns| units::time(ns.median)),
        ]);
    }
    table.write(out, style, 2)?;
    let note = "Spread: from the lowest run to the highest, as a share of the median.";
    paragraph(out, style, note)?;
    let left_out: Vec<String> = runs
        .iter()
        .filter(|run| !counts(run))
        .filter_map(|run| run.experiment.as_ref())
        .map(|of| of.position.to_string())
        .collect();
    if !left_out.is_empty() {
        let text = format!(
            "Not counted, since it ended early or its figures must not be used: run {}.",
            left_out.join(", ")
        );
        paragraph(out, style, &text)?;
    }
    if !of.id.is_empty() && finished(runs) > 1 {
        writeln!(
            out,
            "\nWhether they differ: prony compare {}",
            plain(&of.id)
        )?;
    }
    Ok(())
}

/// How many variants have a run that came to its end: a comparison takes two.
fn finished(runs: &[Run]) -> usize {
    let complete = runs.iter().filter(|run| run.state == State::Complete);
    let of = complete.filter_map(|run| run.experiment.as_ref());
    let names: BTreeSet<&str> = of.map(|of| of.variant.as_str()).collect();
    names.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{closed, open_partial};
    use prony_judge::experiment::{leads_with_orders, variants};

    fn of(variant: &str, position: u32, mut run: Run) -> Run {
        run.experiment = Some(Experiment {
            id: "20261121-1".into(),
            variant: variant.into(),
            repeat: position,
            position,
            runs: 3,
            order: "random".into(),
            order_seed: Some(7),
            ..Experiment::default()
        });
        run
    }

    fn shown(runs: &[Run], names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut out = Vec::new();
        let style = Style::plain();
        for run in runs {
            line(&mut out, &style, run).unwrap();
        }
        let found = variants(&names, runs);
        summary(&mut out, &style, runs, &found, leads_with_orders(runs)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_a_run_and_a_table_of_the_variants() {
        let runs = [of("old", 1, closed()), of("new", 2, open_partial())];
        assert_eq!(
            beginning(runs[1].experiment.as_ref().unwrap()),
            "run 2 of 3: variant new, repeat 2"
        );
        let text = shown(&runs, &["old", "new"]);
        for words in [
            "1/3  old, repeat 1: 27,700 transactions/s, p99 9.24 ms, 3 failed; 1 caveat  2026",
            "2/3  new, repeat 2: 37.5 transactions/s, p99 –, 3 failed; ended early",
            "2 of 3 runs, random order by seed 7: medians",
            "0 of 1",
            "must not be used: run 2.",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
        // Broken off in the first run of the second.
        assert!(!text.contains("prony compare"), "{text}");
        assert_eq!(shown(&[closed()], &["a"]).matches("Spread").count(), 0);
    }

    #[test]
    fn a_comparison_is_offered_where_two_variants_have_a_finished_run() {
        let offer = "\nWhether they differ: prony compare 20261121-1\n";
        let both = [of("old", 1, closed()), of("new", 2, closed())];
        assert!(shown(&both, &["old", "new"]).contains(offer));
        let one = [of("old", 1, closed()), of("old", 2, closed())];
        for names in [&["old", "new"][..], &["old"]] {
            assert!(!shown(&one, names).contains("prony compare"), "{names:?}");
        }
    }

    #[test]
    fn a_run_shown_again_says_where_it_belongs() {
        let mut out = Vec::new();
        let run = of("new", 2, closed());
        crate::terminal::write(&mut out, &Style::plain(), &run, None).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("part of"), "{text}");
        assert!(text.contains("run 2 of 3, variant new, repeat 2"), "{text}");
    }

    #[test]
    fn foreign_names_cannot_steer_the_terminal() {
        let runs = [of("\x1b[2J\nx", 1, closed())];
        let text = shown(&runs, &["\x1b[2J\nx"]);
        assert!(!text.contains('\x1b') && !text.contains("\nx"), "{text}");
    }
}

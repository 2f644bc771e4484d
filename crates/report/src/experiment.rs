//! Progress and summary of an experiment.
//!
//! In: its runs, and `judge`'s figures of its variants. Out: a line when a run begins, a line per
//! finished run, a table of the variants. Must never: say that one variant is faster: that takes a
//! comparison.

use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::terminal::{check_ids, incomplete_notice, nothing_measured};
use crate::text::plain;
use crate::units::{self, count, count_with_noun, or_dash, time_or_dash};
use prony_judge::experiment::{Spread, VariantFigures, is_counted};
use prony_store::{Choice, Experiment, Run, RunState, Severity};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Announces a run: `run 3 of 10: variant new, repeat 2`.
pub fn run_header(of: &Experiment) -> String {
    format!(
        "run {} of {}: variant {}, repeat {}",
        of.position,
        of.runs,
        plain(&of.variant),
        of.repeat
    )
}

/// Writes one line about a run that has ended.
pub fn write_run(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let mut text = String::new();
    if let Some(of) = &run.experiment {
        let variant = plain(&of.variant);
        text += &format!(
            "{}/{}  {variant}, repeat {}: ",
            of.position, of.runs, of.repeat
        );
    }
    for rate in &run.rates {
        text += &format!(
            "{} {}, ",
            units::rate(rate.value),
            plain(rate.name.as_str())
        );
    }
    let all = run.measured.all();
    text += &match all.filter(|_| !nothing_measured(run)) {
        Some(all) => format!(
            "{} transactions/s, p99 {}, {} failed",
            units::rate(all.tps),
            time_or_dash(all.response.p99_ns),
            count(all.failed)
        ),
        None => "nothing was measured".to_owned(),
    };
    let [invalid, caveats] = [Severity::Invalid, Severity::Caveat].map(|of| check_ids(run, of));
    let verdict = match (invalid.is_empty(), incomplete_notice(run), caveats.len()) {
        (false, _, _) => style.alarm(&format!("invalid ({})", invalid.join(", "))),
        (_, Some(_), _) => style.caution("ended early"),
        (_, _, 0) => "valid".to_owned(),
        (_, _, number) => count_with_noun(number as u64, "caveat", "caveats"),
    };
    let id = match run.id.as_str() {
        "" => String::new(),
        id => format!("  {}", style.dim(&plain(id))),
    };
    writeln!(out, "{text}; {verdict}{id}")
}

/// Writes the variants side by side. `by_nopm`: the rate is NOPM.
pub fn summary(
    out: &mut dyn Write,
    style: &Style,
    runs: &[Run],
    variants: &[VariantFigures],
    by_nopm: bool,
) -> io::Result<()> {
    let Some(of) = runs.iter().find_map(|run| run.experiment.as_ref()) else {
        return Ok(());
    };
    let out = &mut Printer::new(out, style);
    let runs_made = match runs.len() as u64 {
        all if all == u64::from(of.runs) => count_with_noun(all, "run", "runs"),
        some => format!("{} of {} runs", count(some), of.runs),
    };
    let seed = of
        .order_seed
        .map_or(String::new(), |seed| format!(" by seed {seed}"));
    let order = of.order.name();
    out.heading(&format!(
        "{runs_made}, {order} order{seed}: medians of the runs that count"
    ))?;
    let rate = if by_nopm { "NOPM" } else { "TPS" };
    let mut table = Table::new(&[
        "variant", "runs", rate, "lowest", "highest", "spread", "p99",
    ]);
    for one in variants {
        let rate = one.rate.as_ref();
        let of_rate = |read: fn(&Spread) -> f64| or_dash(rate.map(read), units::rate);
        let spread = rate.and_then(Spread::share);
        table.row([
            plain(&one.name),
            counted_runs(one),
            of_rate(|rate| rate.median),
            of_rate(|rate| rate.low),
            of_rate(|rate| rate.high),
            or_dash(spread.filter(|_| one.counted > 1), units::percent),
            or_dash(one.p99_ns.as_ref(), |ns| units::time(ns.median)),
        ]);
    }
    out.table(&table)?;
    out.paragraph("Spread: from the lowest run to the highest, as a share of the median.")?;
    let left_out = runs.iter().filter(|run| !is_counted(run));
    let left_out = left_out.filter_map(|run| run.experiment.as_ref());
    let left_out: Vec<String> = left_out.map(|of| of.position.to_string()).collect();
    if !left_out.is_empty() {
        out.paragraph(&format!(
            "Not counted, because they ended early or their figures must not be used: run {}.",
            left_out.join(", ")
        ))?;
    }
    if !of.id.is_empty() && variants_with_complete_runs(runs) > 1 {
        let id = plain(&of.id);
        out.line(format!("\nTo see whether they differ: prony compare {id}"))?;
    }
    Ok(())
}

/// How many runs of a variant count, if not all do.
pub(crate) fn counted_runs(of: &VariantFigures) -> String {
    match of.counted == of.runs {
        true => count(of.runs as u64),
        false => format!("{} of {}", of.counted, of.runs),
    }
}

/// How many variants have a completed run: a comparison takes two.
fn variants_with_complete_runs(runs: &[Run]) -> usize {
    let complete = runs.iter().filter(|run| run.state == RunState::Complete);
    let of = complete.filter_map(|run| run.experiment.as_ref());
    let names: BTreeSet<&str> = of.map(|of| of.variant.as_str()).collect();
    names.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{closed, open_partial};
    use prony_judge::experiment::{all_have_nopm, variants};

    fn of(variant: &str, position: u32, mut run: Run) -> Run {
        run.experiment = Some(Experiment {
            id: "20261121-1".into(),
            variant: variant.into(),
            repeat: position,
            position,
            runs: 3,
            order: prony_store::Order::Random,
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
            write_run(&mut out, &style, run).unwrap();
        }
        let found = variants(&names, runs);
        summary(&mut out, &style, runs, &found, all_have_nopm(runs)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_run_has_a_line_and_the_variants_a_table() {
        let runs = [of("old", 1, closed()), of("new", 2, open_partial())];
        assert_eq!(
            run_header(runs[1].experiment.as_ref().unwrap()),
            "run 2 of 3: variant new, repeat 2"
        );
        let text = shown(&runs, &["old", "new"]);
        for words in [
            "1/3  old, repeat 1: 27,700 transactions/s, p99 9.24 ms, 3 failed; 1 caveat  2026",
            "2/3  new, repeat 2: 37.5 transactions/s, p99 –, 3 failed; ended early",
            "2 of 3 runs, random order by seed 7: medians",
            "0 of 1",
            "must not be used: run\n  2.",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
        // Interrupted in the first run of the second variant.
        assert!(!text.contains("prony compare"), "{text}");
        assert_eq!(shown(&[closed()], &["a"]).matches("Spread").count(), 0);
    }

    #[test]
    fn a_comparison_is_suggested_if_two_variants_have_a_complete_run() {
        let offer = "\nTo see whether they differ: prony compare 20261121-1\n";
        let both = [of("old", 1, closed()), of("new", 2, closed())];
        assert!(shown(&both, &["old", "new"]).contains(offer));
        let one = [of("old", 1, closed()), of("old", 2, closed())];
        for names in [&["old", "new"][..], &["old"]] {
            assert!(!shown(&one, names).contains("prony compare"), "{names:?}");
        }
    }

    #[test]
    fn a_run_shows_its_place_in_an_experiment() {
        let mut out = Vec::new();
        let run = of("new", 2, closed());
        crate::terminal::write(&mut out, &Style::plain(), &run, None).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("part of"), "{text}");
        assert!(text.contains("run 2 of 3, variant new, repeat 2"), "{text}");
    }

    #[test]
    fn foreign_names_cannot_control_the_terminal() {
        let runs = [of("\x1b[2J\nx", 1, closed())];
        let text = shown(&runs, &["\x1b[2J\nx"]);
        assert!(!text.contains('\x1b') && !text.contains("\nx"), "{text}");
    }
}

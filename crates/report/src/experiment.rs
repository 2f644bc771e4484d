//! Progress and summary of an experiment.
//!
//! In: the runs, and `judge`'s figures per variant and comparison of them. Out: a line at the start and at the end of
//! each run, whether the variants differ, and a table of them. Must never: claim a difference that the comparison does
//! not.

use crate::compare;
use crate::printer::Printer;
use crate::style::Style;
use crate::table::Table;
use crate::terminal::write_section;
use crate::text::comparison::{figure_sentence, noise_of_variant};
use crate::text::counts::counted_runs;
use crate::text::replay::replayed_over_repeats;
use crate::text::sweep::{curves_legend, knee_sentences, law_sentences, sweep_table};
use crate::text::verdict::{TOO_SHORT, check_ids, incomplete_notice};
use crate::text::{joined, plain};
use crate::units::{self, count, count_of, or_dash, time_or_dash};
use prony_judge::compare::Verdict;
use prony_judge::compare::sides::{CompareOptions, Side, SidesComparison, compare_sides};
use prony_judge::drill::{DrillTimes, mean_and_interval};
use prony_judge::experiment::{Spread, VariantFigures, all_have_nopm, is_counted};
use prony_judge::is_too_short_for_steadiness;
use prony_judge::noise::{RunNoise, is_invalid_by_others_only};
use prony_judge::sweep::Sweep;
use prony_store::{Choice, DIRECT_VARIANT, Experiment, FoundPooler, POOLED_VARIANT, Run, Severity};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

/// The most statements of a replay in the summary of its repeats.
const STATEMENTS_MAX: usize = 20;

/// Returns the line before a run: `run 3 of 10: variant new, repeat 2; about 8 min left in all`. `left` is the estimated
/// rest of the experiment; absent if it is not known.
pub fn run_header(experiment: &Experiment, left: Option<Duration>) -> String {
    let left = left.map_or(String::new(), |left| {
        format!(
            "; about {} left in all",
            units::span(left.as_secs_f64().round())
        )
    });
    format!(
        "run {} of {}: variant {}, repeat {}{left}",
        experiment.position,
        experiment.runs,
        plain(&experiment.variant),
        experiment.repeat
    )
}

/// Writes one line about a run that has ended.
pub fn write_run(out: &mut dyn Write, style: &Style, run: &Run) -> io::Result<()> {
    let mut text = String::new();
    if let Some(experiment) = &run.experiment {
        let variant = plain(&experiment.variant);
        text += &format!(
            "{}/{}  {variant}, repeat {}: ",
            experiment.position, experiment.runs, experiment.repeat
        );
    }
    for rate in &run.rates {
        text += &format!(
            "{} {}, ",
            units::rate(rate.value),
            plain(rate.name.as_str())
        );
    }
    let all = run.measured.all_kinds();
    text += &match all.filter(|_| !run.measured.is_empty()) {
        Some(all) => format!(
            "{}, p99 {}, {} failed",
            units::transactions_per_second(all.tps),
            time_or_dash(all.response.p99_ns),
            count(all.failed)
        ),
        None => "nothing was measured".to_owned(),
    };
    let invalid = check_ids(run, Severity::Invalid);
    let doubts = run.checks.iter().filter(|check| check.is_doubt()).count();
    let mut verdict = if !invalid.is_empty() {
        style.alarm(&format!("invalid ({})", invalid.join(", ")))
    } else if incomplete_notice(run).is_some() {
        style.caution("ended early")
    } else if doubts > 0 {
        count_of(doubts as u64, "doubt")
    } else {
        "valid".to_owned()
    };
    if invalid.is_empty() && is_too_short_for_steadiness(run) {
        verdict += &format!(", {TOO_SHORT}");
    }
    if let Some(share) = RunNoise::of(run).share() {
        verdict += &format!(", noise {}", units::whole_percent(share));
    }
    let id = match run.id.as_str() {
        "" => String::new(),
        id => format!("  {}", style.dim(&plain(id))),
    };
    writeln!(out, "{text}; {verdict}{id}")
}

/// Writes whether the variants differ, and their table.
pub fn write_summary(
    out: &mut dyn Write,
    style: &Style,
    runs: &[Run],
    variants: &[VariantFigures],
    comparison: Option<&SidesComparison>,
) -> io::Result<()> {
    let Some(experiment) = runs.iter().find_map(|run| run.experiment.as_ref()) else {
        return Ok(());
    };
    let out = &mut Printer::new(out, style);
    match comparison {
        Some(comparison) => write_answer(out, comparison)?,
        // What kept the variants from an answer stands in its place.
        None if !runs.iter().all(is_counted) => {
            out.line("")?;
            write_excluded(out, runs)?;
            write_invalid_checks(out, runs)?;
        }
        None => {}
    }
    let (finished, planned) = (runs.len() as u64, u64::from(experiment.runs));
    let run_count = if finished == planned {
        count_of(finished, "run")
    } else {
        format!("{} of {planned} runs", count(finished))
    };
    let seed = experiment
        .order_seed
        .map_or(String::new(), |seed| format!(" by seed {seed}"));
    let order = experiment.order.name();
    out.heading(&format!(
        "{run_count}, {order} order{seed}: medians of the runs that count"
    ))?;
    let rate = if all_have_nopm(runs) { "NOPM" } else { "TPS" };
    let mut table = Table::new(&[
        "variant", "runs", rate, "lowest", "highest", "spread", "p99", "noise",
    ]);
    for variant in variants {
        let rate = variant.rate.as_ref();
        let rate_cell = |value: fn(&Spread) -> f64| or_dash(rate.map(value), units::rate);
        let spread = rate.and_then(Spread::share);
        table.row([
            plain(&variant.name),
            counted_runs(variant),
            rate_cell(|rate| rate.median),
            rate_cell(|rate| rate.low),
            rate_cell(|rate| rate.high),
            or_dash(spread.filter(|_| variant.counted > 1), units::percent),
            or_dash(variant.p99_ns.as_ref(), |ns| units::time(ns.median)),
            noise_of_variant(runs, &variant.name),
        ]);
    }
    out.table(&table)?;
    out.paragraph("Spread: from the lowest run to the highest, as a share of the median. p99: of committed transactions. \
         Noise: share of the CPUs that others used or the hypervisor withheld.")?;
    if comparison.is_some() {
        write_excluded(out, runs)?;
    }
    write_section(out, replayed_over_repeats(runs, STATEMENTS_MAX))?;
    write_pooler(out, runs)?;
    if !experiment.id.is_empty() && variants_that_count(runs) > 1 {
        let id = plain(&experiment.id);
        out.line(format!("\nAll figures and differences: prony compare {id}"))?;
    }
    Ok(())
}

/// Writes the outages of repeated drills by variant, with their interval.
pub fn write_drills(out: &mut dyn Write, style: &Style, drills: &[DrillTimes]) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    let mut variants: Vec<&str> = drills.iter().map(|drill| drill.variant.as_str()).collect();
    variants.sort_unstable();
    variants.dedup();
    if !drills.is_empty() {
        out.heading("Outage and recovery: means of the drills")?;
    }
    for variant in variants {
        let of_variant = || drills.iter().filter(|drill| drill.variant == variant);
        let outages: Vec<f64> = of_variant().map(|drill| drill.outage_s).collect();
        let recoveries: Vec<f64> = of_variant().filter_map(|drill| drill.recovery_s).collect();
        let mut text = format!(
            "{}: nobody committed for {}",
            plain(variant),
            mean_text(&outages)
        );
        if !recoveries.is_empty() {
            text += &format!("; back at 95 % after {}", mean_text(&recoveries));
        }
        let not_back = outages.len() - recoveries.len();
        if not_back > 0 {
            text += &format!(
                "; in {not_back} of {} it was not, or is not known",
                outages.len()
            );
        }
        out.paragraph(&text)?;
    }
    Ok(())
}

/// A mean with its interval, or the values if they are too few for one.
fn mean_text(times_s: &[f64]) -> String {
    let (mean, interval) = mean_and_interval(times_s);
    match interval {
        Some(ends) => {
            let [low, high] = ends.map(units::seconds);
            format!("{} ({low} to {high}, 95 %)", units::seconds(mean))
        }
        None => {
            let values = times_s.iter().map(|time_s| units::seconds(*time_s));
            joined(values, " and ")
        }
    }
}

/// The comparison of the variants with the first. `None` if fewer than two have a run that counts, or if one is the pooler
/// of a plan with `via`, which has sentences of its own.
pub fn comparison_of_variants<'a>(
    runs: &[Run],
    names: impl Iterator<Item = &'a str>,
    options: &CompareOptions,
) -> Option<SidesComparison> {
    let sides = names.map(|name| Side {
        name: name.to_owned(),
        runs: runs
            .iter()
            .filter(|run| run.variant() == Some(name))
            .collect(),
    });
    let sides: Vec<Side<'_>> = sides.collect();
    let is_of_pooler = sides.iter().any(|side| side.name == POOLED_VARIANT);
    let is_compared = variants_that_count(runs) > 1
        && !is_of_pooler
        && sides.iter().all(|side| !side.runs.is_empty());
    is_compared.then(|| compare_sides(&sides, options))
}

/// Writes whether the variants differ, each beside the first.
fn write_answer(out: &mut Printer<'_>, comparison: &SidesComparison) -> io::Result<()> {
    out.line("")?;
    compare::write_answer(out, comparison)
}

/// Writes what the pooler of a plan with `via` costs and gives: the change of the figures, and the server's sessions.
fn write_pooler(out: &mut Printer<'_>, runs: &[Run]) -> io::Result<()> {
    let side = |name: &str| {
        let of_variant = runs.iter();
        let of_variant = of_variant.filter(|run| is_counted(run) && run.variant() == Some(name));
        Side {
            name: name.to_owned(),
            runs: of_variant.collect(),
        }
    };
    let sides = [DIRECT_VARIANT, POOLED_VARIANT].map(side);
    if sides.iter().any(|side| side.runs.is_empty()) {
        return Ok(());
    }
    let through = |side: &Side<'_>| {
        let mut poolers = side.runs.iter().map(|run| run.server.pooler.as_ref());
        poolers.find_map(|pooler| pooler.map(FoundPooler::name))
    };
    let name = match (through(&sides[0]), through(&sides[1])) {
        (None, Some(name)) => name,
        (Some(name), _) => {
            return out.paragraph(&format!(
                "Both variants went through {name}: name the server itself with --url."
            ));
        }
        (None, None) => {
            return out.paragraph("No sign of a pooler was found at the URL of --via.");
        }
    };
    out.heading(&format!("What {name} costs and gives"))?;
    let comparison = compare_sides(&sides, &CompareOptions::default());
    for compared in &comparison.side_comparisons {
        if compared.verdict == Verdict::NotComparable {
            out.paragraph("The two are not comparable; prony compare says why.")?;
        }
        for figure in comparison.headline_figures(compared) {
            out.paragraph(&figure_sentence(["the server itself", name], figure))?;
        }
    }
    let sessions = sides.each_ref().map(|side| {
        let most = side.runs.iter().filter_map(|run| {
            let seconds = run.observed.iter().flat_map(|observed| &observed.series);
            seconds.filter_map(|second| second.connections).max()
        });
        most.map(u64::from).max()
    });
    if let [Some(direct), Some(pooled)] = sessions {
        out.paragraph(&format!(
            "The server had at most {} of clients through {name}, and {} when they connected to it themselves, which \
             includes those that {name} keeps open.",
            count_of(pooled, "session"),
            count(direct)
        ))?;
    }
    Ok(())
}

/// Writes the curves of a sweep: the knee and what limits it there first, then the table of all points.
pub fn write_curves(out: &mut dyn Write, style: &Style, sweep: &Sweep) -> io::Result<()> {
    let out = &mut Printer::new(out, style);
    out.heading(&format!(
        "Sweep of {} over {}",
        plain(&sweep.axis),
        count_of(sweep.points().count() as u64, "point")
    ))?;
    out.paragraphs(knee_sentences(sweep))?;
    out.table(&sweep_table(sweep))?;
    out.paragraph(&curves_legend(sweep))?;
    out.paragraphs(law_sentences(sweep))
}

/// Writes a sweep that has ended: its curves, the notes on its prices, the runs that do not count.
pub fn write_sweep(
    out: &mut dyn Write,
    style: &Style,
    runs: &[Run],
    sweep: &Sweep,
    notes: &[String],
    comparison: Option<&SidesComparison>,
) -> io::Result<()> {
    // Points without numbers are variants, which are compared.
    if !sweep.has_numbers()
        && let Some(comparison) = comparison
    {
        write_answer(&mut Printer::new(out, style), comparison)?;
    }
    write_curves(out, style, sweep)?;
    let out = &mut Printer::new(out, style);
    let experiment = runs.iter().find_map(|run| run.experiment.as_ref());
    let planned = experiment.map_or(0, |experiment| u64::from(experiment.runs));
    let run_count = runs.len() as u64;
    if run_count < planned {
        out.paragraph(&format!(
            "The sweep is incomplete: {} of {planned} runs.",
            count(run_count)
        ))?;
    }
    for note in notes {
        out.paragraph(&plain(note))?;
    }
    write_excluded(out, runs)?;
    if !runs.iter().any(is_counted) {
        write_invalid_checks(out, runs)?;
    }
    if let Some(experiment) = experiment
        && !experiment.id.is_empty()
    {
        let id = plain(&experiment.id);
        out.line(format!(
            "\nThe curve as a page: prony report {id} --output curve.html"
        ))?;
    }
    Ok(())
}

/// Writes which runs do not count.
fn write_excluded(out: &mut Printer<'_>, runs: &[Run]) -> io::Result<()> {
    let excluded = runs.iter().filter(|run| !is_counted(run));
    let excluded = excluded.filter_map(|run| run.experiment.as_ref());
    let excluded: Vec<String> = excluded
        .map(|experiment| experiment.position.to_string())
        .collect();
    if excluded.is_empty() {
        return Ok(());
    }
    out.paragraph(&format!(
        "Not counted, because they ended early or their figures must not be used: run {}.",
        excluded.join(", ")
    ))
}

/// Writes the checks that make runs invalid, each as the first of these runs has it.
fn write_invalid_checks(out: &mut Printer<'_>, runs: &[Run]) -> io::Result<()> {
    let mut ids = BTreeSet::new();
    let checks = runs.iter().flat_map(|run| &run.checks);
    let invalid = checks.filter(|check| check.severity == Severity::Invalid);
    let first_with_id = invalid.filter(|check| ids.insert(&check.id));
    out.paragraphs(first_with_id.map(|check| {
        let text = format!(
            "Invalid by {}: {} {}",
            check.id, check.finding, check.advice
        );
        plain(text.trim_end())
    }))
}

/// The number of variants with a run that counts, or that only others made invalid; a comparison requires two.
fn variants_that_count(runs: &[Run]) -> usize {
    let runs = runs.iter();
    let counted = runs.filter(|run| is_counted(run) || is_invalid_by_others_only(run));
    let experiments = counted.filter_map(|run| run.experiment.as_ref());
    let names: BTreeSet<&str> = experiments
        .map(|experiment| experiment.variant.as_str())
        .collect();
    names.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{closed, open_partial, written};
    use Severity::Caveat;
    use prony_assertions::TextAssertions;
    use prony_judge::experiment::variants;

    fn in_experiment(variant: &str, position: u32, mut run: Run) -> Run {
        run.experiment = Some(Experiment {
            id: "20261121-1".into(),
            variant: variant.into(),
            repeat: position,
            position,
            runs: 3,
            order: prony_store::RunOrder::Random,
            order_seed: Some(7),
            ..Experiment::default()
        });
        run
    }

    fn compared<'a>(runs: &[Run], names: impl Iterator<Item = &'a str>) -> Option<SidesComparison> {
        comparison_of_variants(runs, names, &CompareOptions::default())
    }

    fn shown(runs: &[Run], names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut out = Vec::new();
        let style = Style::plain();
        for run in runs {
            write_run(&mut out, &style, run).unwrap();
        }
        let figures = variants(&names, runs);
        let comparison = compared(runs, names.iter().map(String::as_str));
        write_summary(&mut out, &style, runs, &figures, comparison.as_ref()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn runs_have_lines_and_variants_have_a_table() {
        let runs = [
            in_experiment("old", 1, closed()),
            in_experiment("new", 2, open_partial()),
        ];
        assert_eq!(
            run_header(
                runs[1].experiment.as_ref().unwrap(),
                Some(Duration::from_millis(480_400))
            ),
            "run 2 of 3: variant new, repeat 2; about 8 min left in all"
        );
        let text = shown(&runs, &["old", "new"]);
        for part in [
            "1/3  old, repeat 1: 27,700 transactions/s, p99 9.24 ms, 3 failed; 1 doubt, too short to judge steadiness  2026",
            "2/3  new, repeat 2: 37.5 transactions/s, p99 –, 3 failed; ended early, too short to judge steadiness  2026",
            "2 of 3 runs, random order by seed 7: medians",
            "0 of 1",
            "must not be used: run\n  2.",
        ] {
            text.assert_contains(part);
        }
        // Interrupted in the first run of the second variant.
        text.assert_lacks("prony compare");
        assert_eq!(shown(&[closed()], &["a"]).matches("Spread").count(), 0);
    }

    #[test]
    fn the_line_of_a_run_counts_doubts_and_not_its_scope() {
        let mut run = in_experiment("old", 1, closed());
        for check in &mut run.checks {
            check.kind = Some(prony_store::FindingKind::Scope);
        }
        assert!(run.checks.iter().any(|check| check.severity == Caveat));
        let text = shown(&[run.clone()], &["old"]);
        text.assert_contains("3 failed; valid, too short to judge steadiness  2026");
        run.checks[0].kind = Some(prony_store::FindingKind::Doubt);
        let text = shown(&[run], &["old"]);
        text.assert_contains("3 failed; 1 doubt, too short");
    }

    #[test]
    fn variants_are_compared_if_two_have_a_complete_run() {
        let suggestion = "\nAll figures and differences: prony compare 20261121-1\n";
        let two_variants = [
            in_experiment("old", 1, closed()),
            in_experiment("new", 2, closed()),
        ];
        let text = shown(&two_variants, &["old", "new"]);
        text.assert_contains(suggestion);
        let (answer, table) = text.split_once("medians of the runs").expect("a table");
        assert!(
            answer.contains(
                "\nNot known whether new differs from old, because there is 1 run per side: "
            ),
            "the answer comes first: {text}"
        );
        table.assert_lacks("Not known");
        let one_variant = [
            in_experiment("old", 1, closed()),
            in_experiment("old", 2, closed()),
        ];
        for names in [&["old", "new"][..], &["old"]] {
            shown(&one_variant, names).assert_lacks("prony compare");
        }
    }

    #[test]
    fn a_sweep_over_names_says_whether_they_differ_and_whether_runs_are_missing() {
        let shown = |values: [&str; 2], planned: u32| {
            let run = |(position, value): (u32, &str)| {
                let mut run = in_experiment(value, position, closed());
                let experiment = run.experiment.get_or_insert_default();
                experiment.point = vec![prony_store::Setting::new("settings.fsync", value)];
                run
            };
            let mut runs: Vec<Run> = (1..).zip(values).map(run).collect();
            let experiments = runs.iter_mut().filter_map(|run| run.experiment.as_mut());
            experiments.for_each(|experiment| experiment.runs = planned);
            let sweep = Sweep::of(&runs).unwrap();
            let comparison = compared(&runs, values.into_iter());
            let style = Style::plain();
            written(|out| write_sweep(out, &style, &runs, &sweep, &[], comparison.as_ref()))
        };
        let text = shown(["on", "off"], 2);
        text.assert_lacks("incomplete");
        let (answer, curve) = text.split_once("Sweep of settings.fsync").expect("a table");
        answer.assert_contains("Not known whether off differs from on, because ");
        curve.assert_lacks("Not known");
        let text = shown(["1", "2"], 8);
        text.assert_lacks("Not known");
        text.assert_contains("The sweep is incomplete: 2 of 8 runs.");
    }

    #[test]
    fn variants_without_an_answer_say_why_above_their_figures() {
        let mut invalid = in_experiment("new", 2, closed());
        invalid.checks = vec![prony_store::Check {
            id: "client-limit".to_owned(),
            severity: Severity::Invalid,
            finding: "The client was at its limit.".to_owned(),
            advice: "Use more threads.".to_owned(),
            kind: None,
        }];
        let runs = [in_experiment("old", 1, closed()), invalid];
        let text = shown(&runs, &["old", "new"]);
        let (above, table) = text.split_once("medians of the runs").expect("a table");
        above.assert_contains("\n\n  Not counted, because they ended early or their figures must not be used: run\n  2.\n");
        above.assert_contains(
            "Invalid by client-limit: The client was at its limit. Use more threads.",
        );
        table.assert_lacks("Not counted").assert_contains("0 of 1");
    }

    #[test]
    fn a_run_shows_its_position_in_an_experiment() {
        let run = in_experiment("new", 2, closed());
        let text = written(|out| crate::terminal::write_full(out, &Style::plain(), &run, None));
        text.assert_contains("part of");
        text.assert_contains("run 2 of 3, variant new, repeat 2");
    }

    #[test]
    fn foreign_names_cannot_control_the_terminal() {
        let runs = [in_experiment("\x1b[2J\nx", 1, closed())];
        let text = shown(&runs, &["\x1b[2J\nx"]);
        assert!(!text.contains('\x1b') && !text.contains("\nx"), "{text}");
    }
}

//! Runs that should be repeats of each other and differ, and runs that ended early.

use super::*;
use prony_assertions::TextAssertions;

#[test]
fn runs_that_are_not_repeats_have_no_median() {
    let sheet = two_configurations();
    let mut not_durable = run("y", 20_000.0);
    not_durable
        .server
        .settings
        .insert("fsync".into(), "off".into());
    let runs = [
        (0, run("x", 10_000.0)),
        (0, not_durable),
        (1, run("z", 5.0)),
    ];
    let prices = price(&measurements(&sheet, &runs), &options()).unwrap();
    assert_eq!(prices.points.len(), 1);
    let unpriced_runs = prices.unpriced_runs.iter();
    let refused: Vec<&str> = unpriced_runs.map(|refusal| refusal.run.as_str()).collect();
    assert_eq!(refused, ["x", "y"]);
    prices.unpriced_runs[0].why.assert_contains("fsync");
}

#[test]
fn repeats_on_different_machines_have_a_caveat() {
    let sheet = two_configurations();
    let run_on = |id: &str, cpus: u32, version: &str| {
        let mut run = run(id, 10_000.0);
        run.server.version = version.to_owned();
        observed_mut(&mut run).machine.cpus = Some(cpus);
        (0, run)
    };
    let remarks = |runs: &[(usize, Run)]| {
        let prices = price(&measurements(&sheet, runs), &options()).unwrap();
        assert_eq!(prices.points[0].runs.len(), runs.len(), "{prices:?}");
        let remarks = prices.remarks.into_iter();
        let remarks = remarks.filter(|remark| remark.id == "repeats-differ");
        remarks
            .map(|remark| (remark.severity, remark.finding))
            .collect::<Vec<_>>()
    };
    let three = [
        run_on("x", 4, "17"),
        run_on("y", 16, "17"),
        run_on("z", 8, "18"),
    ];
    let text = "a: its runs differ: server's CPUs 4 or 16 or 8; server version 17 or 18.";
    assert_eq!(remarks(&three), [(Severity::Caveat, text.to_owned())]);
    assert_eq!(remarks(&[run_on("x", 4, "17"), run_on("y", 4, "17")]), []);
    assert_eq!(remarks(&three[..1]), []);
    // A run's own caveats are reported for it, not as a difference of the repeats.
    let mut doubtful = run_on("y", 4, "17");
    doubtful.1.checks = vec![Check {
        id: "order".into(),
        severity: Severity::Caveat,
        kind: None,
        finding: String::new(),
        advice: String::new(),
    }];
    assert_eq!(remarks(&[run_on("x", 4, "17"), doubtful]), []);
}

fn findings_of_remark(
    sheet: &PriceSheet,
    runs: &[(usize, Run)],
    id: &str,
) -> Vec<(Severity, String)> {
    let prices = price(&measurements(sheet, runs), &options()).unwrap();
    let remarks = prices.remarks.into_iter().filter(|remark| remark.id == id);
    remarks
        .map(|remark| (remark.severity, remark.finding))
        .collect()
}

#[test]
fn repeats_of_one_variant_given_for_two_configurations_get_a_caveat() {
    let sheet = two_configurations();
    let repeat_on =
        |index: usize, id: &str, variant: &str| (index, repeat("e", variant, id, 10_000.0));
    let remarks = |runs: &[(usize, Run)]| findings_of_remark(&sheet, runs, "repeats-apart");
    let caveats = remarks(&[repeat_on(0, "1", "base"), repeat_on(1, "4", "base")]);
    assert_eq!(caveats.len(), 1);
    assert_eq!(caveats[0].0, Severity::Caveat);
    let begin = "a (base), b (base): priced by repeats of one variant";
    caveats[0].1.assert_starts_with(begin);
    // No caveat for runs of two variants, for runs of one configuration, and for one measurement at two
    // prices, which has its own remark.
    assert_eq!(
        remarks(&[repeat_on(0, "1", "base"), repeat_on(1, "4", "new")]),
        []
    );
    assert_eq!(
        remarks(&[repeat_on(0, "1", "base"), repeat_on(0, "4", "base")]),
        []
    );
    let one_run_twice = [repeat_on(0, "1", "base"), repeat_on(1, "1", "base")];
    assert_eq!(remarks(&one_run_twice), []);
    assert_eq!(
        findings_of_remark(&sheet, &one_run_twice, "same-run").len(),
        1
    );
}

#[test]
fn the_note_about_selected_repeats_says_how_to_price_one_run_alone() {
    let notes = repeat_selection_notes(&[("1", 4), ("7", 2), ("3", 4), ("1", 4)]);
    let texts: Vec<&str> = notes.iter().map(|note| note.finding.as_str()).collect();
    let text = |ids: &str, verb: &str, count: usize, first: &str| {
        format!(
            "{ids}: {verb} all {count} repeats of its variant; to price that run alone, write '{first},' \
             with a comma."
        )
    };
    assert_eq!(
        texts,
        [
            text("7", "selects", 2, "7"),
            text("1 and 3", "each selects", 4, "1")
        ]
    );
    assert_eq!(repeat_selection_notes(&[]), []);
}

#[test]
fn a_load_that_one_repeat_did_not_sustain_is_sustained_in_some_runs() {
    let sheet = two_configurations();
    let answer_for = |tps: f64, rates: &[f64]| {
        let runs: Vec<(usize, Run)> = rates
            .iter()
            .enumerate()
            .map(|(index, tps)| (0, run(&index.to_string(), *tps)))
            .collect();
        let demand = Some(TargetLoad {
            tps,
            p95_ns: None,
            p99_ns: None,
        });
        let prices = price(
            &measurements(&sheet, &runs),
            &PriceOptions {
                demand,
                ..options()
            },
        )
        .unwrap();
        let caveats = prices.remarks.into_iter();
        let caveats = caveats.filter(|caveat| caveat.id == "load-not-always-held");
        let caveats: Vec<String> = caveats.map(|caveat| caveat.finding).collect();
        let first = prices.answer.unwrap().candidates.remove(0);
        (
            first.sustains,
            first.sustains_in_some_runs(),
            first.lowest_tps,
            caveats,
        )
    };
    let rates = [294.0, 1_133.0, 900.0, 1_000.0];
    let text = "a: 1 of 4 runs did not sustain the load: 294 transactions per second.".to_owned();
    assert_eq!(answer_for(500.0, &rates), (true, true, 294.0, vec![text]));
    let text = "a: 2 of 4 runs did not sustain the load: as few as 294 transactions per second."
        .to_owned();
    assert_eq!(answer_for(950.0, &rates), (true, true, 294.0, vec![text]));
    assert_eq!(answer_for(290.0, &rates), (true, false, 294.0, vec![]));
    assert_eq!(answer_for(990.0, &rates), (false, false, 294.0, vec![]));
    assert_eq!(
        answer_for(500.0, &rates[1..2]),
        (true, false, 1_133.0, vec![])
    );
}

/// The caveat appears even if the run has not been judged.
#[test]
fn a_price_by_a_run_that_ended_early_has_a_caveat() {
    let sheet = two_configurations();
    let mut partial = run("x", 10_000.0);
    partial.state = prony_store::RunState::Partial;
    partial.checks.clear();
    let prices = price(&measurements(&sheet, &[(0, partial)]), &options()).unwrap();
    let mut remarks = prices.remarks.iter();
    let remark = remarks.find(|remark| remark.id == "run-caveats");
    let remark = remark.expect("a remark");
    remark.finding.assert_ends_with("partial-run.");
}

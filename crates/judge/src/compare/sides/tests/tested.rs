//! Which figure is tested, by which method, and which effect is reported with it.

use super::*;

/// With geometric means, the effect of these runs is +8.1 % although the medians fall by 2 %.
#[test]
fn the_effect_is_the_ratio_of_the_figures_in_the_table() {
    let a = runs("a", &[100.0, 101.0, 102.0, 60.0, 103.0]);
    let b = runs("b", &[98.0, 99.0, 100.0, 98.0, 99.0]);
    let comparison = compare(&[&a, &b]);
    for figure in &comparison.side_comparisons[0].figures {
        assert_eq!(
            figure.ratio,
            figure.b.median / figure.a.median,
            "{}",
            figure.name
        );
        let interval = figure.significance.unwrap();
        assert!(interval.low <= figure.ratio && figure.ratio <= interval.high);
    }
    let tps = &comparison.side_comparisons[0].figures[0];
    assert_eq!((tps.a.median, tps.b.median), (101.0, 99.0));
    assert_eq!(tps.significance.unwrap().basis, Basis::Ranks);
    assert_eq!(tps.significance.unwrap().is_significant, Some(false));
}

/// Exact intervals at 95 % take 4 runs per side, and more if several sides share the level.
#[test]
fn the_basis_follows_from_the_number_of_runs() {
    let tps = |count: usize| -> Vec<f64> { (0..count).map(|at| 1e4 + at as f64).collect() };
    let basis = |counts: &[usize]| {
        let sides: Vec<Vec<Run>> = ["a", "b", "c", "d"]
            .iter()
            .zip(counts)
            .map(|(prefix, count)| runs(prefix, &tps(*count)))
            .collect();
        let comparison = compare(&sides.iter().map(Vec::as_slice).collect::<Vec<_>>());
        comparison.side_comparisons[0].figures[0]
            .significance
            .map(|significance| significance.basis)
    };
    for (counts, expected) in [
        (&[1, 5][..], None),
        (&[2, 2], Some(Basis::Normal)),
        (&[3, 3], Some(Basis::Normal)),
        (&[3, 5], Some(Basis::Ranks)),
        (&[4, 4], Some(Basis::Ranks)),
        (&[4, 4, 4], Some(Basis::Normal)),
        (&[5, 5, 5, 5], Some(Basis::Ranks)),
    ] {
        assert_eq!(basis(counts), expected, "{counts:?}");
    }
}

/// Only the primary figure is tested: of seven figures, one would differ by chance in every sixth comparison.
#[test]
fn one_figure_is_tested_and_the_user_may_choose_it() {
    let a = runs("a", &STEADY);
    let b = runs("b", &[12_000.0, 11_000.0, 11_100.0]);
    let tested = |comparison: &SidesComparison| -> Vec<String> {
        let figures = comparison.side_comparisons[0].figures.iter();
        let figures = figures.filter(|figure| {
            let significance = figure.significance.expect("an interval");
            assert_eq!(
                significance.p.is_some(),
                significance.is_significant.is_some()
            );
            significance.is_significant.is_some()
        });
        figures.map(|figure| figure.name.clone()).collect()
    };
    let comparison = compare(&[&a, &b]);
    assert!(comparison.side_comparisons[0].figures.len() > 2);
    assert_eq!(tested(&comparison), ["TPS"]);
    assert_eq!(comparison.primary.as_deref(), Some("TPS"));
    let sides = [&a, &b].map(|runs| Side {
        name: String::new(),
        runs: runs.iter().collect(),
    });
    let compare_by = |primary: &str| {
        let primary = Some(primary.to_owned());
        compare_sides(
            &sides,
            &CompareOptions {
                primary,
                ..CompareOptions::default()
            },
        )
    };
    assert_eq!(tested(&compare_by("p99")), ["p99"]);
    let comparison = compare_by("p99");
    let headline_figures = comparison.headline_figures(&comparison.side_comparisons[0]);
    assert_eq!(
        headline_figures
            .iter()
            .map(|figure| figure.name.as_str())
            .collect::<Vec<_>>(),
        ["p99", "TPS"]
    );
    assert_eq!(
        compare_by("NOPM").primary.as_deref(),
        Some("TPS"),
        "no side has it"
    );
    // At a rate all sides have the same throughput.
    let paced = paced("a", [9_900_000, 10_000_000, 10_100_000]);
    assert_eq!(tested(&compare(&[&paced, &paced.clone()])), ["p99"]);
}

/// An invalid repeat is named and left out, and the other repeats are compared.
#[test]
fn invalid_repeats_are_left_out_and_named() {
    let with_restart = |count: usize| {
        let mut side = runs("b", &[10_000.0, 9_900.0, 10_100.0, 2_000.0][4 - count..]);
        for (index, run) in side.iter_mut().enumerate() {
            run.experiment = Some(Experiment {
                id: "x".to_owned(),
                variant: "b".to_owned(),
                position: 10 + index as u32,
                ..Experiment::default()
            });
        }
        let check = crate::new_check("restart", Severity::Invalid, "", "").unwrap();
        side[count - 1].checks.push(check);
        side
    };
    let a = runs("a", &STEADY);
    let comparison = compare(&[&a, &with_restart(4)]);
    assert_eq!(comparison.label(), "COMPARABLE");
    assert_eq!(comparison.sides[1].runs.len(), 3);
    let [left_out] = &comparison.sides[1].left_out[..] else {
        panic!("{comparison:?}");
    };
    assert_eq!(
        (left_out.position, left_out.reason.as_str()),
        (13, "restart")
    );
    assert_eq!(comparison.side_comparisons[0].figures[0].b.values.len(), 3);
    // With two valid runs, the comparison reports that these are too few.
    let comparison = compare(&[&a, &with_restart(3)]);
    assert!(caveat_names(&comparison).contains(&"repeats"));
    // A side that has only invalid runs is not comparable.
    let comparison = compare(&[&a, &with_restart(1)]);
    assert_eq!(comparison.verdict, Verdict::NotComparable);
    assert_eq!(comparison.sides[1].left_out, []);
}

//! Comparisons of sides with several runs each.

mod disturbed;
mod tested;

use super::*;
use crate::formatting::percent;
use crate::requirements::answer_side;
use crate::sample::{healthy, healthy_at_rate, with_series};
use prony_store::{AnswerVerdict, CommitGap, Experiment, IndustryMetric, Requirement};

/// Runs with these throughputs, and ids that start with `prefix`.
fn runs(prefix: &str, tps: &[f64]) -> Vec<Run> {
    let runs = tps.iter().enumerate().map(|(index, tps)| {
        let mut run = healthy();
        run.id = format!("{prefix}{index}");
        run.measured.kinds[0].tps = *tps;
        run.measured.kinds[0].response.p99_ns = Some((1e12 / tps) as u64);
        run
    });
    runs.collect()
}

/// Runs at a rate, with these 99th percentiles.
fn paced(prefix: &str, p99_ns: [u64; 3]) -> Vec<Run> {
    let runs = p99_ns.iter().enumerate().map(|(index, p99_ns)| {
        let mut run = healthy_at_rate();
        run.id = format!("{prefix}{index}");
        run.measured.kinds[0].response.p99_ns = Some(*p99_ns);
        run
    });
    runs.collect()
}

#[test]
fn findings_that_runs_of_both_sides_have_are_no_difference() {
    let difference = |a: &str, b: &str| Difference {
        severity: Severity::Caveat,
        what: FINDINGS.to_owned(),
        a: a.to_owned(),
        b: b.to_owned(),
        why: "",
    };
    let merge = |differences: &[Difference]| {
        let mut merged = MergedDifferences::default();
        add_differences(&mut merged, differences.to_vec());
        into_differences(merged)
    };
    let (one, other) = (difference("steal", "none"), difference("none", "steal"));
    assert_eq!(merge(&[one.clone(), other]), []);
    assert_eq!(merge(std::slice::from_ref(&one)), [one]);
}

fn compare(sides: &[&[Run]]) -> SidesComparison {
    let sides: Vec<Side<'_>> = sides
        .iter()
        .map(|runs| Side {
            name: String::new(),
            runs: runs.iter().collect(),
        })
        .collect();
    compare_sides(&sides, &CompareOptions::default())
}

fn verdict(sides: [&[Run]; 2], requirement: &str) -> AnswerVerdict {
    let comparison = compare(&sides);
    let runs: Vec<&Run> = sides[1].iter().collect();
    let requirement = Requirement::parse(requirement).unwrap();
    let side = &comparison.side_comparisons[0];
    let answer = answer_side(&[requirement], &comparison, side, &runs, &[]);
    answer.map_or(AnswerVerdict::Undecided, |answer| answer.verdict)
}

fn caveat_names(comparison: &SidesComparison) -> Vec<&str> {
    let side_comparisons = comparison.side_comparisons.iter();
    let differences = side_comparisons.flat_map(|side| &side.differences);
    let caveats = differences.filter(|difference| difference.severity == Severity::Caveat);
    caveats.map(|difference| difference.what.as_str()).collect()
}

const STEADY: [f64; 3] = [9_900.0, 10_000.0, 10_100.0];

#[test]
fn repeats_give_an_interval_and_the_median() {
    let a = runs("a", &STEADY);
    let b = runs("b", &[12_000.0, 11_000.0, 11_100.0]);
    let comparison = compare(&[&a, &b]);
    assert_eq!(comparison.label(), "COMPARABLE");
    assert_eq!(
        (comparison.sides[1].letter, comparison.sides[1].runs.len()),
        ('B', 3)
    );
    let headline_figures = comparison.headline_figures(&comparison.side_comparisons[0]);
    let names: Vec<&str> = headline_figures
        .iter()
        .map(|figure| figure.name.as_str())
        .collect();
    assert_eq!(names, ["TPS", "p99"]);
    let tps = headline_figures[0];
    assert_eq!(
        (tps.a.median, tps.b.median),
        (10_000.0, 11_100.0),
        "not the best"
    );
    let significance = tps.significance.unwrap();
    assert_eq!(significance.basis, Basis::Normal);
    assert!(
        significance.is_significant == Some(true)
            && significance.low > 1.0
            && significance.high > tps.ratio,
        "{significance:?}"
    );
    assert_eq!(significance.level, 0.95);
    let swapped = compare(&[&b, &a]);
    let swapped = swapped.side_comparisons[0].figures[0].significance.unwrap();
    assert!((swapped.low * significance.high - 1.0).abs() < 1e-9);
}

#[test]
fn equal_sides_show_no_difference_and_report_the_detectable_one() {
    let a = runs("a", &STEADY);
    let b = runs("b", &[9_950.0, 10_090.0, 10_010.0]);
    let comparison = compare(&[&a, &b]);
    let figures = &comparison.side_comparisons[0].figures;
    let significance = figures[0].significance.unwrap();
    assert!(
        significance.is_significant == Some(false)
            && significance.low < 1.0
            && significance.high > 1.0,
        "{significance:?}"
    );
    assert!(
        (0.01..0.05).contains(&significance.detectable),
        "{significance:?}"
    );
}

#[test]
fn few_repeats_and_scattered_repeats_are_caveats() {
    let (a, b) = (runs("a", &[10_000.0, 10_100.0]), runs("b", &STEADY));
    let comparison = compare(&[&a, &b]);
    assert_eq!(caveat_names(&comparison), ["repeats"]);
    assert_eq!(comparison.label(), "COMPARABLE, WITH 1 CAVEAT");
    let figure = &comparison.side_comparisons[0].figures[0];
    assert!(figure.significance.is_some());
    let scattered = runs("b", &[9_000.0, 10_000.0, 11_000.0]);
    let comparison = compare(&[&runs("a", &STEADY), &scattered]);
    assert_eq!(caveat_names(&comparison), ["run-to-run"]);
    let barely_within = runs("b", &[9_510.0, 10_000.0, 10_490.0]);
    assert_eq!(
        caveat_names(&compare(&[&runs("a", &STEADY), &barely_within])),
        [""; 0]
    );
}

/// However many seconds a single run has, they say nothing about the next run.
#[test]
fn a_single_run_on_a_side_allows_no_statement_about_a_difference() {
    let counts = |level: u64| -> Vec<u64> {
        let noise = |at: u64| (at * at * 7919 + 104_729) % 397;
        (0..600).map(|at| level + noise(at)).collect()
    };
    let mut a = with_series(&counts(16_000));
    let mut b = with_series(&counts(6_400));
    (a.id, b.id) = ("a".to_owned(), "b".to_owned());
    b.measured.kinds[0].tps = 6_400.0;
    for (run, nopm) in [(&mut a, 420_000.0), (&mut b, 168_000.0)] {
        run.measured.kinds[0].response.p99_ns = Some(9_000_000);
        run.rates = vec![IndustryMetric {
            name: "NOPM".into(),
            value: nopm,
            ..IndustryMetric::default()
        }];
    }
    let several = runs("c", &STEADY);
    let [a, b] = [std::slice::from_ref(&a), std::slice::from_ref(&b)];
    for comparison in [
        compare(&[a, b]),
        compare(&[a, &several]),
        compare(&[&several, b]),
    ] {
        assert!(caveat_names(&comparison).contains(&"repeats"));
        let side = &comparison.side_comparisons[0];
        assert!(!side.figures.is_empty());
        assert!(
            side.figures
                .iter()
                .all(|figure| figure.significance.is_none())
        );
    }
    // Not even the largest limit is decided.
    for limit in [
        "not slower than A by 0%",
        "not slower than A by 90%",
        "p99<=1000% of A",
    ] {
        for sides in [[a, b], [a, &several], [&several, b]] {
            assert_eq!(verdict(sides, limit), AnswerVerdict::Undecided);
        }
    }
    let ratio = compare(&[a, b]).side_comparisons[0].figures[0].ratio;
    assert!((ratio - 0.4).abs() < 1e-9, "the ratio is given");
    let needed = typical_runs_needed();
    assert_eq!(
        (needed.effect, needed.scatter, needed.runs),
        (0.05, 0.02, 5)
    );
}

#[test]
fn runs_of_a_side_must_be_repeats_of_each_other() {
    let (mut a, b) = (runs("a", &STEADY), runs("b", &STEADY));
    a[2].workload.scale += 1;
    let comparison = compare(&[&a, &b]);
    assert_eq!(comparison.verdict, Verdict::NotComparable);
    assert_eq!(comparison.sides[0].repeat_differences[0].what, "scale");
    assert_eq!(comparison.side_comparisons[0].figures, []);
    assert_eq!(
        verdict([&a, &b], "not slower than A by 3%"),
        AnswerVerdict::Undecided
    );
    // Within 5 % a different number of clients is only a caveat, which names all numbers of the side.
    let mut c = runs("c", &STEADY);
    c[0].drive.clients += 1;
    c[1].drive.clients += 2;
    let comparison = compare(&[&b, &c]);
    let clients = &comparison.side_comparisons[0].differences[0];
    assert_eq!((clients.a.as_str(), clients.b.as_str()), ("64", "65 or 66"));
    assert_eq!(comparison.caveats, 1);
}

#[test]
fn what_is_required_beside_the_first_side_is_decided_by_the_interval() {
    let base = runs("a", &STEADY);
    for (tps, allowed, expected) in [
        ([9_000.0, 9_050.0, 9_100.0], "3%", AnswerVerdict::Fail),
        (STEADY, "3%", AnswerVerdict::Pass),
        (STEADY, "1%", AnswerVerdict::Undecided),
        ([9_650.0, 9_700.0, 9_750.0], "3%", AnswerVerdict::Undecided),
        ([11_000.0, 11_050.0, 11_100.0], "0.1%", AnswerVerdict::Pass),
    ] {
        let requirement = format!("not slower than A by {allowed}");
        assert_eq!(
            verdict([&base, &runs("b", &tps)], &requirement),
            expected,
            "{tps:?}"
        );
    }
    // At a rate all sides keep up, and only responses get slower.
    let base = paced("a", [9_900_000, 10_000_000, 10_100_000]);
    let slower = paced("b", [11_900_000, 12_000_000, 12_100_000]);
    let faster = paced("b", [8_000_000, 8_100_000, 8_200_000]);
    for (side, requirement, expected) in [
        (&slower, "not slower than A by 3%", AnswerVerdict::Fail),
        (&faster, "not slower than A by 3%", AnswerVerdict::Pass),
        (&slower, "p99<=110% of A", AnswerVerdict::Fail),
        (&slower, "p99<=120% of A", AnswerVerdict::Undecided),
        (&slower, "p99<=130% of A", AnswerVerdict::Pass),
        (&slower, "p99<11ms", AnswerVerdict::Fail),
        (&slower, "p99<12.1ms", AnswerVerdict::Undecided),
        (&slower, "p99<13ms", AnswerVerdict::Pass),
    ] {
        assert_eq!(
            verdict([&base, side], requirement),
            expected,
            "{requirement}"
        );
    }
}

#[test]
fn several_sides_are_corrected_as_one_family() {
    let base = runs("a", &STEADY);
    let slightly_faster = runs("b", &[10_150.0, 10_250.0, 10_350.0]);
    let much_faster = runs("c", &[20_000.0, 20_100.0, 20_200.0]);
    let uncorrected = compare(&[&base, &slightly_faster]).side_comparisons[0].figures[0]
        .significance
        .unwrap();
    assert_eq!(uncorrected.is_significant, Some(true), "{uncorrected:?}");
    let comparison = compare(&[
        &base,
        &slightly_faster,
        &slightly_faster.clone(),
        &much_faster,
    ]);
    let side_comparisons = comparison.side_comparisons.iter();
    let results: Vec<Significance> = side_comparisons
        .map(|side| side.figures[0].significance.unwrap())
        .collect();
    let differences: Vec<bool> = results
        .iter()
        .map(|result| result.is_significant.unwrap())
        .collect();
    assert_eq!(differences, [false, false, true]);
    assert!((results[2].level - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
    assert!(
        results[0].p.unwrap() > uncorrected.p.unwrap()
            && results[0].high > uncorrected.high
            && results[0].low < 1.0
    );
    for result in &results {
        assert_eq!(
            result.is_significant,
            Some(result.low > 1.0 || result.high < 1.0)
        );
    }
}

#[test]
fn an_experiment_reports_missing_runs_and_sequential_order() {
    let experiment_runs = |variant: &str, order: prony_store::RunOrder| {
        let mut runs = runs(variant, &STEADY);
        for (index, run) in runs.iter_mut().enumerate() {
            run.experiment = Some(Experiment {
                id: "x".to_owned(),
                variant: variant.to_owned(),
                repeat: index as u32 + 1,
                position: 1,
                runs: 6,
                order,
                ..Experiment::default()
            });
        }
        runs
    };
    let comparison = compare(&[
        &experiment_runs("a", prony_store::RunOrder::Interleaved),
        &experiment_runs("b", prony_store::RunOrder::Interleaved),
    ]);
    assert_eq!(comparison.label(), "COMPARABLE");
    let comparison = compare(&[
        &experiment_runs("a", prony_store::RunOrder::Sequential),
        &experiment_runs("b", prony_store::RunOrder::Sequential),
    ]);
    assert_eq!(caveat_names(&comparison), ["order"]);
    let mut incomplete = experiment_runs("b", prony_store::RunOrder::Interleaved);
    incomplete.pop();
    let comparison = compare(&[
        &experiment_runs("a", prony_store::RunOrder::Interleaved),
        &incomplete,
    ]);
    assert_eq!(caveat_names(&comparison), ["repeats", "incomplete"]);
    let comparison = compare(&[
        &experiment_runs("a", prony_store::RunOrder::Interleaved),
        &runs("b", &STEADY),
    ]);
    assert_eq!(
        comparison.label(),
        "COMPARABLE",
        "one side is not of the experiment"
    );
}

/// `run-to-run` depends on the primary figure: at a rate the 99th percentile, which may scatter although the
/// throughput does not.
#[test]
fn runs_at_a_rate_scatter_by_their_response_times() {
    let stable = paced("a", [9_900_000, 10_000_000, 10_100_000]);
    let scattered = paced("b", [6_000_000, 10_000_000, 19_000_000]);
    assert_eq!(caveat_names(&compare(&[&stable, &stable.clone()])), [""; 0]);
    let comparison = compare(&[&stable, &scattered]);
    assert_eq!(caveat_names(&comparison), ["run-to-run"]);
    let difference = &comparison.side_comparisons[0].differences[0];
    let primary = comparison.headline_figures(&comparison.side_comparisons[0])[0];
    assert_eq!(difference.b, percent(primary.b.variation.unwrap()));
    // At full load the throughput leads, and a scattered percentile is no caveat.
    let mut at_full_load = runs("b", &STEADY);
    for (run, p99_ns) in at_full_load
        .iter_mut()
        .zip([6_000_000, 10_000_000, 19_000_000])
    {
        run.measured.kinds[0].response.p99_ns = Some(p99_ns);
    }
    assert_eq!(
        caveat_names(&compare(&[&runs("a", &STEADY), &at_full_load])),
        [""; 0]
    );
}

/// A percentile is rounded to a step of a histogram, a mean is not.
#[test]
fn only_percentiles_have_a_resolution() {
    let with_mean = |prefix: &str, mean_ns: f64| {
        let mut runs = runs(prefix, &[10_000.0; 3]);
        for run in &mut runs {
            run.measured.kinds[0].response.mean_ns = mean_ns;
        }
        runs
    };
    let comparison = compare(&[&with_mean("a", 4e6), &with_mean("b", 4e6)]);
    let significance = |name: &str| {
        let mut figures = comparison.side_comparisons[0].figures.iter();
        figures
            .find(|figure| figure.name == name)
            .unwrap()
            .significance
            .unwrap()
    };
    let detectable = ["mean response", "p99"].map(|name| significance(name).detectable);
    assert!(
        detectable[0] < 1e-9 && detectable[1] > 1e-4,
        "{detectable:?}"
    );
}

/// Of hundreds of repeats, only one run of each comparison key is compared.
#[test]
fn hundreds_of_repeats_form_a_few_groups() {
    let repeats = |variant: &str, clients: u32| {
        let tps: Vec<f64> = (0..300).map(|at| 10_000.0 + f64::from(at)).collect();
        let mut runs = runs(variant, &tps);
        for (index, run) in runs.iter_mut().enumerate() {
            run.drive.clients = clients + (index % 2) as u32;
            for number in 0..350 {
                let name = format!("setting{number}");
                run.server.settings.insert(name, variant.into());
            }
            // Settings that name a server, or change by themselves, do not form groups.
            run.server
                .settings
                .insert("timestamp".to_owned(), index.into());
        }
        runs
    };
    let (a, b) = (repeats("a", 64), repeats("b", 65));
    for side in [&a, &b] {
        let groups = group_by_key(&side.iter().collect::<Vec<_>>());
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [150, 150]);
    }
    let comparison = compare(&[&a, &b]);
    assert_eq!(comparison.label(), "COMPARABLE, WITH 1 CAVEAT");
    let clients = &comparison.side_comparisons[0].differences[0];
    assert_eq!(
        (
            clients.what.as_str(),
            clients.a.as_str(),
            clients.b.as_str()
        ),
        ("clients", "64 or 65", "65 or 66")
    );
    assert_eq!(comparison.side_comparisons[0].differences.len(), 351);
    assert_eq!(
        comparison.side_comparisons[0].figures[0].a.values.len(),
        300
    );
    // For a few runs, comparing every pair gives the same result as the groups.
    let first_four = |runs: &[Run]| runs[..4].to_vec();
    let (a, b) = (first_four(&a), first_four(&b));
    let mut pairs = MergedDifferences::default();
    for a in &a {
        for b in &b {
            add_differences(&mut pairs, differences_allowing_intended(a, b, false));
        }
    }
    assert_eq!(
        merged_differences(
            &a.iter().collect::<Vec<_>>(),
            &b.iter().collect::<Vec<_>>(),
            false
        ),
        into_differences(pairs)
    );
}

/// Runs that must not be used are repeats of each other all the same.
#[test]
fn a_problem_of_all_runs_of_a_side_is_reported() {
    let mut unusable = runs("a", &STEADY);
    for run in &mut unusable {
        let check = crate::new_check("neighbours", Severity::Invalid, "", "");
        run.checks.extend(check);
    }
    let comparison = compare(&[&unusable, &runs("b", &STEADY)]);
    let difference = &comparison.side_comparisons[0].differences[0];
    assert_eq!(difference.what, "invalid by");
    assert_eq!(comparison.sides[0].repeat_differences, []);
    assert_eq!(comparison.verdict, Verdict::NotComparable);
}

#[test]
fn a_single_side_is_not_comparable() {
    assert_eq!(compare(&[]).verdict, Verdict::NotComparable);
    assert_eq!(
        compare(&[&runs("a", &STEADY)]).verdict,
        Verdict::NotComparable
    );
}

#[test]
fn repeated_drills_are_compared_by_their_outages() {
    let drills = |prefix: &str, lengths_s: [f64; 4]| {
        let mut runs = runs(prefix, &[1000.0; 4]);
        for (run, length_s) in runs.iter_mut().zip(lengths_s) {
            run.commit_gap = Some(CommitGap {
                from_s: 10.0,
                until_s: Some(10.0 + length_s),
                ..CommitGap::default()
            });
        }
        runs
    };
    let short = drills("a", [2.0, 2.1, 2.2, 2.3]);
    let long = drills("b", [4.0, 4.2, 4.4, 4.6]);
    let comparison = compare(&[&short, &long]);
    let figures = &comparison.side_comparisons[0].figures;
    let outage = figures.iter().find(|figure| figure.name == "outage");
    let outage = outage.expect("both have one");
    assert!((outage.ratio - 2.0).abs() < 1e-9, "{outage:?}");
    let significance = outage.significance.as_ref().expect("an interval");
    assert!(
        significance.low > 1.5 && significance.high < 2.5,
        "{significance:?}"
    );
    assert!(!outage.is_of_committed());
}

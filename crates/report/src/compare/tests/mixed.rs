//! A side whose runs are not repeats of each other has no ratio.

use super::*;
use prony_assertions::TextAssertions;

#[test]
fn a_mixed_side_has_no_ratio_and_the_others_keep_theirs() {
    let mut mixed = runs("c", &STEADY);
    mixed[1].workload.scale += 1;
    let views = compare_runs(&[runs("a", &STEADY), mixed, runs("c", &FASTER)]);
    let expected = "B: NOT COMPARABLE: the runs of B are not repeats of each other (scale: ";
    views.text.assert_starts_with(expected);
    for text in [&views.text, &views.markdown] {
        text.assert_contains("No ratio is given for B:");
        text.assert_lacks("No ratio is given:");
        // There is only one interval, so Holm's correction widens nothing.
        text.assert_lacks("Holm");
        text.assert_contains("95");
    }
    let told = &views.text;
    told.assert_contains("\nC is 10.0 % faster than A (TPS: ");
    views.text.assert_lacks("B is ");
    let suites: Vec<&str> = views.xml.split("<testsuite ").skip(1).collect();
    suites[0].assert_contains("failures=\"1\"");
    suites[1].assert_contains("failures=\"0\"");
    let all = compare_runs(&[runs("a", &STEADY), runs("b", &FASTER)]);
    all.text.assert_lacks("No ratio");
    all.markdown.assert_lacks("No ratio");
}

/// A mixed side has no ratio, even if each of its runs compares with the first side's.
#[test]
fn a_side_of_mixed_runs_has_no_ratio() {
    let variant = |mark: &str, tps: &[f64]| {
        let mut all = runs(mark, tps);
        for run in &mut all {
            let protocol = if mark == "a" { "prepared" } else { mark };
            run.drive.protocol = prony_store::Choice::from_name(protocol);
            run.plan = serde_json::json!({"run": {"protocol": protocol}});
            run.experiment = Some(prony_store::Experiment {
                id: "x".to_owned(),
                variant: mark.to_owned(),
                runs: 6,
                ..Default::default()
            });
        }
        all
    };
    let views = compare_runs(&[variant("a", &STEADY), variant("simple", &FASTER)]);
    views.text.assert_starts_with("B is 10.0 % faster than A");
    views.text.assert_contains("\nCOMPARABLE\n");
    let text = &views.text;
    text.assert_contains("this is what the experiment varied");
    let mut mixed = variant("simple", &STEADY[..1]);
    mixed.extend(variant("extended", &FASTER[..2]));
    let views = compare_runs(&[variant("a", &STEADY), mixed]);
    let reason = "NOT COMPARABLE: the runs of B are not repeats of each other (protocol: ";
    views.text.assert_starts_with(reason);
    let text = &views.text;
    text.assert_contains("\nThe runs of B are not repeats of each other");
    views.text.assert_contains("No ratio is given:");
    views.text.assert_lacks("TPS");
}

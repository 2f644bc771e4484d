//! A side whose runs are not repeats of each other has no ratio.

use super::*;

#[test]
fn a_mixed_side_has_no_ratio_and_the_others_keep_theirs() {
    let mut mixed = runs("c", &STEADY);
    mixed[1].workload.scale += 1;
    let views = compare_runs(&[runs("a", &STEADY), mixed, runs("c", &FASTER)]);
    assert!(views.text.starts_with("NOT COMPARABLE\n"), "{}", views.text);
    for text in [&views.text, &views.markdown] {
        assert!(text.contains("No ratio is given for B:"), "{text}");
        assert!(!text.contains("No ratio is given:"), "{text}");
        // There is only one interval, so Holm's correction widens nothing.
        assert!(!text.contains("Holm"), "{text}");
        assert!(text.contains("95"), "{text}");
    }
    assert!(
        views
            .text
            .contains("TPS: C is faster by 10.0 % (95 % interval")
    );
    assert!(!views.text.contains("TPS: B"), "{}", views.text);
    let suites: Vec<&str> = views.xml.split("<testsuite ").skip(1).collect();
    assert!(suites[0].contains("failures=\"1\"") && suites[1].contains("failures=\"0\""));
    let all = compare_runs(&[runs("a", &STEADY), runs("b", &FASTER)]);
    assert!(!all.text.contains("No ratio") && !all.markdown.contains("No ratio"));
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
    assert!(views.text.starts_with("COMPARABLE\n"), "{}", views.text);
    assert!(
        views.text.contains("TPS: B is faster by 10.0 %"),
        "{}",
        views.text
    );
    assert!(
        views.text.contains("this is what the experiment varied"),
        "{}",
        views.text
    );
    let mut mixed = variant("simple", &STEADY[..1]);
    mixed.extend(variant("extended", &FASTER[..2]));
    let views = compare_runs(&[variant("a", &STEADY), mixed]);
    assert!(views.text.starts_with("NOT COMPARABLE\n"), "{}", views.text);
    assert!(
        views
            .text
            .contains("The runs of B are not repeats of each other")
    );
    assert!(views.text.contains("No ratio is given:") && !views.text.contains("TPS"));
}

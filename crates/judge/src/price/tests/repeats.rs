//! Runs that were to be repeats of one thing, and are not alike.

use super::*;

#[test]
fn runs_that_are_no_repeats_of_one_thing_have_no_median() {
    let sheet = two();
    let mut other = run("y", 20_000.0);
    other.server.settings.insert("fsync".into(), "off".into());
    let runs = [(0, run("x", 10_000.0)), (0, other), (1, run("z", 5.0))];
    let prices = price(&offers(&sheet, &runs), &terms()).unwrap();
    assert_eq!(prices.points.len(), 1);
    let refused: Vec<&str> = prices.refused.iter().map(|one| one.run.as_str()).collect();
    assert_eq!(refused, ["x", "y"]);
    assert!(
        prices.refused[0].why.contains("fsync"),
        "{:?}",
        prices.refused
    );
}

#[test]
fn repeats_on_other_machines_have_a_median_that_says_so() {
    let sheet = two();
    let on = |id: &str, cpus: u32, version: &str| {
        let mut run = run(id, 10_000.0);
        run.server.version = version.to_owned();
        observed_mut(&mut run).machine.cpus = Some(cpus);
        (0, run)
    };
    let told = |runs: &[(usize, Run)]| {
        let prices = price(&offers(&sheet, runs), &terms()).unwrap();
        assert_eq!(prices.points[0].runs.len(), runs.len(), "{prices:?}");
        let remarks = prices.remarks.into_iter();
        let found = remarks.filter(|one| one.id == "repeats-differ");
        found
            .map(|one| (one.severity, one.finding))
            .collect::<Vec<_>>()
    };
    let three = [on("x", 4, "17"), on("y", 16, "17"), on("z", 8, "18")];
    let text = "a: its runs are not alike: server's CPUs 4 or 16 or 8; server version 17 or 18.";
    assert_eq!(told(&three), [(Severity::Caveat, text.to_owned())]);
    assert_eq!(told(&[on("x", 4, "17"), on("y", 4, "17")]), []);
    assert_eq!(told(&three[..1]), []);
    // What stands against a run by itself is told of it, and no difference of the repeats.
    let mut doubtful = on("y", 4, "17");
    doubtful.1.checks = vec![Check {
        id: "order".into(),
        severity: Severity::Caveat,
        finding: String::new(),
        advice: String::new(),
    }];
    assert_eq!(told(&[on("x", 4, "17"), doubtful]), []);
}

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

fn remarks_of(sheet: &Sheet, runs: &[(usize, Run)], id: &str) -> Vec<(Severity, String)> {
    let prices = price(&offers(sheet, runs), &terms()).unwrap();
    let remarks = prices.remarks.into_iter().filter(|one| one.id == id);
    remarks.map(|one| (one.severity, one.finding)).collect()
}

#[test]
fn repeats_of_one_variant_that_price_two_configurations_are_a_caveat() {
    let sheet = two();
    let of = |place: usize, id: &str, variant: &str| (place, repeat("e", variant, id, 10_000.0));
    let told = |runs: &[(usize, Run)]| remarks_of(&sheet, runs, "repeats-apart");
    let found = told(&[of(0, "1", "base"), of(1, "4", "base")]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, Severity::Caveat);
    let begin = "a (base), b (base): priced by repeats of one variant";
    assert!(found[0].1.starts_with(begin), "{found:?}");
    // Of two variants, of one configuration, and one measurement at two prices, which is told as that.
    assert_eq!(told(&[of(0, "1", "base"), of(1, "4", "new")]), []);
    assert_eq!(told(&[of(0, "1", "base"), of(0, "4", "base")]), []);
    let same = [of(0, "1", "base"), of(1, "1", "base")];
    assert_eq!(told(&same), []);
    assert_eq!(remarks_of(&sheet, &same, "same-run").len(), 1);
}

#[test]
fn a_run_that_stands_for_its_repeats_is_named_with_the_way_to_take_it_alone() {
    let found = stands_for(&[("1", 4), ("7", 2), ("3", 4), ("1", 4)]);
    let texts: Vec<&str> = found.iter().map(|one| one.finding.as_str()).collect();
    let text = |ids: &str, count: usize, first: &str| {
        format!(
            "{ids}: stands for the {count} repeats of its variant; name it {first}, with the comma for \
             itself alone."
        )
    };
    assert_eq!(texts, [text("7", 2, "7"), text("1 and 3", 4, "1")]);
    assert_eq!(stands_for(&[]), []);
}

#[test]
fn a_load_that_one_repeat_did_not_hold_is_no_plain_yes() {
    let sheet = two();
    let asked = |tps: f64, rates: &[f64]| {
        let runs: Vec<(usize, Run)> = rates
            .iter()
            .enumerate()
            .map(|(place, tps)| (0, run(&place.to_string(), *tps)))
            .collect();
        let demand = Some(Demand {
            tps,
            p95_ns: None,
            p99_ns: None,
        });
        let prices = price(&offers(&sheet, &runs), &Terms { demand, ..terms() }).unwrap();
        let caveats = prices.remarks.into_iter();
        let caveats = caveats.filter(|one| one.id == "load-not-always-held");
        let caveats: Vec<String> = caveats.map(|one| one.finding).collect();
        let first = prices.answer.unwrap().candidates.remove(0);
        (first.holds, first.is_partly(), first.lowest_tps, caveats)
    };
    let four = [294.0, 1_133.0, 900.0, 1_000.0];
    let text = "a: 1 of 4 runs gave less: 294 a second.".to_owned();
    assert_eq!(asked(500.0, &four), (true, true, 294.0, vec![text]));
    let text = "a: 2 of 4 runs gave less, down to 294 a second.".to_owned();
    assert_eq!(asked(950.0, &four), (true, true, 294.0, vec![text]));
    assert_eq!(asked(290.0, &four), (true, false, 294.0, vec![]));
    assert_eq!(asked(990.0, &four), (false, false, 294.0, vec![]));
    assert_eq!(asked(500.0, &four[1..2]), (true, false, 1_133.0, vec![]));
}

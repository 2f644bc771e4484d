use super::*;
use crate::sample::{healthy, healthy_at_rate, with_series};
use crate::words::percent;
use prony_store::{Experiment, Rate};

/// Runs of these throughputs, with ids of their own.
fn runs(mark: &str, tps: &[f64]) -> Vec<Run> {
    let each = tps.iter().enumerate().map(|(place, tps)| {
        let mut run = healthy();
        run.id = format!("{mark}{place}");
        run.measured.kinds[0].tps = *tps;
        run.measured.kinds[0].response.p99_ns = Some((1e12 / tps) as u64);
        run
    });
    each.collect()
}

/// Runs at a rate, of these 99th percentiles.
fn paced(mark: &str, p99_ns: [u64; 3]) -> Vec<Run> {
    let each = p99_ns.iter().enumerate().map(|(place, p99_ns)| {
        let mut run = healthy_at_rate();
        run.id = format!("{mark}{place}");
        run.measured.kinds[0].response.p99_ns = Some(*p99_ns);
        run
    });
    each.collect()
}

fn against(sides: &[&[Run]]) -> Sides {
    let sides: Vec<Side<'_>> = sides
        .iter()
        .map(|runs| Side {
            name: String::new(),
            runs: runs.iter().collect(),
        })
        .collect();
    compare_sides(&sides)
}

fn caveat_names(found: &Sides) -> Vec<&str> {
    let all = found.against.iter().flat_map(|one| &one.differences);
    let caveats = all.filter(|one| one.severity == Severity::Caveat);
    caveats.map(|one| one.what.as_str()).collect()
}

const STEADY: [f64; 3] = [9_900.0, 10_000.0, 10_100.0];

#[test]
fn repeats_give_an_interval_and_the_median() {
    let (a, b) = (
        runs("a", &STEADY),
        runs("b", &[12_000.0, 11_000.0, 11_100.0]),
    );
    let found = against(&[&a, &b]);
    assert_eq!(found.words(), "COMPARABLE");
    assert_eq!((found.sides[1].letter, found.sides[1].runs.len()), ('B', 3));
    let leading = found.leading(&found.against[0]);
    let names: Vec<&str> = leading.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["TPS", "p99"]);
    let tps = leading[0];
    assert_eq!(
        (tps.a.median, tps.b.median),
        (10_000.0, 11_100.0),
        "never the best"
    );
    let said = tps.found.unwrap();
    assert_eq!(said.basis, Basis::Repeats);
    assert!(
        said.difference && said.low > 1.0 && said.high > tps.ratio,
        "{said:?}"
    );
    assert_eq!(said.level, 0.95);
    let back = against(&[&b, &a]);
    let back = back.against[0].figures[0].found.unwrap();
    assert!((back.low * said.high - 1.0).abs() < 1e-9);
}

#[test]
fn equals_are_no_difference_and_say_what_would_have_been() {
    let (a, b) = (
        runs("a", &STEADY),
        runs("b", &[9_950.0, 10_090.0, 10_010.0]),
    );
    let found = against(&[&a, &b]);
    let said = found.against[0].figures[0].found.unwrap();
    assert!(
        !said.difference && said.low < 1.0 && said.high > 1.0,
        "{said:?}"
    );
    assert!((0.01..0.05).contains(&said.detectable), "{said:?}");
}

#[test]
fn few_repeats_and_wild_ones_are_caveats() {
    let (a, b) = (runs("a", &[10_000.0, 10_100.0]), runs("b", &STEADY));
    let found = against(&[&a, &b]);
    assert_eq!(caveat_names(&found), ["repeats"]);
    assert_eq!(found.words(), "COMPARABLE, WITH 1 CAVEAT");
    assert!(found.against[0].figures[0].found.is_some());
    let wild = runs("b", &[9_000.0, 10_000.0, 11_000.0]);
    let found = against(&[&runs("a", &STEADY), &wild]);
    assert_eq!(caveat_names(&found), ["run-to-run"]);
    let just = runs("b", &[9_510.0, 10_000.0, 10_490.0]);
    assert_eq!(
        caveat_names(&against(&[&runs("a", &STEADY), &just])),
        [""; 0]
    );
}

#[test]
fn one_run_a_side_is_told_by_its_seconds_alone() {
    let counts = |level: u64| -> Vec<u64> {
        let noise = |at: u64| (at * at * 7919 + 104_729) % 397;
        (0..120).map(|at| level + noise(at)).collect()
    };
    let mut a = with_series(&counts(16_000));
    let mut b = with_series(&counts(17_000));
    (a.id, b.id) = ("a".to_owned(), "b".to_owned());
    b.measured.kinds[0].tps = 17_000.0;
    for run in [&mut a, &mut b] {
        run.measured.kinds[0].response.p99_ns = Some(9_000_000);
        run.rates = vec![Rate {
            name: "NOPM".to_owned(),
            value: 60.0 * 7_000.0,
            ..Rate::default()
        }];
    }
    let found = against(&[std::slice::from_ref(&a), std::slice::from_ref(&b)]);
    assert_eq!(caveat_names(&found), ["repeats"]);
    let figures = &found.against[0].figures;
    let of = |name: &str| figures.iter().find(|one| one.name == name).unwrap();
    let said = of("TPS").found.unwrap();
    assert_eq!(said.basis, Basis::WithinOneRun);
    assert!(
        said.difference && said.low > 1.05 && said.high < 1.07,
        "{said:?}"
    );
    assert_eq!(of("p99").found, None, "its seconds do not add up to it");
    let orders = of("NOPM").found.unwrap();
    assert!(!orders.difference && orders.high - orders.low > said.high - said.low);
    // And never breaks a limit, or holds one.
    assert_eq!(found.gate(&found.against[0], 0.9), Some(Gate::Unsure));
    // One run against several says nothing.
    let several = runs("c", &STEADY);
    let found = against(&[std::slice::from_ref(&a), &several]);
    assert!(
        found.against[0]
            .figures
            .iter()
            .all(|one| one.found.is_none())
    );
}

#[test]
fn runs_of_a_side_must_be_of_one_thing() {
    let (mut a, b) = (runs("a", &STEADY), runs("b", &STEADY));
    a[2].workload.scale += 1;
    let found = against(&[&a, &b]);
    assert_eq!(found.verdict, Verdict::NotComparable);
    assert_eq!(found.sides[0].unlike[0].what, "scale");
    assert_eq!(found.against[0].figures, []);
    assert_eq!(found.gate(&found.against[0], 0.03), None);
    // Two like pairs, of which one side mixes two things: nothing is told of it.
    let mut c = runs("c", &STEADY);
    c[0].drive.clients += 1;
    c[1].drive.clients += 2;
    let found = against(&[&b, &c]);
    let clients = &found.against[0].differences[0];
    assert_eq!((clients.a.as_str(), clients.b.as_str()), ("64", "65 or 66"));
    assert_eq!(found.caveats, 1);
}

#[test]
fn limits_are_broken_held_or_open() {
    let base = runs("a", &STEADY);
    let gate = |tps: &[f64], allowed: f64| {
        let found = against(&[&base, &runs("b", tps)]);
        found.gate(&found.against[0], allowed)
    };
    assert_eq!(gate(&[9_000.0, 9_050.0, 9_100.0], 0.03), Some(Gate::Slower));
    assert_eq!(gate(&STEADY, 0.03), Some(Gate::Within));
    assert_eq!(gate(&STEADY, 0.01), Some(Gate::Unsure));
    assert_eq!(gate(&[9_650.0, 9_700.0, 9_750.0], 0.03), Some(Gate::Unsure));
    assert_eq!(
        gate(&[11_000.0, 11_050.0, 11_100.0], 0.001),
        Some(Gate::Within)
    );
    // At a rate all keep up, and what is slow is the response.
    let base = paced("a", [9_900_000, 10_000_000, 10_100_000]);
    let found = against(&[&base, &paced("b", [12_000_000, 12_100_000, 12_200_000])]);
    assert_eq!(found.leading(&found.against[0])[0].name, "p99");
    assert_eq!(found.gate(&found.against[0], 0.03), Some(Gate::Slower));
    let found = against(&[&base, &paced("b", [8_000_000, 8_100_000, 8_200_000])]);
    assert_eq!(found.gate(&found.against[0], 0.03), Some(Gate::Within));
}

#[test]
fn several_sides_are_one_family() {
    let base = runs("a", &STEADY);
    let slightly = runs("b", &[10_150.0, 10_250.0, 10_350.0]);
    let far = runs("c", &[20_000.0, 20_100.0, 20_200.0]);
    let alone = against(&[&base, &slightly]).against[0].figures[0]
        .found
        .unwrap();
    assert!(alone.difference, "{alone:?}");
    let found = against(&[&base, &slightly, &slightly.clone(), &far]);
    let said: Vec<Found> = found
        .against
        .iter()
        .map(|one| one.figures[0].found.unwrap())
        .collect();
    let differences: Vec<bool> = said.iter().map(|one| one.difference).collect();
    assert_eq!(differences, [false, false, true]);
    assert!((said[2].level - (1.0 - 0.05 / 3.0)).abs() < 1e-12);
    assert!(said[0].p > alone.p && said[0].high > alone.high && said[0].low < 1.0);
    for one in &said {
        assert_eq!(one.difference, one.low > 1.0 || one.high < 1.0);
    }
}

#[test]
fn an_experiment_says_what_is_missing_and_in_which_order() {
    let part = |mark: &str, order: &str| {
        let mut all = runs(mark, &STEADY);
        for (place, run) in all.iter_mut().enumerate() {
            run.experiment = Some(Experiment {
                id: "x".to_owned(),
                variant: mark.to_owned(),
                repeat: place as u32 + 1,
                position: 1,
                runs: 6,
                order: order.to_owned(),
                ..Experiment::default()
            });
        }
        all
    };
    let found = against(&[&part("a", "interleaved"), &part("b", "interleaved")]);
    assert_eq!(found.words(), "COMPARABLE");
    let found = against(&[&part("a", "sequential"), &part("b", "sequential")]);
    assert_eq!(caveat_names(&found), ["order"]);
    let mut short = part("b", "interleaved");
    short.pop();
    let found = against(&[&part("a", "interleaved"), &short]);
    assert_eq!(caveat_names(&found), ["repeats", "incomplete"]);
    let found = against(&[&part("a", "interleaved"), &runs("b", &STEADY)]);
    assert_eq!(found.words(), "COMPARABLE", "a run of another day");
}

/// What leads decides: at a rate the response time, and its runs may differ where the throughput's do not.
#[test]
fn runs_at_a_rate_scatter_by_their_response_time() {
    let calm = paced("a", [9_900_000, 10_000_000, 10_100_000]);
    let wild = paced("b", [6_000_000, 10_000_000, 19_000_000]);
    assert_eq!(caveat_names(&against(&[&calm, &calm.clone()])), [""; 0]);
    let found = against(&[&calm, &wild]);
    assert_eq!(caveat_names(&found), ["run-to-run"]);
    let told = &found.against[0].differences[0];
    let leading = found.leading(&found.against[0])[0];
    assert_eq!(told.b, percent(leading.b.variation.unwrap()));
    // Flat out the throughput leads, and a wild percentile is no caveat.
    let mut flat_out = runs("b", &STEADY);
    for (run, p99_ns) in flat_out.iter_mut().zip([6_000_000, 10_000_000, 19_000_000]) {
        run.measured.kinds[0].response.p99_ns = Some(p99_ns);
    }
    assert_eq!(
        caveat_names(&against(&[&runs("a", &STEADY), &flat_out])),
        [""; 0]
    );
}

/// A percentile comes in steps of a histogram, a mean does not.
#[test]
fn steps_are_those_of_percentiles_alone() {
    let with = |mark: &str, mean_ns: f64| {
        let mut all = runs(mark, &[10_000.0; 3]);
        for run in &mut all {
            run.measured.kinds[0].response.mean_ns = mean_ns;
        }
        all
    };
    let found = against(&[&with("a", 4e6), &with("b", 4e6)]);
    let said = |name: &str| {
        let mut figures = found.against[0].figures.iter();
        figures.find(|one| one.name == name).unwrap().found.unwrap()
    };
    let detectable = ["mean response", "p99"].map(|name| said(name).detectable);
    assert!(
        detectable[0] < 1e-9 && detectable[1] > 1e-4,
        "{detectable:?}"
    );
}

/// Of hundreds of repeats those that read alike are compared once.
#[test]
fn hundreds_of_repeats_are_a_few_groups() {
    let many = |mark: &str, clients: u32| {
        let tps: Vec<f64> = (0..300).map(|at| 10_000.0 + f64::from(at)).collect();
        let mut all = runs(mark, &tps);
        for (place, run) in all.iter_mut().enumerate() {
            run.drive.clients = clients + (place % 2) as u32;
            for number in 0..350 {
                let name = format!("setting{number}");
                run.server.settings.insert(name, mark.into());
            }
            // What names a server, or changes by itself, makes no group.
            run.server
                .settings
                .insert("timestamp".to_owned(), place.into());
        }
        all
    };
    let (a, b) = (many("a", 64), many("b", 65));
    for side in [&a, &b] {
        let groups = groups(&side.iter().collect::<Vec<_>>());
        assert_eq!(groups.iter().map(Vec::len).collect::<Vec<_>>(), [150, 150]);
    }
    let found = against(&[&a, &b]);
    assert_eq!(found.words(), "COMPARABLE, WITH 1 CAVEAT");
    let clients = &found.against[0].differences[0];
    assert_eq!(
        (
            clients.what.as_str(),
            clients.a.as_str(),
            clients.b.as_str()
        ),
        ("clients", "64 or 65", "65 or 66")
    );
    assert_eq!(found.against[0].differences.len(), 351);
    assert_eq!(found.against[0].figures[0].a.values.len(), 300);
    // What every pair of a few says is what the groups say.
    let few = |all: &[Run]| all[..4].to_vec();
    let (a, b) = (few(&a), few(&b));
    let mut pairs = Readings::default();
    for a in &a {
        for b in &b {
            add(&mut pairs, weighed(a, b));
        }
    }
    assert_eq!(
        merged(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>()),
        joined(pairs)
    );
}

/// Runs that all must not be used are no repeats, however alike they are.
#[test]
fn what_stands_against_all_of_a_side_is_told() {
    let mut all = runs("a", &STEADY);
    for run in &mut all {
        run.measured.kinds[0].committed = 0;
    }
    let found = against(&[&all, &runs("b", &STEADY)]);
    assert_eq!(found.sides[0].unlike[0].what, "committed");
    assert_eq!(found.verdict, Verdict::NotComparable);
}

#[test]
fn one_side_alone_compares_with_nothing() {
    assert_eq!(against(&[]).verdict, Verdict::NotComparable);
    assert_eq!(
        against(&[&runs("a", &STEADY)]).verdict,
        Verdict::NotComparable
    );
}

use super::*;
use crate::price::{MeasuredConfiguration, PriceDate, PriceOptions, PriceSheet, price};
use crate::sample::{found, observed_mut, observed_run};
use KneeState::{Found, NotReached};
use Limiter::{ClientCpus, Connections, Locks, ServerCpus, Storage, Unknown};
use prony_assertions::TextAssertions;
use prony_store::{
    DeclaredFact, Experiment, ExperimentKind, FoundPooler, MachineSecond, RunState, Severity,
};

/// Runs of points with this throughput, three of each that scatter by 1 %.
fn sweep_runs(points: &[(Vec<Setting>, f64)], change: impl Fn(&mut Run, f64)) -> Vec<Run> {
    let name = |point: &[Setting]| {
        let parts = point
            .iter()
            .map(|setting| format!("{}-{}", setting.name, setting.value));
        parts.collect::<Vec<_>>().join(".")
    };
    let names: Vec<String> = points.iter().map(|(point, _)| name(point)).collect();
    let points = points.iter();
    let repeats = points.flat_map(|point| [(point, 0.99), (point, 1.0), (point, 1.01)]);
    let runs = repeats.map(|((point, tps), share)| {
        let mut run = observed_run();
        run.experiment = Some(Experiment {
            id: "e".to_owned(),
            variant: name(point),
            variants: names.clone(),
            kind: ExperimentKind::Sweep,
            point: point.clone(),
            ..Experiment::default()
        });
        run.id = format!("{}-{share}", name(point));
        run.measured.kinds[0].tps = tps * share;
        run.measured.kinds[0].response.p50_ns = Some(4_000_000);
        run.measured.kinds[0].response.p99_ns = Some(9_000_000);
        change(&mut run, *tps);
        run
    });
    runs.collect()
}

fn clients(values: &[(u32, f64)]) -> Vec<(Vec<Setting>, f64)> {
    let point =
        |&(clients, tps): &(u32, f64)| (vec![Setting::new("clients", clients.to_string())], tps);
    values.iter().map(point).collect()
}

fn set_busy(run: &mut Run, busy: f64) {
    for second in &mut observed_mut(run).series {
        second.machine = Some(MachineSecond {
            busy_share: Some(busy),
            ..MachineSecond::default()
        });
    }
}

fn set_waits(run: &mut Run, event: &str) {
    for second in &mut observed_mut(run).series {
        second.waits = [("CPU".to_owned(), 10), (event.to_owned(), 40)].into();
    }
}

const PLATEAU: [(u32, f64); 6] = [
    (1, 500.0),
    (2, 990.0),
    (4, 1_950.0),
    (8, 3_700.0),
    (16, 3_900.0),
    (32, 3_890.0),
];

#[test]
fn a_plateau_has_a_knee_with_its_figures_and_the_servers_cpus_as_limit() {
    let runs = sweep_runs(&clients(&PLATEAU), |run, tps| set_busy(run, tps / 3_900.0));
    let sweep = Sweep::of(&runs).unwrap();
    assert_eq!((sweep.axis.as_str(), sweep.curves.len()), ("clients", 1));
    let curve = &sweep.curves[0];
    assert_eq!((curve.knee, curve.knee_state), (Some(3), Some(Found)));
    let knee = &curve.points[3];
    assert_eq!((knee.x, knee.runs, knee.counted), (Some(8.0), 3, 3));
    assert_eq!((knee.p50_ns, knee.p99_ns), (Some(4e6), Some(9e6)));
    assert!((knee.server_cpu_share.unwrap() - 3_700.0 / 3_900.0).abs() < 1e-9);
    assert_eq!(knee.rate_per_cpu, Some(3_700.0 / 16.0));
    let [low, high] = knee.rate_interval.unwrap();
    assert!(
        low < 3_663.0 && high > 3_737.0 && low > 3_500.0,
        "{low} {high}"
    );
    let limiter = curve.limiter.as_ref().unwrap();
    assert_eq!((limiter.limiter, limiter.at.as_str()), (ServerCpus, "8"));
    limiter.evidence.assert_contains("95 % busy");
}

#[test]
fn each_limit_is_named_by_what_was_observed() {
    let limit = |change: fn(&mut Run)| {
        let runs = sweep_runs(&clients(&PLATEAU), |run, _| {
            set_busy(run, 0.5);
            change(run);
        });
        let sweep = Sweep::of(&runs).unwrap();
        let found = sweep.curves[0].limiter.clone().unwrap();
        (found.limiter, found.evidence)
    };
    let locks = limit(|run| set_waits(run, "Lock/tuple"));
    assert_eq!(
        (locks.0, locks.1.contains("80 %")),
        (Locks, true),
        "{locks:?}"
    );
    assert_eq!(limit(|run| set_waits(run, "LWLock/WALWrite")).0, Storage);
    assert_eq!(limit(|run| set_waits(run, "IO/WalSync")).0, Storage);
    assert_eq!(
        limit(|run| set_waits(run, "State/waiting for handler commit")).0,
        Storage
    );
    let busiest = limit(|run| run.machine_mut().health.busiest_thread_share = Some(0.98));
    assert_eq!(busiest.0, ClientCpus, "{busiest:?}");
    fn set_pooled(run: &mut Run) {
        run.server.pooler = Some(FoundPooler {
            product: None,
            sign: "a session served two connections".to_owned(),
            shares_sessions: true,
        });
        for second in &mut observed_mut(run).series {
            second.active = Some(10);
        }
    }
    let pooled = limit(set_pooled);
    assert_eq!(pooled.0, Connections, "{pooled:?}");
    let waiting = limit(|run| {
        set_waits(run, "IO/WalSync");
        set_pooled(run);
    });
    assert_eq!(waiting.0, Storage, "{waiting:?}");
    let other = limit(|run| set_waits(run, "IPC/SyncRep"));
    assert_eq!(other.0, Unknown);
    other.1.assert_contains("50 % busy");
    other.1.assert_contains("IPC/SyncRep");
    let unobserved = limit(|run| run.observed = None);
    assert_eq!(
        unobserved,
        (Unknown, "the server was not observed".to_owned())
    );
}

#[test]
fn a_limit_that_shows_only_after_the_knee_is_named_with_its_point() {
    let runs = sweep_runs(&clients(&PLATEAU), |run, tps| {
        set_busy(run, if tps > 3_800.0 { 0.96 } else { 0.85 });
    });
    let limiter = Sweep::of(&runs).unwrap().curves[0].limiter.clone().unwrap();
    assert_eq!((limiter.limiter, limiter.at.as_str()), (ServerCpus, "16"));
}

#[test]
fn a_line_has_no_knee_and_no_limit_and_the_law_explains_it() {
    let line: Vec<(u32, f64)> = (1..=6).map(|n| (n, f64::from(n) * 100.0)).collect();
    let sweep = Sweep::of(&sweep_runs(&clients(&line), |_, _| {})).unwrap();
    let curve = &sweep.curves[0];
    assert_eq!((curve.knee, curve.knee_state), (None, Some(NotReached)));
    assert_eq!(curve.limiter, None);
    assert!(
        matches!(curve.usl, Some(UslFit::Fits(usl)) if usl.sigma < 0.01),
        "{curve:?}"
    );
    // At a rate, the number of clients is not the concurrency.
    let paced = sweep_runs(&clients(&line), |run, _| run.drive.rate_tps = Some(5_000.0));
    assert_eq!(Sweep::of(&paced).unwrap().curves[0].usl, None);
}

#[test]
fn points_that_the_client_limited_do_not_count_and_name_the_limit() {
    let runs = sweep_runs(&clients(&PLATEAU), |run, tps| {
        set_busy(run, 0.5);
        if tps > 3_750.0 {
            run.machine_mut().health.busiest_thread_share = Some(0.99);
            run.checks = crate::judge(run);
        }
    });
    let sweep = Sweep::of(&runs).unwrap();
    let curve = &sweep.curves[0];
    let last = curve.points.last().unwrap();
    assert_eq!((last.counted, last.rate), (0, None));
    assert!(
        last.invalid_by.contains(&"client-limit".to_owned()),
        "{last:?}"
    );
    assert_eq!(
        curve.knee_state,
        Some(NotReached),
        "nobody knows what the server would do"
    );
}

#[test]
fn other_settings_make_curves_of_their_own_and_names_have_no_knee() {
    let mut points = Vec::new();
    for (protocol, share) in [("simple", 0.6), ("prepared", 1.0)] {
        for (mut point, tps) in clients(&PLATEAU) {
            point.insert(0, Setting::new("protocol", protocol));
            points.push((point, tps * share));
        }
    }
    let sweep = Sweep::of(&sweep_runs(&points, |_, _| {})).unwrap();
    assert_eq!(sweep.curves.len(), 2);
    assert_eq!(
        sweep.curves[1].settings,
        [Setting::new("protocol", "prepared")]
    );
    assert!(
        sweep.curves.iter().all(|curve| curve.knee == Some(3)),
        "{sweep:?}"
    );
    let names: Vec<(Vec<Setting>, f64)> = ["simple", "extended", "prepared"]
        .into_iter()
        .map(|name| (vec![Setting::new("protocol", name)], 100.0))
        .collect();
    let sweep = Sweep::of(&sweep_runs(&names, |_, _| {})).unwrap();
    let curve = &sweep.curves[0];
    assert_eq!(
        (curve.knee_state, curve.knee, curve.usl),
        (None, None, None)
    );
    assert_eq!(curve.points[1].value, "extended");
}

#[test]
fn runs_that_must_not_be_used_do_not_count_and_other_runs_are_no_sweep() {
    let mut runs = sweep_runs(&clients(&PLATEAU), |_, _| {});
    runs[0].checks.push(found("x", Severity::Invalid));
    for run in &mut runs[3..6] {
        run.state = RunState::Partial;
    }
    let sweep = Sweep::of(&runs).unwrap();
    let [first, second] = &sweep.curves[0].points[..2] else {
        panic!("{sweep:?}");
    };
    assert_eq!((first.runs, first.counted), (3, 2));
    assert_eq!(first.invalid_by, ["x"]);
    assert_eq!(
        (second.counted, second.rate, second.rate_interval),
        (0, None, None)
    );
    assert_eq!(sweep.curves[0].knee, Some(3), "by the points with figures");
    runs[4].experiment.as_mut().unwrap().point.clear();
    assert_eq!(Sweep::of(&runs), None);
    assert_eq!(Sweep::of(&[observed_run()]), None);
    assert_eq!(Sweep::of(&[] as &[Run]), None);
}

#[test]
fn machines_are_ordered_by_their_cpus_and_have_throughput_for_the_money() {
    let machines = [("big", 3_100.0), ("small", 1_000.0), ("middle", 1_900.0)];
    let points: Vec<(Vec<Setting>, f64)> = machines
        .into_iter()
        .map(|(name, tps)| (vec![Setting::new("machine", name)], tps))
        .collect();
    let mut runs = sweep_runs(&points, |run, tps| {
        let cpus = (tps / 900.0) as u32;
        observed_mut(run).machine.cpus = Some(cpus);
        run.measured.kinds[0].committed = (tps * 600.0) as u64;
        run.server
            .declared
            .declare(DeclaredFact::Replicas, "0")
            .unwrap();
    });
    let mut sweep = Sweep::of(&runs).unwrap();
    assert_eq!(sweep.axis, CPUS_AXIS);
    let order: Vec<(&str, Option<f64>)> = sweep
        .points()
        .map(|point| (point.value.as_str(), point.x))
        .collect();
    assert_eq!(
        order,
        [
            ("small", Some(1.0)),
            ("middle", Some(2.0)),
            ("big", Some(3.0))
        ]
    );
    let sheet = PriceSheet::from_toml("p.toml", SHEET).unwrap();
    for run in &mut runs {
        run.checks.clear();
    }
    let measured: Vec<MeasuredConfiguration<'_>> = runs
        .iter()
        .filter_map(|run| {
            let name = run.experiment.as_ref()?.point[0].value.clone();
            Some(MeasuredConfiguration {
                sheet: &sheet,
                configuration: sheet
                    .configurations
                    .iter()
                    .find(|known| known.name == name)?,
                run,
            })
        })
        .collect();
    let options = PriceOptions {
        today: PriceDate::parse("2026-11-29").unwrap(),
        utilisation: 1.0,
        across_regions: true,
        demand: None,
    };
    sweep.add_prices(&price(&measured, &options).unwrap());
    let costs: Vec<Option<f64>> = sweep.points().map(|point| point.monthly_cost).collect();
    assert_eq!(costs, [Some(100.0), None, Some(250.0)]);
    let big = sweep.points().last().unwrap();
    assert!(
        (big.tps_per_money.unwrap() - 3_100.0 / 250.0).abs() < 1e-6,
        "{big:?}"
    );
}

const SHEET: &str = "[sheet]\ncurrency = \"USD\"\nregion = \"r1\"\nterm = \"on demand\"\nas_of = 2026-11-01\n\
    source = \"s\"\nentered_by = \"e\"\n\
    [[configuration]]\nname = \"small\"\n[[configuration.item]]\nname = \"i\"\nquantity = 1\nunit_price = 100\nper = \"month\"\n\
    [[configuration]]\nname = \"big\"\n[[configuration.item]]\nname = \"i\"\nquantity = 1\nunit_price = 250\nper = \"month\"\n";

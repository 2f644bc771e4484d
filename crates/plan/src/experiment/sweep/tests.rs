use super::*;
use crate::{Experiment, ServerPlan, value_from_flag};
use prony_assertions::TextAssertions;

const BASE: &str = "[workload]\nname = \"tpcb\"\n[run]\nclients = 4\nduration = \"5s\"\n";

fn input(sweep: &str) -> PlanInput {
    PlanInput::from_toml("p.toml", &format!("{BASE}{sweep}")).unwrap()
}

fn checked(sweep: &str) -> Experiment {
    let checked = input(sweep).check_experiment();
    checked.unwrap_or_else(|problems| panic!("{problems}"))
}

fn problems(sweep: &str) -> String {
    match input(sweep).check_experiment() {
        Ok(_) => panic!("{sweep} is valid"),
        Err(problems) => problems.to_string(),
    }
}

fn integers(text: &str) -> Vec<i64> {
    let values = parse_values(text).unwrap();
    values
        .iter()
        .map(|value| value.as_integer().unwrap())
        .collect()
}

#[test]
fn values_are_lists_and_ranges() {
    assert_eq!(integers("1,2, 4 ,8"), [1, 2, 4, 8]);
    assert_eq!(integers("2..5"), [2, 3, 4, 5]);
    assert_eq!(integers("1..20 step 8"), [1, 9, 17]);
    assert_eq!(integers("1..64 times 4"), [1, 4, 16, 64]);
    assert_eq!(integers("0..2"), [0, 1, 2]);
    let mixed = parse_values("simple,true,0.5,7").unwrap();
    let kinds: Vec<&str> = mixed.iter().map(toml::Value::type_str).collect();
    assert_eq!(kinds, ["string", "boolean", "float", "integer"]);
    for wrong in [
        "",
        " , ",
        "5..1",
        "1..9 step 0",
        "0..9 times 2",
        "1..9 times 1",
        "a..b",
        "1..9 by 2",
    ] {
        assert!(parse_values(wrong).is_err(), "{wrong}");
    }
    // A range that is far too long takes neither time nor memory.
    assert_eq!(
        parse_values("0..99999999999999").unwrap().len(),
        MAX_VARIANTS + 1
    );
}

#[test]
fn a_sweep_is_every_combination_and_the_last_key_varies_fastest() {
    let sweep = "[sweep]\nprotocol = [\"simple\", \"prepared\"]\nclients = \"1..4 times 2\"\n";
    let experiment = checked(sweep);
    let variants = experiment.variants.iter();
    let names: Vec<&str> = variants.map(|point| point.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "protocol-simple.clients-1",
            "protocol-simple.clients-2",
            "protocol-simple.clients-4",
            "protocol-prepared.clients-1",
            "protocol-prepared.clients-2",
            "protocol-prepared.clients-4",
        ]
    );
    let last = &experiment.variants[5];
    assert_eq!(last.plan.drive.clients, 4);
    assert_eq!(last.plan.drive.protocol.name(), "prepared");
    assert_eq!(
        last.point,
        [
            PointSetting::new("protocol", "prepared"),
            PointSetting::new("clients", "4")
        ]
    );
    assert_eq!(experiment.repeats, super::super::DEFAULT_REPEATS);
}

#[test]
fn options_of_the_workload_and_paths_of_settings_can_be_swept() {
    let experiment = checked("[sweep]\nrun.clients = [1, 2]\ntable_size = \"10..20 step 10\"\n");
    let sizes: Vec<i64> = experiment
        .variants
        .iter()
        .map(|point| {
            point.plan.workload.options["table_size"]
                .as_integer()
                .unwrap()
        })
        .collect();
    assert_eq!(sizes, [10, 20, 10, 20]);
    assert_eq!(experiment.variants[3].name, "clients-2.table_size-20");
    let odd = checked("[sweep]\nfiles = [\"a b.sql\", \"c.sql\"]\n");
    assert_eq!(
        odd.variants[0].name, "point-1",
        "no name of a variant has a space"
    );
}

#[test]
fn machines_have_servers_facts_and_prices() {
    let experiment = checked(
        "[sweep]\nclients = [8, 16]\nprices = \"sheet.toml\"\n\
         [sweep.machine.small]\nurl = \"postgres://u:secret@small/d\"\ncpus = 2\n\
         [sweep.machine.big]\nurl = \"postgres://u:secret@big/d\"\ncpus = 8\nconfiguration = \"big-2026\"\n\
         server_metrics = \"http://big:9100/metrics\"\n",
    );
    assert_eq!(experiment.prices.as_deref(), Some("sheet.toml"));
    let variants = experiment.variants.iter();
    let names: Vec<&str> = variants.map(|point| point.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "small.clients-8",
            "small.clients-16",
            "big.clients-8",
            "big.clients-16"
        ]
    );
    let (small, big) = (&experiment.variants[0], &experiment.variants[3]);
    assert_eq!(
        small.plan.server,
        ServerPlan::Url("postgres://u:secret@small/d".to_owned())
    );
    assert_eq!(small.configuration.as_deref(), Some("small"));
    assert_eq!(big.configuration.as_deref(), Some("big-2026"));
    assert_eq!(big.point[0], PointSetting::new(MACHINE_AXIS, "big"));
    let cpus = |point: &crate::Variant| {
        point
            .plan
            .declared
            .count(prony_document::DeclaredFact::Cpus)
    };
    assert_eq!((cpus(small), cpus(big)), (Some(2), Some(8)));
    let metrics = |point: &crate::Variant| point.plan.observe.server_metrics.clone();
    let exporter = "http://big:9100/metrics".to_owned();
    assert_eq!((metrics(small), metrics(big)), (None, Some(exporter)));
    format!("{:?}", big.point).assert_lacks("secret");
}

#[test]
fn flags_replace_the_values_of_a_key_and_add_others() {
    let flags = PlanInput {
        sweep: Some(SweepInput {
            axes: vec![
                SweepAxis::from_flag("run.clients=3,5").unwrap(),
                SweepAxis::from_flag("scale=1..2").unwrap(),
            ],
            ..SweepInput::default()
        }),
        repeats: value_from_flag("--repeats", Some(2)),
        ..PlanInput::default()
    };
    let experiment = input("[sweep]\nclients = [1, 2]\n")
        .overlay(flags)
        .check_experiment()
        .unwrap();
    let points: Vec<(u32, Option<u32>)> = experiment
        .variants
        .iter()
        .map(|point| (point.plan.drive.clients, point.plan.workload.scale))
        .collect();
    assert_eq!(
        points,
        [(3, Some(1)), (3, Some(2)), (5, Some(1)), (5, Some(2))]
    );
    assert_eq!(experiment.run_count(), 8);
}

#[test]
fn problems_name_the_place_and_the_value() {
    for (sweep, expected) in [
        (
            "[sweep]\nclients = [0, 4]\n",
            "p.toml:7:1 (sweep.clients): must be from 1 to 1000000, is 0",
        ),
        (
            "[sweep]\nclients = [\"many\", 4]\n",
            "(sweep.clients): many must be from 1 to",
        ),
        (
            "[sweep]\nclients = [4, 4]\n",
            "(sweep.clients): has the value 4 twice",
        ),
        ("[sweep]\nclients = []\n", "(sweep.clients): has no value"),
        (
            "[sweep]\nclients = 5\n",
            "(sweep.clients): must be a list or a range",
        ),
        (
            "[sweep]\nclients = [[1], [2]]\n",
            "(sweep.clients): is not a list of values",
        ),
        (
            "[sweep]\nclients = [1, 2]\n\"run.clients\" = [3, 4]\n",
            "(sweep.run.clients): sweeps clients twice",
        ),
        (
            "[sweep]\nprices = \"p.toml\"\n",
            "sweep: is a sweep of one point",
        ),
        ("[sweep]\nclients = [1]\n", "is a sweep of one point"),
        (
            "[sweep]\nclients = \"1..9 by 2\"\n",
            "is not a range of whole numbers",
        ),
        (
            "[sweep]\nclients = \"1..500\"\n",
            "exceeds the limit of 100 points",
        ),
        ("[sweep]\nclientz = [1, 2]\n", "clientz is not a setting"),
        (
            "[sweep]\n\"server.url\" = [\"a\", \"b\"]\n",
            "server.url cannot be swept",
        ),
        (
            "[sweep]\n[sweep.machine.a]\ncpus = 3\n",
            "(sweep.machine.a): has no url",
        ),
        (
            "[sweep.machine.a]\nurl = \"postgres://h\"\ncpu = 3\n",
            "did you mean cpus",
        ),
        (
            "[sweep.machine]\na = 3\n",
            "(sweep.machine.a): must be a table",
        ),
        (
            "[sweep]\nclients = [1, 2]\nconfiguration = \"small\"\n",
            "has no effect without a price sheet",
        ),
        (
            "[sweep]\nclients = [1, 2]\n[variants.a]\n[variants.b]\n",
            "exclude each other",
        ),
        (
            "[sweep]\nclients = [1, 2]\n[variants.a.run]\nclinets = 3\n[variants.b]\n",
            "unknown key clinets",
        ),
        (
            "[sweep]\nclients = [1, 2]\n[variants.a]\n[variants.b.run]\nclients = 0\n",
            "(variants.b.run.clients): must be from 1",
        ),
    ] {
        let found = problems(sweep);
        assert!(found.contains(expected), "{sweep}: {found}");
    }
    let flags = PlanInput {
        clients: value_from_flag("--clients", Some(9)),
        ..PlanInput::default()
    };
    let both = input("[sweep]\nclients = [1, 2]\n")
        .overlay(flags)
        .check_experiment();
    let both = both.err().unwrap().to_string();
    both.assert_contains("sweeps what --clients sets");
    assert!(SweepAxis::from_flag("clients").is_err() && SweepAxis::from_flag("=1,2").is_err());
}

#[test]
fn a_misspelt_setting_is_no_option_of_the_points() {
    let sweep = input("[sweep]\nclient = [1, 2]\n");
    let points = sweep.variants();
    assert!(
        points.iter().all(|(_, point)| point.options.is_empty()),
        "the workload would report it too"
    );
    let problems = problems("[sweep]\nclient = [1, 2]\n");
    assert_eq!(
        problems,
        "p.toml:7:1 (sweep.client): client is not a setting\n  hint: did you mean clients?"
    );
}

#[test]
fn values_that_are_compared_are_variants_and_no_points() {
    let vary = |text: &str| {
        let flags = PlanInput {
            sweep: Some(SweepInput {
                axes: vec![SweepAxis::from_vary(text).unwrap()],
                is_compared: true,
                ..SweepInput::default()
            }),
            ..PlanInput::default()
        };
        input("").overlay(flags).check_experiment()
    };
    let experiment = vary("settings.synchronous_commit=on,off").unwrap();
    let variants = experiment.variants.iter();
    let names: Vec<&str> = variants.map(|variant| &*variant.name).collect();
    assert_eq!(names, ["synchronous_commit-on", "synchronous_commit-off"]);
    assert!(
        experiment
            .variants
            .iter()
            .all(|variant| variant.point.is_empty())
    );
    let problems = vary("clients=8").err().unwrap().to_string();
    problems.assert_contains("--vary clients: has one value");
}

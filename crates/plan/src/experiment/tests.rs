use super::*;
use crate::{PlanInput, Problems, ServerPlan, Stop, value_from_flag};
use prony_assertions::TextAssertions;
use prony_document::DeclaredFact;
use std::time::Duration;

const TWO_VARIANTS: &str = "\
[server]
url = \"postgres://h/d\"
[workload]
name = \"tpcb\"
scale = 3
[run]
clients = 4
duration = \"30s\"
[experiment]
repeats = 4
pause = \"5s\"
between = \"psql -c 'VACUUM' postgres://u:secret@h/d\"
[variants.simple.run]
protocol = \"simple\"
[variants.prepared]
";

fn plan_input(text: &str) -> PlanInput {
    PlanInput::from_toml("p.toml", text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn check(text: &str) -> Result<Experiment, Problems> {
    plan_input(text).check_experiment()
}

fn problems(text: &str) -> String {
    check(text).expect_err("has problems").to_string()
}

/// The order of the runs, as the first letters of the variants' names.
fn order(experiment: &Experiment, seed: u64) -> String {
    let runs = experiment.run_order(seed).into_iter();
    runs.map(|run| &experiment.variants[run.variant].name[..1])
        .collect()
}

fn variants(names: &[&str], repeats: u32, order: RunOrder) -> Experiment {
    let plan = check(TWO_VARIANTS).unwrap().variants[0].plan.clone();
    let named = |name: &&str| Variant {
        name: (*name).to_owned(),
        plan: plan.clone(),
        point: Vec::new(),
        configuration: None,
    };
    Experiment {
        repeats,
        order,
        pause: Duration::ZERO,
        keep_going: false,
        between: None,
        variants: names.iter().map(named).collect(),
        prices: None,
    }
}

#[test]
fn variants_override_the_plan_and_keep_the_order_of_the_file() {
    let experiment = check(TWO_VARIANTS).unwrap();
    assert_eq!(
        (experiment.repeats, experiment.order, experiment.run_count()),
        (4, RunOrder::Interleaved, 8)
    );
    assert_eq!(experiment.pause, Duration::from_secs(5));
    let [simple, prepared] = &experiment.variants[..] else {
        panic!("{experiment:?}");
    };
    // In the order of the file, not alphabetical.
    assert_eq!(
        (simple.name.as_str(), prepared.name.as_str()),
        ("simple", "prepared")
    );
    assert_eq!(simple.plan.drive.protocol.name(), "simple");
    assert_eq!(prepared.plan.drive.protocol.name(), "prepared");
    for variant in &experiment.variants {
        assert_eq!(
            (variant.plan.drive.clients, variant.plan.workload.scale),
            (4, Some(3))
        );
    }
    format!("{experiment:?}").assert_lacks("secret");
    let stored = plan_input(TWO_VARIANTS).to_json("").to_string();
    stored.assert_contains("experiment.repeats");
    stored.assert_lacks("secret");
}

#[test]
fn a_variant_drops_excluded_settings_and_a_flag_overrides_all() {
    let text = TWO_VARIANTS.replace("protocol = \"simple\"", "transactions = 9\nclients = 2");
    let simple = check(&text).unwrap().variants.remove(0).plan;
    assert_eq!(simple.drive.stop, Stop::Transactions(9));
    let flags = PlanInput {
        clients: value_from_flag("--clients", Some(64)),
        embedded: value_from_flag("--embedded", Some(true)),
        repeats: value_from_flag("--repeats", Some(2)),
        ..PlanInput::default()
    };
    let overridden = plan_input(&text).overlay(flags).check_experiment().unwrap();
    assert_eq!(overridden.repeats, 2);
    for variant in &overridden.variants {
        assert_eq!(variant.plan.drive.clients, 64, "{}", variant.name);
        assert_eq!(variant.plan.server, ServerPlan::Embedded);
    }
}

#[test]
fn a_url_for_all_variants_keeps_what_was_declared_of_the_server() {
    let facts = "[server.declared]\ncpus = 8\n";
    let text = TWO_VARIANTS.replace("[server]\nurl = \"postgres://h/d\"\n", facts);
    let flags = PlanInput {
        url: value_from_flag("--url", Some("postgres://h/other".to_owned())),
        ..PlanInput::default()
    };
    let experiment = plan_input(&text).overlay(flags.clone()).check_experiment();
    for variant in experiment.unwrap().variants {
        let cpus = variant.plan.declared.get(DeclaredFact::Cpus);
        assert_eq!(cpus, Some("8"), "{}", variant.name);
    }
    let of_another = TWO_VARIANTS.replace("[workload]", &format!("{facts}[workload]"));
    let experiment = plan_input(&of_another).overlay(flags).check_experiment();
    for variant in experiment.unwrap().variants {
        assert!(variant.plan.declared.is_empty(), "{}", variant.name);
    }
}

#[test]
fn a_pooler_makes_two_variants_that_differ_by_the_url() {
    let base = "[server]\nurl = \"postgres://h/d\"\n[server.declared]\ncpus = 8\n[workload]\nname = \"tpcb\"\n";
    let via = "[experiment]\nvia = \"postgres://ann:secret@h:6432/d\"\n";
    let text = format!("{base}{via}");
    let experiment = check(&text).unwrap();
    assert_eq!(experiment.run_count(), 2 * DEFAULT_REPEATS);
    let url = |url: &str| ServerPlan::Url(url.to_owned());
    let [direct, pooled] = &experiment.variants[..] else {
        panic!("{experiment:?}");
    };
    assert_eq!([&direct.name, &pooled.name], ["direct", "pooler"]);
    assert_eq!(direct.plan.server, url("postgres://h/d"));
    assert_eq!(pooled.plan.server, url("postgres://ann:secret@h:6432/d"));
    assert_eq!(direct.plan.declared, pooled.plan.declared);
    assert!(!pooled.plan.declared.is_empty());
    let stored = plan_input(&text).to_json("").to_string();
    stored.assert_contains("experiment.via");
    stored.assert_lacks("secret");

    // By a flag, with the repeats and the order that are given.
    let flags = PlanInput {
        via: value_from_flag("--via", Some("postgres://h:6432/d".to_owned())),
        order: value_from_flag("--order", Some(RunOrder::Random)),
        ..PlanInput::default()
    };
    assert!(plan_input(base).overlay(flags.clone()).is_experiment());
    let of_flags = plan_input(base).overlay(flags.clone()).check_experiment();
    assert_eq!(of_flags.unwrap().run_count(), 2 * DEFAULT_REPEATS);
    for excluded in [
        &format!("{base}[variants.a]\n[variants.b]\n"),
        &base.replace("url = \"postgres://h/d\"", "embedded = true"),
        &format!("{base}[sweep]\nclients = [1, 2]\n"),
    ] {
        let problems = plan_input(excluded).overlay(flags.clone());
        let problems = problems.check_experiment().unwrap_err().to_string();
        problems.assert_contains("--via: via and ");
        problems.assert_contains("exclude each other");
    }
}

#[test]
fn two_servers_are_two_variants() {
    let base = "[server]\nurl = \"postgres://h/d\"\n[workload]\nname = \"tpcb\"\n[experiment]\nversus = \"postgres://ann:secret@g/d\"\n";
    let experiment = check(base).unwrap();
    let variants = experiment.variants.iter();
    let sides = variants.map(|side| (side.name.as_str(), &side.plan.server));
    let url = |url: &str| ServerPlan::Url(url.to_owned());
    let expected = [
        ("A", &url("postgres://h/d")),
        ("B", &url("postgres://ann:secret@g/d")),
    ];
    assert_eq!(sides.collect::<Vec<_>>(), expected);
    plan_input(base)
        .to_json("")
        .to_string()
        .assert_lacks("secret");
    let problems = check(&format!("{base}via = \"postgres://p/d\"\n"))
        .unwrap_err()
        .to_string();
    problems.assert_contains("versus and via exclude each other");
}

#[test]
fn what_the_ledger_costs_is_measured_by_two_variants() {
    let base = "[workload]\nname = \"tpcb\"\n[experiment]\nledger_cost = true\n";
    let experiment = check(base).unwrap();
    let kept = experiment.variants.iter();
    let kept: Vec<(&str, bool)> = kept
        .map(|variant| (variant.name.as_str(), variant.plan.ledger))
        .collect();
    assert_eq!(kept, [("without-ledger", false), ("with-ledger", true)]);
    assert_eq!(experiment.repeats, DEFAULT_REPEATS);
    assert!(plan_input(base).is_experiment());
    let problems = check(&format!("{base}via = \"postgres://p/d\"\n"));
    let problems = problems.unwrap_err().to_string();
    problems.assert_contains("ledger_cost and via exclude each other");
    let off = base.replace("true", "false");
    assert_eq!(check(&off).unwrap().variants.len(), 1);
}

#[test]
fn without_variants_the_plan_itself_is_repeated() {
    let minimal = "[workload]\nname = \"tpcb\"\n";
    assert!(!plan_input(minimal).is_experiment());
    assert!(plan_input(TWO_VARIANTS).is_experiment());
    let repeated = format!("{minimal}[experiment]\n");
    assert!(plan_input(&repeated).is_experiment());
    let repeated = check(&repeated).unwrap();
    assert_eq!(
        (repeated.repeats, repeated.run_count()),
        (DEFAULT_REPEATS, DEFAULT_REPEATS)
    );
    assert_eq!(repeated.variants[0].name, "tpcb");
    let flags = PlanInput {
        order: value_from_flag("--order", Some(RunOrder::Random)),
        ..PlanInput::default()
    };
    let ordered = plan_input(minimal)
        .overlay(flags.clone())
        .check_experiment();
    assert_eq!(
        ordered.expect_err("there is nothing to order").to_string(),
        "--order: orders several runs, but there is only one\n  \
         hint: give --repeats, or a plan with [variants.NAME] or [sweep]"
    );
    for tables in ["[experiment]\n", "[variants.a]\n[variants.b]\n"] {
        let several = plan_input(&format!("{minimal}{tables}")).overlay(flags.clone());
        assert!(several.check_experiment().is_ok(), "{tables}");
    }
    let mut three_repeats = flags;
    three_repeats.repeats = value_from_flag("--repeats", Some(3));
    let three_repeats = plan_input(minimal)
        .overlay(three_repeats)
        .check_experiment();
    assert_eq!(three_repeats.expect("three runs").run_count(), 3);
}

/// The effect of a steady drift on a variant is proportional to the mean position of its runs.
#[test]
fn a_steady_drift_cancels_with_an_even_number_of_repeats() {
    assert!(DEFAULT_REPEATS.is_multiple_of(2));
    for names in [&["a", "b"][..], &["a", "b", "c", "d"]] {
        for repeats in 2..=7 {
            let runs = variants(names, repeats, RunOrder::Interleaved).run_order(0);
            let mut position_sums = vec![0; names.len()];
            for (position, run) in runs.iter().enumerate() {
                position_sums[run.variant] += position;
            }
            let difference = position_sums[names.len() - 1] - position_sums[0];
            let odd = !repeats.is_multiple_of(2);
            let expected = if odd { names.len() - 1 } else { 0 };
            assert_eq!(difference, expected, "{names:?}, {repeats}");
        }
    }
}

#[test]
fn interleaved_runs_alternate_forwards_and_backwards() {
    let order_of =
        |names: &[&str], repeats, run_order| order(&variants(names, repeats, run_order), 1);
    assert_eq!(order_of(&["a", "b"], 4, RunOrder::Interleaved), "abbaabba");
    assert_eq!(
        order_of(&["a", "b", "c"], 3, RunOrder::Interleaved),
        "abccbaabc"
    );
    assert_eq!(order_of(&["a", "b"], 3, RunOrder::Sequential), "aaabbb");
    assert_eq!(order_of(&["a"], 3, RunOrder::Random), "aaa");
    let runs = variants(&["a", "b"], 2, RunOrder::Interleaved).run_order(0);
    assert_eq!(
        runs.iter().map(|run| run.repeat).collect::<Vec<_>>(),
        [1, 1, 2, 2]
    );
}

#[test]
fn a_random_order_has_each_variant_once_per_repeat_and_depends_on_the_seed() {
    let three = variants(&["a", "b", "c"], 200, RunOrder::Random);
    let shuffled = order(&three, 7);
    assert_eq!(shuffled, order(&three, 7));
    assert_ne!(shuffled, order(&three, 8));
    let mut counts = std::collections::BTreeMap::new();
    for repeat in shuffled.as_bytes().chunks(3) {
        let mut letters = repeat.to_vec();
        letters.sort_unstable();
        assert_eq!(letters, b"abc");
        *counts.entry(repeat.to_vec()).or_insert(0) += 1;
    }
    // Each of the six orders is expected 33 times, plus or minus 5.
    assert_eq!(counts.len(), 6, "{counts:?}");
    assert!(
        counts.values().all(|count| (10..=60).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn all_problems_of_all_variants_are_reported_at_once_with_their_locations() {
    let text = "\
[workload]
name = \"tpcb\"
scale = 0
[run]
threads = 4
[experiment]
repeats = 0
ordre = \"random\"
between = \" \"
[variants.few.run]
clients = 2
protocoll = \"simple\"
[variants.none]
protocol = \"simple\"
[variants.none.rnu]
clients = 0
[variants.\"no name\"]
[variants.flat]
experiment = { repeats = 3 }
";
    let expected = "\
p.toml:3:9 (workload.scale): must be from 1 to 2000000000, is 0
p.toml:5:11 (run.threads): 4 threads are more than the 2 clients (variant few)
  hint: each client runs on one thread: use at most as many threads as clients
p.toml:7:11 (experiment.repeats): must be from 1 to 1000, is 0
p.toml:8:1 (experiment.ordre): unknown key ordre
  hint: did you mean order?
p.toml:9:11 (experiment.between): is empty
  hint: remove it if no command should run
p.toml:12:1 (variants.few.run.protocoll): unknown key protocoll
  hint: did you mean protocol?
p.toml:14:1 (variants.none.protocol): unknown key protocol
  hint: protocol belongs under [variants.none.run]
p.toml:15:16 (variants.none.rnu): unknown table [variants.none.rnu]
  hint: did you mean [variants.none.run]?
p.toml:16:11 (variants.none.rnu.clients): must be from 1 to 1000000, is 0
p.toml:17:11 (variants.no name): \"no name\" cannot be the name of a variant
  hint: a name consists of at most 32 letters, digits, -, _ and ., and begins with a letter or digit
p.toml:19:1 (variants.flat.experiment): unknown table [variants.flat.experiment]
  hint: a variant has [variants.flat.server], [variants.flat.workload], [variants.flat.run], [variants.flat.settings]";
    assert_eq!(problems(text), expected);
}

#[test]
fn two_variants_may_be_identical_unless_a_flag_makes_them_identical() {
    let base = "[workload]\nname = \"tpcb\"\n";
    for variants in [
        "[variants.a]\n[variants.b]\n",
        "[variants.a]\n[variants.b.run]\nclients = 8\n",
    ] {
        let text = format!("{base}{variants}");
        let experiment = check(&text).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(experiment.variants[0].plan, experiment.variants[1].plan);
        assert_eq!(experiment.variants[1].name, "b");
    }
    let flags = || PlanInput {
        clients: value_from_flag("--clients", Some(3)),
        ..PlanInput::default()
    };
    let identical = plan_input(&format!("{base}[variants.a]\n[variants.b]\n")).overlay(flags());
    assert!(
        identical.check_experiment().is_ok(),
        "they were identical before"
    );
    let different = format!("{base}[variants.a]\n[variants.b.run]\nclients = 9\n");
    assert!(check(&different).is_ok());
    let message = plan_input(&different).overlay(flags()).check_experiment();
    let message = message.expect_err("the flag overrides both").to_string();
    message.assert_contains("(variants.b): is the same as variant a");
}

#[test]
fn an_experiment_needs_at_least_two_variants() {
    let base = "[workload]\nname = \"tpcb\"\n";
    for (text, expected) in [
        (
            format!("{base}[variants]\n"),
            "p.toml:3:2 (variants): has no variant",
        ),
        (
            format!("{base}[experiment]\nrepeats = 2\n[variants]\n"),
            "p.toml:5:2 (variants): has no variant",
        ),
    ] {
        let message = problems(&text);
        message.assert_contains(expected);
        message.assert_contains("[variants.base]");
    }
    let message = problems(&format!("{base}[variants.a.run]\nclients = 9\n"));
    message.assert_contains("is the only variant");
    message.assert_contains("[variants.base]");
    for text in ["variants = 5\n", "[variants]\na = 5\nb = 6\n"] {
        let message = problems(&format!(
            "{text}{base}",
            base = if text.starts_with('[') { "[workload]\nname = \"tpcb\"\n" } else { base }
        ));
        message.assert_contains("must be a table");
    }
    let misspelt = problems(&format!(
        "{base}[variant.a]\n[variant.b]\n[experimnet]\nrepeats = 0\n"
    ));
    misspelt.assert_contains("did you mean [variants]?");
    misspelt.assert_contains("did you mean [experiment]?");
    misspelt.assert_contains("(experimnet.repeats): must be from 1");
}

#[test]
fn the_variants_may_name_the_workload_if_all_of_them_do() {
    let text =
        "[variants.a.workload]\nname = \"tpcb\"\n[variants.b.workload]\nname = \"select-only\"\n";
    let names: Vec<String> = check(text)
        .unwrap()
        .variants
        .iter()
        .map(|variant| variant.plan.workload.name.clone())
        .collect();
    assert_eq!(names, ["tpcb", "select-only"]);
    let message = problems("[variants.a.workload]\nname = \"tpcb\"\n[variants.b]\n[variants.c]\n");
    message.assert_contains("(workload.name): is missing (variant b, c)");
    let message = problems("[variants.b]\n[variants.c.run]\nclients = 9\n");
    message.assert_contains("(workload.name): is missing\n");
    let message = problems("repeats = 3\n[workload]\nname = \"tpcb\"\n");
    message.assert_contains("repeats belongs under [experiment]");
}

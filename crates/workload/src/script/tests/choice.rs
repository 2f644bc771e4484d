//! Compares the choice of scripts with pgbench 15.18's.

use crate::random::{Random, RunSeeds};
use crate::script::{Script, ScriptChooser, VariableNames, find_builtin};

fn scripts(weights: &[u32]) -> Vec<Script> {
    let mut names = VariableNames::new();
    let weighted_script = |weight: &u32| {
        let mut script = Script::parse(&mut names, "a.sql", "select 1;", 15).expect("a script");
        script.weight = *weight;
        script
    };
    weights.iter().map(weighted_script).collect()
}

fn picks(chooser: &ScriptChooser, mut random: Random, count: usize) -> String {
    (0..count)
        .map(|_| chooser.pick(&mut random).to_string())
        .collect()
}

/// `--random-seed=42 -f 0.sql@3 -f 1.sql@1 -f 2.sql@2`.
#[test]
fn scripts_are_chosen_in_pgbenchs_order() {
    let chooser = ScriptChooser::new(&scripts(&[3, 1, 2])).expect("weights");
    // -c 1
    let mut seeds = RunSeeds::new(42);
    seeds.next_client();
    seeds.draw_default_seed();
    let script_numbers = picks(&chooser, seeds.next_thread().script_choice, 24);
    assert_eq!(script_numbers, "022200102002102012202122");
    // -c 1 -D default_seed=7
    let mut seeds = RunSeeds::new(42);
    seeds.next_client();
    let script_numbers = picks(&chooser, seeds.next_thread().script_choice, 24);
    assert_eq!(script_numbers, "220000021122200200002002");
    // -c 2 -j 2
    let mut seeds = RunSeeds::new(42);
    seeds.next_client();
    seeds.next_client();
    seeds.draw_default_seed();
    for expected in ["110022120002", "020102220020"] {
        assert_eq!(
            picks(&chooser, seeds.next_thread().script_choice, 12),
            expected
        );
    }
}

#[test]
fn a_script_without_weight_is_never_chosen() {
    assert_eq!(ScriptChooser::new(&scripts(&[0, 0])), None);
    let chooser = ScriptChooser::new(&scripts(&[0, 1, 0, 1])).expect("weights");
    let script_numbers = picks(&chooser, Random::new(1), 200);
    assert!(
        script_numbers.chars().all(|c| c == '1' || c == '3'),
        "{script_numbers}"
    );
}

#[test]
fn no_random_number_is_drawn_for_a_single_script() {
    let chooser = ScriptChooser::new(&scripts(&[5])).expect("a weight");
    let mut random = Random::new(1);
    assert_eq!(chooser.pick(&mut random), 0);
    assert_eq!(random, Random::new(1));
}

#[test]
fn builtins_found_by_a_prefix_are_parsed() {
    let mut names = VariableNames::new();
    for (prefix, name, statements) in [
        ("t", "tpcb-like", 7),
        ("si", "simple-update", 5),
        ("se", "select-only", 1),
    ] {
        let builtin = find_builtin(prefix).expect("one builtin");
        assert_eq!(builtin.name, name);
        let script = builtin.parse(&mut names, 15).expect("a script");
        assert_eq!(script.statements().count(), statements);
        assert_eq!(script.name, builtin.description);
    }
    let several =
        |count| format!("ambiguous builtin name: {count} builtin scripts found for prefix");
    let none = "no builtin script found for name".to_owned();
    for (prefix, problem) in [
        ("s", several(2)),
        ("", several(3)),
        ("x", none.clone()),
        ("select-only ", none),
    ] {
        let error = find_builtin(prefix).expect_err("no builtin");
        assert_eq!(error.to_string(), format!("{problem} \"{prefix}\""));
    }
}

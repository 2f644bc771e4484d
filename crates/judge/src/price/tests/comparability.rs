//! Runs whose setups differ, or are partly unknown.

use super::*;
use prony_assertions::TextAssertions;
use prony_store::DeclaredFact;

#[test]
fn intended_differences_are_ranked_except_rate_scale_and_durability() {
    let sheet = two_configurations();
    let plan = |key: &str, value: serde_json::Value| serde_json::json!({"server": "h", "run": {key: value}});
    let base = || repeat("e", "base", "1", 10_000.0);
    let obstacles_after = |change: &dyn Fn(&mut Run, &mut Run)| {
        let (mut a, mut b) = (base(), repeat("e", "new", "2", 20_000.0));
        change(&mut a, &mut b);
        let runs = [(0, a), (1, b)];
        let ranking = priced(&sheet, &runs).ranking.unwrap();
        let names = ranking.obstacles.into_iter().map(|obstacle| obstacle.what);
        names.collect::<Vec<String>>()
    };
    let protocol = |a: &mut Run, b: &mut Run| {
        a.plan = plan("protocol", "prepared".into());
        b.plan = plan("protocol", "simple".into());
        b.drive.protocol = Some(prony_store::QueryMode::Simple);
    };
    assert_eq!(obstacles_after(&protocol), [""; 0]);
    let unintended =
        |_: &mut Run, b: &mut Run| b.drive.protocol = Some(prony_store::QueryMode::Simple);
    assert_eq!(obstacles_after(&unintended), ["protocol"]);
    let rate = |a: &mut Run, b: &mut Run| {
        a.plan = plan("rate", serde_json::Value::Null);
        b.plan = plan("rate", 20_000.into());
        b.drive.rate_tps = Some(20_000.0);
    };
    assert_eq!(obstacles_after(&rate), ["pace"]);
    let durability = |a: &mut Run, b: &mut Run| {
        a.plan = serde_json::json!({"server": "postgres://h/d"});
        b.plan = serde_json::json!({"server": "postgres://h/d?options=-c fsync=off"});
        set(a, "fsync", "on");
        set(b, "fsync", "off");
    };
    assert_eq!(obstacles_after(&durability), ["fsync"]);
}

#[test]
fn unobserved_tables_allow_a_ranking_with_a_remark() {
    let sheet = two_configurations();
    let mut unknown_tables = observed_run();
    let before = observed_mut(&mut unknown_tables).before.as_mut().unwrap();
    before.replication = Some(prony_store::Replication::NotVisible);
    let known_tables = unknown_tables.clone();
    let before = observed_mut(&mut unknown_tables).before.as_mut().unwrap();
    before.durability.as_mut().unwrap().tables_unknown = true;
    let durability_remarks = |runs: &[(usize, Run)]| {
        let prices = priced(&sheet, runs);
        assert_eq!(prices.ranking.unwrap().obstacles, []);
        let remarks = prices.remarks.into_iter();
        let texts = remarks.filter(|remark| remark.id == "durability-unknown");
        texts.map(|remark| remark.finding).collect::<Vec<_>>()
    };
    assert_eq!(
        durability_remarks(&[(0, known_tables.clone()), (1, known_tables.clone())]),
        [""; 0]
    );
    let text = "b: the runs do not record whether there are unlogged tables.";
    assert_eq!(
        durability_remarks(&[(0, known_tables.clone()), (1, unknown_tables.clone())]),
        [text]
    );
    // A different durability class is a different guarantee, whether or not the tables are known.
    let before = observed_mut(&mut unknown_tables).before.as_mut().unwrap();
    before.durability.as_mut().unwrap().class = prony_store::DurabilityClass::D1;
    let prices = priced(&sheet, &[(0, known_tables), (1, unknown_tables)]);
    assert_eq!(prices.ranking.unwrap().obstacles[0].what, "durability");
}

#[test]
fn two_currencies_are_refused() {
    let dollars = two_configurations();
    let mut euros = two_configurations();
    for configuration in &mut euros.configurations {
        configuration.items[0].currency = "EUR".into();
    }
    let run = run("x", 1.0);
    let measured = [&dollars, &euros].map(|sheet| MeasuredConfiguration {
        sheet,
        configuration: &sheet.configurations[0],
        run: &run,
    });
    let error = price(&measured, &options()).unwrap_err();
    error.to_string().assert_contains("USD");
    error.to_string().assert_contains("EUR");
}

#[test]
fn declared_replicas_are_those_that_were_measured() {
    let text = configuration("a", 1.0, "replicas = 1") + &configuration("b", 2.0, "");
    let sheet = sheet(&text);
    let declared = |fact, value| {
        let mut run = observed_run();
        run.server.declared.declare(fact, value).unwrap();
        run
    };
    for (fact, value, expected) in [
        (DeclaredFact::Replicas, "1", [true, false]),
        (DeclaredFact::Replicas, "0", [false, true]),
        (DeclaredFact::HighAvailability, "none", [false, true]),
        // How many copies it has is not known.
        (DeclaredFact::HighAvailability, "multi-zone", [true, true]),
    ] {
        let measured = [0, 1].map(|index| {
            let run = declared(fact, value);
            let prices = priced(&sheet, &[(index, run)]);
            prices.unpriced_runs.is_empty()
        });
        assert_eq!(measured, expected, "{fact:?} {value}");
    }
}

#[test]
fn a_service_may_replicate_below_sql() {
    let sheet = sheet(&configuration("a", 1.0, "replicas = 1"));
    for replication in [
        prony_store::Replication::NotVisible,
        prony_store::Replication::None,
    ] {
        let mut run = observed_run();
        let before = observed_mut(&mut run).before.as_mut().unwrap();
        before.replication = Some(replication);
        let prices = priced(&sheet, &[(0, run)]);
        assert_eq!(prices.points[0].replicas_measured, None);
        assert!(prices.unpriced_runs.is_empty());
    }
}

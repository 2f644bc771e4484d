//! Differences that the variants of one experiment have on purpose.
//!
//! In: two Runs with their plans, and their differences. Out: the same differences; those that the plans
//! request become notes, because the question is what they do. Must never: treat a difference as intended if
//! no plan names it, such as another version of the server or data in another state, or make figures of two
//! workloads comparable, whose names and statements differ.

use super::Difference;
use super::declared::{DECLARED, availability_differs};
use super::rules::{DURABILITY_SETTINGS, UNKNOWN, engine};
use super::server::{
    DATA_AND_CACHE_PROPERTY, ISOLATION_PROPERTY, ISOLATION_SETTINGS, READS_ROW_VERSIONS,
};
use prony_plan::settings::{Compared, SETTINGS, VARIANT_SETTINGS};
use prony_store::{Run, Severity, setting_name};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Why an intended difference is neither a caveat nor forbids a comparison.
pub(super) const VARIED_ON_PURPOSE: &str =
    "this is what the experiment varied on purpose; the figures show its effect";

/// The settings that explain differences, each with its key in a plan, as documents have it, and the differences.
pub(super) fn explaining_settings() -> impl Iterator<Item = (&'static str, &'static [&'static str])>
{
    let settings = SETTINGS.iter();
    settings.filter_map(|setting| match setting.compared {
        // The server is one value in a document: its URL, or that it was a throw-away one.
        Compared::Varies(properties)
            if ["server.url", "server.embedded"].contains(&setting.path) =>
        {
            Some(("server", properties))
        }
        Compared::Varies(properties) => Some((setting.path, properties)),
        Compared::Free(_) => None,
    })
}

/// Settings of a workload that are read from the loaded data unless a plan names them.
const DATA_SETTINGS: [&str; 4] = ["partitions", "population", "tables", "table_size"];

/// Downgrades the intended differences between two variants of one experiment.
pub(super) fn downgrade_intended(a: &Run, b: &Run, differences: &mut [Difference]) {
    let Some(plan_differences) = plan_differences(a, b) else {
        return;
    };
    for difference in differences {
        if plan_differences.explains(difference) {
            difference.severity = Severity::Note;
            difference.why = VARIED_ON_PURPOSE;
        }
    }
}

/// Whether the runs are variants of one experiment whose plans declare different copies of the data.
pub(super) fn varies_availability(a: &Run, b: &Run) -> bool {
    plan_differences(a, b).is_some_and(|differences| differences.availability_differs)
}

struct PlanDifferences {
    /// Keys with different values, such as `run.protocol`.
    keys: BTreeSet<String>,
    /// The servers' URLs; empty where a plan has none.
    servers: [String; 2],
    /// Whether the plans declare different copies of the data.
    availability_differs: bool,
    /// Whether the servers are of two engines, so that the texts of their statements differ.
    engines_differ: bool,
    /// Workload settings whose difference the plans explain; empty if the workloads differ.
    settings: BTreeSet<String>,
}

/// How the plans of two variants of one experiment differ; `None` if the Runs are not two variants of one
/// experiment.
fn plan_differences(a: &Run, b: &Run) -> Option<PlanDifferences> {
    let (experiment_a, experiment_b) = (a.experiment.as_ref()?, b.experiment.as_ref()?);
    if experiment_a.id.is_empty()
        || experiment_a.id != experiment_b.id
        || experiment_a.variant == experiment_b.variant
    {
        return None;
    }
    let keys = differing_keys(&a.plan, &b.plan);
    let same_workload = a.workload.name == b.workload.name;
    let is_workload_option = |key: &String| key.starts_with("workload.") && key != "workload.scale";
    let mut settings = BTreeSet::new();
    if same_workload && keys.iter().any(is_workload_option) {
        let both_settings = a.workload.settings.iter().chain(&b.workload.settings);
        let names = both_settings.map(|setting| setting.name.clone());
        settings.extend(names.filter(|name| {
            !DATA_SETTINGS.contains(&name.as_str()) || keys.contains(&format!("workload.{name}"))
        }));
        settings.insert("statements".to_owned());
    }
    let server = |run: &Run| run.plan["server"].as_str().unwrap_or("").to_owned();
    let engines_differ = keys.contains("server") && engine(a) != engine(b);
    if same_workload && engines_differ {
        settings.insert("statements".to_owned());
    }
    Some(PlanDifferences {
        servers: [a, b].map(server),
        availability_differs: availability_differs(a, b),
        engines_differ,
        settings,
        keys,
    })
}

impl PlanDifferences {
    fn explains(&self, difference: &Difference) -> bool {
        let subject = difference.what.as_str();
        let by_key = explaining_settings()
            .any(|(key, explains)| explains.contains(&subject) && self.keys.contains(key));
        // The plans declare what differs; if that is the servers' copies, replication differs on purpose too.
        let is_declared = subject.starts_with(DECLARED)
            || (self.availability_differs && subject == "replication");
        // Two engines have different durability settings: the durability class is compared instead.
        let absent_in_engine = self.engines_differ
            && DURABILITY_SETTINGS.contains(&subject)
            && (difference.a == UNKNOWN || difference.b == UNKNOWN);
        by_key
            || is_declared
            || self.settings.contains(subject)
            || absent_in_engine
            || self.server_url_sets(subject)
            || self.server_settings_set(subject)
    }

    /// Whether the plans ask for different values of this setting of the server, or of one that this property follows from.
    fn server_settings_set(&self, property: &str) -> bool {
        let differs = |name: &str| {
            let key = format!("{VARIANT_SETTINGS}.{}", setting_name(name));
            self.keys.contains(&key)
        };
        let any_differs = |names: &[&str]| names.iter().any(|name| differs(name));
        match property {
            "durability" => {
                let others = ["innodb_doublewrite", "database.delayed_durability_desc"];
                any_differs(&DURABILITY_SETTINGS) || any_differs(&others)
            }
            "replication" => any_differs(&["synchronous_standby_names"]),
            ISOLATION_PROPERTY => {
                let of_sql_server = [READS_ROW_VERSIONS, "transaction_isolation_level"];
                any_differs(&ISOLATION_SETTINGS) || any_differs(&of_sql_server)
            }
            DATA_AND_CACHE_PROPERTY => any_differs(&["shared_buffers", "innodb_buffer_pool_size"]),
            name => differs(name),
        }
    }

    /// Whether the servers' URLs set this property, as in `?options=-c synchronous_commit=off`.
    fn server_url_sets(&self, property: &str) -> bool {
        let sets = |name: &str| {
            let name = name.to_ascii_lowercase();
            let [plain, percent_encoded] = [format!("{name}="), format!("{name}%3d")];
            let servers = self.servers.iter();
            let mut servers = servers.map(|server| server.to_ascii_lowercase());
            servers.any(|server| server.contains(&plain) || server.contains(&percent_encoded))
        };
        self.keys.contains("server")
            && match property {
                "durability" => DURABILITY_SETTINGS.iter().any(|name| sets(name)),
                name => sets(name),
            }
    }
}

/// The keys of two plans whose values differ, with the table's name: `run.protocol`.
fn differing_keys(a: &Value, b: &Value) -> BTreeSet<String> {
    let no_keys = Map::new();
    let [a, b] = [a, b].map(|plan| plan.as_object().unwrap_or(&no_keys));
    let mut differing = BTreeSet::new();
    for section in a.keys().chain(b.keys()) {
        let [section_a, section_b] = [a, b].map(|plan| plan.get(section).unwrap_or(&Value::Null));
        // Settings of the server are in a plan only if there are some.
        let absent = (section == VARIANT_SETTINGS).then_some(&no_keys);
        let [table_a, table_b] =
            [section_a, section_b].map(|section| section.as_object().or(absent));
        match (table_a, table_b) {
            (Some(table_a), Some(table_b)) => {
                let keys = table_a.keys().chain(table_b.keys());
                let unequal = keys.filter(|key| table_a.get(*key) != table_b.get(*key));
                differing.extend(unequal.map(|key| format!("{section}.{key}")));
            }
            _ if section_a != section_b => {
                differing.insert(section.clone());
            }
            _ => {}
        }
    }
    differing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::rules::{WHY_IT_MAY_EXPLAIN, WHY_ROW_DESCRIPTIONS};
    use crate::compare::{Verdict, compare};
    use crate::sample::{observed_mut, observed_run, set};
    use Verdict::{Comparable, NotComparable};
    use prony_store::Experiment;
    use prony_store::{DeclaredFact, DurabilityClass, Product, QueryMode, Replication, Setting};
    use serde_json::json;

    fn variant(name: &str) -> Run {
        Run {
            experiment: Some(Experiment {
                id: "20261121-1".to_owned(),
                variant: name.to_owned(),
                ..Experiment::default()
            }),
            plan: json!({
                "server": "postgres://h/d",
                "workload": {"name": "tpcb", "scale": null},
                "run": {"clients": 64, "protocol": "prepared", "rate": null,
                    "connect_per_transaction": false},
            }),
            ..observed_run()
        }
    }

    /// The difference that a change causes, and the change of plan and Run.
    type Change = (&'static str, fn(&mut Run));

    const INTENDED_CHANGES: [Change; 11] = [
        ("protocol", |run| {
            run.plan["run"]["protocol"] = json!("simple");
            run.drive.protocol = Some(QueryMode::Simple);
        }),
        ("connections", |run| {
            run.plan["run"]["connect_per_transaction"] = json!(true);
            run.drive.connect_per_transaction = true;
        }),
        ("pace", |run| {
            run.plan["run"]["rate"] = json!(5000.0);
            run.drive.rate_tps = Some(5000.0);
        }),
        ("clients", |run| {
            run.plan["run"]["clients"] = json!(8);
            run.drive.clients = 8;
        }),
        ("scale", |run| {
            run.plan["workload"]["scale"] = json!(77);
            run.workload.scale = 77;
        }),
        ("mode", |run| {
            run.plan["workload"]["mode"] = json!("statements");
            run.workload
                .settings
                .push(Setting::new("mode", "statements"));
        }),
        ("statements", |run| {
            run.plan["workload"]["files"] = json!(["other.sql"]);
            run.workload.statements = vec!["select 2".to_owned()];
        }),
        ("durability", |run| {
            run.plan["server"] = json!("postgres://h/d?options=-c%20synchronous_commit%3Doff");
            let before = observed_mut(run).before.as_mut().unwrap();
            before.durability.as_mut().unwrap().class = DurabilityClass::D1;
        }),
        ("durability", |run| {
            run.plan["settings"] = json!({"synchronous_commit": "off"});
            let before = observed_mut(run).before.as_mut().unwrap();
            before.durability.as_mut().unwrap().class = DurabilityClass::D1;
        }),
        ("synchronous_commit", |run| {
            run.plan["settings"] = json!({"synchronous_commit": "off"});
            set(run, "synchronous_commit", "off");
        }),
        ("engine", |run| {
            run.plan["server"] = json!("mysql://h/d");
            run.server.product = Some(Product::MYSQL);
        }),
    ];

    #[test]
    fn intended_differences_are_notes() {
        let a = variant("a");
        for (what, change) in INTENDED_CHANGES {
            let mut b = variant("b");
            change(&mut b);
            for (a, b) in [(&a, &b), (&b, &a)] {
                let comparison = compare(a, b, false);
                assert_eq!(comparison.verdict, Comparable, "{what}: {comparison:?}");
                assert!(!comparison.figures.is_empty(), "{what}");
                let [difference] = &comparison.differences[..] else {
                    panic!("{what}: {comparison:?}");
                };
                assert_eq!(
                    (
                        difference.what.as_str(),
                        difference.severity,
                        difference.why
                    ),
                    (what, Severity::Note, VARIED_ON_PURPOSE)
                );
            }
        }
    }

    #[test]
    fn a_custom_setting_of_the_url_is_an_intended_difference() {
        let mut a = variant("a");
        let known = (0..100).map(|at| (format!("known{at}"), "1".into()));
        a.server.settings.extend(known);
        let mut b = Run {
            experiment: variant("b").experiment,
            ..a.clone()
        };
        a.plan["server"] = json!("postgres://h/d?options=-c X.d=1");
        set(&mut a, "X.d", "1");
        b.plan["server"] = json!("postgres://h/d?options=-c%20x.D%3D2");
        set(&mut b, "X.d", "2");
        let [difference] = &compare(&a, &b, false).differences[..] else {
            panic!("one difference");
        };
        assert_eq!(
            (difference.what.as_str(), difference.why),
            ("X.d", VARIED_ON_PURPOSE)
        );
        b.experiment = None;
        let differences = compare(&a, &b, false).differences;
        let difference = differences
            .iter()
            .find(|difference| difference.what == "X.d");
        assert_eq!(difference.unwrap().why, WHY_IT_MAY_EXPLAIN);
    }

    #[test]
    fn row_descriptions_are_compared() {
        let a = variant("a");
        let mut b = variant("b");
        b.plan["run"]["describe"] = json!(false);
        let whys = |a: &Run, b: &Run| -> Vec<(String, &str)> {
            let differences = compare(a, b, false).differences.into_iter();
            differences.map(|found| (found.what, found.why)).collect()
        };
        let what = "row descriptions".to_owned();
        assert_eq!(whys(&a, &b), [(what.clone(), VARIED_ON_PURPOSE)]);
        b.experiment = None;
        assert_eq!(whys(&a, &b), [(what, WHY_ROW_DESCRIPTIONS)]);
    }

    #[test]
    fn declared_copies_of_the_data_may_be_what_is_compared() {
        let declared = |mut run: Run, value: &str| {
            let facts = &mut run.server.declared;
            facts
                .declare(DeclaredFact::HighAvailability, value)
                .unwrap();
            run
        };
        let with = |mut run: Run, replication| {
            let before = observed_mut(&mut run).before.as_mut().unwrap();
            before.replication = Some(replication);
            run
        };
        let verdict = |a: &Run, b: &Run| {
            let found = compare(a, b, false).differences.into_iter();
            let found: Vec<String> = found.map(|difference| difference.what).collect();
            (compare(a, b, false).verdict, found)
        };
        let a = with(variant("a"), Replication::NotVisible);
        let b = with(variant("b"), Replication::Asynchronous);
        assert_eq!(verdict(&a, &b).0, NotComparable);
        let (mut a, b) = (declared(a, "none"), declared(b, "standby"));
        let both = ["replication", "declared high_availability"].map(str::to_owned);
        assert_eq!(verdict(&a, &b), (Comparable, both.to_vec()));
        a.experiment = None;
        assert_eq!(verdict(&a, &b).0, NotComparable);
    }

    #[test]
    fn unintended_differences_keep_their_severity() {
        let a = variant("a");
        // The same difference without its key in the plan, or in runs that are not variants of one
        // experiment.
        for (what, change) in INTENDED_CHANGES {
            let mut not_in_plan = variant("b");
            change(&mut not_in_plan);
            not_in_plan.plan = a.plan.clone();
            let mut repeat = variant("a");
            change(&mut repeat);
            let mut elsewhere = variant("b");
            change(&mut elsewhere);
            elsewhere.experiment.as_mut().unwrap().id = "20261121-2".to_owned();
            for b in [not_in_plan, repeat, elsewhere] {
                let comparison = compare(&a, &b, false);
                assert_eq!(comparison.verdict, NotComparable, "{what}");
                assert!(
                    comparison
                        .differences
                        .iter()
                        .all(|difference| difference.why != VARIED_ON_PURPOSE)
                );
            }
        }
        let mut b = variant("b");
        INTENDED_CHANGES[0].1(&mut b);
        b.server.version = "another".to_owned();
        let comparison = compare(&a, &b, false);
        let version = comparison
            .differences
            .iter()
            .find(|difference| difference.what == "server version")
            .unwrap();
        assert!(version.severity == Severity::Caveat && version.why != VARIED_ON_PURPOSE);
    }

    #[test]
    fn different_workloads_and_data_never_compare() {
        let a = variant("a");
        let mut b = variant("b");
        b.plan["workload"]["name"] = json!("select-only");
        b.workload.name = "select-only".to_owned();
        b.workload.statements = vec!["select 1".to_owned()];
        let invalid = |b: &Run| -> Vec<String> {
            let differences = compare(&a, b, false).differences.into_iter();
            let invalid = differences.filter(|difference| difference.severity == Severity::Invalid);
            invalid.map(|difference| difference.what).collect()
        };
        assert_eq!(invalid(&b), ["workload", "statements"]);
        let mut b = variant("b");
        INTENDED_CHANGES[5].1(&mut b);
        b.workload
            .settings
            .push(Setting::new("population", "hammerdb"));
        assert_eq!(invalid(&b), ["population"]);
        // With two engines, settings differ but durability is still compared.
        let mut b = variant("b");
        INTENDED_CHANGES[10].1(&mut b);
        set(&mut b, "sync_binlog", "1");
        assert_eq!(invalid(&b), [""; 0]);
        let before = observed_mut(&mut b).before.as_mut().unwrap();
        before.durability.as_mut().unwrap().class = DurabilityClass::D1;
        assert_eq!(invalid(&b), ["durability"]);
    }
}

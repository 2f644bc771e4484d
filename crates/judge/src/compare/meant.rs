//! What the variants of one experiment vary on purpose.
//!
//! In: two Runs with the plans they followed, and what differs. Out: the same differences; those that the
//! plans ask for are to be weighed, and forbid nothing. Must never: take for asked what no plan names,
//! such as another version of the server or data in another state, or let figures of two workloads
//! compare: their names, and with them their statements, stay apart.

use super::Difference;
use super::rules::{PROMISES, UNKNOWN};
use prony_store::{Run, Severity};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Why it is told.
pub(super) const VARIED: &str = "this is what was varied, and the figures say what comes of it";

/// Keys of a plan, with what each decides.
const DECIDES: [(&str, &[&str]); 13] = [
    ("server", &["engine", "network", "TLS"]),
    ("workload.scale", &["scale"]),
    ("run.clients", &["clients"]),
    ("run.threads", &["threads"]),
    ("run.duration", &["measured"]),
    ("run.transactions", &["measured"]),
    ("run.warmup", &["warm-up"]),
    ("run.rate", &["pace"]),
    ("run.arrival", &["pace"]),
    ("run.protocol", &["protocol"]),
    ("run.io", &["I/O engine"]),
    ("run.connect_per_transaction", &["connections"]),
    ("run.tcp_sample", &["network"]),
];

/// Settings of a workload that are read of the loaded data, unless a plan names them.
const OF_DATA: [&str; 4] = ["partitions", "population", "tables", "table_size"];

/// Weighs what differs between two variants of one experiment.
pub(super) fn weigh(a: &Run, b: &Run, differences: &mut [Difference]) {
    let Some(varied) = varied(a, b) else {
        return;
    };
    for one in differences {
        if varied.decides(one) {
            one.severity = one.severity.min(Severity::Caveat);
            one.why = VARIED;
        }
    }
}

/// What two plans do not have in common.
struct Varied {
    /// Keys, such as `run.protocol`.
    keys: BTreeSet<String>,
    /// How the plans name their servers.
    servers: [String; 2],
    /// The servers are of two engines, and so are the texts of their statements.
    engines: bool,
    /// Settings of the workload that a plan with another option may change; none of two workloads.
    settings: BTreeSet<String>,
}

/// Nothing where the two are not variants of one experiment.
fn varied(a: &Run, b: &Run) -> Option<Varied> {
    let (of_a, of_b) = (a.experiment.as_ref()?, b.experiment.as_ref()?);
    if of_a.id.is_empty() || of_a.id != of_b.id || of_a.variant == of_b.variant {
        return None;
    }
    let keys = other_keys(&a.plan, &b.plan);
    let one_work = a.workload.name == b.workload.name;
    let of_work = |key: &String| key.starts_with("workload.") && key != "workload.scale";
    let mut settings = BTreeSet::new();
    if one_work && keys.iter().any(of_work) {
        let all = a.workload.settings.iter().chain(&b.workload.settings);
        let names = all.map(|one| one.split(' ').next().unwrap_or(one).to_owned());
        settings.extend(names.filter(|name| {
            !OF_DATA.contains(&name.as_str()) || keys.contains(&format!("workload.{name}"))
        }));
        settings.insert("statements".to_owned());
    }
    let server = |run: &Run| run.plan["server"].as_str().unwrap_or("").to_owned();
    let engines = keys.contains("server") && a.server.engine != b.server.engine;
    if one_work && engines {
        settings.insert("statements".to_owned());
    }
    Some(Varied {
        servers: [a, b].map(server),
        engines,
        settings,
        keys,
    })
}

impl Varied {
    fn decides(&self, one: &Difference) -> bool {
        let what = one.what.as_str();
        let by_key = DECIDES
            .iter()
            .any(|(key, decides)| decides.contains(&what) && self.keys.contains(*key));
        // An engine does not have the settings of another; of how long a commit lasts its class tells.
        let other_name = self.engines
            && PROMISES.contains(&what)
            && [&one.a, &one.b].iter().any(|value| *value == UNKNOWN);
        by_key || self.settings.contains(what) || other_name || self.server_names(what)
    }

    /// Whether the servers' addresses set it, as in `?options=-c synchronous_commit=off`.
    fn server_names(&self, what: &str) -> bool {
        let sets = |name: &str| {
            let [plain, coded] = [format!("{name}="), format!("{name}%3d")];
            let each = self.servers.iter().map(|one| one.to_ascii_lowercase());
            each.into_iter()
                .any(|one| one.contains(&plain) || one.contains(&coded))
        };
        self.keys.contains("server")
            && match what {
                "durability" => PROMISES.iter().any(|name| sets(name)),
                name => sets(name),
            }
    }
}

/// The keys of two plans whose values differ, those of a table by its name too: `run.protocol`.
fn other_keys(a: &Value, b: &Value) -> BTreeSet<String> {
    let none = Map::new();
    let [a, b] = [a, b].map(|plan| plan.as_object().unwrap_or(&none));
    let mut found = BTreeSet::new();
    for section in a.keys().chain(b.keys()) {
        let [of_a, of_b] = [a, b].map(|plan| plan.get(section).unwrap_or(&Value::Null));
        match (of_a.as_object(), of_b.as_object()) {
            (Some(of_a), Some(of_b)) => {
                let keys = of_a.keys().chain(of_b.keys());
                let other = keys.filter(|key| of_a.get(*key) != of_b.get(*key));
                found.extend(other.map(|key| format!("{section}.{key}")));
            }
            _ if of_a != of_b => {
                found.insert(section.clone());
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, compare};
    use crate::sample::{observed_mut, watched};
    use prony_store::Experiment;
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
            ..watched()
        }
    }

    /// What a variant changes: its plan, and what came of it.
    type Vary = (&'static str, fn(&mut Run));

    const ON_PURPOSE: [Vary; 9] = [
        ("protocol", |run| {
            run.plan["run"]["protocol"] = json!("simple");
            run.drive.protocol = "simple".to_owned();
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
            run.workload.settings.push("mode statements".to_owned());
        }),
        ("statements", |run| {
            run.plan["workload"]["files"] = json!(["other.sql"]);
            run.workload.statements = vec!["select 2".to_owned()];
        }),
        ("durability", |run| {
            run.plan["server"] = json!("postgres://h/d?options=-c%20synchronous_commit%3Doff");
            let before = observed_mut(run).before.as_mut().unwrap();
            before.durability.as_mut().unwrap().class = "D1".to_owned();
        }),
        ("engine", |run| {
            run.plan["server"] = json!("mysql://h/d");
            run.server.engine = "mysql".to_owned();
        }),
    ];

    #[test]
    fn what_a_plan_varies_is_weighed_and_forbids_nothing() {
        let a = variant("a");
        for (what, vary) in ON_PURPOSE {
            let mut b = variant("b");
            vary(&mut b);
            for (a, b) in [(&a, &b), (&b, &a)] {
                let found = compare(a, b);
                assert_eq!(found.verdict, Verdict::WithCaveats, "{what}: {found:?}");
                assert!(!found.figures.is_empty(), "{what}");
                let [one] = &found.differences[..] else {
                    panic!("{what}: {found:?}");
                };
                assert_eq!(
                    (one.what.as_str(), one.severity, one.why),
                    (what, Severity::Caveat, VARIED)
                );
            }
        }
    }

    #[test]
    fn what_nobody_asked_for_keeps_its_weight() {
        let a = variant("a");
        // The same without a word of it in the plan, or in runs that are not variants of one experiment.
        for (what, vary) in ON_PURPOSE {
            let mut unasked = variant("b");
            vary(&mut unasked);
            unasked.plan = a.plan.clone();
            let mut repeat = variant("a");
            vary(&mut repeat);
            let mut elsewhere = variant("b");
            vary(&mut elsewhere);
            elsewhere.experiment.as_mut().unwrap().id = "20261121-2".to_owned();
            for b in [unasked, repeat, elsewhere] {
                let found = compare(&a, &b);
                let strict = match what {
                    "clients" => Verdict::WithCaveats,
                    _ => Verdict::NotComparable,
                };
                assert_eq!(found.verdict, strict, "{what}");
                assert!(found.differences.iter().all(|one| one.why != VARIED));
            }
        }
        let mut b = variant("b");
        ON_PURPOSE[0].1(&mut b);
        b.server.version = "another".to_owned();
        let found = compare(&a, &b);
        let version = found
            .differences
            .iter()
            .find(|one| one.what == "server version")
            .unwrap();
        assert!(version.severity == Severity::Caveat && version.why != VARIED);
    }

    #[test]
    fn other_workloads_and_other_data_do_not_compare_even_so() {
        let a = variant("a");
        let mut b = variant("b");
        b.plan["workload"]["name"] = json!("select-only");
        b.workload.name = "select-only".to_owned();
        b.workload.statements = vec!["select 1".to_owned()];
        let grave = |b: &Run| -> Vec<String> {
            let found = compare(&a, b).differences.into_iter();
            let grave = found.filter(|one| one.severity == Severity::Invalid);
            grave.map(|one| one.what).collect()
        };
        assert_eq!(grave(&b), ["workload", "statements"]);
        let mut b = variant("b");
        ON_PURPOSE[5].1(&mut b);
        b.workload.settings.push("population hammerdb".to_owned());
        assert_eq!(grave(&b), ["population"]);
        // Of two engines: the settings of each are its own, how long a commit lasts is not.
        let mut b = variant("b");
        ON_PURPOSE[8].1(&mut b);
        b.server
            .settings
            .insert("sync_binlog".to_owned(), "1".into());
        assert_eq!(grave(&b), [""; 0]);
        let before = observed_mut(&mut b).before.as_mut().unwrap();
        before.durability.as_mut().unwrap().class = "D1".to_owned();
        assert_eq!(grave(&b), ["durability"]);
    }
}

//! Stored documents and journals of version 1, as Prony 0.1 wrote them.

mod common;

use common::Folder;
use prony_store::*;
use std::fs;
use std::path::Path;

/// The example file with this name, read like a user's file.
fn stored(name: &str) -> Run {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version_1");
    read_document(&path.join(name)).unwrap()
}

/// Reads the file, writes it and reads it again.
fn read(name: &str) -> Run {
    let run = stored(name);
    assert_eq!(run.schema_version, SchemaVersion::default(), "{name}");
    let text = serde_json::to_vec(&run).unwrap();
    assert_eq!(parse_document(&text).unwrap(), run, "{name}");
    run
}

fn tcp(address: &str) -> Option<ServerAddress> {
    Some(ServerAddress::Tcp(address.to_owned()))
}

#[test]
fn an_open_loop_run_on_a_unix_socket_with_some_clients_on_tcp_is_read() {
    let run = read("select-only.json");
    let path = "/var/tmp/prony-pg-3940049e/s/.s.PGSQL.21886".to_owned();
    assert_eq!(run.server.address, Some(ServerAddress::Unix(path)));
    assert_eq!(run.server.known_engine(), Some(Engine::PostgreSql));
    let drive = &run.drive;
    assert!(drive.open_loop);
    assert_eq!(
        (drive.rate_tps, drive.arrival, drive.stop, drive.protocol),
        (
            Some(60.0),
            Some(Arrival::Poisson),
            Some(PlannedEnd::DurationS(2.0)),
            Some(QueryMode::Prepared)
        )
    );
    let network = Network::UnixWithTcpSample { clients: 2 };
    assert_eq!(drive.network, Some(network));
    let parts_source = ServiceTimePartsSource::SampledTimestamps {
        clients: 2,
        total_clients: 4,
    };
    assert_eq!(run.timing.parts_source, parts_source);
    let machine = run.machine();
    assert_eq!((machine.clients, machine.threads), (4, 1));
    assert_eq!((machine.host.name.as_str(), machine.host.cpus), ("vm", 2));
    assert!(machine.health.cpu_user_s.is_some_and(|cpu_s| cpu_s > 0.0));
    assert!(machine.health.busiest_thread_share.is_some());
    assert_eq!(run.build.profile, BuildProfile::Release);
    assert_eq!((&run.build.commit, run.rules_version), (&None, None));
    assert_eq!(run.request["command"][0], "prony");
    let phases: Vec<_> = run.series.iter().map(|second| second.phase).collect();
    use SecondPhase::{Measured, Warmup};
    assert_eq!(phases, [Warmup, Measured, Measured]);
    let before = run.observed.unwrap().before.unwrap();
    assert_eq!(before.replication, Some(Replication::None));
    assert_eq!(before.durability.unwrap().class, DurabilityClass::D3);
    assert_eq!(run.measured.all_kinds().unwrap().committed, 119);
    assert_eq!(run.measured.kinds[0].kind, None);
    assert_eq!(run.measured.kinds[1].kind.as_deref(), Some("select-only"));
    assert!(run.measured.length_s > 1.9 && run.series[1].length_s > 0.9);
}

#[test]
fn runs_with_lost_connections_of_two_engines_are_read() {
    let run = read("oltp-mariadb.json");
    assert_eq!(run.server.known_engine(), Some(Engine::MariaDb));
    assert_eq!(run.server.address, tcp("127.0.0.1:25234"));
    assert_eq!(run.drive.network, Some(Network::Tcp));
    assert_eq!(
        run.timing.parts_source,
        ServiceTimePartsSource::KernelTimestamps
    );
    assert_eq!(run.workload.setting("rand_spec_iter"), Some("12"));
    assert_eq!(run.workload.settings.len(), 13);
    assert_eq!(run.events[0].kind, EventKind::Outage);
    let error = &run.measured.errors[0];
    assert_eq!((error.class, error.count), (ErrorClass::LostConnection, 2));
    assert_eq!(run.shares[0].expected_share, Some(0.875));
    // A document of version 1 does not record whether transactions in flight at the end were counted.
    assert_eq!(run.drive.stop, None);

    let run = read("tpcc.json");
    assert_eq!(run.workload.setting("late_starts"), Some("500 ms apart"));
    let error = &run.measured.errors[0];
    assert_eq!((error.class, error.count), (ErrorClass::AmbiguousCommit, 2));
    assert_eq!(run.rates[0].name, MetricName::Nopm);

    let run = read("lua.json");
    assert_eq!(run.events[0].kind, EventKind::UserEnded);
    assert_eq!(
        (run.state, run.workload.settings),
        (RunState::Partial, vec![])
    );
}

#[test]
fn a_run_of_another_tool_is_read() {
    let run = read("imported.json");
    assert_eq!(run.machines, []);
    assert_eq!(run.machine(), &ClientMachine::default());
    let imported = run.imported.unwrap();
    assert!(imported.not_reported.contains(&"durability".to_owned()));
    let drive = run.drive;
    assert_eq!(
        (drive.protocol, drive.network, drive.stop),
        (None, None, None)
    );
    assert_eq!(run.server.address, None);
    let reason = "HammerDB does not tell";
    assert_eq!(
        run.timing.parts_source,
        ServiceTimePartsSource::unavailable(reason)
    );
    let driver = Setting::new("driver", "timed");
    assert!(run.workload.settings.contains(&driver));
}

/// The journal has two headers; only the second one records how the clients connected to the server.
#[test]
fn the_journal_of_a_killed_run_is_read() {
    let folder = Folder::new("version-1");
    fs::create_dir_all(folder.runs()).unwrap();
    let id = "20261123-014407-tpcb-5f2e";
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version_1/killed.jsonl");
    fs::copy(source, folder.runs().join(format!("{id}.jsonl"))).unwrap();
    let run = folder.store().load(id).unwrap();
    assert_eq!((run.id.as_str(), run.state), (id, RunState::Partial));
    let reason = run.ended_because.clone().unwrap();
    assert!(!reason.contains("could not be read"), "{reason}");
    assert_eq!(run.drive.network, Some(Network::Tcp));
    assert_eq!(run.timing.parts_source, ServiceTimePartsSource::default());
    assert!(run.timing.with_timestamp > 0);
    assert_eq!(run.series.len(), 3);
    assert!(run.measured.all_kinds().unwrap().committed > 50);
    assert!(run.observed.unwrap().series.len() > 1);
}

/// Fields that the first versions did not have are absent, and fields of later minor versions of version 1
/// are ignored.
#[test]
fn documents_of_other_minor_versions_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version_1/select-only.json");
    let mut document: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    document["schema_version"] = "1.0".into();
    let fields = document.as_object_mut().unwrap();
    fields.remove("observed");
    fields["workload"]
        .as_object_mut()
        .unwrap()
        .remove("description");
    let run = parse_document(document.to_string().as_bytes()).unwrap();
    assert_eq!((&run.observed, &run.workload.description), (&None, &None));
    document["schema_version"] = "1.9".into();
    let observed = serde_json::json!({ "off": null, "weather": "fine", "series": [{ "moon": 1 }] });
    document["observed"] = observed;
    document["plan"]["run"]["transactions"] = 25.into();
    document["plan"]["run"]["duration"] = serde_json::Value::Null;
    let run = parse_document(document.to_string().as_bytes()).unwrap();
    assert_eq!(run.observed.unwrap().series, [ServerSecond::default()]);
    assert_eq!(run.drive.stop, Some(PlannedEnd::TransactionsPerClient(25)));
}

/// A text or a number where an object belongs makes the document invalid.
#[test]
fn sections_of_a_wrong_type_are_errors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version_1/select-only.json");
    let document: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let sections = [
        "server", "workload", "drive", "timing", "scenario", "plan", "warmup", "measured",
        "observed",
    ];
    for section in sections {
        for value in [serde_json::json!("x"), serde_json::json!(1)] {
            let mut document = document.clone();
            document[section] = value;
            let parsed = parse_document(document.to_string().as_bytes());
            assert!(parsed.is_err(), "{section}");
        }
    }
    for (section, list) in [
        ("observed", "missing"),
        ("measured", "kinds"),
        ("measured", "errors"),
    ] {
        let mut document = document.clone();
        document[section][list] = serde_json::json!(["x"]);
        let parsed = parse_document(document.to_string().as_bytes());
        assert!(parsed.is_err(), "{section}.{list}");
    }
    // A setting of version 1 is text.
    let mut document = document.clone();
    document["workload"]["settings"] = serde_json::json!(["x"]);
    let run = parse_document(document.to_string().as_bytes()).unwrap();
    assert_eq!(run.workload.settings[0].value, "set");
}

/// Version 1 stored topics as text, and named the total of the kinds `all`.
#[test]
fn topics_and_totals_stored_as_text_are_converted() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version_1/select-only.json");
    let mut document: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let missing = |topic: &str| serde_json::json!({ "what": topic, "why": "denied" });
    document["observed"]["missing"] = serde_json::json!([
        missing("checkpoints"),
        missing("how the server stands after it"),
        missing("phase of the moon"),
    ]);
    let error = |class: &str, code: &str| serde_json::json!({ "kind": "all", "class": class, "code": code, "count": 1, "example": "" });
    document["measured"]["errors"] =
        serde_json::json!([error("deadlock", "40P01"), error("other", "")]);
    let run = parse_document(document.to_string().as_bytes()).unwrap();
    let missing = run.observed.unwrap().missing;
    let topics: Vec<ObservedTopic> = missing.iter().map(|missing| missing.what).collect();
    let expected = [
        ObservedTopic::Checkpoints,
        ObservedTopic::StateAfter,
        ObservedTopic::Other,
    ];
    assert_eq!(topics, expected);
    assert_eq!(missing[0].why, "denied");
    assert_eq!(missing[2].why, "phase of the moon: denied");
    let kinds: Vec<Option<&str>> = run
        .measured
        .errors
        .iter()
        .map(|error| error.kind.as_deref())
        .collect();
    // A transaction of a script may be named `all`.
    assert_eq!(kinds, [Some("all"), None]);
    document["observed"]["missing"] = serde_json::json!(["x", { "what": 1 }]);
    assert!(parse_document(document.to_string().as_bytes()).is_err());
}

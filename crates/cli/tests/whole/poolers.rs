//! Runs through a pooler: it is named, nothing is misjudged, and its price is measured.

use crate::common::*;
use crate::services::{mock_of, run_on};
use prony_store::{Pooler, Service};
use prony_test_servers::PgBouncer;
use prony_test_servers::canned::{Answer, CannedError};

/// A loaded database with PgBouncer before it, and the URL through PgBouncer; `None` if none is installed.
pub fn bench_with_pooler(name: &str) -> Option<(TestBench, PgBouncer, String)> {
    let bench = TestBench::new(name);
    let Some(pooler) = PgBouncer::start(shared_postgres(), name) else {
        eprintln!("{name} is skipped: PgBouncer is not installed");
        return None;
    };
    bench.ok("load tpcb --scale 1");
    let url = format!(
        "postgres://postgres:{}@127.0.0.1:{}/{name}",
        bench.password,
        pooler.port()
    );
    Some((bench, pooler, url))
}

#[test]
fn a_run_through_a_pooler_names_it_and_is_not_misjudged() {
    let Some((bench, _pooler, url)) = bench_with_pooler("through_pooler") else {
        return;
    };
    let run = |arguments: &str| bench.prony_with(arguments, &["--url", &url]);
    let pooled = parse_run(&run(
        "run tpcb --clients 8 --duration 3s --protocol simple --json",
    ));
    let found = pooled.server.pooler.as_ref().expect("a pooler");
    assert_eq!(found.product, Some(Pooler::PgBouncer), "{found:?}");
    assert!(found.shares_sessions, "{found:?}");
    let checks = pooled.checks.iter();
    let ids: Vec<&str> = checks.map(|check| check.id.as_str()).collect();
    assert!(ids.contains(&"pooler"), "{ids:?}");
    // Its sessions report their commits late.
    assert!(!ids.contains(&"server-commits"), "{:?}", pooled.checks);
    let shown = bench.ok_without_server("show last");
    shown.assert_contains("through PgBouncer");
    // Before 1.21 it cannot keep prepared statements, and before 1.24 it does not unless it is told.
    if PgBouncer::version() < Some((1, 24)) {
        let output = run("run tpcb --clients 8 --duration 5s --protocol prepared");
        let text = stderr_text(&output).replace("\n        ", " ");
        text.assert_contains("use --protocol simple or extended");
        text.assert_contains("1.21 on with max_prepared_statements");
    }
    ok_stdout(&run(
        "run tpcb --clients 8 --transactions 20 --protocol extended",
    ));
}

#[test]
fn via_measures_a_pooler_against_the_server_itself() {
    let Some((bench, _pooler, url)) = bench_with_pooler("via_pooler") else {
        return;
    };
    let arguments =
        "run tpcb --clients 8 --transactions 100 --protocol simple --repeats 2 --keep-going --via";
    let mut command = bench.command(arguments);
    let output = command.args([&url, "--url", &bench.url]).output();
    let output = bench.assert_no_password(output.expect("it starts"));
    let (printed, messages) = (ok_stdout(&output), stderr_text(&output));
    messages.assert_contains_all([
        "run 1 of 4: variant direct, repeat 1",
        "run 2 of 4: variant pooler, repeat 1",
        "run 3 of 4: variant pooler, repeat 2",
        "run 4 of 4: variant direct, repeat 2",
    ]);
    let runs = stored_runs(&bench.home);
    let poolers: Vec<_> = runs.iter().map(|run| run.server.pooler.is_some()).collect();
    assert_eq!(poolers, [false, true, true, false]);
    if !printed.contains("Not counted") {
        printed.assert_contains_all([
            "What PgBouncer costs and gives",
            "TPS: ",
            "sessions of clients through PgBouncer",
        ]);
    }
    let id = &runs[0].experiment.as_ref().unwrap().id;
    let compared = bench.prony_without_server(&format!("compare {id}"));
    let compared = stdout_text(&compared);
    let line = compared
        .lines()
        .find(|line| line.contains("pooler") && line.contains("PgBouncer"));
    assert!(
        line.is_some_and(|line| line.contains("none found")),
        "{compared}"
    );
    if !printed.contains("Not counted") {
        compared.assert_lacks("NOT COMPARABLE");
    }
}

/// A pooler before a server of a service, with what only the pooler answers.
struct PooledService {
    pooler: Option<Pooler>,
    service: Service,
    /// The version of the log-in, if it is not the server's.
    version: Option<&'static str>,
    /// Part of a statement or a startup packet, and the error or the value that answers it.
    answer: Option<(&'static str, Result<&'static str, &'static str>)>,
}

impl PooledService {
    const fn new(
        pooler: Pooler,
        service: Service,
        part: &'static str,
        answer: Result<&'static str, &'static str>,
    ) -> PooledService {
        PooledService {
            pooler: Some(pooler),
            service,
            version: None,
            answer: Some((part, answer)),
        }
    }
}

/// Canned answers: those of each pooler, and of a proxy without a sign, in their documentation or sources, before servers of
/// both protocols.
const POOLED: [PooledService; 11] = [
    PooledService::new(
        Pooler::PgBouncer,
        Service::Neon,
        "prony.probe",
        Err("unsupported startup parameter: prony.probe"),
    ),
    PooledService::new(
        Pooler::Odyssey,
        Service::AzureDatabase,
        "database\0prony.probe",
        Err("odyssey: c3ba1a4a3ff5c: route for 'prony.probe.u' is not found"),
    ),
    PooledService::new(
        Pooler::PgCat,
        Service::CloudSql,
        "database\0prony.probe",
        Err("No pool configured for database: \"prony.probe\", user: \"u\""),
    ),
    PooledService::new(
        Pooler::RdsProxy,
        Service::AuroraPostgreSql,
        "prony.probe",
        Err("Feature not supported: RDS Proxy currently doesn't support command-line options."),
    ),
    PooledService::new(
        Pooler::ProxySql,
        Service::Percona,
        "select @@version_comment limit 1",
        Ok("(ProxySQL)"),
    ),
    PooledService::new(
        Pooler::MaxScale,
        Service::Galera,
        "set @maxscale.",
        Err("Attempt to set unknown MaxScale user variable @maxscale.prony"),
    ),
    // Its log-in names a MySQL by default.
    PooledService {
        version: Some("8.0.11"),
        ..PooledService::new(
            Pooler::ProxySql,
            Service::Galera,
            "select @@version_comment limit 1",
            Ok("(ProxySQL)"),
        )
    },
    PooledService {
        pooler: Some(Pooler::MaxScale),
        service: Service::Rds,
        version: Some("5.5.5-10.2.12 2.5.0-maxscale"),
        answer: None,
    },
    PooledService {
        pooler: None,
        service: Service::AuroraMySql,
        version: None,
        answer: None,
    },
    // The ids of their sessions say nothing, but a pooler that names itself does.
    PooledService::new(
        Pooler::PgBouncer,
        Service::Cockroach,
        "prony.probe",
        Err("unsupported startup parameter: prony.probe"),
    ),
    PooledService {
        version: Some("8.0.11"),
        ..PooledService::new(
            Pooler::ProxySql,
            Service::TiDb,
            "select @@version_comment limit 1",
            Ok("(ProxySQL)"),
        )
    },
];

/// What a canned server answers through a pooler: its statements run in another session than the log-in named.
fn run_through(pooled: &PooledService) -> (Run, String) {
    let mock = mock_of(pooled.service);
    let mut conversation = mock.conversation();
    if let Some(version) = pooled.version {
        version.clone_into(&mut conversation.version);
    }
    let cell = |value: &str| Answer::Rows(vec![vec![Some(value.to_owned())]]);
    let mut answers = Vec::new();
    answers.extend(pooled.answer.map(|(part, answer)| {
        let answer = answer.map_or_else(
            |message| {
                Answer::Error(CannedError {
                    number: 1193,
                    sqlstate: "08P01",
                    message: message.to_owned(),
                })
            },
            cell,
        );
        (part.to_owned(), answer)
    }));
    for session in ["pg_backend_pid()", "(connection_id() + 0)"] {
        answers.push((session.to_owned(), cell("7")));
    }
    answers.append(&mut conversation.answers);
    conversation.answers = answers;
    let name = pooled.pooler.map_or("a pooler", Pooler::name);
    let folder = format!("{name} {}", pooled.service.name());
    let (run, terminal, _) = run_on(&folder, &mock, conversation);
    (run, terminal)
}

#[test]
fn each_pooler_is_named_by_its_own_words_and_nothing_is_misjudged() {
    for pooled in &POOLED {
        let (run, terminal) = run_through(pooled);
        let (service, name) = (pooled.service.name(), pooled.pooler.map(Pooler::name));
        let found = run.server.pooler.as_ref();
        let found = found.unwrap_or_else(|| panic!("{name:?} before {service}"));
        assert_eq!(found.product, pooled.pooler, "{service}: {found:?}");
        // The canned server says the same session to every connection.
        assert!(found.shares_sessions, "{service}: {found:?}");
        assert_eq!(run.server.service, Some(pooled.service));
        let flat = terminal.unwrapped();
        flat.assert_contains(&format!("through {}", name.unwrap_or("a pooler")));
        assert!(run.check("pooler").is_some(), "{:?}", run.checks);
        if pooled.service == Service::Galera {
            let server = run.server.name_and_version();
            server.assert_contains("MariaDB (Galera Cluster) 10.11.6");
        }
        for id in ["server-commits", "durability"] {
            assert!(run.check(id).is_none(), "{service}: {:?}", run.checks);
        }
    }
}

#[test]
fn another_engine_whose_sessions_have_other_ids_is_not_pooled() {
    for service in [Service::Cockroach, Service::TiDb] {
        let direct = PooledService {
            pooler: None,
            service,
            version: None,
            answer: None,
        };
        assert_eq!(run_through(&direct).0.server.pooler, None, "{service:?}");
    }
}

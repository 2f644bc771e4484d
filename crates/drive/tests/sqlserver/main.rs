//! Users on the real loop against SQL Server's protocol: a server for tests in this process, and the servers
//! listed in `PRONY_TEST_SQLSERVER`.

mod addresses;
mod certificates;
mod strict;
#[path = "../sim/support.rs"]
#[allow(dead_code)]
mod support;

use prony_assertions::{TestFolder, TextAssertions};
use prony_document::Product;
use prony_drive::{DriveResult, run};
use prony_plan::{DrivePlan, IoEngine, QueryMode, Stop};
use prony_server::{Control, Environment, Target, resolve};
use prony_session::{Db, DbError, Outcome, Program};
use prony_tds_server::{
    Column, Config, Datum, Encryption, Listener, Outcome as Reply, Procedure, Received, Request,
    TestCertificate, Type,
};
use prony_test_servers::TestControl;
use prony_wire::{Statement, StatementIds, Value};
use std::sync::{Arc, Mutex};
use support::{TestObserver, engines, job, plan, repeat_with};

const CLIENTS: u32 = 4;
const MODES: [QueryMode; 3] = [QueryMode::Prepared, QueryMode::Simple, QueryMode::Extended];

fn target(url: &str) -> Target {
    resolve(url, &Environment::without_home("tester")).expect("a good URL")
}

fn drive(program: &dyn Program, plan: &DrivePlan, target: &Target) -> DriveResult {
    run(&job(program, plan, target), &mut TestObserver::default()).expect("the run starts")
}

fn plan_with(mode: QueryMode, io: IoEngine, transactions: u64) -> DrivePlan {
    let mut plan = plan(CLIENTS, 1.0);
    plan.protocol = mode;
    plan.io = io;
    plan.threads = 2;
    plan.stop = Stop::Transactions(transactions);
    plan
}

/// The statements of a transaction that reads and increments its client's counter.
struct CountingStatements {
    read: Statement,
    begin: Statement,
    add: Statement,
    commit: Statement,
}

fn counter_program() -> impl Program {
    let mut set = StatementIds::new();
    let statements = CountingStatements {
        read: set.add("select n from prony_counts where id = $1"),
        begin: set.add("begin transaction"),
        add: set.add("update prony_counts set n = n + $1 where id = $2"),
        commit: set.add("commit"),
    };
    repeat_with(statements, |db, id, statements| {
        Box::pin(count(db, statements, i64::from(id.client)))
    })
}

async fn count(
    db: &mut Db,
    statements: &CountingStatements,
    client: i64,
) -> Result<Outcome, DbError> {
    let id = [Value::Int(client)];
    let before = db
        .exec(&statements.read, &id)
        .await?
        .first()
        .and_then(|row| row.int(0));
    assert!(before.is_some(), "its row");
    db.exec(&statements.begin, &[]).await?;
    let values = [Value::Int(1), Value::Int(client)];
    assert_eq!(db.exec(&statements.add, &values).await?.affected_rows(), 1);
    db.exec(&statements.commit, &[]).await?;
    Ok(Outcome::Committed)
}

/// A server whose table has one row for each client.
fn mock(encryption: Encryption) -> Config {
    let mut config = Config::new(|sql, _| match sql {
        _ if sql.starts_with("select n") => {
            let column = Column::new("n", Type::Int(8));
            vec![Reply::Rows(vec![column], vec![vec![Datum::Int(7)]])]
        }
        _ if sql.starts_with("update") => vec![Reply::Count(1)],
        _ => vec![Reply::Done],
    });
    config.encryption = encryption;
    let certificate = TestCertificate::new("127.0.0.1");
    config.tls = Some(
        certificate.server_config(&[&rustls::version::TLS12], encryption == Encryption::Strict),
    );
    config
}

fn start(config: Config) -> (u16, Arc<Mutex<Received>>) {
    let received = config.received.clone();
    (Listener::start(config).address().port(), received)
}

fn assert_all_committed(driven: &DriveResult, transactions: u64, context: &str) {
    let all = driven.collected.measured.all_kinds();
    let errors = driven.collected.measured.errors.entries();
    assert_eq!(all.failed, 0, "{context}: {errors:?} {:?}", driven.events);
    assert_eq!(
        all.committed,
        transactions * u64::from(CLIENTS),
        "{context}"
    );
}

#[test]
fn every_mode_sends_its_kind_of_request_on_both_engines() {
    for mode in MODES {
        for io in engines() {
            let (port, received) = start(mock(Encryption::NotSupported));
            let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?encrypt=disable");
            let driven = drive(&counter_program(), &plan_with(mode, io, 5), &target(&url));
            assert_all_committed(&driven, 5, &format!("{mode:?} {io:?}"));
            let received = received.lock().unwrap();
            assert_eq!(received.logins.len(), CLIENTS as usize);
            assert!(
                received
                    .logins
                    .iter()
                    .all(|login| login.client_pid == std::process::id())
            );
            let (mut setups, mut procedures, mut texts) = (0, Vec::new(), 0);
            for request in &received.requests {
                match request {
                    Request::Batch { text, .. } if text == "SET XACT_ABORT ON" => setups += 1,
                    Request::Batch { .. } => texts += 1,
                    Request::Rpcs { calls, .. } => {
                        procedures.extend(calls.iter().map(|call| call.procedure.clone()));
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(setups, CLIENTS as usize, "each session is set up once");
            let transactions = 5 * CLIENTS as usize;
            let count = |id: u16| {
                procedures
                    .iter()
                    .filter(|call| **call == Procedure::Id(id))
                    .count()
            };
            let (execute_sql, execute, prepare_and_execute) = (count(10), count(12), count(13));
            match mode {
                QueryMode::Simple => assert_eq!((texts, procedures.len()), (4 * transactions, 0)),
                QueryMode::Extended => {
                    assert_eq!((texts, execute_sql), (2 * transactions, 2 * transactions));
                }
                QueryMode::Prepared => {
                    let prepared = 2 * CLIENTS as usize;
                    assert_eq!(texts, 2 * transactions);
                    assert_eq!(prepare_and_execute, prepared);
                    assert_eq!(execute, 2 * transactions - prepared);
                }
            }
        }
    }
}

#[test]
fn every_kind_of_encryption_carries_a_load() {
    for (encryption, options, over_tls) in [
        (Encryption::Available, "encrypt=optional", true),
        (Encryption::Required, "encrypt=optional", true),
        (Encryption::Available, "TrustServerCertificate=true", true),
        (Encryption::NotSupported, "encrypt=optional", false),
    ] {
        let (port, received) = start(mock(encryption));
        let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?{options}");
        let plan = plan_with(QueryMode::Prepared, engines()[0], 3);
        let driven = drive(&counter_program(), &plan, &target(&url));
        assert_all_committed(&driven, 3, options);
        let received = received.lock().unwrap();
        assert!(
            received
                .logins
                .iter()
                .all(|login| login.is_over_tls == over_tls),
            "{options}"
        );
    }
    // By default, a certificate that no trusted authority has signed is refused.
    let (port, received) = start(mock(Encryption::Available));
    let folder = TestFolder::create();
    let other = folder.join("other.pem");
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(&other, made.cert.pem()).unwrap();
    for option in ["certificate", "ServerCertificate"] {
        let file = other.display();
        let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?{option}={file}");
        assert!(Control::connect(&target(&url)).is_err(), "{option}");
    }
    assert!(
        received.lock().unwrap().logins.is_empty(),
        "no password was sent"
    );
}

#[test]
fn routed_logins_load_the_other_server() {
    let (port, other) = start(mock(Encryption::NotSupported));
    let mut listener = mock(Encryption::NotSupported);
    listener.route = Some(("127.0.0.1\\sales".to_owned(), port));
    let (port, first) = start(listener);
    let url = format!(
        "sqlserver://sa:Sesame1@127.0.0.1:{port}?encrypt=disable&ApplicationIntent=ReadOnly"
    );
    let target = target(&url);
    let mut control = Control::connect(&target).expect("routed");
    assert_eq!(control.product(), Product::SQL_SERVER);
    assert_eq!(
        control.query_value("select n").unwrap().as_deref(),
        Some("7")
    );
    let plan = plan_with(QueryMode::Simple, engines()[0], 2);
    assert_all_committed(&drive(&counter_program(), &plan, &target), 2, "routed");
    assert!(first.lock().unwrap().requests.is_empty());
    let other = other.lock().unwrap();
    assert_eq!(other.logins.len(), CLIENTS as usize + 1);
    assert_eq!(other.logins[0].server, "127.0.0.1\\sales");
    assert_eq!(other.logins[0].flags[2] & 0x20, 0x20, "read-only");
    // The error names the server that cannot be reached.
    let closed =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let closed = closed.expect("a port").port();
    let mut listener = mock(Encryption::NotSupported);
    listener.route = Some(("127.0.0.1\\sales".to_owned(), closed));
    let url = format!(
        "sqlserver://sa:Sesame1@127.0.0.1:{}?encrypt=disable",
        start(listener).0
    );
    let error = Control::connect(&crate::target(&url))
        .err()
        .expect("closed")
        .to_string();
    error.assert_contains(&format!("port {closed}"));
}

#[test]
fn a_refused_login_shows_the_servers_reason_and_no_password() {
    let (port, _) = start(mock(Encryption::NotSupported));
    let url = format!("sqlserver://sa:geheim@127.0.0.1:{port}?encrypt=disable");
    let error = Control::connect(&target(&url))
        .err()
        .expect("refused")
        .to_string();
    error.assert_contains("Login failed").assert_lacks("geheim");
}

#[test]
fn a_deadlock_is_a_failed_transaction_that_may_be_repeated() {
    let mut config = mock(Encryption::NotSupported);
    config.handler = Box::new(|sql, _| match sql {
        _ if sql.starts_with("update") => vec![Reply::Error(
            1205,
            51,
            13,
            "Transaction was deadlocked".to_owned(),
        )],
        _ if sql.starts_with("select n") => {
            let column = Column::new("n", Type::Int(8));
            vec![Reply::Rows(vec![column], vec![vec![Datum::Int(7)]])]
        }
        _ => vec![Reply::Done],
    });
    let (port, _) = start(config);
    let url = format!("sqlserver://sa:Sesame1@127.0.0.1:{port}?encrypt=disable");
    let plan = plan_with(QueryMode::Extended, engines()[0], 2);
    let driven = drive(&counter_program(), &plan, &target(&url));
    let measured = &driven.collected.measured;
    assert_eq!(measured.all_kinds().committed, 0);
    let errors = format!("{:?}", measured.errors.entries());
    errors.assert_contains("Deadlock");
}

/// `PRONY_TEST_SQLSERVER` holds URLs of accounts that may create tables, separated by spaces.
#[test]
fn every_mode_on_servers_listed_in_prony_test_sqlserver() {
    let urls = std::env::var("PRONY_TEST_SQLSERVER").unwrap_or_default();
    if urls.is_empty() {
        eprintln!("skipped: PRONY_TEST_SQLSERVER is not set");
    }
    for url in urls.split_whitespace() {
        let target = target(url);
        let mut control = Control::connect(&target).unwrap();
        let _ = control.execute("drop table prony_counts");
        control.run("create table prony_counts (id int primary key, n bigint not null)");
        for id in 0..CLIENTS {
            control
                .execute(&format!("insert into prony_counts values ({id}, 0)"))
                .unwrap();
        }
        let (mut expected, transactions) = (0, 15);
        for mode in MODES {
            for io in engines() {
                let driven = drive(
                    &counter_program(),
                    &plan_with(mode, io, transactions),
                    &target,
                );
                assert_all_committed(&driven, transactions, &format!("{mode:?} {io:?}"));
                expected += transactions * u64::from(CLIENTS);
                let sum = control
                    .query_value("select sum(n) from prony_counts")
                    .unwrap();
                assert_eq!(sum, Some(expected.to_string()), "{mode:?} {io:?}");
            }
        }
        control.run("drop table prony_counts");
    }
}

//! `prony doctor` in a network namespace with bad settings, on real servers, and with a run.

use crate::common::*;
use prony_store::{DoctorFinding, DoctorReport, DoctorState, DoctorSubject};
use prony_test_servers::canned::{Answer, CannedError, CannedProtocol, Conversation, start};
use prony_test_servers::{TestDatabase, restore_signals};
use std::io::{BufRead, BufReader, Read};

const PRONY: &str = env!("CARGO_BIN_EXE_prony");

fn doctor(options: &str) -> Output {
    let home = TestFolder::create();
    let mut command = prony_command(&format!("doctor --watch 0s {options}"), &home);
    command.output().expect("it starts")
}

/// The findings for the server of this URL.
fn examine(url: &str, options: &str) -> DoctorReport {
    parse(&doctor(&format!("--json --url {url} {options}")))
}

#[track_caller]
fn assert_state(report: &DoctorReport, id: &str, state: DoctorState) {
    assert_eq!(finding(report, id).state, state, "{report:?}");
}

fn parse(output: &Output) -> DoctorReport {
    let report = serde_json::from_slice(&output.stdout);
    report.unwrap_or_else(|error| panic!("{error}: {}", stderr_text(output)))
}

fn finding<'a>(report: &'a DoctorReport, id: &str) -> &'a DoctorFinding {
    let finding = report.findings.iter().find(|finding| finding.id == id);
    finding.unwrap_or_else(|| panic!("no {id} in {report:?}"))
}

/// Starts a shell command in network and mount namespaces of its own, with an interface that leads nowhere. `None` if
/// the system does not permit it.
fn in_namespace(script: &str) -> Option<Output> {
    const SET_UP: &str = "set -e\n\
        ip link add far0 type veth peer name near0\n\
        ip address add 10.77.0.1/24 dev far0\n\
        ip link set far0 up\n\
        ip link set near0 up\n\
        ip route add default via 10.77.0.2\n\
        mount -t sysfs none /sys\n\
        echo ready\n";
    let shell = |script: &str| {
        let script = format!("{SET_UP}{script}");
        let command = ["--net", "--mount", "sh", "-c", &script];
        Command::new("unshare").args(command).output().ok()
    };
    let trial = shell("")?;
    if !trial.stdout.starts_with(b"ready") {
        eprintln!("skipped: no network namespace: {}", stderr_text(&trial));
        return None;
    }
    shell(script)
}

#[test]
fn bad_settings_of_a_network_namespace_are_found_and_the_script_mends_them() {
    let examine = format!("{PRONY} doctor --clients 100 --watch 0s");
    let script = format!(
        "ip link set far0 mtu 1000\n\
         echo 60000 60050 > /proc/sys/net/ipv4/ip_local_port_range\n\
         echo 0 > /proc/sys/net/ipv4/tcp_window_scaling\n\
         echo 4096 8192 16384 > /proc/sys/net/ipv4/tcp_rmem\n\
         echo 16 > /proc/sys/net/core/somaxconn\n\
         {examine} --json > before || true\n\
         {examine} --fix-script > fix\n\
         grep -E '^sysctl .*(port_range|window_scaling|tcp_rmem|somaxconn)' fix | sh > fixed\n\
         {examine} --json > after || true\n"
    );
    let folder = TestFolder::create();
    let script = format!("cd {}\n{script}", folder.display());
    if let Some(output) = in_namespace(&script) {
        let report = |name: &str| -> DoctorReport {
            let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            let report = serde_json::from_str(&text);
            report.unwrap_or_else(|error| panic!("{name}: {error}: {}", stderr_text(&output)))
        };
        let (before, after) = (report("before"), report("after"));
        for (id, state) in [
            ("ephemeral-ports", DoctorState::Bad),
            ("tcp", DoctorState::Caution),
        ] {
            assert_state(&before, id, state);
            assert_state(&after, id, DoctorState::Ok);
        }
        let tcp = finding(&before, "tcp");
        for expected in ["without window scaling", "receive buffer is too small"] {
            let text = tcp.reason.to_lowercase();
            assert!(text.contains(&expected.to_lowercase()), "{tcp:?}");
        }
        assert_eq!(finding(&before, "mtu").value, "far0: 1000 bytes");
        assert_eq!(finding(&before, "mtu").command, None, "it has no device");
    }
}

#[test]
fn more_clients_than_the_server_accepts_are_bad() {
    let url = shared_postgres().url();
    let output = doctor(&format!("--clients 10000 --url {url}"));
    assert_code(&output, 7);
    let text = stdout_text(&output);
    let line = |start: &str| text.lines().any(|line| line.starts_with(start));
    assert!(line("  bad      max-connections: "), "{text}");
    assert!(line("  ok       server-version: PostgreSQL "), "{text}");
    assert!(line("  caution  server-location: this machine. "), "{text}");
    text.assert_contains(" statements)");
    text.assert_contains("$ psql -c 'ALTER SYSTEM SET max_connections = ");
    let few = doctor(&format!("--clients 2 --url {url}"));
    stdout_text(&few).assert_contains("  ok       max-connections: ");
}

/// Tables of the probe that are left in a database.
fn probe_tables(control: &mut Control) -> Option<String> {
    let sql = "select count(*) from information_schema.tables where table_name like 'prony_storage_probe%'";
    control.query_value(sql).unwrap()
}

/// The URL of a new database of the shared server, and a connection to it.
fn new_database(name: &str) -> (String, Control) {
    let server = shared_postgres();
    connect(&server.url()).run(format!("create database {name}"));
    let url = server.url_for(name);
    let control = connect(&url);
    (url, control)
}

fn probe_storage(url: &str) -> DoctorReport {
    examine(url, "--probe-storage")
}

#[test]
fn the_storage_of_postgresql_is_probed_and_the_table_is_dropped() {
    let (url, mut control) = new_database("probed");
    // Without a large table, only commits are probed, and the others say why.
    let report = probe_storage(&url);
    let commits = finding(&report, "commit-latency");
    commits.value.assert_starts_with("p50 ");
    commits.value.assert_contains(" commit");
    assert!(commits.subject == DoctorSubject::Server && commits.state != DoctorState::Unknown);
    for id in ["sequential-read", "random-read"] {
        assert_state(&report, id, DoctorState::Unknown);
        let reason = &finding(&report, id).reason;
        reason.assert_contains("no table of 16 MB or more");
    }
    // 40,000 rows of half a page are more than the server's cache.
    control
        .run("create table large (filler text); alter table large alter filler set storage plain");
    control.run("insert into large select repeat('x', 4000) from generate_series(1, 80000)");
    let report = probe_storage(&url);
    for id in ["sequential-read", "random-read"] {
        let read = finding(&report, id);
        // What the operating system has in its memory is told to come from a memory.
        let text = format!("{}{}", read.value, read.reason);
        text.assert_contains(" of public.large, timed by the server");
    }
    assert_eq!(probe_tables(&mut control).as_deref(), Some("0"));
}

#[test]
fn a_user_who_may_not_create_a_table_is_told_so() {
    let (url, mut control) = new_database("refusing");
    control.run("alter database refusing set default_transaction_read_only = on");
    let report = probe_storage(&url);
    let commits = finding(&report, "commit-latency");
    assert_eq!(commits.state, DoctorState::Unknown, "{commits:?}");
    commits.reason.assert_contains("read-only");
}

#[test]
fn the_storage_of_mariadb_is_probed() {
    let url = shared_mariadb().url();
    let report = probe_storage(&url);
    let commits = finding(&report, "commit-latency");
    commits.value.assert_starts_with("p50 ");
    assert_eq!(probe_tables(&mut connect(&url)).as_deref(), Some("0"));
}

#[test]
fn reads_of_sql_server_are_those_that_its_files_count() {
    let probe = |counters: Answer| {
        let cells = |cells: &[&str]| {
            let cells = cells.iter().map(|cell| Some((*cell).to_owned()));
            Answer::Rows(vec![cells.collect()])
        };
        let answers = [
            // 32 MB; half of it is 2,048 pages.
            (
                "has_perms_by_name",
                cells(&["[dbo].[large]", "[id]", "4096", "4096"]),
            ),
            ("select min([id])", cells(&["1", "4096"])),
            ("dm_io_virtual_file_stats", counters),
        ];
        let answers = answers.map(|(part, answer)| (part.to_owned(), answer));
        let conversation = Conversation::new("16.0.1000.6", answers.into());
        let port = start(CannedProtocol::Tds, conversation).unwrap();
        probe_storage(&format!(
            "sqlserver://u:p@127.0.0.1:{port}/bench?encrypt=false"
        ))
    };
    const MB: u64 = 1 << 20;
    let read = probe(Answer::Counters(vec![64, 16 * MB]));
    let text = |id: &str| {
        let found = finding(&read, id);
        format!("{}{}", found.value, found.reason)
    };
    // The memory of a canned server is not called storage.
    text("sequential-read").assert_contains("17 MB of [dbo].[large], including the round trip");
    text("random-read").assert_contains("3.4 GB of [dbo].[large]");
    let cached = probe(Answer::Counters(vec![1, MB / 2]));
    let sequential = finding(&cached, "sequential-read");
    sequential
        .reason
        .assert_contains("the pages of [dbo].[large] are in the server's cache");
    let refused = probe(Answer::Error(CannedError {
        number: 300,
        sqlstate: "HY000",
        message: "VIEW SERVER STATE permission was denied".to_owned(),
    }));
    for id in ["sequential-read", "random-read"] {
        assert_state(&refused, id, DoctorState::Unknown);
        finding(&refused, id)
            .reason
            .assert_contains("VIEW SERVER STATE");
    }
}

#[test]
fn an_interrupted_probe_drops_its_table() {
    let (url, mut control) = new_database("doctor_interrupted");
    // The creation of the table waits, so that the signal arrives during the probe.
    control.run(
        "create function wait() returns event_trigger language plpgsql as \
             $$ begin perform pg_sleep(1); end $$",
    );
    control.run(
        "create event trigger wait on ddl_command_end when tag in ('CREATE TABLE') \
             execute function wait()",
    );
    restore_signals();
    let mut child = Command::new(PRONY)
        .args(["doctor", "--url", &url, "--watch", "0s", "--probe-storage"])
        .env("PRONY_HOME", std::env::temp_dir())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let creating = "select count(*) from pg_stat_activity where state = 'active' \
                    and query like 'create table \"prony_storage_probe%'";
    wait_for("the probe begins", || {
        query_number(&mut control, creating) == 1
    });
    send_signal(&child, "-INT");
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "{status:?}");
    assert_eq!(probe_tables(&mut control).as_deref(), Some("0"));
}

#[test]
fn a_second_signal_says_that_it_ends_the_command() {
    restore_signals();
    let mut child = Command::new(PRONY)
        .args(["doctor", "--watch", "60s"])
        .env("PRONY_HOME", std::env::temp_dir())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("watching this machine") {
        assert!(stderr.read_line(&mut text).unwrap() > 0, "{text}");
    }
    let pid = child.id();
    // Both arrive at once when it goes on: the first one alone would end it too.
    send_signal(&child, "-STOP");
    wait_for("it is stopped", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.contains(") T ")
    });
    for signal in ["-INT", "-TERM", "-CONT"] {
        send_signal(&child, signal);
    }
    let status = child.wait().unwrap();
    stderr.read_to_string(&mut text).unwrap();
    assert!(matches!(status.code(), Some(130 | 143)), "{status:?}");
    text.assert_contains("\nprony: a second signal ended this at once: nothing more is printed");
}

#[test]
fn mariadb_is_examined() {
    let report = examine(&shared_mariadb().url(), "");
    let findings = report.findings.iter();
    let of_server = findings.filter(|f| f.subject == DoctorSubject::Server);
    // Without tables, the data has no size.
    let unknown = of_server.filter(|f| f.state == DoctorState::Unknown);
    let unknown = unknown.filter(|f| !["data-size", "round-trip"].contains(&&*f.id));
    assert_eq!(unknown.count(), 0, "{report:?}");
    finding(&report, "server-version")
        .value
        .assert_starts_with("MariaDB ");
    assert_state(&report, "max-connections", DoctorState::Ok);
}

/// The statements in the command that mends a finding, if the client of the engine executes it.
fn statements<'a>(finding: &'a DoctorFinding, client: &str) -> &'a str {
    let command = finding.command.as_deref().unwrap_or_default();
    let quoted = command
        .strip_prefix(client)
        .unwrap_or_else(|| panic!("{finding:?}"));
    let quoted = quoted.trim();
    &quoted[1..quoted.len() - 1]
}

#[test]
fn the_printed_statements_mend_rights_and_limits_of_a_mariadb_account() {
    let server = shared_mariadb();
    let root = server.url();
    TestDatabase::at(&root).execute_all(
        "CREATE DATABASE doctored; CREATE TABLE doctored.t(n INT PRIMARY KEY); \
         CREATE USER doctored@localhost WITH MAX_USER_CONNECTIONS 4; \
         GRANT SELECT ON doctored.* TO doctored@localhost",
    );
    let url = server.url_for("doctored", "doctored");
    let examine = || examine(&url, "--clients 8");
    let before = examine();
    for (id, state) in [
        ("observation", DoctorState::Caution),
        ("max-connections", DoctorState::Bad),
    ] {
        assert_state(&before, id, state);
        let mending = statements(finding(&before, id), "mysql -e");
        TestDatabase::at(&root).execute_all(mending);
    }
    assert_state(&before, "data-size", DoctorState::Ok);
    let after = examine();
    for id in ["observation", "max-connections"] {
        assert_state(&after, id, DoctorState::Ok);
    }
}

#[test]
fn limits_of_a_role_and_a_database_are_found_and_the_statements_mend_them() {
    let server = shared_postgres();
    let root = server.url();
    TestDatabase::at(&root).execute_all("CREATE ROLE doctored LOGIN CONNECTION LIMIT 4; CREATE DATABASE doctored CONNECTION LIMIT 6",
    );
    let url = server.url_for("doctored").replace("postgres@", "doctored@");
    let examine = || examine(&url, "--clients 8");
    // The narrowest limit first; none of them applies to a superuser.
    for (value, next) in [
        ("4 of 4 free for the role doctored", DoctorState::Bad),
        ("6 of 6 free for the database doctored", DoctorState::Bad),
    ] {
        let report = examine();
        let found = finding(&report, "max-connections");
        assert_eq!((&*found.value, found.state), (value, next));
        TestDatabase::at(&root).execute_all(statements(found, "psql -c"));
    }
    assert_state(&examine(), "max-connections", DoctorState::Ok);
}

/// Without pg_monitor, a role sees neither state nor kind of other sessions, but may count them.
#[test]
fn sessions_of_other_roles_are_counted_without_pg_monitor() {
    let server = shared_postgres();
    let root = server.url();
    TestDatabase::at(&root)
        .execute_all("CREATE ROLE counting LOGIN; CREATE DATABASE counting OWNER counting");
    let url = server.url_for("counting").replace("postgres@", "counting@");
    let free = || -> u64 {
        let report = examine(&url, "");
        let found = finding(&report, "max-connections");
        let number = found.value.split(' ').next().unwrap_or_default();
        number.parse().unwrap_or_else(|_| panic!("{found:?}"))
    };
    // Other tests connect at the same time: more sessions than they have make the difference.
    const SESSIONS: u64 = 20;
    let before = free();
    let sessions: Vec<Control> = (0..SESSIONS).map(|_| connect(&root)).collect();
    let during = free();
    drop(sessions);
    assert!(
        during + SESSIONS / 2 < before,
        "{before} free before, {during} during"
    );
}

#[test]
fn a_run_stores_the_findings_and_a_run_without_them_differs_in_a_note() {
    let bench = TestBench::loaded("doctored_run", 1);
    let run = |options: &str| {
        bench.run(&format!(
            "run tpcb --clients 2 --threads 1 --duration 1s {options}"
        ))
    };
    let examined = run("--doctor");
    let report = examined.doctor.as_ref().expect("findings");
    assert_eq!((report.clients, report.threads), (2, 1));
    assert_ne!(finding(report, "steal").state, DoctorState::Unknown);
    let plain = run("");
    assert_eq!(plain.doctor, None);
    let compare = format!("compare {} {}", examined.id, plain.id);
    let compared = bench.prony_without_server(&compare);
    stdout_text(&compared).assert_contains("doctor");
    let shown = bench.prony_without_server(&format!("show {} --full", examined.id));
    stdout_text(&shown).assert_contains("  doctor   ");
}
